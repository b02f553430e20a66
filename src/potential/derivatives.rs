//! First and second derivatives of truncated potentials, of any form.
use super::form::{FormVisitor, PairForm};
use super::{PairParameters, PairUnits, PotentialPlan, Truncated, Truncation};
use crate::arithmetic::{Dual, Real};

/// What a pair has at a distance `r`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairDerivatives {
    /// `U(r)`.
    pub energy: f64,
    /// `F = -U'(r)/r`.
    pub force: f64,
    /// `F' = dF / d(r^2)`.
    pub slope: f64,
}

impl PairDerivatives {
    /// `U''(r) = -F - 2 r^2 F'`.
    pub fn second(&self, r2: f64) -> f64 {
        -self.force - 2.0 * r2 * self.slope
    }

    /// Derivatives of `U(|x|)` by two components of `x`: `-F delta_ab - 2 F' x_a x_b`.
    pub fn hessian(&self, x: [f64; 3]) -> [[f64; 3]; 3] {
        std::array::from_fn(|a| {
            std::array::from_fn(|b| {
                let diagonal = if a == b { self.force } else { 0.0 };
                -diagonal - 2.0 * self.slope * x[a] * x[b]
            })
        })
    }
}

/// Derivatives of a pair at a squared distance.
pub type PairFunction = Box<dyn Fn(f64) -> PairDerivatives + Send + Sync>;

/// The truncated potential of a pair in 64 bits, with its derivatives: those of the formula, exact up to rounding. All are zero beyond
/// the cutoff; at `r = 0` force and slope are zero, and the energy of a potential with a pole is infinite.
pub fn pair_function(plan: &PotentialPlan, pair: &PairParameters) -> PairFunction {
    struct Of<'a>(&'a PairParameters, &'a Truncation);

    impl FormVisitor for Of<'_> {
        type Output = PairFunction;

        fn visit<F: PairForm>(self, form: F) -> PairFunction {
            let Of(pair, truncation) = self;
            let truncated = Truncated::<Dual, F::Evaluator<Dual>>::new(
                &form,
                pair,
                truncation,
                PairUnits::default(),
            );
            let kind = truncation.kind();
            Box::new(move |r2| {
                if r2 < f64::COINCIDENT2 {
                    let energy = truncated.contact_energy().map_or(f64::INFINITY, Real::to_f64);
                    return PairDerivatives { energy, ..PairDerivatives::default() };
                }
                if r2 >= truncated.cutoff2().to_f64() {
                    return PairDerivatives::default();
                }
                let r2 = Dual::variable(r2);
                let (force, energy) = truncated.evaluate_as(kind, r2);
                PairDerivatives { energy: energy.value, force: force.value, slope: force.slope }
            })
        }
    }

    plan.form.visit(Of(pair, &plan.truncation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::potential::{PairPotential, evaluate_exactly};

    const FORMS: [PairPotential; 10] = [
        PairPotential::LennardJones,
        PairPotential::Mie { m: 12, n: 6 },
        PairPotential::Mie { m: 13, n: 7 },
        PairPotential::InversePower { n: 12 },
        PairPotential::InversePower { n: 9 },
        PairPotential::HarmonicSpheres,
        PairPotential::Yukawa,
        PairPotential::GaussianCore,
        PairPotential::Buckingham,
        PairPotential::Dzugutov,
    ];
    const TRUNCATIONS: [Truncation; 5] = [
        Truncation::Sharp,
        Truncation::Shifted,
        Truncation::ForceShifted,
        Truncation::EvenQuartic,
        Truncation::Smooth { width: 0.05 },
    ];

    fn pair_of(form: PairPotential) -> PairParameters {
        match form {
            PairPotential::HarmonicSpheres => PairParameters::of_form(form, 1.1, &[0.7, 1.1]),
            PairPotential::Yukawa => PairParameters::of_form(form, 2.0, &[0.7, 1.1, 3.0]),
            PairPotential::Buckingham => PairParameters::of_form(form, 2.5, &[1000.0, 0.25, 2.0]),
            _ => PairParameters::of_form(form, 2.2, &[0.7, 1.1]),
        }
    }

    #[test]
    fn they_are_those_of_the_pair_loop_and_its_differences() {
        for form in FORMS {
            for truncation in TRUNCATIONS {
                let pair = pair_of(form);
                let plan =
                    PotentialPlan { form, truncation, pairs: vec![vec![pair]], diameters: None };
                let function = pair_function(&plan, &pair);
                let mut compared = 0;
                for k in 0..150 {
                    let r = 0.85 + 0.01 * f64::from(k);
                    let of = function(r * r);
                    assert_eq!(
                        evaluate_exactly(form, &truncation, &pair, r),
                        (of.force, of.energy)
                    );
                    if r + 2e-5 > pair.cutoff {
                        assert!(r < pair.cutoff || of == PairDerivatives::default());
                        continue;
                    }
                    // U'' by differences of U' = -r F, of which the error is of h^2 U''''/6 and 1e-16 / h.
                    let h = 1e-5;
                    let slope = |r: f64| -r * evaluate_exactly(form, &truncation, &pair, r).0;
                    let expected = (slope(r + h) - slope(r - h)) / (2.0 * h);
                    let found = of.second(r * r);
                    let scale = 1.0 + expected.abs() + of.force.abs();
                    assert!(
                        (found - expected).abs() < 1e-6 * scale,
                        "{form:?} {truncation:?} {r}: {found} {expected}"
                    );
                    compared += 1;
                }
                assert!(compared > 20, "{form:?}");
            }
        }
    }

    #[test]
    fn lennard_jones_at_its_minimum() {
        // U'' = 72 epsilon / (2^(1/3) sigma^2) there, and no force: 57.1464...
        let pair = PairParameters::of_epsilon_and_sigma(1.0, 1.0, 2.5);
        let plan = PotentialPlan {
            diameters: None,
            form: PairPotential::LennardJones,
            truncation: Truncation::Shifted,
            pairs: vec![vec![pair]],
        };
        let r2 = 2.0f64.powf(1.0 / 3.0);
        let of = pair_function(&plan, &pair)(r2);
        let expected = 72.0 / r2;
        assert!(of.force.abs() < 1e-13 && (of.second(r2) / expected - 1.0).abs() < 1e-14);
        let hessian = of.hessian([r2.sqrt(), 0.0, 0.0]);
        assert!((hessian[0][0] / expected - 1.0).abs() < 1e-13 && hessian[1][1].abs() < 1e-13);
    }

    #[test]
    fn at_no_distance_there_is_no_force() {
        for (form, energy) in
            [(PairPotential::GaussianCore, 0.7), (PairPotential::LennardJones, f64::INFINITY)]
        {
            let pair = pair_of(form);
            let plan = PotentialPlan {
                form,
                truncation: Truncation::Sharp,
                pairs: vec![vec![pair]],
                diameters: None,
            };
            let expected = PairDerivatives { energy, ..PairDerivatives::default() };
            assert_eq!(pair_function(&plan, &pair)(0.0), expected);
        }
    }
}
