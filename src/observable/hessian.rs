//! Energies of particles, and second derivatives of the potential energy.
use super::cells::Cells;
use crate::arithmetic::Real;
use crate::potential::{Diameters, PairFunction, PotentialPlan, pair_function};
use crate::system::SimulationBox;

/// The interactions of all particles at given places, in 64 bits.
pub struct Interactions<'a> {
    simulation_box: SimulationBox,
    species_of: &'a [u8],
    position: &'a [[f64; 3]],
    cells: Cells,
    /// Of each pair of species: cutoff and potential.
    pairs: Vec<Vec<(f64, PairFunction)>>,
    /// The rule, and diameters by id; `None` where particles have none.
    diameters: Option<(Diameters, &'a [f64])>,
}

/// Two particles as the potential sees them: lengths are in units of their diameter, which is one where they have none.
struct Neighbors<'a> {
    other: u32,
    /// From the particle to the other one, and its square.
    displacement: [f64; 3],
    r2: f64,
    function: &'a PairFunction,
    /// The diameter of the pair.
    unit: f64,
}

/// The Hessian `d^2 U / dr_i dr_j` as blocks `D x D` of pairs that interact, row by row, columns in increasing order, with the diagonal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hessian {
    /// Where the blocks of each particle begin, and the end: `N + 1`.
    pub starts: Vec<usize>,
    /// Other particle of each block.
    pub columns: Vec<u32>,
    pub blocks: Vec<[[f64; 3]; 3]>,
}

/// Two particles at the same place, where there are no derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("particles {0} and {1} are at the same place")]
pub struct SamePlace(pub u32, pub u32);

impl<'a> Interactions<'a> {
    /// Positions lie in the box, which has room for twice the cutoff, if it has a tilt u for twice `1 + |u| L_x / L_y` of it along x.
    pub fn new(
        simulation_box: SimulationBox,
        potential: &PotentialPlan,
        species_of: &'a [u8],
        position: &'a [[f64; 3]],
        diameter: &'a [f64],
    ) -> Self {
        let function = |pair| (pair_function(potential, pair), pair);
        let pairs = potential.pairs.iter().map(|row| {
            let of_row = row.iter().map(function);
            of_row.map(|(function, pair)| (pair.cutoff, function)).collect()
        });
        Interactions {
            simulation_box,
            species_of,
            position,
            cells: Cells::new(&simulation_box, position.len(), |id| position[id]),
            pairs: pairs.collect(),
            diameters: potential.diameters.map(|of| (of, diameter)),
        }
    }

