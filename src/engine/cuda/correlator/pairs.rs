//! Sums over particles for the pairs of samples of a correlation.
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::particles::SampledRecords;
use super::program::{
    self, CHUNK, CHUNKS, Chunk, MOST_SHARED_BINS, MOST_SLOTS, PAIR_SUMS, THREADS,
};
use super::rounds::parts;
use super::slots::Slot;
use crate::engine::cuda::declare::{
    Const, Plain, Pointer, SharedHeader, device_struct, shared_header,
};
use crate::engine::cuda::input_buffer::InputBuffer;
use crate::engine::cuda::launch::{Grid, Kernels, kernels};
use crate::engine::cuda::layout::Layout;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::{Center, Records, SAMPLED_WORDS};
use crate::engine::cuda::transfer::{Arriving, Piece, Transfer, aligned_size};
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::evaluation::{
    self, EvaluatedPairs, Evaluation, SampleGroup, SamplePair,
};
use crate::observable::dynamics::kernel_sum::{Column, KernelSum, columns};
use crate::observable::dynamics::registry;
use crate::system::Species;

/// Bytes of sums by chunk that are made at once, if that many pairs are due.
const MOST_PARTIAL_BYTES: usize = 256 << 20;
/// Pairs of a system that are evaluated at once.
const MOST_PAIRS: usize = 4096;
/// Bytes of sums of several systems that are evaluated at once.
const MOST_SUM_BYTES: usize = 32 << 20;
/// Groups of a launch: the driver's limit of blocks along y.
const MOST_GROUPS: usize = 65_535;
/// Copies to the host that may be under way together.
pub const COPIES: usize = 8;
/// No group has more.
const MOST_PAIRS_OF_GROUP: usize = MOST_SLOTS * (MOST_SLOTS + 1) / 2;

/// The kernels of a correlation and their memory.
pub struct PairEvaluator {
    kernels: Arc<Kernels>,
    pair_kernels: PairKernels,
    /// Samples of a group.
    slots: usize,
    chunk_count: usize,
    species: usize,
    /// Sums and counts of the kernels.
    width: usize,
    bins: usize,
    /// The wanted sums in those of the kernels.
    columns: Arc<[Column]>,
    shared_bytes: usize,
    capacity: Capacity,
    chunks: Buffer,
    /// Groups, and the pairs after them.
    work: InputBuffer,
    partial: Buffer,
    sums: Buffer,
    counts: Buffer,
    transfer: Transfer,
}

/// Chunks of particles of one species, and how many of them lie before each species.
pub fn chunks(all: &[Species], size: usize) -> (Vec<Chunk>, Vec<u32>) {
    let (mut chunks, mut first) = (Vec::new(), vec![0]);
    let mut start = 0;
    for species in all {
        for offset in (0..species.count).step_by(size) {
            let count = size.min(species.count - offset) as u32;
            chunks.push(Chunk { start: (start + offset) as u32, count });
        }
        start += species.count;
        first.push(chunks.len() as u32);
    }
    (chunks, first)
}

device_struct! {
    /// Samples that a block holds at once, and the pairs among them.
    pub struct Group {
        slot: [u32; MOST_SLOTS],
        slots: u32,
        first_pair: u32,
        pairs: u32,
        unused: u32,
    }
}

/// `Geometry` of the kernels: with the constants of all sources, zero where they are not wanted.
fn geometry<'a>(
    edges: [f64; 3],
    sums: impl Iterator<Item = &'a KernelSum>,
    first_chunk: &[u32],
) -> Layout {
    let mut layout = Layout::default().with("edge", &[], edges).with_array(
        "first_chunk",
        "SPECIES_COUNT + 1",
        &["Chunks before each species, and all."],
        first_chunk,
    );
    let values: Vec<(&str, f32)> = sums.flat_map(|sum| sum.constants.iter().copied()).collect();
    for name in registry::kernel_constants() {
        let value = values.iter().find(|(of, _)| *of == name);
        layout = layout.with(name, &[], value.map_or(0.0, |(_, value)| *value));
    }
    layout
}

shared_header!(GROUPS = "shared/groups.cuh": Group);

/// What the kernels include of this module.
const SHARED: SharedHeader = SharedHeader {
    name: "shared/pairs.cuh",
    text: || geometry([0.0; 3], std::iter::empty(), &[]).declaration("Geometry"),
};

