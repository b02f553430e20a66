//! Equations of motion and thermostats as formulas on plain numbers; engines apply them.
//!
//! Every step of a run is velocity Verlet, `v += F dt/2m; x += v dt; F(x); v += F dt/2m`. Thermostats act on the velocities
//! of half steps, which the drift uses: positions then have the temperature, up to the fourth order of the time step. [`fire`]
//! is for minima instead.
pub mod andersen;
pub mod bussi;
pub mod fire;
pub mod isokinetic;
pub mod langevin;
pub mod nose_hoover;
pub mod piston;

pub use nose_hoover::NoseHooverChain;
pub use piston::{Piston, PistonState};

use serde::{Deserialize, Serialize};

/// What thermostats remember between steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermostatState {
    /// Positions of the links of a Nose-Hoover chain.
    pub chain_position: Vec<f64>,
    pub chain_velocity: Vec<f64>,
    /// Energy given to the particles by thermostats and rescaling since the start of the run, except for
    /// Nose-Hoover chains, which hold it themselves.
    pub heat: f64,
    /// Trials to exchange diameters since the start of the run, and how many were accepted. The change of the energy is in `heat`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swap_trials: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swaps: u64,
    /// Trials of a barostat to change the volume since the start of the run, and how many were accepted. The change of the energy is in `heat`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub volume_trials: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub volume_changes: u64,
    /// Of a barostat with inertia.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piston: Option<PistonState>,
    /// Within a step, from its drift to its second kick: the factor on all velocities that is still to come. 1 between steps.
    #[serde(skip, default = "ThermostatState::no_factor")]
    pub factor: f64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ThermostatState {
    /// Counts a trial of a barostat, with the change of the energy where it was accepted.
    pub fn count_volume_trial(&mut self, accepted: Option<f64>) {
        self.volume_trials += 1;
        if let Some(change) = accepted {
            self.volume_changes += 1;
            self.heat += change;
        }
    }

    fn no_factor() -> f64 {
        1.0
    }
}

impl Default for ThermostatState {
    fn default() -> Self {
        ThermostatState {
            chain_position: Vec::new(),
            chain_velocity: Vec::new(),
            heat: 0.0,
            swap_trials: 0,
            swaps: 0,
            volume_trials: 0,
            volume_changes: 0,
            piston: None,
            factor: Self::no_factor(),
        }
    }
}
