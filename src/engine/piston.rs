//! What a piston and the chains of thermostats do in a step between the passes over particles, written once for all engines:
//! half a kick; [`PistonStep::begin`]; velocities times [`Moves::before`], the new box, the drift, velocities times [`Moves::after`];
//! [`PistonStep::end`]; forces, half a kick, and [`PistonStep::kick`].
use super::StageContext;
use crate::integrator::{NoseHooverChain, Piston, PistonState, ThermostatState};
use crate::system::SimulationBox;

/// A step under the piston of a stage.
pub(super) struct PistonStep {
    piston: Piston,
    chain: NoseHooverChain,
    timestep: f64,
}

/// What a drift does in which the box grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    /// Factor on the velocities before the drift, in units of the edges.
    pub before: f64,
    /// Factor on the edges.
    pub edges: f64,
    /// Factor on the velocities after it.
    pub after: f64,
}

impl PistonStep {
    /// The step that leads to `step`; `None` without a piston.
    pub fn of(
        stage: &StageContext,
        step: u64,
        dimension: usize,
        particles: usize,
        timestep: f64,
    ) -> Option<Self> {
        let degrees = stage.degrees_of_freedom(dimension, particles);
        Some(PistonStep {
            piston: stage.piston(dimension, particles)?,
            chain: stage.chain(step, degrees)?,
            timestep,
        })
    }

    /// Half a step of the piston, by the virial of the present state.
    pub fn kick(&self, memory: &mut ThermostatState, virial: f64, simulation_box: &SimulationBox) {
        self.piston.kick(of(memory), virial, simulation_box.volume(), self.timestep);
    }

    /// Up to the drift, by twice the kinetic energy after half a kick.
    pub fn begin(&self, memory: &mut ThermostatState, kinetic2: f64) -> Moves {
        self.step_chains(memory, kinetic2);
        self.piston.couple(of(memory), kinetic2, self.timestep);
        let friction = memory.chain_velocity[0];
        let state = of(memory);
        let factor = self.piston.factor(state, friction, self.timestep);
        let growth = Piston::drift(state, self.timestep);
        Moves { before: factor * growth.path, edges: growth.edges, after: factor * growth.rest }
    }

    /// After the drift, by twice the kinetic energy there.
    pub fn end(&self, memory: &mut ThermostatState, kinetic2: f64) {
        self.piston.couple(of(memory), kinetic2, self.timestep);
        self.step_chains(memory, kinetic2);
    }

    fn step_chains(&self, memory: &mut ThermostatState, kinetic2: f64) {
        let ThermostatState { chain_position, chain_velocity, .. } = memory;
        self.chain.step_links(chain_position, chain_velocity, kinetic2, 0.5 * self.timestep);
        self.piston.step_chain(of(memory), self.timestep);
    }
}

impl Moves {
    /// The box after the drift.
    pub fn grown(&self, simulation_box: &SimulationBox) -> SimulationBox {
        let edges = simulation_box.edges().iter().map(|edge| edge * self.edges);
        SimulationBox::new(&edges.collect::<Vec<_>>())
    }
}

fn of(memory: &mut ThermostatState) -> &mut PistonState {
    memory.piston.as_mut().expect("the stage has a piston")
}
