use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with a file of the run. Every message names the file.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum OutputError {
    #[error("{}: exists already", path.display())]
    #[diagnostic(
        code(supercool::output::exists),
        help("choose another output directory, remove the file, or run with --force")
    )]
    Exists { path: PathBuf },

    #[error("{}: cannot be written: {source}", path.display())]
    #[diagnostic(
        code(supercool::output::not_writable),
        help("the directory must exist and be writable by this user")
    )]
    NotWritable { path: PathBuf, source: io::Error },

    #[error("{}: no space left for it on the disk (or in the quota)", path.display())]
    #[diagnostic(
        code(supercool::output::disk_full),
        help(
            "what was written before is intact: make room and resume from the last checkpoint; \
             larger intervals in `observe` write less"
        )
    )]
    DiskFull { path: PathBuf },

    #[error("{}: not a file that this run can continue: {reason}", path.display())]
    #[diagnostic(
        code(supercool::output::foreign),
        help(
            "put the run's own file back, if there is a copy; or start a new run from the state of a checkpoint, which \
             system.initial.file can name"
        )
    )]
    Foreign { path: PathBuf, reason: String },

    #[error("{}: is damaged: {reason}", path.display())]
    #[diagnostic(
        code(supercool::output::damaged),
        help("put a copy back, if there is one; else have the disk looked at")
    )]
    Damaged { path: PathBuf, reason: String },

    #[error("{}: holds {found} {what}, but the run to be continued had written {expected}", path.display())]
    #[diagnostic(
        code(supercool::output::too_short),
        help(
            "the file and the checkpoint do not belong together: resume from an older checkpoint"
        )
    )]
    TooShort { path: PathBuf, what: &'static str, found: u64, expected: u64 },

    #[error("{}: cannot {doing}: {reason}", path.display())]
    #[diagnostic(code(supercool::output::hdf5))]
    Hdf5 { path: PathBuf, doing: String, reason: String },

    #[error("{}: cannot {doing}: {source}", path.display())]
    #[diagnostic(code(supercool::output::io))]
    Io { path: PathBuf, doing: String, source: io::Error },

    #[error("{}: longer than files of this process may get", path.display())]
    #[diagnostic(
        code(supercool::output::file_limit),
        help(
            "`ulimit -f` says how long: raise it, and resume from the last checkpoint; larger intervals in `observe` write \
             less"
        )
    )]
    FileLimit { path: PathBuf },

    #[error("{}: the checkpoint cannot be read: {source}", path.display())]
    #[diagnostic(code(supercool::checkpoint::unreadable))]
    CheckpointUnreadable { path: PathBuf, source: io::Error },

    #[error("{}: not a supercool checkpoint", path.display())]
    #[diagnostic(
        code(supercool::checkpoint::foreign),
        help("checkpoints are named checkpoint-STEP.scp")
    )]
    NotACheckpoint { path: PathBuf },

    #[error("{}: checkpoint of format version {found}; this program reads version {expected}", path.display())]
    #[diagnostic(
        code(supercool::checkpoint::version),
        help("resume with the version of supercool that wrote it")
    )]
    CheckpointVersion { path: PathBuf, found: u32, expected: u32 },

    #[error("{}: checkpoint is cut short: {found} of {expected} bytes", path.display())]
    #[diagnostic(
        code(supercool::checkpoint::cut_short),
        help("resume from the checkpoint before it")
    )]
    CheckpointCutShort { path: PathBuf, found: u64, expected: u64 },

    #[error("{}: checkpoint is damaged: {reason}", path.display())]
    #[diagnostic(
        code(supercool::checkpoint::damaged),
        help("resume from the checkpoint before it")
    )]
    CheckpointDamaged { path: PathBuf, reason: String },

    #[error("checkpoint: `{name}` {reason}")]
    #[diagnostic(
        code(supercool::checkpoint::content),
        help("it belongs to another kind of run, or another version of supercool wrote it")
    )]
    CheckpointContent { name: String, reason: String },

    #[error("{}: the checkpoint does not fit this program: {reason}", path.display())]
    CheckpointUnfit { path: PathBuf, reason: String },
}

impl OutputError {
    /// From an error of the operating system met while `doing` ("write a frame").
    pub(super) fn io(path: &Path, doing: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::FileTooLarge {
            return OutputError::FileLimit { path };
        }
        if is_out_of_space(&source) {
            return OutputError::DiskFull { path };
        }
        match source.kind() {
            io::ErrorKind::AlreadyExists => OutputError::Exists { path },
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::NotFound => OutputError::NotWritable { path, source },
            _ => OutputError::Io { path, doing: doing.to_owned(), source },
        }
    }

    /// From an error of the HDF5 library. The cause is in the innermost frames of its error stack,
    /// where the operating system's error number stands as text ("errno = 28").
    pub(super) fn hdf5(path: &Path, doing: &str, error: hdf5::Error) -> Self {
        let reason = match error {
            hdf5::Error::Internal(reason) => reason,
            hdf5::Error::HDF5(stack) => match stack.expand() {
                Ok(frames) => {
                    frames.iter().map(|frame| frame.desc()).collect::<Vec<_>>().join(": ")
                }
                Err(_) => "unknown error of the HDF5 library".to_owned(),
            },
        };
        if let Some(number) = error_number(&reason) {
            return Self::io(path, doing, io::Error::from_raw_os_error(number));
        }
        if reason.contains("file signature not found") {
            return foreign(path, "it is not an HDF5 file");
        }
        if let Some(cut_off) = supercool_analysis::cut_off(&reason) {
            return foreign(path, &cut_off);
        }
        OutputError::Hdf5 { path: path.to_owned(), doing: doing.to_owned(), reason }
    }
}

/// A file that is there, but is not what the run has written.
pub(super) fn foreign(path: &Path, reason: &str) -> OutputError {
    OutputError::Foreign { path: path.to_owned(), reason: reason.to_owned() }
}

pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn error_number(reason: &str) -> Option<i32> {
    let digits = reason.split("errno = ").nth(1)?;
    digits[..digits.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_in_an_hdf5_error_stack_is_found() {
        let text = |errno: i32| {
            hdf5::Error::Internal(format!("can't write: file write failed: errno = {errno}, error"))
        };
        let path = Path::new("a.h5");
        assert!(matches!(OutputError::hdf5(path, "x", text(28)), OutputError::DiskFull { .. }));
        assert!(matches!(OutputError::hdf5(path, "x", text(13)), OutputError::NotWritable { .. }));
        assert!(matches!(
            OutputError::hdf5(path, "x", hdf5::Error::Internal("no errno".into())),
            OutputError::Hdf5 { .. }
        ));
    }
}
