//! The interface of a rank's engine, and what it starts from.
use serde::{Deserialize, Serialize};

use super::Part;
use crate::engine::{Engine, EngineError};
use crate::integrator::ThermostatState;
use crate::system::SimulationBox;

/// What the engine of a rank can besides. Verbs of [`Engine`] are collective here, and those that hand back particles
/// or forces are not to be used.
pub trait RankEngine: Engine {
    /// This rank's particles.
    ///
    /// # Errors
    /// If a GPU is lost: on a rank but the first all ranks have been ended then.
    fn part(&self) -> Result<Part, EngineError>;

    /// Forces on them in reduced units, in the same order.
    ///
    /// # Errors
    /// As of [`part`](Self::part).
    fn part_forces(&self) -> Result<Vec<[f64; 3]>, EngineError>;

    /// What thermostats remember: the same on all ranks.
    fn thermostat(&self) -> &ThermostatState;

    /// Nanoseconds that this rank has spent in steps, and those of them in which it waited for others or exchanged
    /// particles with them.
    fn nanoseconds(&self) -> [i64; 2];
}

/// What all ranks know of the state that they start from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    pub step: u64,
    pub simulation_box: SimulationBox,
    pub thermostat: ThermostatState,
}
