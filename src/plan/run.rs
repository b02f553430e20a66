//! How steps are taken, and by what.
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    pub engine: EngineChoice,
    pub precision: Precision,
    pub timestep: f64,
    /// How long particles fly in a step, where that is not the timestep: in a stage of Brownian dynamics ([`Plan::at_stage`](super::Plan::at_stage)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flight: Option<f64>,
    /// Threads of the CPU engine; `None`: all cores.
    pub threads: Option<usize>,
    /// Width added to every cutoff in the neighbor lists; `None`: the engine's choice.
    pub skin: Option<f64>,
    /// Threads that share a particle's neighbors on a GPU, a power of two up to 32; `None`: the engine's choice.
    pub threads_per_particle: Option<u32>,
    /// Whether an engine times what it may choose, at the start of a stage.
    pub tune: bool,
    /// Particles are sorted in memory along a Hilbert curve at every n-th rebuild of the lists.
    pub sort_interval: u32,
    /// How messages travel between the GPUs of several ranks.
    #[serde(default)]
    pub transport: TransportChoice,
}

impl RunPlan {
    /// How long particles fly in a step.
    pub fn flight(&self) -> f64 {
        self.flight.unwrap_or(self.timestep)
    }
}

/// How messages travel from GPU to GPU.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TransportChoice {
    /// The first of the others that a test at the start finds to work.
    #[default]
    Auto,
    /// Kernels write into the memory of the other GPUs of their host.
    PeerMemory,
    /// MPI takes the addresses of GPUs.
    CudaAwareMpi,
    /// Through memory of the hosts.
    HostMemory,
}

impl TransportChoice {
    pub const ALL: [TransportChoice; 4] = [
        TransportChoice::Auto,
        TransportChoice::PeerMemory,
        TransportChoice::CudaAwareMpi,
        TransportChoice::HostMemory,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            TransportChoice::Auto => "auto",
            TransportChoice::PeerMemory => "peer-memory",
            TransportChoice::CudaAwareMpi => "cuda-aware-mpi",
            TransportChoice::HostMemory => "host-memory",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// The GPU where there is one, else the CPU.
    Auto,
    /// The cores of this machine.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// How numbers are stored and summed. See [`crate::engine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Everything in 32-bit floats.
    Single,
    /// Positions, velocities and force sums as pairs of 32-bit floats; pair forces in 32-bit floats.
    DoubleSingle,
    /// Everything in 64-bit floats.
    Double,
    /// Positions as 64-bit fractions of the box, velocities and sums as 64-bit integers: the same
    /// bits on every machine.
    FixedPoint,
}

impl Precision {
    pub const ALL: [Precision; 4] =
        [Precision::Single, Precision::DoubleSingle, Precision::Double, Precision::FixedPoint];

    /// The word of the configuration file.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Single => "single",
            Precision::DoubleSingle => "double-single",
            Precision::Double => "double",
            Precision::FixedPoint => "fixed-point",
        }
    }
}
