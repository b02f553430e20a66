use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, Written};
use crate::config::defaults;
use crate::plan::{self, EngineChoice, LimitAction, OnFullDisk, Precision, TransportChoice};

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
    /// Width added to every cutoff in the neighbor lists; the engine's choice if not
    /// given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub skin: Option<Written<Number>>,
    /// Threads that share the neighbors of one particle on a GPU: 1, 2, 4, 8, 16 or 32; the engine's choice if
    /// not given.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16, 32]))]
    pub threads_per_particle: Option<Written<Integer>>,
    /// Whether a GPU's choices (`skin`, `threads_per_particle`) are timed at the start of every long stage. They
    /// change the last bits of all precisions but `fixed-point`.
    #[schemars(extend("default" = defaults::TUNE))]
    pub tune: Option<Written<bool>>,
    /// Particles are sorted in memory at every n-th rebuild of the neighbor lists.
    #[schemars(extend("minimum" = 1, "default" = defaults::SORT_INTERVAL))]
    pub sort_interval: Option<Written<Integer>>,
    /// How messages travel between the GPUs of several ranks.
    #[schemars(extend("default" = defaults::TRANSPORT))]
    pub transport: Option<Written<TransportChoice>>,
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
    /// Longest time between writes to the results files, in seconds: readers of a running job see no older state,
    /// and a killed one loses no more of its samples (what it computed is in the checkpoints).
    #[schemars(extend("exclusiveMinimum" = 0, "default" = plan::FLUSH_SECONDS))]
    pub flush_seconds: Option<Written<Number>>,
    /// What happens when the disk or the quota is full.
    #[schemars(extend("default" = OnFullDisk::default()))]
    pub on_full_disk: Option<Written<OnFullDisk>>,
}

/// Steps that are computed twice, against silent errors of the hardware: memory, GPU, overclocking.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Integrity {
    /// Steps from one repetition to the next. A stage's first steps are the first that are
    /// repeated. A second engine takes the same steps from the same state; the run stops if the bits differ, keeps
    /// both states, and says where they part. A defect that does the same to both is not seen.
    #[schemars(extend("minimum" = 1))]
    pub recheck: Written<Integer>,
    /// Steps that are repeated each time. Only an error within them is seen; the states in between are kept until
    /// they are compared, up to ten of them. A run that is asked to end does not wait for the comparison of more than a
    /// thousand steps, and reports it.
    #[schemars(extend("minimum" = 1, "default" = defaults::INTEGRITY_SEGMENT))]
    pub segment: Option<Written<Integer>>,
}

/// Bounds on what a sound run does. A run beyond one of them has gone wrong, or is no longer the liquid it should be.
/// Numbers that are none and those that do not fit into the number format always end a run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// What happens beyond a bound.
    #[schemars(extend("default" = LimitAction::default()))]
    pub action: Option<Written<LimitAction>>,
    /// Largest change of the total energy per particle since the start of its stage, at samples of the thermodynamics of
    /// stages without a thermostat.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub energy_drift: Option<Written<Number>>,
    /// Largest velocity of the centre of mass, at the same samples.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub center_of_mass_velocity: Option<Written<Number>>,
    /// Largest temperature, at the same samples.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<Written<Number>>,
    /// Largest global bond-orientational order (`Q_6`, in two dimensions `psi_6`), at samples of
    /// `observe.bond_order`: an alarm for crystals. Liquids have about 1/sqrt(number of bonds), crystals 0.4 to 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub bond_order: Option<Written<Number>>,
    /// Largest crystallinity, at samples of `observe.local_order`: an alarm for crystals, of many grains too. In three dimensions the
    /// fraction of solid-like particles: 0.1 is usual. In two the mean of `|psi_6|`, which liquids have some of: 0.8.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub crystallinity: Option<Written<Number>>,
    /// Largest demixing, at samples of `observe.local_order`. It is about 1 in a mixture: 2 is usual.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub demixing: Option<Written<Number>>,
}
