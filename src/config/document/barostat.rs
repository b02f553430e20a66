use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, OrPlain, PlainOr, Written};
use crate::config::defaults;
use crate::plan::{BarostatKind, Coupling};

/// Constant pressure: between steps, or with `"mtk"` in each of them, the edges of the box change with all particles at the same fractions of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Barostat {
    /// Which one.
    pub kind: Written<BarostatKind>,
    /// Pressure of the barostat: a number, or a table with `from` and `to`.
    pub pressure: Written<PlainOr<Number, PressureRamp>>,
    /// Relaxation time of the volume, if the compressibility is the one below; of `"mtk"` that of the motion of the volume.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time: Written<Number>,
    /// Isothermal compressibility of the liquid, `-(dV/dP) / V`, roughly: with it the volume relaxes within `time`. Averages do not
    /// depend on it.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::COMPRESSIBILITY))]
    pub compressibility: Option<Written<Number>>,
    /// Steps between two trials to change the box; two fifths of `time` if not given. Averages do not depend on it.
    #[schemars(extend("minimum" = 1))]
    pub every: Option<Written<Integer>>,
    /// Links of the chain of thermostats of the piston of `"mtk"`.
    #[schemars(extend("minimum" = 1, "maximum" = 16, "default" = defaults::CHAIN_LENGTH))]
    pub chain_length: Option<Written<Integer>>,
    /// Which edges of the box change together.
    #[schemars(extend("default" = Coupling::default()))]
    pub coupling: Option<Written<Coupling>>,
}

/// Pressure that changes linearly over the stage.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PressureRamp {
    /// Pressure at the first step of the stage.
    pub from: Written<Number>,
    /// Pressure at its last step; linear in between.
    pub to: Written<Number>,
}

impl OrPlain for PressureRamp {
    const EXPECTED: &'static str = "a number or a table with from and to";
}
