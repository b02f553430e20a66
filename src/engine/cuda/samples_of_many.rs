//! Samples of the steps of many systems, and their correlations, which those of a GPU have in common.
use super::constants::DevicePolicy;
use super::correlator::{DueSamples, Sampling};
use super::many_systems::{Group, ManySystems};
use crate::engine::{Correlator, EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;

impl<P: DevicePolicy> Group<P> {
    /// Takes the samples that are due of the present states; after a launch those that it does not take by itself.
    pub(super) fn take_samples(&mut self, launched: bool) -> Result<(), EngineError> {
        let step = self.systems[0].state.step;
        let Some(sampling) = &mut self.sampling else { return Ok(()) };
        let DueSamples { slot, sums } = sampling.take(step, launched);
        for (index, system) in self.systems.iter_mut().enumerate() {
            let taken = system.take_sample(slot, sums.get(index));
            taken.map_err(|error| error.of_system(self.first + index))?;
        }
        sampling.evaluate_full_batches()
    }

    fn begin_correlations(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError> {
        self.sampling = None;
        let of_first = &correlations[0];
        if of_first.is_empty() {
            return Ok(());
        }
        let first = &self.systems[0];
        let first_step = first.stage.first_step;
        let at_start = first.state.step == first_step
            && of_first.iter().all(|offloaded| offloaded.samples() == 0);
        let devices: Vec<_> = self.systems.iter().map(|system| &system.device).collect();
        let (simulation_box, degrees_of_freedom) =
            (first.state.simulation_box(), first.degrees_of_freedom());
        let sampling =
            Sampling::new(&devices, correlations, simulation_box, degrees_of_freedom, first_step)?;
        let sampling = self.sampling.insert(sampling);
        if at_start { self.take_samples(false) } else { sampling.evaluate_full_batches() }
    }
}

impl<P: DevicePolicy> Correlator for ManySystems<P> {
    fn begin(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError> {
        let mut rest = correlations.into_iter();
        for group in &mut self.groups {
            let of_group = rest.by_ref().take(group.systems.len());
            group.begin_correlations(of_group.collect())?;
        }
        Ok(())
    }

    fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)> {
        let mut evaluated = Vec::new();
        for group in &mut self.groups {
            let (first, of_group) = (group.first, group.sampling.as_mut().map(Sampling::evaluated));
            let numbered = move |of_systems: OfSystems<Evaluated>| {
                of_systems.into_iter().map(|(system, of)| (first + system, of)).collect()
            };
            for (correlation, pending) in of_group.into_iter().flatten() {
                evaluated.push((correlation, pending.map(numbered)));
            }
        }
        evaluated
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        self.each_sampling(Sampling::flush)
    }

    fn held(&mut self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError> {
        let mut held = Vec::new();
        for group in &self.groups {
            match &group.sampling {
                Some(sampling) => held.extend(sampling.held()?),
                None => held.extend(vec![Vec::new(); group.systems.len()]),
            }
        }
        Ok(held)
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.each_sampling(Sampling::finish)
    }
}

impl<P: DevicePolicy> ManySystems<P> {
    fn each_sampling(
        &mut self,
        work: impl Fn(&mut Sampling) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        let of_group = |group: &mut Group<P>| {
            group.sampling.as_mut().map_or(Ok(()), &work).map(|()| Vec::<()>::new())
        };
        self.each(of_group).map(drop)
    }
}
