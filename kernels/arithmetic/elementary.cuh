// Exponential, logarithm, sine and cosine. Mirrors src/arithmetic/elementary.rs, where the reductions and
// errors stand.
#pragma once
#include "arithmetic/portable.cuh"

#define MAGIC_F64 6755399441055744.0
#define LN_2_HI_F64 0.6931471805598903
#define LN_2_LO_F64 5.497923018708371e-14

INLINE float exp_f32(float x) {
    const float lowest = -87.0f, highest = 88.0f, magic = 12582912.0f;
    float clamped = x < lowest ? lowest : x;
    clamped = clamped > highest ? highest : clamped;
    float shifted = fused(clamped, 1.44269504088896340735992468100189214f, magic);
    float n = sub(shifted, magic);
    float r = fused(-n, 0.69314575f, clamped);
    r = fused(-n, 1.4286068e-6f, r);
    float q = 0.0013821992f;
    q = fused(q, r, 0.008362869f);
    q = fused(q, r, 0.0416678f);
    q = fused(q, r, 0.16666579f);
    q = fused(q, r, 0.49999997f);
    float p = add(fused(mul(r, r), q, r), 1.0f);
    float power_of_two = float_from_bits((to_bits(shifted) << 23) + (127u << 23));
    float y = mul(p, power_of_two);
    y = x < lowest ? 0.0f : y;
    return x > highest ? float_from_bits(0x7F800000u) : y;
}

INLINE double exp_f64(double x) {
    const double lowest = -708.0, highest = 709.0;
    double clamped = x < lowest ? lowest : x;
    clamped = clamped > highest ? highest : clamped;
    double shifted = fused(clamped, 1.44269504088896340735992468100189214, MAGIC_F64);
    double n = sub(shifted, MAGIC_F64);
    double r = fused(-n, LN_2_HI_F64, clamped);
    r = fused(-n, LN_2_LO_F64, r);
    double q = 2.0825139311744625e-9;
    q = fused(q, r, 2.5104948684042026e-8);
    q = fused(q, r, 2.7557542074767534e-7);
    q = fused(q, r, 2.7557256124851744e-6);
    q = fused(q, r, 2.4801587044073392e-5);
    q = fused(q, r, 1.9841269874168498e-4);
    q = fused(q, r, 1.3888888889004116e-3);
    q = fused(q, r, 8.333333333326353e-3);
    q = fused(q, r, 4.166666666666649e-2);
    q = fused(q, r, 0.1666666666666667);
    q = fused(q, r, 0.5);
    double p = add(fused(mul(r, r), q, r), 1.0);
    double power_of_two = double_from_bits((to_bits(shifted) << 52) + (1023ull << 52));
    double y = mul(p, power_of_two);
    y = x < lowest ? 0.0 : y;
    return x > highest ? double_from_bits(0x7FF0000000000000ull) : y;
}

INLINE double exp_near_zero(double x) {
    if (!(magnitude(x) <= 1.0 / 64.0)) return exp_f64(x);
    double q = fused(1.0 / 5040.0, x, 1.0 / 720.0);
    q = fused(q, x, 1.0 / 120.0);
    q = fused(q, x, 1.0 / 24.0);
    q = fused(q, x, 1.0 / 6.0);
    q = fused(q, x, 0.5);
    return add(fused(mul(x, x), q, x), 1.0);
}

INLINE double ln_f64(double x) {
    const u64 split = 0x3FE6A09E00000000ull;
    u64 above = to_bits(x) - split;
    i64 exponent = (i64)above >> 52;
    double mantissa = double_from_bits(to_bits(x) - ((u64)exponent << 52));
    double k = sub(double_from_bits(to_bits(MAGIC_F64) + (u64)exponent), MAGIC_F64);
    double f = sub(mantissa, 1.0);
    double s = divide(f, add(2.0, f));
    double z = mul(s, s);
    double p = 0.14617871208650057;
    p = fused(p, z, 0.1533159709328199);
    p = fused(p, z, 0.1818289321414094);
    p = fused(p, z, 0.2222221107291635);
    p = fused(p, z, 0.2857142862639862);
    p = fused(p, z, 0.39999999999898445);
    p = fused(p, z, 0.666666666666667);
    double t = mul(s, fused(-z, p, f));
    t = fused(-k, LN_2_LO_F64, t);
    return fused(k, LN_2_HI_F64, sub(f, t));
}

