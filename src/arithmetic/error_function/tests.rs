use astro_float::{BigFloat, Consts, Sign};

use super::*;
use crate::arithmetic::testing::{ROUNDING, SplitMix64, to_f64};

/// Bits of the references: `1 - erf(26)` is 2^-981.
const REFERENCE: usize = 1216;
const ARGUMENTS: usize = 240;

/// `(erf(x), erfc(x))` for `x >= 0` by `erf(x) = 2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (2n+1)!!`, of which all terms are
/// positive.
fn exact(x: f64, constants: &mut Consts) -> (BigFloat, BigFloat) {
    let big = |x: f64| BigFloat::from_f64(x, REFERENCE);
    let x = big(x);
    let square = x.mul(&x, REFERENCE, ROUNDING);
    let twice = square.add(&square, REFERENCE, ROUNDING);
    let (mut term, mut sum) = (x.clone(), x.clone());
    for n in 1..8000 {
        term = term.mul(&twice, REFERENCE, ROUNDING);
        term = term.div(&big(f64::from(2 * n + 1)), REFERENCE, ROUNDING);
        sum = sum.add(&term, REFERENCE, ROUNDING);
        let (of_term, of_sum) = (term.exponent(), sum.exponent());
        if term.is_zero()
            || of_term.zip(of_sum).is_some_and(|(a, b)| i64::from(a) < i64::from(b) - 1216)
        {
            break;
        }
    }
    let mut negative = square;
    negative.set_sign(Sign::Neg);
    let gauss = negative.exp(REFERENCE, ROUNDING, constants);
    let root = constants.pi(REFERENCE, ROUNDING).sqrt(REFERENCE, ROUNDING);
    let erf = big(2.0).mul(&gauss, REFERENCE, ROUNDING).mul(&sum, REFERENCE, ROUNDING);
    let erf = erf.div(&root, REFERENCE, ROUNDING);
    let erfc = big(1.0).sub(&erf, REFERENCE, ROUNDING);
    (erf, erfc)
}

fn relative(found: f64, exact: &BigFloat) -> f64 {
    let off = BigFloat::from_f64(found, REFERENCE).sub(exact, REFERENCE, ROUNDING);
    to_f64(&off.div(exact, REFERENCE, ROUNDING)).abs()
}

#[test]
fn they_agree_with_big_floats_in_64_bits() {
    let mut rng = SplitMix64(41);
    let mut constants = Consts::new().expect("memory for constants");
    let (mut of_erf, mut of_erfc) = (0.0_f64, 0.0_f64);
    for k in 0..ARGUMENTS {
        let x = match k % 4 {
            0 => rng.uniform(),
            1 => 6.0 * rng.uniform(),
            2 => 26.0 * rng.uniform(),
            _ => rng.float(-40, 2).abs(),
        };
        let (erf, erfc) = exact(x, &mut constants);
        of_erf = of_erf.max(relative(erf_f64(x), &erf)).max(relative(-erf_f64(-x), &erf));
        of_erfc = of_erfc.max(relative(erfc_f64(x), &erfc));
        let two = BigFloat::from_f64(2.0, REFERENCE).sub(&erfc, REFERENCE, ROUNDING);
        of_erfc = of_erfc.max(relative(erfc_f64(-x), &two));
    }
    assert!(of_erf < 3e-16, "{of_erf:e}");
    assert!(of_erfc < 1e-15, "{of_erfc:e}");
}

/// Against those of 64 bits.
#[test]
fn those_of_32_bits_are_near_those_of_64() {
    let mut rng = SplitMix64(42);
    let (mut of_erf, mut of_erfc) = (0.0_f64, 0.0_f64);
    for k in 0..200_000 {
        let x = match k % 4 {
            0 => rng.uniform() as f32,
            1 => (9.0 * rng.uniform()) as f32,
            2 => -(9.0 * rng.uniform()) as f32,
            _ => rng.float(-40, 1) as f32,
        };
        let wide = f64::from(x);
        of_erf = of_erf.max((f64::from(erf_f32(x)) / erf_f64(wide) - 1.0).abs());
        of_erfc = of_erfc.max((f64::from(erfc_f32(x)) / erfc_f64(wide) - 1.0).abs());
    }
    assert!(of_erf < 2e-7, "{of_erf:e}");
    assert!(of_erfc < 6e-7, "{of_erfc:e}");
}

#[test]
fn they_end_at_their_limits() {
    assert_eq!((erf_f64(0.0), erf_f32(0.0)), (0.0, 0.0));
    assert!((erfc_f64(0.0) - 1.0).abs() < 1e-15 && (erfc_f32(0.0) - 1.0).abs() < 6e-7);
    for x in [27.0, 1e10, f64::INFINITY] {
        assert_eq!([erf_f64(x), erf_f64(-x), erfc_f64(x), erfc_f64(-x)], [1.0, -1.0, 0.0, 2.0]);
        let x = x as f32;
        assert_eq!([erf_f32(x), erf_f32(-x), erfc_f32(x), erfc_f32(-x)], [1.0, -1.0, 0.0, 2.0]);
    }
    assert!(erf_f64(f64::NAN).is_nan() && erfc_f64(f64::NAN).is_nan());
    assert!(erf_f32(f32::NAN).is_nan() && erfc_f32(f32::NAN).is_nan());
    // Both sides of 1, where the formula changes.
    let (below, above) = (erf_f64(1.0f64.next_down()), erf_f64(1.0));
    assert!((0.0..3e-16).contains(&(above - below)), "{below} {above}");
}
