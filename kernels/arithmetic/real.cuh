// The arithmetic of a pair interaction in 32 or 64 bits. Mirrors src/arithmetic/real.rs: `add`, `sub`, `mul`
// and `fused` stand in portable.cuh.
#pragma once
#include "arithmetic/elementary.cuh"
#include "arithmetic/reciprocal.cuh"

// Below this squared distance two particles are at the same place; by the type of the argument.
INLINE float coincident2(float) { return 0x1p-100f; }
INLINE double coincident2(double) { return 0x1p-1000; }

INLINE float inverse(float x) { return reciprocal(x); }
INLINE double inverse(double x) { return divide(1.0, x); }
INLINE float inverse_sqrt(float x) { return reciprocal_sqrt(x); }
INLINE double inverse_sqrt(double x) { return divide(1.0, square_root(x)); }
INLINE float exponential(float x) { return exp_f32(x); }
INLINE double exponential(double x) { return exp_f64(x); }
