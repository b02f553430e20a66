use astro_float::Consts;

use super::*;
use crate::arithmetic::testing::{ROUNDING, SplitMix64, big, relative_error, to_f64};

/// Bits of the references: far beyond 64-bit floats and still quick.
const REFERENCE: usize = 192;
const LOOPS: usize = 8_000;

#[test]
fn exp_f32_is_accurate_over_its_range() {
    let mut worst = 0.0_f64;
    let mut check = |x: f32| {
        let error = (f64::from(exp_f32(x)) / f64::from(x).exp() - 1.0).abs();
        worst = worst.max(error);
    };
    // Every 101st float in [-87, -2^-10], the same mirrored, and a fine grid about the jumps of n.
    for bits in (2_f32.powi(-10).to_bits()..=87.0_f32.to_bits()).step_by(101) {
        check(-f32::from_bits(bits));
        check(f32::from_bits(bits));
    }
    for n in -125..=126 {
        let jump = ((f64::from(n) + 0.5) * std::f64::consts::LN_2) as f32;
        for step in -50..=50 {
            check(f32::from_bits(jump.to_bits().wrapping_add_signed(step)));
        }
    }
    assert!(worst < 9e-8, "{worst:e}");
}

#[test]
fn exp_f32_saturates_outside_its_range() {
    assert_eq!(exp_f32(0.0), 1.0);
    assert_eq!(exp_f32(-0.0), 1.0);
    assert_eq!(exp_f32(1e-30), 1.0);
    assert!(exp_f32(-87.0).is_normal());
    assert_eq!(exp_f32((-87.0_f32).next_down()).to_bits(), 0);
    assert_eq!(exp_f32(-1e30), 0.0);
    assert!(exp_f32(88.0).is_finite());
    assert_eq!(exp_f32(89.0), f32::INFINITY);
    assert!(exp_f32(f32::NAN).is_nan());
}

#[test]
fn exp_f64_agrees_with_big_floats() {
    let mut rng = SplitMix64(11);
    let mut constants = Consts::new().expect("memory for constants");
    let mut worst = 0.0_f64;
    for loop_ in 0..LOOPS {
        let x = match loop_ % 3 {
            0 => -708.0 + 1417.0 * rng.uniform(),
            1 => rng.float(-30, 2),
            // About the jumps of n.
            _ => {
                ((rng.next() % 100) as f64 + 0.5)
                    * std::f64::consts::LN_2
                    * (1.0 + 1e-15 * rng.uniform())
            }
        };
        let exact = big(x).exp(REFERENCE, ROUNDING, &mut constants);
        worst = worst.max(relative_error(exp_f64(x), &exact));
    }
    assert!(worst < 1.5e-16, "{worst:e}");
    assert_eq!(exp_f64(0.0), 1.0);
    assert_eq!(exp_f64(-708.1), 0.0);
    assert_eq!(exp_f64(709.1), f64::INFINITY);
    assert!(exp_f64(709.0).is_finite() && exp_f64(-708.0).is_normal());
    assert!(exp_f64(f64::NAN).is_nan());
}

#[test]
fn ln_f32_and_the_circle_of_32_bits_are_accurate() {
    let mut rng = SplitMix64(17);
    let (mut logarithm, mut circle) = (0.0_f64, 0.0_f64);
    for loop_ in 0..400_000 {
        let x = match loop_ % 3 {
            0 => (rng.uniform() + 1e-9) as f32,
            1 => rng.float(-126, 126).abs() as f32,
            _ => 1.0 + rng.float(-24, -1) as f32,
        };
        let exact = f64::from(x).ln();
        let off = (f64::from(ln_f32(x)) - exact).abs();
        logarithm = logarithm.max(off / exact.abs().max(0.66));
        let turn = rng.next() as u32;
        let angle = std::f64::consts::TAU * f64::from(turn) / 2f64.powi(32);
        let (sine, cosine) = sin_cos_of_turn(turn);
        circle = circle.max((f64::from(sine) - angle.sin()).abs());
        circle = circle.max((f64::from(cosine) - angle.cos()).abs());
    }
    assert!(logarithm < 3e-7, "{logarithm:e}");
    assert!(circle < 1.2e-7, "{circle:e}");
    assert_eq!(ln_f32(1.0), 0.0);
    assert_eq!(sin_cos_of_turn(0), (0.0, 1.0));
    assert_eq!(sin_cos_of_turn(1 << 30), (1.0, 0.0));
}

