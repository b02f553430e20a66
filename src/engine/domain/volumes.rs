//! Trials to change the volume of a system on several ranks: they get their particles anew for each.
use super::engine::DomainEngine;
use super::ranks::Order;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, Volumes};
use crate::engine::{Engine, EngineError, ExactState};
use crate::system::SimulationBox;

/// An engine, and the state of before a trial.
pub struct Trying<'a> {
    pub engine: &'a mut DomainEngine,
    pub before: Option<ExactState>,
}

impl Volumes for Trying<'_> {
    fn volume_trial(&self) -> Option<VolumeTrial> {
        let DomainEngine { plan, stage, .. } = &*self.engine;
        let (key, particles) = (plan.system.random_key(), plan.system.particle_count());
        stage.as_ref()?.volume_trial(key, self.engine.step(), plan.run.timestep, particles)
    }

    fn simulation_box(&self) -> SimulationBox {
        self.engine.simulation_box()
    }

    fn pair_sums(&mut self) -> Result<PairSums, EngineError> {
        self.engine.ranks.order(&Order::PairSums);
        self.engine.own.pair_sums()
    }

    fn pair_sums_in(&mut self, proposal: &Proposal) -> Result<PairSums, EngineError> {
        let before = self.engine.export()?;
        let other = before.in_box_of_trial(proposal.to, &self.engine.plan.system.species);
        let step = before.step;
        let other = other.map_err(|particle| EngineError::velocity_range(step, particle))?;
        self.engine.replace(&other)?;
        self.before = Some(before);
        self.pair_sums()
    }

    fn decide(&mut self, _: &Proposal, is_accepted: bool) -> Result<(), EngineError> {
        match self.before.take().filter(|_| !is_accepted) {
            Some(before) => self.engine.replace(&before),
            None => Ok(()),
        }
    }

    fn count(&mut self, accepted: Option<f64>) -> Result<(), EngineError> {
        self.engine.ranks.order(&Order::CountVolumeTrial(accepted));
        self.engine.own.count_volume_trial(accepted);
        Ok(())
    }
}
