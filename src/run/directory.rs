use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use supercool_analysis::results::ResultsFile;

use super::earlier::{self, ASIDE, Left};
use super::names::{DAMAGED, RUN};
use super::{RunError, Watch, description};
use crate::engine::CancelToken;
use crate::output::{Checkpoint, FullDisk, OutputError, checkpoints_in, is_named};
use crate::plan::{InitialPlan, Plan};

/// The output directory of a run, locked against a second one for as long as this lives.
pub struct OutputDirectory {
    path: PathBuf,
    /// Holds the name of the run that the files belong to.
    identity: Identity,
    run: String,
    full_disk: FullDisk,
    /// Whether what takes long is to be left.
    cancel: Option<CancelToken>,
    watch: Option<Watch>,
    /// Files of an earlier run, to be replaced.
    earlier: Vec<PathBuf>,
}

/// A directory, however it is called by now, and the file in it that this process has locked.
#[derive(Clone)]
pub(super) struct Identity {
    path: PathBuf,
    /// Open, so that its inode remains the same.
    directory: Arc<File>,
    lock: Arc<File>,
}

impl Identity {
    /// Files are opened by their names: another directory may bear this one's by now, with another run in it.
    ///
    /// # Errors
    /// If it does, or if another process has made a lock of its own in it.
    pub fn check(&self) -> Result<(), RunError> {
        let gone = |what: &'static str| RunError::Gone { path: self.path.clone(), what };
        match is_named(&self.directory, &self.path) {
            Ok(false) => return Err(gone("another directory has taken its place")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(gone("it was moved or removed"));
            }
            // What cannot be seen now may be a matter of the network.
            _ => {}
        }
        match is_named(&self.lock, &self.path.join(LOCK)) {
            Ok(false) => {
                Err(gone("another run has begun in it, as its file .supercool.lock was removed"))
            }
            _ => Ok(()),
        }
    }
}

/// Of a checkpoint's plan, that of other versions of this program included.
#[derive(Deserialize)]
struct HeldPlan {
    stages: Vec<HeldStage>,
}

#[derive(Deserialize)]
struct HeldStage {
    name: String,
}

/// File of a directory that the process of its run has locked.
pub const LOCK: &str = ".supercool.lock";
impl OutputDirectory {
    /// Makes the directory for a new run; refuses one with files of an earlier run, which with `force`
    /// the new one replaces.
    pub fn create(plan: &Plan, force: bool) -> Result<Self, RunError> {
        let path = &plan.output.directory;
        fs::create_dir_all(path).map_err(|source| RunError::Directory {
            path: path.clone(),
            what: "made",
            source,
        })?;
        let mut directory = Self::open(path)?;
        directory.earlier = directory.occupants(plan);
        if let Some(example) = directory.earlier.first()
            && !force
            && !directory.has_only_begun()
        {
            let example = example.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(RunError::Occupied { path: path.clone(), example });
        }
        if force {
            let left = directory.left_by_another_plan();
            directory.earlier.extend(left);
            directory.earlier.sort();
            directory.earlier.dedup();
        }
        if let InitialPlan::File { path: initial, .. } = &plan.system.initial
            && let Ok(initial) = initial.canonicalize()
            && directory
                .earlier
                .iter()
                .any(|file| file.canonicalize().is_ok_and(|file| file == initial))
        {
            return Err(RunError::RemovesInitial { path: path.clone(), initial });
        }
        Ok(directory)
    }

    /// Moves what an earlier run has left aside, and gives the new one a name. Nothing of the earlier run is touched before: a
    /// run that cannot start takes nothing away. It is put back if the new one is not [`has_begun`](Self::has_begun).
    pub fn begin(&mut self) -> Result<(), RunError> {
        let earlier = std::mem::take(&mut self.earlier);
        if !earlier.is_empty() {
            let aside = earlier::set_aside(&self.path, &earlier, &self.run);
            self.or_put_back(aside)?;
        }
        let named = self.name_run(format!("{:016x}", rand::random::<u64>()));
        self.or_put_back(named.map_err(RunError::from))
    }

    /// The new run can be resumed, or has its results: what lies aside of the earlier one goes.
    pub fn has_begun(&self) {
        if self.path.join(ASIDE).exists()
            && let Err(error) = earlier::remove(&self.path)
        {
            tracing::warn!("of the earlier run something is left: {error}");
        }
    }

