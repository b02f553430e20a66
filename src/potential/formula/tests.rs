use super::*;
use crate::potential::{Truncation, bare_energy, evaluate_exactly};

const LENNARD_JONES: &str = "4*epsilon*((sigma/r)^12 - (sigma/r)^6)";

fn pair(formula: Formula, cutoff: f64, values: &[(&str, f64)]) -> PairParameters {
    let value = |parameter: &Parameter| {
        values.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value)
    };
    let parameters = formula.0.parameters.iter();
    let all = parameters.map(|of| (*of, value(of).unwrap_or_else(|| panic!("no {}", of.name))));
    PairParameters::new(cutoff, all)
}

fn formula(text: &str) -> Formula {
    Formula::new(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn lennard_jones_is_the_built_in_one() {
    let own = formula(LENNARD_JONES);
    let values = [("epsilon", 1.5), ("sigma", 0.88)];
    let pair = pair(own, 2.2, &values);
    let built_in = PairParameters::of_epsilon_and_sigma(1.5, 0.88, 2.2);
    let ends = [
        Truncation::Sharp,
        Truncation::Shifted,
        Truncation::ForceShifted,
        Truncation::EvenQuartic,
        Truncation::Smooth { width: 0.05 },
    ];
    for truncation in ends {
        for k in 0..140 {
            let r = 0.8 + 0.01 * f64::from(k);
            let (force, energy) = evaluate_exactly(own.into(), &truncation, &pair, r);
            let expected = evaluate_exactly(PairPotential::LennardJones, &truncation, &built_in, r);
            // Sums of two terms that are up to 4 (0.88 / 0.8)^12 = 12.6 times 1.5.
            for (found, expected) in [(force, expected.0), (energy, expected.1)] {
                let scale = expected.abs().max((0.88 / r).powi(6));
                assert!(
                    (found - expected).abs() < 1e-13 * scale,
                    "{truncation:?} {r}: {found} {expected}"
                );
            }
        }
    }
    // Eight operations, as many as the built-in one has.
    let kernel = own.header::<f32>().text;
    assert_eq!(kernel.matches(" = inverse(").count(), 1, "{kernel}");
    let count = |name: &str| kernel.matches(&format!(" = {name}(")).count();
    assert_eq!((count("mul"), count("fused"), count("add")), (5, 2, 0), "{kernel}");
    assert_eq!(own.scale(&pair), Scale { energy: 1.5, length: 0.88 });
    assert!(own.contact(&pair).is_none());
}

impl Formula {
    fn contact(self, pair: &PairParameters) -> Option<f64> {
        self.evaluator::<f64>(pair).contact_energy()
    }
}

/// Each with its derivative by hand.
#[test]
fn forces_are_derivatives_of_the_energies() {
    type Case = (&'static str, &'static [(&'static str, f64)], fn(f64) -> f64);
    let cases: [Case; 17] = [
        ("r^3", &[], |r| 3.0 * r * r),
        ("1 - (r - 2)**2", &[], |r| -2.0 * (r - 2.0)),
        ("A*exp(-r/rho) - C/r^6", &[("A", 3.0), ("rho", 0.4), ("C", 0.1)], |r| {
            -7.5 * (-r / 0.4).exp() + 0.6 * r.powi(-7)
        }),
        ("-epsilon*log(1 - (r/R)^2)", &[("epsilon", 2.0), ("R", 5.0)], |r| {
            2.0 * 2.0 * r / 25.0 / (1.0 - r * r / 25.0)
        }),
        ("a*cos(k*r + phi)/r^3", &[("a", 1.3), ("k", 7.0), ("phi", 0.3)], |r| {
            let x = 7.0 * r + 0.3;
            1.3 * (-7.0 * x.sin() / r.powi(3) - 3.0 * x.cos() / r.powi(4))
        }),
        ("sin(2*pi*r)", &[], |r| {
            let tau = 2.0 * std::f64::consts::PI;
            tau * (tau * r).cos()
        }),
        ("tanh(r - 1)", &[], |r| (r - 1.0).cosh().powi(-2)),
        ("sqrt(1 + r^2)", &[], |r| r / (1.0 + r * r).sqrt()),
        ("r^-2.5 + r^n", &[("n", 1.5)], |r| -2.5 * r.powf(-3.5) + 1.5 * r.powf(0.5)),
        ("exp(-(r/0.7)^2)*(1 + r)^-2 / (2 - 1/r)", &[], |r| {
            let (a, b, c) = ((-(r / 0.7).powi(2)).exp(), (1.0 + r).powi(-2), 1.0 / (2.0 - 1.0 / r));
            let slopes = (-2.0 * r / 0.49 * a, -2.0 * (1.0 + r).powi(-3), -c * c / (r * r));
            slopes.0 * b * c + a * slopes.1 * c + a * b * slopes.2
        }),
        ("q*erfc(alpha*r)/r", &[("q", 2.0), ("alpha", 0.8)], |r| {
            let gauss = 1.6 / std::f64::consts::PI.sqrt() * (-0.64 * r * r).exp();
            let erfc = crate::arithmetic::error_function::erfc_f64(0.8 * r);
            -2.0 * (gauss / r + erfc / (r * r))
        }),
        ("erf(r - 1.5) + erf(0)", &[], |r| {
            2.0 / std::f64::consts::PI.sqrt() * (-(r - 1.5).powi(2)).exp()
        }),
        ("min(r^2, 3*r, 8) + max(1/r, 0.49)", &[], |r| {
            // r^2 < 3 r up to 3, and r^2 < 8 up to 2.83; 1/r > 0.49 up to 2.04.
            let of_minimum = if r * r < 8.0 { 2.0 * r } else { 0.0 };
            of_minimum - if r < 1.0 / 0.49 { r.powi(-2) } else { 0.0 }
        }),
        ("if(r < b, (r - b)^2, if(r >= 3.01, 2*(r - 3.01), 0))^2/r", &[("b", 2.03)], |r| {
            let x = if r < 2.03 { r - 2.03 } else { 0.0 };
            let y = if r > 3.01 { 2.0 * (r - 3.01) } else { 0.0 };
            let (value, slope) = (x * x + y, 2.0 * x + if r > 3.01 { 2.0 } else { 0.0 });
            2.0 * value * slope / r - value * value / (r * r)
        }),
        ("abs(r - 2.02) + if(2 > 3, r, 1)", &[], |r| if r < 2.02 { -1.0 } else { 1.0 }),
        ("-2^2 + 3*-r", &[], |_| -3.0),
        ("(r + r)*(r - r) + r/r + 2*r - r^1", &[], |_| 1.0),
    ];
    for (text, values, slope) in cases {
        let own = formula(text);
        let pair = pair(own, 4.0, values);
        let (in_64, in_32) = (own.evaluator::<f64>(&pair), own.evaluator::<f32>(&pair));
        for k in 0..60 {
            let r = 0.75 + 0.05 * f64::from(k);
            let r2 = r * r;
            let (force_over_r, energy) = in_64.evaluate(r2);
            let (expected, expected_energy) = (-slope(r), own.energy(&pair, r));
            let scale = expected.abs() + expected_energy.abs() + 1.0;
            assert!(
                (force_over_r * r - expected).abs() < 1e-13 * scale,
                "{text} {r}: {force_over_r} {expected}"
            );
            assert!((energy - expected_energy).abs() < 1e-13 * scale, "{text} {r}");
            let (force, energy) = in_32.evaluate(r2 as f32);
            // The angle k r is up to 30, with an error of 1e-7 of itself, and has the factor k.
            let tolerance = 2e-5 * scale.max(1e-2 * r.powi(-7));
            assert!(
                (f64::from(force) * r - expected).abs() < tolerance,
                "{text} {r}: {force} {expected}"
            );
            assert!((f64::from(energy) - expected_energy).abs() < tolerance, "{text} {r}");
        }
    }
}

#[test]
fn several_lanes_have_the_bits_of_one() {
    let own =
        formula("a*cos(k*r)/r^3 + exp(-r) + sqrt(r) - log(r) + erfc(r)/r + min(r, 1.5)*erf(r)");
    let pair = pair(own, 3.0, &[("a", 1.3), ("k", 7.0)]);
    let evaluator = own.evaluator::<f32>(&pair);
    let r2: [f32; 16] = std::array::from_fn(|lane| 0.7 + 0.4 * lane as f32);
    let (forces, energies) = evaluator.evaluate_lanes(r2);
    for lane in 0..16 {
        let (force, energy) = evaluator.evaluate(r2[lane]);
        assert_eq!(
            (force.to_bits(), energy.to_bits()),
            (forces[lane].to_bits(), energies[lane].to_bits())
        );
    }
}

#[test]
fn what_is_not_a_formula_is_named_with_its_place() {
    let cases = [
        ("4*epsilon*((sigma/r)^12 - (sigma/r)^6", 37, "not closed"),
        ("4*epsilon*", 10, "too early"),
        ("", 0, "too early"),
        ("1/r)", 3, "parenthesis too much"),
        ("2 r", 2, "'r' cannot stand here"),
        ("gamma(r)", 0, "no function \"gamma\""),
        ("1/r + sin", 9, "argument of sin"),
        ("1/r + sin(r, 2)", 10, "sin takes one argument"),
        ("min(r)", 4, "min takes two arguments or more"),
        ("if(r < 2, r)", 3, "if takes a comparison and two values"),
        ("if(r, 1, 2)", 4, "a comparison is missing"),
        ("if(r == 1, 1, 2)", 5, "a comparison is missing"),
        ("if(1 < r < 2, 1, 2)", 9, "not closed"),
        ("1/r, 2", 3, "',' cannot stand here"),
        ("cutoff - r", 0, "\"cutoff\" cannot be the name"),
        ("1.2.3*r", 0, "\"1.2.3\" is not a number"),
        ("epsilon*sigma", 0, "does not depend on r"),
        ("a+b+c+d+e+f+g+h+i+r", 0, "9 parameters"),
        ("r $ 2", 2, "'$' cannot stand here"),
    ];
    for (text, at, message) in cases {
        let error = Formula::new(text).unwrap_err();
        assert!(error.message.contains(message) && error.at == at, "{text}: {error:?}");
        assert!(!error.help.is_empty());
    }
    let deep = "(".repeat(1000);
    assert!(Formula::new(&deep).unwrap_err().message.contains("64 levels"));
    assert!(Formula::new(&"r+".repeat(1001)).unwrap_err().message.contains("2002 characters"));
    let long: String = (1..60).map(|n| format!("+ a*r^{n}*exp(-r^{n})")).collect();
    assert!(Formula::new(&long).unwrap_err().message.contains("too long"));
}

#[test]
fn what_is_wrong_between_contact_and_cutoff_is_found() {
    let fault = |text: &str, cutoff: f64, values: &[(&str, f64)]| {
        let own = formula(text);
        own.fault(&pair(own, cutoff, values)).map(|fault| fault.message)
    };
    let is = |found: Option<String>, expected: &str| {
        assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{found:?}");
    };
    let of_pair = [("epsilon", 1.0), ("sigma", 1.0)];
    assert_eq!(fault(LENNARD_JONES, 2.5, &of_pair), None);
    assert_eq!(fault("exp(-r^2)", 3.0, &[]), None);
    assert_eq!(fault("-exp(-r^2)", 3.0, &[]), None);
    assert_eq!(fault("0*r", 3.0, &[]), None);
    is(fault("log(2 - r)", 2.5, &[]), "no value at r = 2.5");
    is(fault("(r - 1)^1.5", 2.5, &[]), "no value at r = 1.0000");
    is(fault("-1/r^6", 2.5, &[]), "falls to minus infinity");
    is(fault("1/r^6 - 1/r^12", 1.15, &[]), "inside the maximum at 1.1225");
    is(fault("1e30*1e15/r", 2.5, &[]), "does not fit into 32 bits");
}

#[test]
fn the_maximum_at_short_distances_is_that_of_buckingham() {
    let own = formula("A*exp(-r/rho) - C/r^6");
    let values = [("A", 1000.0), ("rho", 0.25), ("C", 2.0)];
    let of_formula = pair(own, 8.0, &values);
    let built_in = PairParameters::of_form(PairPotential::Buckingham, 8.0, &[1000.0, 0.25, 2.0]);
    let expected = PairPotential::Buckingham.inner_maximum(&built_in).unwrap();
    let found = own.inner_maximum(&of_formula).unwrap();
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    assert!(own.fault(&of_formula).is_none());
    // Depth and zero, on a grid of 1 %.
    let (found, expected) = (own.scale(&of_formula), PairPotential::Buckingham.scale(&built_in));
    let lowest = bare_energy(&own.into(), &of_formula, 8.0);
    assert!(
        ((found.energy - lowest) / expected.energy - 1.0).abs() < 1e-2,
        "{found:?} {expected:?}"
    );
    assert!((found.length / expected.length - 1.0).abs() < 2e-2, "{found:?} {expected:?}");
    let lennard_jones = formula(LENNARD_JONES);
    let pair = pair(lennard_jones, 2.5, &[("epsilon", 1.0), ("sigma", 1.0)]);
    assert_eq!(lennard_jones.inner_maximum(&pair), None);
}

#[test]
fn a_plan_has_the_text() {
    let own = PairPotential::from(formula("a*exp(-r)"));
    let json = serde_json::to_string(&own).unwrap();
    assert_eq!(json, r#"{"kind":"formula","energy":"a*exp(-r)"}"#);
    assert_eq!(serde_json::from_str::<PairPotential>(&json).unwrap(), own);
    let error =
        serde_json::from_str::<PairPotential>(r#"{"kind":"formula","energy":"a*"}"#).unwrap_err();
    assert!(error.to_string().contains("at character 3"), "{error}");
}

/// WCA as two pieces, of which the seam is at the minimum.
#[test]
fn seams_may_not_jump() {
    let wca = "if(r < rc, 4*((1/r)^12 - (1/r)^6) + 1, 0)";
    let of = |text: &str, rc: f64| {
        let own = formula(text);
        let pair = pair(own, 2.5, &[("rc", rc)]);
        (own.fault(&pair).map(|fault| fault.message), own.force_jumps(&pair))
    };
    let minimum = 2f64.powf(1.0 / 6.0);
    assert_eq!(of(wca, minimum), (None, Vec::new()));
    let own = formula(wca);
    let scale = own.scale(&pair(own, 2.5, &[("rc", minimum)]));
    assert!(scale.energy == 1.0 && (0.56..0.57).contains(&scale.length), "{scale:?}");
    // Seven digits of the minimum are enough; of five a force is left, U'' = 57.1 times the difference of 3.8e-5.
    assert_eq!(of(wca, 1.122462), (None, Vec::new()));
    let (fault, jumps) = of(wca, 1.1225);
    assert!(fault.is_none() && (jumps[0].1 - 57.1 * 3.795e-5).abs() < 1e-5, "{fault:?} {jumps:?}");
    // 4 (1.2^-12 - 1.2^-6) + 1 = 0.109040..., and it falls to zero there.
    let (fault, _) = of(wca, 1.2);
    assert_eq!(fault.as_deref(), Some("the energy jumps by -1.090e-1 at r = 1.200000"));
    // The force falls from 3 / rc to zero.
    let (fault, jumps) = of("max(0, 3*(1 - r/rc))", 1.7);
    assert_eq!((fault, jumps.len()), (None, 1));
    let (r, jump) = jumps[0];
    assert!((r - 1.7).abs() < 1e-9 && (jump + 3.0 / 1.7).abs() < 1e-6, "{r} {jump}");
    // A seam inside the other piece is none.
    assert_eq!(of("if(r < rc, 1/r, if(r < 1, 7, 1/rc - (r - rc)/rc^2))", 1.5), (None, Vec::new()));
}

#[test]
fn a_piece_is_not_taken_for_zero() {
    let is_zero = |text: &str, values: &[(&str, f64)]| {
        let own = formula(text);
        own.is_zero(&pair(own, 3.0, values))
    };
    let soft = "epsilon*if(r < 0.4, (1 - r/0.4)^2, 0)";
    assert!(!is_zero(soft, &[("epsilon", 1.0)]));
    assert!(is_zero(soft, &[("epsilon", 0.0)]));
    assert!(is_zero("if(r < 0.4, a*r, 0) + a*exp(-r)", &[("a", 0.0)]));
    assert!(!is_zero("1/max(r, 0.2) - 1/max(r, 0.1)", &[]));
}

#[test]
fn harmonic_spheres_of_two_pieces_are_the_built_in_ones() {
    let own = formula("if(r < sigma, 0.5*epsilon*(1 - r/sigma)^2, 0)");
    let of_formula = pair(own, 1.3, &[("epsilon", 0.7), ("sigma", 1.1)]);
    let built_in = PairParameters::of_form(PairPotential::HarmonicSpheres, 1.1, &[0.7, 1.1]);
    let sharp = Truncation::Sharp;
    for k in 0..110 {
        let r = 0.05 + 0.0107 * f64::from(k);
        let found = evaluate_exactly(own.into(), &sharp, &of_formula, r);
        let expected = evaluate_exactly(PairPotential::HarmonicSpheres, &sharp, &built_in, r);
        // The slope at contact is 0.7 / 1.1, and the force is over r.
        assert!((found.0 - expected.0).abs() < 1e-15 / r, "{r}: {found:?} {expected:?}");
        assert!((found.1 - expected.1).abs() < 1e-15, "{r}: {found:?} {expected:?}");
    }
    assert!(own.fault(&of_formula).is_none() && own.force_jumps(&of_formula).is_empty());
}
