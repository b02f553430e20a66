//! Exponential, logarithm, sine and cosine without libm: the same bits on every processor.
//!
//! Arguments are reduced by powers of two (exactly, or with the constant split in two parts) and the rest
//! is a polynomial in Horner form by `mul_add`. The coefficients are minimax: a Remez exchange in 60-digit
//! arithmetic on the reduced interval, then rounded to nearest. Rounding to an integer is the addition of
//! 1.5 * 2^23 (or 2^52), after which the integer stands in the low bits.

/// exp(x), relative error at most 9e-8, for -87 <= x <= 88; 0 below and infinite above.
///
/// x = n ln 2 + r with |r| <= ln(2)/2, exp(r) = 1 + r + r^2 q(r); q is off by at most 6.2e-8.
#[inline(always)]
pub fn exp_f32(x: f32) -> f32 {
    const LOWEST: f32 = -87.0;
    const HIGHEST: f32 = 88.0;
    const MAGIC: f32 = 12_582_912.0;
    /// ln 2 to 15 bits after the point, so that n LN_2_HI is exact, and the rest.
    const LN_2_HI: f32 = 0.693_145_75;
    const LN_2_LO: f32 = 1.428_606_8e-6;
    let clamped = if x < LOWEST { LOWEST } else { x };
    let clamped = if clamped > HIGHEST { HIGHEST } else { clamped };
    let shifted = clamped.mul_add(std::f32::consts::LOG2_E, MAGIC);
    let n = shifted - MAGIC;
    let r = (-n).mul_add(LN_2_HI, clamped);
    let r = (-n).mul_add(LN_2_LO, r);
    let q = 0.001_382_199_2_f32;
    let q = q.mul_add(r, 0.008_362_869);
    let q = q.mul_add(r, 0.041_667_8);
    let q = q.mul_add(r, 0.166_665_79);
    let q = q.mul_add(r, 0.499_999_97);
    let p = (r * r).mul_add(q, r) + 1.0;
    let power_of_two = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    let y = p * power_of_two;
    let y = if x < LOWEST { 0.0 } else { y };
    if x > HIGHEST { f32::INFINITY } else { y }
}

const MAGIC: f64 = 6_755_399_441_055_744.0;
/// ln 2 to 42 bits after the point, so that n LN_2_HI is exact for |n| < 2048, and the rest.
const LN_2_HI: f64 = 0.693_147_180_559_890_3;
const LN_2_LO: f64 = 5.497_923_018_708_371e-14;

/// exp(x), relative error at most 1.5e-16, for -708 <= x <= 709; 0 below and infinite above.
///
/// As [`exp_f32`]; q is off by at most 1.4e-18.
#[inline(always)]
pub fn exp_f64(x: f64) -> f64 {
    const LOWEST: f64 = -708.0;
    const HIGHEST: f64 = 709.0;
    let clamped = if x < LOWEST { LOWEST } else { x };
    let clamped = if clamped > HIGHEST { HIGHEST } else { clamped };
    let shifted = clamped.mul_add(std::f64::consts::LOG2_E, MAGIC);
    let n = shifted - MAGIC;
    let r = (-n).mul_add(LN_2_HI, clamped);
    let r = (-n).mul_add(LN_2_LO, r);
    let q = 2.082_513_931_174_462_5e-9_f64;
    let q = q.mul_add(r, 2.510_494_868_404_202_6e-8);
    let q = q.mul_add(r, 2.755_754_207_476_753_4e-7);
    let q = q.mul_add(r, 2.755_725_612_485_174_4e-6);
    let q = q.mul_add(r, 2.480_158_704_407_339_2e-5);
    let q = q.mul_add(r, 1.984_126_987_416_849_8e-4);
    let q = q.mul_add(r, 1.388_888_888_900_411_6e-3);
    let q = q.mul_add(r, 8.333_333_333_326_353e-3);
    let q = q.mul_add(r, 4.166_666_666_666_649e-2);
    let q = q.mul_add(r, 0.166_666_666_666_666_7);
    let q = q.mul_add(r, 0.5);
    let p = (r * r).mul_add(q, r) + 1.0;
    let power_of_two = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let y = p * power_of_two;
    let y = if x < LOWEST { 0.0 } else { y };
    if x > HIGHEST { f64::INFINITY } else { y }
}

