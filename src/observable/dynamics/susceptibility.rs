use super::bond_breaking;
use super::correlation::{Correlation, Part};
use super::source::Source;
use crate::plan::{BondPlan, DynamicObservable};

/// Four-point susceptibility `chi_4(t) = N (<x^2> - <x>^2)` with `x` the mean over `N` particles at one time
/// origin and `< >` the average over origins: the dynamic heterogeneity seen by the overlap (Lacevic et
/// al., J. Chem. Phys. 119, 7372 (2003), there times `V / (N T)`), by the bonds that are kept, or by `cos(q . dr)`, of
/// which `x` is the mean over particles and over the wave vectors of a shell.
///
/// It is the susceptibility of the stage's ensemble: without a thermostat energy does not fluctuate, and
/// composition never does (Berthier et al., Science 310, 1797 (2005)). The variance is that of the
/// sample, smaller than the true one by the squared error of `<x>`. The error is that of
/// [`BlockAverage`](crate::observable::accumulator::BlockAverage) for `<x>` and `<x^2>` with their covariance.
pub struct Susceptibility {
    kind: DynamicObservable,
    overlap_length: f64,
    bonds: BondPlan,
}

impl Susceptibility {
    pub fn new(kind: DynamicObservable, overlap_length: f64, bonds: BondPlan) -> Self {
        Susceptibility { kind, overlap_length, bonds }
    }
}

impl Correlation for Susceptibility {
    fn kind(&self) -> DynamicObservable {
        self.kind
    }

    fn formula(&self) -> String {
        let x = match self.source() {
            Source::SelfOverlap(_) => {
                format!("Q = sum_i theta(a - |r_i(t) - r_i(0)|) / N, a = {}", self.overlap_length)
            }
            Source::CollectiveOverlap => format!(
                "Q = sum_i sum_j theta(a - |r_j(t) - r_i(0)|) / N, a = {}",
                self.overlap_length
            ),
            Source::BondBreaking => {
                format!("Q = sum_i [n_i(t) / n_i(0)] / N, {}", bond_breaking::definition(self.bonds))
            }
            _ => "Q = sum_q sum_i cos(q . [r_i(t) - r_i(0)]) / (n N) over the N particles and the n wave vectors of a \
                  shell, both before it is squared"
                .into(),
        };
        format!("N (<Q^2> - <Q>^2) over time origins with {x}")
    }

    /// A variance.
    fn fewest_origins(&self) -> u64 {
        2
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        match self.source() {
            Source::CollectiveOverlap => vec![Part::All],
            _ => Part::species_and_all(species, listed),
        }
    }

    fn components(&self) -> usize {
        2
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components.copy_from_slice(&[terms[0], terms[0] * terms[0]]);
    }

    fn value(&self, particles: usize, averages: &[f64]) -> (f64, [f64; 2]) {
        let (number, [mean, square]) = (particles as f64, [averages[0], averages[1]]);
        (number * (square - mean * mean), [-2.0 * number * mean, number])
    }

    /// Origins.
    fn samples_per_origin(&self, _particles: usize, _vectors: u64) -> u64 {
        1
    }
}
