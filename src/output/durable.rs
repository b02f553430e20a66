//! Files that are there complete or not at all, also after a power cut.
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::OutputError;

/// Name under which a file is written before it is complete: in the same directory, so that it can
/// be renamed.
pub fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

/// Makes the finished file at `partial` durable and gives it its name.
pub(super) fn publish(partial: &Path, path: &Path) -> Result<(), OutputError> {
    sync_file(partial)?;
    fs::rename(partial, path).map_err(|error| OutputError::io(path, "rename", error))?;
    sync_directory(path)
}

/// Makes a new file of these bytes.
pub fn publish_bytes(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let partial = partial_path(path);
    let published = fs::write(&partial, bytes)
        .map_err(|error| OutputError::io(path, "create", error))
        .and_then(|()| publish(&partial, path));
    if published.is_err() {
        let _ = fs::remove_file(&partial);
    }
    published
}

/// Waits until what was written to the file is on the disk.
pub(super) fn sync_file(path: &Path) -> Result<(), OutputError> {
    File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.sync_all())
        .map_err(|error| OutputError::io(path, "bring to the disk", error))
}

/// Waits until the entry of `path` in its directory is on the disk.
fn sync_directory(path: &Path) -> Result<(), OutputError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    match synced {
        // Not every file system brings directories to the disk on request.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        synced => {
            synced.map_err(|error| OutputError::io(path, "bring the directory to the disk", error))
        }
    }
}

/// Whether `path` names this open file or directory: not if it was moved or replaced.
///
/// # Errors
/// If there is nothing of that name, or it cannot be seen.
pub fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let (held, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((held.dev(), held.ino()) == (named.dev(), named.ino()))
}
