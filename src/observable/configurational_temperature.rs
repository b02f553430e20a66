//! The temperature that configurations have by themselves.
//!
//! `k_B T = <sum_i |F_i|^2> / <sum_i laplacian_i U>`, without any velocity: in the canonical ensemble by partial integration, at constant
//! energy up to terms of the order of `1/N` (H. H. Rugh, Phys. Rev. Lett. 78, 772 (1997); B. D. Butler, G. Ayton, O. G. Jepps and
//! D. J. Evans, J. Chem. Phys. 109, 6519 (1998)). It holds where the force is continuous: a jump at the cutoff has a part in the
//! Laplacian that no sum over pairs sees.
use rayon::prelude::*;

use super::SampleContext;
use super::hessian::Interactions;
use crate::potential::PotentialPlan;
use crate::system::Snapshot;

/// Particles that are summed together: sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// What a configuration has of it, per particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForcesAndCurvature {
    /// `sum_i |F_i|^2 / N`, in `epsilon^2 / sigma^2`.
    pub squared_force: f64,
    /// `sum_i laplacian_i U / N`, in `epsilon / sigma^2`.
    pub laplacian: f64,
}

impl ForcesAndCurvature {
    /// Of all particles where a snapshot has them, in 64-bit floats: the same bits of the same positions, whatever engine moves them.
    /// Two particles at the same place have no part in each other's.
    pub fn of(potential: &PotentialPlan, context: &SampleContext, snapshot: &Snapshot) -> Self {
        let Snapshot { position, diameter, .. } = snapshot;
        let count = position.len();
        let (simulation_box, species_of) = (context.simulation_box, &context.species_of);
        let interactions =
            Interactions::new(simulation_box, potential, species_of, position, diameter);
        let of_chunk = |chunk: usize| {
            let particles = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
            let each = particles.map(|particle| interactions.squared_force_and_laplacian(particle));
            each.fold([0.0; 2], add)
        };
        let chunks: Vec<[f64; 2]> =
            (0..count.div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect();
        let [squared_force, laplacian] =
            chunks.into_iter().fold([0.0; 2], add).map(|sum| sum / count as f64);
        ForcesAndCurvature { squared_force, laplacian }
    }

    /// The ratio, of which the mean over configurations is off by the order of `1/N`. NaN where the Laplacian is not positive.
    pub fn configurational_temperature(&self) -> f64 {
        if self.laplacian > 0.0 { self.squared_force / self.laplacian } else { f64::NAN }
    }
}

fn add([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
    [a + c, b + d]
}
