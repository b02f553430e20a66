//! Steps at constant pressure with a [`Piston`](crate::integrator::Piston) on this processor, in `fixed-point`.
//!
//! Coordinates are fractions of the edges, which a new box leaves as they are; velocities are in units of the edges over the time step,
//! and are multiplied. So the lists stay, too, as long as the box is not much smaller than where they were made.
use std::ops::RangeInclusive;

use super::engine::CpuEngine;
use super::stepper::{SingleRank, Stepper};
use crate::engine::EngineError;
use crate::engine::pair_core::{Limits, core_distances};
use crate::engine::piston::PistonStep;
use crate::engine::precision::{ExactSum, Policy};
use crate::engine::thermostats::Steps;
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
    /// Along each axis, of the present state, if it is known.
    virial: Option<[f64; 3]>,
    cores: Option<Cores>,
}

impl Kept {
    /// Something else has changed the state.
    pub fn forget_virial(&mut self) {
        self.virial = None;
    }
}

impl<P: Policy> CpuEngine<P, SingleRank> {
    /// Takes a step of the equations of motion with a piston.
    pub(super) fn step_with_piston(&mut self) -> Result<(), EngineError> {
        let (of_step, needs_rebuild) = self.begin_under_piston()?;
        if needs_rebuild {
            self.rebuild_in_step();
        }
        self.compute_forces(true, &|_| true)?;
        self.end_under_piston(&of_step)
    }
}

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// Whether a piston moves in the stage.
    pub(super) fn has_piston(&self) -> bool {
        self.stage.has_piston()
    }

    /// A step up to its drift and what the chains do after it; forces with half a kick come next, and then
    /// [`end_under_piston`](Self::end_under_piston). Returns whether lists must be rebuilt, too.
    pub(super) fn begin_under_piston(&mut self) -> Result<(PistonStep, bool), EngineError> {
        self.count_step();
        let (dimension, particles) = (self.state.dimension(), self.particle_count());
        let (step, timestep) = (self.state.step, self.state.timestep());
        let of_step = PistonStep::of(&self.stage, step, dimension, particles, timestep);
        let of_step = of_step.expect("the stage has a piston");
        self.kick()?;
        let virial = self.virial()?;
        let kinetic2 = self.kinetic2_by_axis()?;
        let simulation_box = *self.state.simulation_box();
        let moves = of_step.begin(&mut self.thermostat, virial, kinetic2, &simulation_box)?;
        self.scale_by_axis(moves.before)?;
        self.take_grown(moves.grown(&simulation_box));
        let needs_rebuild = self.drift()?;
        self.scale_by_axis(moves.after)?;
        let kinetic2 = self.kinetic2_by_axis()?;
        of_step.end(&mut self.thermostat, kinetic2);
        self.piston.forget_virial();
        Ok((of_step, needs_rebuild))
    }

    /// Ends a step, after its forces.
    pub(super) fn end_under_piston(&mut self, of_step: &PistonStep) -> Result<(), EngineError> {
        let virial = self.virial()?;
        of_step.kick(&mut self.thermostat, virial, self.state.simulation_box());
        Ok(())
    }

    /// Twice the kinetic energy along each axis.
    fn kinetic2_by_axis(&self) -> Result<[f64; 3], EngineError> {
        let [xx, yy, zz, ..] = self.kinetic_sums()?;
        Ok([xx, yy, zz].map(ExactSum::value))
    }

    /// That of the present state, along each axis.
    fn virial(&mut self) -> Result<[f64; 3], EngineError> {
        if let Some(virial) = self.piston.virial {
            return Ok(virial);
        }
        let [_, xx, yy, zz, ..] = self.energy_and_virial()?;
        self.piston.virial = Some([xx, yy, zz]);
        Ok([xx, yy, zz])
    }

    /// Takes a box that has grown, with all numbers of the particles as they are.
    fn take_grown(&mut self, simulation_box: SimulationBox) {
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