/// exp(x), for arguments that are mostly small: relative error at most 1.2e-16 for |x| <= 2^-6, where seven terms of the
/// series are enough (the next is below 2.3e-17), else that of [`exp_f64`].
#[inline(always)]
pub fn exp_near_zero(x: f64) -> f64 {
    if !(x.abs() <= 1.0 / 64.0) {
        return exp_f64(x);
    }
    let q = (1.0f64 / 5040.0).mul_add(x, 1.0 / 720.0);
    let q = q.mul_add(x, 1.0 / 120.0);
    let q = q.mul_add(x, 1.0 / 24.0);
    let q = q.mul_add(x, 1.0 / 6.0);
    let q = q.mul_add(x, 0.5);
    (x * x).mul_add(q, x) + 1.0
}

/// Natural logarithm of a positive normal number, relative error at most 1.6e-16.
///
/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f) and z = s^2,
/// ln(1 + f) = 2 artanh(s) = f - s (f - z P(z)); P is off by at most 3.1e-16, times z < 0.03.
/// Zero, negative, subnormal and infinite arguments give numbers that mean nothing.
#[inline(always)]
pub fn ln_f64(x: f64) -> f64 {
    /// sqrt(1/2), rounded down to a few bits.
    const SPLIT: u64 = 0x3FE6_A09E_0000_0000;
    let above = x.to_bits().wrapping_sub(SPLIT);
    let exponent = (above as i64) >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub((exponent as u64) << 52));
    let k = f64::from_bits(MAGIC.to_bits().wrapping_add(exponent as u64)) - MAGIC;
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let p = 0.146_178_712_086_500_57_f64;
    let p = p.mul_add(z, 0.153_315_970_932_819_9);
    let p = p.mul_add(z, 0.181_828_932_141_409_4);
    let p = p.mul_add(z, 0.222_222_110_729_163_5);
    let p = p.mul_add(z, 0.285_714_286_263_986_2);
    let p = p.mul_add(z, 0.399_999_999_998_984_45);
    let p = p.mul_add(z, 0.666_666_666_666_667);
    let t = s * (-z).mul_add(p, f);
    let t = (-k).mul_add(LN_2_LO, t);
    k.mul_add(LN_2_HI, f - t)
}

/// Natural logarithm of a positive normal number, absolute error at most 2e-7 or relative error at most 3e-7.
///
/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), ln(1 + f) = f - f^2 / 2 + f^3 P(f); P costs 3.2e-8 of that.
#[inline(always)]
pub fn ln_f32(x: f32) -> f32 {
    const SPLIT: u32 = 0x3F35_04F3;
    const LN_2_HI: f32 = 0.693_145_75;
    const LN_2_LO: f32 = 1.428_606_8e-6;
    let exponent = (x.to_bits().wrapping_sub(SPLIT) as i32) >> 23;
    let f = f32::from_bits(x.to_bits().wrapping_sub((exponent as u32) << 23)) - 1.0;
    let k = exponent as f32;
    let p = 0.087_003_596_f32;
    let p = p.mul_add(f, -0.142_674_76);
    let p = p.mul_add(f, 0.149_147_87);
    let p = p.mul_add(f, -0.165_775_87);
    let p = p.mul_add(f, 0.199_630_62);
    let p = p.mul_add(f, -0.250_013_38);
    let p = p.mul_add(f, 0.333_339_1);
    let t = (f * f).mul_add(p.mul_add(f, -0.5), k * LN_2_LO);
    k.mul_add(LN_2_HI, f + t)
}

