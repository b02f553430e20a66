//! Correlations that particles are needed for: samples that launches leave behind, blocks of them, and what is due.
use std::sync::Arc;

use super::centers::{self, CenterFinder};
use super::densities::{self, DensityEvaluator};
use super::intervals::{common_interval, launch_samples, until_next};
use super::neighborhoods::{self, NeighborhoodEvaluator};
use super::pairs::{self, PairEvaluator};
use super::slots::{Slot, SlotPool};
use super::structure::{self, BondOrderEvaluator, StructureEvaluator};
use crate::engine::cuda::advance::SampleTimes;
use crate::engine::cuda::launch::Kernels;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::{self, Center, Records, SamplingConstant};
use crate::engine::{EngineError, Pending};
use crate::observable::dynamics::blocking::{BlockingScheme, Due};
use crate::observable::dynamics::evaluation::{
    Evaluated, EvaluatedPairs, Evaluation, MOST_SAMPLES_OF_BATCH, Offloaded,
};
use crate::observable::dynamics::sampled::{HeldSamples, SampledParticles};
use crate::system::{SimulationBox, Species};

const FEWEST_OF_BATCH: usize = 8;
/// Batches in memory: one is filled while another waits.
const BATCHES: usize = 2;
/// Share of the free memory that the samples of a batch may take.
const SHARE_OF_BATCH: u64 = 32;

/// Samples of all particles, and the correlations that are evaluated from them.
pub struct ParticleSampling {
    /// Steps between samples that launches take on their way: of which the intervals of all correlations are
    /// multiples; `None` without correlations.
    pub every: Option<u64>,
    /// Intervals of what is sampled at other steps: launches end there.
    pub rare: Vec<u64>,
    pub evaluated: Vec<(usize, Pending<Evaluated>)>,
    simulation_box: SimulationBox,
    records: Buffer,
    slot_bytes: usize,
    /// Centres of mass, by slot.
    centers: Buffer,
    /// Where a correlation needs them.
    center_finder: Option<CenterFinder>,
    /// Slots of the launch, which reads them again when it continues after its lists have grown.
    table: Buffer,
    pool: Arc<SlotPool>,
    /// Most samples of a batch.
    batch: usize,
    /// Slots that the present launch fills.
    coming: Vec<Arc<Slot>>,
    /// Samples of the batch so far, with their steps.
    taken: Samples,
    /// Those of the batch before, which wait until the next launch runs: the host finds their pairs meanwhile.
    waiting: Samples,
    correlations: Vec<(usize, Observable)>,
}

/// With their steps.
type Samples = Vec<(u64, Arc<Slot>)>;

/// What is evaluated from samples.
enum Observable {
    Pairs(Box<Blocks>),
    Densities(Box<DensityEvaluator>),
    Structure(Box<StructureEvaluator>),
    BondOrder(Box<BondOrderEvaluator>),
}

/// A correlation whose blocks lie on the GPU.
struct Blocks {
    evaluation: Evaluation,
    evaluator: Evaluator,
    scheme: BlockingScheme<Arc<Slot>>,
    first_step: Option<u64>,
}

enum Evaluator {
    Pairs(PairEvaluator),
    Neighborhoods(NeighborhoodEvaluator),
}

/// Box and species of what needs particles.
fn system_of(offloaded: &Offloaded) -> Option<(SimulationBox, &[Species])> {
    match offloaded {
        Offloaded::Pairs(of, _) => Some((of.simulation_box, &of.species)),
        Offloaded::Densities(of, _) => Some((of.simulation_box, &of.species)),
        Offloaded::Structure(of, _) => Some((of.densities.simulation_box, &of.densities.species)),
        Offloaded::BondOrder(of, _) => Some((of.simulation_box, &of.species)),
        Offloaded::Stress(..) => None,
    }
}

fn removes_drift(offloaded: &Offloaded) -> bool {
    match offloaded {
        Offloaded::Pairs(evaluation, _) => evaluation.remove_drift,
        Offloaded::Densities(evaluation, _) => evaluation.remove_drift,
        _ => false,
    }
}