kernels! {
    pub struct PairKernels {
        correlate(
            Records, Pointer<Const<Group>>, Pointer<Const<u32>>, Pointer<Const<Chunk>>, Pointer<Const<Center>>,
            Pointer<f32>, Pointer<u32>
        );
        add_chunks(Pointer<Const<f32>>, u32, Pointer<f64>);
    }
}

/// What is evaluated at once, if it fits: pairs of a number of systems; or no more than a number of pairs in each of several rounds, and
/// in all of them.
#[derive(Clone, Copy)]
pub enum AtOnce {
    OfSystems(usize),
    InRounds([usize; 2]),
}

/// Pairs of a round and of all rounds that are evaluated at once, and the bytes that this takes on the GPU.
#[derive(Clone, Copy)]
pub struct Capacity {
    pub of_round: usize,
    pub of_all: usize,
    pub device_bytes: u64,
}

impl Capacity {
    pub fn new(evaluation: &Evaluation, at_once: AtOnce) -> Self {
        let (chunks, _) = chunks(&evaluation.species, CHUNK);
        let (species, bins) = (evaluation.species.len(), program::bins(evaluation));
        let width = evaluation.width() - bins;
        let of_chunks = chunks.len() * width * 4;
        let of_pair = species * (8 * width + 4 * bins);
        let fitting = MOST_PARTIAL_BYTES / of_chunks.max(of_pair).max(1);
        let fitting_sums = MOST_SUM_BYTES / of_pair.max(1);
        let most = match at_once {
            AtOnce::OfSystems(systems) => (systems * MOST_PAIRS).min(fitting_sums).max(MOST_PAIRS),
            AtOnce::InRounds([of_round, _]) => of_round.max(MOST_PAIRS_OF_GROUP),
        };
        let of_round = fitting.clamp(MOST_PAIRS_OF_GROUP, most);
        let of_all = match at_once {
            AtOnce::OfSystems(_) => of_round,
            AtOnce::InRounds([_, in_all]) => in_all.min(fitting_sums).max(of_round),
        };
        // A group has a pair at least.
        let of_work = size_of::<Group>() + 4;
        let device_bytes = (of_round * of_chunks + of_all * (2 * of_pair + of_work)) as u64;
        Capacity { of_round, of_all, device_bytes }
    }
}

/// Samples of a group, as many as the shared memory of a block holds beside the bins, and the bytes of both.
fn shared_slots(session: &Session, evaluation: &Evaluation) -> Result<(usize, usize), EngineError> {
    let slot_bytes = CHUNK * evaluation.simulation_box.dimension() * SAMPLED_WORDS * 4;
    let bins = program::bins(evaluation);
    let bin_bytes = if bins <= MOST_SHARED_BINS { bins * 4 * THREADS as usize / 32 } else { 0 };
    let for_slots = session.shared_memory()?.saturating_sub(bin_bytes);
    let slots = (for_slots / slot_bytes).clamp(2, MOST_SLOTS);
    Ok((slots, slots * slot_bytes + bin_bytes))
}

/// The kernels of a correlation; `slots`: samples of a group.
pub fn program(evaluation: &Evaluation, slots: usize) -> Program {
    let text = include_str!("../../../../kernels/observable/correlate.cu");
    let text = program::text_of_sums(evaluation, text);
    let (dimension, species) = (evaluation.simulation_box.dimension(), evaluation.species.len());
    program::program_over_samples("correlate.cu", text, dimension, species)
        .define([("MOST_SLOTS", slots.to_string())])
        .define(program::macros_of_sums(evaluation))
        .define([("REMOVE_DRIFT", u32::from(evaluation.remove_drift).to_string())])
        .include(&[CHUNKS, GROUPS, PAIR_SUMS, SHARED])
        .checked(&[PairKernels::checks()])
}

/// The same on this device.
pub fn program_on(session: &Session, evaluation: &Evaluation) -> Result<Program, EngineError> {
    let (slots, _) = shared_slots(session, evaluation)?;
    Ok(program(evaluation, slots))
}

