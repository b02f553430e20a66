use super::correlation::Correlation;
use super::displacement_moments;
use super::registry::Definition;
use crate::plan::DynamicObservable;

/// `alpha_2(t) = D <|dr|^4> / ((D + 2) <|dr|^2>^2) - 1` in `D` dimensions, over the particles of a
/// species: zero for Gaussian displacements, `D / (D + 2) - 1` for displacements of equal length
/// (Rahman, Phys. Rev. 136, A405 (1964)).
///
/// Both moments are averaged over all time origins before the ratio is taken; the error contains their
/// covariance. Not defined at lag zero.
pub struct NonGaussianParameter {
    dimension: usize,
}

pub(super) static DEFINITION: Definition = Definition {
    source: &displacement_moments::SOURCE,
    correlation: |_, context| {
        Box::new(NonGaussianParameter::new(context.simulation_box.dimension()))
    },
};

impl NonGaussianParameter {
    pub fn new(dimension: usize) -> Self {
        NonGaussianParameter { dimension }
    }
}

impl Correlation for NonGaussianParameter {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::NonGaussianParameter
    }

    fn formula(&self) -> String {
        match self.dimension {
            2 => "<|r_i(t) - r_i(0)|^4> / (2 <|r_i(t) - r_i(0)|^2>^2) - 1".into(),
            _ => "3 <|r_i(t) - r_i(0)|^4> / (5 <|r_i(t) - r_i(0)|^2>^2) - 1".into(),
        }
    }

    fn components(&self) -> usize {
        2
    }

    fn has_lag_zero(&self) -> bool {
        false
    }

    fn value(&self, _particles: usize, averages: &[f64]) -> (f64, [f64; 2]) {
        let (square, quartic) = (averages[0], averages[1]);
        let factor = self.dimension as f64 / (self.dimension as f64 + 2.0);
        let ratio = factor * quartic / (square * square);
        (ratio - 1.0, [-2.0 * ratio / square, factor / (square * square)])
    }
}
