//! Steps at constant pressure with a [`Piston`], of a whole system on this processor, in `fixed-point`.
//!
//! Coordinates are fractions of the edges, which a new box leaves as they are; velocities are in units of the edges over the time step,
//! and are multiplied. So the lists stay, too, as long as the box is not much smaller than where they were made.
use std::ops::RangeInclusive;

use super::engine::CpuEngine;
use super::stepper::SingleRank;
use crate::engine::EngineError;
use crate::engine::pair_core::{Limits, core_distances};
use crate::engine::precision::Policy;
use crate::engine::thermostats::{Steps, Velocities};
use crate::integrator::{NoseHooverChain, Piston, PistonState, ThermostatState};
use crate::potential::PotentialPlan;
use crate::system::SimulationBox;

/// Edges that cores of pairs are kept for, over those of a box, with which forces that fit are proportional.
const KEPT: RangeInclusive<f64> = 0.9..=1.2;

/// Cores of pairs that hold in all boxes with these largest forces.
pub struct Cores {
    forces: RangeInclusive<f64>,
    distances: Vec<f64>,
}

impl Cores {
    fn nearby<P: Policy>(policy: &P, potential: &PotentialPlan) -> Self {
        let largest = policy.largest_pair_force();
        let forces = KEPT.start() * largest..=KEPT.end() * largest;
        let limits = Limits { force: *forces.start(), energy: policy.largest_pair_energy() };
        Cores { forces, distances: core_distances(&limits, potential) }
    }
}

/// What is kept between the steps of an engine.
#[derive(Default)]
pub struct Kept {
    /// Of the present state, if it is known.
    virial: Option<f64>,
    cores: Option<Cores>,
}

impl Kept {
    /// Something else has changed the state.
    pub fn forget_virial(&mut self) {
        self.virial = None;
    }
}

/// What acts on velocities in a step.
struct Acting {
    piston: Piston,
    chain: NoseHooverChain,
    timestep: f64,
}

impl Acting {
    fn step_chains(&self, memory: &mut ThermostatState, kinetic2: f64) {
        let ThermostatState { chain_position, chain_velocity, .. } = memory;
        self.chain.step_links(chain_position, chain_velocity, kinetic2, 0.5 * self.timestep);
        self.piston.step_chain(of(memory), self.timestep);
    }
}

fn of(memory: &mut ThermostatState) -> &mut PistonState {
    memory.piston.as_mut().expect("the stage has a piston")
}

impl<P: Policy> CpuEngine<P, SingleRank> {
    /// Whether a piston moves in the stage.
    pub(super) fn has_piston(&self) -> bool {
        self.stage.piston(self.state.dimension(), self.particle_count()).is_some()
    }

    /// Takes a step of the equations of motion with a piston.
    pub(super) fn step_with_piston(&mut self) -> Result<(), EngineError> {
        self.count_step();
        let (dimension, particles) = (self.state.dimension(), self.particle_count());
        let degrees = self.stage.degrees_of_freedom(dimension, particles);
        let acting = Acting {
            piston: self.stage.piston(dimension, particles).expect("the stage has one"),
            chain: self.stage.chain(self.state.step, degrees).expect("checked before"),
            timestep: self.state.timestep(),
        };
        self.kick()?;
        self.kick_piston(&acting)?;
        let kinetic2 = self.kinetic2_of_half_step()?;
        acting.step_chains(&mut self.thermostat, kinetic2);
        acting.piston.couple(of(&mut self.thermostat), kinetic2, acting.timestep);
        let friction = self.thermostat.chain_velocity[0];
        let piston = of(&mut self.thermostat);
        let factor = acting.piston.factor(piston, friction, acting.timestep);
        let growth = Piston::drift(piston, acting.timestep);
        self.scale_all(factor * growth.path)?;
        self.grow(growth.edges);
        let needs_rebuild = self.drift()?;
        self.scale_all(factor * growth.rest)?;
        let kinetic2 = self.kinetic2_of_half_step()?;
        acting.piston.couple(of(&mut self.thermostat), kinetic2, acting.timestep);
        acting.step_chains(&mut self.thermostat, kinetic2);
        if needs_rebuild {
            self.rebuild_in_step();
        }
        self.piston.forget_virial();
        self.compute_forces(true, &|_| true)?;
        self.kick_piston(&acting)
    }

    /// Half a step of the piston by the virial of the present state.
    fn kick_piston(&mut self, acting: &Acting) -> Result<(), EngineError> {
        let virial = match self.piston.virial {
            Some(virial) => virial,
            None => {
                let [_, xx, yy, zz, ..] = self.energy_and_virial()?;
                xx + yy + zz
            }
        };
        self.piston.virial = Some(virial);
        let volume = self.state.simulation_box().volume();
        acting.piston.kick(of(&mut self.thermostat), virial, volume, acting.timestep);
        Ok(())
    }

    /// Takes a box with edges longer by this factor, with all numbers of the particles as they are.
    fn grow(&mut self, factor: f64) {
        let edges = self.state.simulation_box().edges().iter().map(|edge| edge * factor);
        let simulation_box = SimulationBox::new(&edges.collect::<Vec<_>>());
        self.state.set_box(simulation_box);
        self.plan.system.simulation_box = simulation_box;
        self.neighbor_lists.set_box(&simulation_box);
        let (policy, potential) = (self.state.policy(), &self.plan.potential);
        let largest = policy.largest_pair_force();
        let cores = self.piston.cores.take().filter(|cores| cores.forces.contains(&largest));
        let cores = cores.unwrap_or_else(|| Cores::nearby(policy, potential));
        self.force_field.set_box(policy, potential, &cores.distances);
        self.piston.cores = Some(cores);
    }
}
