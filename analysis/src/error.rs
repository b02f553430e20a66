use std::path::{Path, PathBuf};

/// What can go wrong; every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// The operating system refused.
    #[error("{}: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Its answer; not the error's source, which would be printed a second time.
        reason: std::io::Error,
    },
    /// The file was read but does not hold what is needed.
    #[error("{}: {what}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong and, where known, what would be right.
        what: String,
    },
    /// As [`AnalysisError::Content`], at a line of a text file.
    #[error("{}:{line}: {what}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong and, where known, what would be right.
        what: String,
    },
    /// The HDF5 library refused.
    #[error("{}: HDF5, at {at}: {reason}", file.display())]
    Hdf5 {
        /// The file.
        file: PathBuf,
        /// Object in the file.
        at: String,
        /// The library's answer.
        reason: hdf5::Error,
    },
    /// What was asked for does not fit what there is.
    #[error("{0}")]
    Request(String),
}

/// Result of everything here that reads.
pub type Result<T> = std::result::Result<T, AnalysisError>;

impl AnalysisError {
    pub(crate) fn io(file: &Path) -> impl FnOnce(std::io::Error) -> AnalysisError + '_ {
        move |reason| AnalysisError::Io { file: file.to_owned(), reason }
    }

    pub(crate) fn content(file: &Path, what: impl Into<String>) -> Self {
        AnalysisError::Content { file: file.to_owned(), what: what.into() }
    }

    pub(crate) fn line(file: &Path, line: u64, what: impl Into<String>) -> Self {
        AnalysisError::Line { file: file.to_owned(), line, what: what.into() }
    }
}

/// What HDF5 means by "truncated file: eof = 100, sblock->base_addr = 0, stored_eof = 2000", if that is in its answer: how
/// many bytes the file has, and how many by its superblock.
pub fn cut_off(reason: &str) -> Option<String> {
    let (_, numbers) = reason.split_once("truncated file: ")?;
    let number = |name: &str| -> Option<u64> {
        let mut parts = numbers.split(", ").filter_map(|part| part.split_once(" = "));
        let (_, number) = parts.find(|(found, _)| *found == name)?;
        number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let (left, whole) = (number("eof")?, number("stored_eof")?);
    Some(format!("it was cut off, {left} bytes of {whole} are left"))
}
