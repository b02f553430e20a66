//! Time correlations on the card: samples that launches leave behind, blocks of them, and sums over particles of their
//! pairs.
//!
//! A launch of many steps stores a sample of all particles in a slot at every step at which one is due. Blocks hold
//! slots; which pairs are due is decided by the same scheme as on the CPU ([`BlockingScheme`]). When enough samples
//! lie there, their pairs are evaluated together, in the stream of the steps, and only sums leave the card.
mod densities;
mod pairs;
mod program;
mod records;
mod slots;

use std::sync::Arc;

pub use self::program::{density_program, program};

use self::densities::DensityEvaluator;
use self::pairs::{Center, PairEvaluator, Records};
use self::slots::{Slot, SlotPool};
use super::constants::DevicePolicy;
use super::engine::{CudaEngine, SampleTurns};
use super::memory::{Buffer, Session};
use crate::engine::{Correlator, EngineError, Pending};
use crate::observable::dynamics::blocking::{BlockingScheme, Due};
use crate::observable::dynamics::evaluation::{
    Evaluated, EvaluatedPairs, Evaluation, HandedOver, MOST_SAMPLES_OF_BATCH,
};
use crate::observable::dynamics::sampled::{HeldSamples, SampledParticles};
use crate::plan::{Plan, Thermostat};

/// Whether a stage has correlations, of which some may be evaluated on the card.
pub fn is_wanted(plan: &Plan) -> bool {
    plan.stages.iter().any(|stage| !stage.correlations.is_empty())
}

const FEWEST_OF_BATCH: usize = 8;
/// Share of the free memory that the samples of a batch may take.
const SHARE_OF_BATCH: u64 = 16;

/// Samples and correlations of a stage.
pub struct Sampling {
    session: Arc<Session>,
    /// Steps between samples: of which the intervals of all correlations are multiples.
    every: u64,
    records: Buffer,
    slot_bytes: usize,
    /// Centres of mass, by slot.
    centers: Buffer,
    /// Slots of the next launch.
    table: Buffer,
    pool: Arc<SlotPool>,
    /// Most samples of a batch.
    batch: usize,
    /// Slots that the present launch fills.
    coming: Vec<Arc<Slot>>,
    /// Samples of the batch so far, with their steps.
    taken: Vec<(u64, Arc<Slot>)>,
    correlations: Vec<Correlation>,
    evaluated: Vec<(usize, Pending<Evaluated>)>,
}

enum Correlation {
    OfPairs(Box<Blocks>),
    OfDensities(Box<DensityEvaluator>),
}

