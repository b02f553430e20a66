// A particle in a sample, as time correlations read it: for each axis the place in the box as a 32-bit fraction of
// the edge (to nearest), the image, and the velocity as a 32-bit float. Mirrors src/observable/dynamics/sampled.rs.
//
// The same in all precisions: 2^-33 of the edge is far below what a correlation can tell, and phases of wave
// vectors of the box are exact multiples of the fraction.
#pragma once
#include "arithmetic/fixed_point.cuh"

#include "shared/sampled.cuh"

struct Sampled {
    u32 fraction;
    i32 image;
    float velocity;
};

// `units`: 2^32 over the edge. For x not below zero and about the edge at most.
INLINE void sampled_place(double x, double units, i32 image, Sampled &sampled) {
    u64 units_of_x = (u64)nearest_i64(mul(x, units));
    sampled.fraction = (u32)units_of_x;
    sampled.image = (i32)((u32)image + (u32)(units_of_x >> 32));
}

// For coordinates that are 64-bit fractions.
INLINE void sampled_place(u64 x, double, i32 image, Sampled &sampled) {
    u64 rounded = x + (1ull << 31);
    sampled.fraction = (u32)(rounded >> 32);
    sampled.image = (i32)((u32)image + (rounded < x ? 1u : 0u));
}