    /// The result; after an error, the earlier run is back.
    pub(super) fn or_put_back<T>(&mut self, result: Result<T, RunError>) -> Result<T, RunError> {
        if result.is_err()
            && let Err(error) = self.recover()
        {
            tracing::warn!("the earlier run lies in {ASIDE}: {error}");
        }
        result
    }

    /// Puts in order what a process has left that was to replace an earlier run.
    fn recover(&mut self) -> Result<(), RunError> {
        if let Left::PutBack { run } = earlier::recover(&self.path, &self.run)? {
            let path = self.path.join(LOCK);
            self.name_run(run).map_err(|error| {
                let source = std::io::Error::other(error.to_string());
                RunError::Directory { path, what: "written to", source }
            })?;
            earlier::forget_name(&self.path)?;
            tracing::warn!(
                "{}: the run that was to replace the earlier one did not get so far: the earlier one's files are back",
                self.path.display()
            );
        }
        Ok(())
    }

    /// Puts back, or removes, what a killed process has left of a run that was being replaced.
    pub(super) fn put_in_order(path: &Path) -> Result<(), RunError> {
        if path.join(ASIDE).exists() { Self::open(path).map(drop) } else { Ok(()) }
    }

    /// Whether a directory may be that of a run, so that it is worth a lock.
    pub(super) fn may_be_of_run(path: &Path) -> bool {
        let has = |name: &str| path.join(name).exists();
        has(LOCK) || has(ASIDE) || checkpoints_in(path).is_ok_and(|found| !found.is_empty())
    }

    /// Whether [`begin`](Self::begin) would remove what was measured.
    pub(super) fn replaces(&self) -> bool {
        !self.earlier.is_empty() && !self.has_only_begun()
    }

