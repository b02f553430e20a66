use std::fmt;

use indicatif::BinaryBytes;
use miette::Diagnostic;
use thiserror::Error;

/// A version of CUDA, such as 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion {
    pub major: i32,
    pub minor: i32,
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why an engine cannot start or continue.
#[derive(Debug, Error, Diagnostic)]
pub enum EngineError {
    #[error("the search for an inherent structure was given up, as the run is to stop")]
    GivenUp,

    #[error("what the checkpoint holds of the strain is not of these systems")]
    StrainMemory,

    #[error("run.engine: no NVIDIA driver on this machine: {0} was not found")]
    #[diagnostic(help(
        "use engine = \"cpu\" or \"auto\"; on a machine with a GPU, install its driver"
    ))]
    NoDriver(&'static str),

    #[error("run.engine: the NVIDIA driver is there, but it shows no GPU{0}")]
    #[diagnostic(help("use engine = \"cpu\" or \"auto\"; `nvidia-smi` should list the GPU"))]
    NoGpu(String),

    #[error(
        "the NVIDIA driver is for CUDA {found}; this program needs one for CUDA {needed} or newer"
    )]
    #[diagnostic(help("update the driver, or use engine = \"cpu\""))]
    DriverTooOld { found: CudaVersion, needed: CudaVersion },

    #[error(
        "run.engine: NVRTC, CUDA's compiler library, was not found or could not be loaded:\n{0}"
    )]
    #[diagnostic(help(
        "install it (part of the CUDA toolkit; also `pip install nvidia-cuda-nvrtc`) and put its folder on \
         LD_LIBRARY_PATH, or set SUPERCOOL_NVRTC to the path of libnvrtc.so"
    ))]
    NoNvrtc(String),

    #[error("NVRTC could not compile {program} for {architecture}:\n{log}")]
    #[diagnostic(help("this is a bug of supercool, or of a kernel that you have changed"))]
    Compilation { program: String, architecture: String, log: String },

    #[error(
        "{particles} particles need {} on the GPU; {gpu} has {}, of which {} are free",
        BinaryBytes(*need), BinaryBytes(*size), BinaryBytes(*free)
    )]
    #[diagnostic(help("take fewer particles, another GPU, or engine = \"cpu\""))]
    OutOfDeviceMemory { particles: usize, need: u64, size: u64, free: u64, gpu: String },

    #[error(
        "stage.correlation: {samples} samples of {particles} particles in the blocks need {} on the GPU; \
         {gpu} has {}, of which {} are free",
        BinaryBytes(*need), BinaryBytes(*size), BinaryBytes(*free)
    )]
    #[diagnostic(help(
        "take fewer levels, a smaller block_size or fewer particles, or engine = \"cpu\""
    ))]
    OutOfBlockMemory {
        samples: usize,
        particles: usize,
        need: u64,
        size: u64,
        free: u64,
        gpu: String,
    },

    #[error("the NVIDIA driver could not {what}: {message}")]
    Cuda { what: String, message: String },

    #[error("the GPU was lost: the NVIDIA driver could not {what}: {message}")]
    #[diagnostic(help("`nvidia-smi` and the system log (\"Xid\") say what became of it"))]
    GpuLost { what: String, message: String },

    #[error("step {step}: particles {first} and {second} {}", too_close(*distance, *inner_maximum, precision))]
    #[diagnostic(help(
        "the state is not one of this potential at a reasonable temperature, or run.timestep is too long{}",
        wider(*distance, *inner_maximum, precision)
    ))]
    TooClose {
        step: u64,
        first: u32,
        second: u32,
        distance: f64,
        /// Of a potential that turns over to minus infinity, if the pair is inside it.
        inner_maximum: Option<f64>,
        precision: &'static str,
    },

    #[error(
        "step {step}: particle {particle} at ({}, {}, {}) has velocity ({:e}, {:e}, {:e}): it would cross a \
         quarter of the box in one step", position[0], position[1], position[2], velocity[0], velocity[1], velocity[2]
    )]
    #[diagnostic(help("run.timestep is too long for this state, or particles overlap in it"))]
    Runaway { step: u64, particle: u32, position: [f64; 3], velocity: [f64; 3] },

    #[error("step {step}: {quantity} of particle {particle} is too large or not a number")]
    #[diagnostic(help("run.timestep is too long for this state, or particles overlap in it"))]
    OutOfRange { step: u64, quantity: &'static str, particle: u32 },

    #[error(
        "the box with edges {} and {} is too narrow for a tilt of {tilt}: lists that reach {reach:.4} (cutoff and skin) need \
         an edge along x of {needed:.4}, and {:.4} along y", edges[0], edges[1], 2.0 * reach
    )]
    #[diagnostic(help("take more particles, or a smaller run.skin"))]
    NarrowForTilt { edges: [f64; 2], tilt: f64, needed: f64, reach: f64 },

    #[error(
        "step {step}: the pressure is too far from that of the barostat \"mtk\" for a timestep so long: the chain of the piston would \
         stop it within {:.0e} of a step", 1.0 / friction
    )]
    #[diagnostic(help(
        "barostat.pressure = {{ from = ..., to = ... }} from the present one on, a longer barostat.time, or \
         kind = \"cell-rescaling\" before"
    ))]
    PistonTooFast { step: u64, friction: f64 },

    #[error("the state has {found} particles, the plan {expected}")]
    ParticleCount { found: usize, expected: usize },

    #[error("the state has {found} diameters of particles, the plan {expected}")]
    Diameters { found: usize, expected: usize },

    #[error(
        "{ranks} ranks: the box of {} has no grid of {ranks} domains with edges of at least {reach:.3} (cutoff and \
         skin){}; it has room for {most} at most",
        lengths(edges),
        also_along_x(*along_x)
    )]
    #[diagnostic(help(
        "there are grids for {} ranks; a smaller run.skin makes room for more",
        list(fitting)
    ))]
    Ranks {
        ranks: usize,
        edges: Vec<f64>,
        reach: f64,
        /// The same along x, where the box takes tilts.
        along_x: Option<f64>,
        most: u32,
        fitting: Vec<u32>,
    },

    #[error(
        "step {step}: the box of {} is too small for the {} domains of the ranks, whose edges must be at least {reach:.3} \
         (cutoff and skin)",
        lengths(edges),
        grid(domains)
    )]
    #[diagnostic(help(
        "`supercool resume` on fewer ranks, or a run with a smaller run.skin: a barostat has made the box smaller"
    ))]
    SmallDomains { step: u64, edges: Vec<f64>, domains: Vec<u32>, reach: f64 },

    #[error("run.transport: \"{0}\" does not bring messages from GPU to GPU here")]
    #[diagnostic(help("use \"auto\", which takes what works, or \"host-memory\""))]
    Transport(&'static str),

    #[error(
        "integrity.recheck: {ranks} ranks do not repeat their steps to the bit in precision \"{precision}\""
    )]
    #[diagnostic(help("use precision = \"fixed-point\", or one rank"))]
    RecheckOnRanks { ranks: usize, precision: &'static str },

    #[error(
        "{ranks} ranks for the {systems} systems of [ensemble]: each rank has whole systems, and some would have none"
    )]
    #[diagnostic(help(
        "start {systems} ranks or fewer; a rank shares its systems among its threads, or its GPUs"
    ))]
    MoreRanksThanSystems { ranks: usize, systems: usize },

    #[error("system {system}: {error}")]
    #[diagnostic(help("{help}"))]
    OfSystem { system: usize, error: Box<EngineError>, help: String },

    #[error("{message} (found by rank {rank})")]
    #[diagnostic(help("{help}"))]
    OnRank { rank: usize, message: String, help: String },

    #[error("run.threads: the threads of the engine could not be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl EngineError {
    /// The same, met in one of several systems. What concerns all of them stays as it is.
    pub(super) fn of_system(self, system: usize) -> Self {
        match self {
            EngineError::TooClose { .. }
            | EngineError::Runaway { .. }
            | EngineError::PistonTooFast { .. }
            | EngineError::OutOfRange { .. } => {
                let help = self.help().map_or_else(String::new, |help| help.to_string());
                EngineError::OfSystem { system, error: Box::new(self), help }
            }
            error => error,
        }
    }

    /// A velocity that the precision cannot hold.
    pub fn velocity_range(step: u64, particle: usize) -> Self {
        EngineError::OutOfRange { step, quantity: "the velocity", particle: particle as u32 }
    }
}

