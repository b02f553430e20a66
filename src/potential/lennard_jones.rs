use super::description::{Description, EPSILON, OwnEnd, SIGMA};
use super::evaluator::{Evaluator, ReducedUnits, named};
use super::form::{KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential, Truncation};
use crate::arithmetic::Real;

/// 2^(1/6), rounded to nearest: the minimum in units of sigma.
const MINIMUM: f64 = 1.122_462_048_309_373;

/// Lennard-Jones 12-6, `U(r) = 4 epsilon [(sigma/r)^12 - (sigma/r)^6]`; also WCA by its cutoff.
#[derive(Clone, Copy)]
pub struct Form;

impl PairForm for Form {
    const DESCRIPTIONS: &'static [Description] = &[
        Description::of_epsilon_and_sigma(
            "lennard-jones",
            "`4 epsilon [(sigma/r)^12 - (sigma/r)^6]`.",
            |_| Ok(PairPotential::LennardJones),
        ),
        Description {
            own_end: Some(OwnEnd {
                cutoff: MINIMUM,
                cutoff_in_words: "2^(1/6) of each pair's sigma",
                truncation: Truncation::Shifted,
            }),
            ..Description::of_epsilon_and_sigma(
                "wca",
                "Lennard-Jones, cut at its minimum `2^(1/6) sigma` and shifted to zero there.",
                |_| Ok(PairPotential::LennardJones),
            )
        },
    ];

    const HAS_ITS_OWN_LOOPS: bool = true;

    const HEADER: KernelHeader = kernel_header!("lennard_jones.cuh");

    type Evaluator<R: Real> = LennardJones<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> LennardJones<R> {
        LennardJones::new(pair)
    }

    fn kernel_type(&self) -> String {
        "LennardJones<R>".to_owned()
    }
}

/// The constants of a pair.
#[derive(Clone, Copy)]
pub struct LennardJones<R> {
    force_12: R,
    force_6: R,
    energy_12: R,
    energy_6: R,
}

impl<R: Real> LennardJones<R> {
    fn new(pair: &PairParameters) -> Self {
        let (epsilon, sigma) = (pair.of(&EPSILON), pair.of(&SIGMA));
        // Written out: `powi` may differ by a bit between a constant and a variable.
        let sigma_2 = sigma * sigma;
        let sigma_6 = sigma_2 * (sigma_2 * sigma_2);
        let four_epsilon = 4.0 * epsilon;
        LennardJones {
            force_12: R::from_f64(12.0 * four_epsilon * sigma_6 * sigma_6),
            force_6: R::from_f64(-6.0 * four_epsilon * sigma_6),
            energy_12: R::from_f64(four_epsilon * sigma_6 * sigma_6),
            energy_6: R::from_f64(-four_epsilon * sigma_6),
        }
    }
}

impl<R: Real> Evaluator<R> for LennardJones<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let inv_r2 = r2.inverse();
        let inv_r6 = inv_r2 * inv_r2 * inv_r2;
        let force = inv_r6 * inv_r2 * self.force_12.fused(inv_r6, self.force_6);
        let energy = inv_r6 * self.energy_12.fused(inv_r6, self.energy_6);
        (force, energy)
    }

    const REDUCED: ReducedUnits = ReducedUnits { sigma: true, force: 48.0, energy: 4.0 };

    /// `-U'(r)/r = 48 (r^-12 - r^-6 / 2) / r^2`, `U(r) = 4 (r^-12 - r^-6)`.
    #[inline(always)]
    fn evaluate_reduced(&self, r2: R, raise: R, shift: R) -> (R, R) {
        let inv_r2 = r2.inverse();
        let inv_r6 = inv_r2 * inv_r2 * inv_r2;
        let difference = inv_r6.fused(inv_r6, -inv_r6);
        let half = R::from_f64(0.5);
        (inv_r2 * inv_r6.fused(half, difference), difference.fused(raise, -shift))
    }

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: force_12, force_6, energy_12, energy_6)
    }
}
