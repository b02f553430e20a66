//! What the tests of this folder share: cheap random operands and exact references.
use astro_float::{BigFloat, RoundingMode, WORD_BIT_SIZE};

/// Bits of the big floats: sums of numbers up to 2^300 apart are exact.
pub const BITS: usize = 512;
pub const ROUNDING: RoundingMode = RoundingMode::ToEven;

/// SplitMix64 (Steele, Lea and Flood 2014): operands of tests need no more.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Either sign, random mantissa, binary exponent uniform in `lowest..=highest`.
    pub fn float(&mut self, lowest: i32, highest: i32) -> f64 {
        let bits = self.next();
        let exponent = lowest + (self.next() % (highest - lowest + 1) as u64) as i32;
        let magnitude = f64::from_bits((bits >> 12) | ((1023 + exponent) as u64) << 52);
        if bits & 1 == 1 { -magnitude } else { magnitude }
    }

    /// As [`SplitMix64::float`], a 32-bit float.
    pub fn float32(&mut self, lowest: i32, highest: i32) -> f32 {
        let bits = self.next() as u32;
        let exponent = lowest + (self.next() % (highest - lowest + 1) as u64) as i32;
        f32::from_bits(bits & 0x807F_FFFF | ((127 + exponent) as u32) << 23)
    }
}

pub fn big(x: f64) -> BigFloat {
    BigFloat::from_f64(x, BITS)
}

/// A big float as a 64-bit float, to a relative 2^-52.
pub fn to_f64(x: &BigFloat) -> f64 {
    if x.is_zero() {
        return 0.0;
    }
    let (words, _, sign, exponent, _) = x.as_raw_parts().expect("a finite number");
    let leading = *words.last().expect("a mantissa") as f64;
    let value = leading * 2_f64.powi(exponent - WORD_BIT_SIZE as i32);
    if sign == astro_float::Sign::Neg { -value } else { value }
}

/// |x / exact - 1|.
pub fn relative_error(x: f64, exact: &BigFloat) -> f64 {
    let difference = big(x).sub(exact, BITS, ROUNDING);
    to_f64(&difference.div(exact, BITS, ROUNDING)).abs()
}