/// A correlation whose blocks lie on the card.
struct Blocks {
    evaluation: Evaluation,
    evaluator: PairEvaluator,
    scheme: BlockingScheme<Arc<Slot>>,
    first_step: Option<u64>,
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

impl Sampling {
    fn new(session: &Arc<Session>, correlations: Vec<HandedOver>) -> Result<Self, EngineError> {
        let (simulation_box, species) = match &correlations[0] {
            HandedOver::Pairs(of, _) => (of.simulation_box, &of.species),
            HandedOver::Densities(of, _) => (of.simulation_box, &of.species),
        };
        let particles: usize = species.iter().map(|species| species.count).sum();
        // Slots begin where records may.
        let slot_words = particles * records::words(simulation_box.dimension());
        let slot_bytes = (4 * slot_words).next_multiple_of(32);
        let held: usize = correlations
            .iter()
            .map(|handed_over| match handed_over {
                HandedOver::Pairs(evaluation, _) => evaluation.most_samples_held(),
                HandedOver::Densities(..) => 0,
            })
            .sum();
        let (free, size) = session.memory()?;
        let batch = (free / SHARE_OF_BATCH / slot_bytes as u64) as usize;
        let batch = batch.clamp(FEWEST_OF_BATCH, MOST_SAMPLES_OF_BATCH);
        let samples = held + batch;
        let beside: u64 = correlations
            .iter()
            .map(|handed_over| match handed_over {
                HandedOver::Pairs(evaluation, _) => pairs::device_bytes(evaluation),
                HandedOver::Densities(evaluation, _) => densities::device_bytes(evaluation, batch),
            })
            .sum();
        let need = (samples * slot_bytes) as u64 + beside;
        if need >= free {
            let card = session.card.name.clone();
            return Err(EngineError::OutOfBlockMemory {
                samples,
                particles,
                need,
                size,
                free,
                card,
            });
        }
        let every = correlations.iter().map(HandedOver::every).fold(0, greatest_common_divisor);
        let mut sampling = Sampling {
            session: session.clone(),
            every,
            records: Buffer::new(session, samples * slot_bytes)?,
            slot_bytes,
            centers: Buffer::new(session, samples * size_of::<Center>())?,
            // Launches look one further.
            table: Buffer::new(session, (batch + 1) * 4)?,
            pool: SlotPool::new(samples),
            batch,
            coming: Vec::new(),
            taken: Vec::new(),
            correlations: Vec::new(),
            evaluated: Vec::new(),
        };
        for handed_over in correlations {
            let correlation = match handed_over {
                HandedOver::Pairs(evaluation, samples) => Correlation::OfPairs(Box::new(Blocks {
                    scheme: sampling.put_back(&evaluation, &samples)?,
                    evaluator: PairEvaluator::new(session, &evaluation)?,
                    evaluation,
                    first_step: samples.first_step,
                })),
                HandedOver::Densities(evaluation, _) => {
                    let evaluator = DensityEvaluator::new(session, &evaluation, batch)?;
                    Correlation::OfDensities(Box::new(evaluator))
                }
            };
            sampling.correlations.push(correlation);
        }
        Ok(sampling)
    }

    /// Blocks with the samples of a checkpoint, on the card again.
    fn put_back(
        &self,
        evaluation: &Evaluation,
        samples: &HeldSamples,
    ) -> Result<BlockingScheme<Arc<Slot>>, EngineError> {
        let mut scheme = BlockingScheme::new(evaluation.block_size, evaluation.levels);
        let mut held = Vec::new();
        for (index, sample) in &samples.held {
            let slot = self.slot();
            let records = records::pack(&sample.words, evaluation.simulation_box.dimension());
            self.records.write_at(slot.number as usize * self.slot_bytes, &records)?;
            if let Some(center) = sample.center {
                let at = slot.number as usize * size_of::<Center>();
                self.centers.write_at(at, &[Center(center)])?;
            }
            held.push((*index, Arc::new(slot)));
        }
        if samples.samples > 0 {
            let fits = scheme.restore(samples.samples, &samples.entries, &held);
            assert!(fits, "the blocks were those of the same scheme");
        }
        Ok(scheme)
    }

    fn slot(&self) -> Arc<Slot> {
        self.pool.take().expect("blocks and batch have a slot for every sample")
    }

    fn records(&self) -> Records {
        Records { words: self.records.pointer(), slot_words: self.slot_bytes as u64 / 4 }
    }

    /// As the constant of the kernels that take samples: `Sampling` in `kernels/md/sample.cuh`.
    fn constant(&self, edges: [f64; 3]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let records = self.records();
        for word in [records.words, self.table.pointer(), records.slot_words] {
            bytes.extend(word.to_ne_bytes());
        }
        edges.iter().for_each(|edge| bytes.extend((4_294_967_296.0 / edge).to_ne_bytes()));
        bytes
    }

    fn until_next(&self, step_in_stage: u64) -> u64 {
        self.every - step_in_stage % self.every
    }

