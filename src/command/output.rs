//! Files that a command is told to write: they replace what is there, but never results.
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use miette::miette;

const HDF5_SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// An error if writing to `output` would destroy one of the files that are read, or any HDF5 file.
pub fn refuse_overwriting(output: &Path, inputs: &[PathBuf]) -> miette::Result<()> {
    // What is not there yet has no such name.
    let Ok(present) = output.canonicalize() else { return Ok(()) };
    let is_read = |input: &PathBuf| input.canonicalize().is_ok_and(|input| input == present);
    let what = match inputs.iter().any(is_read) {
        true => "it is one of the files that are read",
        false if is_hdf5(&present) => "it is an HDF5 file",
        false => return Ok(()),
    };
    Err(miette!(
        help = "give another name, or remove the file if nothing in it is needed any more",
        "{}: is not overwritten: {what}",
        output.display()
    ))
}

/// Of regular files only: others (`/dev/stdout`) may keep a reader waiting.
fn is_hdf5(path: &Path) -> bool {
    let mut start = [0; 8];
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut start));
    path.is_file() && read().is_ok() && start == *HDF5_SIGNATURE
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
        ] {
            let error = refuse_overwriting(&path(refused), &inputs).unwrap_err().to_string();
            assert!(error.contains(refused) && error.contains(why), "{error}");
        }
    }
}
