use super::PairParameters;
use super::evaluator::Evaluator;
use crate::arithmetic::Real;

/// `U(r) = epsilon/2 (1 - r/sigma)^2` for `r < sigma`, else zero (its cutoff is at most `sigma`).
#[derive(Clone, Copy)]
pub struct HarmonicSpheres<R> {
    inv_sigma: R,
    half_epsilon: R,
    epsilon_over_sigma: R,
}

impl<R: Real> HarmonicSpheres<R> {
    pub fn new(pair: &PairParameters) -> Self {
        HarmonicSpheres {
            inv_sigma: R::from_f64(1.0 / pair.sigma),
            half_epsilon: R::from_f64(0.5 * pair.epsilon),
            epsilon_over_sigma: R::from_f64(pair.epsilon / pair.sigma),
        }
    }
}

impl<R: Real> Evaluator<R> for HarmonicSpheres<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let inv_r = r2.inverse_sqrt();
        let overlap = (-(r2 * inv_r)).fused(self.inv_sigma, R::ONE);
        (self.epsilon_over_sigma * overlap * inv_r, self.half_epsilon * overlap * overlap)
    }

    fn contact_energy(&self) -> Option<R> {
        Some(self.half_epsilon)
    }

    fn constants(&self) -> Vec<R> {
        vec![self.inv_sigma, self.half_epsilon, self.epsilon_over_sigma]
    }
}
