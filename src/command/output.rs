//! Files that a command writes: they replace what is there, but never results.
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use miette::miette;

/// How files begin that are not made anew in a moment.
const KEPT: [(&[u8; 8], &str); 3] = [
    (b"\x89HDF\r\n\x1a\n", "it is an HDF5 file"),
    (b"\x89SCP\r\n\x1a\n", "it is a checkpoint"),
    (b"\xdf\x65\xdf\x65\xdf\x65\xdf\x65", "it is a GSD file"),
];

/// An error if two of the files that a command is to write are the same.
pub fn refuse_same<'a>(outputs: impl IntoIterator<Item = &'a PathBuf>) -> miette::Result<()> {
    let mut named = BTreeSet::new();
    // What is no file (`/dev/stdout`) takes both.
    for output in outputs.into_iter().filter(|output| output.is_file() || !output.exists()) {
        if !named.insert(resolved(output)) {
            let help = "each has a file of its own";
            return Err(miette!(help = help, "{}: is to be written twice", output.display()));
        }
    }
    Ok(())
}

/// A path in one spelling, of a file that is not there yet, too.
fn resolved(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let made = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(made).unwrap_or_else(|| path.to_owned())
}

/// An error if writing to `output` would destroy one of the files that are read, or any HDF5 file, GSD file or checkpoint.
pub fn refuse_overwriting(output: &Path, inputs: &[PathBuf]) -> miette::Result<()> {
    // What is not there yet has no such name.
    let Ok(present) = output.canonicalize() else { return Ok(()) };
    let is_read = |input: &PathBuf| input.canonicalize().is_ok_and(|input| input == present);
    let what = match inputs.iter().any(is_read) {
        true => "it is one of the files that are read",
        false => match kept(&present) {
            Some(what) => what,
            None => return Ok(()),
        },
    };
    Err(miette!(
        help = "give another name, or remove the file if nothing in it is needed any more",
        "{}: is not overwritten: {what}",
        output.display()
    ))
}

/// What a file is that is kept. Of regular files only: others (`/dev/stdout`) may keep a reader waiting.
fn kept(path: &Path) -> Option<&'static str> {
    let mut start = [0; 8];
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if !path.is_file() || read().is_err() {
        return None;
    }
    KEPT.iter().find(|(signature, _)| start == **signature).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn pages_and_figures_are_replaced_and_results_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("plain.txt"), "1 2 3").unwrap();
        fs::write(path("page.html"), "<html>").unwrap();
        fs::write(path("other.h5"), b"\x89HDF\r\n\x1a\n\x03\x08\x08\x00").unwrap();
        fs::write(path("checkpoint-5.scp"), b"\x89SCP\r\n\x1a\n\x03\0\0\0").unwrap();
        fs::write(path("a.gsd"), 0x65DF_65DF_65DF_65DF_u64.to_le_bytes()).unwrap();
        fs::create_dir(path("sub")).unwrap();
        std::os::unix::fs::symlink(path("plain.txt"), path("link.txt")).unwrap();
        let inputs = [path("missing.h5"), path("plain.txt")];
        for allowed in [path("page.html"), path("new.html"), path("no/folder"), "/dev/null".into()]
        {
            assert!(refuse_overwriting(&allowed, &inputs).is_ok(), "{allowed:?}");
        }
        for (refused, why) in [
            ("plain.txt", "files that are read"),
            ("link.txt", "files that are read"),
            ("sub/../plain.txt", "files that are read"),
            ("other.h5", "an HDF5 file"),
            ("checkpoint-5.scp", "a checkpoint"),
            ("a.gsd", "a GSD file"),
        ] {
            let error = refuse_overwriting(&path(refused), &inputs).unwrap_err().to_string();
            assert!(error.contains(refused) && error.contains(why), "{error}");
        }
    }
    #[test]
    fn no_file_is_written_twice() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("old.csv"), "").unwrap();
        assert!(refuse_same(&[path("a.csv"), path("a.json"), path("sub/a.csv")]).is_ok());
        assert!(refuse_same(&["/dev/null".into(), "/dev/null".into()]).is_ok());
        for same in ["a.csv", "sub/../a.csv", "old.csv"] {
            let outputs = [path("a.csv"), path("old.csv"), path(same)];
            let error = refuse_same(&outputs).unwrap_err().to_string();
            assert!(error.contains(same) && error.contains("written twice"), "{error}");
        }
    }
}
