use super::description::{Description, EPSILON, SIGMA};
use super::evaluator::{Evaluator, named};
use super::form::{KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential};
use crate::arithmetic::Real;

/// `U(r) = epsilon exp(-(r/sigma)^2)` (Stillinger 1976).
#[derive(Clone, Copy)]
pub struct Form;

impl PairForm for Form {
    const DESCRIPTIONS: &'static [Description] = &[Description::of_epsilon_and_sigma(
        "gaussian-core",
        "`epsilon exp(-(r/sigma)^2)`.",
        |_| Ok(PairPotential::GaussianCore),
    )];

    const HEADER: KernelHeader = kernel_header!("gaussian_core.cuh");

    type Evaluator<R: Real> = GaussianCore<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> GaussianCore<R> {
        GaussianCore::new(pair)
    }

    fn kernel_type(&self) -> String {
        "GaussianCore<R>".to_owned()
    }
}

/// The constants of a pair.
#[derive(Clone, Copy)]
pub struct GaussianCore<R> {
    epsilon: R,
    minus_inv_sigma2: R,
    two_inv_sigma2: R,
}

impl<R: Real> GaussianCore<R> {
    fn new(pair: &PairParameters) -> Self {
        let (epsilon, sigma) = (pair.of(&EPSILON), pair.of(&SIGMA));
        let inv_sigma2 = 1.0 / (sigma * sigma);
        GaussianCore {
            epsilon: R::from_f64(epsilon),
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

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: epsilon, minus_inv_sigma2, two_inv_sigma2)
    }
}
