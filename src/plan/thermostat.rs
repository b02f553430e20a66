//! Thermostats of stages.
use serde::{Deserialize, Serialize};

/// A temperature or pressure, constant (`from == to`) or ramped linearly in the step over the stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ramp {
    pub from: f64,
    pub to: f64,
}

impl Ramp {
    /// Its value after `step` of `steps` steps of the stage.
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        if self.from == self.to {
            return self.from;
        }
        self.from + (self.to - self.from) * (step as f64 / steps as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermostatPlan {
    #[serde(flatten)]
    pub kind: Thermostat,
    pub temperature: Ramp,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Thermostat {
    /// New Boltzmann velocities for all particles every `1 / (rate * timestep)` steps; with
    /// `exact`, rescaled to exactly the thermostat's temperature (Colberg & Hoefling 2011, section 2.3).
    Andersen { rate: f64, exact: bool },
    /// Nose-Hoover chain; `period` is the period of the thermostat's oscillation.
    NoseHoover { period: f64, chain_length: usize },
    /// Stochastic velocity rescaling (Bussi, Donadio & Parrinello 2007) with relaxation time `time`.
    Bussi { time: f64 },
    /// Velocities are scaled in each step so that the kinetic energy stays what it is at the temperature.
    Isokinetic,
    /// Langevin dynamics with friction coefficient `friction` (inverse time).
    Langevin { friction: f64 },
    /// Its limit of strong friction, without inertia (`crate::integrator::langevin`); at temperature zero the overdamped motion
    /// along the forces.
    Brownian { friction: f64 },
}

impl Thermostat {
    /// How long particles fly in a step: with inertia the timestep, which is the time that passes.
    pub fn flight(&self, timestep: f64) -> f64 {
        match *self {
            Thermostat::Brownian { friction } => (2.0 * timestep / friction).sqrt(),
            _ => timestep,
        }
    }

    /// What friction and noise of a step leave of a velocity, under the thermostats that act on each particle by itself.
    pub fn damping(&self, timestep: f64) -> Option<f64> {
        match *self {
            Thermostat::Langevin { friction } => {
                Some(crate::arithmetic::elementary::exp_f64(-friction * timestep))
            }
            Thermostat::Brownian { .. } => Some(0.0),
            _ => None,
        }
    }

    /// Whether particles have no inertia.
    pub fn is_brownian(&self) -> bool {
        matches!(self, Thermostat::Brownian { .. })
    }

    /// Whether it gives particles velocities that they did not have.
    pub fn draws_velocities(&self) -> bool {
        matches!(self, Thermostat::Andersen { .. } | Thermostat::Langevin { .. })
    }
}
