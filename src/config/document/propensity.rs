use schemars::JsonSchema;
use serde::Deserialize;

use super::{ListOr, Number, OrPlain, Written};
use crate::config::defaults;
use crate::plan::PropensityObservable;

/// Propensities: what each particle does, averaged over the runs from a configuration (Widmer-Cooper, Harrowell & Fynewever,
/// Phys. Rev. Lett. 93, 135701 (2004)), and how much of it the configuration determines. Only in the first stage of an
/// `[ensemble]` of kind `"isoconfigurational"`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Propensity {
    /// Times since the start of the stage, rounded to steps: a list, or a table with `from`, `to` and `points_per_decade`, or with
    /// `scattering` and `first_run`.
    pub times: Written<ListOr<PropensityTimes>>,
    /// What particles are looked at for; `displacement` if not given.
    pub observables: Option<Written<Vec<Written<PropensityObservable>>>>,
    /// Wave number q of the self-intermediate scattering function. Must be given if that is among the observables.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wavenumber: Option<Written<Number>>,
    /// Length a of the self overlap.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::OVERLAP_LENGTH))]
    pub overlap_length: Option<Written<Number>>,
    /// Bonds lead from a particle to those closer than this at the start, for bond breaking: the first minimum of g(r). If not
    /// given `1.45 (V/N)^(1/D)`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub bond_radius: Option<Written<Number>>,
    /// Bonds are broken when their particles are this far apart, no less than `bond_radius`. If not given
    /// `9/7 bond_radius`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub bond_breaking_radius: Option<Written<Number>>,
    /// Compare the inherent structures of the runs, too: without the vibrations, which hide what rearranges at short times. All
    /// runs are brought to minima of the potential energy at each of the times, each of which takes as long as some thousand
    /// steps; see `stage.observe.inherent_structures`, whose defaults are taken.
    #[schemars(extend("default" = false))]
    pub inherent: Option<Written<bool>>,
    /// Write frames of the trajectory at the start of the stage and at exactly these times, beside those of
    /// `observe.trajectory`.
    #[schemars(extend("default" = false))]
    pub trajectory: Option<Written<bool>>,
}

impl Propensity {
    /// Whether frames are written at these times.
    pub fn writes_trajectory(&self) -> bool {
        self.trajectory.as_ref().is_some_and(|typed| typed.value)
    }
}

/// Times at equal ratios, or those at which the structure has decayed in a first run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["from", "to"] }, { "required": ["scattering", "first_run"] }]))]
pub struct PropensityTimes {
    /// The first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub from: Option<Written<Number>>,
    /// The last is not beyond this.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub to: Option<Written<Number>>,
    /// How many there are in a factor of ten. Those that are the same step count once.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "default" = defaults::POINTS_PER_DECADE))]
    pub points_per_decade: Option<Written<Number>>,
    /// Values of the self-intermediate scattering function F_s of the first species. Of each configuration the first times of
    /// `first_run` at which its F_s, mean over the runs, is no more than these; the times of all configurations are those of all.
    pub scattering: Option<Written<Vec<Written<Number>>>>,
    /// Results file (`.h5`) of a run of the same steps that had propensities of F_s at close times. `fixed-point` repeats its bits.
    pub first_run: Option<Written<String>>,
}

impl OrPlain for PropensityTimes {
    const EXPECTED: &'static str = "a list of numbers or a table with from, to and points_per_decade or scattering and first_run";
}

/// Times at equal ratios.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub from: Written<Number>,
    /// The last is not beyond this.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub to: Written<Number>,
    /// How many there are in a factor of ten. Those that are the same step count once.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "default" = defaults::POINTS_PER_DECADE))]
    pub points_per_decade: Option<Written<Number>>,
}

impl OrPlain for Times {
    const EXPECTED: &'static str =
        "a list of numbers or a table with from, to and points_per_decade";
}
