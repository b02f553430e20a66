// Reciprocal, correctly rounded, and reciprocal square root from an integer seed and two cubic steps, in 32-bit
// floats. Mirrors src/arithmetic/reciprocal.rs.
#pragma once
#include "ptx.cuh"

// 1/x for 2^-100 <= x <= 2^100.
//
// On the device: the GPU's estimate and one Newton step with fused operations, which round correctly where
// the estimate is good to a unit in the last place. That is a property of the GPU and is tried for all x before
// a run (`count_wrong_reciprocals`); a GPU that fails gets the slower division (IEEE_RECIPROCAL).
INLINE float reciprocal(float x) {
#if !defined(__CUDACC__)
    return 1.0f / x;
#elif defined(IEEE_RECIPROCAL)
    return __frcp_rn(x);
#else
    float y = estimate_reciprocal(x);
    return fused(y, fused(-x, y, 1.0f), y);
#endif
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
