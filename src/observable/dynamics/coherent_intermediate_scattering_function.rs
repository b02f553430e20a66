use std::borrow::Cow;
use std::ops::Range;

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
        let [there, back] = [(&first, &second), (&second, &first)]
            .map(|(a, b)| [total(later, a.clone()), total(origin, b.clone())]);
        let product = |modes: &[Cow<[[f64; 2]]>; 2], vector: usize| {
            let [[a_re, a_im], [b_re, b_im]] = [modes[0][vector], modes[1][vector]];
            a_re * b_re + a_im * b_im
        };
        let mut vector = 0;
        for (shell, term) in self.shells.iter().zip(terms) {
            let mut sum = 0.0;
            for _ in 0..shell.count() {
                sum += 0.5 * (product(&there, vector) + product(&back, vector));
                vector += 1;
            }
            *term = sum / (shell.count() as f64 * self.particles as f64);
        }
    }
}

/// Modes of the density of several species.
fn total(sample: &Sample, species: Range<usize>) -> Cow<'_, [[f64; 2]]> {
    match &sample.densities()[species] {
        [one] => Cow::Borrowed(one),
        several => {
            let mut total = vec![[0.0; 2]; several[0].len()];
            for modes in several {
                for (sum, mode) in total.iter_mut().zip(modes) {
                    sum[0] += mode[0];
                    sum[1] += mode[1];
                }
            }
            Cow::Owned(total)
        }
    }
}