#[test]
fn exp_near_zero_agrees_with_big_floats() {
    let mut rng = SplitMix64(16);
    let mut constants = Consts::new().expect("memory for constants");
    let mut worst = 0.0_f64;
    for loop_ in 0..LOOPS {
        // The series up to 2^-6, and a little beyond.
        let x = match loop_ % 2 {
            0 => (2.0 * rng.uniform() - 1.0) / 60.0,
            _ => rng.float(-60, -6),
        };
        let exact = big(x).exp(REFERENCE, ROUNDING, &mut constants);
        worst = worst.max(relative_error(exp_near_zero(x), &exact));
    }
    assert!(worst < 1.3e-16, "{worst:e}");
    assert_eq!(exp_near_zero(0.0), 1.0);
    assert_eq!(exp_near_zero(-800.0), 0.0);
    assert!(exp_near_zero(f64::NAN).is_nan());
}

#[test]
fn ln_f64_agrees_with_big_floats() {
    let mut rng = SplitMix64(12);
    let mut constants = Consts::new().expect("memory for constants");
    let mut worst = 0.0_f64;
    for loop_ in 0..LOOPS {
        let x = match loop_ % 5 {
            0 => rng.uniform() + f64::EPSILON,
            1 => rng.float(-1022, 1022).abs(),
            2 => 1.0 + rng.float(-50, -1),
            // About the split at sqrt(1/2) and sqrt(2).
            3 => 0.5_f64.sqrt() * (1.0 + 1e-6 * (rng.uniform() - 0.5)),
            _ => 2_f64.sqrt() * (1.0 + 1e-6 * (rng.uniform() - 0.5)),
        };
        let exact = big(x).ln(REFERENCE, ROUNDING, &mut constants);
        let error = if x == 1.0 { ln_f64(x).abs() } else { relative_error(ln_f64(x), &exact) };
        worst = worst.max(error);
    }
    assert!(worst < 1.6e-16, "{worst:e}");
    assert_eq!(ln_f64(1.0), 0.0);
    assert_eq!(ln_f64(2.0), std::f64::consts::LN_2);
}

#[test]
fn sin_cos_2pi_agrees_with_big_floats() {
    let mut rng = SplitMix64(13);
    let mut constants = Consts::new().expect("memory for constants");
    let pi = constants.pi(REFERENCE, ROUNDING);
    let mut worst = 0.0_f64;
    for loop_ in 0..LOOPS {
        let u = match loop_ % 3 {
            0 => rng.uniform(),
            // About the multiples of an eighth turn.
            1 => (rng.next() % 8) as f64 / 8.0 + rng.float(-60, -5).abs(),
            _ => rng.float(-40, -1).abs(),
        };
        let angle = pi.mul(&big(2.0 * u), REFERENCE, ROUNDING);
        let (sine, cosine) = sin_cos_2pi(u);
        for (found, exact) in [
            (sine, angle.sin(REFERENCE, ROUNDING, &mut constants)),
            (cosine, angle.cos(REFERENCE, ROUNDING, &mut constants)),
        ] {
            worst = worst.max(to_f64(&big(found).sub(&exact, REFERENCE, ROUNDING)).abs());
        }
    }
    assert!(worst < 1.2e-16, "{worst:e}");
}

#[test]
fn sin_cos_2pi_is_exact_at_quarter_turns_and_symmetric() {
    assert_eq!(sin_cos_2pi(0.0), (0.0, 1.0));
    assert_eq!(sin_cos_2pi(0.25), (1.0, 0.0));
    assert_eq!(sin_cos_2pi(0.5), (0.0, -1.0));
    assert_eq!(sin_cos_2pi(0.75), (-1.0, 0.0));
    let mut rng = SplitMix64(14);
    for _ in 0..LOOPS {
        let u = rng.next() as u32 as f64 / 4_294_967_296.0;
        let (sine, cosine) = sin_cos_2pi(u);
        assert_eq!(sin_cos_2pi(u + 0.25), (cosine, -sine));
        assert_eq!(sin_cos_2pi(1.0 - u), (-sine, cosine));
    }
}

/// Bits that any other implementation (such as the kernels') must give.
#[test]
fn bits_are_fixed() {
    let found = [
        u64::from(exp_f32(-1.5).to_bits()),
        u64::from(exp_f32(-13.37).to_bits()),
        exp_f64(-1.5).to_bits(),
        ln_f64(0.3).to_bits(),
        sin_cos_2pi(0.3).0.to_bits(),
        sin_cos_2pi(0.3).1.to_bits(),
    ];
    let expected = [
        0x3e64_7c3c,
        0x35d1_8d6c,
        0x3fcc_8f87_724b_5c1d,
        0xbff3_4378_fcbd_a721,
        0x3fee_6f0e_1344_5500,
        0xbfd3_c6ef_372f_e94e,
    ];
    assert_eq!(found, expected, "{found:#x?}");
}
