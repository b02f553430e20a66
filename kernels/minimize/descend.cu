// Descent of a copy of the system to a minimum of its energy by FIRE: a cooperative kernel that makes many iterations
// a launch and takes all decisions itself (`passes.cuh`).
//
// There is a barrier after each pass. Sums are made tile by tile and then in groups of tiles by as many threads for any block: the same
// bits for any number and size of blocks.
#include "md/rebuild.cuh"
#include "minimize/passes.cuh"

// Of all tiles, alike in all threads of the grid.
INLINE DescentSums sum_of_tiles(const DescentSums *of_tile, DescentSums *of_group, u32 tiles) {
    if (tiles <= SUMMED_TILES) return sum_of_entries(of_tile, tiles);
    u32 groups = (tiles + SUMMED_TILES - 1) / SUMMED_TILES;
    for (u32 group = blockIdx.x; group < groups; group += gridDim.x) {
        u32 first = group * SUMMED_TILES;
        DescentSums sums = sum_of_entries(of_tile + first, tiles - first < SUMMED_TILES ? tiles - first : SUMMED_TILES);
        if (threadIdx.x == 0) of_group[group] = sums;
    }
    synchronize(false);
    return sum_of_entries(of_group, groups);
}

// Brings the largest of the block's numbers, none negative, into one that all blocks share.
INLINE void share_largest(double x, u64 *shared_bits) {
    x = largest_of_block(x);
    if (threadIdx.x != 0) return;
    // The bits of such numbers are ordered as they are.
    atomicMax((unsigned long long *)shared_bits, to_bits(x));
}

// `fastest2`: bits of the largest squared speed, for every other iteration one; zero before the first.
extern "C" __global__ void __launch_bounds__(640, 1)
    descend(const __grid_constant__ DescentArgument descent, Progress *progress, u64 *fastest2, DescentSums *of_tile, DescentSums *of_group) {
    __shared__ Shared shared;
    Control *control = system.control;
    begin_grid();
    Group group = group_of();
    u32 copy = control->copy, site_copy = control->site_copy, tiles = tile_count(group), first_tile, last_tile;
    share_of_block(tiles, first_tile, last_tile);
    u32 first = first_tile * group.particles, last = last_tile * group.particles;
    last = last < system.count ? last : system.count;
    if (threadIdx.x == 0) shared.progress = *progress;
    __syncthreads();
    bool needs_rebuild = descent.rebuild != 0;
    for (;;) {
        if (needs_rebuild) {
            bool full = rebuild(copy, site_copy, no_outlook());
            copy ^= 1;
            site_copy ^= 1;
            if (full) break;
        }
        const Particles &particles = system.particles[copy];
        Site *sites = system.sites[site_copy];
        bool too_close = force_pass(group, particles, sites, first_tile, last_tile, of_tile);
        if (synchronize(too_close)) break;
        DescentSums sums = sum_of_tiles(of_tile, of_group, tiles);
        if (threadIdx.x == 0) decide(descent, sums, shared.progress.fire.iterations >= descent.pause, shared);
        __syncthreads();
        if (!shared.goes_on) break;
        u64 *fastest = fastest2 + (shared.progress.fire.iterations & 1);
        share_largest(velocity_pass(particles, first, last, shared.change), fastest);
        // The other one was read before the barrier after the last move.
        if (blockIdx.x == 0 && threadIdx.x == 0) fastest2[(shared.progress.fire.iterations + 1) & 1] = 0;
        synchronize(false);
        if (threadIdx.x == 0) {
            double speed = square_root(double_from_bits(*(volatile u64 *)fastest));
            shared.progress.moved_for = fmin(shared.timestep, divide(descent.furthest, speed));
        }
        __syncthreads();
        needs_rebuild = synchronize(move_pass(particles, sites, first, last, shared.progress.moved_for));
    }
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    control->copy = copy;
    control->site_copy = site_copy;
    *progress = shared.progress;
}
