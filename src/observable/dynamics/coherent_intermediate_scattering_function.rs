use std::borrow::Cow;
use std::ops::Range;

use super::correlation::Correlation;
use super::evaluator::Evaluator;
use super::part::Part;
use super::registry::Definition;
use super::source::{Held, Need, Source};
use super::terms::{Rows, SampleTerms, Terms};
use crate::observable::sample::Sample;
use crate::observable::wavevectors::{WaveVectorShell, shells_of_modes};
use crate::plan::DynamicObservable;

/// `F_ab(q, t) = <rho_a(q, t) rho_b(-q, 0)> / N` with `rho_a(q) = sum_i^a exp(i q . r_i)` and `N` all particles; real
/// part, averaged over the wave vectors of a shell. For `a != b` the mean of `ab` and `ba`, which are equal
/// on average (time reversal). At lag zero it is `S_ab(q)`.
///
/// In a flow wave vectors are those with `q_x = 0`: a mode of `q` is carried to `q(t) = q - rate t q_x e_y` (Fuchs & Cates, Phys. Rev. Lett.
/// 89, 248304 (2002)), and these stay.
///
/// For every pair of species, and with the density of all particles: the sum over all ordered pairs
/// `(a, b)`. Density modes are summed once per sample and kept in the blocks instead of particles, so that a
/// pair of samples costs one product per wave vector.
pub struct CoherentIntermediateScatteringFunction;

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |_, _| Box::new(CoherentIntermediateScatteringFunction),
};

pub(super) static SOURCE: Source = Source {
    name: "density product",
    needs: &[Need::Wavenumbers],
    samples: Held::Modes,
    evaluator: Evaluator::Densities,
    constants: &[],
    terms: |plan, context| {
        let product =
            DensityProduct::new(shells_of_modes(plan, context)?, context.species_of.len());
        Ok(Terms::Samples(Box::new(product)))
    },
};

impl Correlation for CoherentIntermediateScatteringFunction {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::CoherentIntermediateScatteringFunction
    }

    fn formula(&self) -> String {
        "<rho_a(q,t) rho_b(-q,0)> / N with rho_a(q) = sum_i^a exp(i q . r_i) and N all particles, \
         averaged over the wave vectors of a shell"
            .into()
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::pairs_and_all(species, listed)
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
        let mut start = 0;
        for (shell, term) in self.shells.iter().zip(terms) {
            let vectors = start..start + shell.count() as usize;
            start = vectors.end;
            let sum = |[a, b]: &[Cow<[[f64; 2]]>; 2]| {
                sum_of_products(&a[vectors.clone()], &b[vectors.clone()])
            };
            let sum = 0.5 * (sum(&there) + sum(&back));
            *term = sum / (shell.count() as f64 * self.particles as f64);
        }
    }
}

/// `Re a b*`, summed in an order that is fixed and fit for vector units.
fn sum_of_products(a: &[[f64; 2]], b: &[[f64; 2]]) -> f64 {
    const WIDTH: usize = 4;
    let mut sums = [[0.0; 2]; WIDTH];
    let mut add = |a: &[[f64; 2]], b: &[[f64; 2]]| {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            sum[0] += a[0] * b[0];
            sum[1] += a[1] * b[1];
        }
    };
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<WIDTH>(), b.as_chunks::<WIDTH>());
    a.iter().zip(b).for_each(|(a, b)| add(a, b));
    add(a_rest, b_rest);
    sums.iter().flatten().sum()
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
