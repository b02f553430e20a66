use std::f64::consts::TAU;

use crate::observable::accumulator::BlockAverage;
use crate::observable::density_modes::DensityModes;
use crate::observable::particle_order::ParticleOrder;
use crate::observable::wavevectors::{self, WaveVectorShell};
use crate::observable::{ObservableError, SampleContext, species_pairs};
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
    /// Of wave vectors with `q_x = 0` only.
    across: bool,
    shells: Vec<WaveVectorShell>,
    /// Vectors of all shells, one of each `q`, `-q`.
    modes: DensityModes,
    /// By pair, shell; of classes of diameter all particles come after the pairs.
    pub(super) averages: Vec<Vec<BlockAverage>>,
}

impl StructureFactor {
    const OF_PAIRS: &str = "<rho_a(q) rho_b(-q)> / N with rho_a(q) = sum_i^a exp(i q . r_i) and N all particles, \
                               averaged over the wave vectors of a shell";
    const OF_ALL: &str = "<|rho(q)|^2> / N with rho(q) = sum_i exp(i q . r_i), averaged over the wave vectors of a shell";
    const ACROSS: &str = " that are across the tilt, q_x = 0";

    /// Of pairs of species, or of all particles.
    pub fn formula(&self, of_all: bool) -> String {
        let of_vectors = if self.across { Self::ACROSS } else { "" };
        format!("{}{of_vectors}", if of_all { Self::OF_ALL } else { Self::OF_PAIRS })
    }

    /// # Errors
    /// For a largest wave number that is smaller than the smallest of the box, or far too large.
    pub fn new(plan: &StructurePlan, context: &SampleContext) -> Result<Self, ObservableError> {
        Self::of_vectors(plan, context, false)
    }

    /// Of wave vectors with `q_x = 0`, which fit the box at any tilt: `q = 2 pi (n_x / L_x, (n_y - u n_x) / L_y, n_z / L_z)`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn across_tilt(
        plan: &StructurePlan,
        context: &SampleContext,
    ) -> Result<Self, ObservableError> {
        Self::of_vectors(plan, context, true)
    }

    fn of_vectors(
        plan: &StructurePlan,
        context: &SampleContext,
        across: bool,
    ) -> Result<Self, ObservableError> {
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
        let fitting = match across {
            true => wavevectors::box_across(simulation_box, maximum),
            false => *simulation_box,
        };
        let shells = wavevectors::shells(&fitting, &wanted, plan.vectors_per_shell)?;
        let vectors = shells.iter().flat_map(|shell| shell.lattice_vectors()).collect();
        let pairs = species_pairs(context.species.len()).len();
        let of_all = usize::from(plan.diameter_classes.is_some());
        Ok(StructureFactor {
            across,
            modes: DensityModes::new(simulation_box, vectors),
            averages: vec![vec![BlockAverage::new(1); shells.len()]; pairs + of_all],
            shells,
        })
    }

    pub fn shells(&self) -> &[WaveVectorShell] {
        &self.shells
    }

    pub(super) fn sample(&mut self, snapshot: &Snapshot, order: &ParticleOrder) {
        let densities = self.modes.densities(snapshot, order);
        self.add(&densities, order.len());
    }

    /// Integers of the wave vectors of all shells, one of each `q`, `-q`.
    pub(super) fn vectors(&self) -> Vec<[i32; 3]> {
        self.shells.iter().flat_map(WaveVectorShell::lattice_vectors).collect()
    }

    /// Adds a sample of a number of particles with these `rho_a(q)`, by species, vector.
    pub(super) fn add(&mut self, densities: &[Vec<[f64; 2]>], particles: usize) {
        let pairs = species_pairs(densities.len());
        for (pair, &(a, b)) in pairs.iter().enumerate() {
            self.add_to(pair, [&densities[a], &densities[b]], particles);
        }
        if self.averages.len() > pairs.len() {
            let sum = |vector: usize| {
                densities
                    .iter()
                    .fold([0.0; 2], |[re, im], of| [re + of[vector][0], im + of[vector][1]])
            };
            let of_all: Vec<[f64; 2]> = (0..densities[0].len()).map(sum).collect();
            self.add_to(pairs.len(), [&of_all, &of_all], particles);
        }
    }

    /// Adds a sample of these `rho_a(q)` and `rho_b(q)`, by vector.
    fn add_to(&mut self, average: usize, [a, b]: [&[[f64; 2]]; 2], particles: usize) {
        let mut products = a.iter().zip(b).map(|(a, b)| a[0] * b[0] + a[1] * b[1]);
        for (shell, average) in self.shells.iter().zip(&mut self.averages[average]) {
            let count = shell.count();
            let sum: f64 = products.by_ref().take(count as usize).sum();
            average.push(&[sum / (count as f64 * particles as f64)]);
        }
    }
}