impl PairEvaluator {
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        evaluation: &Evaluation,
        at_once: AtOnce,
    ) -> Result<Self, EngineError> {
        let bins = program::bins(evaluation);
        let (slots, shared_bytes) = shared_slots(session, evaluation)?;
        let (chunks, first_chunk) = chunks(&evaluation.species, CHUNK);
        let edges = evaluation.simulation_box.padded_edges();
        let sums = evaluation.kernel_sums().map(|(_, sum)| sum);
        let geometry = geometry(edges, sums, &first_chunk);
        let program = program(evaluation, slots);
        let kernels = Kernels::with_constant(session, &program, "geometry", &geometry.bytes())?;
        let pair_kernels = PairKernels::load(&kernels)?;
        kernels.allow_shared_memory(pair_kernels.correlate, shared_bytes)?;
        let (species, width) = (evaluation.species.len(), evaluation.width() - bins);
        let capacity = Capacity::new(evaluation, at_once);
        let sums = capacity.of_all * species * width * 8;
        let counts = capacity.of_all * species * bins * 4;
        // A group has a pair at least.
        let work = capacity.of_all * (size_of::<Group>() + 4);
        let transfer = Transfer::new(session, aligned_size(sums) + aligned_size(counts))?;
        transfer.reserve(COPIES)?;
        Ok(PairEvaluator {
            pair_kernels,
            kernels,
            slots,
            chunk_count: chunks.len(),
            species,
            width,
            bins,
            columns: columns(evaluation).into(),
            shared_bytes,
            capacity,
            chunks: Buffer::holding(session, &chunks)?,
            work: InputBuffer::new(session, work)?,
            partial: Buffer::new(session, capacity.of_round * chunks.len() * width * 4)?,
            sums: Buffer::new(session, sums)?,
            counts: Buffer::new(session, counts)?,
            transfer,
        })
    }

    /// Most samples of a group.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Has all pairs of what is due evaluated; does not wait. `lag_index` as for [`evaluation::groups`].
    pub fn evaluate(
        &self,
        due: &[Due<Arc<Slot>>],
        lag_index: impl Fn(usize, usize) -> Option<usize>,
        samples: SampledRecords<'_>,
    ) -> Result<Vec<Pending<OfSystems<EvaluatedPairs>>>, EngineError> {
        let groups = evaluation::groups(due, |slot| slot.number, lag_index, self.slots);
        let mut pending = Vec::new();
        for now in parts(&groups, |group| group.pairs.len(), self.capacity.of_all) {
            let pairs: usize = now.iter().map(|group| group.pairs.len()).sum();
            let at_once = (self.capacity.of_all / pairs).min(MOST_GROUPS / now.len()).max(1);
            let systems = samples.numbering.systems;
            for first in (0..systems).step_by(at_once) {
                let of = first..systems.min(first + at_once);
                pending.push(self.evaluate_for(of, now, samples)?);
            }
        }
        Ok(pending)
    }

    /// The same for the same groups of slots of some systems.
    fn evaluate_for(
        &self,
        systems: Range<usize>,
        groups: &[SampleGroup],
        samples: SampledRecords<'_>,
    ) -> Result<Pending<OfSystems<EvaluatedPairs>>, EngineError> {
        let numbering = samples.numbering;
        let of_system = |system: usize| {
            groups.iter().map(move |SampleGroup { samples, pairs }| SampleGroup {
                samples: samples.iter().map(|&slot| numbering.number(slot, system)).collect(),
                pairs: pairs.clone(),
            })
        };
        let of_systems: Vec<SampleGroup> = systems.flat_map(of_system).collect();
        self.evaluate_rounds(&[of_systems], samples, |_| Ok(()))
    }

    /// The same for rounds of groups of at most [`slots`](Self::slots) samples, which lie one system after the other. `before` launches
    /// what goes before a round.
    pub fn evaluate_rounds(
        &self,
        rounds: &[Vec<SampleGroup>],
        samples: SampledRecords<'_>,
        mut before: impl FnMut(usize) -> Result<(), EngineError>,
    ) -> Result<Pending<OfSystems<EvaluatedPairs>>, EngineError> {
        let mut work: Vec<u32> = Vec::new();
        for groups in rounds {
            let mut pairs = 0;
            for SampleGroup { samples, pairs: of_group } in groups {
                let mut group = Group {
                    slots: samples.len() as u32,
                    first_pair: pairs,
                    pairs: of_group.len() as u32,
                    ..Group::default()
                };
                group.slot[..samples.len()].copy_from_slice(samples);
                let words = group.bytes().as_chunks::<4>().0;
                work.extend(words.iter().map(|&word| u32::from_ne_bytes(word)));
                pairs += of_group.len() as u32;
            }
        }
        let groups = || rounds.iter().flatten();
        work.extend(
            groups().flat_map(|group| &group.pairs).map(|pair| pair.origin | pair.later << 16),
        );
        self.work.write(&work)?;
        let all: usize = groups().map(|group| group.pairs.len()).sum();
        let lengths = [all * self.species * self.width * 8, all * self.species * self.bins * 4];
        self.counts.clear(lengths[1])?;
        let first_pair = self.work.pointer::<Group>().add(groups().count()).address();
        let (mut group, mut pair) = (0, 0);
        for (number, groups) in rounds.iter().enumerate() {
            before(number)?;
            let pairs: usize = groups.iter().map(|group| group.pairs.len()).sum();
            let groups_at = self.work.pointer::<Group>().add(group);
            self.launch_round(groups_at, groups.len(), first_pair, [pair, pairs], samples)?;
            group += groups.len();
            pair += pairs;
        }
        let pieces: Vec<Piece> = [&self.sums, &self.counts]
            .into_iter()
            .zip(lengths)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(buffer, bytes)| Piece { buffer, bytes })
            .collect();
        let arriving = self.transfer.begin(&pieces)?;
        let lags = groups().flat_map(|group| {
            let lag = |pair: &SamplePair| (group.samples[0], pair.lag);
            group.pairs.iter().map(lag)
        });
        let (numbers, lags): (Vec<u32>, Vec<u32>) = lags.unzip();
        let lags = samples.numbering.by_system(numbers, lags);
        let (columns, element_sizes) = (self.columns.clone(), [self.width, self.bins]);
        let species = self.species;
        Ok(Pending::new(move || {
            arrived(&arriving, lags, &columns, lengths, species, element_sizes)
        }))
    }

    /// Launches what evaluates groups of pairs: `count` of these from number `first` on. `all_pairs`: where the pairs of all rounds lie.
    fn launch_round(
        &self,
        groups: Pointer<Group>,
        group_count: usize,
        all_pairs: u64,
        [first, count]: [usize; 2],
        SampledRecords { records, centers, .. }: SampledRecords<'_>,
    ) -> Result<(), EngineError> {
        let PairKernels { correlate, add_chunks } = self.pair_kernels;
        let grid = Grid {
            blocks: (self.chunk_count as u32, group_count as u32),
            shared_bytes: self.shared_bytes,
            ..Grid::of(1, THREADS)
        };
        let (sums, counts) = (self.sums.pointer::<f64>(), self.counts.pointer::<u32>());
        let arguments = (
            records,
            groups.to_const(),
            Pointer::<u32>::at(all_pairs).add(first).to_const(),
            self.chunks.pointer(),
            centers.pointer(),
            self.partial.pointer(),
            counts.add(first * self.species * self.bins),
        );
        self.kernels.launch(correlate, grid, arguments)?;
        if self.width == 0 {
            return Ok(());
        }
        let sums = sums.add(first * self.species * self.width);
        let arguments = (self.partial.pointer(), self.chunk_count as u32, sums);
        self.kernels.launch(add_chunks, Grid::of(count as u32, THREADS), arguments)
    }
}