    /// Has all pairs evaluated that the samples of the batch complete.
    fn evaluate_batch(&mut self, stage_first_step: u64) -> Result<(), EngineError> {
        let taken = std::mem::take(&mut self.taken);
        if taken.is_empty() {
            return Ok(());
        }
        let records = self.records();
        // Any that has the kernel finds them for all.
        let evaluator = self.correlations.iter().find_map(|correlation| match correlation {
            Correlation::OfPairs(blocks) if blocks.evaluation.remove_drift => {
                Some(&blocks.evaluator)
            }
            _ => None,
        });
        if let Some(evaluator) = evaluator {
            let slots: Vec<u32> = taken.iter().map(|(_, slot)| slot.number).collect();
            self.table.write(&slots)?;
            let (table, centers) = (&self.table, &self.centers);
            evaluator.find_centers(records, table, slots.len(), centers)?;
        }
        for (index, correlation) in self.correlations.iter_mut().enumerate() {
            match correlation {
                Correlation::OfPairs(blocks) => {
                    let mut due = Vec::new();
                    for (step, slot) in &taken {
                        if (step - stage_first_step).is_multiple_of(blocks.evaluation.every) {
                            blocks.first_step.get_or_insert(*step);
                            due.extend(blocks.scheme.push(slot.clone()));
                        }
                    }
                    let pending = blocks.evaluate(&due, records, &self.centers)?;
                    let pairs = pending.into_iter().map(|pairs| pairs.map(Evaluated::Pairs));
                    self.evaluated.extend(pairs.map(|pairs| (index, pairs)));
                }
                Correlation::OfDensities(evaluator) => {
                    let of_every =
                        |step: u64| (step - stage_first_step).is_multiple_of(evaluator.every);
                    let samples: Vec<(u64, u32)> = taken
                        .iter()
                        .filter(|(step, _)| of_every(*step))
                        .map(|(step, slot)| (*step, slot.number))
                        .collect();
                    let pending = evaluator.evaluate(&samples, records)?;
                    let samples = pending.into_iter().map(|one| one.map(Evaluated::Densities));
                    self.evaluated.extend(samples.map(|samples| (index, samples)));
                }
            }
        }
        Ok(())
    }

    fn evaluate_rest(&mut self) -> Result<(), EngineError> {
        let records = self.records();
        for (index, correlation) in self.correlations.iter_mut().enumerate() {
            let Correlation::OfPairs(blocks) = correlation else { continue };
            let due = blocks.scheme.finish();
            let pending = blocks.evaluate(&due, records, &self.centers)?;
            let pairs = pending.into_iter().map(|pairs| pairs.map(Evaluated::Pairs));
            self.evaluated.extend(pairs.map(|pairs| (index, pairs)));
        }
        Ok(())
    }

    fn held(&self, correlation: &Correlation) -> Result<Option<HeldSamples>, EngineError> {
        let Correlation::OfPairs(correlation) = correlation else { return Ok(None) };
        let evaluation = &correlation.evaluation;
        let dimension = evaluation.simulation_box.dimension();
        let words = evaluation.particles() * records::words(dimension);
        let mut held = Vec::new();
        for (index, slot) in correlation.scheme.held() {
            let number = slot.number as usize;
            let center = match evaluation.remove_drift {
                true => {
                    let at = number * size_of::<Center>();
                    Some(self.centers.read_at::<Center>(at, 1)?[0].0)
                }
                false => None,
            };
            let records = self.records.read_at(number * self.slot_bytes, words)?;
            let words = records::unpack(&records, dimension);
            held.push((index, Arc::new(SampledParticles { words, center })));
        }
        Ok(Some(HeldSamples {
            samples: correlation.scheme.samples(),
            first_step: correlation.first_step,
            entries: correlation.scheme.entries(),
            held,
        }))
    }
}

impl Blocks {
    fn evaluate(
        &self,
        due: &[Due<Arc<Slot>>],
        records: Records,
        centers: &Buffer,
    ) -> Result<Vec<Pending<EvaluatedPairs>>, EngineError> {
        let lags = self.evaluation.lags;
        let lag_index = |level: usize, entry: usize| {
            self.scheme.lag_index(level, entry).filter(|&index| index < lags)
        };
        self.evaluator.evaluate(due, lag_index, records, centers)
    }
}

impl<P: DevicePolicy> CudaEngine<P> {
    /// Whether something acts on the velocities after the pass of a launch that has those of the step.
    fn velocities_change_after_passes(&self) -> bool {
        let kind = self.stage.thermostat.map(|thermostat| thermostat.kind);
        !matches!(kind, None | Some(Thermostat::Langevin { .. }))
    }

