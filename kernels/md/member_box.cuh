// The box of a system among many, where each has its own: what else is constant lies in the memory of the block.
#pragma once
#include "block_sums.cuh"

// Of the block's system.
__shared__ PolicyConstants policy;
__shared__ Pair pairs[SPECIES_COUNT * SPECIES_COUNT];
__shared__ Real largest_core2;

// As the host writes them (`BoxConstants` in src/engine/cuda/members/boxes.rs): each from a multiple of 16 bytes on.
template <typename T>
INLINE const char *copy_constant(T &to, const char *from) {
    copy_by_block(to, *(const T *)from);
    return from + (sizeof(T) + 15) / 16 * 16;
}

// The threads see it after the next barrier of the block.
INLINE void take_box(const void *constants) {
    const char *from = copy_constant(policy, (const char *)constants);
    from = copy_constant(pairs, from);
    copy_constant(largest_core2, from);
}
