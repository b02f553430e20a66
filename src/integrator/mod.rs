//! Equations of motion and thermostats as formulas on plain numbers; engines apply them.
//!
//! Every step of a run is velocity Verlet, `v += F dt/2m; x += v dt; F(x); v += F dt/2m`; a thermostat acts on
//! the velocities before and after it. [`fire`] is for minima instead.
pub mod andersen;
pub mod bussi;
pub mod fire;
pub mod langevin;
pub mod nose_hoover;

pub use nose_hoover::NoseHooverChain;

use serde::{Deserialize, Serialize};

/// What thermostats remember between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThermostatState {
    /// Positions of the links of a Nose-Hoover chain.
    pub chain_position: Vec<f64>,
    pub chain_velocity: Vec<f64>,
    /// Energy given to the particles by thermostats and rescaling since the start of the run, except for
    /// Nose-Hoover chains, which hold it themselves.
    pub heat: f64,
}
