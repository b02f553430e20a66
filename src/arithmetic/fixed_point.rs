//! 64-bit fixed point: rounding, scaling, and coordinates as fractions of the box edge.
//!
//! Rounding of scaled integers is to nearest with halves away from zero, so that every function is odd
//! to the bit, f(-v) = -f(v): pair forces and time reversal stay exact. A result that does not fit is
//! `None`, never a wrap; only coordinates wrap, at the period of the box.

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// Nearest integer, halves to even, for |x| <= 2^51; vectorises (one addition, one subtraction).
///
/// Adding 1.5 * 2^52 leaves the rounded integer in the low bits.
#[inline(always)]
pub fn round_to_i64_f64(x: f64) -> i64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    ((x + MAGIC).to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64)
}

/// Nearest integer, halves to even, for |x| < 2^63; `None` outside and for NaN.
#[inline(always)]
pub fn wide_round(x: f64) -> Option<i64> {
    // A NaN fails the comparison. A float below 2^63 from 2^53 on is an integer: rounding cannot reach 2^63.
    if x.abs() < TWO_TO_63 { Some(x.round_ties_even() as i64) } else { None }
}

/// `v / 2^shift`, rounded to nearest, halves away from zero.
#[inline(always)]
pub fn shift_round_i128(v: i128, shift: u32) -> i128 {
    let magnitude = shift_round_u128(v.unsigned_abs(), shift) as i128;
    if v < 0 { magnitude.wrapping_neg() } else { magnitude }
}

/// For magnitudes up to 2^127.
#[inline(always)]
fn shift_round_u128(magnitude: u128, shift: u32) -> u128 {
    match shift {
        0 => magnitude,
        1..=127 => (magnitude >> shift) + (magnitude >> (shift - 1) & 1),
        128 => magnitude >> 127,
        _ => 0,
    }
}

/// The number `multiplier / 2^shift`: a constant that integers are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub multiplier: u64,
    pub shift: u32,
}

impl Ratio {
    /// The exact value of a finite float that is not negative and below 2^64; else `None`.
    pub fn from_f64(x: f64) -> Option<Self> {
        if !(0.0..TWO_TO_64).contains(&x) {
            return None;
        }
        let (mantissa, exponent) = split_magnitude(x);
        Some(if exponent >= 0 {
            Ratio { multiplier: mantissa << exponent, shift: 0 }
        } else {
            Ratio { multiplier: mantissa, shift: -exponent as u32 }
        })
    }

    pub fn to_f64(self) -> f64 {
        // In two steps: 2^-shift alone may be too small for a float.
        let half = self.shift / 2;
        self.multiplier as f64 * power_of_two(half) * power_of_two(self.shift - half)
    }
}

/// 2^-exponent for exponents up to 1022.
fn power_of_two(exponent: u32) -> f64 {
    f64::from_bits(u64::from(1023 - exponent) << 52)
}

/// |x| = mantissa * 2^exponent for finite x.
#[inline(always)]
fn split_magnitude(x: f64) -> (u64, i32) {
    let bits = x.to_bits() & !(1 << 63);
    let biased = (bits >> 52) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

/// `v * ratio`: the exact product, rounded once to nearest, halves away from zero; `None` if its
/// magnitude is 2^63 or more.
#[inline(always)]
pub fn mul_round(v: i64, ratio: Ratio) -> Option<i64> {
    let product = u128::from(v.unsigned_abs()) * u128::from(ratio.multiplier);
    signed(shift_round_u128(product, ratio.shift), v < 0)
}

/// `v * factor`: the exact product, rounded once to nearest, halves away from zero; `None` if its
/// magnitude is 2^63 or more or the factor is not finite.
#[inline(always)]
pub fn scale_i64(v: i64, factor: f64) -> Option<i64> {
    if !factor.is_finite() {
        return None;
    }
    let negative = (v < 0) != (factor < 0.0);
    let (mantissa, exponent) = split_magnitude(factor);
    let product = u128::from(v.unsigned_abs()) * u128::from(mantissa);
    let magnitude = if exponent <= 0 {
        shift_round_u128(product, -exponent as u32)
    } else if product == 0 {
        0
    } else if exponent as u32 <= product.leading_zeros() {
        product << exponent
    } else {
        return None;
    };
    signed(magnitude, negative)
}

#[inline(always)]
fn signed(magnitude: u128, negative: bool) -> Option<i64> {
    let value = i64::try_from(magnitude).ok()?;
    Some(if negative { -value } else { value })
}

/// Coordinate `x` as a 64-bit fraction of the box edge, `n = x / edge * 2^64` modulo 2^64, rounded to nearest.
///
/// Any finite `x`, inside the box or not, of either sign: f(-x) = -f(x). Accurate to 2^-64 of the
/// edge while |x| is below 2^52 edges.
#[inline(always)]
pub fn fraction_from_f64(x: f64, edge: f64) -> u64 {
    let magnitude = x.abs();
    let quotient = magnitude / edge;
    // The remainder of the division is exact, so that quotient + remainder / edge has all 64 bits.
    let remainder = (-quotient).mul_add(edge, magnitude);
    let fraction = quotient - quotient.floor();
    let upper = (fraction * TWO_TO_64) as u64;
    let rest = fraction * TWO_TO_64 - upper as f64 + remainder / edge * TWO_TO_64;
    let n = upper.wrapping_add(rest.round_ties_even() as i64 as u64);
    if x < 0.0 { n.wrapping_neg() } else { n }
}

/// Coordinate in [0, edge) of a 64-bit fraction, rounded to nearest but never up to `edge`.
///
/// A coordinate above 2^-10 of the edge comes back to the bit from [`fraction_from_f64`].
#[inline(always)]
pub fn fraction_to_f64(n: u64, edge: f64) -> f64 {
    const STEP: f64 = 1.0 / TWO_TO_64;
    const UPPER_STEP: f64 = 1.0 / 4_294_967_296.0;
    let upper = f64::from((n >> 32) as u32) * UPPER_STEP;
    let lower = f64::from(n as u32) * STEP;
    let x = upper.mul_add(edge, lower * edge);
    if x < edge { x } else { edge.next_down() }
}

/// Signed distance of a 64-bit fraction difference, `n * edge / 2^64`, in [-edge/2, edge/2).
#[inline(always)]
pub fn displacement_to_f64(n: i64, edge: f64) -> f64 {
    const STEP: f64 = 1.0 / TWO_TO_64;
    n as f64 * STEP * edge
}

#[cfg(test)]
mod tests;
