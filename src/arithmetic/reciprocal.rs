//! Reciprocal and reciprocal square root in 32-bit floats: an integer seed and two cubic steps.
//!
//! No table, no hardware estimate (those differ between processors) and no division: the same bits
//! everywhere, and as fast as the hardware's. With e = 1 - x y, the step y (1 + e + e^2) leaves an error of
//! e^3; with e = 1 - x y^2, the step y (1 + e/2 + 3 e^2/8) leaves 5/16 e^3.
//!
//! Domain: positive normal numbers whose result, and half of it, is normal, taken here as 2^-100 ... 2^100.
//! Elsewhere the result is finite or NaN but means nothing, except that `sqrt(0) == 0`.

/// 1/x, largest relative error 6.0e-8 (half a unit in the last place).
#[inline(always)]
pub fn reciprocal(x: f32) -> f32 {
    // The seed is off by at most 5.1 %.
    let y = f32::from_bits(0x7EF3_11C3_u32.wrapping_sub(x.to_bits()));
    let e = (-x).mul_add(y, 1.0);
    let y = y.mul_add(e.mul_add(e, e), y);
    let e = (-x).mul_add(y, 1.0);
    y.mul_add(e.mul_add(e, e), y)
}

/// 1/sqrt(x), largest relative error 7.5e-8.
#[inline(always)]
pub fn reciprocal_sqrt(x: f32) -> f32 {
    // The constant with the smallest error after one step, 1.0e-4 (search over constants and
    // two binades of x).
    let y = f32::from_bits(0x5F37_55C0_u32.wrapping_sub(x.to_bits() >> 1));
    let e = (-x * y).mul_add(y, 1.0);
    let y = (y * e).mul_add(e.mul_add(0.375, 0.5), y);
    let e = (-x * y).mul_add(y, 1.0);
    (y * e).mul_add(e.mul_add(0.375, 0.5), y)
}

/// sqrt(x), correctly rounded: equal to the IEEE square root; also 0 for 0.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    sqrt_and_reciprocal(x).0
}

/// (sqrt(x), 1/sqrt(x)) for little more than the price of one.
#[inline(always)]
pub fn sqrt_and_reciprocal(x: f32) -> (f32, f32) {
    let y = reciprocal_sqrt(x);
    let s = x * y;
    let remainder = (-s).mul_add(s, x);
    (remainder.mul_add(0.5 * y, s), y)
}

#[cfg(test)]
mod tests;
