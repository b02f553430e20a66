//! What a piston and the chains of thermostats do in a step between the passes over particles, written once for all engines:
//! half a kick; [`PistonStep::begin`], with half a kick of the piston; velocities times [`Moves::before`], the new box, the drift, velocities times [`Moves::after`];
//! [`PistonStep::end`]; forces, half a kick, and [`PistonStep::kick`].
use super::{EngineError, StageContext};
use crate::integrator::{NoseHooverChain, Piston, PistonState, ThermostatState};
use crate::system::SimulationBox;

/// Friction of the piston by its chain, in inverse time steps, beyond which steps no longer follow the equations of motion: the chain takes up
/// more energy than the piston has lost, and holds it still from then on.
const MOST_FRICTION: f64 = 10.0;

/// A step under the piston of a stage.
pub(super) struct PistonStep {
    step: u64,
    piston: Piston,
    /// As it was a step before, at the pressure and the temperature there.
    before: Piston,
    chain: NoseHooverChain,
    timestep: f64,
}

/// What a drift does in which the box grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    /// Factors on the velocities before the drift, in units of the edges, along each axis. So below.
    pub before: [f64; 3],
    /// Factors on the edges.
    pub edges: [f64; 3],
    /// Factors on the velocities after it.
    pub after: [f64; 3],
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
        let piston = stage.piston(step, dimension, particles)?;
        let degrees = stage.degrees_of_freedom(dimension, particles);
        Some(PistonStep {
            step,
            piston,
            before: stage.piston(step - 1, dimension, particles)?,
            chain: stage.chain(step, degrees)?,
            timestep,
        })
    }

    /// Half a step of the piston, by the virial of the present state along each axis.
    pub fn kick(
        &self,
        memory: &mut ThermostatState,
        virial: [f64; 3],
        simulation_box: &SimulationBox,
    ) {
        self.piston.kick(of(memory), virial, simulation_box.volume(), self.timestep);
    }

    /// Up to the drift, by the virial of the present state and twice the kinetic energy after half a kick, along each axis. The energy
    /// that a rise of the pressure or of the temperature gives counts as heat.
    ///
    /// # Errors
    /// If the pressure is so far from that of the barostat that steps are too long for the piston.
    pub fn begin(
        &self,
        memory: &mut ThermostatState,
        virial: [f64; 3],
        kinetic2: [f64; 3],
        simulation_box: &SimulationBox,
    ) -> Result<Moves, EngineError> {
        let before = self.before.temperature;
        memory.heat += (self.piston.pressure - self.before.pressure) * simulation_box.volume();
        memory.heat += self.piston.heat_from(before, of(memory));
        self.chain.come_from(before, memory);
        self.kick(memory, virial, simulation_box);
        self.step_chains(memory, kinetic2);
        self.check_friction(of(memory))?;
        self.piston.couple(of(memory), kinetic2, self.timestep);
        let friction = memory.chain_velocity[0];
        let state = of(memory);
        let factors = self.piston.factors(state, friction, self.timestep);
        let growth = self.piston.drift(state, self.timestep);
        Ok(Moves {
            before: std::array::from_fn(|axis| factors[axis] * growth[axis].path),
            edges: growth.map(|growth| growth.edges),
            after: std::array::from_fn(|axis| factors[axis] * growth[axis].rest),
        })
    }

    fn check_friction(&self, state: &PistonState) -> Result<(), EngineError> {
        let friction = state.chain_velocity[0].abs() * self.timestep;
        match friction <= MOST_FRICTION {
            true => Ok(()),
            false => Err(EngineError::PistonTooFast { step: self.step, friction }),
        }
    }

    /// After the drift, by twice the kinetic energy there.
    pub fn end(&self, memory: &mut ThermostatState, kinetic2: [f64; 3]) {
        self.piston.couple(of(memory), kinetic2, self.timestep);
        self.step_chains(memory, kinetic2);
    }

    fn step_chains(&self, memory: &mut ThermostatState, kinetic2: [f64; 3]) {
        let kinetic2 = kinetic2.iter().sum();
        let ThermostatState { chain_position, chain_velocity, .. } = memory;
        self.chain.step_links(chain_position, chain_velocity, kinetic2, 0.5 * self.timestep);
        self.piston.step_chain(of(memory), self.timestep);
    }
}

impl Moves {
    /// The box after the drift.
    pub fn grown(&self, simulation_box: &SimulationBox) -> SimulationBox {
        let edges = simulation_box.edges().iter().zip(self.edges);
        let edges = edges.map(|(edge, factor)| edge * factor);
        SimulationBox::new(&edges.collect::<Vec<_>>())
    }
}

fn of(memory: &mut ThermostatState) -> &mut PistonState {
    memory.piston.as_mut().expect("the stage has a piston")
}
