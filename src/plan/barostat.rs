use serde::{Deserialize, Serialize};

use super::Ramp;

/// What keeps the pressure: stochastic cell rescaling in trials between steps (`crate::engine::barostat`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarostatPlan {
    pub kind: BarostatKind,
    pub pressure: Ramp,
    /// Relaxation time of the volume, if the liquid has this compressibility.
    pub time: f64,
    pub compressibility: f64,
    /// Steps between two trials.
    pub every: u64,
    pub coupling: Coupling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BarostatKind {
    /// Stochastic cell rescaling (Bernetti & Bussi 2020).
    CellRescaling,
}

/// Which edges of the box change together.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// All of them: the box keeps its shape.
    #[default]
    Isotropic,
    /// Each by itself, for crystals and glasses: nothing keeps the shape of the box of a liquid.
    Anisotropic,
}