/// The kernels that these need.
fn programs(
    session: &Session,
    correlations: &[(usize, Offloaded)],
) -> Result<Vec<Program>, EngineError> {
    let Some((simulation_box, species)) = correlations.iter().find_map(|(_, one)| system_of(one))
    else {
        return Ok(Vec::new());
    };
    let (dimension, species) = (simulation_box.dimension(), species.len());
    let mut programs: Vec<Program> = Vec::new();
    let mut add = |program: Program| {
        if !programs.contains(&program) {
            programs.push(program);
        }
    };
    for (_, offloaded) in correlations {
        match offloaded {
            Offloaded::Pairs(evaluation, _) => {
                let (around, of_pairs) = neighborhoods::needs_programs(evaluation);
                if around {
                    add(neighborhoods::program(dimension, species));
                }
                if let Some(evaluation) = of_pairs {
                    add(pairs::program_on(session, &evaluation)?);
                }
            }
            Offloaded::Densities(evaluation, _) => add(densities::program(evaluation)),
            Offloaded::Structure(evaluation, _) => {
                add(structure::program(dimension, species));
                add(densities::program(&evaluation.densities));
            }
            Offloaded::BondOrder(..) => add(structure::program(dimension, species)),
            Offloaded::Stress(..) => {}
        }
    }
    if correlations.iter().any(|(_, one)| removes_drift(one)) {
        add(centers::program(dimension, species));
    }
    Ok(programs)
}

