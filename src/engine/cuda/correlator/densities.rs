//! Density modes of the samples of a correlation.
use std::ffi::c_void;
use std::sync::Arc;

use super::pairs::{COPIES, chunks};
use super::program::{self, DENSITY_CHUNK, THREADS};
use super::records::{Center, Records};
use crate::engine::cuda::launch::{Kernel, Kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::transfer::{Piece, Transfer, aligned_size};
use crate::engine::{EngineError, Pending};
use crate::observable::dynamics::evaluation::{DensityEvaluation, SampledDensities};

/// Bytes of sums by chunk that are made at once, if that many samples are due.
const MOST_PARTIAL_BYTES: usize = 256 << 20;

/// The kernels and their memory.
pub struct DensityEvaluator {
    pub every: u64,
    kernels: Kernels,
    add_modes: Kernel,
    add_chunks: Kernel,
    species: usize,
    vector_count: usize,
    chunk_count: usize,
    first_chunk: Vec<u32>,
    samples_at_once: usize,
    chunks: Buffer,
    vectors: Buffer,
    slots: Buffer,
    partial: Buffer,
    modes: Buffer,
    /// Centres of mass of the samples.
    centers: Buffer,
    remove_drift: bool,
    transfer: Transfer,
}

/// Samples evaluated at once, of `batch` at most, and the bytes that the evaluation takes on the GPU.
fn capacity(evaluation: &DensityEvaluation, batch: usize) -> (usize, u64) {
    let (chunks, _) = chunks(&evaluation.species, DENSITY_CHUNK);
    let vectors = evaluation.vectors.len();
    let of_sample = chunks.len() / 2 * vectors * 8;
    let samples = (MOST_PARTIAL_BYTES / of_sample.max(1)).clamp(1, batch);
    let modes = samples * evaluation.species.len() * vectors * 16;
    let centers = samples * size_of::<Center>();
    (samples, (samples * of_sample + 2 * (modes + centers)) as u64)
}

/// Bytes on the GPU beside those of the samples.
pub fn device_bytes(evaluation: &DensityEvaluation, batch: usize) -> u64 {
    capacity(evaluation, batch).1
}

impl DensityEvaluator {
    pub fn new(
        session: &Arc<Session>,
        evaluation: &DensityEvaluation,
        batch: usize,
    ) -> Result<Self, EngineError> {
        let kernels = Kernels::of(session, &program::density_program(evaluation))?;
        let (chunks, first_chunk) = chunks(&evaluation.species, DENSITY_CHUNK);
        let (samples_at_once, _) = capacity(evaluation, batch);
        let (species, vector_count) = (evaluation.species.len(), evaluation.vectors.len());
        let modes = samples_at_once * species * vector_count * 16;
        let centers = samples_at_once * size_of::<Center>();
        let transfer = Transfer::new(session, aligned_size(modes) + aligned_size(centers))?;
        transfer.reserve(COPIES)?;
        Ok(DensityEvaluator {
            every: evaluation.every,
            add_modes: kernels.kernel("add_modes")?,
            add_chunks: kernels.kernel("add_chunks")?,
            kernels,
            species,
            vector_count,
            chunk_count: chunks.len() / 2,
            first_chunk,
            samples_at_once,
            chunks: Buffer::holding(session, &chunks)?,
            vectors: Buffer::holding(session, evaluation.vectors.as_flattened())?,
            slots: Buffer::new(session, samples_at_once * 4)?,
            partial: Buffer::new(session, samples_at_once * chunks.len() / 2 * vector_count * 8)?,
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

    /// Has the modes of samples, by step and slot, summed; does not wait. `centers` by slot, where they are wanted.
    pub fn evaluate(
        &self,
        samples: &[(u64, u32)],
        records: Records,
        centers: &Buffer,
    ) -> Result<Vec<Pending<Vec<SampledDensities>>>, EngineError> {
        samples
            .chunks(self.samples_at_once)
            .map(|samples| self.evaluate_at_once(samples, records, centers))
            .collect()
    }

    fn evaluate_at_once(
        &self,
        samples: &[(u64, u32)],
        records: Records,
        all_centers: &Buffer,
    ) -> Result<Pending<Vec<SampledDensities>>, EngineError> {
        let slots: Vec<u32> = samples.iter().map(|&(_, slot)| slot).collect();
        self.slots.write(&slots)?;
        let [slots, chunks, vectors, partial, modes] =
            [&self.slots, &self.chunks, &self.vectors, &self.partial, &self.modes]
                .map(Buffer::pointer);
        let [all_centers, centers] = [all_centers, &self.centers].map(Buffer::pointer);
        let vector_count = self.vector_count as u32;
        let arguments: [*const c_void; 6] = [
            (&raw const records).cast(),
            (&raw const slots).cast(),
            (&raw const chunks).cast(),
            (&raw const vectors).cast(),
            (&raw const vector_count).cast(),
            (&raw const partial).cast(),
        ];
        let grid = (self.chunk_count as u32, samples.len() as u32);
        // SAFETY: the arguments are those of the kernel; the records have the slots, and there is room for
        // `samples_at_once` samples.
        unsafe { self.kernels.launch_grid(self.add_modes, grid, THREADS, 0, &arguments)? };
        let arguments: [*const c_void; 7] = [
            self.first_chunk.as_ptr().cast(),
            (&raw const partial).cast(),
            (&raw const vector_count).cast(),
            (&raw const modes).cast(),
            (&raw const slots).cast(),
            (&raw const all_centers).cast(),
            (&raw const centers).cast(),
        ];
        let blocks = samples.len() as u32;
        // SAFETY: as above.
        unsafe { self.kernels.launch(self.add_chunks, blocks, THREADS, false, &arguments)? };
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