fn lengths(edges: &[f64]) -> String {
    edges.iter().map(|edge| format!("{edge:.3}")).collect::<Vec<_>>().join(" x ")
}

fn grid(along: &[u32]) -> String {
    along.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}

/// What domains must be along x in a box that takes tilts.
fn also_along_x(along_x: Option<f64>) -> String {
    along_x
        .map_or_else(String::new, |reach| format!(", along x {reach:.3}, as the box takes tilts"))
}

/// Numbers in words, the first left out where they are many.
fn list(numbers: &[u32]) -> String {
    const MOST: usize = 24;
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match words.len() {
        0..=MOST => words.join(", "),
        many => format!("..., {}", words[many - MOST..].join(", ")),
    }
}

/// How a pair is too close.
fn too_close(distance: f64, inner_maximum: Option<f64>, precision: &str) -> String {
    if distance == 0.0 {
        return "are at the same place, where their potential has a pole".to_owned();
    }
    let distance =
        if distance < 1e-3 { format!("{distance:.2e}") } else { format!("{distance:.4}") };
    if let Some(maximum) = inner_maximum {
        return format!(
            "are at a distance of {distance}: their potential has its maximum at {maximum:.4} and falls to minus infinity \
             inside"
        );
    }
    format!(
        "are at a distance of {distance}: their force does not fit into the number format of precision \
         \"{precision}\""
    )
}

/// A precision that would hold the force, if there is one.
fn wider(distance: f64, inner_maximum: Option<f64>, precision: &str) -> &'static str {
    match precision {
        "double" => "",
        _ if distance == 0.0 || inner_maximum.is_some() => "",
        _ => "; precision = \"double\" holds larger forces",
    }
}
