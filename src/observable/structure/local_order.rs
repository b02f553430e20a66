use rayon::prelude::*;

use super::bond_harmonics::{Components, bonds_of, cosine, magnitude};
use crate::observable::cells::Cells;
use crate::observable::{ObservableError, SampleContext};
use crate::plan::LocalOrderPlan;
use crate::system::{SimulationBox, Snapshot};

/// Neighbors whose bonds have about the same directions: the cosine between them is above this.
const LEAST_COSINE: f64 = 0.7;
/// A particle with this number of them is solid-like.
const LEAST_CONNECTIONS: usize = 7;

/// What tells a liquid from one that crystallises or demixes. Neighbors are particles closer than a radius.
///
/// - Crystallinity: in three dimensions the fraction of solid-like particles, those with seven or more neighbors for which the cosine
///   `sum_m q_6m(i) q_6m*(j) / (|q_6(i)| |q_6(j)|)` is above 0.7, with `q_6m(i)` the mean of `Y_6m` over the bonds of `i` (P. R. ten
///   Wolde, M. J. Ruiz-Montero & D. Frenkel, J. Chem. Phys. 104, 9932 (1996)): 1 in a crystal, also of many grains. In two, the
///   mean over particles of `|psi_6|` (Halperin & Nelson, Phys. Rev. Lett. 41, 121 (1978)).
/// - Demixing: with `m_i` the mean diameter of the `n_i` neighbors of `i`, `s` the mean diameter of all `N` particles and `S^2` their variance (over
///   `N - 1`), `sum_i (m_i - s)^2 / sum_i S^2 (1 - n_i / N) / n_i`. The denominator is the exact mean of the numerator over all assignments of the
///   diameters to the places: 1 in a random one, about `n_i` where like is beside like. Without diameters numbers that are 1
///   for the particles of one species and 0 for others stand for them, and both sums are over species, too.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalOrder {
    dimension: usize,
    every: u64,
    radius: f64,
    species_of: Vec<u8>,
    species: usize,
}

/// Of one configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrystallinityAndDemixing {
    pub crystallinity: f64,
    /// `None`: all particles are the same, or none has neighbors.
    pub demixing: Option<f64>,
}

impl LocalOrder {
    /// # Errors
    /// For an interval of zero, or a radius that is not between zero and half the shortest edge.
    pub fn new(plan: &LocalOrderPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        if plan.every == 0 {
            return Err(ObservableError::value("local_order.every", 0, "at least 1"));
        }
        if !(plan.radius > 0.0 && plan.radius < 0.5 * context.simulation_box.shortest_edge()) {
            let expected = "a positive number below half the shortest edge";
            return Err(ObservableError::value("local_order.radius", plan.radius, expected));
        }
        Ok(LocalOrder {
            dimension: context.simulation_box.dimension(),
            every: plan.every,
            radius: plan.radius,
            species_of: context.species_of.clone(),
            species: context.species.len(),
        })
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        step_in_stage.is_multiple_of(self.every)
    }

    /// `simulation_box`: that of the snapshot, with its tilt.
    pub fn evaluate(
        &self,
        snapshot: &Snapshot,
        simulation_box: &SimulationBox,
    ) -> CrystallinityAndDemixing {
        let cells = Cells::new(simulation_box, snapshot.position.len(), |i| snapshot.position[i]);
        let crystallinity = self.crystallinity(snapshot, &cells);
        CrystallinityAndDemixing { crystallinity, demixing: self.demixing(snapshot, &cells) }
    }

    fn crystallinity(&self, snapshot: &Snapshot, cells: &Cells) -> f64 {
        let (count, dimension) = (snapshot.position.len(), self.dimension);
        let place = |particle: usize| snapshot.position[particle];
        let bonds: Vec<(Components, f64)> = (0..count)
            .into_par_iter()
            .map(|i| bonds_of(cells, place(i), i, self.radius, dimension))
            .collect();
        let each: Vec<f64> = (0..count)
            .into_par_iter()
            .map(|i| {
                let (own, number) = &bonds[i];
                if dimension == 2 {
                    return if *number > 0.0 { magnitude(own, *number) } else { 0.0 };
                }
                let mut connections = 0;
                cells.near(place(i), self.radius, |other, _| {
                    let other = other as usize;
                    // Without bonds there is no cosine.
                    connections +=
                        usize::from(other != i && cosine(own, &bonds[other].0) > LEAST_COSINE);
                });
                f64::from(u8::from(connections >= LEAST_CONNECTIONS))
            })
            .collect();
        each.iter().sum::<f64>() / count.max(1) as f64
    }

    fn demixing(&self, snapshot: &Snapshot, cells: &Cells) -> Option<f64> {
        let count = snapshot.position.len();
        let neighbors: Vec<Vec<u32>> = (0..count)
            .into_par_iter()
            .map(|i| {
                let mut found = Vec::new();
                cells.near(snapshot.position[i], self.radius, |other, _| {
                    if other as usize != i {
                        found.push(other);
                    }
                });
                found
            })
            .collect();
        let of_random: f64 = neighbors
            .iter()
            .filter(|of_one| !of_one.is_empty())
            .map(|of_one| 1.0 / of_one.len() as f64 - 1.0 / count as f64)
            .sum();
        let (mut found, mut expected) = (0.0, 0.0);
        for property in self.properties(snapshot) {
            let mean = property.iter().sum::<f64>() / count as f64;
            let squares: f64 = property.iter().map(|value| (value - mean).powi(2)).sum();
            let deviation = |of_one: &Vec<u32>| {
                let sum: f64 = of_one.iter().map(|&other| property[other as usize] - mean).sum();
                (sum / of_one.len() as f64).powi(2)
            };
            found +=
                neighbors.iter().filter(|of_one| !of_one.is_empty()).map(deviation).sum::<f64>();
            expected += squares / (count - 1) as f64 * of_random;
        }
        (expected > 0.0).then(|| found / expected)
    }