/// `lengths` in bytes, `element_sizes` of one pair and species: of the sums and of the counts.
fn arrived(
    arriving: &Arriving,
    lags: OfSystems<Vec<u32>>,
    columns: &[Column],
    lengths: [usize; 2],
    species: usize,
    element_sizes: [usize; 2],
) -> Result<OfSystems<EvaluatedPairs>, EngineError> {
    let (sums, counts) = arriving.wait()?.split_at(aligned_size(lengths[0]));
    let sums = sums[..lengths[0]].as_chunks::<8>().0;
    let counts = counts[..lengths[1]].as_chunks::<4>().0;
    let mut pairs = 0;
    let with_pairs = |(system, lags): (usize, Vec<u32>)| {
        let first = pairs;
        pairs += lags.len();
        (system, first..pairs, lags)
    };
    let of_systems: Vec<_> = lags.into_iter().map(with_pairs).collect();
    let wanted = |(system, pairs, lags): (usize, Range<usize>, Vec<u32>)| {
        let mut wanted = Vec::with_capacity(pairs.len() * species * columns.len());
        for of_pair in pairs.start * species..pairs.end * species {
            wanted.extend(columns.iter().map(|column| match *column {
                Column::Sum(sum) => f64::from_ne_bytes(sums[of_pair * element_sizes[0] + sum]),
                Column::Count(bin, each) => {
                    each * f64::from(u32::from_ne_bytes(counts[of_pair * element_sizes[1] + bin]))
                }
            }));
        }
        (system, EvaluatedPairs { lags, sums: wanted })
    };
    // The numbers of many systems are many.
    Ok(match of_systems.len() {
        1 => of_systems.into_iter().map(wanted).collect(),
        _ => of_systems.into_par_iter().map(wanted).collect(),
    })
}
