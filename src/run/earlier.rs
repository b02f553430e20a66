//! Files of an earlier run that a new one replaces: they lie aside until the new run can be resumed, and are removed then.
//! A process that is killed in between leaves one of the two runs; who locks the directory next puts it in order.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::RunError;
use super::names::RUN;
use crate::output::{Checkpoint, checkpoints_in, partial_path, publish_bytes};

/// Where they lie, in the output directory.
pub const ASIDE: &str = "earlier.supercool";
/// The name of their run. It is there before the first of them comes and after the last has gone, so that a directory
/// without it holds none.
const NAME: &str = ".run";

/// What was to be done in a directory that a killed process has left.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// The new run had begun: the files of the earlier one are removed.
    Removed,
    /// The files of the earlier run are back. The lock is to be given the name of that run, before [`forget_name`].
    PutBack {
        run: String,
    },
}

/// Moves the files of the run of this name aside.
pub fn set_aside(directory: &Path, files: &[PathBuf], run: &str) -> Result<(), RunError> {
    let aside = directory.join(ASIDE);
    let error = |source| RunError::Directory { path: aside.clone(), what: "made", source };
    killed_here().map_err(error)?;
    match fs::create_dir(&aside) {
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists && is_empty(&aside) => {}
        made => made.map_err(error)?,
    }
    killed_here().map_err(error)?;
    publish_bytes(&aside.join(NAME), run.as_bytes())
        .map_err(|why| error(io::Error::other(why.to_string())))?;
    for file in files {
        rename(file, &aside.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Removes what lies aside, once the new run can be resumed.
pub fn remove(directory: &Path) -> Result<(), RunError> {
    let aside = directory.join(ASIDE);
    for file in files_in(&aside)? {
        let error = |source| RunError::Directory { path: file.clone(), what: "removed", source };
        killed_here().and_then(|()| fs::remove_file(&file)).map_err(error)?;
    }
    forget_name(directory)
}

/// Puts in order what a killed process has left, in a directory whose lock names the run `locked`.
pub fn recover(directory: &Path, locked: &str) -> Result<Left, RunError> {
    let aside = directory.join(ASIDE);
    let run = match fs::read_to_string(aside.join(NAME)) {
        Ok(run) => run,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            // Killed before the first came, or after the last had gone: it is empty, or is not ours.
            let _ = fs::remove_file(partial_path(&aside.join(NAME)));
            let _ = fs::remove_dir(&aside);
            return Ok(Left::Nothing);
        }
        Err(source) => return Err(RunError::Directory { path: aside, what: "read", source }),
    };
    if locked != run && can_be_resumed(directory, locked) {
        remove(directory)?;
        return Ok(Left::Removed);
    }
    for file in files_in(&aside)? {
        // What has its name by now no checkpoint counts on.
        rename(&file, &directory.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(Left::PutBack { run })
}

/// The last of [`remove`], and of putting back once the lock has the name.
pub fn forget_name(directory: &Path) -> Result<(), RunError> {
    let aside = directory.join(ASIDE);
    let error = |source| RunError::Directory { path: aside.clone(), what: "removed", source };
    killed_here().and_then(|()| fs::remove_file(aside.join(NAME))).map_err(error)?;
    killed_here().and_then(|()| fs::remove_dir(&aside)).map_err(error)
}

/// Whether a directory has a whole checkpoint of a run. Those of the earlier one may still be there.
fn can_be_resumed(directory: &Path, run: &str) -> bool {
    let checkpoints = checkpoints_in(directory).unwrap_or_default();
    checkpoints.iter().any(|(_, path)| {
        let of = Checkpoint::read(path).and_then(|checkpoint| checkpoint.get_json::<String>(RUN));
        of.is_ok_and(|of| of == run)
    })
}

fn rename(from: &Path, to: &Path) -> Result<(), RunError> {
    let error = |source| RunError::Directory { path: from.to_owned(), what: "moved", source };
    killed_here().and_then(|()| fs::rename(from, to)).map_err(error)
}

/// What lies aside, its name left out.
fn files_in(aside: &Path) -> Result<Vec<PathBuf>, RunError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(aside)? {
            let entry = entry?;
            if entry.file_name() != NAME {
                files.push(entry.path());
            }
        }
        Ok(files)
    };
    list().map_err(|source| RunError::Directory { path: aside.to_owned(), what: "read", source })
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Before every change: where a test has the process killed.
#[cfg(not(test))]
fn killed_here() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use tests::killed_here;

#[cfg(test)]
pub mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use super::super::OutputDirectory;
    use super::super::directory::LOCK;
    use super::*;

    thread_local! {
        /// Changes that are still made.
        static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    pub fn killed_here() -> io::Result<()> {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        if left == 0 { Err(io::Error::other("killed by a test")) } else { Ok(()) }
    }

    /// Does `work` as a process that is killed after a number of changes; whether it came to its end.
    fn killed_after(changes: u64, work: impl FnOnce() -> Result<(), RunError>) -> bool {
        LEFT.set(changes);
        let ended = work();
        LEFT.set(u64::MAX);
        ended.is_ok()
    }

    fn checkpoint(directory: &Path, step: u64, run: &str) {
        let mut checkpoint = Checkpoint::new();
        checkpoint.put_json(RUN, &run).unwrap();
        checkpoint.write_as(&crate::output::checkpoint_path(directory, step)).unwrap();
    }

    /// Names and contents of all files of a directory, hidden ones too.
    fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
        let content = |path: &Path| fs::read(path).unwrap_or_else(|_| b"a directory".to_vec());
        let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.map(|entry| (name(&entry), content(&entry.path()))).collect()
    }

    fn earlier_run(directory: &Path) -> Vec<PathBuf> {
        fs::write(directory.join(LOCK), "old\n").unwrap();
        fs::write(directory.join("melt.h5"), "results").unwrap();
        checkpoint(directory, 90, "old");
        checkpoint(directory, 100, "old");
        ["checkpoint-100.scp", "checkpoint-90.scp", "melt.h5"]
            .map(|name| directory.join(name))
            .to_vec()
    }

    /// Replaces the run of a directory by one named `new`, as `run --force` does.
    fn replace(directory: &Path, files: &[PathBuf]) -> Result<(), RunError> {
        let locked = OutputDirectory::open(directory)?;
        set_aside(directory, files, locked.run())?;
        killed_here().map_err(|source| RunError::Signals { source })?;
        fs::write(directory.join(LOCK), "new\n").unwrap();
        killed_here().map_err(|source| RunError::Signals { source })?;
        checkpoint(directory, 0, "new");
        remove(directory)
    }

    #[test]
    fn wherever_a_process_is_killed_one_of_the_runs_is_there() {
        let (mut put_back, mut begun) = (0, 0);
        for changes in 0.. {
            // The process that puts it in order may be killed, too.
            for mended in 0.. {
                let temporary = tempfile::tempdir().unwrap();
                let directory = temporary.path();
                let files = earlier_run(directory);
                let before = contents(directory);
                let came_through = killed_after(changes, || replace(directory, &files));
                let whole = killed_after(mended, || OutputDirectory::open(directory).map(drop));
                OutputDirectory::open(directory).unwrap();
                let after = contents(directory);
                let place = format!("{changes}, {mended}: {:?}", after.keys());
                if after[LOCK] == b"new\n" {
                    let names: Vec<_> = after.keys().map(String::as_str).collect();
                    assert_eq!(names, [LOCK, "checkpoint-0.scp"], "{place}");
                    assert!(can_be_resumed(directory, "new"), "{place}");
                    begun += 1;
                } else {
                    assert!(after == before && !came_through, "{place}");
                    put_back += 1;
                }
                if came_through {
                    // 3 files come and go, their directory and its name too, and the new run has a name and a checkpoint.
                    assert_eq!(changes, 2 + 3 + 2 + 3 + 2, "it was killed at every change");
                    assert!(put_back > 8 && begun > 5, "{put_back}, {begun}");
                    return;
                }
                if whole {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_directory_of_that_name_that_is_not_ours_is_left_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path();
        let files = earlier_run(directory);
        let theirs = directory.join(ASIDE).join("melt.h5");
        fs::create_dir(directory.join(ASIDE)).unwrap();
        fs::write(&theirs, "theirs").unwrap();
        let error = replace(directory, &files).unwrap_err().to_string();
        assert!(error.contains(ASIDE), "{error}");
        assert_eq!(fs::read(theirs).unwrap(), b"theirs");
        assert_eq!(fs::read(directory.join("melt.h5")).unwrap(), b"results");
    }
}
