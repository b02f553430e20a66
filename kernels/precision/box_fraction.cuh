// Sites as 32-bit fractions of the box edge. Mirrors src/engine/precision/box_fraction.rs.
#pragma once
#include "arithmetic/fixed_point.cuh"
#include "arithmetic/real.cuh"

#if !defined(CUBIC)
#define CUBIC 0
#endif

// Displacement a - b of the nearest images in units: overflow is the periodic boundary.
INLINE float fraction_displacement(i32 a, i32 b) { return (float)wrapping_sub(a, b); }

// The same in units of the first axis; `length` is that of the axis' unit.
INLINE float fraction_of_first_edge(float displacement, float length) {
    return CUBIC ? displacement : mul(displacement, length);
}

// Which of `count` equal slabs of the box holds the site.
INLINE u32 fraction_slab(i32 site, u32 count) { return multiply_high((u32)site, count); }

// Position along an edge.
INLINE double fraction_position(i32 site, double edge) { return mul((double)(u32)site, mul(edge, 2.3283064365386963e-10)); }

// Place within that slab: 0 at its lower and 1 at its upper end.
INLINE float fraction_in_slab(i32 site, u32 count) {
    return mul((float)((u32)site * count), 2.3283064365386963e-10f);
}
