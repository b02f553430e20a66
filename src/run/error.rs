use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use supercool_analysis::significant;
use thiserror::Error;

use super::memory::Shortage;
use super::replay::ReplayError;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::initial::InitialError;
use crate::observable::ObservableError;
use crate::output::OutputError;

/// Why a run cannot start, continue or be resumed.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),

    #[error("{}: holds the files of an earlier run ({example})", path.display())]
    #[diagnostic(help(
        "`supercool resume {}` continues with it; --force removes it; --output or output.directory chooses \
         another directory",
        quoted(path)
    ))]
    Occupied { path: PathBuf, example: String },

    #[error("{}: --force would remove the initial state, {}", path.display(), initial.display())]
    #[diagnostic(help("choose another directory, by --output or output.directory"))]
    RemovesInitial { path: PathBuf, initial: PathBuf },

    #[error("{}: another supercool is running in this directory", path.display())]
    #[diagnostic(help(
        "`supercool watch {}` shows it; wait for it to end, or give a new run another directory", path.display()
    ))]
    Locked { path: PathBuf },

    #[error("{}: cannot be locked", path.display())]
    #[diagnostic(help(
        "its file system has no locks (flock), which keep a second run out: mount it with them (Lustre: -o flock, NFS: version \
         4), or choose another by --output or output.directory"
    ))]
    NoLocks { path: PathBuf, source: io::Error },

    #[error("{}: is not the directory of this run any more: {what}", path.display())]
    #[diagnostic(help(
        "the run's files are where they were moved to, up to the last flush; `supercool resume` continues with them there"
    ))]
    Gone { path: PathBuf, what: &'static str },

    #[error("it is of before the stage, whose other files would be begun anew")]
    BeforeStage,

    // The reason is printed below, as the source.
    #[error("output.directory: {} cannot be {what}", path.display())]
    #[diagnostic(help("it must be a directory that this user may write to"))]
    Directory { path: PathBuf, what: &'static str, source: io::Error },

    #[error("{}: is a file; a run is resumed by its directory", path.display())]
    #[diagnostic(help(
        "`supercool resume DIRECTORY`, with the directory of its checkpoints and results"
    ))]
    NotADirectory { path: PathBuf },

    #[error("{}: no checkpoint to resume from", path.display())]
    #[diagnostic(help(
        "a run writes the first one when it starts: name the directory of a run, or start one with `supercool run FILE`"
    ))]
    NoCheckpoint { path: PathBuf },

    #[error("{}: no checkpoint can be used; the last one: {why}", path.display())]
    #[diagnostic(help("{help}; the files of the run are as they were"))]
    AllRefused { path: PathBuf, why: String, help: String },

    #[error("{}: the checkpoint is of another run than the files in this directory", path.display())]
    #[diagnostic(help(
        "move it back to its own directory; as a start it can be given as system.initial.file"
    ))]
    OfAnotherRun { path: PathBuf },

    #[error(
        "stage \"{stage}\", step {step}{}: {what} {}, more than limits.{key} = {bound}{}",
        of_system(*system), significant(*value, 7), see(file.as_deref())
    )]
    #[diagnostic(help(
        "the run is not what was meant from somewhere before this step on; a shorter timestep, another start or a wider \
         bound may be; limits.action = \"warn\" only says so"
    ))]
    Beyond {
        key: &'static str,
        what: &'static str,
        value: f64,
        bound: f64,
        step: u64,
        stage: String,
        /// With the time series, if there is one.
        file: Option<PathBuf>,
        /// Of many systems.
        system: Option<usize>,
    },

    #[error(
        "step {step}{}: steps taken twice from the same state gave other bits (integrity.recheck): {difference}; equal \
         until step {equal_until}; {verdict}", of_system(*system)
    )]
    #[diagnostic(help(
        "memory, GPU or processor err silently: have them tested before you continue. The states are in {}. \
         `supercool resume {}` continues from the last checkpoint, which is of before this step",
        names(files),
        quoted(directory)
    ))]
    Unequal {
        step: u64,
        equal_until: u64,
        difference: String,
        verdict: &'static str,
        files: Vec<PathBuf>,
        directory: PathBuf,
        /// Of many systems.
        system: Option<usize>,
    },

    #[error("integrity.recheck: there is no second engine to repeat steps with: {error}")]
    #[diagnostic(help(
        "it needs as much memory again as the first one; leave [integrity] out, or take fewer particles"
    ))]
    SecondEngine { error: EngineError },

    #[error("stage \"{stage}\": density: stage \"{of}\" has no samples of its density")]
    #[diagnostic(help("give stage \"{of}\" observe.thermodynamics shorter than the stage"))]
    NoDensitySamples { stage: String, of: String },

    #[error("stage \"{stage}\": set_total_energy: stage \"{of}\" has no samples of its energy")]
    #[diagnostic(help("give stage \"{of}\" observe.thermodynamics shorter than the stage"))]
    NoEnergySamples { stage: String, of: String },

    #[error(
        "stage \"{stage}\"{}: set_total_energy: {energy} per particle cannot be reached: the potential energy \
         alone is {potential}", of_system(*system)
    )]
    EnergyOutOfReach { stage: String, energy: f64, potential: f64, system: Option<usize> },

    #[error("stage \"{stage}\", {error}{}", seen_in(file))]
    #[diagnostic(help("{help}"))]
    Broken { error: Box<EngineError>, stage: String, file: Option<PathBuf>, help: String },

    #[error("{error}; the run had come to step {step}")]
    #[diagnostic(help(
        "`supercool resume {}` continues from the last checkpoint; `nvidia-smi` and the system log (\"Xid\") say \
         what became of the GPU",
        quoted(directory)
    ))]
    GpuLost { error: EngineError, step: u64, directory: PathBuf },

    #[error("signals cannot be caught: {source}")]
    Signals { source: io::Error },

    #[error("the thread that writes files could not be started: {source}")]
    Writer { source: io::Error },

    #[error("the files of this stage are not written any more")]
    WriterHasEnded,

    #[error(
        "SUPERCOOL_FLIP_BIT is STEP:PARTICLE:AXIS:BIT with particles below {particles}, axes below 3 and bits below 64, \
         not {text}"
    )]
    Fault { text: String, particles: usize },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Engine(#[from] EngineError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Output(#[from] OutputError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Initial(#[from] InitialError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Memory(#[from] Shortage),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Replay(#[from] ReplayError),

    #[error("stage \"{stage}\"{}: diameter_classes: {error}", of_system(*system))]
    #[diagnostic(help(
        "give bounds within the diameters of the particles, or a number of classes: diameter_classes = 3"
    ))]
    Classes { stage: String, system: Option<usize>, error: ObservableError },

    #[error(transparent)]
    Observable(#[from] ObservableError),
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map(String::from).unwrap_or(text)
}

