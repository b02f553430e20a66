//! Static structure of samples: pair distributions, density modes, and bond-orientational order.
use std::sync::Arc;

use super::densities::{self, DensityEvaluator};
use super::origins::{Cells, Point, Search, SortedOrigins, program_over_sorted};
use super::pairs::COPIES;
use super::particles::SampledRecords;
use super::program::THREADS;
use crate::engine::cuda::declare::{Const, Pointer, device_constants, shared_header};
use crate::engine::cuda::input_buffer::InputBuffer;
use crate::engine::cuda::launch::{Grid, kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::transfer::{Arriving, Piece, Transfer, aligned_size};
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{
    BondOrderEvaluation, DensityEvaluation, SampledBondOrder, SampledStructure, StructureEvaluation,
};
use crate::observable::portable::{self, order_of_sums};

device_constants! {
    /// Of static structure.
    mod sums: u32 {
        /// More bins than this are counted in global memory.
        MOST_SHARED_BINS = 12288;
        /// Of each component m = 0, ..., 6 real and imaginary part, then bonds, then the local order; components and order in
        /// units of 2^-32.
        ORDER_SUMS = portable::ORDER_SUMS as u32;
    }
}
const MOST_SHARED_BINS: usize = sums::MOST_SHARED_BINS as usize;
const ORDER_SUMS: usize = sums::ORDER_SUMS as usize;

shared_header!(SHARED = "shared/structure.cuh": sums::Declaration);

kernels! {
    pub struct StructureKernels {
        count_distances(Pointer<Const<u32>>, Pointer<Const<Point>>, u32, Pointer<u64>);
        sum_bond_order(Pointer<Const<u32>>, Pointer<Const<Point>>, Pointer<i64>);
    }
}

/// The kernels of static structure.
pub fn program(dimension: usize, species: usize) -> Program {
    let text = include_str!("../../../../kernels/observable/structure.cu");
    let checks = StructureKernels::checks();
    program_over_sorted("structure.cu", text, dimension, species, SHARED, checks)
}

/// Bytes that the counts of samples may take together.
const MOST_BYTES: usize = 64 << 20;
/// Blocks that share the neighbors of the same particles, at most.
const MOST_PARTS: u32 = 8;

/// Counts pairs by their distance, and sums density modes.
pub struct StructureEvaluator {
    pub every: u64,
    origins: SortedOrigins,
    kernels: StructureKernels,
    densities: DensityEvaluator,
    particles: u32,
    pairs: usize,
    bins: usize,
    parts: u32,
    samples_at_once: usize,
    slots: InputBuffer,
    counts: Buffer,
    transfer: Transfer,
}

fn pairs_of_species(species: usize) -> usize {
    species * (species + 1) / 2
}

/// Samples whose pairs are counted at once, and the bytes of their counts.
fn capacity(evaluation: &StructureEvaluation) -> (usize, usize) {
    let DensityEvaluation { simulation_box, species, .. } = &evaluation.densities;
    let of_sample = pairs_of_species(species.len()) * evaluation.bins * 8;
    let origins = Cells::new(simulation_box, species, radius(evaluation)).origins();
    let samples = origins.min(MOST_BYTES / of_sample.max(1)).max(1);
    (samples, samples * of_sample)
}

/// Distance up to which pairs are counted.
fn radius(evaluation: &StructureEvaluation) -> f64 {
    evaluation.bins as f64 * evaluation.bin_width
}

/// Bytes on the GPU beside those of the samples, of which batches have this number together.
pub fn structure_bytes(evaluation: &StructureEvaluation, samples: usize) -> u64 {
    let densities = &evaluation.densities;
    let cells = Cells::new(&densities.simulation_box, &densities.species, radius(evaluation));
    let (_, counts) = capacity(evaluation);
    cells.device_bytes() + 2 * counts as u64 + densities::device_bytes(densities, samples)
}

impl StructureEvaluator {
    pub fn new(
        session: &Arc<Session>,
        evaluation: &StructureEvaluation,
        most_samples: usize,
    ) -> Result<Self, EngineError> {
        let of_densities = &evaluation.densities;
        let (simulation_box, species) = (&of_densities.simulation_box, &of_densities.species);
        let program = program(simulation_box.dimension(), species.len());
        let radius = radius(evaluation);
        let bins = (evaluation.bins, evaluation.bin_width);
        let search = Search { radius, remove_drift: false, bins };
        let cells = Cells::new(simulation_box, species, radius);
        let origins =
            SortedOrigins::new(session, &program, simulation_box, species, cells, search)?;
        let densities = DensityEvaluator::new(session, of_densities, most_samples)?;
        let (samples, counts) = capacity(evaluation);
        let samples_at_once = samples.min(densities.samples_at_once());
        let pairs = pairs_of_species(species.len());
        let transfer = Transfer::new(session, aligned_size(counts))?;
        transfer.reserve(COPIES)?;
        Ok(StructureEvaluator {
            every: of_densities.every,
            kernels: StructureKernels::load(&origins.kernels)?,
            origins,
            densities,
            particles: species.iter().map(|species| species.count as u32).sum(),
            pairs,
            bins: evaluation.bins,
            parts: cells.layers_within(simulation_box, radius).clamp(1, MOST_PARTS),
            samples_at_once,
            slots: InputBuffer::new(session, samples_at_once * 4)?,
            counts: Buffer::new(session, counts)?,
            transfer,
        })
    }

    /// Has samples, by step and number, evaluated; does not wait.
    pub fn evaluate(
        &self,
        samples: &[(u64, u32)],
        of: SampledRecords<'_>,
    ) -> Result<Vec<Pending<OfSystems<Vec<SampledStructure>>>>, EngineError> {
        let at_once = samples.chunks(self.samples_at_once);
        at_once.map(|samples| self.evaluate_at_once(samples, of)).collect()
    }

    fn evaluate_at_once(
        &self,
        samples: &[(u64, u32)],
        of: SampledRecords<'_>,
    ) -> Result<Pending<OfSystems<Vec<SampledStructure>>>, EngineError> {
        let numbers: Vec<u32> = samples.iter().map(|&(_, number)| number).collect();
        self.slots.write(&numbers)?;
        self.origins.sort(of.records, self.slots.pointer(), numbers.len())?;
        let of_sample = self.pairs * self.bins;
        let bytes = samples.len() * of_sample * 8;
        self.counts.clear(bytes)?;
        let shared = if of_sample <= MOST_SHARED_BINS { of_sample * 4 } else { 0 };
        let grid = Grid {
            blocks: (self.particles.div_ceil(THREADS), samples.len() as u32 * self.parts),
            shared_bytes: shared,
            ..Grid::of(1, THREADS)
        };
        let (ends, points) = (self.origins.ends.pointer(), self.origins.points.pointer());
        let arguments = (ends, points, self.parts, self.counts.pointer());
        self.origins.kernels.launch(self.kernels.count_distances, grid, arguments)?;
        let arriving = self.transfer.begin(&[Piece { buffer: &self.counts, bytes }])?;
        let densities = self.densities.evaluate_at_once(samples, of)?;
        let (bins, numbering) = (self.bins, of.numbering);
        Ok(Pending::new(move || {
            let counts = words(&arriving, bytes, u64::from_ne_bytes)?;
            let of_samples = counts.chunks(of_sample).zip(densities.wait()?);
            let samples = of_samples.map(|(counts, densities)| SampledStructure {
                step: densities.step,
                pairs: counts.chunks(bins).map(<[_]>::to_vec).collect(),
                densities: densities.densities,
            });
            Ok(numbering.by_system(numbers, samples))
        }))
    }
}

fn words<T>(
    arriving: &Arriving,
    bytes: usize,
    of: fn([u8; 8]) -> T,
) -> Result<Vec<T>, EngineError> {
    let words = arriving.wait()?[..bytes].as_chunks::<8>().0;
    Ok(words.iter().map(|&word| of(word)).collect())
}

/// Sums over bonds.
pub struct BondOrderEvaluator {
    pub every: u64,
    origins: SortedOrigins,
    kernels: StructureKernels,
    particles: u32,
    samples_at_once: usize,
    slots: InputBuffer,
    sums: Buffer,
    transfer: Transfer,
}

/// Bytes on the GPU beside those of the samples.
pub fn bond_order_bytes(evaluation: &BondOrderEvaluation) -> u64 {
    Cells::new(&evaluation.simulation_box, &evaluation.species, evaluation.radius).device_bytes()
}

impl BondOrderEvaluator {
    pub fn new(
        session: &Arc<Session>,
        evaluation: &BondOrderEvaluation,
    ) -> Result<Self, EngineError> {
        let (simulation_box, species) = (&evaluation.simulation_box, &evaluation.species);
        let program = program(simulation_box.dimension(), species.len());
        let search =
            Search { radius: evaluation.radius, remove_drift: false, bins: (0, f64::INFINITY) };
        let cells = Cells::new(simulation_box, species, evaluation.radius);
        let origins =
            SortedOrigins::new(session, &program, simulation_box, species, cells, search)?;
        let samples_at_once = cells.origins();
        let sums = samples_at_once * ORDER_SUMS * 8;
        let transfer = Transfer::new(session, aligned_size(sums))?;
        transfer.reserve(COPIES)?;
        Ok(BondOrderEvaluator {
            every: evaluation.every,
            kernels: StructureKernels::load(&origins.kernels)?,
            origins,
            particles: species.iter().map(|species| species.count as u32).sum(),
            samples_at_once,
            slots: InputBuffer::new(session, samples_at_once * 4)?,
            sums: Buffer::new(session, sums)?,
            transfer,
        })
    }

    /// Has samples, by step and number, evaluated; does not wait.
    pub fn evaluate(
        &self,
        samples: &[(u64, u32)],
        of: SampledRecords<'_>,
    ) -> Result<Vec<Pending<OfSystems<Vec<SampledBondOrder>>>>, EngineError> {
        let at_once = samples.chunks(self.samples_at_once);
        at_once.map(|samples| self.evaluate_at_once(samples, of)).collect()
    }

    fn evaluate_at_once(
        &self,
        samples: &[(u64, u32)],
        of: SampledRecords<'_>,
    ) -> Result<Pending<OfSystems<Vec<SampledBondOrder>>>, EngineError> {
        let numbers: Vec<u32> = samples.iter().map(|&(_, number)| number).collect();
        self.slots.write(&numbers)?;
        self.origins.sort(of.records, self.slots.pointer(), numbers.len())?;
        let bytes = samples.len() * ORDER_SUMS * 8;
        self.sums.clear(bytes)?;
        let blocks = (self.particles.div_ceil(THREADS), samples.len() as u32);
        let grid = Grid::in_two_dimensions(blocks, THREADS);
        let (ends, points) = (self.origins.ends.pointer(), self.origins.points.pointer());
        let arguments = (ends, points, self.sums.pointer());
        self.origins.kernels.launch(self.kernels.sum_bond_order, grid, arguments)?;
        let arriving = self.transfer.begin(&[Piece { buffer: &self.sums, bytes }])?;
        let steps: Vec<u64> = samples.iter().map(|&(step, _)| step).collect();
        let (particles, numbering) = (self.particles, of.numbering);
        Ok(Pending::new(move || {
            let sums = words(&arriving, bytes, i64::from_ne_bytes)?;
            let of_sample = |(&step, sums): (&u64, &[i64])| SampledBondOrder {
                step,
                order: order_of_sums(sums, particles as usize),
            };
            let samples = steps.iter().zip(sums.chunks(ORDER_SUMS)).map(of_sample);
            Ok(numbering.by_system(numbers, samples))
        }))
    }
}
