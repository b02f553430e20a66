use proptest::prelude::*;

use super::*;
use crate::arithmetic::testing::{BITS, ROUNDING, SplitMix64, big, to_f64};

#[test]
fn magic_rounding_is_to_nearest_even() {
    for (x, n) in [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (-2.5, -2), (0.499, 0)] {
        assert_eq!(round_to_i64_f64(x), n, "{x}");
        assert_eq!(wide_round(x), Some(n), "{x}");
    }
    let limit = 1_i64 << 51;
    for n in [limit, limit - 1, -limit, 1 - limit] {
        assert_eq!(round_to_i64_f64(n as f64), n);
    }
    let mut rng = SplitMix64(21);
    for _ in 0..1_000_000 {
        let x = rng.float(-3, 50);
        assert_eq!(round_to_i64_f64(x), x.round_ties_even() as i64);
    }
}

#[test]
fn wide_rounding_ends_below_two_to_63() {
    let largest = TWO_TO_63.next_down();
    assert_eq!(wide_round(largest), Some(i64::MAX - 1023));
    assert_eq!(wide_round(-largest), Some(-(i64::MAX - 1023)));
    for x in [TWO_TO_63, -TWO_TO_63, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(wide_round(x), None);
    }
    assert_eq!(wide_round(4_503_599_627_370_495.5), Some(1 << 52));
}

#[test]
fn halves_are_rounded_away_from_zero() {
    for (v, shift, n) in [
        (5, 1, 3),
        (-5, 1, -3),
        (6, 2, 2),
        (5, 2, 1),
        (-6, 2, -2),
        (7, 0, 7),
        (1 << 126, 127, 1),
        ((1 << 126) - 1, 127, 0),
        (i128::MIN, 128, -1),
        (i128::MAX, 128, 0),
        (i128::MIN, 129, 0),
        (i128::MIN, 0, i128::MIN),
        (-3, u32::MAX, 0),
    ] {
        assert_eq!(shift_round_i128(v, shift), n, "{v} >> {shift}");
    }
    let half = Ratio { multiplier: 1, shift: 1 };
    assert_eq!(mul_round(3, half), Some(2));
    assert_eq!(mul_round(-3, half), Some(-2));
    assert_eq!(scale_i64(3, -0.5), Some(-2));
}

#[test]
fn what_does_not_fit_is_none() {
    let max = i64::MAX;
    assert_eq!(scale_i64(max, 1.0), Some(max));
    assert_eq!(scale_i64(max, -1.0), Some(-max));
    assert_eq!(scale_i64(max, 1.0_f64.next_up()), None);
    assert_eq!(scale_i64(i64::MIN, 1.0), None, "the range is symmetric");
    assert_eq!(scale_i64(i64::MIN, 0.5), Some(-1 << 62));
    assert_eq!(scale_i64(1, TWO_TO_63), None);
    assert_eq!(scale_i64(1, TWO_TO_63.next_down()), Some(max - 1023));
    assert_eq!(scale_i64(0, f64::MAX), Some(0));
    assert_eq!(scale_i64(1, f64::MAX), None);
    assert_eq!(scale_i64(max, f64::from_bits(1)), Some(0));
    assert_eq!(scale_i64(0, f64::INFINITY), None);
    assert_eq!(scale_i64(0, f64::NAN), None);
    assert_eq!(mul_round(max, Ratio { multiplier: u64::MAX, shift: 64 }), Some(max));
    assert_eq!(mul_round(max, Ratio { multiplier: u64::MAX, shift: 63 }), None);
    for x in [-1.0, TWO_TO_64, f64::NAN, f64::INFINITY] {
        assert_eq!(Ratio::from_f64(x), None);
    }
}

#[test]
fn coordinates_never_reach_the_edge() {
    for edge in [1.0, 35.3, 0.1, 1e5] {
        assert!(fraction_to_f64(u64::MAX, edge) < edge);
    }
    // Few bits, so that the multiples are exact.
    for edge in [1.0, 35.25, 0.125, 1e5] {
        assert_eq!(fraction_to_f64(0, edge), 0.0);
        assert_eq!(fraction_from_f64(edge, edge), 0);
        assert_eq!(fraction_from_f64(-edge, edge), 0);
        assert_eq!(fraction_from_f64(0.5 * edge, edge), 1 << 63);
        assert_eq!(fraction_from_f64(-0.25 * edge, edge), 3 << 62);
        assert_eq!(fraction_from_f64(7.75 * edge, edge), 3 << 62);
    }
    assert_eq!(fraction_from_f64(-1e-30, 1.0), 0);
    assert_eq!(fraction_from_f64(-0.5_f64.powi(64), 1.0), u64::MAX);
}

