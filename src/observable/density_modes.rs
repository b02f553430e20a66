use std::f64::consts::TAU;

use rayon::prelude::*;

use super::particle_order::{LANES, ParticleOrder};
use super::vectors::{InnerLoop, on_widest_registers};
use crate::system::{SimulationBox, Snapshot};

/// Fourier modes of the density, `rho_a(q) = sum_i^a exp(i q . r_i)` with `q = 2 pi n / L` and the sum over the
/// particles of species `a`. In a tilted box `q . r = 2 pi n . f`, where `f` are the fractions of the place along the periods.
#[derive(Clone, Debug, PartialEq)]
pub struct DensityModes {
    /// Integers `n`.
    vectors: Vec<[i32; 3]>,
    inverse_edges: [f64; 3],
    /// Of the box ([`SimulationBox::slope`]).
    slope: f64,
    /// Largest integer along each axis.
    largest: [u32; 3],
}

/// Cosines and sines for a batch of particles.
type Row = [[f64; LANES]; 2];

impl DensityModes {
    pub fn new(simulation_box: &SimulationBox, vectors: Vec<[i32; 3]>) -> Self {
        let largest_along = |axis: usize| {
            vectors.iter().map(|n: &[i32; 3]| n[axis].unsigned_abs()).max().unwrap_or(0)
        };
        DensityModes {
            largest: std::array::from_fn(largest_along),
            inverse_edges: simulation_box.padded_edges().map(f64::recip),
            slope: simulation_box.slope(),
            vectors,
        }
    }

    /// Modes of the density seen from `origin`: each times `exp(-i q . origin)`.
    pub fn shift(&self, densities: &mut [[f64; 2]], origin: [f64; 3]) {
        for (density, n) in densities.iter_mut().zip(&self.vectors) {
            let turns =
                |k: usize| f64::from(n[k]) * (self.skewed(origin, k) * self.inverse_edges[k]);
            let (sine, cosine) = (TAU * (0..3).map(turns).sum::<f64>()).sin_cos();
            let [re, im] = *density;
            *density = [re * cosine + im * sine, im * cosine - re * sine];
        }
    }

    /// `rho_a(q)`, real and imaginary part, for every species and vector.
    pub fn densities(&self, snapshot: &Snapshot, order: &ParticleOrder) -> Vec<Vec<[f64; 2]>> {
        let chunks = order.chunks(chunk_size(order.len()));
        let partial: Vec<Vec<[f64; 2]>> = chunks
            .par_iter()
            .map(|(_, places)| {
                let ids = &order.ids()[places.clone()];
                on_widest_registers(ChunkDensities {
                    modes: self,
                    position: &snapshot.position,
                    ids,
                })
            })
            .collect();
        let mut densities = vec![vec![[0.0; 2]; self.vectors.len()]; order.species_count()];
        for ((species, _), partial) in chunks.iter().zip(partial) {
            for (sum, part) in densities[*species].iter_mut().zip(partial) {
                sum[0] += part[0];
                sum[1] += part[1];
            }
        }
        densities
    }

    /// The sum over all of these places, for every vector.
    pub fn of_places(&self, position: &[[f64; 3]]) -> Vec<[f64; 2]> {
        let ids: Vec<u32> = (0..position.len() as u32).collect();
        let partial: Vec<Vec<[f64; 2]>> = ids
            .par_chunks(chunk_size(ids.len()))
            .map(|ids| on_widest_registers(ChunkDensities { modes: self, position, ids }))
            .collect();
        let mut densities = vec![[0.0; 2]; self.vectors.len()];
        for partial in partial {
            for (sum, part) in densities.iter_mut().zip(partial) {
                sum[0] += part[0];
                sum[1] += part[1];
            }
        }
        densities
    }

    #[inline(always)]
    fn chunk_densities(&self, position: &[[f64; 3]], ids: &[u32]) -> Vec<[f64; 2]> {
        let mut densities = vec![[0.0; 2]; self.vectors.len()];
        let mut tables: [Vec<Row>; 3] =
            self.largest.map(|largest| vec![[[0.0; LANES]; 2]; largest as usize + 1]);
        for batch in ids.chunks(LANES) {
            for (axis, table) in tables.iter_mut().enumerate() {
                self.fill(position, batch, axis, table);
            }
            for (density, n) in densities.iter_mut().zip(&self.vectors) {
                let [x, y, z] = [0, 1, 2].map(|k| &tables[k][n[k].unsigned_abs() as usize]);
                let [_, sign_y, sign_z] = n.map(|n| if n < 0 { -1.0 } else { 1.0 });
                let [real, imaginary] = sum_of_products(x, y, z, sign_y, sign_z);
                density[0] += real;
                density[1] += imaginary;
            }
        }
        densities
    }