/// (sin(2 pi u), cos(2 pi u)) for `u = turn / 2^32`, absolute error at most 1.2e-7.
///
/// As [`sin_cos_2pi`]; S is off by at most 2e-9 and C by 3.3e-8, times r^3 and r^2.
#[inline(always)]
pub fn sin_cos_of_turn(turn: u32) -> (f32, f32) {
    let quadrant = turn.wrapping_add(1 << 29) >> 30;
    let r = (turn.wrapping_sub(quadrant << 30) as i32) as f32 * (1.0 / (1u32 << 30) as f32);
    let z = r * r;
    let s = -0.004_600_198_5_f32;
    let s = s.mul_add(z, 0.079_679_67);
    let s = s.mul_add(z, -0.645_963_5);
    let sine = r.mul_add(std::f32::consts::FRAC_PI_2, (r * z) * s);
    let c = -0.020_426_25_f32;
    let c = c.mul_add(z, 0.253_606_35);
    let c = c.mul_add(z, -1.233_698);
    let cosine = c.mul_add(z, 1.0);
    let (first, second) = if quadrant & 1 == 1 { (cosine, sine) } else { (sine, cosine) };
    (
        f32::from_bits(first.to_bits() ^ (quadrant & 2) << 30),
        f32::from_bits(second.to_bits() ^ (quadrant.wrapping_add(1) & 2) << 30),
    )
}

/// (sin(2 pi u), cos(2 pi u)) for 0 <= u < 1 (in fact |u| < 2^50), absolute error at most 1.2e-16.
///
/// The quarter turn nearest to 4u is split off exactly; on the rest |r| <= 1/2,
/// sin(pi r / 2) = pi r / 2 + r z S(z) and cos(pi r / 2) = 1 + z C(z) with z = r^2; S is off by at
/// most 8e-17 and C by 5e-19, times z <= 1/4.
#[inline(always)]
pub fn sin_cos_2pi(u: f64) -> (f64, f64) {
    /// pi / 2 less its nearest 64-bit float.
    const FRAC_PI_2_LO: f64 = 6.123_233_995_736_766e-17;
    let quarters = 4.0 * u;
    let shifted = quarters + MAGIC;
    let r = quarters - (shifted - MAGIC);
    let quadrant = shifted.to_bits();
    let z = r * r;
    let s = 5.642_230_074_881_037e-8_f64;
    let s = s.mul_add(z, -3.598_702_980_385_571_7e-6);
    let s = s.mul_add(z, 1.604_411_666_205_285e-4);
    let s = s.mul_add(z, -4.681_754_134_254_782e-3);
    let s = s.mul_add(z, 7.969_262_624_614_426e-2);
    let s = s.mul_add(z, -0.645_964_097_506_246_2);
    let s = z.mul_add(s, FRAC_PI_2_LO);
    let sine = r.mul_add(std::f64::consts::FRAC_PI_2, r * s);
    let c = -6.329_400_433_909_603_5e-9_f64;
    let c = c.mul_add(z, 4.710_678_436_117_973_5e-7);
    let c = c.mul_add(z, -2.520_203_902_888_830_6e-5);
    let c = c.mul_add(z, 9.192_602_745_469_557e-4);
    let c = c.mul_add(z, -2.086_348_076_334_078e-2);
    let c = c.mul_add(z, 0.253_669_507_901_047_8);
    let c = c.mul_add(z, -1.233_700_550_136_169_7);
    let cosine = c.mul_add(z, 1.0);
    let swap = quadrant & 1 == 1;
    let first = if swap { cosine } else { sine };
    let second = if swap { sine } else { cosine };
    // Signs: sine is negative in quadrants 2 and 3, cosine in 1 and 2.
    let first = f64::from_bits(first.to_bits() ^ ((quadrant & 2) << 62));
    let second = f64::from_bits(second.to_bits() ^ ((quadrant.wrapping_add(1) & 2) << 62));
    (first, second)
}

#[cfg(test)]
mod tests;
