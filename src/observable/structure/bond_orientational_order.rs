use std::sync::Arc;

use rayon::prelude::*;

use super::bond_harmonics::{Components, add, bonds_of, magnitude};
use crate::observable::cells::Cells;
use crate::observable::dynamics::evaluation::{BondOrderEvaluation, Offloaded};
use crate::observable::{ObservableError, SampleContext};
use crate::plan::BondOrderPlan;
use crate::system::{SimulationBox, Snapshot, Species};

/// Six-fold bond-orientational order of a configuration: an alarm for crystals.
///
/// Bonds lead from each particle to those within a radius. In three dimensions, of a set of bonds,
/// `Q_6 = [4 pi / 13 sum_m |<Y_6m>|^2]^(1/2)` (Steinhardt, Nelson & Ronchetti, Phys. Rev. B 28, 784 (1983)): 0.575
/// in a perfect fcc, 0.485 in an hcp crystal with 12 neighbors. In two, `|<exp(6 i theta)>|` with `theta` the
/// angle of a bond (`psi_6`; Halperin & Nelson, Phys. Rev. Lett. 41, 121 (1978)): 1 in a triangular
/// crystal.
///
/// The global order is that of all bonds together (in two dimensions the mean over particles of the mean
/// over their bonds), of order `N^(-1/2)` in a liquid; the local one that of the bonds of one particle,
/// averaged over particles. Particles without neighbors count as zero.
#[derive(Clone, Debug, PartialEq)]
pub struct BondOrientationalOrder {
    simulation_box: SimulationBox,
    every: u64,
    radius: f64,
    species: Vec<Species>,
    /// The particles lie one species after the other.
    is_sorted: bool,
    /// An engine takes the samples.
    /// Of samples, as of the context.
    order: Option<Arc<[u32]>>,
    of_engine: bool,
}

/// Order of one configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BondOrder {
    pub global: f64,
    pub local: f64,
}

/// Particles that one task handles; also the order of summation.
const PARTICLES_AT_ONCE: usize = 256;

impl BondOrientationalOrder {
    /// # Errors
    /// For an interval of zero, or a radius that is not between zero and half the shortest edge.
    pub fn new(plan: &BondOrderPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        if plan.every == 0 {
            return Err(ObservableError::value("bond_order.every", 0, "at least 1"));
        }
        if !(plan.radius > 0.0 && plan.radius < 0.5 * context.simulation_box.shortest_edge()) {
            let expected = "a positive number below half the shortest edge";
            return Err(ObservableError::value("bond_order.radius", plan.radius, expected));
        }
        let (every, radius) = (plan.every, plan.radius);
        Ok(BondOrientationalOrder {
            simulation_box: context.simulation_box,
            every,
            radius,
            species: context.species.clone(),
            order: context.order.clone(),
            is_sorted: context.species_of.is_sorted(),
            of_engine: false,
        })
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        !self.of_engine && step_in_stage.is_multiple_of(self.every)
    }

    /// Leaves samples to an engine from now on, if it may take them: no more are taken here. `samples`: those so far. Engines
    /// evaluate boxes without a tilt.
    pub fn hand_over(&mut self, samples: u64) -> Option<Offloaded> {
        if !self.is_sorted {
            return None;
        }
        self.of_engine = true;
        let evaluation = BondOrderEvaluation {
            every: self.every,
            radius: self.radius,
            simulation_box: self.simulation_box,
            species: self.species.clone(),
            order: self.order.clone(),
        };
        Some(Offloaded::BondOrder(evaluation, samples))
    }

