use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::engine::EngineError;

/// Why a run cannot start, go on or be resumed.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    #[error("{}: holds the files of an earlier run ({example})", path.display())]
    #[diagnostic(help(
        "`supercool resume {}` goes on with it; --force removes it; --output or output.directory chooses \
         another directory", path.display()
    ))]
    Occupied { path: PathBuf, example: String },

    #[error("{}: another supercool is running in this directory", path.display())]
    #[diagnostic(help("wait for it to end, or choose another output.directory"))]
    Locked { path: PathBuf },

    #[error("output.directory: {} cannot be {what}: {source}", path.display())]
    #[diagnostic(help("it must be a directory that this user may write to"))]
    Directory { path: PathBuf, what: &'static str, source: io::Error },

    #[error("{}: no checkpoint to resume from", path.display())]
    #[diagnostic(help(
        "a run writes the first one after checkpoint.minutes, at the end of a stage, or when it is told to stop; \
         start the run again with `supercool run FILE --force`"
    ))]
    NoCheckpoint { path: PathBuf },

    #[error("{}: the checkpoint does not fit this program: {reason}", path.display())]
    Content { path: PathBuf, reason: String },

    #[error("stage \"{stage}\": set_total_energy: stage \"{of}\" has no samples of its energy")]
    #[diagnostic(help("give stage \"{of}\" observe.thermodynamics shorter than the stage"))]
    NoEnergySamples { stage: String, of: String },

    #[error(
        "stage \"{stage}\": set_total_energy: {energy} per particle cannot be reached: the potential energy \
         alone is {potential}"
    )]
    EnergyOutOfReach { stage: String, energy: f64, potential: f64 },

    #[error("{error}; results are whole up to step {step}")]
    #[diagnostic(help(
        "`supercool resume {}` goes on from the last checkpoint; `nvidia-smi` and the system log (\"Xid\") say \
         what became of the card", directory.display()
    ))]
    CardLost { error: EngineError, step: u64, directory: PathBuf },

    #[error("signals cannot be caught: {source}")]
    Signals { source: io::Error },

    #[error("the thread that writes files could not be started: {source}")]
    Writer { source: io::Error },
}

impl RunError {
    /// An engine's error in a run whose files reach to `step`.
    pub(super) fn of_engine(error: EngineError, step: u64, directory: &Path) -> miette::Report {
        match error {
            EngineError::CardLost { .. } => {
                RunError::CardLost { error, step, directory: directory.to_owned() }.into()
            }
            error => error.into(),
        }
    }
}
