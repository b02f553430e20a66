//! The stress tensors of all systems at the steps of correlations, which launches sum up on their way.
use std::sync::Arc;

use super::intervals::{common_interval, launch_samples, until_next};
use crate::engine::cuda::advance::SampleTimes;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::measure::measured;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::transfer::{Piece, Transfer};
use crate::engine::{EngineError, OfSystems, Pending, SystemSums};
use crate::observable::Macroscopic;
use crate::observable::dynamics::evaluation::{Evaluated, SampledStress, StressEvaluation};
use crate::system::SimulationBox;

/// Samples whose sums lie on the GPU together, and those of each of many systems at least.
const MOST_SAMPLES: usize = 1024;
const FEWEST_SAMPLES: usize = 16;
/// Copies to the host that may be under way together.
const COPIES: usize = 4;
/// Sums of a sample: those of `measure_velocities`, then those of `measure_pairs`; launches leave out what the stress
/// does not need.
const SUMS: usize = measured::STRESS_SUMS as usize;
const FIRST_OF_PAIRS: usize = measured::VELOCITY_SUMS as usize;
const SAMPLE_BYTES: usize = SUMS * size_of::<SplitSum>();

pub struct StressSampling {
    /// Of which the intervals of all correlations are multiples.
    pub every: u64,
    pub evaluated: Vec<(usize, Pending<OfSystems<Evaluated>>)>,
    correlations: Vec<(usize, StressEvaluation)>,
    systems: usize,
    /// Samples of each that there is room for.
    room: usize,
    /// By system, sample; zero where no sample is yet.
    sums: Buffer,
    /// Steps of the samples so far, in the order of the sums.
    taken: Vec<u64>,
    /// Samples that the present launch takes.
    coming: u64,
    transfer: Transfer,
    volume: f64,
    degrees_of_freedom: u64,
}

impl StressSampling {
    /// # Errors
    /// If there is no memory.
    pub fn new(
        session: &Arc<Session>,
        correlations: &[(usize, StressEvaluation)],
        systems: usize,
        simulation_box: &SimulationBox,
        degrees_of_freedom: u64,
    ) -> Result<Self, EngineError> {
        let room = (MOST_SAMPLES / systems).max(FEWEST_SAMPLES);
        let transfer = Transfer::new(session, systems * room * SAMPLE_BYTES)?;
        transfer.reserve(COPIES)?;
        Ok(StressSampling {
            every: common_interval(correlations.iter().map(|(_, evaluation)| evaluation.every)),
            evaluated: Vec::new(),
            correlations: correlations.to_vec(),
            systems,
            room,
            sums: Buffer::new(session, systems * room * SAMPLE_BYTES)?,
            taken: Vec::new(),
            coming: 0,
            transfer,
            volume: simulation_box.volume(),
            degrees_of_freedom,
        })
    }

    /// A constant of the kernels: where the sums of a system lie.
    pub fn constant(&self, system: usize) -> Pointer<SplitSum> {
        self.sums.pointer::<SplitSum>().add(system * self.room * SUMS)
    }

    /// Samples that there is room for.
    pub fn capacity(&self) -> u64 {
        (self.room - self.taken.len()) as u64
    }

    pub fn begin_launch(&mut self, step_in_stage: u64, steps: u64) -> SampleTimes {
        let first = until_next(self.every, step_in_stage);
        self.coming = launch_samples(first, self.every, steps);
        if self.coming == 0 {
            return SampleTimes::NONE;
        }
        SampleTimes::new(first, self.every, self.taken.len() as u32)
    }

    /// Notes the samples of a launch that has ended at a step.
    pub fn end_launch(&mut self, step: u64, step_in_stage: u64) {
        let last = step - step_in_stage % self.every;
        let coming = std::mem::take(&mut self.coming);
        self.taken.extend((0..coming).map(|number| last - (coming - 1 - number) * self.every));
    }

    /// Where the sums of a sample of the present step go, for each system: of the velocities, and of pairs.
    pub fn take(&mut self, step: u64) -> Vec<[Pointer<SplitSum>; 2]> {
        let sums = (0..self.systems).map(|system| {
            let sums = self.constant(system).add(self.taken.len() * SUMS);
            [sums, sums.add(FIRST_OF_PAIRS)]
        });
        let sums = sums.collect();
        self.taken.push(step);
        sums
    }

    /// Has the sums of all samples brought to the host; does not wait.
    pub fn evaluate_batch(&mut self, stage_first_step: u64) -> Result<(), EngineError> {
        let steps: Arc<[u64]> = std::mem::take(&mut self.taken).into();
        if steps.is_empty() {
            return Ok(());
        }
        let (systems, room) = (self.systems, self.room);
        let bytes = ((systems - 1) * room + steps.len()) * SAMPLE_BYTES;
        let (volume, degrees_of_freedom) = (self.volume, self.degrees_of_freedom);
        for &(index, StressEvaluation { every }) in &self.correlations {
            let arriving = self.transfer.begin(&[Piece { buffer: &self.sums, bytes }])?;
            let steps = steps.clone();
            let pending = Pending::new(move || {
                let is_due = |step: u64| (step - stage_first_step).is_multiple_of(every);
                let words = arriving.wait()?.as_chunks::<8>().0;
                let of_systems = words.chunks(2 * SUMS * room).map(|words| {
                    let samples = samples_of(words, &steps, volume, degrees_of_freedom);
                    Evaluated::Stress(samples.filter(|sample| is_due(sample.step)).collect())
                });
                Ok(of_systems.enumerate().collect())
            });
            self.evaluated.push((index, pending));
        }
        self.sums.clear(bytes)
    }
}

/// Samples of a system from their words.
fn samples_of(
    words: &[[u8; 8]],
    steps: &[u64],
    volume: f64,
    degrees_of_freedom: u64,
) -> impl Iterator<Item = SampledStress> {
    let of_sample = move |(&step, words): (&u64, &[[u8; 8]])| {
        let word = |k: usize| u64::from_ne_bytes(words[k]);
        let sum = |k: usize| SplitSum::new(word(2 * k), word(2 * k + 1)).value();
        let sums = SystemSums {
            kinetic: std::array::from_fn(sum),
            kicks: 0.0,
            // After the energy. Each pair was counted with both of its particles.
            virial: std::array::from_fn(|k| 0.5 * sum(FIRST_OF_PAIRS + 1 + k)),
            potential: 0.0,
            center_of_mass_velocity: [0.0; 3],
        };
        let macroscopic = Macroscopic {
            stress: sums.stress(volume),
            temperature: sums.kinetic2() / degrees_of_freedom as f64,
        };
        SampledStress { step, macroscopic }
    };
    steps.iter().zip(words.chunks(2 * SUMS)).map(of_sample)
}