    /// A coordinate along the periods of the box: edge times fraction.
    #[inline(always)]
    fn skewed(&self, place: [f64; 3], axis: usize) -> f64 {
        if axis == 0 { place[0] - self.slope * place[1] } else { place[axis] }
    }

    /// Powers of `exp(2 pi i x / L)`; along the first axis zero for lanes without a particle.
    #[inline(always)]
    fn fill(&self, position: &[[f64; 3]], batch: &[u32], axis: usize, table: &mut [Row]) {
        let mut unit: Row = [[1.0; LANES], [0.0; LANES]];
        let mut power = unit;
        for (i, &id) in batch.iter().enumerate() {
            let along = self.skewed(position[id as usize], axis);
            let angle = TAU * along * self.inverse_edges[axis];
            (unit[1][i], unit[0][i]) = angle.sin_cos();
        }
        if axis == 0 {
            power[0][batch.len()..].fill(0.0);
        }
        for row in table {
            *row = power;
            for i in 0..LANES {
                let (cosine, sine) = (power[0][i], power[1][i]);
                power[0][i] = cosine * unit[0][i] - sine * unit[1][i];
                power[1][i] = cosine * unit[1][i] + sine * unit[0][i];
            }
        }
    }
}

/// Particles of a chunk: at most about 64 keep the partial sums small; the size does not depend on threads.
fn chunk_size(particles: usize) -> usize {
    particles.div_ceil(64).next_multiple_of(LANES).max(LANES)
}

struct ChunkDensities<'a> {
    modes: &'a DensityModes,
    position: &'a [[f64; 3]],
    ids: &'a [u32],
}

impl InnerLoop for ChunkDensities<'_> {
    type Output = Vec<[f64; 2]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.modes.chunk_densities(self.position, self.ids)
    }
}

/// Sum over lanes of `x y z`, with `y` and `z` conjugated where their sign is -1.
#[inline(always)]
fn sum_of_products(x: &Row, y: &Row, z: &Row, sign_y: f64, sign_z: f64) -> [f64; 2] {
    const WIDTH: usize = 8;
    let (mut real, mut imaginary) = ([0.0; WIDTH], [0.0; WIDTH]);
    for start in (0..LANES).step_by(WIDTH) {
        for lane in 0..WIDTH {
            let i = start + lane;
            let (y_sine, z_sine) = (sign_y * y[1][i], sign_z * z[1][i]);
            let xy_real = x[0][i] * y[0][i] - x[1][i] * y_sine;
            let xy_imaginary = x[0][i] * y_sine + x[1][i] * y[0][i];
            real[lane] += xy_real * z[0][i] - xy_imaginary * z_sine;
            imaginary[lane] += xy_real * z_sine + xy_imaginary * z[0][i];
        }
    }
    [real.iter().sum(), imaginary.iter().sum()]
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::super::trajectories::{context, ideal_gas, snapshot};
    use super::super::wavevectors::shells;
    use super::*;

    #[test]
    fn densities_are_the_sums_of_their_definition() {
        for edges in [vec![9.0, 7.0, 8.0], vec![12.0, 15.0]] {
            let context = context(&edges, &[150, 83], 10);
            let shells = shells(&context.simulation_box, &[1.0, 4.0, 12.0], 9).unwrap();
            let vectors = shells.iter().flat_map(|shell| shell.lattice_vectors()).collect();
            let modes = DensityModes::new(&context.simulation_box, vectors);
            let mut rng = StdRng::seed_from_u64(4);
            let positions = ideal_gas(&mut rng, &context.simulation_box, 233);
            let state = snapshot(&context.simulation_box, 0, &positions, &positions);
            let densities = modes.densities(&state, &ParticleOrder::new(&context).unwrap());
            let range = [0..150, 150..233];
            for species in 0..2 {
                for (density, n) in densities[species].iter().zip(&modes.vectors) {
                    let mut expected = [0.0; 2];
                    for r in &positions[range[species].clone()] {
                        let phase = |k: usize| TAU * f64::from(n[k]) * r[k] / edges[k];
                        let phase: f64 = (0..edges.len()).map(phase).sum();
                        expected[0] += phase.cos();
                        expected[1] += phase.sin();
                    }
                    assert!((density[0] - expected[0]).abs() < 1e-11, "{n:?}");
                    assert!((density[1] - expected[1]).abs() < 1e-11, "{n:?}");
                }
            }
        }
    }
}
