//! Correlations that particles are needed for: samples that launches leave behind, blocks of them, and what is due.
use std::sync::Arc;

use super::centers::CenterFinder;
use super::densities::DensityEvaluator;
use super::intervals::{common_interval, launch_samples, until_next};
use super::needs::{self, Room};
use super::neighborhoods::{self, NeighborhoodEvaluator};
use super::pairs::{AtOnce, PairEvaluator};
use super::slots::{Numbering, Slot, SlotPool};
use super::structure::{BondOrderEvaluator, StructureEvaluator};
use crate::engine::cuda::advance::SampleTimes;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::input_buffer::InputBuffer;
use crate::engine::cuda::launch::Kernels;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::samples::{self, Center, Records, SamplingConstant};
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::blocking::{BlockingScheme, Due};
use crate::observable::dynamics::evaluation::{Evaluated, EvaluatedPairs, Evaluation, Offloaded};
use crate::observable::dynamics::sampled::{HeldSamples, SampledParticles};
use crate::system::SimulationBox;

/// Samples of the particles of all systems, and the correlations that are evaluated from them.
pub struct ParticleSampling {
    /// Steps between samples that launches take on their way: of which the intervals of all correlations are
    /// multiples; `None` without correlations.
    pub every: Option<u64>,
    /// Intervals of what is sampled at other steps: launches end there.
    pub rare: Vec<u64>,
    pub evaluated: Vec<(usize, Pending<OfSystems<Evaluated>>)>,
    simulation_box: SimulationBox,
    numbering: Numbering,
    particles: usize,
    room: Room,
    records: Buffer,
    /// Centres of mass.
    centers: Buffer,
    /// Where a correlation needs them.
    center_finder: Option<CenterFinder>,
    /// Where the records of the particles of each system are, by id, one system after the other; `None` in id order.
    places: Option<Buffer>,
    /// Slots of the launch, which reads them again when it continues after its lists have grown.
    table: InputBuffer,
    pool: Arc<SlotPool>,
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

impl ParticleSampling {
    /// `correlations` with their indices: of pairs of samples, or of density modes; those of each system.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        correlations: Vec<(usize, Vec<Offloaded>)>,
    ) -> Result<Self, EngineError> {
        let of_first: Vec<&Offloaded> = correlations.iter().map(|(_, of)| &of[0]).collect();
        let numbering = Numbering { systems: correlations[0].1.len() };
        Kernels::compile_ahead(session, &needs::programs(session, &of_first)?)?;
        let room = Room::new(session, &of_first, numbering.systems)?;
        let (simulation_box, species) = needs::system_of(of_first[0]).expect("needs particles");
        let records = room.slots * numbering.systems;
        let center_finder = match of_first.iter().any(|one| needs::removes_drift(one)) {
            true => {
                let samples = room.batch * numbering.systems;
                Some(CenterFinder::new(session, &simulation_box, species, samples)?)
            }
            false => None,
        };
        let is_rare =
            |one: &Offloaded| matches!(one, Offloaded::Structure(..) | Offloaded::BondOrder(..));
        let intervals = |rare: bool| {
            let of = of_first.iter().filter(move |one| is_rare(one) == rare);
            of.map(|one| one.every())
        };
        let every = Some(common_interval(intervals(false))).filter(|every| *every > 0);
        let is_in_passes =
            |interval: &u64| every.is_some_and(|every| interval.is_multiple_of(every));
        let mut sampling = ParticleSampling {
            every,
            rare: intervals(true).filter(|interval| !is_in_passes(interval)).collect(),
            evaluated: Vec::new(),
            simulation_box,
            numbering,
            particles: species.iter().map(|species| species.count).sum(),
            records: Buffer::new(session, (records + room.beside) * room.sample_bytes)?,
            centers: Buffer::new(session, records * size_of::<Center>())?,
            center_finder,
            places: needs::places(&correlations)
                .map(|places| Buffer::holding(session, &places))
                .transpose()?,
            // Launches look one further.
            table: InputBuffer::new(session, (room.batch + 1) * 4)?,
            pool: SlotPool::new(room.slots),
            room,
            coming: Vec::new(),
            taken: Vec::new(),
            waiting: Vec::new(),
            correlations: Vec::new(),
        };
        let mut next_beside = records as u32;
        for (index, of_systems) in correlations {
            let observable = sampling.observable(session, of_systems, &mut next_beside)?;
            sampling.correlations.push((index, observable));
        }
        Ok(sampling)
    }

