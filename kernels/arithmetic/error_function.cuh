// Error function and its complement. Mirrors src/arithmetic/error_function.rs, where the formulas and errors stand.
#pragma once
#include "arithmetic/elementary.cuh"
#include "arithmetic/reciprocal.cuh"

INLINE double erfc_of_magnitude_f64(double a) {
    const double highest = 30.0;
    a = a > highest ? highest : a;
    double t = divide(sub(a, 4.0), add(a, 4.0));
    double f = -8.596345752151402e-9;
    f = fused(f, t, -8.597913499935894e-9);
    f = fused(f, t, 1.0171101656329334e-7);
    f = fused(f, t, 5.6683246408744435e-8);
    f = fused(f, t, -8.197772663522738e-7);
    f = fused(f, t, 3.121745309825206e-7);
    f = fused(f, t, 5.708453671017045e-6);
    f = fused(f, t, -1.1233322370137657e-5);
    f = fused(f, t, -2.4399770913867432e-5);
    f = fused(f, t, 0.00015062606318136626);
    f = fused(f, t, -0.00019925623057902308);
    f = fused(f, t, -0.0007577743760633114);
    f = fused(f, t, 0.005031969841634934);
    f = fused(f, t, -0.016197733889718985);
    f = fused(f, t, 0.03716751555778476);
    f = fused(f, t, -0.0663303658274523);
    f = fused(f, t, 0.09373283499682847);
    f = fused(f, t, -0.10103906603558993);
    f = fused(f, t, 0.06809705425474183);
    f = fused(f, t, 0.015379652102606537);
    f = fused(f, t, -0.13962111684056297);
    f = fused(f, t, 1.2329951186255526);
    double square = mul(a, a);
    double rest = fused(a, a, -square);
    double gauss = exp_f64(-square);
    gauss = fused(-rest, gauss, gauss);
    return mul(gauss, divide(f, fused(a, 2.0, 1.0)));
}

INLINE double erfc_f64(double x) {
    double of_magnitude = erfc_of_magnitude_f64(magnitude(x));
    return x < 0.0 ? sub(2.0, of_magnitude) : of_magnitude;
}

INLINE double erf_f64(double x) {
    double z = mul(x, x);
    double p = 6.175907631430082e-11;
    p = fused(p, z, -1.1501353588177746e-9);
    p = fused(p, z, 1.4692721695624695e-8);
    p = fused(p, z, -1.6355150424420964e-7);
    p = fused(p, z, 1.6461449310631618e-6);
    p = fused(p, z, -1.4925622646696348e-5);
    p = fused(p, z, 0.00012055332219610691);
    p = fused(p, z, -0.0008548327010138358);
    p = fused(p, z, 0.0052239776253048325);
    p = fused(p, z, -0.026866170645123925);
    p = fused(p, z, 0.11283791670955111);
    p = fused(p, z, -0.37612638903183754);
    double near_zero = fused(x, 1.12837916709551257389615890312154517, mul(mul(x, z), p));
    double a = magnitude(x);
    double outside = sub(1.0, erfc_of_magnitude_f64(a));
    outside = x < 0.0 ? -outside : outside;
    return a < 1.0 ? near_zero : outside;
}

INLINE float erfc_of_magnitude_f32(float a) {
    const float highest = 12.0f;
    a = a > highest ? highest : a;
    float t = mul(sub(a, 4.0f), reciprocal(add(a, 4.0f)));
    float f = 0.0045675626f;
    f = fused(f, t, -0.017810088f);
    f = fused(f, t, 0.036704935f);
    f = fused(f, t, -0.065783925f);
    f = fused(f, t, 0.093956f);
    f = fused(f, t, -0.10110522f);
    f = fused(f, t, 0.068070516f);
    f = fused(f, t, 0.015382713f);
    f = fused(f, t, -0.13962036f);
    f = fused(f, t, 1.232995f);
    float square = mul(a, a);
    float rest = fused(a, a, -square);
    float gauss = exp_f32(-square);
    gauss = fused(-rest, gauss, gauss);
    return mul(gauss, mul(f, reciprocal(fused(a, 2.0f, 1.0f))));
}

INLINE float erfc_f32(float x) {
    float of_magnitude = erfc_of_magnitude_f32(magnitude(x));
    return x < 0.0f ? sub(2.0f, of_magnitude) : of_magnitude;
}

INLINE float erf_f32(float x) {
    float z = mul(x, x);
    float p = 8.386716e-5f;
    p = fused(p, z, -0.0008163731f);
    p = fused(p, z, 0.005204732f);
    p = fused(p, z, -0.026861755f);
    p = fused(p, z, 0.112837546f);
    p = fused(p, z, -0.37612638f);
    float near_zero = fused(x, 1.12837917f, mul(mul(x, z), p));
    float a = magnitude(x);
    float outside = sub(1.0f, erfc_of_magnitude_f32(a));
    outside = x < 0.0f ? -outside : outside;
    return a < 1.0f ? near_zero : outside;
}
