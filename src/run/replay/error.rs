use std::path::PathBuf;

use miette::Diagnostic;
use supercool_analysis::AnalysisError;
use thiserror::Error;

/// Why the observables of a stage cannot be evaluated on a trajectory.
#[derive(Debug, Error, Diagnostic)]
pub enum ReplayError {
    #[error("{}: holds {systems} systems", path.display())]
    #[diagnostic(help("--system takes one of them, 0 to {}", systems - 1))]
    ManySystems { path: PathBuf, systems: usize },

    #[error("{}: replicas were exchanged in its stage: frames are not of one system over time", path.display())]
    #[diagnostic(help(
        "choose a stage without [[stage.correlation]], or the trajectory of a stage without exchanges"
    ))]
    Exchanged { path: PathBuf },

    #[error(transparent)]
    Trajectory(#[from] AnalysisError),

    #[error("--steps-per-frame {given}: {frames} frames have no step numbers of 64 bits then")]
    #[diagnostic(help("it is the number of steps from one frame to the next"))]
    StepsOverflow { given: u64, frames: usize },

    #[error("--steps-per-frame: {} says the steps of its frames", path.display())]
    StepsAreKnown { path: PathBuf },

    #[error("{}: says neither the steps nor the times of its frames", path.display())]
    #[diagnostic(help(
        "--steps-per-frame N, with steps of run.timestep; or Step=... in the second lines of its frames"
    ))]
    NoSteps { path: PathBuf },

    #[error("{}: {frames} frames; at least two are needed", path.display())]
    TooFewFrames { path: PathBuf, frames: usize },

    #[error(
        "{}: frame {frame} is at step {step}, the one before at {before}; the first two are at {first} and {second}",
        path.display()
    )]
    #[diagnostic(help(
        "structure, bond_order, configurational_temperature and inherent_structures need frames at equal intervals, and others may lie between them; \
         steps of frames must ascend"
    ))]
    Irregular { path: PathBuf, frame: usize, step: u64, before: u64, first: u64, second: u64 },

    #[error(
        "stage \"{stage}\": {key}: the time {time:.6}, {step} steps behind the first frame, {why}"
    )]
    #[diagnostic(help("times of frames, and lags from one frame to another"))]
    NoFrame { stage: String, key: &'static str, time: f64, step: u64, why: &'static str },

    #[error("--stage {name}: no such stage with correlations or structure; there are: {all}")]
    NoSuchStage { name: String, all: String },

    #[error(
        "no stage of the configuration has correlations, structure, bond_order, configurational_temperature or inherent_structures"
    )]
    NothingToEvaluate,

    #[error("several stages have correlations or structure; choose one with --stage: {all}")]
    SeveralStages { all: String },

    #[error(
        "stage \"{stage}\": {key} = {every}, but frames at equal intervals are {spacing} steps apart"
    )]
    #[diagnostic(help("a multiple of {spacing}, such as {}", every.next_multiple_of(*spacing)))]
    Interval { stage: String, key: &'static str, every: u64, spacing: u64 },

    #[error("{observable} needs the stress tensor, which a trajectory does not have")]
    #[diagnostic(help("leave it out; a run evaluates it while it continues"))]
    NoStress { observable: &'static str },

    #[error("{}: no velocities of step {step}, which the velocity autocorrelation needs", path.display())]
    #[diagnostic(help("leave velocity-autocorrelation out of the observables"))]
    NoVelocities { path: PathBuf, step: u64 },

    #[error("{}: a box of {found:?}, but the configuration has {expected:?}", path.display())]
    #[diagnostic(help("give system.box (or density and counts) as in the trajectory"))]
    OtherBox { path: PathBuf, found: Vec<f64>, expected: Vec<f64> },

    #[error(
        "{}: a step takes {found}, but the configuration says run.timestep = {expected}", path.display()
    )]
    #[diagnostic(help("run.timestep = {found}"))]
    OtherTimestep { path: PathBuf, found: f64, expected: f64 },

    #[error(
        "{}: step {step} is at time {time}, {after} after the first frame; {steps} steps of {timestep} take {expected}",
        path.display()
    )]
    #[diagnostic(help("steps and times of all frames must fit run.timestep"))]
    OtherTime {
        path: PathBuf,
        step: u64,
        time: f64,
        after: f64,
        steps: u64,
        timestep: f64,
        expected: f64,
    },

    #[error("{}: its box has a tilt, and {what} of the stage \"{stage}\" is not computed in such boxes", path.display())]
    #[diagnostic(help("{help}"))]
    Tilted { path: PathBuf, stage: String, what: String, help: &'static str },

    #[error("{}: the flow of the stage \"{stage}\" {why}", path.display())]
    #[diagnostic(help(
        "frames of a flow are evaluated from its start, as a run with this configuration has written them; a run evaluates it while it continues"
    ))]
    Flow { path: PathBuf, stage: String, why: String },

    #[error(
        "{}: a tilt of {found} edges at step {step}, where the stage \"{stage}\" has {expected}", path.display()
    )]
    #[diagnostic(help(
        "a box at rest keeps its tilt in a stage without shear; one that changes is evaluated with the stage of the run, with its shear"
    ))]
    OtherTilt { path: PathBuf, stage: String, step: u64, found: f64, expected: f64 },

    #[error("{}: {what} at step {step}", path.display())]
    Changes { path: PathBuf, what: &'static str, step: u64 },

    #[error(
        "{}, step {step}: no images, and {far} of {all} components of displacements from the frame before are above \
         {limit} edges of the box: particles cannot be followed",
        path.display()
    )]
    #[diagnostic(help(
        "store images or frames at shorter intervals; and ids, if the order of particles changes from frame to frame"
    ))]
    TooFar { path: PathBuf, step: u64, far: usize, all: usize, limit: f64 },

    #[error("{}: {found} particles of species {species}, but the configuration has {expected}", path.display())]
    #[diagnostic(help("species of the trajectory: {names}"))]
    OtherSpecies { path: PathBuf, found: usize, species: String, expected: usize, names: String },

    #[error("{}: {found} particles, but the configuration has {expected}", path.display())]
    OtherCount { path: PathBuf, found: usize, expected: usize },

    #[error("{}: particles of species {species} have mass {found}, in system.species {expected}", path.display())]
    #[diagnostic(help(
        "mass = {found} for species {species} in system.species, if it is this system"
    ))]
    OtherMass { path: PathBuf, species: String, found: f64, expected: f64 },

    #[error(
        "{}: no ids; the order of particles changes from frame to frame in a {format}, and they cannot be correlated",
        path.display()
    )]
    #[diagnostic(help("dump custom ... id type x y z ix iy iz"))]
    NoIds { path: PathBuf, format: &'static str },

    #[error("{}: no diameters in the file, and diameter_classes divides the particles by them", path.display())]
    #[diagnostic(help(
        "trajectories of runs with [system.diameters] hold them, as do GSD, extended XYZ (radius) and LAMMPS files (diameter)"
    ))]
    NoDiameters { path: PathBuf },

    #[error("--output {}: the trajectory itself lies there", directory.display())]
    #[diagnostic(help(
        "results of a trajectory go to a directory of their own, which --output names"
    ))]
    InItsDirectory { directory: PathBuf },

    // An occupied directory, with the ways out that there are here: nothing can be resumed.
    #[error("{}: holds the files of an earlier run ({example})", path.display())]
    #[diagnostic(help("--force removes it; --output chooses another directory"))]
    Occupied { path: PathBuf, example: String },
}