    /// What evaluates a correlation, given for each system. `next_beside`: number of the next record beside the slots.
    fn observable(
        &self,
        session: &Arc<Session>,
        of_systems: Vec<Offloaded>,
        next_beside: &mut u32,
    ) -> Result<Observable, EngineError> {
        let samples = self.room.batch * self.numbering.systems;
        Ok(match &of_systems[0] {
            Offloaded::Pairs(evaluation, _) => {
                let sample_bytes = self.room.sample_bytes;
                let systems = self.numbering.systems;
                let evaluator = match neighborhoods::needs(evaluation, systems, sample_bytes) {
                    None => {
                        let at_once = AtOnce::OfSystems(systems);
                        Evaluator::Pairs(PairEvaluator::new(session, evaluation, at_once)?)
                    }
                    Some((beside, _)) => {
                        let first = *next_beside;
                        *next_beside += beside as u32;
                        Evaluator::Neighborhoods(NeighborhoodEvaluator::new(
                            session,
                            evaluation,
                            systems,
                            sample_bytes,
                            first,
                        )?)
                    }
                };
                let evaluation = evaluation.clone();
                let samples = of_systems.into_iter().map(|offloaded| match offloaded {
                    Offloaded::Pairs(_, samples) => samples,
                    other => unreachable!("{other:?} of another system"),
                });
                let samples: Vec<HeldSamples> = samples.collect();
                Observable::Pairs(Box::new(Blocks {
                    scheme: self.put_back(&evaluation, &samples)?,
                    evaluator,
                    evaluation,
                    first_step: samples[0].first_step,
                }))
            }
            Offloaded::Densities(evaluation, _) => {
                let evaluator = DensityEvaluator::new(session, evaluation, samples)?;
                Observable::Densities(Box::new(evaluator))
            }
            Offloaded::Structure(evaluation, _) => {
                let evaluator = StructureEvaluator::new(session, evaluation, samples)?;
                Observable::Structure(Box::new(evaluator))
            }
            Offloaded::BondOrder(evaluation, _) => {
                Observable::BondOrder(Box::new(BondOrderEvaluator::new(session, evaluation)?))
            }
            Offloaded::Stress(..) => unreachable!("the stress needs no samples of particles"),
        })
    }

