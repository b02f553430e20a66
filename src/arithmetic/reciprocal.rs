//! Reciprocal and reciprocal square root in 32-bit floats, the same bits on every processor.
//!
//! The reciprocal is rounded correctly, which leaves no choice of bits. The reciprocal square root comes from an
//! integer seed and two cubic steps, without a table or a hardware estimate: with e = 1 - x y^2, the
//! step y (1 + e/2 + 3 e^2/8) leaves 5/16 e^3.
//!
//! Domain: positive normal numbers whose result, and half of it, is normal, taken here as 2^-100 ... 2^100.
//! Elsewhere the result is finite or NaN but means nothing, except that `sqrt(0) == 0`.

/// 1/x, correctly rounded.
#[inline(always)]
pub fn reciprocal(x: f32) -> f32 {
    1.0 / x
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