    /// Steps of the next launch, `most` at most, and the samples that it takes: as many as the batch has room
    /// for.
    pub(super) fn prepare_samples(&mut self, most: u64) -> Result<(u64, SampleTurns), EngineError> {
        let step_in_stage = self.step - self.stage.first_step;
        let in_passes = !self.velocities_change_after_passes();
        let Some(sampling) = &mut self.sampling else { return Ok((most, SampleTurns::NONE)) };
        let first = sampling.until_next(step_in_stage);
        if first > most {
            return Ok((most, SampleTurns::NONE));
        }
        if !in_passes {
            return Ok((first, SampleTurns::NONE));
        }
        let due = (most - first) / sampling.every + 1;
        let count = due.min((sampling.batch - sampling.taken.len()) as u64);
        sampling.coming = (0..count).map(|_| sampling.slot()).collect();
        let numbers: Vec<u32> = sampling.coming.iter().map(|slot| slot.number).collect();
        sampling.table.write(&numbers)?;
        let steps = if count < due { first + (count - 1) * sampling.every } else { most };
        // A launch has fewer than 2^32 steps.
        let every = sampling.every.min(u64::from(u32::MAX)) as u32;
        Ok((steps, SampleTurns { first: first as u32, every }))
    }

    /// After a launch and what follows it: notes its samples, or takes that of the present step.
    pub(super) fn count_samples(&mut self, turns: SampleTurns) -> Result<(), EngineError> {
        let step_in_stage = self.step - self.stage.first_step;
        let in_passes = !self.velocities_change_after_passes();
        let Some(sampling) = &mut self.sampling else { return Ok(()) };
        if turns.first != u32::MAX {
            let last = self.step - step_in_stage % sampling.every;
            let count = sampling.coming.len() as u64;
            let coming = std::mem::take(&mut sampling.coming);
            for (number, slot) in (0..).zip(coming) {
                sampling.taken.push((last - (count - 1 - number) * sampling.every, slot));
            }
        } else if !in_passes && step_in_stage.is_multiple_of(sampling.every) {
            self.take_sample()?;
        }
        self.evaluate_full_batch()
    }

    /// Takes a sample of the present state.
    fn take_sample(&mut self) -> Result<(), EngineError> {
        let Some(sampling) = &mut self.sampling else { return Ok(()) };
        let slot = sampling.slot();
        let number = slot.number;
        sampling.taken.push((self.step, slot));
        self.over_particles("take_sample", &[(&raw const number).cast()])
    }

    fn evaluate_full_batch(&mut self) -> Result<(), EngineError> {
        match &mut self.sampling {
            Some(sampling) if sampling.taken.len() == sampling.batch => {
                sampling.evaluate_batch(self.stage.first_step)
            }
            _ => Ok(()),
        }
    }
}

impl<P: DevicePolicy> Correlator for CudaEngine<P> {
    fn begin(&mut self, correlations: Vec<HandedOver>) -> Result<(), EngineError> {
        self.sampling = None;
        if correlations.is_empty() {
            return Ok(());
        }
        let at_start = self.step == self.stage.first_step
            && correlations.iter().all(|handed_over| handed_over.samples() == 0);
        let sampling = Sampling::new(&self.session, correlations)?;
        self.kernels.set("sampling", &sampling.constant(self.simulation_box.padded_edges()))?;
        self.sampling = Some(sampling);
        if at_start {
            self.take_sample()?;
        }
        self.evaluate_full_batch()
    }

    fn evaluated(&mut self) -> Vec<(usize, Pending<Evaluated>)> {
        self.sampling
            .as_mut()
            .map(|sampling| std::mem::take(&mut sampling.evaluated))
            .unwrap_or_default()
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        match &mut self.sampling {
            Some(sampling) => sampling.evaluate_batch(self.stage.first_step),
            None => Ok(()),
        }
    }

    fn held(&mut self) -> Result<Vec<Option<HeldSamples>>, EngineError> {
        let Some(sampling) = &self.sampling else { return Ok(Vec::new()) };
        sampling.correlations.iter().map(|correlation| sampling.held(correlation)).collect()
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        let Some(sampling) = &mut self.sampling else { return Ok(()) };
        sampling.evaluate_batch(self.stage.first_step)?;
        sampling.evaluate_rest()
    }
}