    /// Samples of a launch that there is room for in the batch, beside one after it.
    pub fn capacity(&self) -> u64 {
        (self.room.batch - 1).saturating_sub(self.taken.len()) as u64
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

    /// Blocks with the samples of a checkpoint, those of each system, on the GPU again.
    fn put_back(
        &self,
        evaluation: &Evaluation,
        samples: &[HeldSamples],
    ) -> Result<BlockingScheme<Arc<Slot>>, EngineError> {
        let mut scheme = BlockingScheme::new(evaluation.blocks);
        let first = &samples[0];
        let mut held = Vec::new();
        for (at, (index, _)) in first.held.iter().enumerate() {
            let slot = self.slot();
            for (system, samples) in samples.iter().enumerate() {
                let number = self.numbering.number(slot.number, system) as usize;
                let (of_system, sample) = &samples.held[at];
                assert_eq!(of_system, index, "all systems are sampled alike");
                let records = samples::pack(&sample.words, evaluation.simulation_box.dimension());
                self.records.write_at(number * self.room.sample_bytes, &records)?;
                if let Some([position, velocity]) = sample.center {
                    let at = number * size_of::<Center>();
                    self.centers.write_at(at, &[Center { position, velocity }])?;
                }
            }
            held.push((*index, Arc::new(slot)));
        }
        if first.samples > 0 {
            let fits = scheme.restore(first.samples, &first.entries, &held);
            assert!(fits, "the blocks were those of the same scheme");
        }
        Ok(scheme)
    }

    fn slot(&self) -> Arc<Slot> {
        self.pool.take().expect("blocks and batch have a slot for every sample")
    }

    fn records(&self) -> Records {
        let words_of_sample = self.room.sample_bytes as u64 / 4;
        Records { words: self.records.pointer(), slot_words: words_of_sample }
    }

    /// A constant of the kernels that take samples of a system.
    pub fn constant(&self, system: usize) -> SamplingConstant {
        let Records { words, slot_words } = self.records();
        let of_system = system * self.particles;
        let places = self.places.as_ref().map(|places| places.pointer::<u32>().add(of_system));
        SamplingConstant {
            places: places.map_or(Pointer::NULL, Pointer::to_const),
            records: words.add(system * slot_words as usize),
            slots: self.table.pointer(),
            slot_words: slot_words * self.numbering.systems as u64,
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
        let (records, numbering) = (self.records(), self.numbering);
        // By step and number; one system after the other.
        let of_systems = |samples: &[&(u64, Arc<Slot>)]| -> Vec<(u64, u32)> {
            let of_system = |system| {
                let number = move |slot: &Slot| numbering.number(slot.number, system);
                samples.iter().map(move |(step, slot)| (*step, number(slot)))
            };
            (0..numbering.systems).flat_map(of_system).collect()
        };
        if let Some(finder) = &self.center_finder {
            let samples = of_systems(&taken.iter().collect::<Vec<_>>());
            let numbers: Vec<u32> = samples.into_iter().map(|(_, number)| number).collect();
            finder.find(records, &numbers, &self.centers)?;
        }
        // Of one interval.
        let due = |every: u64| {
            let is_due = |step: u64| (step - stage_first_step).is_multiple_of(every);
            let samples = taken.iter().filter(|(step, _)| is_due(*step));
            of_systems(&samples.collect::<Vec<_>>())
        };
        let samples_of = SampledRecords { records, centers: &self.centers, numbering };
        for (index, correlation) in &mut self.correlations {
            let pending = match correlation {
                Observable::Pairs(blocks) => {
                    let mut due = Vec::new();
                    for (step, slot) in &taken {
                        if (step - stage_first_step).is_multiple_of(blocks.evaluation.every) {
                            blocks.first_step.get_or_insert(*step);
                            due.extend(blocks.scheme.push(slot.clone()));
                        }
                    }
                    as_evaluated(blocks.evaluate(&due, samples_of)?, Evaluated::Pairs)
                }
                Observable::Structure(evaluator) => {
                    let samples = due(evaluator.every);
                    as_evaluated(evaluator.evaluate(&samples, samples_of)?, Evaluated::Structure)
                }
                Observable::BondOrder(evaluator) => {
                    let samples = due(evaluator.every);
                    as_evaluated(evaluator.evaluate(&samples, samples_of)?, Evaluated::BondOrder)
                }
                Observable::Densities(evaluator) => {
                    let samples = due(evaluator.every);
                    as_evaluated(evaluator.evaluate(&samples, samples_of)?, Evaluated::Densities)
                }
            };
            self.evaluated.extend(pending.into_iter().map(|pending| (*index, pending)));
        }
        Ok(())
    }

    /// Has also evaluated what the blocks still hold.
    pub fn evaluate_rest(&mut self) -> Result<(), EngineError> {
        let (records, centers, numbering) = (self.records(), &self.centers, self.numbering);
        let samples_of = SampledRecords { records, centers, numbering };
        for (index, correlation) in &mut self.correlations {
            let Observable::Pairs(blocks) = correlation else { continue };
            let due = blocks.scheme.finish();
            let pending = as_evaluated(blocks.evaluate(&due, samples_of)?, Evaluated::Pairs);
            self.evaluated.extend(pending.into_iter().map(|pending| (*index, pending)));
        }
        Ok(())
    }

    /// The samples of the blocks, by correlation and system; of those that have some.
    pub fn held(&self) -> Result<Vec<(usize, Vec<HeldSamples>)>, EngineError> {
        let mut held = Vec::new();
        for (index, correlation) in &self.correlations {
            if let Observable::Pairs(blocks) = correlation {
                held.push((*index, self.held_by(blocks)?));
            }
        }
        Ok(held)
    }

    fn held_by(&self, blocks: &Blocks) -> Result<Vec<HeldSamples>, EngineError> {
        let dimension = self.simulation_box.dimension();
        let words = blocks.evaluation.particles() * samples::words(dimension);
        let (words_of_sample, systems) = (self.room.sample_bytes / 4, self.numbering.systems);
        let empty = HeldSamples {
            samples: blocks.scheme.samples(),
            first_step: blocks.first_step,
            entries: blocks.scheme.entries(),
            held: Vec::new(),
        };
        let mut of_systems = vec![empty; systems];
        for (index, slot) in blocks.scheme.held() {
            // Those of all systems follow each other.
            let first = self.numbering.number(slot.number, 0) as usize;
            let records: Vec<u32> =
                self.records.read_at(first * self.room.sample_bytes, systems * words_of_sample)?;
            let centers: Vec<Center> = match blocks.evaluation.remove_drift {
                true => self.centers.read_at(first * size_of::<Center>(), systems)?,
                false => Vec::new(),
            };
            for (system, records) in records.chunks(words_of_sample).enumerate() {
                let center = centers.get(system).map(|center| [center.position, center.velocity]);
                let words = samples::unpack(&records[..words], dimension);
                let sample = Arc::new(SampledParticles { words, center });
                of_systems[system].held.push((index, sample));
            }
        }
        Ok(of_systems)
    }
}

/// Where samples lie.
#[derive(Clone, Copy)]
pub struct SampledRecords<'a> {
    pub records: Records,
    /// Centres of mass, where they are wanted.
    pub centers: &'a Buffer,
    pub numbering: Numbering,
}

fn as_evaluated<T: Send + 'static>(
    pending: Vec<Pending<OfSystems<T>>>,
    evaluated: fn(T) -> Evaluated,
) -> Vec<Pending<OfSystems<Evaluated>>> {
    let of_all = move |of_systems: OfSystems<T>| {
        of_systems.into_iter().map(|(system, of)| (system, evaluated(of))).collect()
    };
    pending.into_iter().map(|pending| pending.map(of_all)).collect()
}

impl Blocks {
    fn evaluate(
        &self,
        due: &[Due<Arc<Slot>>],
        samples: SampledRecords<'_>,
    ) -> Result<Vec<Pending<OfSystems<EvaluatedPairs>>>, EngineError> {
        let lags = self.evaluation.lags;
        let lag_index = |level: usize, entry: usize| {
            self.scheme.lag_index(level, entry).filter(|&index| index < lags)
        };
        match &self.evaluator {
            Evaluator::Pairs(evaluator) => evaluator.evaluate(due, lag_index, samples),
            Evaluator::Neighborhoods(evaluator) => evaluator.evaluate(due, lag_index, samples),
        }
    }
}
