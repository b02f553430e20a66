use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, OneOrMore, Written};
use crate::plan::EnsembleKind;

/// Many systems in one run. Each has its own state, random numbers, thermostat and time correlations, and in `fixed-point`
/// the bits of the same run alone; potential, species and box are those of all. Results are averages over the systems with
/// errors from their scatter, and the values of each system beside them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ensemble {
    /// In what the systems differ.
    pub kind: Written<EnsembleKind>,
    /// Number of systems; with `temperatures` of each temperature, 1 if not given. System `n`, counted from 0, has the seed
    /// `system.seed + n`.
    #[schemars(extend("minimum" = 1))]
    pub systems: Option<Written<Integer>>,
    /// `temperatures`, `replica-exchange`: those that `"ensemble"` stands for in `system.initial.temperature` and in the thermostats of stages.
    /// Averages are made over the systems of each.
    pub temperatures: Option<Written<Vec<Written<Number>>>>,
    /// `replica-exchange`: steps between exchanges of neighbors in temperature, from the start of each stage whose thermostat has
    /// the temperature `"ensemble"` throughout.
    #[schemars(extend("minimum" = 1))]
    pub exchange_every: Option<Written<Integer>>,
    /// `isoconfigurational`: files of the configurations to start from, relative to the current directory: a path or a pattern
    /// (`*`, `?`, `[a-z]`, `**` for any folders), or a list of them. Those of a pattern are taken in the order of their names.
    /// The last frame of each is taken, of a file of many systems (H5MD, or a checkpoint) that of each system. All must have
    /// the species and the box given here.
    pub configurations: Option<Written<OneOrMore>>,
    /// `isoconfigurational`: runs from each configuration, with first velocities of their own at
    /// `system.initial.temperature`.
    #[schemars(extend("minimum" = 2))]
    pub runs: Option<Written<Integer>>,
}
