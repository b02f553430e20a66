//! Density modes of the samples of a correlation.
use std::sync::Arc;

use super::pairs::{COPIES, chunks};
use super::particles::SampledRecords;
use super::program::{CHUNKS, Chunk, DENSITY_CHUNK, MODE_SUMS, THREADS, program_over_samples};
use crate::engine::cuda::declare::{Const, Pointer, device_struct, shared_header};
use crate::engine::cuda::input_buffer::InputBuffer;
use crate::engine::cuda::launch::{Grid, Kernels, kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::{Center, Records};
use crate::engine::cuda::transfer::{Piece, Transfer, aligned_size};
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{
    DensityEvaluation, MOST_SAMPLES_OF_BATCH, SampledDensities,
};

/// Bytes of sums by chunk that are made at once, if that many samples are due.
const MOST_PARTIAL_BYTES: usize = 256 << 20;

device_struct! {
    /// Part of a density mode.
    pub struct Mode {
        cosine: f32,
        sine: f32,
    }
}

device_struct! {
    /// A wave vector as integers n, modulo 2^32.
    pub struct WaveVector {
        n: [u32; 3],
    }
}

shared_header!(SHARED = "shared/densities.cuh": Mode, WaveVector);

kernels! {
    pub struct DensityKernels {
        add_modes(
            Records, Pointer<Const<u32>>, Pointer<Const<Chunk>>, Pointer<Const<WaveVector>>, u32, Pointer<Mode>
        );
        add_chunks(
            Pointer<Const<u32>>, Pointer<Const<Mode>>, u32, Pointer<f64>, Pointer<Const<u32>>, Pointer<Const<Center>>,
            Pointer<Center>
        );
    }
}

/// The kernels of density modes.
pub fn program(evaluation: &DensityEvaluation) -> Program {
    let text = include_str!("../../../../kernels/observable/densities.cu");
    let (dimension, species) = (evaluation.simulation_box.dimension(), evaluation.species.len());
    program_over_samples("densities.cu", text, dimension, species)
        .include(&[CHUNKS, MODE_SUMS, SHARED])
        .checked(&[DensityKernels::checks()])
}

/// The kernels and their memory.
pub struct DensityEvaluator {
    pub every: u64,
    kernels: Arc<Kernels>,
    density_kernels: DensityKernels,
    species: usize,
    vector_count: usize,
    chunk_count: usize,
    /// Chunks before each species, and all.
    first_chunk: Buffer,
    samples_at_once: usize,
    chunks: Buffer,
    vectors: Buffer,
    slots: InputBuffer,
    partial: Buffer,
    modes: Buffer,
    /// Centres of mass of the samples.
    centers: Buffer,
    remove_drift: bool,
    transfer: Transfer,
}

/// Samples that are evaluated at once: the driver's limit of blocks along y.
const MOST_SAMPLES: usize = 65_535;
/// Bytes of the modes of samples that are evaluated at once, if these are more than those of a batch of one system.
const MOST_MODE_BYTES: usize = 32 << 20;

/// Samples evaluated at once, of `most` at most, and the bytes that the evaluation takes on the GPU.
fn capacity(evaluation: &DensityEvaluation, most: usize) -> (usize, u64) {
    let (chunks, _) = chunks(&evaluation.species, DENSITY_CHUNK);
    let vectors = evaluation.vectors.len();
    let of_sample = chunks.len() * vectors * size_of::<Mode>();
    let modes_of_sample = evaluation.species.len() * vectors * 16;
    let fitting = (MOST_MODE_BYTES / modes_of_sample.max(1)).max(MOST_SAMPLES_OF_BATCH);
    let most = most.min(fitting).min(MOST_SAMPLES);
    let samples = (MOST_PARTIAL_BYTES / of_sample.max(1)).clamp(1, most);
    let modes = samples * modes_of_sample;
    let centers = samples * size_of::<Center>();
    (samples, (samples * of_sample + 2 * (modes + centers)) as u64)
}

/// Bytes on the GPU beside those of the samples.
pub fn device_bytes(evaluation: &DensityEvaluation, samples: usize) -> u64 {
    capacity(evaluation, samples).1
}

impl DensityEvaluator {
    /// For at most `samples` samples at once.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        evaluation: &DensityEvaluation,
        samples: usize,
    ) -> Result<Self, EngineError> {
        let kernels = Kernels::with_constant(session, &program(evaluation), "", &[])?;
        let (chunks, first_chunk) = chunks(&evaluation.species, DENSITY_CHUNK);
        let (samples_at_once, _) = capacity(evaluation, samples);
        let (species, vector_count) = (evaluation.species.len(), evaluation.vectors.len());
        let modes = samples_at_once * species * vector_count * 16;
        let centers = samples_at_once * size_of::<Center>();
        let transfer = Transfer::new(session, aligned_size(modes) + aligned_size(centers))?;
        transfer.reserve(COPIES)?;
        Ok(DensityEvaluator {
            every: evaluation.every,
            density_kernels: DensityKernels::load(&kernels)?,
            kernels,
            species,
            vector_count,
            chunk_count: chunks.len(),
            first_chunk: Buffer::holding(session, &first_chunk)?,
            samples_at_once,
            chunks: Buffer::holding(session, &chunks)?,
            vectors: Buffer::holding(session, evaluation.vectors.as_flattened())?,
            slots: InputBuffer::new(session, samples_at_once * 4)?,
            partial: Buffer::new(session, samples_at_once * chunks.len() * vector_count * 8)?,
            modes: Buffer::new(session, modes)?,
            centers: Buffer::new(session, centers)?,
            remove_drift: evaluation.remove_drift,
            transfer,
        })
    }

    /// Most samples that are evaluated together.
    pub fn samples_at_once(&self) -> usize {
        self.samples_at_once
    }

    /// Has the modes of samples, by step and number, summed; does not wait.
    pub fn evaluate(
        &self,
        samples: &[(u64, u32)],
        of: SampledRecords<'_>,
    ) -> Result<Vec<Pending<OfSystems<Vec<SampledDensities>>>>, EngineError> {
        let pending = samples.chunks(self.samples_at_once).map(|samples| {
            let numbers: Vec<u32> = samples.iter().map(|&(_, number)| number).collect();
            let densities = self.evaluate_at_once(samples, of)?;
            Ok(densities.map(move |densities| of.numbering.by_system(numbers, densities)))
        });
        pending.collect()
    }

    /// The same for as many as fit, in their order.
    pub fn evaluate_at_once(
        &self,
        samples: &[(u64, u32)],
        SampledRecords { records, centers: all_centers, .. }: SampledRecords<'_>,
    ) -> Result<Pending<Vec<SampledDensities>>, EngineError> {
        let slots: Vec<u32> = samples.iter().map(|&(_, slot)| slot).collect();
        self.slots.write(&slots)?;
        let vector_count = self.vector_count as u32;
        let DensityKernels { add_modes, add_chunks } = self.density_kernels;
        let arguments = (
            records,
            self.slots.pointer(),
            self.chunks.pointer(),
            self.vectors.pointer(),
            vector_count,
            self.partial.pointer(),
        );
        let grid = (self.chunk_count as u32, samples.len() as u32);
        self.kernels.launch(add_modes, Grid::in_two_dimensions(grid, THREADS), arguments)?;
        let arguments = (
            self.first_chunk.pointer(),
            self.partial.pointer(),
            vector_count,
            self.modes.pointer(),
            self.slots.pointer(),
            all_centers.pointer(),
            self.centers.pointer(),
        );
        self.kernels.launch(add_chunks, Grid::of(samples.len() as u32, THREADS), arguments)?;
        let (species, vectors) = (self.species, self.vector_count);
        let bytes = samples.len() * species * vectors * 16;
        let center_bytes = samples.len() * size_of::<Center>();
        let arriving = self.transfer.begin(&[
            Piece { buffer: &self.modes, bytes },
            Piece { buffer: &self.centers, bytes: center_bytes },
        ])?;
        let steps: Vec<u64> = samples.iter().map(|&(step, _)| step).collect();
        let remove_drift = self.remove_drift;
        Ok(Pending::new(move || {
            let words = arriving.wait()?.as_chunks::<8>().0;
            let numbers: Vec<f64> = words.iter().map(|&word| f64::from_ne_bytes(word)).collect();
            let (modes, centers) = numbers.split_at(aligned_size(bytes) / 8);
            let modes = modes.as_chunks::<2>().0.chunks(species * vectors);
            let centers = centers.as_chunks::<6>().0;
            let of_sample = |((&step, modes), center): ((&u64, &[[f64; 2]]), &[f64; 6])| {
                let [x, y, z, v_x, v_y, v_z] = *center;
                SampledDensities {
                    step,
                    densities: modes.chunks(vectors).map(<[_]>::to_vec).collect(),
                    center: remove_drift.then_some([[x, y, z], [v_x, v_y, v_z]]),
                }
            };
            Ok(steps.iter().zip(modes).zip(centers).map(of_sample).collect())
        }))
    }
}
