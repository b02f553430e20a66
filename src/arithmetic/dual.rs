//! Numbers that carry a derivative: formulas written over [`Real`] then give theirs.
use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, Mul, Neg, Sub};

use super::Real;
use super::error_function::TWO_OVER_ROOT_PI;

/// `value + slope d` with `d^2 = 0`: what is computed from a variable of slope one has its derivative as slope, exact up to
/// rounding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dual {
    pub value: f64,
    pub slope: f64,
}

impl Dual {
    /// The variable itself.
    pub fn variable(value: f64) -> Self {
        Dual { value, slope: 1.0 }
    }

    /// `f(self)`, of which `value` and `derivative` are known.
    #[inline(always)]
    fn through(self, value: f64, derivative: f64) -> Self {
        Dual { value, slope: derivative * self.slope }
    }
}

/// By the values.
impl PartialEq for Dual {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Dual {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl Add for Dual {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Dual { value: self.value + other.value, slope: self.slope + other.slope }
    }
}

impl Sub for Dual {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Dual { value: self.value - other.value, slope: self.slope - other.slope }
    }
}

impl Mul for Dual {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let slope = self.slope * other.value + self.value * other.slope;
        Dual { value: self.value * other.value, slope }
    }
}

impl Neg for Dual {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual { value: -self.value, slope: -self.slope }
    }
}

impl Sum for Dual {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Dual::ZERO, Add::add)
    }
}

impl Real for Dual {
    const ZERO: Dual = Dual { value: 0.0, slope: 0.0 };
    const ONE: Dual = Dual { value: 1.0, slope: 0.0 };
    const WIDE: bool = true;
    const COINCIDENT2: Dual = Dual { value: f64::COINCIDENT2, slope: 0.0 };

    fn from_f64(value: f64) -> Dual {
        Dual { value, slope: 0.0 }
    }
    fn to_f64(self) -> f64 {
        self.value
    }
    /// Those of the value.
    fn to_bits(self) -> u64 {
        self.value.to_bits()
    }
    fn from_bits(bits: u64) -> Dual {
        Dual::from_f64(f64::from_bits(bits))
    }
    #[inline(always)]
    fn fused(self, a: Dual, b: Dual) -> Dual {
        let product = self * a;
        Dual { value: self.value.mul_add(a.value, b.value), slope: product.slope + b.slope }
    }
    #[inline(always)]
    fn inverse(self) -> Dual {
        let inverse = self.value.inverse();
        self.through(inverse, -inverse * inverse)
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Dual {
        let inverse_sqrt = self.value.inverse_sqrt();
        self.through(inverse_sqrt, -0.5 * inverse_sqrt / self.value)
    }
    #[inline(always)]
    fn exp(self) -> Dual {
        let exp = Real::exp(self.value);
        self.through(exp, exp)
    }
    #[inline(always)]
    fn ln(self) -> Dual {
        self.through(Real::ln(self.value), 1.0 / self.value)
    }
    #[inline(always)]
    fn sine(self) -> Dual {
        self.through(self.value.sine(), self.value.cosine())
    }
    #[inline(always)]
    fn cosine(self) -> Dual {
        self.through(self.value.cosine(), -self.value.sine())
    }
    #[inline(always)]
    fn erf(self) -> Dual {
        let slope = TWO_OVER_ROOT_PI * Real::exp(-self.value * self.value);
        self.through(Real::erf(self.value), slope)
    }
    #[inline(always)]
    fn erfc(self) -> Dual {
        let slope = TWO_OVER_ROOT_PI * Real::exp(-self.value * self.value);
        self.through(Real::erfc(self.value), -slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_exact_derivatives() {
        let (x, two) = (Dual::variable(0.75), Dual::from_f64(2.0));
        // x, f(x) and f'(x) by hand.
        let exp = 0.75f64.exp();
        for (found, value, slope) in [
            (x * x * x, 0.421_875, 3.0 * 0.5625),
            (two - x, 1.25, -1.0),
            (-x + two * x, 0.75, 1.0),
            (x.inverse(), 4.0 / 3.0, -16.0 / 9.0),
            ((x * x).inverse_sqrt(), 4.0 / 3.0, -16.0 / 9.0),
            (Real::exp(x), exp, exp),
            (Real::exp(x * x), 0.5625f64.exp(), 1.5 * 0.5625f64.exp()),
            (
                x.erf(),
                0.711_155_633_653_515_1,
                2.0 / std::f64::consts::PI.sqrt() * (-0.5625f64).exp(),
            ),
            (
                x.erfc(),
                0.288_844_366_346_484_9,
                -2.0 / std::f64::consts::PI.sqrt() * (-0.5625f64).exp(),
            ),
            (x.fused(x, two), 2.5625, 1.5),
            ([x, x, two].into_iter().sum(), 3.5, 2.0),
        ] {
            assert!((found.value - value).abs() < 1e-15 * value.abs() * 4.0, "{found:?} {value}");
            assert!((found.slope - slope).abs() < 1e-15 * slope.abs() * 4.0, "{found:?} {slope}");
        }
        assert!(x < two && x == Dual::from_f64(0.75));
        assert_eq!(Dual::from_bits(x.to_bits()).slope, 0.0);
    }
}
