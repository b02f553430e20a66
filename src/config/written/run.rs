use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, Written};
use crate::config::defaults;
use crate::plan::{EngineChoice, Precision};

/// Engine, precision and time step.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// What computes.
    #[schemars(extend("default" = defaults::ENGINE))]
    pub engine: Option<Written<EngineChoice>>,
    /// How numbers are stored and summed.
    #[schemars(extend("default" = defaults::PRECISION))]
    pub precision: Option<Written<Precision>>,
    /// Length of a step of the velocity Verlet integrator.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: Written<Number>,
    /// Threads of the CPU engine (of each rank); all cores if not given.
    #[schemars(extend("minimum" = 1))]
    pub threads: Option<Written<Integer>>,
    /// Width added to every cutoff in the neighbour lists; the engine's choice if not
    /// given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub skin: Option<Written<Number>>,
    /// Threads that share the neighbours of one particle on a GPU: 1, 2, 4, 8, 16 or 32; the engine's choice if
    /// not given.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16, 32]))]
    pub threads_per_particle: Option<Written<Integer>>,
    /// Whether a GPU's choices (`skin`, `threads_per_particle`) are timed at the start of every long stage. They
    /// change the last bits of all precisions but `fixed-point`.
    #[schemars(extend("default" = defaults::TUNE))]
    pub tune: Option<Written<bool>>,
    /// Particles are sorted in memory at every n-th rebuild of the neighbour lists.
    #[schemars(extend("minimum" = 1, "default" = defaults::SORT_INTERVAL))]
    pub sort_interval: Option<Written<Integer>>,
}

/// Exact states to resume from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Wall-clock minutes between checkpoints. They are also written at the end of every stage.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::CHECKPOINT_MINUTES))]
    pub minutes: Option<Written<Number>>,
}

/// Where the files go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Directory of all files of the run, relative to the current directory; `results/NAME` for
    /// `NAME.toml` if not given.
    pub directory: Option<Written<String>>,
}
