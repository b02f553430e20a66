//! Fourier modes of the density of samples. Mirrors `kernels/observable/densities.cu`.
use rayon::prelude::*;

use super::lanes::{LANES, Lanes, cosine_of_turns, sum_over_lanes};
use super::particles::{Columns, Particles};
use crate::observable::dynamics::kernel_sum::CHUNK_OF_MODES;
use crate::observable::vectors::{InnerLoop, on_widest_registers};

/// `rho_a(q)` by species, wave vector; real and imaginary part.
pub fn densities(
    particles: &Particles,
    sample: &Columns,
    vectors: &[[i32; 3]],
) -> Vec<Vec<[f64; 2]>> {
    let chunks = particles.chunks(CHUNK_OF_MODES);
    let of_chunks: Vec<Vec<[f32; 2]>> = chunks
        .par_iter()
        .map(|&(_, start, count)| on_widest_registers(OverChunk { sample, vectors, start, count }))
        .collect();
    let mut densities = vec![vec![[0.0; 2]; vectors.len()]; particles.species.len()];
    for ((species, ..), of_chunk) in chunks.iter().zip(of_chunks) {
        for (sum, [cosine, sine]) in densities[*species].iter_mut().zip(of_chunk) {
            sum[0] += f64::from(cosine);
            sum[1] += f64::from(sine);
        }
    }
    densities
}

struct OverChunk<'a> {
    sample: &'a Columns,
    vectors: &'a [[i32; 3]],
    start: usize,
    count: usize,
}

impl InnerLoop for OverChunk<'_> {
    type Output = Vec<[f32; 2]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let OverChunk { sample, vectors, start, count } = self;
        let along = [0, 1, 2].map(|axis| &sample.fraction[axis][start..]);
        let mut modes = Vec::with_capacity(vectors.len());
        for n in vectors {
            modes.push(mode(n.map(|n| n as u32), along, count));
        }
        modes
    }
}

/// Of the first `count` of the fractions by axis, of which there are as many as whole warps read.
#[inline(always)]
fn mode(n: [u32; 3], along: [&[u32]; 3], count: usize) -> [f32; 2] {
    let (mut cosine, mut sine): (Lanes, Lanes) = ([0.0; LANES], [0.0; LANES]);
    for first in (0..count).step_by(LANES) {
        let before = [cosine, sine];
        let x = &along[0][first..first + LANES];
        let y = &along[1][first..first + LANES];
        let z = &along[2][first..first + LANES];
        for lane in 0..LANES {
            let turns = n[0]
                .wrapping_mul(x[lane])
                .wrapping_add(n[1].wrapping_mul(y[lane]))
                .wrapping_add(n[2].wrapping_mul(z[lane]));
            cosine[lane] += cosine_of_turns(turns);
            sine[lane] += cosine_of_turns(turns.wrapping_sub(1 << 30));
        }
        let present = LANES.min(count - first);
        if present < LANES {
            // The other lanes have no particle.
            cosine[present..].copy_from_slice(&before[0][present..]);
            sine[present..].copy_from_slice(&before[1][present..]);
        }
    }
    [sum_over_lanes(&cosine), sum_over_lanes(&sine)]
}
