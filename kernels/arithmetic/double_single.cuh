// A number as the unevaluated sum of two 32-bit floats. Mirrors src/arithmetic/double_single.rs, where
// sources and error bounds stand.
#pragma once
#include "arithmetic/portable.cuh"

#include "shared/double_single.cuh"

// s + e == a + b.
INLINE void two_sum(float a, float b, float &s, float &e) {
    s = add(a, b);
    float bb = sub(s, a);
    e = add(sub(a, sub(s, bb)), sub(b, bb));
}

// As two_sum, for |a| >= |b| or a == 0.
INLINE void quick_two_sum(float a, float b, float &s, float &e) {
    s = add(a, b);
    e = sub(b, sub(s, a));
}

// p + e == a b.
INLINE void two_product(float a, float b, float &p, float &e) {
    p = mul(a, b);
    e = fused(a, b, -p);
}

INLINE DoubleSingle quick_sum(float a, float b) {
    DoubleSingle sum;
    quick_two_sum(a, b, sum.hi, sum.lo);
    return sum;
}

INLINE DoubleSingle double_single_from_sum(float a, float b) {
    DoubleSingle sum;
    two_sum(a, b, sum.hi, sum.lo);
    return sum;
}

INLINE DoubleSingle double_single_from_f32(float x) { return DoubleSingle{x, 0.0f}; }

INLINE DoubleSingle double_single_from_f64(double x) {
    float hi = to_float(x);
    float lo = to_float(sub(x, (double)hi));
    return quick_sum(hi, lo);
}

INLINE double to_f64(DoubleSingle a) { return add((double)a.hi, (double)a.lo); }

// hi in the upper, lo in the lower 32 bits.
INLINE u64 to_bits(DoubleSingle a) { return (u64)to_bits(a.hi) << 32 | to_bits(a.lo); }
INLINE DoubleSingle double_single_from_bits(u64 bits) {
    return DoubleSingle{float_from_bits((u32)(bits >> 32)), float_from_bits((u32)bits)};
}

INLINE DoubleSingle operator-(DoubleSingle a) { return DoubleSingle{-a.hi, -a.lo}; }

INLINE DoubleSingle add(DoubleSingle a, float b) {
    float s, e;
    two_sum(a.hi, b, s, e);
    return quick_sum(s, add(a.lo, e));
}

INLINE DoubleSingle add(DoubleSingle a, DoubleSingle b) {
    float s, e, t, f;
    two_sum(a.hi, b.hi, s, e);
    two_sum(a.lo, b.lo, t, f);
    float u, g;
    quick_two_sum(s, add(e, t), u, g);
    return quick_sum(u, add(f, g));
}

INLINE DoubleSingle sub(DoubleSingle a, DoubleSingle b) { return add(a, -b); }

INLINE DoubleSingle mul(DoubleSingle a, float b) {
    float p, e;
    two_product(a.hi, b, p, e);
    return quick_sum(p, fused(a.lo, b, e));
}

INLINE DoubleSingle mul(DoubleSingle a, DoubleSingle b) {
    float p, e;
    two_product(a.hi, b.hi, p, e);
    float cross = fused(a.hi, b.lo, mul(a.lo, b.lo));
    cross = fused(a.lo, b.hi, cross);
    return quick_sum(p, add(e, cross));
}

INLINE DoubleSingle divide(DoubleSingle a, DoubleSingle b) {
    float q = divide(a.hi, b.hi);
    DoubleSingle r = mul(b, q);
    float remainder = add(sub(a.hi, r.hi), sub(a.lo, r.lo));
    return quick_sum(q, divide(remainder, b.hi));
}

INLINE DoubleSingle square_root(DoubleSingle a) {
    float s = square_root(a.hi);
    float e = fused(-s, s, a.hi);
    float correction = divide(add(a.lo, e), add(s, s));
    return quick_sum(s, a.hi == 0.0f ? 0.0f : correction);
}

INLINE DoubleSingle magnitude(DoubleSingle a) { return a.hi < 0.0f ? -a : a; }
