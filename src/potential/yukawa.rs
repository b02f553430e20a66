use super::PairParameters;
use super::evaluator::Evaluator;
use crate::arithmetic::Real;

/// `U(r) = epsilon (sigma/r) exp(-kappa (r - sigma))`.
#[derive(Clone, Copy)]
pub struct Yukawa<R> {
    epsilon_sigma: R,
    kappa: R,
    kappa_sigma: R,
}

impl<R: Real> Yukawa<R> {
    pub fn new(pair: &PairParameters) -> Self {
        Yukawa {
            epsilon_sigma: R::from_f64(pair.epsilon * pair.sigma),
            kappa: R::from_f64(pair.kappa),
            kappa_sigma: R::from_f64(pair.kappa * pair.sigma),
        }
    }
}

impl<R: Real> Evaluator<R> for Yukawa<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let inv_r = r2.inverse_sqrt();
        let r = r2 * inv_r;
        let energy = self.epsilon_sigma * inv_r * (-self.kappa).fused(r, self.kappa_sigma).exp();
        (energy * (self.kappa + inv_r) * inv_r, energy)
    }

    fn constants(&self) -> Vec<R> {
        vec![self.epsilon_sigma, self.kappa, self.kappa_sigma]
    }
}
