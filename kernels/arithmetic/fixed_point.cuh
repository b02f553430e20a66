// 64-bit fixed point: rounding, scaling, and coordinates as fractions of the box edge. Mirrors
// src/arithmetic/fixed_point.rs. What is `None` there clears `fits` here, which is never set.
#pragma once
#include "arithmetic/portable.cuh"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0
#define TWO_TO_MINUS_64 (1.0 / 18446744073709551616.0)

// Nearest integer, halves to even, for |x| <= 2^51: one addition in 64-bit float.
INLINE i64 round_by_magic(double x) {
    const double magic = 6755399441055744.0;
    return wrapping_sub((i64)to_bits(add(x, magic)), (i64)to_bits(magic));
}

// The same by the conversion instruction (any |x| < 2^63).
INLINE i64 round_by_conversion(float x) { return nearest_i64(x); }

// The one that is faster on the GPU; both give the same integers.
#if defined(ROUND_BY_MAGIC)
INLINE i64 round_to_i64(float x) { return round_by_magic((double)x); }
#else
INLINE i64 round_to_i64(float x) { return round_by_conversion(x); }
#endif

// Nearest integer, halves to even, for |x| < 2^63; does not fit outside and for NaN.
INLINE i64 wide_round(double x, bool &fits) {
    if (magnitude(x) < TWO_TO_63) return nearest_i64(x);
    fits = false;
    return 0;
}

struct U128 {
    u64 hi;
    u64 lo;
};

INLINE U128 multiply_wide(u64 a, u64 b) { return U128{multiply_high(a, b), a * b}; }

// value >> shift for shift < 128.
INLINE U128 shift_right(U128 value, u32 shift) {
    if (shift == 0) return value;
    if (shift < 64) return U128{value.hi >> shift, value.hi << (64 - shift) | value.lo >> shift};
    if (shift == 64) return U128{0, value.hi};
    return U128{0, value.hi >> (shift - 64)};
}

// value << shift for shift <= leading zeros of value.
INLINE U128 shift_left(U128 value, u32 shift) {
    if (shift == 0) return value;
    if (shift < 64) return U128{value.hi << shift | value.lo >> (64 - shift), value.lo << shift};
    return U128{shift < 128 ? value.lo << (shift - 64) : 0, 0};
}

// value / 2^shift to nearest, halves up, for values up to 2^127.
INLINE U128 shift_round(U128 value, u32 shift) {
    if (shift == 0) return value;
    if (shift > 128) return U128{0, 0};
    if (shift == 128) return shift_right(value, 127);
    U128 quotient = shift_right(value, shift);
    u64 half = shift_right(value, shift - 1).lo & 1;
    u64 lo = quotient.lo + half;
    return U128{quotient.hi + (lo < half ? 1 : 0), lo};
}

INLINE i64 with_sign(U128 value, bool negative, bool &fits) {
    if (value.hi != 0 || value.lo >> 63 != 0) {
        fits = false;
        return 0;
    }
    return negative ? -(i64)value.lo : (i64)value.lo;
}

// v * multiplier / 2^shift, rounded once to nearest, halves away from zero.
INLINE i64 mul_round(i64 v, u64 multiplier, u32 shift, bool &fits) {
    U128 product = multiply_wide(magnitude(v), multiplier);
    return with_sign(shift_round(product, shift), v < 0, fits);
}

// |x| = mantissa * 2^exponent for finite x.
INLINE void split_magnitude(double x, u64 &mantissa, i32 &exponent) {
    u64 bits = to_bits(x) & ~(1ull << 63);
    i32 biased = (i32)(bits >> 52);
    u64 fraction = bits & ((1ull << 52) - 1);
    mantissa = biased == 0 ? fraction : fraction | 1ull << 52;
    exponent = biased == 0 ? -1074 : biased - 1075;
}

