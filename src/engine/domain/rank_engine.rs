//! The interface of a rank's engine, and what it starts from.
use serde::{Deserialize, Serialize};

use super::Part;
use crate::engine::barostat::PairSums;
use crate::engine::swaps::SwapRound;
use crate::engine::{EngineError, EngineReport, ExactState, StageContext, Thermodynamics};
use crate::integrator::ThermostatState;
use crate::plan::{Coupling, Plan};
use crate::system::SimulationBox;

/// The engine of a rank: holds the particles of its domain and moves them, together with the other ranks. All verbs are
/// collective.
pub trait RankEngine: Send {
    /// Steps since the start of the run.
    fn step(&self) -> u64;

    /// As [`Engine::begin_stage`](crate::engine::Engine::begin_stage).
    ///
    /// # Errors
    /// Those that all ranks meet together; an error of one rank alone ends all of them. So in what follows.
    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError>;

    /// Takes `steps` steps.
    ///
    /// # Errors
    /// When a number would not fit or is none; the state is then no longer to be trusted.
    fn advance(&mut self, steps: u64) -> Result<(), EngineError>;

    /// Energies, pressure and so on of the whole system.
    ///
    /// # Errors
    /// If a number does not fit.
    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError>;

    /// As [`Engine::draw_velocities`](crate::engine::Engine::draw_velocities).
    ///
    /// # Errors
    /// If a velocity does not fit its precision.
    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError>;

    /// Multiplies all velocities.
    ///
    /// # Errors
    /// If a velocity does not fit its precision.
    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError>;

    /// Turns all velocities round.
    ///
    /// # Errors
    /// If a GPU is lost.
    fn reverse_velocities(&mut self) -> Result<(), EngineError>;

    /// Takes over what a round of trials has done, and makes lists and forces anew.
    ///
    /// # Errors
    /// If a force does not fit.
    fn take_swaps(&mut self, round: &SwapRound) -> Result<(), EngineError>;

    /// Potential energy and virial of the whole system.
    ///
    /// # Errors
    /// If a number does not fit.
    fn pair_sums(&mut self) -> Result<PairSums, EngineError>;

    /// As [`ThermostatState::count_volume_trial`].
    fn count_volume_trial(&mut self, accepted: Option<f64>);

    /// The present one, the same on all ranks.
    fn simulation_box(&self) -> SimulationBox;

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

    /// The machine of this rank, and how it takes its steps.
    fn report(&self) -> EngineReport;
}

/// What all ranks know of the state that they start from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    pub step: u64,
    pub simulation_box: SimulationBox,
    /// It has a tilt, or will have one.
    pub takes_tilts: bool,
    /// Which edges pistons will move together; `None`: there are no pistons.
    pub pistons: Option<Coupling>,
    pub thermostat: ThermostatState,
    /// Of all particles of the system, by id; empty where they have none.
    pub diameter: Vec<f64>,
}

impl Start {
    /// That of a state of a plan.
    pub fn of_state(plan: &Plan, state: &ExactState) -> Self {
        Start {
            step: state.step,
            simulation_box: state.simulation_box,
            takes_tilts: plan.takes_tilts(&state.simulation_box),
            pistons: plan.pistons(),
            thermostat: state.thermostat.clone(),
            diameter: state.diameter.to_vec(),
        }
    }
}
