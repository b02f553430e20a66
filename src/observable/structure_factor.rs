use std::f64::consts::TAU;

use rayon::prelude::*;

use super::accumulator::BlockAverage;
use super::sample::{LANES, ParticleOrder};
use super::vectors::{InnerLoop, on_widest_registers};
use super::wavevectors::{self, WaveVectorShell};
use super::{ObservableError, SampleContext, species_pairs};
use crate::plan::StructurePlan;
use crate::system::Snapshot;

/// Shells up to the largest wave number, at most; closer ones than half of `2 pi / L` are not wanted.
const MOST_SHELLS: f64 = 100.0;

/// `S_ab(q) = <rho_a(q) rho_b(-q)> / N` with `rho_a(q) = sum_i^a exp(i q . r_i)`, the sum over the particles of
/// species `a`, and `N` that of all particles; real part, averaged over the wave vectors of a shell.
///
/// Thus `S_ab -> c_a delta_ab` for an ideal gas and for large `q`, and the total `S(q)` is the sum over all
/// ordered pairs `(a, b)` (Hansen & McDonald, Theory of Simple Liquids, section 4.1).
#[derive(Clone, Debug, PartialEq)]
pub struct StructureFactor {
    shells: Vec<WaveVectorShell>,
    /// Vectors of all shells, one of each `q`, `-q`.
    vectors: Vec<[i32; 3]>,
    inverse_edges: [f64; 3],
    /// Largest integer along each axis.
    largest: [u32; 3],
    /// By pair, shell.
    pub(super) averages: Vec<Vec<BlockAverage>>,
}

/// Cosines and sines for a batch of particles.
type Row = [[f64; LANES]; 2];

impl StructureFactor {
    pub const NAME: &str = "structure_factor";
    pub const FORMULA: &str = "<rho_a(q) rho_b(-q)> / N with rho_a(q) = sum_i^a exp(i q . r_i) and N all particles, \
                               averaged over the wave vectors of a shell";

    /// # Errors
    /// For a largest wave number that is smaller than the smallest of the box, or far too large.
    pub fn new(plan: &StructurePlan, context: &SampleContext) -> Result<Self, ObservableError> {
        let simulation_box = &context.simulation_box;
        let longest_edge = simulation_box.edges().iter().copied().fold(0.0, f64::max);
        let (smallest, maximum) = (TAU / longest_edge, plan.maximum_wavenumber);
        if !(maximum >= smallest && maximum.is_finite()) {
            let expected = "at least 2 pi over the longest edge";
            return Err(ObservableError::value("structure.maximum_wavenumber", maximum, expected));
        }
        let spacing = (0.5 * TAU / simulation_box.shortest_edge()).max(maximum / MOST_SHELLS);
        let steps = ((maximum - smallest) / spacing).floor() as usize;
        let wanted: Vec<f64> = (0..=steps).map(|i| smallest + i as f64 * spacing).collect();
        let shells = wavevectors::shells(simulation_box, &wanted, plan.vectors_per_shell)?;
        let vectors: Vec<_> = shells.iter().flat_map(|shell| shell.lattice_vectors()).collect();
        let largest_along = |axis: usize| {
            vectors.iter().map(|n: &[i32; 3]| n[axis].unsigned_abs()).max().unwrap_or(0)
        };
        let pairs = species_pairs(context.species.len()).len();
        Ok(StructureFactor {
            largest: std::array::from_fn(largest_along),
            inverse_edges: simulation_box.padded_edges().map(f64::recip),
            averages: vec![vec![BlockAverage::new(1); shells.len()]; pairs],
            shells,
            vectors,
        })
    }

    pub fn shells(&self) -> &[WaveVectorShell] {
        &self.shells
    }

    pub(super) fn sample(&mut self, snapshot: &Snapshot, order: &ParticleOrder) {
        let densities = self.densities(snapshot, order);
        for (pair, (a, b)) in species_pairs(order.species_count()).into_iter().enumerate() {
            let mut products =
                densities[a].iter().zip(&densities[b]).map(|(a, b)| a[0] * b[0] + a[1] * b[1]);
            for (shell, average) in self.shells.iter().zip(&mut self.averages[pair]) {
                let count = shell.count();
                let sum: f64 = products.by_ref().take(count as usize).sum();
                average.push(&[sum / (count as f64 * order.len() as f64)]);
            }
        }
    }

    /// `rho_a(q)`, real and imaginary part, for every species and vector.
    fn densities(&self, snapshot: &Snapshot, order: &ParticleOrder) -> Vec<Vec<[f64; 2]>> {
        // At most about 64 chunks keep the partial sums small; the size does not depend on threads.
        let size = order.len().div_ceil(64).next_multiple_of(LANES).max(LANES);
        let chunks = order.chunks(size);
        let partial: Vec<Vec<[f64; 2]>> = chunks
            .par_iter()
            .map(|(_, places)| {
                let ids = &order.ids()[places.clone()];
                on_widest_registers(ChunkDensities { factor: self, snapshot, ids })
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

    #[inline(always)]
    fn chunk_densities(&self, snapshot: &Snapshot, ids: &[u32]) -> Vec<[f64; 2]> {
        let mut densities = vec![[0.0; 2]; self.vectors.len()];
        let mut tables: [Vec<Row>; 3] =
            self.largest.map(|largest| vec![[[0.0; LANES]; 2]; largest as usize + 1]);
        for batch in ids.chunks(LANES) {
            for (axis, table) in tables.iter_mut().enumerate() {
                self.fill(snapshot, batch, axis, table);
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

    /// Powers of `exp(2 pi i x / L)`; along the first axis zero for lanes without a particle.
    #[inline(always)]
    fn fill(&self, snapshot: &Snapshot, batch: &[u32], axis: usize, table: &mut [Row]) {
        let mut unit: Row = [[1.0; LANES], [0.0; LANES]];
        let mut power = unit;
        for (i, &id) in batch.iter().enumerate() {
            let angle = TAU * snapshot.position[id as usize][axis] * self.inverse_edges[axis];
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

struct ChunkDensities<'a> {
    factor: &'a StructureFactor,
    snapshot: &'a Snapshot,
    ids: &'a [u32],
}

impl InnerLoop for ChunkDensities<'_> {
    type Output = Vec<[f64; 2]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.factor.chunk_densities(self.snapshot, self.ids)
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
    use super::*;

    #[test]
    fn densities_are_the_sums_of_their_definition() {
        for edges in [vec![9.0, 7.0, 8.0], vec![12.0, 15.0]] {
            let context = context(&edges, &[150, 83], 10);
            let plan = StructurePlan {
                every: 1,
                maximum_distance: 3.0,
                bin_width: 0.1,
                maximum_wavenumber: 12.0,
                vectors_per_shell: 9,
            };
            let factor = StructureFactor::new(&plan, &context).unwrap();
            let mut rng = StdRng::seed_from_u64(4);
            let positions = ideal_gas(&mut rng, &context.simulation_box, 233);
            let state = snapshot(&context.simulation_box, 0, &positions, &positions);
            let densities = factor.densities(&state, &ParticleOrder::new(&context).unwrap());
            let range = [0..150, 150..233];
            for species in 0..2 {
                for (density, n) in densities[species].iter().zip(&factor.vectors) {
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
