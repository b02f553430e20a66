//! Trials to change the volume on this processor: what would be in the other box is an engine of its own.
use super::engine::CpuEngine;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, Volumes};
use crate::engine::precision::Policy;
use crate::engine::{Engine, EngineError};
use crate::system::SimulationBox;

/// An engine, and the one of a trial in the other box.
pub struct Trying<'a, P: Policy> {
    pub engine: &'a mut CpuEngine<P>,
    pub other: Option<CpuEngine<P>>,
}

impl<P: Policy> Volumes for Trying<'_, P> {
    fn volume_trial(&self) -> Option<VolumeTrial> {
        let CpuEngine { plan, state, stage, .. } = &*self.engine;
        let (key, particles) = (plan.system.random_key(), plan.system.particle_count());
        stage.volume_trial(key, state.step, plan.run.timestep, particles)
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.engine.state.simulation_box()
    }

    fn pair_sums(&mut self) -> Result<PairSums, EngineError> {
        self.engine.energy_and_virial()
    }

    fn pair_sums_in(&mut self, proposal: &Proposal) -> Result<PairSums, EngineError> {
        let species = self.engine.state.species();
        let state = self.engine.export()?.in_box_of_trial(proposal.to, species);
        let mut other = self.engine.in_box_of(state)?;
        other.rebuild();
        let sums = other.energy_and_virial();
        self.other = Some(other);
        sums
    }

    fn decide(&mut self, _: &Proposal, is_accepted: bool) -> Result<(), EngineError> {
        let Some(other) = self.other.take().filter(|_| is_accepted) else { return Ok(()) };
        *self.engine = other;
        self.engine.compute_forces(false, &|_| true)
    }

    fn count(&mut self, accepted: Option<f64>) -> Result<(), EngineError> {
        self.engine.thermostat.count_volume_trial(accepted);
        Ok(())
    }
}
