// Reciprocal and reciprocal square root in 32-bit floats from an integer seed and two cubic steps.
// Mirrors src/arithmetic/reciprocal.rs.
#pragma once
#include "arithmetic/portable.cuh"

INLINE float reciprocal(float x) {
    float y = float_from_bits(0x7EF311C3u - to_bits(x));
    float e = fused(-x, y, 1.0f);
    y = fused(y, fused(e, e, e), y);
    e = fused(-x, y, 1.0f);
    return fused(y, fused(e, e, e), y);
}

INLINE float reciprocal_sqrt(float x) {
    float y = float_from_bits(0x5F3755C0u - (to_bits(x) >> 1));
    float e = fused(mul(-x, y), y, 1.0f);
    y = fused(mul(y, e), fused(e, 0.375f, 0.5f), y);
    e = fused(mul(-x, y), y, 1.0f);
    return fused(mul(y, e), fused(e, 0.375f, 0.5f), y);
}

// sqrt(x) correctly rounded, and 1/sqrt(x).
INLINE float sqrt_and_reciprocal(float x, float &inverse_root) {
    inverse_root = reciprocal_sqrt(x);
    float s = mul(x, inverse_root);
    float remainder = fused(-s, s, x);
    return fused(remainder, mul(0.5f, inverse_root), s);
}
