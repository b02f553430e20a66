// Whole-system sums in units of 2^-40 (`ExactSum` in src/engine/precision/mod.rs): the same for any order of the
// terms and any number of blocks.
#pragma once
#include "md/grid.cuh"

#include "shared/thermostat.cuh"

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

// Sums of blocks: every block leaves its own, which takes less time than additions of all to one. Those of a turn are
// completed by its barrier, read before the next one, and written over after it; or they are tagged (`md/tagged.cuh`), and taken
// as they come. Then a block may be two turns behind another.
enum SumOfBlocks { SUM_OF_HEAT, SUM_OF_KINETIC_ENERGY };
INLINE SplitSum *sums_of_blocks(u32 turn, int which) { return system.block_sums + (which * TURNS_OF_SUMS + turn % TURNS_OF_SUMS) * gridDim.x; }

INLINE void leave_sum(SplitSum *of_block, SplitSum sum, u32 tag) {
#if TAGGED
    // Sums of a block need 48 bits: its terms are fewer than 2^15.
    const u64 low = (1ull << 48) - 1;
    store_whole(of_block, (sum.upper & low) | (u64)tag << 48, (sum.lower & low) | (u64)(tag >> 16) << 48);
#else
    *of_block = sum;
#endif
}

#if TAGGED
// Whether the sum of a block is there.
INLINE bool load_left_sum(const volatile SplitSum *of_block, u32 tag, SplitSum &sum) {
    u64 upper, lower;
    load_whole((const void *)of_block, upper, lower);
    sum = SplitSum{(u64)((i64)(upper << 16) >> 16), lower & ((1ull << 48) - 1)};
    return (upper >> 48 | (lower >> 48) << 16) == tag;
}

// Sum of blocks from one on, of as many as there are threads that each takes one of; `AT_ONCE` loads are under way together.
template <u32 AT_ONCE>
INLINE SplitSum add_left_sums(const volatile SplitSum *of_block, u32 first, u32 threads, u32 tag) {
    SplitSum total = {0, 0};
    for (u32 base = first; base < gridDim.x; base += AT_ONCE * threads) {
        SplitSum sums[AT_ONCE];
        for (bool are_there = false; !are_there;) {
            are_there = true;
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                u32 block = base + k * threads;
                sums[k] = SplitSum{0, 0};
                if (block < gridDim.x) are_there &= load_left_sum(of_block + block, tag, sums[k]);
            }
            if (!are_there) spin_wait();
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            total.upper += sums[k].upper;
            total.lower += sums[k].lower;
        }
    }
    return total;
}
#endif

// A factor that the first block finds for all, behind the sums of blocks, with the turn that it is of. The first block gives it after the barrier
// of the turn before; others look for it before that of its own turn.
INLINE void *factor_for_all() { return system.block_sums + 2 * TURNS_OF_SUMS * gridDim.x; }
INLINE void give_factor_to_all(u32 turn, double factor) { store_whole(factor_for_all(), to_bits(factor), turn); }
// Before the first barrier of a launch: what the launch before has left is of none of its turns.
INLINE void forget_factor_for_all() { store_whole(factor_for_all(), 0, ~0ull); }
INLINE double factor_from_first_block(u32 turn) {
    for (;;) {
        u64 factor, of_turn;
        load_whole(factor_for_all(), factor, of_turn);
        if (of_turn == turn) return double_from_bits(factor);
        spin_wait();
    }
}

// Adds to a sum in global memory, for one thread.
INLINE void add_to_sum(const SplitSum &sum, SplitSum *total) {
    atomicAdd((unsigned long long *)&total->upper, sum.upper);
    atomicAdd((unsigned long long *)&total->lower, sum.lower);
}

// Of a turn and the one before.
__shared__ u64 sums_of_warps[2][2][2][MOST_WARPS];

// Sums of a pass, which the warps of a block keep in shared memory: in registers they would take room from the pair loop.
struct WarpSums {
    u32 turn;

    // Each warp comes here at the start of a turn.
    INLINE void clear() const {
        if ((threadIdx.x & 31) < 4) sums_of_warps[turn & 1][threadIdx.x & 1][threadIdx.x >> 1 & 1][threadIdx.x >> 5] = 0;
        __syncwarp();
    }
    // Adds what the lanes of a warp have; all of them come here.
    INLINE void add(int which, const SplitSum &of_lane) const {
        SplitSum sum = sum_of_lanes(of_lane);
        if ((threadIdx.x & 31) == 0) {
            sums_of_warps[turn & 1][which][0][threadIdx.x >> 5] += sum.upper;
            sums_of_warps[turn & 1][which][1][threadIdx.x >> 5] += sum.lower;
        }
    }
    // After a barrier of the block, over its warps; the lanes of one come here.
    INLINE SplitSum of_block(int which) const {
        u32 lane = threadIdx.x & 31;
        SplitSum sum = {0, 0};
        if (lane < blockDim.x >> 5) sum = SplitSum{sums_of_warps[turn & 1][which][0][lane], sums_of_warps[turn & 1][which][1][lane]};
        return sum_of_lanes(sum);
    }
    // After a barrier of the block, adds one of its sums to that of all blocks in global memory. The first warp comes here.
    INLINE void add_of_block(int which, SplitSum *total) const {
        SplitSum sum = of_block(which);
        if (threadIdx.x == 0) add_to_sum(sum, total);
    }
    // The same with both. All threads come here.
    INLINE void add_to(SplitSum *totals) const {
        __syncthreads();
        if (threadIdx.x >= 32) return;
#pragma unroll
        for (int which = 0; which < 2; ++which) add_of_block(which, totals + which);
    }
};

// The same in registers of each thread.
struct ThreadSums {
    SplitSum sum[2];

    INLINE void add(int which, const SplitSum &more) {
        sum[which].upper += more.upper;
        sum[which].lower += more.lower;
    }
};

// After a barrier of the block: leaves those of its sums that are wanted, first the kinetic energy, for which others wait. One warp comes
// here.
INLINE void leave_sums(const WarpSums &sums, const bool (&wanted)[2], u32 tag) {
#pragma unroll
    for (int which = 1; which >= 0; --which) {
        if (!wanted[which]) continue;
        SplitSum sum = sums.of_block(which);
        if ((threadIdx.x & 31) == 0) leave_sum(sums_of_blocks(sums.turn, which) + blockIdx.x, sum, tag);
    }
}

// As `synchronize`, with those of the sums that are wanted.
INLINE bool synchronize_with_sums(bool attention, const WarpSums &sums, const bool (&wanted)[2], u32 tag) {
    int any = __syncthreads_or(attention);
    if (threadIdx.x < 32) {
        leave_sums(sums, wanted, tag);
        if (threadIdx.x == 0) meet_other_blocks(any);
    }
    __syncthreads();
    return barrier.answer != 0;
}

// Adds one sum over the threads of the block to one in global memory; all of them come here.
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
        add_to_sum(sum, total);
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
INLINE double value_over_blocks(u32 turn, int which, u32 tag) {
    const volatile SplitSum *of_block = sums_of_blocks(turn, which);
#if TAGGED
    // One round of loads for up to 192 blocks.
    SplitSum sum = add_left_sums<6>(of_block, threadIdx.x & 31, 32, tag);
#else
    SplitSum sum = {0, 0};
    for (u32 block = threadIdx.x & 31; block < gridDim.x; block += 32) {
        sum.upper += of_block[block].upper;
        sum.lower += of_block[block].lower;
    }
#endif
    SplitSum total = sum_of_lanes(sum);
    return value_of(total);
}
