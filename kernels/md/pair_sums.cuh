// Sums of U and r_a F_b for ab = xx, yy, zz, xy, xz, yz over all particles: every pair counts twice.
#pragma once
#include "md/integrate.cuh"
#include "md/sums.cuh"
#include "md/virial.cuh"

const int PAIR_SUM_COUNT = 7;

// Of the neighbors of a lane; the last sum is zero.
struct PairSums {
    Sum sums[8];

    INLINE PairSums() {
#pragma unroll
        for (int k = 0; k < 8; ++k) sums[k] = Policy::zero_sum();
    }
    INLINE void add(const Interaction &pair) {
        Policy::accumulate_energy(sums[0], pair.energy);
        add_virial((Sum(&)[6])sums[1], pair);
    }
};

// A tile for each warp.
INLINE void add_pair_sums_of_tiles(const Particles &particles, const Site *sites, SplitSum *totals) {
    Group group = group_of();
    SplitSum sums[PAIR_SUM_COUNT] = {};
    u32 warps = gridDim.x * (blockDim.x >> 5), tiles = tile_count(group);
    for (u32 tile = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; tile < tiles; tile += warps) {
        u32 p = particle_of(group, tile);
        u32 species = p < system.count ? particles.species[p] : 0;
        Site site[SITE_COMPONENTS];
        load_site(sites, p < system.count ? p : 0, site);
        PairSums of_lane;
        walk(group, tile, p, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
            of_lane.add(interaction(constants, site, other, place != p));
        });
        double terms[PAIR_SUM_COUNT];
#pragma unroll
        for (int k = 0; k < PAIR_SUM_COUNT; ++k) terms[k] = Policy::energy_to_f64(total_of_group(group, of_lane.sums[k]));
        if (p >= system.count || group.member != 0) continue;
        bool fits = true;
#pragma unroll
        for (int k = 0; k < PAIR_SUM_COUNT; ++k) add_term(sums[k], exact_term(terms[k], fits));
        flag_range(system.control, fits, STATUS_KINETIC_RANGE, particles.id[p]);
    }
    add_to_totals(sums, totals);
}

// Where few particles have many lanes each, and sums may be made in any order: more threads a particle, each with a part of a lane's rows;
// every eighth of them gets one of the sums. It waits less for memory, and makes the terms of all sums together.
INLINE bool have_lanes_several_threads() { return IS_INTEGER<Sum> && system.lanes_log2 >= 2; }

// Of eight sums over `threads` lanes each eighth of these gets one, in their order.
INLINE Sum sum_of_eighth(Sum (&sums)[8], u32 member, u32 threads) {
    u32 offset = threads >> 1;
#pragma unroll
    for (int half = 4; half > 0; half >>= 1) {
        const bool is_upper = (member & offset) != 0;
#pragma unroll
        for (int k = 0; k < half; ++k) {
            Sum given = is_upper ? sums[k] : sums[k + half];
            if (is_upper) sums[k] = sums[k + half];
            Policy::merge(sums[k], exchange(given, offset));
        }
        offset >>= 1;
    }
    for (; offset > 0; offset >>= 1) Policy::merge(sums[0], exchange(sums[0], offset));
    return sums[0];
}

INLINE void add_pair_sums_of_eighths(const Particles &particles, const Site *sites, SplitSum *totals) {
    const u32 lanes_log2 = system.lanes_log2, parts_log2 = lanes_log2 < 5 ? 1 : 0, threads_log2 = lanes_log2 + parts_log2;
    const u32 lane = threadIdx.x & 31, member = lane & ((1u << threads_log2) - 1), eighth_log2 = threads_log2 - 3;
    const u32 particles_of_tile = 32u >> lanes_log2, particles_of_warp = 32u >> threads_log2;
    const u32 warps = blockDim.x >> 5, warp = threadIdx.x >> 5;
    // Of this thread's eighth, in its first lane.
    SplitSum sum = {0, 0};
    for (u32 first = (blockIdx.x * warps + warp) * particles_of_warp; first < system.count; first += gridDim.x * warps * particles_of_warp) {
        u32 p = first + (lane >> threads_log2), tile = first / particles_of_tile;
        u32 lane_in_tile = (p % particles_of_tile << lanes_log2) + (member & ((1u << lanes_log2) - 1));
        Group group = {lanes_log2, lane_in_tile, 0, particles_of_tile, 0};
        u32 species = p < system.count ? particles.species[p] : 0;
        Site site[SITE_COMPONENTS];
        load_site(sites, p < system.count ? p : 0, site);
        PairSums of_thread;
        walk_part(group, tile, p, species, sites, member >> lanes_log2, 1u << parts_log2,
                  [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
                      of_thread.add(interaction(constants, site, other, place != p));
                  });
        double term = Policy::energy_to_f64(Policy::total(sum_of_eighth(of_thread.sums, member, 1u << threads_log2)));
        if (p >= system.count || (member & ((1u << eighth_log2) - 1)) != 0) continue;
        bool fits = true;
        add_term(sum, exact_term(term, fits));
        flag_range(system.control, fits, STATUS_KINETIC_RANGE, particles.id[p]);
    }
    for (u32 offset = 1u << threads_log2; offset < 32; offset <<= 1) {
        sum.upper += exchange(sum.upper, offset);
        sum.lower += exchange(sum.lower, offset);
    }
    __shared__ u64 of_warps[8][2][32];
    if (lane < 1u << threads_log2 && (lane & ((1u << eighth_log2) - 1)) == 0) {
        of_warps[lane >> eighth_log2][0][warp] = sum.upper;
        of_warps[lane >> eighth_log2][1][warp] = sum.lower;
    }
    __syncthreads();
    if (threadIdx.x >= 2 * PAIR_SUM_COUNT) return;
    const u32 which = threadIdx.x >> 1, half = threadIdx.x & 1;
    u64 of_block = 0;
    for (u32 other = 0; other < warps; ++other) of_block += of_warps[which][half][other];
    atomicAdd((unsigned long long *)(half == 0 ? &totals[which].upper : &totals[which].lower), of_block);
}
