use super::description::{Description, EPSILON, OwnEnd, SIGMA};
use super::evaluator::{Evaluator, named};
use super::form::{KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential, Truncation};
use crate::arithmetic::Real;

/// `U(r) = epsilon/2 (1 - r/sigma)^2` for `r < sigma`, else zero (its cutoff is at most `sigma`).
#[derive(Clone, Copy)]
pub struct Form;

impl PairForm for Form {
    const DESCRIPTIONS: &'static [Description] = &[Description {
        own_end: Some(OwnEnd {
            cutoff: 1.0,
            cutoff_in_words: "1 (each pair's sigma)",
            // It ends at zero by itself.
            truncation: Truncation::Sharp,
        }),
        ..Description::of_epsilon_and_sigma(
            "harmonic-spheres",
            "`epsilon/2 (1 - r/sigma)^2` for `r < sigma`.",
            |_| Ok(PairPotential::HarmonicSpheres),
        )
    }];

    const HEADER: KernelHeader = kernel_header!("harmonic_spheres.cuh");

    type Evaluator<R: Real> = HarmonicSpheres<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> HarmonicSpheres<R> {
        HarmonicSpheres::new(pair)
    }

    fn kernel_type(&self) -> String {
        "HarmonicSpheres<R>".to_owned()
    }
}

/// The constants of a pair.
#[derive(Clone, Copy)]
pub struct HarmonicSpheres<R> {
    inv_sigma: R,
    half_epsilon: R,
    epsilon_over_sigma: R,
}

impl<R: Real> HarmonicSpheres<R> {
    fn new(pair: &PairParameters) -> Self {
        let (epsilon, sigma) = (pair.of(&EPSILON), pair.of(&SIGMA));
        HarmonicSpheres {
            inv_sigma: R::from_f64(1.0 / sigma),
            half_epsilon: R::from_f64(0.5 * epsilon),
            epsilon_over_sigma: R::from_f64(epsilon / sigma),
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

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: inv_sigma, half_epsilon, epsilon_over_sigma)
    }
}