proptest! {
    #[test]
    fn scaling_is_the_exact_product_rounded_once(v in any::<i64>(), factor in -4.0..4.0_f64) {
        if let Some(n) = scale_i64(v, factor) {
            // v as a sum of two floats, so that the big float is exact.
            let exact = big((v >> 32 << 32) as f64).add(&big((v & 0xFFFF_FFFF) as f64), BITS, ROUNDING)
                .mul(&big(factor), BITS, ROUNDING);
            let found = big((n >> 32 << 32) as f64).add(&big((n & 0xFFFF_FFFF) as f64), BITS, ROUNDING);
            prop_assert!(to_f64(&found.sub(&exact, BITS, ROUNDING)).abs() <= 0.5);
        } else {
            prop_assert!((v as f64 * factor).abs() >= 0.999_999 * TWO_TO_63);
        }
    }

    #[test]
    fn scaling_is_odd(v in 1..i64::MAX, factor in prop::num::f64::NORMAL, shift in 0..200_u32, multiplier in any::<u64>()) {
        let ratio = Ratio { multiplier, shift };
        prop_assert_eq!(mul_round(-v, ratio), mul_round(v, ratio).map(|n| -n));
        for factor in [factor, 1.0 + factor.fract()] {
            let n = scale_i64(v, factor);
            prop_assert_eq!(scale_i64(-v, factor), n.map(|n| -n));
            prop_assert_eq!(scale_i64(v, -factor), n.map(|n| -n));
        }
        let x = f64::from_bits(v as u64);
        prop_assert_eq!(wide_round(-x), wide_round(x).map(|n| -n));
    }

    #[test]
    fn ratios_are_exact_products(v in any::<i32>(), multiplier in any::<u64>(), shift in 0..95_u32) {
        let n = mul_round(v.into(), Ratio { multiplier, shift });
        let exact = i128::from(v) * i128::from(multiplier);
        let rounded = shift_round_i128(exact, shift);
        prop_assert_eq!(n, i64::try_from(rounded).ok().filter(|&n| n != i64::MIN));
        prop_assert!((rounded * (1 << shift) - exact).abs() <= (1_i128 << shift) / 2);
    }

    #[test]
    fn a_ratio_is_the_float_it_came_from(v in any::<i64>(), x in 0.0..1e4_f64, small in 0.0..1e-9_f64) {
        for x in [x, small] {
            let ratio = Ratio::from_f64(x).expect("in range");
            prop_assert_eq!(ratio.to_f64(), x);
            prop_assert_eq!(mul_round(v, ratio), scale_i64(v, x));
        }
    }

    #[test]
    fn coordinates_come_back_to_the_bit(fraction in 0.001..1.0_f64, edge in 0.5..2000.0_f64) {
        let x = fraction * edge;
        prop_assume!(x < edge);
        prop_assert_eq!(fraction_to_f64(fraction_from_f64(x, edge), edge), x);
    }

    #[test]
    fn fractions_come_back_to_the_precision_of_a_float(n in any::<u64>(), edge in 0.5..2000.0_f64) {
        let x = fraction_to_f64(n, edge);
        prop_assert!((0.0..edge).contains(&x));
        let difference = fraction_from_f64(x, edge).wrapping_sub(n) as i64;
        prop_assert!(difference.abs() <= 1 << 11, "{difference}");
        // One period further only the float's own rounding is lost.
        let difference = fraction_from_f64(x + 4.0 * edge, edge).wrapping_sub(n) as i64;
        prop_assert!(difference.abs() <= 1 << 14, "{difference}");
        prop_assert_eq!(fraction_from_f64(-x, edge), fraction_from_f64(x, edge).wrapping_neg());
    }

    #[test]
    fn displacements_are_nearest_images(n in any::<i64>(), edge in 0.5..2000.0_f64) {
        let d = displacement_to_f64(n, edge);
        prop_assert!(d.abs() <= 0.5 * edge);
        prop_assert!((d / edge - n as f64 / TWO_TO_64).abs() <= 1e-16);
    }
}