    /// What demixes: diameters, or for each species whether particles belong to it.
    fn properties(&self, snapshot: &Snapshot) -> Vec<Vec<f64>> {
        let diameters = &snapshot.diameter;
        // Files may have the same for all.
        if diameters.iter().any(|&diameter| diameter != diameters[0]) {
            return vec![diameters.to_vec()];
        }
        let is_of =
            |species: usize| move |&own: &u8| if usize::from(own) == species { 1.0 } else { 0.0 };
        (0..self.species)
            .map(|species| self.species_of.iter().map(is_of(species)).collect())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::observable::trajectories::{context, ideal_gas, snapshot};

    fn fcc(cells: usize) -> Vec<[f64; 3]> {
        let basis = [[0.0; 3], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]];
        let corner = |cell: usize| [cell / cells / cells, cell / cells % cells, cell % cells];
        let site = |cell, r: [f64; 3]| std::array::from_fn(|k| corner(cell)[k] as f64 + r[k]);
        (0..cells.pow(3)).flat_map(|cell| basis.map(|r| site(cell, r))).collect()
    }

    fn measure(
        edges: &[f64],
        points: &[[f64; 3]],
        counts: &[usize],
        diameters: &[f64],
        radius: f64,
    ) -> CrystallinityAndDemixing {
        let context = context(edges, counts, 10);
        let mut state = snapshot(&context.simulation_box, 0, points, points);
        state.diameter = diameters.into();
        let plan = LocalOrderPlan { every: 1, radius };
        LocalOrder::new(&plan, &context).unwrap().evaluate(&state, &context.simulation_box)
    }

    /// 500 diameters of 0.73 to 1.62, ascending.
    fn ascending() -> Vec<f64> {
        (0..500).map(|i| 0.73 + 0.89 * (f64::from(i) + 0.5) / 500.0).collect()
    }

    #[test]
    fn crystals_are_solid_like_and_ideal_gases_are_not() {
        let mut rng = StdRng::seed_from_u64(3);
        let found = measure(&[5.0; 3], &fcc(5), &[500], &ascending(), 0.85);
        assert_eq!(found.crystallinity, 1.0);
        // Particles that vibrate by a twelfth of the distance of neighbors.
        let mut shaken = fcc(5);
        for x in shaken.iter_mut().flatten() {
            *x += 0.2 * (rng.random::<f64>() - 0.5);
        }
        let found = measure(&[5.0; 3], &shaken, &[500], &ascending(), 0.85);
        assert!(found.crystallinity > 0.9, "{found:?}");
        let points = ideal_gas(&mut rng, &SimulationBox::new(&[8.0; 3]), 500);
        let found = measure(&[8.0; 3], &points, &[500], &ascending(), 1.45);
        assert!(found.crystallinity < 0.05, "{found:?}");
        let height = 3.0_f64.sqrt();
        let triangular: Vec<[f64; 3]> = (0..96)
            .map(|i| {
                [
                    f64::from(i % 8) + 0.5 * f64::from(i / 8 % 2),
                    0.5 * height * f64::from(i / 8),
                    0.0,
                ]
            })
            .collect();
        let found = measure(&[8.0, 6.0 * height], &triangular, &[96], &[], 1.2);
        assert!((found.crystallinity - 1.0).abs() < 1e-12 && found.demixing.is_none(), "{found:?}");
    }

    /// The mean over random assignments is exact: 400 of them scatter by about 0.07 each.
    #[test]
    fn demixing_is_one_on_average_over_random_assignments() {
        let mut rng = StdRng::seed_from_u64(4);
        let points = ideal_gas(&mut rng, &SimulationBox::new(&[8.0; 3]), 500);
        let mut diameters = ascending();
        let values: Vec<f64> = (0..400)
            .map(|_| {
                diameters.shuffle(&mut rng);
                measure(&[8.0; 3], &points, &[500], &diameters, 1.45).demixing.unwrap()
            })
            .collect();
        let mean = values.iter().sum::<f64>() / 400.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 399.0;
        assert!((mean - 1.0).abs() < 4.5 * (variance / 400.0).sqrt(), "{mean}, {variance}");
        assert!(variance < 0.04, "{variance}");
    }

    #[test]
    fn particles_sorted_by_diameter_or_species_are_demixed() {
        let mut points = fcc(5);
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let found = measure(&[5.0; 3], &points, &[500], &ascending(), 0.85).demixing.unwrap();
        // Of the 12 neighbors' mean, some is lost where the box repeats.
        assert!(found > 6.0 && found < 12.0, "{found}");
        let halves = measure(&[5.0; 3], &points, &[250, 250], &[], 0.85).demixing.unwrap();
        assert!(halves > 6.0 && halves < 12.0, "{halves}");
        let same = measure(&[5.0; 3], &points, &[500], &[1.0; 500], 0.85);
        assert_eq!(same.demixing, None);
    }
}