RARELY i64 scale_by_any(i64 v, double factor, bool &fits) {
    if (!is_finite(factor)) {
        fits = false;
        return 0;
    }
    bool negative = (v < 0) != (factor < 0.0);
    u64 mantissa;
    i32 exponent;
    split_magnitude(factor, mantissa, exponent);
    U128 product = multiply_wide(magnitude(v), mantissa);
    u32 zeros = product.hi != 0 ? leading_zeros(product.hi) : 64 + leading_zeros(product.lo);
    if (exponent <= 0) return with_sign(shift_round(product, (u32)-exponent), negative, fits);
    if (product.hi == 0 && product.lo == 0) return 0;
    if ((u32)exponent <= zeros) return with_sign(shift_left(product, (u32)exponent), negative, fits);
    fits = false;
    return 0;
}

// v * factor, rounded once to nearest, halves away from zero. Factors from 2^-11 to 2^52 take the short way.
INLINE i64 scale_i64(i64 v, double factor, bool &fits) {
    u64 mantissa;
    i32 exponent;
    split_magnitude(factor, mantissa, exponent);
    u32 shift = (u32)-exponent;
    if (shift - 1 >= 63) return scale_by_any(v, factor, fits);
    U128 product = multiply_wide(magnitude(v), mantissa);
    u64 quotient = product.hi << (64 - shift) | product.lo >> shift;
    u64 rounded = quotient + (product.lo >> (shift - 1) & 1);
    if ((product.hi >> shift) != 0 || (quotient | rounded) >> 63 != 0) {
        fits = false;
        return 0;
    }
    return (v < 0) != (factor < 0.0) ? -(i64)rounded : (i64)rounded;
}

// A factor below one in magnitude: mantissa / 2^(64 + shift), the mantissa with all its 64 bits.
struct SmallFactor {
    u64 mantissa;
    u32 shift;
    bool is_negative;
};
INLINE SmallFactor small_factor(double factor) {
    u64 bits = to_bits(factor);
    u32 biased = (u32)(bits >> 52) & 0x7ff;
    return SmallFactor{(bits | 1ull << 52) << 11, 1022 - biased, (bits >> 63) != 0};
}
// As `scale_i64`, where it fits; else 0.
INLINE i64 scale_by_small(i64 v, SmallFactor factor) {
    U128 product = multiply_wide(magnitude(v), factor.mantissa);
    // Twice the result, rounded down. Smaller factors than 2^-64 leave nothing.
    u64 doubled = factor.shift < 64 ? (product.hi << 1 | product.lo >> 63) >> factor.shift : 0;
    u64 rounded = (doubled >> 1) + (doubled & 1);
    if (rounded >> 63 != 0) return 0;
    return (v < 0) != factor.is_negative ? -(i64)rounded : (i64)rounded;
}

// Coordinate x as a 64-bit fraction of the edge, modulo 2^64.
INLINE u64 fraction_from_f64(double x, double edge) {
    double length = magnitude(x);
    double quotient = divide(length, edge);
    double remainder = fused(-quotient, edge, length);
    double fraction = sub(quotient, round_down(quotient));
    double scaled = mul(fraction, TWO_TO_64);
    u64 upper = truncate_to_u64(scaled);
    double rest = add(sub(scaled, (double)upper), mul(divide(remainder, edge), TWO_TO_64));
    u64 n = upper + (u64)nearest_i64(rest);
    return x < 0.0 ? 0ull - n : n;
}

// Coordinate in [0, edge) of a 64-bit fraction.
INLINE double fraction_to_f64(u64 n, double edge) {
    double upper = mul((double)(u32)(n >> 32), 1.0 / 4294967296.0);
    double lower = mul((double)(u32)n, TWO_TO_MINUS_64);
    double x = fused(upper, edge, mul(lower, edge));
    return x < edge ? x : double_from_bits(to_bits(edge) - 1);
}

// Signed distance of a 64-bit fraction difference, in [-edge/2, edge/2).
INLINE double displacement_to_f64(i64 n, double edge) {
    return mul(mul((double)n, TWO_TO_MINUS_64), edge);
}
