use super::description::{Bounds, Description, Fault, FormOf, Parameter, Scale, ScaleNames};
use super::evaluator::{Evaluator, named};
use super::form::{KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential};
use crate::arithmetic::Real;
use crate::arithmetic::elementary::exp_f64;

static A: Parameter = Parameter {
    name: "A",
    doc: "Energy of the repulsion `A exp(-r/rho)`.",
    bounds: Bounds::NotNegative,
    energy: 1,
    length: 0,
    of_all_pairs: None,
    example: 1000.0,
};

static RHO: Parameter = Parameter {
    name: "rho",
    doc: "Length over which the repulsion `A exp(-r/rho)` falls by a factor e.",
    bounds: Bounds::Positive,
    energy: 0,
    length: 1,
    of_all_pairs: None,
    example: 0.2,
};

static C: Parameter = Parameter {
    name: "C",
    doc: "Strength of the attraction `-C/r^6`: below `A (6 rho)^6 exp(-6)`, where the repulsion ends to be a core.",
    bounds: Bounds::NotNegative,
    energy: 1,
    length: 6,
    of_all_pairs: None,
    example: 1.0,
};

/// `U(r) = A exp(-r/rho) - C/r^6` (Buckingham 1938, Proc. R. Soc. A 168, 264).
///
/// It has a minimum at the distance of the pair, and a maximum inside, from where it falls to minus infinity: closer
/// pairs end the run.
#[derive(Clone, Copy)]
pub struct Form;

impl PairForm for Form {
    const DESCRIPTIONS: &'static [Description] = &[Description {
        word: "buckingham",
        doc: "`A exp(-r/rho) - C/r^6`; pairs closer than its maximum at short distances end the run.",
        exponents: &[],
        parameters: &[&A, &RHO, &C],
        scale: ScaleNames { energy: "depth", length: "r_0" },
        own_end: None,
        form: FormOf::Exponents(|_| Ok(PairPotential::Buckingham)),
    }];

    const HEADER: KernelHeader = kernel_header!("buckingham.cuh");

    type Evaluator<R: Real> = Buckingham<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> Buckingham<R> {
        Buckingham {
            a: R::from_f64(pair.of(&A)),
            inv_rho: R::from_f64(1.0 / pair.of(&RHO)),
            c: R::from_f64(pair.of(&C)),
        }
    }

    fn kernel_type(&self) -> String {
        "Buckingham<R>".to_owned()
    }

    fn formula(&self) -> String {
        "A exp(-r/rho) - C/r^6".to_owned()
    }

    /// Depth of the minimum, and the distance `r_0` at which the energy is zero. Without attraction: `A`, but at most 1,
    /// and `rho`.
    fn scale(&self, pair: &PairParameters) -> Scale {
        let Some(maximum) = self.inner_maximum(pair) else {
            return Scale { energy: pair.of(&A).min(1.0), length: pair.of(&RHO) };
        };
        let energy = |r: f64| self.evaluator::<f64>(pair).evaluate(r * r).1;
        let mut beyond = 14.0 * pair.of(&RHO);
        while repels(pair, beyond) {
            beyond *= 2.0;
        }
        let minimum = bisect(7.0 * pair.of(&RHO), beyond, |r| repels(pair, r));
        Scale { energy: -energy(minimum), length: bisect(maximum, minimum, |r| energy(r) > 0.0) }
    }

    /// The smaller root of `r^7 exp(-r/rho) = 6 C rho / A`: it is below `6 rho`.
    fn inner_maximum(&self, pair: &PairParameters) -> Option<f64> {
        (pair.of(&C) > 0.0).then(|| bisect(0.0, 6.0 * pair.of(&RHO), |r| !repels(pair, r)))
    }

    fn fault(&self, pair: &PairParameters) -> Option<Fault> {
        let (a, rho, c) = (pair.of(&A), pair.of(&RHO), pair.of(&C));
        if c == 0.0 {
            return None;
        }
        // There the maximum would be at zero energy.
        let strongest = a * power(6.0 * rho, 6) * exp_f64(-6.0);
        if c >= strongest {
            return Some(Fault {
                key: C.name,
                message: format!("{c:?} leaves no repulsion at any distance"),
                help: format!("less than A (6 rho)^6 exp(-6), here {strongest:.4e}"),
            });
        }
        let maximum = self.inner_maximum(pair)?;
        (pair.cutoff <= maximum).then(|| Fault {
            key: "cutoff_absolute",
            message: format!(
                "is inside the maximum at {maximum:.4}, where the potential turns over"
            ),
            help: "two or three times the distance of the minimum is usual".to_owned(),
        })
    }
}

/// Whether the force is repulsive: `r^7 exp(-r/rho) > 6 C rho / A`.
fn repels(pair: &PairParameters, r: f64) -> bool {
    let (a, rho, c) = (pair.of(&A), pair.of(&RHO), pair.of(&C));
    a * power(r, 7) * exp_f64(-r / rho) > 6.0 * c * rho
}

