//! What was typed: one type per table of the TOML file.
//!
//! The doc comments of the fields are the documentation of the keys, in the JSON schema and in the
//! key reference. Nothing is checked here but names and types.
mod barostat;
mod ensemble;
mod keys;
mod potential;
mod propensity;
mod run;
mod stage;
mod strain;
mod sweep;
mod system;
mod value;

use schemars::JsonSchema;
use serde::Deserialize;

pub use barostat::{Barostat, PressureRamp};
pub use ensemble::Ensemble;
pub use potential::{Pair, Potential, PotentialKind, Truncation, TruncationKind};
pub use propensity::{Propensity, PropensityTimes, Times};
pub use run::{Checkpoint, Integrity, Limits, Output, Run};
pub use stage::{
    BondOrder, BoxChange, Correlation, DensityChange, Frames, InherentStructures, LocalOrder,
    Minimize, Observe, Ramp, Shear, Stage, Structure, Swap, Thermostat, ThermostatKind,
};
pub use strain::{Strain, StrainAxis, StrainMode};
pub use sweep::Sweep;
pub use system::{DiameterKind, Diameters, Initial, SpeciesEntry, System};
pub use value::{
    CountOrBounds, Integer, ListOr, Number, NumberOrList, NumberOrPhrase, OneOrMore, OrPlain,
    PlainOr, Table, Temperature, Written,
};

/// Configuration of a run. All numbers are in reduced units: lengths, energies and masses in the
/// units in which sigma, epsilon and mass are given, k_B = 1, times in sqrt(mass sigma^2 / epsilon).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// What is simulated: box, species, initial state.
    pub system: Table<System>,
    /// How the particles interact.
    pub potential: Table<Potential>,
    /// How it is computed.
    pub run: Table<Run>,
    /// What happens, one stage after the other; each continues from the state where the one before
    /// ended.
    #[schemars(length(min = 1))]
    pub stage: Vec<Table<Stage>>,
    /// Exact states to resume from.
    pub checkpoint: Option<Table<Checkpoint>>,
    /// Where the files go.
    pub output: Option<Table<Output>>,
    /// Steps that are computed twice; none without this table.
    pub integrity: Option<Table<Integrity>>,
    /// Bounds on what a sound run does.
    pub limits: Option<Table<Limits>>,
    /// Several runs of this file, one after the other, for all combinations of values; one run without this table. Its keys
    /// are those of this configuration, in quotes, with lists of values: `"system.density" = [1.1, 1.2]`. Their parts have
    /// dots between; elements of arrays are called by their names, or numbers from 0, `*` means all that have the next part:
    /// `"stage.*.thermostat.temperature"`. `seed` is short for `system.seed`. Keys with commas between get the same value.
    pub sweep: Option<Table<Sweep>>,
    /// Many systems in one run; one without this table.
    pub ensemble: Option<Table<Ensemble>>,
}
