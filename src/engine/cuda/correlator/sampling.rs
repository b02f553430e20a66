//! Samples and correlations of a stage.
use std::sync::Arc;

use super::intervals::{launch_steps, until_next};
use super::particles::ParticleSampling;
use super::stress::StressSampling;
use crate::engine::cuda::advance::LaunchSamples;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::run_device::RunDevice;
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;
use crate::system::SimulationBox;

/// Samples and correlations of a stage.
pub struct Sampling {
    session: Arc<Session>,
    particles: Option<ParticleSampling>,
    stress: Option<StressSampling>,
    systems: usize,
    correlations: usize,
    /// Step at which the stage began.
    first_step: u64,
}

/// Where the samples of a step go that kernels between launches take.
pub struct DueSamples {
    /// Slot for the particles.
    pub slot: Option<u32>,
    /// Sums of velocities, and of pairs, for the stress of each system; empty if none is due.
    pub sums: Vec<[Pointer<SplitSum>; 2]>,
}

impl Drop for Sampling {
    /// No kernel may run without its memory.
    fn drop(&mut self) {
        let _ = self.session.wait();
    }
}

impl Sampling {
    /// Of systems with a device each, on the same GPU, whose kernels take the samples; `correlations` by system.
    ///
    /// # Errors
    /// If there is no memory, or the kernels of the correlations cannot be compiled.
    pub fn new(
        devices: &[&RunDevice],
        correlations: Vec<Vec<Offloaded>>,
        simulation_box: &SimulationBox,
        degrees_of_freedom: u64,
        first_step: u64,
    ) -> Result<Self, EngineError> {
        let (session, count) = (devices[0].session(), correlations[0].len());
        let mut by_correlation = vec![Vec::with_capacity(devices.len()); count];
        for of_system in correlations {
            for (of_systems, offloaded) in by_correlation.iter_mut().zip(of_system) {
                of_systems.push(offloaded);
            }
        }
        let (mut of_particles, mut of_stress) = (Vec::new(), Vec::new());
        for (index, of_systems) in by_correlation.into_iter().enumerate() {
            match of_systems[0] {
                Offloaded::Stress(evaluation, _) => of_stress.push((index, evaluation)),
                _ => of_particles.push((index, of_systems)),
            }
        }
        let mut sampling = Sampling {
            session: session.clone(),
            particles: None,
            stress: None,
            systems: devices.len(),
            correlations: count,
            first_step,
        };
        if !of_stress.is_empty() {
            let systems = devices.len();
            let stress = StressSampling::new(
                session,
                &of_stress,
                systems,
                simulation_box,
                degrees_of_freedom,
            )?;
            for (system, device) in devices.iter().enumerate() {
                device.set_stress_sums(stress.constant(system))?;
            }
            sampling.stress = Some(stress);
        }
        if !of_particles.is_empty() {
            let particles = ParticleSampling::new(session, of_particles)?;
            for (system, device) in devices.iter().enumerate() {
                device.set_sampling(&particles.constant(system))?;
            }
            sampling.particles = Some(particles);
        }
        Ok(sampling)
    }

    /// Steps to the next sample that no launch takes on its way.
    fn until_next_rare(&self, step_in_stage: u64) -> u64 {
        let particles = self.particles.iter();
        let rare = particles.flat_map(|of| &of.rare);
        rare.map(|&every| until_next(every, step_in_stage)).min().unwrap_or(u64::MAX)
    }

    /// Steps between samples of each kind, and how many there is room for.
    fn intervals(&self) -> impl Iterator<Item = (u64, u64)> {
        let particles = self.particles.as_ref().and_then(|of| Some((of.every?, of.capacity())));
        particles.into_iter().chain(self.stress.as_ref().map(|of| (of.every, of.capacity())))
    }

