use super::*;
use crate::arithmetic::testing::SplitMix64;

/// Every float of two binades, [1, 4): both parities of the exponent.
fn two_binades() -> impl Iterator<Item = f32> {
    (1.0_f32.to_bits()..4.0_f32.to_bits()).map(f32::from_bits)
}

#[test]
fn reciprocal_is_off_by_half_a_unit() {
    let worst = two_binades()
        .map(|x| (f64::from(reciprocal(x)) * f64::from(x) - 1.0).abs())
        .fold(0.0, f64::max);
    assert!(worst < 5.97e-8, "{worst:e}");
}

#[test]
fn reciprocal_sqrt_is_off_by_less_than_a_unit() {
    let worst = two_binades()
        .map(|x| (f64::from(reciprocal_sqrt(x)) * f64::from(x).sqrt() - 1.0).abs())
        .fold(0.0, f64::max);
    assert!(worst < 7.44e-8, "{worst:e}");
}

#[test]
fn sqrt_is_the_ieee_square_root() {
    assert!(two_binades().all(|x| sqrt(x) == x.sqrt()));
    assert_eq!(sqrt(0.0).to_bits(), 0);
}

#[test]
fn errors_are_the_same_over_the_domain() {
    let mut rng = SplitMix64(7);
    for _ in 0..1_000_000 {
        let x = rng.float32(-100, 99).abs();
        let r = (f64::from(reciprocal(x)) * f64::from(x) - 1.0).abs();
        assert!(r < 5.97e-8, "1/{x:e}: {r:e}");
        let r = (f64::from(reciprocal_sqrt(x)) * f64::from(x).sqrt() - 1.0).abs();
        assert!(r < 7.44e-8, "1/sqrt({x:e}): {r:e}");
        assert_eq!(sqrt_and_reciprocal(x), (x.sqrt(), reciprocal_sqrt(x)));
    }
}

/// Bits that any other implementation (such as the kernels') must give.
#[test]
fn bits_are_fixed() {
    let found: Vec<u32> = [3.0_f32, 0.7, 1.26, 5.9]
        .iter()
        .flat_map(|&x| [reciprocal(x).to_bits(), reciprocal_sqrt(x).to_bits()])
        .collect();
    let expected = [
        0x3eaa_aaab,
        0x3f13_cd3a,
        0x3fb6_db6e,
        0x3f98_fd40,
        0x3f4b_2cb3,
        0x3f64_101c,
        0x3e2d_8f30,
        0x3ed2_c97d,
    ];
    assert_eq!(found, expected, "{found:#010x?}");
}
