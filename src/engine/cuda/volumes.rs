//! Trials to change the volume on a GPU.
//!
//! Where sites are fractions of the edges, a trial changes the constants of the kernels alone, and lists serve in the other box as long as
//! its edges are not much shorter. In `fixed-point` coordinates are fractions, too, and lists are kept when a trial is accepted. In
//! `double-single` coordinates are multiplied then, and lists made anew, so that sums have the order that they have after a restart. Else, and
//! where the other box has another program, the state is loaded anew for the trial.
use super::advance::LaunchSamples;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::measure::Factors;
use super::single_rank::SingleRank;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, Volumes, take_trial};
use crate::engine::state::velocity_factors;
use crate::engine::{EngineError, ExactState};
use crate::plan::Precision;
use crate::system::SimulationBox;

/// An engine in a trial.
pub(super) struct Trying<'a, P: DevicePolicy> {
    pub engine: &'a mut CudaEngine<P, SingleRank>,
    /// The state of before, where it is loaded anew.
    pub before: Option<ExactState>,
    /// Whether lists are to be made anew for the next steps.
    pub rebuild: bool,
}

/// Whether sites are fractions of the edges, which a new box leaves as they are.
fn sites_are_fractions<P: DevicePolicy>() -> bool {
    matches!(P::PRECISION, Precision::FixedPoint | Precision::DoubleSingle)
}

/// Whether coordinates are.
fn coordinates_are_fractions<P: DevicePolicy>() -> bool {
    P::PRECISION == Precision::FixedPoint
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// At the start of a stage.
    pub(super) fn enter_barostat(&mut self) -> Result<(), EngineError> {
        let has_barostat = self.stage.barostat.is_some();
        self.neighbor_list.set_under_barostat(has_barostat && sites_are_fractions::<P>());
        let makes_anew = !has_barostat && self.neighbor_list.forget_box();
        self.set_system()?;
        match makes_anew {
            true => self.run(0, true, false, LaunchSamples::NONE),
            false => Ok(()),
        }
    }

    /// Takes the trial that follows the present step, if one is due; returns whether lists are to be made anew. `rebuild`: they are already.
    pub(super) fn take_volume_trial(&mut self, rebuild: bool) -> Result<bool, EngineError> {
        let mut trying = Trying::of(self);
        if trying.volume_trial().is_none() {
            return Ok(rebuild);
        }
        if rebuild {
            trying.engine.run(0, true, false, LaunchSamples::NONE)?;
        }
        take_trial(&mut trying)?;
        Ok(trying.rebuild || self.neighbor_list.are_of_a_wider_box())
    }

    /// Whether the program is that of a box of a trial, too.
    fn has_program_for(&self, simulation_box: &SimulationBox) -> bool {
        let present = self.state.simulation_box();
        if self.device.place().is_some() {
            // Systems with boxes of their own have a program for all of them.
            return true;
        }
        present.is_cubic() == simulation_box.is_cubic()
            && self.force_field.have_same_macros(self.state.policy(), [present, simulation_box])
    }

    /// Takes another box, with all numbers of the particles as they are; returns whether lists were made anew, as they would not
    /// have done.
    fn take_box_of_trial(&mut self, simulation_box: SimulationBox) -> Result<bool, EngineError> {
        let lists_serve = self.neighbor_list.serve_in(&simulation_box);
        let cells = self.neighbor_list.cells();
        self.state.set_box(simulation_box);
        self.plan.system.simulation_box = simulation_box;
        self.device.set_constants_nearby(self.state.policy(), &self.force_field)?;
        let as_after_restart = !coordinates_are_fractions::<P>();
        self.neighbor_list.set_box_of_trial(simulation_box, as_after_restart)?;
        self.set_system()?;
        if lists_serve && cells == self.neighbor_list.cells() {
            return Ok(false);
        }
        self.run(0, true, false, LaunchSamples::NONE)?;
        self.note_box_of_lists()?;
        Ok(true)
    }

    /// After a launch: lists that were made in it are of the present box.
    pub(super) fn note_box_of_lists(&mut self) -> Result<(), EngineError> {
        if coordinates_are_fractions::<P>()
            && self.neighbor_list.built_last(self.state.control.rebuilds)
        {
            self.set_system()?;
        }
        Ok(())
    }

    fn scale_positions(&self, factor: [f64; 3]) -> Result<(), EngineError> {
        let factors = Factors { x: factor };
        self.over_particles(self.device.measure().scale_positions, (factors,))
    }
}

impl<'a, P: DevicePolicy> Trying<'a, P> {
    pub(super) fn of(engine: &'a mut CudaEngine<P, SingleRank>) -> Self {
        Trying { engine, before: None, rebuild: false }
    }

    /// Gives the engine the box of a proposal.
    ///
    /// # Errors
    /// As [`pair_sums_in`](Volumes::pair_sums_in).
    pub(super) fn enter(&mut self, proposal: &Proposal) -> Result<(), EngineError> {
        let engine = &mut *self.engine;
        if sites_are_fractions::<P>() && engine.has_program_for(&proposal.to) {
            self.rebuild |= engine.take_box_of_trial(proposal.to)?;
            return Ok(());
        }
        let before = engine.read_state()?;
        let other = before.in_box_of_trial(proposal.to, engine.state.species());
        let step = engine.state.step;
        let other = other.map_err(|particle| EngineError::velocity_range(step, particle))?;
        engine.replace(&other, None, false)?;
        self.before = Some(before);
        Ok(())
    }
}

impl<P: DevicePolicy> Volumes for Trying<'_, P> {
    fn volume_trial(&self) -> Option<VolumeTrial> {
        let CudaEngine { plan, state, stage, .. } = &*self.engine;
        let (key, particles) = (plan.system.random_key(), plan.system.particle_count());
        stage.volume_trial(key, state.step, plan.run.timestep, particles)
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.engine.state.simulation_box()
    }

    fn pair_sums(&mut self) -> Result<PairSums, EngineError> {
        self.engine.note_box_of_lists()?;
        self.engine.pair_sums()
    }

    fn pair_sums_in(&mut self, proposal: &Proposal) -> Result<PairSums, EngineError> {
        self.enter(proposal)?;
        self.engine.pair_sums()
    }

    fn decide(&mut self, proposal: &Proposal, is_accepted: bool) -> Result<(), EngineError> {
        let engine = &mut *self.engine;
        match (is_accepted, self.before.take()) {
            (true, Some(_)) => {}
            (false, Some(before)) => engine.replace(&before, before.memory.as_ref(), false)?,
            (false, None) => self.rebuild |= engine.take_box_of_trial(proposal.from)?,
            // The factors are close to one: what fitted does still.
            (true, None) if coordinates_are_fractions::<P>() => {
                engine.scale_by_axis(velocity_factors(&proposal.from, &proposal.to))?;
            }
            (true, None) => {
                engine.scale_positions(velocity_factors(&proposal.to, &proposal.from))?;
                self.rebuild = true;
            }
        }
        if coordinates_are_fractions::<P>() {
            // The present lists serve, wherever they were made.
            self.rebuild = false;
        }
        Ok(())
    }

    fn count(&mut self, accepted: Option<f64>) -> Result<(), EngineError> {
        self.engine.thermostat.count_volume_trial(accepted);
        Ok(())
    }
}
