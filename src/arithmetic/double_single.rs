//! A number as the unevaluated sum of two 32-bit floats: at least 44 significant bits.
//!
//! With u = 2^-24, error-free transformations give the rounding error of one operation exactly:
//! two-sum (Knuth, The Art of Computer Programming 2, 4.2.2), quick two-sum (Dekker, Numer. Math. 18,
//! 224 (1971)) and the two-product through one fused multiply-add. The operations are built from them
//! as in DSFUN90, the arithmetic of Colberg and Hoefling, Comput. Phys. Commun. 182, 1120 (2011),
//! section 2.4, in the variants whose bounds are proven by Joldes, Muller and Popescu, ACM Trans.
//! Math. Softw. 44, 15 (2017), and for the square root by Lefevre et al., same journal, 49, 16 (2023):
//!
//! | operation | relative error |
//! | --- | --- |
//! | `a + b`, also under cancellation | 3 u^2 = 2^-46.4 |
//! | `a + f32`, `a * f32` | 2 u^2 = 2^-47 |
//! | `a * b` | 4 u^2 = 2^-46 |
//! | `a / b` | 15 u^2 = 2^-44.1 |
//! | `sqrt` | 25/8 u^2 = 2^-46.4 |
//!
//! The bounds hold while nothing overflows or underflows: for products, quotients and roots the
//! result (and the dividend or radicand) must be at least 2^-100 in magnitude, so that the error
//! term is still a normal number. Sums have no lower limit. Infinities become NaN.
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// `hi + lo`, normalised: `hi` is the sum rounded to 32-bit float.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct DoubleSingle {
    hi: f32,
    lo: f32,
}

/// Rounded sum and its exact error: `s + e == a + b`, for any order of magnitudes, while `a + b`
/// does not overflow.
#[inline(always)]
pub fn two_sum(a: f32, b: f32) -> (f32, f32) {
    let s = a + b;
    let bb = s - a;
    let e = (a - (s - bb)) + (b - bb);
    (s, e)
}

/// As [`two_sum`] in half the operations, for `|a| >= |b|` or `a == 0`.
#[inline(always)]
pub fn quick_two_sum(a: f32, b: f32) -> (f32, f32) {
    let s = a + b;
    let e = b - (s - a);
    (s, e)
}

/// Rounded product and its exact error: `p + e == a * b`, while the product does not overflow and
/// is zero or at least 2^-102 (so that its last bit is at least the smallest subnormal, 2^-149).
#[inline(always)]
pub fn two_product(a: f32, b: f32) -> (f32, f32) {
    let p = a * b;
    let e = a.mul_add(b, -p);
    (p, e)
}

impl DoubleSingle {
    pub const ZERO: DoubleSingle = DoubleSingle { hi: 0.0, lo: 0.0 };
    pub const ONE: DoubleSingle = DoubleSingle { hi: 1.0, lo: 0.0 };

    /// Half of it, exactly.
    #[inline(always)]
    pub fn halved(self) -> Self {
        DoubleSingle { hi: 0.5 * self.hi, lo: 0.5 * self.lo }
    }

    /// The number rounded to 32-bit float.
    #[inline(always)]
    pub fn hi(self) -> f32 {
        self.hi
    }

    /// What [`DoubleSingle::hi`] lacks.
    #[inline(always)]
    pub fn lo(self) -> f32 {
        self.lo
    }

    /// The sum of any two floats, exactly.
    #[inline(always)]
    pub fn from_sum(a: f32, b: f32) -> Self {
        let (hi, lo) = two_sum(a, b);
        DoubleSingle { hi, lo }
    }

    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        DoubleSingle { hi: x, lo: 0.0 }
    }

    /// Nearest `hi`, then nearest `lo`: relative error at most 2^-49.
    #[inline(always)]
    pub fn from_f64(x: f64) -> Self {
        let hi = x as f32;
        let lo = (x - f64::from(hi)) as f32;
        // The remainder may round up to half a unit of `hi`: normalise.
        let (hi, lo) = quick_two_sum(hi, lo);
        DoubleSingle { hi, lo }
    }

    /// Exact while `hi` and `lo` lie within 53 bits, else rounded to nearest.
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        f64::from(self.hi) + f64::from(self.lo)
    }

    /// `hi` in the upper, `lo` in the lower 32 bits.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        (self.hi.to_bits() as u64) << 32 | self.lo.to_bits() as u64
    }

    /// Inverse of [`DoubleSingle::to_bits`].
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Self {
        DoubleSingle { hi: f32::from_bits((bits >> 32) as u32), lo: f32::from_bits(bits as u32) }
    }

    #[inline(always)]
    pub fn add_f32(self, b: f32) -> Self {
        let (s, e) = two_sum(self.hi, b);
        let (hi, lo) = quick_two_sum(s, self.lo + e);
        DoubleSingle { hi, lo }
    }

    #[inline(always)]
    pub fn mul_f32(self, b: f32) -> Self {
        let (p, e) = two_product(self.hi, b);
        let (hi, lo) = quick_two_sum(p, self.lo.mul_add(b, e));
        DoubleSingle { hi, lo }
    }

    /// Square root of a number that is not negative.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let s = self.hi.sqrt();
        let e = (-s).mul_add(s, self.hi);
        let correction = (self.lo + e) / (s + s);
        let correction = if self.hi == 0.0 { 0.0 } else { correction };
        let (hi, lo) = quick_two_sum(s, correction);
        DoubleSingle { hi, lo }
    }

    #[inline(always)]
    pub fn abs(self) -> Self {
        if self.hi < 0.0 { -self } else { self }
    }
}

impl Add for DoubleSingle {
    type Output = Self;

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let (s, e) = two_sum(self.hi, b.hi);
        let (t, f) = two_sum(self.lo, b.lo);
        let (s, e) = quick_two_sum(s, e + t);
        let (hi, lo) = quick_two_sum(s, f + e);
        DoubleSingle { hi, lo }
    }
}

impl Neg for DoubleSingle {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        DoubleSingle { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for DoubleSingle {
    type Output = Self;

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for DoubleSingle {
    type Output = Self;

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        let (p, e) = two_product(self.hi, b.hi);
        let cross = self.hi.mul_add(b.lo, self.lo * b.lo);
        let cross = self.lo.mul_add(b.hi, cross);
        let (hi, lo) = quick_two_sum(p, e + cross);
        DoubleSingle { hi, lo }
    }
}

impl Div for DoubleSingle {
    type Output = Self;

    #[inline(always)]
    fn div(self, b: Self) -> Self {
        let q = self.hi / b.hi;
        let r = b.mul_f32(q);
        // The first difference is exact: its parts agree to within a factor of two.
        let remainder = (self.hi - r.hi) + (self.lo - r.lo);
        let (hi, lo) = quick_two_sum(q, remainder / b.hi);
        DoubleSingle { hi, lo }
    }
}

impl AddAssign for DoubleSingle {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl SubAssign for DoubleSingle {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

#[cfg(test)]
mod tests;
