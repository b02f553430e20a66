// The arithmetic of a pair interaction in 32 or 64 bits. Mirrors src/arithmetic/real.rs: `add`, `sub`, `mul`
// and `fused` stand in portable.cuh.
#pragma once
#include "arithmetic/elementary.cuh"
#include "arithmetic/error_function.cuh"
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
INLINE float logarithm(float x) { return ln_f32(x); }
INLINE double logarithm(double x) { return ln_f64(x); }

// Of an angle in radians; in 64 bits, so that the angle in turns keeps its digits.
INLINE double sine(double x) {
    double sine, cosine;
    sin_cos_2pi(mul(x, 0.15915494309189535), sine, cosine);
    return sine;
}
INLINE double cosine(double x) {
    double sine, cosine;
    sin_cos_2pi(mul(x, 0.15915494309189535), sine, cosine);
    return cosine;
}
INLINE float sine(float x) { return to_float(sine(static_cast<double>(x))); }
INLINE float cosine(float x) { return to_float(cosine(static_cast<double>(x))); }

INLINE float error_function(float x) { return erf_f32(x); }
INLINE double error_function(double x) { return erf_f64(x); }
INLINE float complementary_error_function(float x) { return erfc_f32(x); }
INLINE double complementary_error_function(double x) { return erfc_f64(x); }
