//! `[limits]`.
use serde::{Deserialize, Serialize};

/// Bounds on what a sound run does; `None`: not watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsPlan {
    pub action: LimitAction,
    /// Change of the conserved energy per particle within a stage.
    pub energy_drift: Option<f64>,
    /// Modulus of the velocity of the centre of mass.
    pub center_of_mass_velocity: Option<f64>,
    pub temperature: Option<f64>,
    /// Global bond-orientational order.
    pub bond_order: Option<f64>,
    #[serde(default)]
    pub crystallinity: Option<f64>,
    #[serde(default)]
    pub demixing: Option<f64>,
}

impl LimitsPlan {
    /// Whether it has bounds of thermodynamic samples.
    pub fn bounds_rows(&self) -> bool {
        self.energy_drift.or(self.center_of_mass_velocity).or(self.temperature).is_some()
    }

    /// Whether it has bounds of order.
    pub fn bounds_structure(&self) -> bool {
        self.bond_order.or(self.crystallinity).or(self.demixing).is_some()
    }
}

/// What happens when a run goes beyond a bound.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LimitAction {
    /// It warns once in a stage, and the run continues.
    Warn,
    /// The run ends with an error.
    #[default]
    Stop,
}