impl ParticleSampling {
    /// `correlations` with their indices: of pairs of samples, or of density modes. `systems`: that share the memory.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        correlations: Vec<(usize, Offloaded)>,
        systems: usize,
    ) -> Result<Self, EngineError> {
        Kernels::compile_ahead(session, &programs(session, &correlations)?)?;
        let (simulation_box, species) =
            system_of(&correlations[0].1).expect("correlations of particles");
        let particles: usize = species.iter().map(|species| species.count).sum();
        // Slots begin where records may.
        let slot_words = particles * samples::words(simulation_box.dimension());
        let slot_bytes = (4 * slot_words).next_multiple_of(32);
        let held: usize = correlations
            .iter()
            .map(|(_, offloaded)| match offloaded {
                Offloaded::Pairs(evaluation, _) => evaluation.most_samples_held(),
                _ => 0,
            })
            .sum();
        let (free, size) = session.memory()?;
        // Alike for all systems: of memory that each leaves to the next, each would have less.
        let shared = if systems == 1 { free } else { size / 2 };
        let batch = (shared / SHARE_OF_BATCH / (systems * slot_bytes) as u64) as usize;
        let batch = batch.clamp(FEWEST_OF_BATCH, MOST_SAMPLES_OF_BATCH);
        let samples = held + BATCHES * batch;
        // Slots that are no samples, and bytes beside the slots.
        let mut slots = samples;
        let mut beside = 0;
        for (_, offloaded) in &correlations {
            beside += match offloaded {
                Offloaded::Pairs(evaluation, _) => {
                    let (more, bytes) = neighborhoods::needs(evaluation, slot_bytes)
                        .unwrap_or_else(|| (0, pairs::device_bytes(evaluation)));
                    slots += more;
                    bytes
                }
                Offloaded::Densities(evaluation, _) => densities::device_bytes(evaluation, batch),
                Offloaded::Structure(evaluation, _) => {
                    structure::structure_bytes(evaluation, batch)
                }
                Offloaded::BondOrder(evaluation, _) => structure::bond_order_bytes(evaluation),
                Offloaded::Stress(..) => 0,
            };
        }
        let need = (slots * slot_bytes) as u64 + beside;
        if need >= free {
            let gpu = session.gpu.name.clone();
            return Err(EngineError::OutOfBlockMemory {
                samples,
                particles,
                need,
                size,
                free,
                gpu,
            });
        }
        let center_finder = match correlations.iter().any(|(_, one)| removes_drift(one)) {
            true => Some(CenterFinder::new(session, &simulation_box, species, batch)?),
            false => None,
        };
        let is_rare =
            |one: &Offloaded| matches!(one, Offloaded::Structure(..) | Offloaded::BondOrder(..));
        let intervals = |rare: bool| {
            let of = correlations.iter().filter(move |(_, one)| is_rare(one) == rare);
            of.map(|(_, one)| one.every())
        };
        let every = Some(common_interval(intervals(false))).filter(|every| *every > 0);
        let is_in_passes =
            |interval: &u64| every.is_some_and(|every| interval.is_multiple_of(every));
        let mut sampling = ParticleSampling {
            every,
            rare: intervals(true).filter(|interval| !is_in_passes(interval)).collect(),
            evaluated: Vec::new(),
            simulation_box,
            records: Buffer::new(session, slots * slot_bytes)?,
            slot_bytes,
            centers: Buffer::new(session, samples * size_of::<Center>())?,
            center_finder,
            // Launches look one further.
            table: Buffer::new(session, (batch + 1) * 4)?,
            pool: SlotPool::new(samples),
            batch,
            coming: Vec::new(),
            taken: Vec::new(),
            waiting: Vec::new(),
            correlations: Vec::new(),
        };
        let mut next_slot = samples as u32;
        for (index, offloaded) in correlations {
            let correlation = match offloaded {
                Offloaded::Pairs(evaluation, samples) => {
                    let evaluator = match neighborhoods::needs(&evaluation, slot_bytes) {
                        None => Evaluator::Pairs(PairEvaluator::new(session, &evaluation)?),
                        Some((slots, _)) => {
                            let first = next_slot;
                            next_slot += slots as u32;
                            Evaluator::Neighborhoods(NeighborhoodEvaluator::new(
                                session,
                                &evaluation,
                                slot_bytes,
                                first,
                            )?)
                        }
                    };
                    Observable::Pairs(Box::new(Blocks {
                        scheme: sampling.put_back(&evaluation, &samples)?,
                        evaluator,
                        evaluation,
                        first_step: samples.first_step,
                    }))
                }
                Offloaded::Densities(evaluation, _) => {
                    let evaluator = DensityEvaluator::new(session, &evaluation, batch)?;
                    Observable::Densities(Box::new(evaluator))
                }
                Offloaded::Structure(evaluation, _) => {
                    let evaluator = StructureEvaluator::new(session, &evaluation, batch)?;
                    Observable::Structure(Box::new(evaluator))
                }
                Offloaded::BondOrder(evaluation, _) => {
                    let evaluator = BondOrderEvaluator::new(session, &evaluation)?;
                    Observable::BondOrder(Box::new(evaluator))
                }
                Offloaded::Stress(..) => continue,
            };
            sampling.correlations.push((index, correlation));
        }
        Ok(sampling)
    }

    /// Samples of a launch that there is room for in the batch, beside one after it.
    pub fn capacity(&self) -> u64 {
        (self.batch - 1).saturating_sub(self.taken.len()) as u64
    }

    /// Takes slots for the samples of a launch.
    pub fn begin_launch(
        &mut self,
        step_in_stage: u64,
        steps: u64,
    ) -> Result<SampleTimes, EngineError> {
        let Some(every) = self.every else { return Ok(SampleTimes::NONE) };
        let first = until_next(every, step_in_stage);
        let count = launch_samples(first, every, steps);
        self.coming = (0..count).map(|_| self.slot()).collect();
        if count == 0 {
            return Ok(SampleTimes::NONE);
        }
        let numbers: Vec<u32> = self.coming.iter().map(|slot| slot.number).collect();
        self.table.write(&numbers)?;
        Ok(SampleTimes::new(first, every, 0))
    }

    /// Notes the samples of a launch that has ended at a step.
    pub fn end_launch(&mut self, step: u64, step_in_stage: u64) {
        let Some(every) = self.every else { return };
        let last = step - step_in_stage % every;
        let count = self.coming.len() as u64;
        let coming = std::mem::take(&mut self.coming);
        for (number, slot) in (0..).zip(coming) {
            self.taken.push((last - (count - 1 - number) * every, slot));
        }
    }

    /// The number of the slot for a sample of the present step.
    pub fn take(&mut self, step: u64) -> u32 {
        let slot = self.slot();
        let number = slot.number;
        self.taken.push((step, slot));
        number
    }

    /// Blocks with the samples of a checkpoint, on the GPU again.
    fn put_back(
        &self,
        evaluation: &Evaluation,
        samples: &HeldSamples,
    ) -> Result<BlockingScheme<Arc<Slot>>, EngineError> {
        let mut scheme = BlockingScheme::new(evaluation.block_size, evaluation.levels);
        let mut held = Vec::new();
        for (index, sample) in &samples.held {
            let slot = self.slot();
            let records = samples::pack(&sample.words, evaluation.simulation_box.dimension());
            self.records.write_at(slot.number as usize * self.slot_bytes, &records)?;
            if let Some([position, velocity]) = sample.center {
                let at = slot.number as usize * size_of::<Center>();
                self.centers.write_at(at, &[Center { position, velocity }])?;
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

    /// A constant of the kernels that take samples.
    pub fn constant(&self) -> SamplingConstant {
        let records = self.records();
        SamplingConstant {
            records: records.words,
            slots: self.table.pointer(),
            slot_words: records.slot_words,
            units: self.simulation_box.padded_edges().map(|edge| 4_294_967_296.0 / edge),
        }
    }

    /// Leaves the samples of the batch to [`evaluate_waiting`](Self::evaluate_waiting).
    pub fn end_batch(&mut self, stage_first_step: u64) -> Result<(), EngineError> {
        self.evaluate_waiting(stage_first_step)?;
        self.waiting = std::mem::take(&mut self.taken);
        Ok(())
    }

    /// Has all evaluated that the samples complete which wait for it.
    pub fn evaluate_waiting(&mut self, stage_first_step: u64) -> Result<(), EngineError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.evaluate(waiting, stage_first_step)
    }

    /// The same for all samples.
    pub fn evaluate_all(&mut self, stage_first_step: u64) -> Result<(), EngineError> {
        self.end_batch(stage_first_step)?;
        self.evaluate_waiting(stage_first_step)
    }

    fn evaluate(&mut self, taken: Samples, stage_first_step: u64) -> Result<(), EngineError> {
        if taken.is_empty() {
            return Ok(());
        }
        let records = self.records();
        if let Some(finder) = &self.center_finder {
            let slots: Vec<u32> = taken.iter().map(|(_, slot)| slot.number).collect();
            finder.find(records, &slots, &self.centers)?;
        }
        // Of one interval, by step and slot.
        let due = |every: u64| -> Vec<(u64, u32)> {
            let is_due = |step: u64| (step - stage_first_step).is_multiple_of(every);
            let samples = taken.iter().filter(|(step, _)| is_due(*step));
            samples.map(|(step, slot)| (*step, slot.number)).collect()
        };
        for (index, correlation) in &mut self.correlations {
            match correlation {
                Observable::Pairs(blocks) => {
                    let mut due = Vec::new();
                    for (step, slot) in &taken {
                        if (step - stage_first_step).is_multiple_of(blocks.evaluation.every) {
                            blocks.first_step.get_or_insert(*step);
                            due.extend(blocks.scheme.push(slot.clone()));
                        }
                    }
                    let pending = blocks.evaluate(&due, records, &self.centers)?;
                    let pairs = pending.into_iter().map(|pairs| pairs.map(Evaluated::Pairs));
                    self.evaluated.extend(pairs.map(|pairs| (*index, pairs)));
                }
                Observable::Structure(evaluator) => {
                    let samples = due(evaluator.every);
                    let pending = evaluator.evaluate(&samples, records, &self.centers)?;
                    self.evaluated.extend(pending.into_iter().map(|samples| (*index, samples)));
                }
                Observable::BondOrder(evaluator) => {
                    let pending = evaluator.evaluate(&due(evaluator.every), records)?;
                    self.evaluated.extend(pending.into_iter().map(|samples| (*index, samples)));
                }
                Observable::Densities(evaluator) => {
                    let samples = due(evaluator.every);
                    let pending = evaluator.evaluate(&samples, records, &self.centers)?;
                    let samples = pending.into_iter().map(|one| one.map(Evaluated::Densities));
                    self.evaluated.extend(samples.map(|samples| (*index, samples)));
                }
            }
        }
        Ok(())
    }

    /// Has also evaluated what the blocks still hold.
    pub fn evaluate_rest(&mut self) -> Result<(), EngineError> {
        let records = self.records();
        for (index, correlation) in &mut self.correlations {
            let Observable::Pairs(blocks) = correlation else { continue };
            let due = blocks.scheme.finish();
            let pending = blocks.evaluate(&due, records, &self.centers)?;
            let pairs = pending.into_iter().map(|pairs| pairs.map(Evaluated::Pairs));
            self.evaluated.extend(pairs.map(|pairs| (*index, pairs)));
        }
        Ok(())
    }

    /// The samples of the blocks, by correlation; `None` where there are none.
    pub fn held(&self) -> Result<Vec<(usize, Option<HeldSamples>)>, EngineError> {
        let of =
            |(index, correlation): &(usize, Observable)| Ok((*index, self.held_by(correlation)?));
        self.correlations.iter().map(of).collect()
    }

    fn held_by(&self, correlation: &Observable) -> Result<Option<HeldSamples>, EngineError> {
        let Observable::Pairs(correlation) = correlation else { return Ok(None) };
        let evaluation = &correlation.evaluation;
        let dimension = evaluation.simulation_box.dimension();
        let words = evaluation.particles() * samples::words(dimension);
        let mut held = Vec::new();
        for (index, slot) in correlation.scheme.held() {
            let number = slot.number as usize;
            let center = match evaluation.remove_drift {
                true => {
                    let at = number * size_of::<Center>();
                    let Center { position, velocity } = self.centers.read_at(at, 1)?[0];
                    Some([position, velocity])
                }
                false => None,
            };
            let records = self.records.read_at(number * self.slot_bytes, words)?;
            let words = samples::unpack(&records, dimension);
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
        match &self.evaluator {
            Evaluator::Pairs(evaluator) => evaluator.evaluate(due, lag_index, records, centers),
            Evaluator::Neighborhoods(evaluator) => {
                evaluator.evaluate(due, lag_index, records, centers)
            }
        }
    }
}
