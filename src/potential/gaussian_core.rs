use super::PairParameters;
use super::evaluator::Evaluator;
use crate::arithmetic::Real;

/// `U(r) = epsilon exp(-(r/sigma)^2)` (Stillinger 1976).
#[derive(Clone, Copy)]
pub struct GaussianCore<R> {
    epsilon: R,
    minus_inv_sigma2: R,
    two_inv_sigma2: R,
}

impl<R: Real> GaussianCore<R> {
    pub fn new(pair: &PairParameters) -> Self {
        let inv_sigma2 = 1.0 / (pair.sigma * pair.sigma);
        GaussianCore {
            epsilon: R::from_f64(pair.epsilon),
            minus_inv_sigma2: R::from_f64(-inv_sigma2),
            two_inv_sigma2: R::from_f64(2.0 * inv_sigma2),
        }
    }
}

impl<R: Real> Evaluator<R> for GaussianCore<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let energy = self.epsilon * (r2 * self.minus_inv_sigma2).exp();
        (energy * self.two_inv_sigma2, energy)
    }

    fn contact_energy(&self) -> Option<R> {
        Some(self.epsilon)
    }

    fn constants(&self) -> Vec<R> {
        vec![self.epsilon, self.minus_inv_sigma2, self.two_inv_sigma2]
    }
}
