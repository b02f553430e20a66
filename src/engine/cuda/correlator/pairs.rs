//! Sums over particles for the pairs of samples of a correlation.
use std::ffi::c_void;
use std::sync::Arc;

use super::program::{self, CHUNK, Column, MOST_SHARED_BINS, MOST_SLOTS, SAMPLED_WORDS, THREADS};
use super::records::Records;
use super::slots::Slot;
use crate::engine::cuda::compile::Program;
use crate::engine::cuda::launch::{Kernel, Kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::transfer::{Arriving, Piece, Transfer, aligned_size};
use crate::engine::{EngineError, Pending};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::evaluation::{
    self, EvaluatedPairs, Evaluation, ParticleSum, SampleGroup,
};
use crate::system::Species;

/// Bytes of sums by chunk that are made at once, if that many pairs are due.
const MOST_PARTIAL_BYTES: usize = 256 << 20;
/// Pairs that are evaluated at once.
const MOST_PAIRS: usize = 4096;
/// Copies to the host that may be under way together.
pub const COPIES: usize = 8;
/// No group has more.
const MOST_PAIRS_OF_GROUP: usize = MOST_SLOTS * (MOST_SLOTS + 1) / 2;

/// The kernels of a correlation and their memory.
pub struct PairEvaluator {
    kernels: Kernels,
    correlate: Kernel,
    add_chunks: Kernel,
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

/// Chunks of particles of one species: the first place and the number of each, and how many of them lie before each
/// species.
pub fn chunks(all: &[Species], size: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut chunks, mut first) = (Vec::new(), vec![0]);
    let mut start = 0;
    for species in all {
        for offset in (0..species.count).step_by(size) {
            chunks.extend([(start + offset) as u32, size.min(species.count - offset) as u32]);
        }
        start += species.count;
        first.push(chunks.len() as u32 / 2);
    }
    (chunks, first)
}

/// `Geometry` of the kernels.
fn geometry(evaluation: &Evaluation, first_chunk: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let edges = evaluation.simulation_box.padded_edges();
    edges.into_iter().for_each(|x| bytes.extend(x.to_ne_bytes()));
    first_chunk.iter().for_each(|first| bytes.extend(first.to_ne_bytes()));
    let length = evaluation.sums.iter().find_map(|sum| match sum {
        ParticleSum::Within(length) => Some(*length),
        _ => None,
    });
    let squared = length.map_or(0.0, |length| (length * length) as f32);
    bytes.extend(squared.to_ne_bytes());
    let bin_width = evaluation.sums.iter().find_map(|sum| match sum {
        ParticleSum::Histogram { bin_width, .. } => Some(*bin_width),
        _ => None,
    });
    let inverse = bin_width.map_or(0.0, |bin_width| bin_width.recip() as f32);
    bytes.extend(inverse.to_ne_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Pairs evaluated at once, and the bytes that the evaluation takes on the GPU.
fn capacity(evaluation: &Evaluation) -> (usize, u64) {
    let (chunks, _) = chunks(&evaluation.species, CHUNK);
    let (species, bins) = (evaluation.species.len(), program::bins(evaluation));
    let width = evaluation.width() - bins;
    let of_chunks = chunks.len() / 2 * width * 4;
    let of_pair = species * (8 * width + 4 * bins);
    let fitting = MOST_PARTIAL_BYTES / of_chunks.max(of_pair).max(1);
    // Those in the frame of the cages come in rounds of fewer.
    let most = if evaluation.cage_radius.is_some() { MOST_PAIRS_OF_GROUP } else { MOST_PAIRS };
    let pairs = fitting.clamp(MOST_PAIRS_OF_GROUP, most);
    (pairs, (pairs * (of_chunks + 2 * of_pair)) as u64)
}

/// Bytes on the GPU beside those of the samples.
pub fn device_bytes(evaluation: &Evaluation) -> u64 {
    capacity(evaluation).1
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

/// The kernels of an evaluation on this device.
pub fn program(session: &Session, evaluation: &Evaluation) -> Result<Program, EngineError> {
    let (slots, _) = shared_slots(session, evaluation)?;
    Ok(program::program(evaluation, slots))
}

impl PairEvaluator {
    pub fn new(session: &Arc<Session>, evaluation: &Evaluation) -> Result<Self, EngineError> {
        let bins = program::bins(evaluation);
        let (slots, shared_bytes) = shared_slots(session, evaluation)?;
        let kernels = Kernels::of(session, &program::program(evaluation, slots))?;
        let (chunks, first_chunk) = chunks(&evaluation.species, CHUNK);
        kernels.set("geometry", &geometry(evaluation, &first_chunk))?;
        let correlate = kernels.kernel("correlate")?;
        kernels.allow_shared_memory(correlate, shared_bytes)?;
        let (species, width) = (evaluation.species.len(), evaluation.width() - bins);
        let (pairs_at_once, _) = capacity(evaluation);
        let sums = pairs_at_once * species * width * 8;
        let counts = pairs_at_once * species * bins * 4;
        // A group has a pair at least.
        let work = pairs_at_once * (slots + 4 + 1) * 4;
        let transfer = Transfer::new(session, aligned_size(sums) + aligned_size(counts))?;
        transfer.reserve(COPIES)?;
        Ok(PairEvaluator {
            correlate,
            add_chunks: kernels.kernel("add_chunks")?,
            kernels,
            slots,
            chunk_count: chunks.len() / 2,
            species,
            width,
            bins,
            columns: program::columns(evaluation).into(),
            shared_bytes,
            pairs_at_once,
            chunks: Buffer::holding(session, &chunks)?,
            work: Buffer::new(session, work)?,
            partial: Buffer::new(session, pairs_at_once * chunks.len() / 2 * width * 4)?,
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
        records: Records,
        centers: &Buffer,
    ) -> Result<Vec<Pending<EvaluatedPairs>>, EngineError> {
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
            pending.push(self.evaluate_groups(now, records, centers)?);
            rest = later;
        }
        Ok(pending)
    }

    /// The same for groups of at most [`slots`](Self::slots) samples.
    pub fn evaluate_groups(
        &self,
        groups: &[SampleGroup],
        records: Records,
        centers: &Buffer,
    ) -> Result<Pending<EvaluatedPairs>, EngineError> {
        let mut work = Vec::new();
        let mut pairs = 0;
        for group in groups {
            work.extend_from_slice(&group.samples);
            work.resize(work.len() + self.slots - group.samples.len(), 0);
            work.extend([group.samples.len() as u32, pairs, group.pairs.len() as u32, 0]);
            pairs += group.pairs.len() as u32;
        }
        let pairs_at = 4 * work.len() as u64;
        work.extend(
            groups.iter().flat_map(|group| &group.pairs).map(|pair| pair.origin | pair.later << 16),
        );
        self.work.write(&work)?;
        let (groups_at, pairs_at) = (self.work.pointer(), self.work.pointer() + pairs_at);
        let (chunks, centers) = (self.chunks.pointer(), centers.pointer());
        let (partial, sums) = (self.partial.pointer(), self.sums.pointer());
        let counts = self.counts.pointer();
        let pair_count = pairs as usize * self.species;
        let lengths = [pair_count * self.width * 8, pair_count * self.bins * 4];
        self.counts.clear(lengths[1])?;
        let arguments: [*const c_void; 7] = [
            (&raw const records).cast(),
            (&raw const groups_at).cast(),
            (&raw const pairs_at).cast(),
            (&raw const chunks).cast(),
            (&raw const centers).cast(),
            (&raw const partial).cast(),
            (&raw const counts).cast(),
        ];
        let grid = (self.chunk_count as u32, groups.len() as u32);
        // SAFETY: the arguments are those of the kernel; groups name slots that the records have and pairs
        // places in their groups; there is room for `pairs_at_once` pairs.
        unsafe {
            self.kernels.launch_grid(
                self.correlate,
                grid,
                THREADS,
                self.shared_bytes,
                &arguments,
            )?;
        }
        let chunk_count = self.chunk_count as u32;
        let arguments: [*const c_void; 3] = [
            (&raw const partial).cast(),
            (&raw const chunk_count).cast(),
            (&raw const sums).cast(),
        ];
        if self.width > 0 {
            // SAFETY: as above.
            unsafe { self.kernels.launch(self.add_chunks, pairs, THREADS, false, &arguments)? };
        }
        let pieces: Vec<Piece> = [&self.sums, &self.counts]
            .into_iter()
            .zip(lengths)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(buffer, bytes)| Piece { buffer, bytes })
            .collect();
        let arriving = self.transfer.begin(&pieces)?;
        let lags = groups.iter().flat_map(|group| &group.pairs).map(|pair| pair.lag).collect();
        let (columns, element_sizes) = (self.columns.clone(), [self.width, self.bins]);
        Ok(Pending::new(move || arrived(&arriving, lags, &columns, lengths, element_sizes)))
    }
}

/// `lengths` in bytes, `element_sizes` of one pair and species: of the sums and of the counts.
fn arrived(
    arriving: &Arriving,
    lags: Vec<u32>,
    columns: &[Column],
    lengths: [usize; 2],
    element_sizes: [usize; 2],
) -> Result<EvaluatedPairs, EngineError> {
    let (sums, counts) = arriving.wait()?.split_at(aligned_size(lengths[0]));
    let sums = sums[..lengths[0]].as_chunks::<8>().0;
    let counts = counts[..lengths[1]].as_chunks::<4>().0;
    let species = sums.len().checked_div(element_sizes[0]).unwrap_or(0);
    let species = species.max(counts.len().checked_div(element_sizes[1]).unwrap_or(0));
    let mut wanted = Vec::with_capacity(species * columns.len());
    for of_pair in 0..species {
        wanted.extend(columns.iter().map(|column| match *column {
            Column::Sum(sum) => f64::from_ne_bytes(sums[of_pair * element_sizes[0] + sum]),
            Column::Count(bin, each) => {
                each * f64::from(u32::from_ne_bytes(counts[of_pair * element_sizes[1] + bin]))
            }
        }));
    }
    Ok(EvaluatedPairs { lags, sums: wanted })
}