fn power(x: f64, n: u32) -> f64 {
    (0..n).fold(1.0, |product, _| product * x)
}

/// The distance from which on something does not hold any more.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        *(if holds(middle) { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The constants of a pair.
#[derive(Clone, Copy)]
pub struct Buckingham<R> {
    a: R,
    inv_rho: R,
    c: R,
}

impl<R: Real> Evaluator<R> for Buckingham<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let inv_r = r2.inverse_sqrt();
        let inv_r2 = inv_r * inv_r;
        let repulsion = self.a * (-(r2 * inv_r * self.inv_rho)).exp();
        // From the left: without attraction it stays zero where the sixth power overflows.
        let attraction = self.c * inv_r2 * inv_r2 * inv_r2;
        let pull = R::from_f64(6.0) * attraction * inv_r2;
        ((repulsion * self.inv_rho).fused(inv_r, -pull), repulsion - attraction)
    }

    /// A pole where there is attraction.
    fn contact_energy(&self) -> Option<R> {
        (self.c == R::ZERO).then_some(self.a)
    }

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: a, inv_rho, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exp-6 of depth 1 and minimum at 1 with `alpha = 13`: `A = 6/(alpha-6) exp(alpha)`, `rho = 1/alpha`,
    /// `C = alpha/(alpha-6)`.
    fn exp_6() -> PairParameters {
        let (alpha, unit) = (13.0, 7.0);
        let a = 6.0 / unit * f64::exp(alpha);
        PairParameters::new(2.5, [(&A, a), (&RHO, 1.0 / alpha), (&C, alpha / unit)])
    }

    fn at(pair: &PairParameters, r: f64) -> (f64, f64) {
        Form.evaluator::<f64>(pair).evaluate(r * r)
    }

    #[test]
    fn energies_and_forces_are_those_of_the_formula() {
        // By hand, for A = 1000, rho = 0.25, C = 2: at r = 1, exp(-4) = 0.018315638888734179; at r = 2,
        // exp(-8) = 3.3546262790251185e-4.
        let pair = PairParameters::new(3.0, [(&A, 1000.0), (&RHO, 0.25), (&C, 2.0)]);
        for (r, energy, force) in [
            (1.0, 18.315_638_888_734_18 - 2.0, 73.262_555_554_936_72 - 12.0),
            (2.0, 0.335_462_627_902_511_85 - 0.03125, 1.341_850_511_610_047_4 - 0.09375),
        ] {
            let (force_over_r, found) = at(&pair, r);
            assert!((found - energy).abs() < 1e-14 * 20.0, "{r}: {found} {energy}");
            assert!((force_over_r * r - force).abs() < 1e-14 * 80.0, "{r}");
        }
    }

    /// Central differences: truncation `h^2 U''' / 6` and rounding `1e-16 U / h`.
    #[test]
    fn the_force_is_the_derivative_of_the_energy() {
        let (pair, h) = (exp_6(), 1e-5);
        for k in 0..200 {
            let r = 0.6 + 0.01 * f64::from(k);
            let slope = (at(&pair, r + h).1 - at(&pair, r - h).1) / (2.0 * h);
            let force = at(&pair, r).0 * r;
            assert!((slope + force).abs() < 1e-6 * (1.0 + force.abs()), "{r}: {slope} {force}");
        }
    }

    #[test]
    fn the_minimum_of_exp_6_is_its_depth() {
        let pair = exp_6();
        let (force, energy) = at(&pair, 1.0);
        assert!(force.abs() < 1e-12 && (energy + 1.0).abs() < 1e-12, "{force:e} {energy}");
        let scale = Form.scale(&pair);
        assert!((scale.energy - 1.0).abs() < 1e-12, "{scale:?}");
        assert!(at(&pair, scale.length).1.abs() < 1e-10 && scale.length < 1.0, "{scale:?}");
    }

    #[test]
    fn it_turns_over_at_the_inner_maximum() {
        let pair = exp_6();
        let maximum = Form.inner_maximum(&pair).expect("there is attraction");
        let (force, energy) = at(&pair, maximum);
        assert!((force / energy).abs() < 1e-10 && energy > 1.0, "{force:e} {energy}");
        assert!(at(&pair, 0.99 * maximum).0 < 0.0 && at(&pair, 1.01 * maximum).0 > 0.0);
        assert_eq!(Form.inner_maximum(&pair.with(&C, 0.0)), None);
    }

    #[test]
    fn pairs_without_a_core_are_faults() {
        let pair = exp_6();
        let key = |pair: &PairParameters| Form.fault(pair).map(|fault| fault.key);
        assert_eq!(key(&pair), None);
        assert_eq!(key(&pair.with(&C, 1e3)), Some("C"));
        assert_eq!(key(&pair.with(&A, 0.0)), Some("C"));
        assert_eq!(key(&pair.with(&A, 0.0).with(&C, 0.0)), None);
        assert_eq!(key(&pair.with_cutoff(0.1)), Some("cutoff_absolute"));
    }
}