INLINE float ln_f32(float x) {
    i32 exponent = (i32)(to_bits(x) - 0x3F3504F3u) >> 23;
    float f = sub(float_from_bits(to_bits(x) - ((u32)exponent << 23)), 1.0f);
    float k = (float)exponent;
    float p = 0.087003596f;
    p = fused(p, f, -0.14267476f);
    p = fused(p, f, 0.14914787f);
    p = fused(p, f, -0.16577587f);
    p = fused(p, f, 0.19963062f);
    p = fused(p, f, -0.25001338f);
    p = fused(p, f, 0.3333391f);
    float t = fused(mul(f, f), fused(p, f, -0.5f), mul(k, 1.4286068e-6f));
    return fused(k, 0.69314575f, add(f, t));
}

INLINE void sin_cos_of_turn(u32 turn, float &sine_out, float &cosine_out) {
    u32 quadrant = (turn + (1u << 29)) >> 30;
    float r = mul((float)(i32)(turn - (quadrant << 30)), 1.0f / 1073741824.0f);
    float z = mul(r, r);
    float s = -0.0046001985f;
    s = fused(s, z, 0.07967967f);
    s = fused(s, z, -0.6459635f);
    float sine = fused(r, 1.57079637f, mul(mul(r, z), s));
    float c = -0.02042625f;
    c = fused(c, z, 0.25360635f);
    c = fused(c, z, -1.233698f);
    float cosine = fused(c, z, 1.0f);
    bool swap = (quadrant & 1) == 1;
    float first = swap ? cosine : sine;
    float second = swap ? sine : cosine;
    sine_out = float_from_bits(to_bits(first) ^ (quadrant & 2) << 30);
    cosine_out = float_from_bits(to_bits(second) ^ ((quadrant + 1) & 2) << 30);
}

INLINE void sin_cos_2pi(double u, double &sine_out, double &cosine_out) {
    double quarters = mul(4.0, u);
    double shifted = add(quarters, MAGIC_F64);
    double r = sub(quarters, sub(shifted, MAGIC_F64));
    u64 quadrant = to_bits(shifted);
    double z = mul(r, r);
    double s = 5.642230074881037e-8;
    s = fused(s, z, -3.5987029803855717e-6);
    s = fused(s, z, 1.604411666205285e-4);
    s = fused(s, z, -4.681754134254782e-3);
    s = fused(s, z, 7.969262624614426e-2);
    s = fused(s, z, -0.6459640975062462);
    s = fused(z, s, 6.123233995736766e-17);
    double sine = fused(r, 1.57079632679489661923132169163975144, mul(r, s));
    double c = -6.3294004339096035e-9;
    c = fused(c, z, 4.7106784361179735e-7);
    c = fused(c, z, -2.5202039028888306e-5);
    c = fused(c, z, 9.192602745469557e-4);
    c = fused(c, z, -2.086348076334078e-2);
    c = fused(c, z, 0.2536695079010478);
    c = fused(c, z, -1.2337005501361697);
    double cosine = fused(c, z, 1.0);
    bool swap = (quadrant & 1) == 1;
    double first = swap ? cosine : sine;
    double second = swap ? sine : cosine;
    sine_out = double_from_bits(to_bits(first) ^ ((quadrant & 2) << 62));
    cosine_out = double_from_bits(to_bits(second) ^ (((quadrant + 1) & 2) << 62));
}
