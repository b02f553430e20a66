// Whole-system sums in units of 2^-40 (`ExactSum` in src/engine/precision/mod.rs): the same for any order of the
// terms and any number of blocks.
#pragma once
#include "md/grid.cuh"

INLINE void add_term(SplitSum &sum, i64 term) {
    sum.upper += (u64)(term >> 32);
    sum.lower += (u32)term;
}

// Sum over the lanes of a warp, in pieces of 16 bits. The lower sums stay below 2^59.
INLINE SplitSum sum_of_lanes(SplitSum sum) {
    u32 u0 = add_over_warp((u32)sum.upper & 0xFFFF), u1 = add_over_warp((u32)sum.upper >> 16);
    u32 u2 = add_over_warp((u32)(sum.upper >> 32));
    u32 l0 = add_over_warp((u32)sum.lower & 0xFFFF), l1 = add_over_warp((u32)sum.lower >> 16);
    u32 l2 = add_over_warp((u32)(sum.lower >> 32));
    return SplitSum{((u64)u2 << 32) + ((u64)u1 << 16) + u0, ((u64)l2 << 32) + ((u64)l1 << 16) + l0};
}

// Adds the sums of all threads of the block to as many in global memory; all threads must come here.
template <int COUNT>
INLINE void add_to_totals(const SplitSum (&sums)[COUNT], SplitSum *totals) {
    __shared__ u64 of_warp[COUNT][2][32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        SplitSum sum = sum_of_lanes(sums[k]);
        if (lane == 0) {
            of_warp[k][0][warp] = sum.upper;
            of_warp[k][1][warp] = sum.lower;
        }
    }
    __syncthreads();
    // A warp for each, as far as there are.
    for (u32 k = warp; k < COUNT; k += warps) {
        SplitSum sum = {0, 0};
        if (lane < warps) sum = SplitSum{of_warp[k][0][lane], of_warp[k][1][lane]};
        sum = sum_of_lanes(sum);
        if (lane == 0) {
            atomicAdd((unsigned long long *)&totals[k].upper, sum.upper);
            atomicAdd((unsigned long long *)&totals[k].lower, sum.lower);
        }
    }
}

// Sums of blocks, completed by the barrier of a turn: every block leaves its own, which takes less time than additions of
// all to one. Those of a turn are read before the next barrier, and written over after it.
INLINE SplitSum *sums_of_blocks(u32 turn, int which) { return system.block_sums + (2 * (turn & 1) + which) * gridDim.x; }

// As `synchronize`, with those of two sums over the threads that are wanted.
INLINE bool synchronize_with_sums(bool attention, const SplitSum (&sums)[2], const bool (&wanted)[2], u32 turn) {
    __shared__ u64 of_warp[2][2][32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        if (!wanted[k]) continue;
        SplitSum sum = sum_of_lanes(sums[k]);
        if (lane == 0) {
            of_warp[k][0][warp] = sum.upper;
            of_warp[k][1][warp] = sum.lower;
        }
    }
    int any = __syncthreads_or(attention);
    if (warp == 0) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            if (!wanted[k]) continue;
            SplitSum sum = {0, 0};
            if (lane < blockDim.x >> 5) sum = SplitSum{of_warp[k][0][lane], of_warp[k][1][lane]};
            sum = sum_of_lanes(sum);
            if (lane == 0) sums_of_blocks(turn, k)[blockIdx.x] = sum;
        }
        if (lane == 0) meet_other_blocks(any);
    }
    __syncthreads();
    return barrier.answer != 0;
}

// The same of one sum, in fewer registers.
INLINE void add_to_total(SplitSum sum, SplitSum *total) {
    __shared__ u64 of_warp[2][32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    sum = sum_of_lanes(sum);
    __syncthreads();
    if (lane == 0) {
        of_warp[0][warp] = sum.upper;
        of_warp[1][warp] = sum.lower;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 other = 1; other < blockDim.x >> 5; ++other) {
            sum.upper += of_warp[0][other];
            sum.lower += of_warp[1][other];
        }
        atomicAdd((unsigned long long *)&total->upper, sum.upper);
        atomicAdd((unsigned long long *)&total->lower, sum.lower);
    }
}

// The sum as a 64-bit float, rounded once.
INLINE double value_of(const volatile SplitSum &split) {
    u64 upper = split.upper, lower = split.lower;
    u64 lo = (upper << 32) + lower;
    i64 hi = ((i64)upper >> 32) + (lo < lower ? 1 : 0);
    bool negative = hi < 0;
    if (negative) {
        lo = 0 - lo;
        hi = ~hi + (lo == 0 ? 1 : 0);
    }
    double value;
    if (hi == 0) {
        value = (double)lo;
    } else {
        u32 shift = 64 - leading_zeros((u64)hi);
        u64 top = shift == 64 ? (u64)hi : (u64)hi << (64 - shift) | lo >> shift;
        bool rest = shift == 64 ? lo != 0 : lo << (64 - shift) != 0;
        value = (double)(top | (rest ? 1 : 0)) * double_from_bits((u64)(1023 + shift) << 52);
    }
    value *= 1.0 / 1099511627776.0;
    return negative ? -value : value;
}

// The sum of all blocks, rounded once: for one warp, all lanes of which come here.
INLINE double value_over_blocks(u32 turn, int which) {
    const volatile SplitSum *of_block = sums_of_blocks(turn, which);
    SplitSum sum = {0, 0};
    for (u32 block = threadIdx.x & 31; block < gridDim.x; block += 32) {
        sum.upper += of_block[block].upper;
        sum.lower += of_block[block].lower;
    }
    SplitSum total = sum_of_lanes(sum);
    return value_of(total);
}