    /// An existing directory.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let error =
            |what| move |source| RunError::Directory { path: path.to_owned(), what, source };
        let lock = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path.join(LOCK))
            .map_err(error("written to"))?;
        // A process that is started later has the lock too until it executes, even if this one is killed in between.
        description::author();
        lock_and_wait(&lock).map_err(|error| match error {
            TryLockError::WouldBlock => RunError::Locked { path: path.to_owned() },
            TryLockError::Error(source) => RunError::NoLocks { path: path.to_owned(), source },
        })?;
        let mut name = Vec::new();
        (&lock).take(64).read_to_end(&mut name).map_err(error("read"))?;
        let run = String::from_utf8_lossy(&name).trim().to_owned();
        remove_partial(path).map_err(error("swept"))?;
        let directory = Arc::new(File::open(path).map_err(error("read"))?);
        let identity = Identity { path: path.to_owned(), directory, lock: Arc::new(lock) };
        let mut directory = OutputDirectory {
            path: path.to_owned(),
            identity,
            run,
            full_disk: FullDisk::Stop,
            cancel: None,
            watch: None,
            earlier: Vec::new(),
        };
        directory.recover()?;
        Ok(directory)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the run that the files belong to.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// What says whether the directory is still this one.
    pub(super) fn identity(&self) -> Identity {
        self.identity.clone()
    }

    /// What is done when there is no room.
    pub fn full_disk(&self) -> &FullDisk {
        &self.full_disk
    }

    pub(super) fn on_full_disk(&mut self, full_disk: FullDisk) {
        self.full_disk = full_disk;
    }

    pub(super) fn cancel(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    /// A signal, or the end of the time, ends what would take long.
    pub(super) fn watched_by(&mut self, watch: &Watch) {
        self.watch = Some(watch.clone());
        let watch = watch.clone();
        self.cancel = Some(Arc::new(move || watch.is_overdue()));
    }

    /// Notes what is being done.
    pub(super) fn is_at(&self, what: String) {
        if let Some(watch) = &self.watch {
            watch.is_at(what);
        }
    }

    /// Says in a checkpoint that it is of this directory's run.
    pub(super) fn mark(&self, checkpoint: &mut Checkpoint) -> Result<(), RunError> {
        Ok(checkpoint.put_json(RUN, &self.run)?)
    }

    /// Whether a checkpoint is of this directory's run. A directory that was copied without its hidden file takes
    /// what is there.
    pub(super) fn check_owner(
        &mut self,
        checkpoint: &Checkpoint,
        path: &Path,
    ) -> Result<(), RunError> {
        let run: String = checkpoint.get_json(RUN)?;
        if self.run.is_empty() {
            self.name_run(run)?;
        } else if self.run != run {
            return Err(RunError::OfAnotherRun { path: path.to_owned() });
        }
        Ok(())
    }

    fn name_run(&mut self, run: String) -> Result<(), OutputError> {
        let mut lock: &File = &self.identity.lock;
        self.full_disk.for_io(&self.path.join(LOCK), "write", || {
            lock.rewind()?;
            lock.set_len(0)?;
            writeln!(lock, "{run}")?;
            lock.sync_all()
        })?;
        self.run = run;
        Ok(())
    }

    /// Files that a run of this plan would write and that are there already.
    fn occupants(&self, plan: &Plan) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = checkpoints_in(&self.path)
            .map(|checkpoints| checkpoints.into_iter().map(|(_, path)| path).collect())
            .unwrap_or_default();
        found.extend(self.files_of(plan.stages.iter().map(|stage| stage.name.as_str())));
        found
    }

    /// Whether what is there is a run that has come to no step: its initial state, empty results, and trajectories with the
    /// first frame at most.
    fn has_only_begun(&self) -> bool {
        let checkpoints = checkpoints_in(&self.path).unwrap_or_default();
        let at_start = |file: &PathBuf| match file.extension().and_then(|ending| ending.to_str()) {
            Some("scp") => true,
            Some("h5") => {
                let results = ResultsFile::open(file).ok();
                results.and_then(|file| file.number("progress/step")) == Some(0.0)
            }
            _ => supercool_analysis::open(file)
                .is_ok_and(|trajectory| trajectory.steps().iter().all(|&step| step == 0)),
        };
        checkpoints.len() == 1 && checkpoints[0].0 == 0 && self.earlier.iter().all(at_start)
    }

    /// Files of stages with these names that are there.
    fn files_of<'a>(&self, stages: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for stage in stages {
            for extension in ["h5", "h5md", "inherent.h5md", "gsd"] {
                let path = self.path.join(format!("{stage}.{extension}"));
                if path.symlink_metadata().is_ok() {
                    found.push(path);
                }
            }
        }
        found
    }

    /// Files of the run that the checkpoints are of, whose stages may have other names; checkpoints that were set aside, and
    /// states in which repeated steps differed.
    fn left_by_another_plan(&self) -> Vec<PathBuf> {
        let checkpoints = checkpoints_in(&self.path).unwrap_or_default();
        let plan = checkpoints
            .iter()
            .find_map(|(_, path)| Checkpoint::read(path).ok()?.get_json::<HeldPlan>("plan").ok());
        if plan.is_none() && !checkpoints.is_empty() {
            tracing::warn!(
                "{}: no checkpoint can be read: files of stages with other names stay",
                self.path.display()
            );
        }
        let stages = plan.map_or_else(Vec::new, |plan| plan.stages);
        let mut found = self.files_of(stages.iter().map(|stage| stage.name.as_str()));
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let state = name.starts_with("recheck-") && name.ends_with(".scp");
            if state || name.ends_with(".scp.refused") || is_damaged(&name) {
                found.push(entry.path());
            }
        }
        found
    }
}

/// Locks a file, for which a process that was killed a moment ago is given time: it has its lock until the system has
/// taken it apart.
fn lock_and_wait(lock: &File) -> Result<(), TryLockError> {
    const PATIENCE: Duration = Duration::from_secs(3);
    let start = Instant::now();
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// Whether a file was set aside as damaged.
fn is_damaged(name: &str) -> bool {
    let number = name.rsplit_once(DAMAGED).map(|(_, number)| number.trim_start_matches('-'));
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()))
}

/// Removes what a killed process had not finished: files under their temporary names.
fn remove_partial(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kinds = [".h5.partial", ".h5md.partial", ".gsd.partial", ".scp.partial"];
        if kinds.iter().any(|kind| name.ends_with(kind)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_process_that_is_ending_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let held = OutputDirectory::open(directory.path()).unwrap();
        let refused = OutputDirectory::open(directory.path());
        assert!(matches!(refused, Err(RunError::Locked { .. })));
        let ending = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(held);
        });
        OutputDirectory::open(directory.path()).unwrap();
        ending.join().unwrap();
    }
}
