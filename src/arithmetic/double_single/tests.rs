use proptest::prelude::*;

use super::*;
use crate::arithmetic::testing::{BITS, ROUNDING, SplitMix64, big, to_f64};

const LOOPS: usize = 1_000_000;
/// u^2, u = 2^-24: the unit of the proven bounds.
const U2: f64 = 1.0 / (1_u64 << 48) as f64;

/// A normalised number with a full random lower part; `to_f64` is exact.
fn random(rng: &mut SplitMix64, lowest: i32, highest: i32) -> DoubleSingle {
    DoubleSingle::from_f64(rng.float(lowest, highest))
}

fn is_normalised(x: DoubleSingle) -> bool {
    x.hi + x.lo == x.hi
}

#[test]
fn two_sum_has_no_error() {
    let mut rng = SplitMix64(1);
    for _ in 0..LOOPS {
        // The exact sum of floats less than 2^28 apart fits a 64-bit float.
        let shift = (rng.next() % 80) as i32 - 40;
        let (a, b) = (rng.float32(shift - 14, shift + 14), rng.float32(shift - 14, shift + 14));
        let (s, e) = two_sum(a, b);
        assert_eq!(s, a + b);
        assert_eq!(f64::from(s) + f64::from(e), f64::from(a) + f64::from(b), "{a:e} {b:e}");
        let (large, small) = if a.abs() < b.abs() { (b, a) } else { (a, b) };
        assert_eq!(quick_two_sum(large, small), (s, e));
    }
}

#[test]
fn two_product_has_no_error() {
    let mut rng = SplitMix64(2);
    for _ in 0..LOOPS {
        // Products from 2^-102 to 2^128: the product of two floats always fits a 64-bit float.
        let (a, b) = (rng.float32(-51, 63), rng.float32(-51, 63));
        let (p, e) = two_product(a, b);
        assert_eq!(p, a * b);
        assert_eq!(f64::from(p) + f64::from(e), f64::from(a) * f64::from(b), "{a:e} {b:e}");
    }
}

#[test]
fn two_product_loses_its_error_below_the_documented_limit() {
    let a = 1.0 + f32::EPSILON;
    let (_, e) = two_product(a * 2_f32.powi(-52), a * 2_f32.powi(-50));
    assert_eq!(e, 2_f32.powi(-148), "2^-102 still has an exact error term");
    let (_, e) = two_product(a * 2_f32.powi(-54), a * 2_f32.powi(-50));
    assert_eq!(e, 0.0, "2^-104 has none");
}

proptest! {
    #[test]
    fn two_sum_is_exact_for_any_floats(a in prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO,
                                       b in prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO) {
        let (s, e) = two_sum(a, b);
        prop_assume!(s.is_finite());
        let exact = big(a.into()).add(&big(b.into()), BITS, ROUNDING);
        let found = big(s.into()).add(&big(e.into()), BITS, ROUNDING);
        prop_assert_eq!(found.cmp(&exact), Some(0));
    }

    #[test]
    fn bits_and_floats_come_back(bits in any::<u64>(), x in prop::num::f64::NORMAL) {
        prop_assert_eq!(DoubleSingle::from_bits(bits).to_bits(), bits);
        // The same mantissa with an exponent of a 32-bit float whose lower part is normal too.
        let exponent = 992 + (x.to_bits() >> 52 & 0x3F);
        let x = f64::from_bits(x.to_bits() & !(0x7FF << 52) | exponent << 52);
        let split = DoubleSingle::from_f64(x);
        prop_assert!(is_normalised(split));
        prop_assert!((split.to_f64() - x).abs() <= x.abs() / (1_u64 << 49) as f64);
        prop_assert_eq!(DoubleSingle::from_f64(split.to_f64()), split);
    }
}

/// Largest relative error of `operation` over random operands, in units of u^2; `error` gives it
/// exactly in 64-bit floats from the operands and the result.
fn worst(
    exponents: (i32, i32),
    operation: impl Fn(DoubleSingle, DoubleSingle) -> DoubleSingle,
    error: impl Fn(f64, f64, f64) -> f64,
) -> f64 {
    let mut rng = SplitMix64(3);
    let mut worst = 0.0_f64;
    for _ in 0..LOOPS {
        let a = random(&mut rng, exponents.0, exponents.1);
        let b = random(&mut rng, exponents.0, exponents.1);
        let z = operation(a, b);
        assert!(is_normalised(z), "{a:?} {b:?} {z:?}");
        worst = worst.max(error(a.to_f64(), b.to_f64(), z.to_f64()).abs());
    }
    worst / U2
}

/// (z - (a + b)) / (a + b), the numerator without error: |z - s| is exact, as z is close to s.
fn sum_error(a: f64, b: f64, z: f64) -> f64 {
    let s = a + b;
    let bb = s - a;
    let e = (a - (s - bb)) + (b - bb);
    if s == 0.0 { z } else { ((z - s) - e) / s }
}

fn product_error(a: f64, b: f64, z: f64) -> f64 {
    let p = a * b;
    ((z - p) - a.mul_add(b, -p)) / p
}

