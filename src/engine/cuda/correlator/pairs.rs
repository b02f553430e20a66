//! Sums over particles for the pairs of samples of a correlation.
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::particles::SampledRecords;
use super::program::{
    self, CHUNK, CHUNKS, Chunk, MOST_SHARED_BINS, MOST_SLOTS, PAIR_SUMS, THREADS,
};
use super::slots::Slot;
use crate::engine::cuda::declare::{
    Const, Plain, Pointer, SharedHeader, device_struct, shared_header,
};
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
    pairs_at_once: usize,
    chunks: Buffer,
    /// Groups, and the pairs after them.
    work: Buffer,
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

/// What is evaluated at once, if it fits: pairs of a number of systems, or no more than a number of pairs.
#[derive(Clone, Copy)]
pub enum AtOnce {
    OfSystems(usize),
    Pairs(usize),
}

/// Pairs evaluated at once, and the bytes that the evaluation takes on the GPU.
pub fn capacity(evaluation: &Evaluation, at_once: AtOnce) -> (usize, u64) {
    let (chunks, _) = chunks(&evaluation.species, CHUNK);
    let (species, bins) = (evaluation.species.len(), program::bins(evaluation));
    let width = evaluation.width() - bins;
    let of_chunks = chunks.len() * width * 4;
    let of_pair = species * (8 * width + 4 * bins);
    let fitting = MOST_PARTIAL_BYTES / of_chunks.max(of_pair).max(1);
    let most = match at_once {
        AtOnce::OfSystems(systems) => {
            (systems * MOST_PAIRS).min(MOST_SUM_BYTES / of_pair.max(1)).max(MOST_PAIRS)
        }
        AtOnce::Pairs(pairs) => pairs.max(MOST_PAIRS_OF_GROUP),
    };
    let pairs = fitting.clamp(MOST_PAIRS_OF_GROUP, most);
    (pairs, (pairs * (of_chunks + 2 * of_pair)) as u64)
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
        let (pairs_at_once, _) = capacity(evaluation, at_once);
        let sums = pairs_at_once * species * width * 8;
        let counts = pairs_at_once * species * bins * 4;
        // A group has a pair at least.
        let work = pairs_at_once * (size_of::<Group>() + 4);
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
            pairs_at_once,
            chunks: Buffer::holding(session, &chunks)?,
            work: Buffer::new(session, work)?,
            partial: Buffer::new(session, pairs_at_once * chunks.len() * width * 4)?,
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
        let mut rest = groups.as_slice();
        while !rest.is_empty() {
            let mut pairs = 0;
            let fits = |group: &&SampleGroup| {
                pairs += group.pairs.len();
                pairs <= self.pairs_at_once
            };
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count());
            assert!(!now.is_empty(), "a group fits");
            rest = later;
            let pairs: usize = now.iter().map(|group| group.pairs.len()).sum();
            let at_once = (self.pairs_at_once / pairs).min(MOST_GROUPS / now.len()).max(1);
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
        self.evaluate_groups(&of_systems, samples)
    }

    /// The same for groups of at most [`slots`](Self::slots) samples, which lie one system after the other.
    pub fn evaluate_groups(
        &self,
        groups: &[SampleGroup],
        samples: SampledRecords<'_>,
    ) -> Result<Pending<OfSystems<EvaluatedPairs>>, EngineError> {
        let SampledRecords { records, centers, numbering } = samples;
        let mut work: Vec<u32> = Vec::new();
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
        work.extend(
            groups.iter().flat_map(|group| &group.pairs).map(|pair| pair.origin | pair.later << 16),
        );
        self.work.write(&work)?;
        let groups_at = self.work.pointer::<Group>();
        let pairs_at = Pointer::at(groups_at.add(groups.len()).address());
        let pair_count = pairs as usize * self.species;
        let lengths = [pair_count * self.width * 8, pair_count * self.bins * 4];
        self.counts.clear(lengths[1])?;
        let PairKernels { correlate, add_chunks } = self.pair_kernels;
        let grid = Grid {
            blocks: (self.chunk_count as u32, groups.len() as u32),
            shared_bytes: self.shared_bytes,
            ..Grid::of(1, THREADS)
        };
        let arguments = (
            records,
            groups_at.to_const(),
            pairs_at,
            self.chunks.pointer(),
            centers.pointer(),
            self.partial.pointer(),
            self.counts.pointer(),
        );
        self.kernels.launch(correlate, grid, arguments)?;
        if self.width > 0 {
            let arguments = (self.partial.pointer(), self.chunk_count as u32, self.sums.pointer());
            self.kernels.launch(add_chunks, Grid::of(pairs, THREADS), arguments)?;
        }
        let pieces: Vec<Piece> = [&self.sums, &self.counts]
            .into_iter()
            .zip(lengths)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(buffer, bytes)| Piece { buffer, bytes })
            .collect();
        let arriving = self.transfer.begin(&pieces)?;
        let lags = groups.iter().flat_map(|group| {
            let lag = |pair: &SamplePair| (group.samples[0], pair.lag);
            group.pairs.iter().map(lag)
        });
        let (numbers, lags): (Vec<u32>, Vec<u32>) = lags.unzip();
        let lags = numbering.by_system(numbers, lags);
        let (columns, element_sizes) = (self.columns.clone(), [self.width, self.bins]);
        let species = self.species;
        Ok(Pending::new(move || {
            arrived(&arriving, lags, &columns, lengths, species, element_sizes)
        }))
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
