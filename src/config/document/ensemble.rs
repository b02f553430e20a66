use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, Written};
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
}
