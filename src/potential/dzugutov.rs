use super::description::{Description, EPSILON, OwnEnd, SIGMA};
use super::evaluator::{Evaluator, named};
use super::form::{KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential, Truncation};
use crate::arithmetic::Real;

// M. Dzugutov, Phys. Rev. A 46, R2984 (1992). The exponent of the repulsion is 16.
const A: f64 = 5.82;
const B: f64 = 1.28;
const C: f64 = 1.1;
const D: f64 = 0.27;
/// Where the two terms end, in units of sigma.
const FIRST_END: f64 = 1.87;
const SECOND_END: f64 = 1.94;

/// Nearer to its end than this a term is zero in 64 bits, too: `exp(-0.27 2^12)`.
const LEAST_GAP: f64 = 1.0 / 4096.0;

/// `U(r) = epsilon (A (x^-16 - B) exp(c/(x - a)) + B exp(d/(x - b)))`, `x = r/sigma`: the first term for `x < a`, the second for `x < b`.
///
/// All derivatives are zero at the end of either. The minimum is `-0.58 epsilon` near `1.13 sigma`; a maximum near `1.63 sigma`
/// disfavours the distances of close-packed crystals.
#[derive(Clone, Copy)]
pub struct Form;

impl PairForm for Form {
    const DESCRIPTIONS: &'static [Description] = &[Description {
        own_end: Some(OwnEnd {
            cutoff: SECOND_END,
            cutoff_in_words: "1.94 (in units of each pair's sigma)",
            // It ends at zero by itself.
            truncation: Truncation::Sharp,
        }),
        ..Description::of_epsilon_and_sigma(
            "dzugutov",
            "`epsilon [A (x^-16 - B) exp(c/(x - a)) + B exp(d/(x - b))]`, `x = r/sigma`, the first term for `x < a = 1.87`, the second for `x < b = 1.94`; `A` = 5.82, `B` = 1.28, `c` = 1.1, `d` = 0.27.",
            |_| Ok(PairPotential::Dzugutov),
        )
    }];

    const HEADER: KernelHeader = kernel_header!("dzugutov.cuh");

    type Evaluator<R: Real> = Dzugutov<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> Dzugutov<R> {
        Dzugutov::new(pair)
    }

    fn kernel_type(&self) -> String {
        "Dzugutov<R>".to_owned()
    }
}

/// The constants of a pair.
#[derive(Clone, Copy)]
pub struct Dzugutov<R> {
    inv_sigma2: R,
    /// `epsilon A` and `epsilon B`.
    first: R,
    second: R,
}

impl<R: Real> Dzugutov<R> {
    fn new(pair: &PairParameters) -> Self {
        let (epsilon, sigma) = (pair.of(&EPSILON), pair.of(&SIGMA));
        Dzugutov {
            inv_sigma2: R::from_f64(1.0 / (sigma * sigma)),
            first: R::from_f64(A * epsilon),
            second: R::from_f64(B * epsilon),
        }
    }
}

/// `exp(rate / (x - end))` before the end, zero beyond, and the square of `1 / (x - end)`.
#[inline(always)]
fn decay<R: Real>(x: R, end: f64, rate: f64) -> (R, R) {
    let gap = x - R::from_f64(end);
    let least = R::from_f64(-LEAST_GAP);
    let gap = if gap < least { gap } else { least };
    let inverse = gap.inverse();
    ((R::from_f64(rate) * inverse).exp(), inverse * inverse)
}

impl<R: Real> Evaluator<R> for Dzugutov<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let x2 = r2 * self.inv_sigma2;
        let inv_x = x2.inverse_sqrt();
        let x = x2 * inv_x;
        let inv_x2 = inv_x * inv_x;
        let inv_x4 = inv_x2 * inv_x2;
        let inv_x8 = inv_x4 * inv_x4;
        let power = inv_x8 * inv_x8;
        let (decay_1, square_1) = decay(x, FIRST_END, C);
        let (decay_2, square_2) = decay(x, SECOND_END, D);
        let amplitude = self.first * decay_1;
        let first = amplitude * (power - R::from_f64(B));
        let second = self.second * decay_2;
        // -U'(x) = 16 A e_1 x^-17 + U_1 c / (x - a)^2 + U_2 d / (x - b)^2
        let of_decays =
            (first * R::from_f64(C)).fused(square_1, (second * R::from_f64(D)) * square_2);
        let slope = ((R::from_f64(16.0) * amplitude) * power).fused(inv_x, of_decays);
        ((slope * inv_x) * self.inv_sigma2, first + second)
    }

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: inv_sigma2, first, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::potential::evaluate_exactly;

    /// The formula as it is written.
    fn formula(x: f64) -> f64 {
        let first =
            if x < 1.87 { 5.82 * (x.powi(-16) - 1.28) * (1.1 / (x - 1.87)).exp() } else { 0.0 };
        let second = if x < 1.94 { 1.28 * (0.27 / (x - 1.94)).exp() } else { 0.0 };
        first + second
    }

    fn of_pair(r: f64) -> (f64, f64) {
        let pair = PairParameters::of_epsilon_and_sigma(1.5, 0.8, SECOND_END * 0.8);
        evaluate_exactly(PairPotential::Dzugutov, &Truncation::Sharp, &pair, r)
    }

    #[test]
    fn energy_and_force_are_those_of_the_formula() {
        for k in 0..1200 {
            let x = 0.8 + 0.001 * f64::from(k);
            let (force, energy) = of_pair(0.8 * x);
            let expected = 1.5 * formula(x);
            assert!((energy - expected).abs() < 1e-13 * (1.0 + expected.abs()), "{x}: {energy}");
            // By differences: errors of h^2 U'''/6, with U''' up to 17^3 U, and of 1e-16 U / h.
            let h = 1e-5;
            let slope = 1.5 * (formula(x + h) - formula(x - h)) / (2.0 * h);
            let along = -force * (0.8 * x) * 0.8;
            assert!((along - slope).abs() < 1e-6 * (1.0 + expected.abs()), "{x}: {along} {slope}");
        }
    }

    #[test]
    fn it_ends_without_a_jump_and_has_its_extrema() {
        let (force, energy) = of_pair(0.8 * (SECOND_END - 1e-3));
        assert!(force.abs() < 1e-100 && energy.abs() < 1e-100, "{force} {energy}");
        let at = |k: u32| 1.5 * formula(1.0 + 1e-4 * f64::from(k));
        let minimum = (0..9000).min_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap();
        let maximum = (4000..9000).max_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap();
        assert!((1200..1400).contains(&minimum), "{minimum}");
        assert!((6000..6500).contains(&maximum), "{maximum}");
        assert!((at(minimum) / 1.5 + 0.581).abs() < 1e-3, "{}", at(minimum) / 1.5);
    }
}