    /// Calls `found` for all within the cutoff.
    fn of_particle(&self, particle: usize, mut found: impl FnMut(Neighbors<'_>)) {
        let row = &self.pairs[usize::from(self.species_of[particle])];
        let longest = self.diameters.map_or(1.0, |(of, _)| of.longest());
        let reach = row.iter().map(|(cutoff, _)| *cutoff * longest).fold(0.0, f64::max);
        self.cells.near(self.position[particle], reach, |other, x| {
            let (cutoff, function) = &row[usize::from(self.species_of[other as usize])];
            let unit = self.diameters.map_or(1.0, |(of, diameter)| {
                of.of_pair(diameter[particle], diameter[other as usize])
            });
            let displacement = x.map(|x| x / unit);
            let [x, y, z] = displacement;
            let r2 = x * x + y * y + z * z;
            if other as usize != particle && r2 < cutoff * cutoff {
                found(Neighbors { other, displacement, r2, function, unit });
            }
        });
    }

    /// Half the energy of all pairs of each particle: their sum is the potential energy.
    pub fn energies(&self) -> Vec<f64> {
        let energy = |particle| {
            let mut sum = 0.0;
            self.of_particle(particle, |of| sum += (of.function)(of.r2).energy);
            0.5 * sum
        };
        (0..self.position.len()).map(energy).collect()
    }

    /// `sum_pairs r_a F_b`, where `F` is the force on the particle that `r` points to from the other one.
    pub fn virial(&self) -> [[f64; 3]; 3] {
        let mut virial = [[0.0; 3]; 3];
        for particle in 0..self.position.len() {
            self.of_particle(particle, |of| {
                let (force, x) = (0.5 * (of.function)(of.r2).force, of.displacement);
                for a in 0..3 {
                    for b in 0..3 {
                        virial[a][b] += force * x[a] * x[b];
                    }
                }
            });
        }
        virial
    }

    /// `|F_i|^2` and the Laplacian of the potential energy by the place of a particle `i`, `sum_j [U''(r_ij) + (D-1) U'(r_ij) / r_ij]`: the
    /// trace of its block of the [`hessian`](Self::hessian).
    pub fn squared_force_and_laplacian(&self, particle: usize) -> [f64; 2] {
        let dimension = self.simulation_box.dimension() as f64;
        let (mut total, mut laplacian) = ([0.0; 3], 0.0);
        self.of_particle(particle, |of| {
            let pair = (of.function)(of.r2);
            for (sum, x) in total.iter_mut().zip(of.displacement) {
                *sum -= pair.force * x / of.unit;
            }
            let of_unit = -dimension * pair.force - 2.0 * of.r2 * pair.slope;
            laplacian += of_unit / (of.unit * of.unit);
        });
        [total.iter().map(|x| x * x).sum(), laplacian]
    }

    /// `H_ij = -K(r_ij)` of `i != j`, and `H_ii` is the sum of all `K(r_ij)`, where
    /// `K_ab = d^2 U(|x|) / dx_a dx_b` ([`PairDerivatives::hessian`](crate::potential::PairDerivatives::hessian)).
    ///
    /// # Errors
    /// If two particles that interact are at the same place.
    pub fn hessian(&self) -> Result<Hessian, SamePlace> {
        let dimension = self.simulation_box.dimension();
        let mut hessian = Hessian { starts: vec![0], ..Hessian::default() };
        let mut same = None;
        let mut row: Vec<(u32, [[f64; 3]; 3])> = Vec::new();
        for particle in 0..self.position.len() {
            row.clear();
            let mut diagonal = [[0.0; 3]; 3];
            self.of_particle(particle, |of| {
                if of.r2 < f64::COINCIDENT2 {
                    same = same.or(Some(SamePlace(particle as u32, of.other)));
                }
                let of_unit = (of.function)(of.r2).hessian(of.displacement);
                let unit2 = of.unit * of.unit;
                let of_pair = of_unit.map(|row| row.map(|number| number / unit2));
                for a in 0..dimension {
                    for b in 0..dimension {
                        diagonal[a][b] += of_pair[a][b];
                    }
                }
                row.push((of.other, of_pair.map(|line| line.map(|number| -number))));
            });
            row.push((particle as u32, diagonal));
            row.sort_unstable_by_key(|(column, _)| *column);
            hessian.columns.extend(row.iter().map(|(column, _)| *column));
            hessian.blocks.extend(row.iter().map(|(_, block)| *block));
            hessian.starts.push(hessian.columns.len());
        }
        same.map_or(Ok(hessian), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::potential::{PairParameters, PairPotential, Truncation};

    fn plan() -> PotentialPlan {
        let pair = PairParameters::of_epsilon_and_sigma;
        PotentialPlan {
            diameters: None,
            form: PairPotential::LennardJones,
            truncation: Truncation::Smooth { width: 0.05 },
            pairs: vec![
                vec![pair(1.0, 1.0, 2.5), pair(1.5, 0.8, 2.0)],
                vec![pair(1.5, 0.8, 2.0), pair(0.5, 0.88, 2.2)],
            ],
        }
    }

    /// Not on a lattice, and not too close.
    fn places(simulation_box: &SimulationBox) -> Vec<[f64; 3]> {
        let edges = simulation_box.padded_edges();
        let (d, n) = (simulation_box.dimension(), 5_usize);
        let count = n.pow(d as u32);
        let place = |id: usize| -> [f64; 3] {
            let at = [id % n, id / n % n, id / (n * n)];
            std::array::from_fn(|k| match k < d {
                true => {
                    let shift = 0.12 * ((7 * id + 3 * k + 1) as f64).sin();
                    (at[k] as f64 + 0.5 + shift) / n as f64 * edges[k]
                }
                false => 0.0,
            })
        };
        (0..count).map(place).collect()
    }

    #[test]
    fn it_is_the_matrix_of_differences_of_the_energy() {
        for edges in [vec![6.0, 5.5, 5.2], vec![5.6, 6.1]] {
            let simulation_box = SimulationBox::new(&edges);
            let position = places(&simulation_box);
            let species_of: Vec<u8> = (0..position.len()).map(|id| u8::from(id % 3 == 0)).collect();
            let plan = plan();
            let energy = |position: &[[f64; 3]]| -> f64 {
                let of = Interactions::new(simulation_box, &plan, &species_of, position, &[]);
                of.energies().iter().sum()
            };
            let of = Interactions::new(simulation_box, &plan, &species_of, &position, &[]);
            let hessian = of.hessian().unwrap();
            assert_eq!(hessian.starts.len(), position.len() + 1);
            // Second differences of the energy, off by h^2 and by 1e-14 / h^2.
            let h = 1e-4;
            let moved = |changes: [(usize, usize, f64); 2]| {
                let mut position = position.clone();
                for (id, axis, by) in changes {
                    position[id][axis] += by;
                }
                energy(&position)
            };
            let particle = 7;
            for at in hessian.starts[particle]..hessian.starts[particle + 1] {
                let other = hessian.columns[at] as usize;
                for (a, b) in [(0, 0), (0, 1), (1, 1)] {
                    let at_signs =
                        |s: f64, t: f64| moved([(particle, a, s * h), (other, b, t * h)]);
                    let expected = (at_signs(1.0, 1.0) - at_signs(1.0, -1.0) - at_signs(-1.0, 1.0)
                        + at_signs(-1.0, -1.0))
                        / (4.0 * h * h);
                    let found = hessian.blocks[at][a][b];
                    assert!(
                        (found - expected).abs() < 2e-4 * (1.0 + expected.abs()),
                        "{other} {a}{b}: {found} {expected}"
                    );
                }
            }
            // Moving all together costs nothing.
            for particle in 0..position.len() {
                let row = &hessian.blocks[hessian.starts[particle]..hessian.starts[particle + 1]];
                for a in 0..edges.len() {
                    for b in 0..edges.len() {
                        let sum: f64 = row.iter().map(|block| block[a][b]).sum();
                        assert!(sum.abs() < 1e-10, "{sum:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn particles_at_the_same_place_are_refused() {
        let position = [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0], [1.0, 1.0, 1.0]];
        let plan = plan();
        let of =
            Interactions::new(SimulationBox::new(&[6.0; 3]), &plan, &[0, 0, 0], &position, &[]);
        assert_eq!(of.hessian(), Err(SamePlace(0, 2)));
    }
}