    /// Steps of the launch that begins at a step, `most` at most: as many as there is room for samples; and the samples
    /// that it takes.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn begin_launch(
        &mut self,
        step: u64,
        most: u64,
    ) -> Result<(u64, LaunchSamples), EngineError> {
        let step_in_stage = step - self.first_step;
        let most = most.min(self.until_next_rare(step_in_stage));
        let steps = self.intervals().fold(most, |most, (every, capacity)| {
            launch_steps(until_next(every, step_in_stage), every, capacity, most)
        });
        let mut samples = LaunchSamples::NONE;
        if let Some(particles) = &mut self.particles {
            samples.particles = particles.begin_launch(step_in_stage, steps)?;
        }
        if let Some(stress) = &mut self.stress {
            samples.stress = stress.begin_launch(step_in_stage, steps);
        }
        Ok((steps, samples))
    }

    /// While a launch runs: has evaluated, after it, what samples before it complete.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn evaluate_waiting(&mut self) -> Result<(), EngineError> {
        let first_step = self.first_step;
        self.particles.as_mut().map_or(Ok(()), |particles| particles.evaluate_waiting(first_step))
    }

    /// After a launch that has ended at a step: notes its samples.
    pub fn end_launch(&mut self, step: u64) {
        let step_in_stage = step - self.first_step;
        if let Some(particles) = &mut self.particles {
            particles.end_launch(step, step_in_stage);
        }
        if let Some(stress) = &mut self.stress {
            stress.end_launch(step, step_in_stage);
        }
    }

    /// Where the samples that are due at a step go; after a launch those that it does not take by itself.
    pub fn take(&mut self, step: u64, launched: bool) -> DueSamples {
        let is_due = |every: u64| (step - self.first_step).is_multiple_of(every);
        let slot = self.particles.as_mut().filter(|of| {
            let of_passes = of.every.is_some_and(is_due);
            if of_passes { !launched } else { of.rare.iter().any(|&every| is_due(every)) }
        });
        let slot = slot.map(|particles| particles.take(step));
        let sums = self.stress.as_mut().filter(|of| !launched && is_due(of.every));
        DueSamples { slot, sums: sums.map(|stress| stress.take(step)).unwrap_or_default() }
    }

    /// # Errors
    /// If the GPU is lost.
    pub fn evaluate_full_batches(&mut self) -> Result<(), EngineError> {
        if let Some(particles) = self.particles.as_mut().filter(|of| of.capacity() == 0) {
            particles.end_batch(self.first_step)?;
        }
        if let Some(stress) = self.stress.as_mut().filter(|of| of.capacity() == 0) {
            stress.evaluate_batch(self.first_step)?;
        }
        Ok(())
    }

    /// As [`Correlator::evaluated`](crate::engine::Correlator::evaluated).
    pub fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)> {
        let particles = self.particles.as_mut().map(|of| std::mem::take(&mut of.evaluated));
        let stress = self.stress.as_mut().map(|of| std::mem::take(&mut of.evaluated));
        particles.into_iter().chain(stress).flatten().collect()
    }

    /// Evaluates all samples.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn flush(&mut self) -> Result<(), EngineError> {
        if let Some(particles) = &mut self.particles {
            particles.evaluate_all(self.first_step)?;
        }
        if let Some(stress) = &mut self.stress {
            stress.evaluate_batch(self.first_step)?;
        }
        Ok(())
    }

    /// As [`Correlator::held`](crate::engine::Correlator::held).
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn held(&self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError> {
        let mut held = vec![vec![None; self.correlations]; self.systems];
        if let Some(particles) = &self.particles {
            for (index, of_systems) in particles.held()? {
                for (held, samples) in held.iter_mut().zip(of_systems) {
                    held[index] = Some(samples);
                }
            }
        }
        Ok(held)
    }

    /// Evaluates all samples and what is left of blocks at the end of a stage.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn finish(&mut self) -> Result<(), EngineError> {
        self.flush()?;
        self.particles.as_mut().map_or(Ok(()), ParticleSampling::evaluate_rest)
    }
}