    /// `simulation_box`: that of the snapshot, with its tilt.
    pub fn evaluate(&self, snapshot: &Snapshot, simulation_box: &SimulationBox) -> BondOrder {
        let count = snapshot.position.len();
        let cells = Cells::new(simulation_box, count, |i| snapshot.position[i]);
        let tasks = count.div_ceil(PARTICLES_AT_ONCE);
        let parts: Vec<(Components, f64, f64)> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let first = task * PARTICLES_AT_ONCE;
                let (mut sum, mut bonds, mut local) = ([[0.0; 2]; 7], 0.0, 0.0);
                for particle in first..count.min(first + PARTICLES_AT_ONCE) {
                    let (own, neighbors) = bonds_of(
                        &cells,
                        snapshot.position[particle],
                        particle,
                        self.radius,
                        self.dimension(),
                    );
                    if neighbors == 0.0 {
                        continue;
                    }
                    local += magnitude(&own, neighbors);
                    // Every particle counts the same in two dimensions, every bond in three.
                    let weight = if self.dimension() == 2 { neighbors.recip() } else { 1.0 };
                    add(&mut sum, &own, weight);
                    bonds += neighbors * weight;
                }
                (sum, bonds, local)
            })
            .collect();
        let (mut sum, mut bonds, mut local) = ([[0.0; 2]; 7], 0.0, 0.0);
        for (of_part, bonds_of_part, local_of_part) in &parts {
            add(&mut sum, of_part, 1.0);
            bonds += bonds_of_part;
            local += local_of_part;
        }
        let global = if bonds > 0.0 { magnitude(&sum, bonds) } else { 0.0 };
        BondOrder { global, local: local / count.max(1) as f64 }
    }

    fn dimension(&self) -> usize {
        self.simulation_box.dimension()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::observable::trajectories::{context, ideal_gas, snapshot};

    fn order(edges: &[f64], points: &[[f64; 3]], radius: f64) -> BondOrder {
        let context = context(edges, &[points.len()], 10);
        let plan = BondOrderPlan { every: 1, radius };
        let state = snapshot(&context.simulation_box, 0, points, points);
        BondOrientationalOrder::new(&plan, &context)
            .unwrap()
            .evaluate(&state, &context.simulation_box)
    }

    fn lattice(cells: [usize; 3], edges: [f64; 3], basis: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut points = Vec::new();
        for x in 0..cells[0] {
            for y in 0..cells[1] {
                for z in 0..cells[2] {
                    let corner = [x as f64, y as f64, z as f64];
                    let point =
                        |r: &[f64; 3]| std::array::from_fn(|k| edges[k] * (corner[k] + r[k]));
                    points.extend(basis.iter().map(point));
                }
            }
        }
        points
    }

    #[test]
    fn crystals_have_their_known_order() {
        // Q_6 of fcc (12 neighbors), bcc (8 and 14) and simple cubic (6): Steinhardt et al. 1983.
        let fcc = [[0.0; 3], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]];
        let bcc = [[0.0; 3], [0.5; 3]];
        for (basis, radius, expected) in [
            (&fcc[..], 0.8, 0.574_524_259_714),
            (&bcc, 0.9, 0.628_539_361_055),
            (&bcc, 1.1, 0.510_688_230_857),
            (&bcc[..1], 1.1, 0.353_553_390_593),
        ] {
            let found = order(&[4.0; 3], &lattice([4; 3], [1.0; 3], basis), radius);
            assert!((found.global - expected).abs() < 1e-9, "{found:?}, expected {expected}");
            assert!((found.local - expected).abs() < 1e-9, "{found:?}, expected {expected}");
        }
        let height = 3.0_f64.sqrt();
        let triangular = lattice([6, 4, 1], [1.0, height, 1.0], &[[0.0; 3], [0.5, 0.5, 0.0]]);
        let found = order(&[6.0, 4.0 * height], &triangular, 1.2);
        assert!((found.global - 1.0).abs() < 1e-12 && (found.local - 1.0).abs() < 1e-12);
        let square = order(&[5.0, 5.0], &lattice([5, 5, 1], [1.0; 3], &[[0.0; 3]]), 1.2);
        assert!(square.global < 1e-12 && square.local < 1e-12, "{square:?}");
    }

    #[test]
    fn global_order_of_independent_points_is_that_of_a_random_walk() {
        // <Q_6^2> is 1 over the number of independent bonds, half of those counted.
        let mut rng = StdRng::seed_from_u64(7);
        let (edges, count) = ([10.0, 11.0, 12.0], 1000);
        let (mut square, repeats) = (0.0, 200);
        for _ in 0..repeats {
            let points = ideal_gas(&mut rng, &SimulationBox::new(&edges), count);
            square += order(&edges, &points, 1.0).global.powi(2) / f64::from(repeats);
        }
        let volume: f64 = edges.iter().product();
        let ball = 4.0 / 3.0 * std::f64::consts::PI;
        let bonds = 0.5 * (count * (count - 1)) as f64 * ball / volume;
        // 13 independent components: the relative deviation of one square is (2 / 13)^(1/2).
        let deviation = (2.0 / 13.0 / f64::from(repeats)).sqrt();
        assert!((square * bonds - 1.0).abs() < 5.0 * deviation, "{}", square * bonds);
    }

    #[test]
    fn order_does_not_depend_on_threads() {
        let mut rng = StdRng::seed_from_u64(8);
        let points = ideal_gas(&mut rng, &SimulationBox::new(&[9.0; 3]), 900);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| order(&[9.0; 3], &points, 1.4))
        };
        assert_eq!(on(1), on(3));
    }
}
