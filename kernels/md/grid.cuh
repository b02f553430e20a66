// A barrier over all blocks of a cooperative launch, which also tells everybody whether anybody asked for
// attention. One atomic addition and a spin: about a microsecond on 132 multiprocessors.
#pragma once
#include "block_sums.cuh"
#include "md/system.cuh"

struct Grid {
    u64 *words;
    // Number of the coming barrier.
    u32 number;
    // Attention asked for so far, as it stood in the word of the coming barrier and in the other one.
    u32 seen;
    u32 seen_other;
};

INLINE Grid grid_of(Control *control) { return Grid{control->barrier, 0, 0, 0}; }

// Waits for all blocks; what they wrote before is visible after. Returns, alike in all threads of the grid,
// whether `attention` was true in any.
INLINE bool synchronize(Grid &grid, bool attention) {
    __shared__ u32 answer;
    int any = __syncthreads_or(attention);
    if (threadIdx.x == 0) {
        u64 *word = grid.words + (grid.number & 1);
        u32 target = ((grid.number >> 1) + 1) * gridDim.x;
        u64 value = any ? 1ull | 1ull << 32 : 1ull;
        asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
        do {
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
        } while ((u32)value != target);
        asm volatile("fence.acq_rel.gpu;" : : : "memory");
        answer = (u32)(value >> 32);
    }
    __syncthreads();
    u32 upper = answer;
    bool asked = upper != grid.seen;
    grid.seen = grid.seen_other;
    grid.seen_other = upper;
    grid.number += 1;
    return asked;
}

// Consecutive pieces of `count` items for the blocks: this block has [first, last).
INLINE void share_of_block(u32 count, u32 &first, u32 &last) {
    first = (u32)((u64)count * blockIdx.x / gridDim.x);
    last = (u32)((u64)count * (blockIdx.x + 1) / gridDim.x);
}
