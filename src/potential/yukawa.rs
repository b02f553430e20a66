use super::description::{Bounds, Description, EPSILON, Parameter, SIGMA};
use super::evaluator::{Evaluator, named};
use super::form::{KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential};
use crate::arithmetic::Real;

/// Inverse screening length.
pub static KAPPA: Parameter = Parameter {
    name: "kappa",
    doc: "Inverse screening length of this pair (`yukawa`), in place of the potential's.",
    bounds: Bounds::Positive,
    energy: 0,
    length: -1,
    of_all_pairs: Some(
        "Inverse screening length of `yukawa`, for all pairs that do not give their own.",
    ),
    example: 3.0,
};

/// `U(r) = epsilon (sigma/r) exp(-kappa (r - sigma))`: `epsilon` is the energy at `r = sigma`.
#[derive(Clone, Copy)]
pub struct Form;

impl PairForm for Form {
    const DESCRIPTIONS: &'static [Description] = &[Description {
        parameters: &[&EPSILON, &SIGMA, &KAPPA],
        ..Description::of_epsilon_and_sigma(
            "yukawa",
            "`epsilon (sigma/r) exp(-kappa (r - sigma))`.",
            |_| Ok(PairPotential::Yukawa),
        )
    }];

    const HEADER: KernelHeader = kernel_header!("yukawa.cuh");

    type Evaluator<R: Real> = Yukawa<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> Yukawa<R> {
        Yukawa::new(pair)
    }

    fn kernel_type(&self) -> String {
        "Yukawa<R>".to_owned()
    }
}

/// The constants of a pair.
#[derive(Clone, Copy)]
pub struct Yukawa<R> {
    epsilon_sigma: R,
    kappa: R,
    kappa_sigma: R,
}

impl<R: Real> Yukawa<R> {
    fn new(pair: &PairParameters) -> Self {
        let (epsilon, sigma, kappa) = (pair.of(&EPSILON), pair.of(&SIGMA), pair.of(&KAPPA));
        Yukawa {
            epsilon_sigma: R::from_f64(epsilon * sigma),
            kappa: R::from_f64(kappa),
            kappa_sigma: R::from_f64(kappa * sigma),
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

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: epsilon_sigma, kappa, kappa_sigma)
    }
}