#[test]
fn operations_keep_their_proven_precision() {
    let add = worst((-8, 8), |a, b| a + b, sum_error);
    let sub = worst((-1, 1), |a, b| a - b, |a, b, z| sum_error(a, -b, z));
    let mul = worst((-40, 40), |a, b| a * b, product_error);
    let div = worst((-40, 40), |a, b| a / b, |a, b, z| (-z).mul_add(b, a) / a);
    let sqrt =
        worst((-60, 60), |a, _| a.abs().sqrt(), |a, _, z| (-z).mul_add(z, a.abs()) / (2.0 * a));
    let add_f32 =
        worst((-8, 8), |a, b| a.add_f32(b.hi), |a, b, z| sum_error(a, f64::from(b as f32), z));
    let mul_f32 = worst(
        (-40, 40),
        |a, b| a.mul_f32(b.hi),
        |a, b, z| product_error(a, f64::from(b as f32), z),
    );
    // 2.5 u^2 is 2^-46.7, 3.6 u^2 is 2^-46.2, 6.3 u^2 is 2^-45.3.
    for (name, found, proven, reached) in [
        ("add", add, 3.0, 2.5),
        ("sub", sub, 3.0, 2.4),
        ("mul", mul, 4.0, 3.6),
        ("div", div, 15.0, 6.3),
        ("sqrt", sqrt, 25.0 / 8.0, 2.95),
        ("add_f32", add_f32, 2.0, 2.0),
        ("mul_f32", mul_f32, 2.0, 1.7),
    ] {
        assert!(reached <= proven && found <= reached, "{name}: {found} u^2, not {reached} u^2");
        // A result of plain float precision, or a reference that sees no error, would show.
        assert!(found > 0.5, "{name}: {found} u^2 is too good to be measured rightly");
    }
}

/// Operands at the edges: the lower part absent, tiny, at half a unit of the upper one, magnitudes
/// near the limits, mantissas all ones or a power of two.
fn edge_cases() -> Vec<DoubleSingle> {
    let his = [1.0_f32, 1.0 + f32::EPSILON, 2.0 - f32::EPSILON, 1.5, 4.0 / 3.0, 1.732_050_8];
    let los = [0.0_f32, 2_f32.powi(-24), 2_f32.powi(-25), 1.9e-8, 2_f32.powi(-60), 1e-30];
    let mut cases = vec![];
    for hi in his {
        for lo in los {
            for lo in [lo, -lo] {
                let x = DoubleSingle::from_sum(hi, lo);
                cases.extend([x, -x]);
            }
        }
    }
    cases
}

fn big_value(x: DoubleSingle) -> astro_float::BigFloat {
    big(x.hi.into()).add(&big(x.lo.into()), BITS, ROUNDING)
}

/// Error of `z` relative to `exact`, in units of u^2; zero where both are zero.
fn error_in_u2(z: DoubleSingle, exact: &astro_float::BigFloat) -> f64 {
    let difference = big_value(z).sub(exact, BITS, ROUNDING);
    if difference.is_zero() {
        return 0.0;
    }
    assert!(!exact.is_zero(), "{z:?} instead of zero");
    to_f64(&difference.div(exact, BITS, ROUNDING)).abs() / U2
}

#[test]
fn edge_cases_agree_with_big_floats() {
    let cases = edge_cases();
    for scale in [2_f32.powi(-49), 1.0, 2_f32.powi(62)] {
        for &a in &cases {
            let a = a.mul_f32(scale);
            for &b in &cases {
                let b = b.mul_f32(scale);
                let (x, y) = (big_value(a), big_value(b));
                let sum = error_in_u2(a + b, &x.add(&y, BITS, ROUNDING));
                let difference = error_in_u2(a - b, &x.sub(&y, BITS, ROUNDING));
                let product = error_in_u2(a * b, &x.mul(&y, BITS, ROUNDING));
                let quotient = error_in_u2(a / b, &x.div(&y, BITS, ROUNDING));
                assert!(sum <= 3.0, "{a:?} + {b:?}: {sum} u^2");
                assert!(difference <= 3.0, "{a:?} - {b:?}: {difference} u^2");
                assert!(product <= 4.0, "{a:?} * {b:?}: {product} u^2");
                assert!(quotient <= 15.0, "{a:?} / {b:?}: {quotient} u^2");
            }
            let root = error_in_u2(a.abs().sqrt(), &big_value(a.abs()).sqrt(BITS, ROUNDING));
            assert!(root <= 25.0 / 8.0, "sqrt {a:?}: {root} u^2");
        }
    }
}

#[test]
fn cancellation_leaves_no_more_than_rounding() {
    let mut rng = SplitMix64(5);
    for _ in 0..LOOPS {
        // The upper parts cancel wholly or nearly: the error is still relative to the result.
        let a = random(&mut rng, 0, 0);
        let step = (rng.next() % 9) as i32 - 4;
        let hi = f32::from_bits(a.hi.to_bits().wrapping_add_signed(step));
        let b = DoubleSingle::from_f64(f64::from(hi) + f64::from(a.lo) * rng.uniform());
        let error = sum_error(a.to_f64(), -b.to_f64(), (a - b).to_f64());
        assert!(error.abs() <= 3.0 * U2, "{a:?} {b:?}");
        assert_eq!((a - a).to_f64(), 0.0);
    }
}

#[test]
fn zeros_and_signs_behave() {
    let zero = DoubleSingle::ZERO;
    let x = DoubleSingle::from_f64(-1.0 / 3.0);
    assert_eq!(x + zero, x);
    assert_eq!(x * zero, zero);
    assert_eq!(zero / x, zero);
    assert_eq!(zero.sqrt(), zero);
    assert_eq!(x * DoubleSingle::ONE, x);
    assert_eq!(x / x, DoubleSingle::ONE);
    assert_eq!(x.abs(), -x);
    assert_eq!(-x + x, zero);
    assert_eq!((x * x).sqrt(), -x);
    assert_eq!(DoubleSingle::default(), zero);
}

#[test]
fn order_is_that_of_the_values() {
    let mut rng = SplitMix64(6);
    for _ in 0..10_000 {
        let a = random(&mut rng, -1, 1);
        let b = DoubleSingle::from_f64(a.to_f64() * (1.0 + 4e-8 * (rng.uniform() - 0.5)));
        assert_eq!(a.partial_cmp(&b), a.to_f64().partial_cmp(&b.to_f64()));
    }
}
