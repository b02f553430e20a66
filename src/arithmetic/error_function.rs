//! Error function and its complement without libm: the same bits on every processor.
//!
//! For `a = |x|`,
//!
//! ```text
//! erfc(a) = exp(-a^2) F(t) / (1 + 2 a),   t = (a - 4)/(a + 4)
//! ```
//!
//! where `F` is a polynomial (M. M. Shepherd & J. G. Laframboise, Math. Comp. 36, 249 (1981); the coefficients here are those of the
//! interpolation at Chebyshev points in 60-digit arithmetic up to where erfc vanishes, rounded to nearest). `exp(-a^2)` is taken of the
//! rounded square, and corrected by what rounding left. Below 1, `erf(x) = 2 x / sqrt(pi) + x^3 P(x^2)`, above `1 - erfc(a)`
//! with the sign of `x`.
use super::elementary::{exp_f32, exp_f64};
use super::reciprocal::reciprocal;

/// 2 / sqrt(pi).
pub const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// erfc(x), relative error at most 1e-15 for x <= 26; 0 above 26.6. F is off by at most 5.5e-17.
#[inline(always)]
pub fn erfc_f64(x: f64) -> f64 {
    let of_magnitude = erfc_of_magnitude_f64(x.abs());
    if x < 0.0 { 2.0 - of_magnitude } else { of_magnitude }
}

/// erf(x), relative error at most 3e-16. P is off by at most 1.8e-18.
#[inline(always)]
pub fn erf_f64(x: f64) -> f64 {
    let z = x * x;
    let p = 6.175_907_631_430_082e-11_f64;
    let p = p.mul_add(z, -1.150_135_358_817_774_6e-9);
    let p = p.mul_add(z, 1.469_272_169_562_469_5e-8);
    let p = p.mul_add(z, -1.635_515_042_442_096_4e-7);
    let p = p.mul_add(z, 1.646_144_931_063_161_8e-6);
    let p = p.mul_add(z, -1.492_562_264_669_634_8e-5);
    let p = p.mul_add(z, 0.000_120_553_322_196_106_91);
    let p = p.mul_add(z, -0.000_854_832_701_013_835_8);
    let p = p.mul_add(z, 0.005_223_977_625_304_832_5);
    let p = p.mul_add(z, -0.026_866_170_645_123_925);
    let p = p.mul_add(z, 0.112_837_916_709_551_11);
    let p = p.mul_add(z, -0.376_126_389_031_837_54);
    let near_zero = x.mul_add(TWO_OVER_ROOT_PI, (x * z) * p);
    let a = x.abs();
    let outside = 1.0 - erfc_of_magnitude_f64(a);
    let outside = if x < 0.0 { -outside } else { outside };
    if a < 1.0 { near_zero } else { outside }
}

#[inline(always)]
fn erfc_of_magnitude_f64(a: f64) -> f64 {
    /// erfc is zero from here on.
    const HIGHEST: f64 = 30.0;
    let a = if a > HIGHEST { HIGHEST } else { a };
    let t = (a - 4.0) / (a + 4.0);
    let f = -8.596_345_752_151_402e-9_f64;
    let f = f.mul_add(t, -8.597_913_499_935_894e-9);
    let f = f.mul_add(t, 1.017_110_165_632_933_4e-7);
    let f = f.mul_add(t, 5.668_324_640_874_443_5e-8);
    let f = f.mul_add(t, -8.197_772_663_522_738e-7);
    let f = f.mul_add(t, 3.121_745_309_825_206e-7);
    let f = f.mul_add(t, 5.708_453_671_017_045e-6);
    let f = f.mul_add(t, -1.123_332_237_013_765_7e-5);
    let f = f.mul_add(t, -2.439_977_091_386_743_2e-5);
    let f = f.mul_add(t, 0.000_150_626_063_181_366_26);
    let f = f.mul_add(t, -0.000_199_256_230_579_023_08);
    let f = f.mul_add(t, -0.000_757_774_376_063_311_4);
    let f = f.mul_add(t, 0.005_031_969_841_634_934);
    let f = f.mul_add(t, -0.016_197_733_889_718_985);
    let f = f.mul_add(t, 0.037_167_515_557_784_76);
    let f = f.mul_add(t, -0.066_330_365_827_452_3);
    let f = f.mul_add(t, 0.093_732_834_996_828_47);
    let f = f.mul_add(t, -0.101_039_066_035_589_93);
    let f = f.mul_add(t, 0.068_097_054_254_741_83);
    let f = f.mul_add(t, 0.015_379_652_102_606_537);
    let f = f.mul_add(t, -0.139_621_116_840_562_97);
    let f = f.mul_add(t, 1.232_995_118_625_552_6);
    let square = a * a;
    let rest = a.mul_add(a, -square);
    let gauss = exp_f64(-square);
    let gauss = (-rest).mul_add(gauss, gauss);
    gauss * (f / a.mul_add(2.0, 1.0))
}

/// erfc(x), relative error at most 6e-7 for x <= 9; 0 above 9.33. F is off by at most 8.2e-8.
#[inline(always)]
pub fn erfc_f32(x: f32) -> f32 {
    let of_magnitude = erfc_of_magnitude_f32(x.abs());
    if x < 0.0 { 2.0 - of_magnitude } else { of_magnitude }
}

/// erf(x), relative error at most 2e-7. P is off by at most 1.7e-8.
#[inline(always)]
pub fn erf_f32(x: f32) -> f32 {
    let z = x * x;
    let p = 8.386_716e-5_f32;
    let p = p.mul_add(z, -0.000_816_373_1);
    let p = p.mul_add(z, 0.005_204_732);
    let p = p.mul_add(z, -0.026_861_755);
    let p = p.mul_add(z, 0.112_837_546);
    let p = p.mul_add(z, -0.376_126_38);
    let near_zero = x.mul_add(std::f32::consts::FRAC_2_SQRT_PI, (x * z) * p);
    let a = x.abs();
    let outside = 1.0 - erfc_of_magnitude_f32(a);
    let outside = if x < 0.0 { -outside } else { outside };
    if a < 1.0 { near_zero } else { outside }
}

#[inline(always)]
fn erfc_of_magnitude_f32(a: f32) -> f32 {
    /// erfc is zero from here on.
    const HIGHEST: f32 = 12.0;
    let a = if a > HIGHEST { HIGHEST } else { a };
    let t = (a - 4.0) * reciprocal(a + 4.0);
    let f = 0.004_567_562_6_f32;
    let f = f.mul_add(t, -0.017_810_088);
    let f = f.mul_add(t, 0.036_704_935);
    let f = f.mul_add(t, -0.065_783_925);
    let f = f.mul_add(t, 0.093_956);
    let f = f.mul_add(t, -0.101_105_22);
    let f = f.mul_add(t, 0.068_070_516);
    let f = f.mul_add(t, 0.015_382_713);
    let f = f.mul_add(t, -0.139_620_36);
    let f = f.mul_add(t, 1.232_995);
    let square = a * a;
    let rest = a.mul_add(a, -square);
    let gauss = exp_f32(-square);
    let gauss = (-rest).mul_add(gauss, gauss);
    gauss * (f * reciprocal(a.mul_add(2.0, 1.0)))
}

#[cfg(test)]
mod tests;
