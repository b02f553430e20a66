use super::correlation::Correlation;
use super::part::Part;
use crate::plan::DynamicObservable;

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
    pub kind: DynamicObservable,
    /// Definition of `x`, as text for the file.
    pub fluctuating: String,
    /// [`Correlation::parts`].
    pub parts: fn(usize, &[usize]) -> Vec<Part>,
}

impl Correlation for Susceptibility {
    fn kind(&self) -> DynamicObservable {
        self.kind
    }

    fn formula(&self) -> String {
        format!("N (<Q^2> - <Q>^2) over time origins with Q = {}", self.fluctuating)
    }

    /// A variance.
    fn fewest_origins(&self) -> u64 {
        2
    }

    fn is_fluctuation(&self) -> bool {
        true
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        (self.parts)(species, listed)
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
