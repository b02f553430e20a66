use std::path::PathBuf;

use miette::Diagnostic;
use supercool_analysis::AnalysisError;
use thiserror::Error;

use super::format;
use crate::output::OutputError;

/// Why a file cannot be converted.
#[derive(Debug, Error, Diagnostic)]
pub enum ConvertError {
    #[error("{}: its name does not say a format", path.display())]
    #[diagnostic(help("names end in {}; or give --to with one of these words", format::endings()))]
    UnknownFormat { path: PathBuf },

    #[error("{}: exists already", path.display())]
    #[diagnostic(help("give another name, or --force to replace it"))]
    Exists { path: PathBuf },

    #[error("{}: is the file that is read", path.display())]
    #[diagnostic(help("give the destination another name"))]
    SameFile { path: PathBuf },

    #[error("{}: is a folder", path.display())]
    #[diagnostic(help("give the name of a file"))]
    Folder { path: PathBuf },

    #[error("{}: holds {systems} systems", path.display())]
    #[diagnostic(help("--system takes one of them, 0 to {}", systems - 1))]
    ManySystems { path: PathBuf, systems: usize },

    #[error("{}: none of its {frames} frames is selected", path.display())]
    #[diagnostic(help("frames are 0 to {}, at {steps}", frames.saturating_sub(1)))]
    NoFrames { path: PathBuf, frames: usize, steps: String },

    #[error("--every: {} does not say the steps of its frames", path.display())]
    #[diagnostic(help("--frames ::N takes each N-th"))]
    NoSteps { path: PathBuf },

    #[error("a LAMMPS data file holds one frame, and {selected} are selected")]
    #[diagnostic(help("--frames -1 takes the last, --frames 0 the first"))]
    OneFrame { selected: usize },

    #[error("{}: has no images: unwrapped positions are not known", path.display())]
    #[diagnostic(help(
        "leave --unwrapped out; LAMMPS writes images with ix iy iz, HOOMD-blue with dynamic=[\"property\", \"momentum\"]"
    ))]
    NoImages { path: PathBuf },

    #[error("GSD holds positions within the box, and images beside them")]
    #[diagnostic(help("leave --unwrapped out"))]
    UnwrappedGsd,

    #[error("{}: frame {frame}, of step {step}: {what}", path.display())]
    #[diagnostic(help("{help}"))]
    Unlike { path: PathBuf, frame: usize, step: u64, what: String, help: String },

    #[error("species \"{name}\": extended XYZ holds no names that are empty or have spaces")]
    #[diagnostic(help("convert to another format"))]
    SpeciesName { name: String },

    #[error("{}: no space left for it on the disk (or in the quota)", path.display())]
    #[diagnostic(help("make room, or select fewer frames; nothing of it was left"))]
    DiskFull { path: PathBuf },

    #[error(transparent)]
    Source(#[from] AnalysisError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Output(OutputError),
}

impl From<OutputError> for ConvertError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::DiskFull { path } => ConvertError::DiskFull { path },
            error => ConvertError::Output(error),
        }
    }
}
