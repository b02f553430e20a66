// What two samples of a particle give to time correlations. Mirrors the terms of src/observable/dynamics in 32-bit
// floats.
//
// Displacements are differences of integers, exact to 2^-32 of the edge, before they are rounded to floats. Phases
// are integers too, in 2^-32 turns: n times a fraction of the edge overflows by whole turns.
#pragma once
#include "observable/sampled.cuh"

// cos(2 pi turns 2^-32), off by 1.7e-7 at most: sin(2 pi s) of the distance s = 1/4 - |turns| from a quarter.
INLINE float cosine_of_turns(u32 turns) {
    float s = fused(magnitude((float)(i32)turns), -2.3283064365386963e-10f, 0.25f);
    float z = mul(s, s);
    float p = 39.536705017089844f;
    p = fused(p, z, -76.5497817993164f);
    p = fused(p, z, 81.60100555419922f);
    p = fused(p, z, -41.34165573120117f);
    p = fused(p, z, 6.283185005187988f);
    return mul(s, p);
}

struct Edge {
    float length;
    // Length over 2^32.
    float unit;
};

struct AxisDisplacement {
    float length;
    // Modulo the edge, in 2^-32 of it.
    u32 turns;
};

INLINE AxisDisplacement displacement_between(const u32 *from, const u32 *to, Edge edge) {
    u32 turns = to[0] - from[0];
    u32 borrow = to[0] < from[0] ? 1 : 0, negative = turns >> 31;
    i32 boxes = (i32)(to[1] - from[1] - borrow + negative);
    return AxisDisplacement{fused((float)boxes, edge.length, mul((float)(i32)turns, edge.unit)), turns};
}

// What the centre of mass moves along an axis, in 2^-32 of the edge.
INLINE i64 drift_in_units(double moved, double edge) { return nearest_i64(mul(divide(moved, edge), 4294967296.0)); }
