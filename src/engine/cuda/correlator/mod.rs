//! Time correlations on the GPU: samples that launches leave behind, blocks of them, and sums over particles of their
//! pairs.
//!
//! A launch of many steps stores a sample of all particles in a slot at every step at which one is due. Blocks hold
//! slots; which pairs are due is decided by the same scheme as on the CPU
//! ([`BlockingScheme`](crate::observable::dynamics::blocking::BlockingScheme)). When enough samples lie there, the
//! next launch begins; the host finds their pairs while it runs, and has them evaluated after it, in the stream of the
//! steps. Only sums leave the GPU. Where correlations need the stress, a launch sums it up at the steps at which it is
//! due, and a few numbers of each leave the GPU.
mod centers;
mod densities;
mod neighborhoods;
mod origins;
mod pairs;
mod particles;
mod program;
mod records;
mod slots;
mod stress;
mod structure;

pub use self::program::{
    centers_program, density_program, neighborhoods_program, program, structure_program,
};

pub use self::particles::SampleKernels;

use self::particles::ParticleSampling;
use self::stress::StressSampling;
use super::constants::DevicePolicy;
use super::declare::SharedHeader;
use super::engine::CudaEngine;
use super::memory::Session;
use super::single_rank::LaunchSamples;
use crate::engine::{Correlator, EngineError, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::dynamics::source::is_of_stress;
use crate::plan::Plan;

/// What the kernels of correlations share with the host.
pub const SHARED: &[SharedHeader] = &[
    centers::SHARED,
    densities::SHARED,
    neighborhoods::SHARED,
    origins::CELLS,
    origins::SHARED,
    origins::SORTING,
    pairs::GROUPS,
    pairs::SHARED,
    particles::SHARED,
    program::BLOCKS,
    program::CHUNKS,
    program::MODE_SUMS,
    program::NUMBERS,
    program::PAIR_SUMS,
    records::SHARED,
    structure::SHARED,
];

/// Whether a stage has observables that are evaluated on the GPU.
pub fn is_wanted(plan: &Plan) -> bool {
    plan.stages.iter().any(|stage| {
        let observe = &stage.observe;
        !stage.correlations.is_empty()
            || observe.structure.is_some()
            || observe.bond_order.is_some()
    })
}

/// Whether some of them are of the stress.
pub fn is_stress_wanted(plan: &Plan) -> bool {
    let mut correlations = plan.stages.iter().flat_map(|stage| &stage.correlations);
    correlations.any(|plan| plan.observables.iter().any(|&observable| is_of_stress(observable)))
}

/// Samples and correlations of a stage.
pub struct Sampling {
    session: std::sync::Arc<Session>,
    particles: Option<ParticleSampling>,
    stress: Option<StressSampling>,
    correlations: usize,
}

impl Drop for Sampling {
    /// No kernel may run without its memory.
    fn drop(&mut self) {
        let _ = self.session.wait();
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Steps between samples of which all these intervals are multiples.
fn common_interval(intervals: impl Iterator<Item = u64>) -> u64 {
    intervals.fold(0, greatest_common_divisor)
}

/// Steps from one after the start of a stage to the next sample.
fn until_next(every: u64, step_in_stage: u64) -> u64 {
    every - step_in_stage % every
}

/// Samples that a launch takes in `steps` steps, one every `every` from `first` on.
fn launch_samples(first: u64, every: u64, steps: u64) -> u64 {
    if first > steps { 0 } else { (steps - first) / every + 1 }
}

/// The most steps of a launch, `most` or less, in which `capacity` samples at most are due.
fn launch_steps(first: u64, every: u64, capacity: u64, most: u64) -> u64 {
    if launch_samples(first, every, most) <= capacity {
        most
    } else {
        first + (capacity - 1) * every
    }
}

impl Sampling {
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

    /// Steps of the next launch, `most` at most: as many as there is room for samples.
    fn launch_steps(&self, step_in_stage: u64, most: u64) -> u64 {
        let most = most.min(self.until_next_rare(step_in_stage));
        self.intervals().fold(most, |most, (every, capacity)| {
            launch_steps(until_next(every, step_in_stage), every, capacity, most)
        })
    }
}

impl<P: DevicePolicy> CudaEngine<P> {
    fn step_in_stage(&self) -> u64 {
        self.step - self.stage.first_step
    }

    /// Steps of the next launch, `most` at most, and the samples that it takes.
    pub(super) fn prepare_samples(
        &mut self,
        most: u64,
    ) -> Result<(u64, LaunchSamples), EngineError> {
        let step_in_stage = self.step_in_stage();
        let Some(sampling) = &mut self.stepper.sampling else {
            return Ok((most, LaunchSamples::NONE));
        };
        let steps = sampling.launch_steps(step_in_stage, most);
        let mut turns = LaunchSamples::NONE;
        if let Some(particles) = &mut sampling.particles {
            turns.particles = particles.begin_launch(step_in_stage, steps)?;
        }
        if let Some(stress) = &mut sampling.stress {
            turns.stress = stress.begin_launch(step_in_stage, steps);
        }
        Ok((steps, turns))
    }

    /// While a launch runs: has evaluated, after it, what samples before it complete.
    pub(super) fn evaluate_waiting(&mut self) -> Result<(), EngineError> {
        let first_step = self.stage.first_step;
        match self.stepper.sampling.as_mut().and_then(|sampling| sampling.particles.as_mut()) {
            Some(particles) => particles.evaluate_waiting(first_step),
            None => Ok(()),
        }
    }

    /// After a launch: notes its samples, and takes those of the present step that it does not take.
    pub(super) fn count_samples(&mut self) -> Result<(), EngineError> {
        let step_in_stage = self.step_in_stage();
        let Some(sampling) = &mut self.stepper.sampling else { return Ok(()) };
        if let Some(particles) = &mut sampling.particles {
            particles.end_launch(self.step, step_in_stage);
        }
        if let Some(stress) = &mut sampling.stress {
            stress.end_launch(self.step, step_in_stage);
        }
        self.take_samples(true)?;
        self.evaluate_full_batches()
    }

    /// Takes the samples that are due of the present state; after a launch those that it does not take by itself.
    fn take_samples(&mut self, launched: bool) -> Result<(), EngineError> {
        let (step, step_in_stage) = (self.step, self.step_in_stage());
        let Some(sampling) = &mut self.stepper.sampling else { return Ok(()) };
        let is_due = |every: u64| step_in_stage.is_multiple_of(every);
        let slot = sampling.particles.as_mut().filter(|of| {
            let of_passes = of.every.is_some_and(is_due);
            if of_passes { !launched } else { of.rare.iter().any(|&every| is_due(every)) }
        });
        let slot = slot.map(|particles| particles.take(step));
        let sums = sampling.stress.as_mut().filter(|of| !launched && is_due(of.every));
        let sums = sums.map(|stress| stress.take(step));
        if let Some(slot) = slot {
            let kernel = SampleKernels::load(&self.kernels)?.take_sample;
            self.over_particles(kernel, (slot,))?;
        }
        if let Some([velocities, pairs]) = sums {
            self.measure_into(velocities, pairs)?;
        }
        Ok(())
    }

    fn evaluate_full_batches(&mut self) -> Result<(), EngineError> {
        let first_step = self.stage.first_step;
        let Some(sampling) = &mut self.stepper.sampling else { return Ok(()) };
        if let Some(particles) = sampling.particles.as_mut().filter(|of| of.capacity() == 0) {
            particles.end_batch(first_step)?;
        }
        if let Some(stress) = sampling.stress.as_mut().filter(|of| of.capacity() == 0) {
            stress.evaluate_batch(first_step)?;
        }
        Ok(())
    }
}

impl<P: DevicePolicy> Correlator for CudaEngine<P> {
    fn begin(&mut self, correlations: Vec<Offloaded>) -> Result<(), EngineError> {
        self.stepper.sampling = None;
        if correlations.is_empty() {
            return Ok(());
        }
        let at_start = self.step == self.stage.first_step
            && correlations.iter().all(|offloaded| offloaded.samples() == 0);
        let count = correlations.len();
        let (mut of_particles, mut of_stress) = (Vec::new(), Vec::new());
        for (index, offloaded) in correlations.into_iter().enumerate() {
            match offloaded {
                Offloaded::Stress(evaluation, _) => of_stress.push((index, evaluation)),
                other => of_particles.push((index, other)),
            }
        }
        let mut sampling = Sampling {
            session: self.session.clone(),
            particles: None,
            stress: None,
            correlations: count,
        };
        if !of_stress.is_empty() {
            let stress = StressSampling::new(
                &self.session,
                &of_stress,
                &self.simulation_box,
                self.stage
                    .degrees_of_freedom(self.simulation_box.dimension(), self.particle_count()),
            )?;
            self.kernels.set("stress_sums", &stress.constant())?;
            sampling.stress = Some(stress);
        }
        if !of_particles.is_empty() {
            let particles = ParticleSampling::new(&self.session, of_particles)?;
            self.kernels.set("sampling", &particles.constant())?;
            sampling.particles = Some(particles);
        }
        self.stepper.sampling = Some(sampling);
        if at_start {
            self.take_samples(false)?;
        }
        self.evaluate_full_batches()
    }

    fn evaluated(&mut self) -> Vec<(usize, Pending<Evaluated>)> {
        let Some(sampling) = &mut self.stepper.sampling else { return Vec::new() };
        let particles = sampling.particles.as_mut().map(|of| std::mem::take(&mut of.evaluated));
        let stress = sampling.stress.as_mut().map(|of| std::mem::take(&mut of.evaluated));
        particles.into_iter().chain(stress).flatten().collect()
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        let first_step = self.stage.first_step;
        let Some(sampling) = &mut self.stepper.sampling else { return Ok(()) };
        if let Some(particles) = &mut sampling.particles {
            particles.evaluate_all(first_step)?;
        }
        if let Some(stress) = &mut sampling.stress {
            stress.evaluate_batch(first_step)?;
        }
        Ok(())
    }

    fn held(&mut self) -> Result<Vec<Option<HeldSamples>>, EngineError> {
        let Some(sampling) = &self.stepper.sampling else { return Ok(Vec::new()) };
        let mut held: Vec<Option<HeldSamples>> = vec![None; sampling.correlations];
        if let Some(particles) = &sampling.particles {
            for (index, samples) in particles.held()? {
                held[index] = samples;
            }
        }
        Ok(held)
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.flush()?;
        match self.stepper.sampling.as_mut().and_then(|sampling| sampling.particles.as_mut()) {
            Some(particles) => particles.evaluate_rest(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_end_where_the_capacity_for_samples_of_a_kind_does() {
        // By steps: those of the last sample and of the next launch.
        for (step, every, capacity, most) in
            [(0, 10, 4, 100), (7, 10, 4, 100), (3, 4, 9, 30), (9, 10, 1, 5), (0, 7, 2, 6)]
        {
            let first = until_next(every, step);
            let steps = launch_steps(first, every, capacity, most);
            let taken =
                (step + 1..=step + steps).filter(|step| step.is_multiple_of(every)).count() as u64;
            assert_eq!(taken, launch_samples(first, every, steps));
            assert!(taken <= capacity && steps >= 1 && steps <= most);
            assert!(steps == most || (taken == capacity && (step + steps).is_multiple_of(every)));
        }
        assert_eq!(common_interval([10, 4, 6].into_iter()), 2);
    }
}
