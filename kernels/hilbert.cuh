// Position of a cell along Hilbert's curve through 2^bits cells an edge. Mirrors src/system/hilbert.rs.
#pragma once
#include "arithmetic/portable.cuh"

template <int D>
INLINE u64 hilbert_index(const u32 (&cell)[D], u32 bits) {
    if (bits == 0) return 0;
    u32 x[D];
    for (int axis = 0; axis < D; ++axis) x[axis] = cell[axis];
    // Undo the rotations and reflections of the coarser levels.
    for (u32 level = 1u << (bits - 1); level > 1; level >>= 1) {
        u32 lower = level - 1;
        for (int axis = 0; axis < D; ++axis) {
            if ((x[axis] & level) != 0) {
                x[0] ^= lower;
            } else {
                u32 exchange = (x[0] ^ x[axis]) & lower;
                x[0] ^= exchange;
                x[axis] ^= exchange;
            }
        }
    }
    // Gray code.
    for (int axis = 1; axis < D; ++axis) x[axis] ^= x[axis - 1];
    u32 reflection = 0;
    for (u32 level = 1u << (bits - 1); level > 1; level >>= 1) {
        if ((x[D - 1] & level) != 0) reflection ^= level - 1;
    }
    for (int axis = 0; axis < D; ++axis) x[axis] ^= reflection;
    // Interleave, the first axis most significant.
    u64 index = 0;
    for (u32 bit = bits; bit-- > 0;) {
        for (int axis = 0; axis < D; ++axis) index = index << 1 | (x[axis] >> bit & 1);
    }
    return index;
}