fn see(file: Option<&Path>) -> String {
    file.map_or_else(String::new, |file| format!(": see {}", file.display()))
}

/// Which of many systems, where there are many.
pub(super) fn of_system(system: Option<usize>) -> String {
    system.map_or_else(String::new, |system| format!(", system {system}"))
}

fn seen_in(file: &Option<PathBuf>) -> String {
    file.as_ref().map_or_else(String::new, |file| format!("; what led to it: {}", file.display()))
}

impl RunError {
    /// The reason is given for the last checkpoint.
    pub(super) fn all_refused(path: &Path, why: &RunError) -> Self {
        let help = why.help().map_or_else(
            || "the errors above say what is wrong with each".to_owned(),
            |help| help.to_string(),
        );
        RunError::AllRefused { path: path.to_owned(), why: why.to_string(), help }
    }

    /// An engine's error in a stage that has begun: of a state that no sound run comes to, with the stage and the file that
    /// shows how it came there.
    pub(super) fn in_stage(error: EngineError, stage: &str, directory: &Path) -> Self {
        // What is of one system is one of these.
        let broken = matches!(
            error,
            EngineError::TooClose { .. }
                | EngineError::Runaway { .. }
                | EngineError::OutOfRange { .. }
                | EngineError::OfSystem { .. }
        );
        if !broken {
            return error.into();
        }
        let files = ["h5", "h5md", "gsd"].map(|ending| directory.join(format!("{stage}.{ending}")));
        let help = error.help().map_or_else(String::new, |help| help.to_string());
        let file = files.into_iter().find(|file| file.exists());
        RunError::Broken { error: Box::new(error), stage: stage.to_owned(), file, help }
    }

    /// Whether it is not the checkpoint that is wrong, but a file that it counts on.
    pub(super) fn is_of_files(&self) -> bool {
        matches!(
            self,
            RunError::Output(
                OutputError::Foreign { .. }
                    | OutputError::TooShort { .. }
                    | OutputError::Damaged { .. }
            )
        )
    }

    /// Whether an error met on restoring a checkpoint says that the run cannot continue from this one, so that the one
    /// before it is to be tried.
    pub(super) fn refuses_checkpoint(&self) -> bool {
        use OutputError::{
            CheckpointContent, CheckpointCutShort, CheckpointDamaged, CheckpointUnfit,
            CheckpointUnreadable, CheckpointVersion, NotACheckpoint,
        };
        let of_checkpoint = matches!(
            self,
            RunError::OfAnotherRun { .. }
                | RunError::BeforeStage
                | RunError::Output(
                    CheckpointUnreadable { .. }
                        | NotACheckpoint { .. }
                        | CheckpointVersion { .. }
                        | CheckpointCutShort { .. }
                        | CheckpointDamaged { .. }
                        | CheckpointContent { .. }
                        | CheckpointUnfit { .. }
                )
        );
        of_checkpoint || self.is_of_files()
    }

    /// An engine's error in a run whose files reach to `step`.
    pub(super) fn of_engine(error: EngineError, step: u64, directory: &Path) -> Self {
        match error {
            EngineError::GpuLost { .. } => {
                RunError::GpuLost { error, step, directory: directory.to_owned() }
            }
            error => error.into(),
        }
    }
}

fn names(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
