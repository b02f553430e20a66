// A barrier over all blocks of a cooperative launch, which also tells everybody whether anybody asked for
// attention. One atomic addition and a spin: about a microsecond on 132 multiprocessors.
#pragma once
#include "block_sums.cuh"
#include "md/system.cuh"

// The block's account of the barriers.
struct Barrier {
    // Number of the coming one.
    u32 number;
    // Attention asked for so far, as it stood in the word of the coming barrier and in the other one.
    u32 seen;
    u32 seen_other;
    u32 answer;
};
__shared__ Barrier barrier;

// At the start of a launch.
INLINE void begin_grid() {
    if (threadIdx.x == 0) barrier = Barrier{0, 0, 0, 0};
    enter_box();
}

// Waits for all blocks, whether any of them asks for attention: left in `barrier`. One thread of each block comes here.
INLINE void meet_other_blocks(bool attention) {
#if MEMBERS
    // A block that has its system alone has nobody to wait for.
    if (gridDim.x == 1) {
        barrier.answer = attention;
        return;
    }
#endif
    u32 number = barrier.number;
    u64 *word = system.control->barrier + (number & 1);
    u32 target = ((number >> 1) + 1) * gridDim.x;
    add_release(word, attention ? 1ull | 1ull << 32 : 1ull);
    u64 value;
    for (;; spin_wait()) {
        value = load_relaxed(word);
        if ((u32)value == target) break;
    }
    fence();
    u32 upper = (u32)(value >> 32);
    barrier.answer = upper != barrier.seen;
    barrier.seen = barrier.seen_other;
    barrier.seen_other = upper;
    barrier.number = number + 1;
}

// Waits for all blocks; what they wrote before is visible after. Returns, alike in all threads of the grid,
// whether `attention` was true in any.
INLINE bool synchronize(bool attention) {
    int any = __syncthreads_or(attention);
#if MEMBERS
    if (gridDim.x == 1) return any != 0;
#endif
    if (threadIdx.x == 0) meet_other_blocks(any);
    __syncthreads();
    return barrier.answer != 0;
}

// Consecutive pieces of `count` items for the blocks: this block has [first, last).
INLINE void share_of_block(u32 count, u32 &first, u32 &last) {
    first = (u32)((u64)count * blockIdx.x / gridDim.x);
    last = (u32)((u64)count * (blockIdx.x + 1) / gridDim.x);
}

// Tiles of a block, numbered from `first` to `last`, and the tile of a number. Consecutive ones, or (`IN_TURN`) a block takes tiles in turn
// with the others: so it has particles of all species, and from everywhere, and about as many neighbors as they, for whom it would wait.
template <bool IN_TURN>
INLINE void share_tiles(u32 tiles, u32 &first, u32 &last) {
    if (!IN_TURN) return share_of_block(tiles, first, last);
    first = 0;
    last = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
}
template <bool IN_TURN>
INLINE u32 tile_of_block(u32 number) { return IN_TURN ? number * gridDim.x + blockIdx.x : number; }
