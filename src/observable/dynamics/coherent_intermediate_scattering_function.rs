use super::correlation::{Correlation, Part};
use super::terms::{Rows, SampleTerms};
use crate::observable::sample::Sample;
use crate::observable::wavevectors::WaveVectorShell;
use crate::plan::DynamicObservable;

/// `F_ab(q, t) = <rho_a(q, t) rho_b(-q, 0)> / N` with `rho_a(q) = sum_i^a exp(i q . r_i)` and `N` all particles; real
/// part, averaged over the wave vectors of a shell. For `a != b` the mean of `ab` and `ba`, which are equal
/// on average (time reversal). At lag zero it is `S_ab(q)`.
///
/// For every pair of species, and with the density of all particles: the sum over all ordered pairs
/// `(a, b)`. Density modes are summed once per sample and kept in the blocks instead of particles, so that a
/// pair of samples costs one product per wave vector.
pub struct CoherentIntermediateScatteringFunction;

impl Correlation for CoherentIntermediateScatteringFunction {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::CoherentIntermediateScatteringFunction
    }

    fn formula(&self) -> String {
        "<rho_a(q,t) rho_b(-q,0)> / N with rho_a(q) = sum_i^a exp(i q . r_i) and N all particles, \
         averaged over the wave vectors of a shell"
            .into()
    }

    fn parts(&self, species: usize) -> Vec<Part> {
        Part::pairs_and_all(species)
    }

    /// Wave vectors.
    fn samples_per_origin(&self, _particles: usize, vectors: u64) -> u64 {
        vectors
    }
}

/// `Re rho_a(q, t) rho_b(-q, 0) / N`, symmetric in `a` and `b`, averaged over the wave vectors of a shell.
pub struct DensityProduct {
    shells: Vec<WaveVectorShell>,
    particles: usize,
}

impl DensityProduct {
    pub fn new(shells: Vec<WaveVectorShell>, particles: usize) -> Self {
        DensityProduct { shells, particles }
    }
}

impl SampleTerms for DensityProduct {
    fn rows(&self) -> Rows<'_> {
        Rows::Shells(&self.shells)
    }

    fn evaluate(&self, origin: &Sample, later: &Sample, part: Part, terms: &mut [f64]) {
        let [first, second] = match part {
            Part::Pair(a, b) => [a..a + 1, b..b + 1],
            _ => [0, 1].map(|_| 0..origin.densities().len()),
        };
        let mode = |sample: &Sample, species: &std::ops::Range<usize>, vector: usize| {
            sample.densities()[species.clone()]
                .iter()
                .fold([0.0; 2], |sum, modes| [sum[0] + modes[vector][0], sum[1] + modes[vector][1]])
        };
        let product = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let mut vector = 0;
        for (shell, term) in self.shells.iter().zip(terms) {
            let mut sum = 0.0;
            for _ in 0..shell.count() {
                let there = product(mode(later, &first, vector), mode(origin, &second, vector));
                let back = product(mode(later, &second, vector), mode(origin, &first, vector));
                sum += 0.5 * (there + back);
                vector += 1;
            }
            *term = sum / (shell.count() as f64 * self.particles as f64);
        }
    }
}
