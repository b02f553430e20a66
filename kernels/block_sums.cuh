// Sums over the threads of a block, and copies by them; all must come here. A block is whole warps.
#pragma once
#include "arithmetic/portable.cuh"

// Sum over the block, in all threads.
INLINE u32 block_sum(u32 value) {
    __shared__ u32 partial[32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (u32 offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(~0u, value, offset);
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < blockDim.x >> 5 ? partial[lane] : 0;
    for (u32 offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

// Sum over the threads before this one; `total` over all.
INLINE u32 block_prefix(u32 value, u32 &total) {
    __shared__ u32 partial[32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 inclusive = value;
    for (u32 offset = 1; offset < 32; offset <<= 1) {
        u32 below = __shfl_up_sync(~0u, inclusive, offset);
        if (lane >= offset) inclusive += below;
    }
    __syncthreads();
    if (lane == 31) partial[warp] = inclusive;
    __syncthreads();
    u32 warps = lane < blockDim.x >> 5 ? partial[lane] : 0;
    u32 before = lane < warp ? warps : 0;
    for (u32 offset = 16; offset > 0; offset >>= 1) {
        warps += __shfl_xor_sync(~0u, warps, offset);
        before += __shfl_xor_sync(~0u, before, offset);
    }
    total = warps;
    return before + inclusive - value;
}

// The threads see the copy after the next barrier of the block.
template <typename T>
INLINE void copy_by_block(T &to, const T &from) {
    static_assert(sizeof(T) % sizeof(u32) == 0, "whole words");
    for (u32 word = threadIdx.x; word < sizeof(T) / sizeof(u32); word += blockDim.x) {
        ((u32 *)&to)[word] = ((const u32 *)&from)[word];
    }
}
