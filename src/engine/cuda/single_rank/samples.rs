//! Samples of the steps of a whole system, and their correlations.
use super::SingleRank;
use crate::engine::cuda::advance::LaunchSamples;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::correlator::{DueSamples, Sampling};
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::samples::SampleKernels;
use crate::engine::{Correlator, EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Steps of the next launch, `most` at most, and the samples that it takes.
    pub(super) fn prepare_samples(
        &mut self,
        most: u64,
    ) -> Result<(u64, LaunchSamples), EngineError> {
        let step = self.state.step;
        match &mut self.stepper.sampling {
            Some(sampling) => sampling.begin_launch(step, most),
            None => Ok((most, LaunchSamples::NONE)),
        }
    }

    /// While a launch runs: has evaluated, after it, what samples before it complete.
    pub(super) fn evaluate_waiting(&mut self) -> Result<(), EngineError> {
        self.stepper.sampling.as_mut().map_or(Ok(()), Sampling::evaluate_waiting)
    }

    /// After a launch: notes its samples, and takes those of the present step that it does not take.
    pub(super) fn count_samples(&mut self) -> Result<(), EngineError> {
        let step = self.state.step;
        let Some(sampling) = &mut self.stepper.sampling else { return Ok(()) };
        sampling.end_launch(step);
        self.take_samples(true)
    }

    /// Takes the samples that are due of the present state; after a launch those that it does not take by itself.
    fn take_samples(&mut self, launched: bool) -> Result<(), EngineError> {
        let step = self.state.step;
        let Some(sampling) = &mut self.stepper.sampling else { return Ok(()) };
        let DueSamples { slot, sums } = sampling.take(step, launched);
        self.take_sample(slot, sums.first())?;
        self.stepper.sampling.as_mut().map_or(Ok(()), Sampling::evaluate_full_batches)
    }

    /// Takes a sample of the present state: of the particles into a slot, of the stress into sums over velocities and pairs.
    pub(in crate::engine::cuda) fn take_sample(
        &mut self,
        slot: Option<u32>,
        sums: Option<&[Pointer<SplitSum>; 2]>,
    ) -> Result<(), EngineError> {
        if let Some(slot) = slot {
            let kernel = SampleKernels::load(self.device.kernels())?.take_sample;
            self.over_particles(kernel, (slot,))?;
        }
        if let Some(&[velocities, pairs]) = sums {
            self.measure_into(velocities, pairs)?;
        }
        Ok(())
    }
}

impl<P: DevicePolicy> Correlator for CudaEngine<P, SingleRank> {
    fn begin(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError> {
        self.stepper.sampling = None;
        if correlations[0].is_empty() {
            return Ok(());
        }
        let at_start = self.state.step == self.stage.first_step
            && correlations[0].iter().all(|offloaded| offloaded.samples() == 0);
        self.stepper.sampling = Some(Sampling::new(
            &[&self.device],
            correlations,
            self.state.simulation_box(),
            self.degrees_of_freedom(),
            self.stage.first_step,
        )?);
        match &mut self.stepper.sampling {
            Some(sampling) if !at_start => sampling.evaluate_full_batches(),
            _ => self.take_samples(false),
        }
    }

    fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)> {
        self.stepper.sampling.as_mut().map_or_else(Vec::new, Sampling::evaluated)
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        self.stepper.sampling.as_mut().map_or(Ok(()), Sampling::flush)
    }

    fn held(&mut self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError> {
        self.stepper.sampling.as_ref().map_or_else(|| Ok(vec![Vec::new()]), Sampling::held)
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.stepper.sampling.as_mut().map_or(Ok(()), Sampling::finish)
    }
}
