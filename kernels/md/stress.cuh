// The stress tensor: sums of m v_a v_b over particles and of r_a F_b over pairs for ab = xx, yy, zz, xy, xz, yz.
// Measured between launches (`measure.cu`), and within them by every block for its own particles.
#pragma once
#include "md/forces.cuh"
#include "md/integrate.cuh"
#include "md/sample.cuh"
#include "md/sums.cuh"
#include "md/virial.cuh"

#ifndef STRESS
#define STRESS 0
#endif

#include "shared/measure.cuh"

// m v_a v_b for ab = `k`.
INLINE i64 kinetic_stress_term(double mass, const double (&v)[3], int k, bool &fits) {
    const int first[6] = {0, 1, 2, 0, 0, 1}, second[6] = {0, 1, 2, 1, 2, 2};
    return exact_term(mul(mass, mul(v[first[k]], v[second[k]])), fits);
}

#if STRESS
#if !MEMBERS
// Sums of the samples of a launch and of those before it.
__constant__ SplitSum *stress_sums;
#endif

// Where the sums of the stress after `done` steps go; null: it is not wanted.
INLINE SplitSum *stress_at(const SampleTimes &turns, u32 done) {
    u32 since = done - turns.first;
    if (done < turns.first || since % turns.every != 0) return nullptr;
    return stress_sums + (size_t)(turns.number + since / turns.every) * STRESS_SUMS;
}

// Adds the stress of the block's particles, from their velocities and sites in memory, to the sums of a sample; all
// threads must come here. What the lanes of a pass before wrote is read by others of the block. Returns whether a number
// did not fit.
static __device__ __noinline__ bool sum_stress(u32 copy, u32 site_copy, SplitSum *total) {
    // By word, sum (velocities, then pairs), warp.
    __shared__ u64 of_warp[2][12][32];
    __syncthreads();
    const Particles &particles = system.particles[copy];
    const Site *sites = system.sites[site_copy];
    Findings findings = {false, false};
    Group group = group_of();
    u32 first_tile, last_tile;
    share_of_block(tile_count(group), first_tile, last_tile);
    u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    // Lane k keeps the k-th sum of its warp.
    SplitSum mine = {0, 0};
    for (u32 tile = first_tile + warp; tile < last_tile; tile += warps) {
        u32 p = particle_of(group, tile);
        bool active = p < system.count, fits = true;
        u32 species = active ? particles.species[p] : 0;
        Site site[SITE_COMPONENTS];
        load_site(sites, active ? p : 0, site);
        Sum virial[6];
#pragma unroll
        for (int k = 0; k < 6; ++k) virial[k] = Policy::zero_sum();
        walk(group, tile, p, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
            add_virial(virial, interaction(constants, site, other, place != p));
        });
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            // Alike in all lanes of a particle.
            double of_particle = Policy::energy_to_f64(total_of_group(group, virial[k]));
            SplitSum of_tile = {0, 0};
            if (active) add_term(of_tile, exact_term(of_particle, fits));
            for (u32 offset = 1u << group.lanes_log2; offset < 32; offset <<= 1) {
                of_tile.upper += __shfl_xor_sync(~0u, of_tile.upper, offset);
                of_tile.lower += __shfl_xor_sync(~0u, of_tile.lower, offset);
            }
            if (group.lane == (u32)k) {
                mine.upper += of_tile.upper;
                mine.lower += of_tile.lower;
            }
        }
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, particles.id[p]);
    }
    if (group.lane < 6) {
        of_warp[0][6 + group.lane][warp] = mine.upper;
        of_warp[1][6 + group.lane][warp] = mine.lower;
    }
    SplitSum kinetic[6] = {};
    u32 first = first_tile * group.particles, last = last_tile * group.particles;
    last = last < system.count ? last : system.count;
    for (u32 p = first + threadIdx.x; p < last; p += blockDim.x) {
        double mass = system.mass[particles.species[p]];
        double v[3] = {0.0, 0.0, 0.0};
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            v[axis] = Policy::velocity_to_f64(policy, particles.velocity[axis][p], axis);
        }
        bool fits = true;
#pragma unroll
        for (int k = 0; k < 6; ++k) add_term(kinetic[k], kinetic_stress_term(mass, v, k, fits));
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, particles.id[p]);
    }
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        for (u32 offset = 16; offset > 0; offset >>= 1) {
            kinetic[k].upper += __shfl_xor_sync(~0u, kinetic[k].upper, offset);
            kinetic[k].lower += __shfl_xor_sync(~0u, kinetic[k].lower, offset);
        }
        if (group.lane == (u32)k) {
            of_warp[0][k][warp] = kinetic[k].upper;
            of_warp[1][k][warp] = kinetic[k].lower;
        }
    }
    __syncthreads();
    for (u32 sum = threadIdx.x; sum < 24; sum += blockDim.x) {
        u32 word = sum & 1, k = sum >> 1;
        u64 of_block = 0;
        for (u32 other = 0; other < warps; ++other) of_block += of_warp[word][k][other];
        // Pairs after their energy.
        SplitSum *to = total + (k < 6 ? k : VELOCITY_SUMS + 1 + k - 6);
        atomicAdd((unsigned long long *)(word == 0 ? &to->upper : &to->lower), (unsigned long long)of_block);
    }
    return findings.error;
}
#else
INLINE SplitSum *stress_at(const SampleTimes &, u32) { return nullptr; }
INLINE bool sum_stress(u32, u32, SplitSum *) { return false; }
#endif
