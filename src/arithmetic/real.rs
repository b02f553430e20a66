use super::elementary::{exp_f32, exp_f64, ln_f32, ln_f64, sin_cos_2pi};
use super::error_function::{erf_f32, erf_f64, erfc_f32, erfc_f64};
use super::reciprocal::{reciprocal, reciprocal_sqrt};

/// `1 / 2 pi`.
const TURNS_OF_RADIAN: f64 = 0.5 * std::f64::consts::FRAC_1_PI;

/// The arithmetic of a pair interaction, in 32 or 64 bits: IEEE operations, explicit fused
/// multiply-add, and functions built on these alone, so that any processor gives the same bits.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Neg<Output = Self>
    + std::iter::Sum
    + 'static
{
    const ZERO: Self;
    const ONE: Self;
    /// Whether it has 64 bits.
    const WIDE: bool;
    /// Below this squared distance two particles are at the same place: there `r^2` has lost its digits, or is zero.
    const COINCIDENT2: Self;

    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// Those of 32 bits in the lower half.
    fn to_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
    /// `self * a + b` with one rounding.
    fn fused(self, a: Self, b: Self) -> Self;
    /// `1 / self`, correctly rounded.
    fn inverse(self) -> Self;
    /// `1 / sqrt(self)`.
    fn inverse_sqrt(self) -> Self;
    fn exp(self) -> Self;
    /// The natural logarithm of a number above zero.
    fn ln(self) -> Self;
    /// Of an angle in radians.
    fn sine(self) -> Self;
    fn cosine(self) -> Self;
    /// `2/sqrt(pi)` times the integral of `exp(-x^2)` from 0 to `self`.
    fn erf(self) -> Self;
    /// `1 - erf(self)`, with its own digits.
    fn erfc(self) -> Self;
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const WIDE: bool = false;
    // 2^-100, where the domain of the reciprocal square root begins.
    const COINCIDENT2: f32 = f32::from_bits((127 - 100) << 23);

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(f32::to_bits(self))
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn fused(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn inverse(self) -> f32 {
        reciprocal(self)
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> f32 {
        reciprocal_sqrt(self)
    }
    #[inline(always)]
    fn exp(self) -> f32 {
        exp_f32(self)
    }
    #[inline(always)]
    fn ln(self) -> f32 {
        ln_f32(self)
    }
    // In 64 bits: the angle in turns keeps its digits.
    #[inline(always)]
    fn sine(self) -> f32 {
        f64::from(self).sine() as f32
    }
    #[inline(always)]
    fn cosine(self) -> f32 {
        f64::from(self).cosine() as f32
    }
    #[inline(always)]
    fn erf(self) -> f32 {
        erf_f32(self)
    }
    #[inline(always)]
    fn erfc(self) -> f32 {
        erfc_f32(self)
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const WIDE: bool = true;
    // 2^-1000.
    const COINCIDENT2: f64 = f64::from_bits((1023 - 1000) << 52);

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn fused(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn inverse(self) -> f64 {
        1.0 / self
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> f64 {
        1.0 / self.sqrt()
    }
    #[inline(always)]
    fn exp(self) -> f64 {
        exp_f64(self)
    }
    #[inline(always)]
    fn ln(self) -> f64 {
        ln_f64(self)
    }
    #[inline(always)]
    fn sine(self) -> f64 {
        sin_cos_2pi(self * TURNS_OF_RADIAN).0
    }
    #[inline(always)]
    fn cosine(self) -> f64 {
        sin_cos_2pi(self * TURNS_OF_RADIAN).1
    }
    #[inline(always)]
    fn erf(self) -> f64 {
        erf_f64(self)
    }
    #[inline(always)]
    fn erfc(self) -> f64 {
        erfc_f64(self)
    }
}
