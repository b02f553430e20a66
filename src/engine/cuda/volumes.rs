//! Trials to change the volume on a GPU.
use super::advance::LaunchSamples;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::single_rank::SingleRank;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, Volumes, take_trial};
use crate::engine::precision::Policy;
use crate::engine::state::velocity_factors;
use crate::engine::{EngineError, ExactState};
use crate::system::SimulationBox;

/// An engine, and the state of before a trial where its numbers change with the box.
pub struct Trying<'a, P: DevicePolicy> {
    pub engine: &'a mut CudaEngine<P, SingleRank>,
    pub before: Option<ExactState>,
}

/// Whether positions are fractions of the edges, which a new box leaves as they are.
fn are_fractions<P: Policy>() -> bool {
    P::exact_sum(std::iter::empty()).is_some()
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Takes the box of a trial, with all numbers of the particles as they are. Lists are made anew where they would not do.
    fn take_box_of_trial(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        let lists_serve = self.neighbor_list.serve_in(&simulation_box);
        let cells = self.neighbor_list.cells();
        self.state.set_box(simulation_box);
        self.device.set_constants_nearby(self.state.policy(), &self.force_field)?;
        self.neighbor_list.set_box_of_trial(simulation_box)?;
        self.set_system()?;
        if !lists_serve || cells != self.neighbor_list.cells() {
            self.run(0, true, false, LaunchSamples::NONE)?;
            self.note_box_of_lists()?;
        }
        Ok(())
    }

    /// Takes the trial that follows the present step, if one is due; returns whether lists are to be made anew. `rebuild`: they are already.
    pub(super) fn take_volume_trial(&mut self, mut rebuild: bool) -> Result<bool, EngineError> {
        let mut trying = Trying { engine: self, before: None };
        if trying.volume_trial().is_none() {
            return Ok(rebuild);
        }
        if rebuild {
            trying.engine.run(0, true, false, LaunchSamples::NONE)?;
            rebuild = false;
        }
        take_trial(&mut trying)?;
        Ok(rebuild || self.neighbor_list.are_of_a_wider_box())
    }

    /// After a launch under a barostat: lists that were made in it are of the present box.
    pub(super) fn note_box_of_lists(&mut self) -> Result<(), EngineError> {
        if are_fractions::<P>() && self.neighbor_list.built_last(self.state.control.rebuilds) {
            self.set_system()?;
        }
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
        if are_fractions::<P>() {
            self.engine.take_box_of_trial(proposal.to)?;
        } else {
            let engine = &mut *self.engine;
            let before = engine.read_state()?;
            let other = before.in_box_of_trial(proposal.to, engine.state.species());
            let step = engine.state.step;
            let other = other.map_err(|particle| EngineError::velocity_range(step, particle))?;
            engine.replace(&other, None)?;
            self.before = Some(before);
        }
        self.engine.pair_sums()
    }

    fn decide(&mut self, proposal: &Proposal, is_accepted: bool) -> Result<(), EngineError> {
        let before = self.before.take();
        match (is_accepted, before) {
            (true, Some(_)) => Ok(()),
            (true, None) => {
                let factors = velocity_factors(&proposal.from, &proposal.to);
                self.engine.scale_by_axis(factors)
            }
            (false, Some(before)) => self.engine.replace(&before, before.memory.as_ref()),
            (false, None) => self.engine.take_box_of_trial(proposal.from),
        }
    }

    fn count(&mut self, accepted: Option<f64>) -> Result<(), EngineError> {
        self.engine.thermostat.count_volume_trial(accepted);
        Ok(())
    }
}
