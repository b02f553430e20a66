// The stress tensor: sums of m v_a v_b over particles and of r_a F_b over pairs for ab = xx, yy, zz, xy, xz, yz.
// Measured between launches (`measure.cu`), and within them by the passes themselves, each block for its own particles.
#pragma once
#include "md/forces.cuh"
#include "md/integrate.cuh"
#include "md/passes.cuh"
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

// By sum (velocities, then pairs), word, warp.
__shared__ u64 stress_of_warps[12][2][MOST_WARPS];

// As `WarpSums`, for the stress: what a pass over particles adds to it. The lanes of a warp keep its sums in shared memory.
struct WithStress {
    static constexpr bool IS_WANTED = true;

    // Each warp comes here at the start of its pass.
    static INLINE void clear() {
        if ((threadIdx.x & 31) < 24) (&stress_of_warps[0][0][0])[(threadIdx.x & 31) * MOST_WARPS + (threadIdx.x >> 5)] = 0;
        __syncwarp();
    }
    // Adds a term of each lane of a warp; all of them come here.
    static INLINE void add(int which, i64 of_lane) {
        SplitSum sum = {0, 0};
        add_term(sum, of_lane);
        sum = sum_of_lanes(sum);
        if ((threadIdx.x & 31) == 0) {
            stress_of_warps[which][0][threadIdx.x >> 5] += sum.upper;
            stress_of_warps[which][1][threadIdx.x >> 5] += sum.lower;
        }
    }
    // Components that vanish in two dimensions.
    static INLINE bool vanishes(int k) { return DIMENSION == 2 && (k == 2 || k > 3); }

    // As `sum_forces`, every distance checked, with the virial of the pairs.
    static INLINE bool sum_forces(const Group &group, u32 tile, u32 p, u32 species, const PresentSites &sites, Sum (&sum)[DIMENSION],
                                  const u32 *ids, Findings &findings) {
        bool active = p < system.count, too_close = false, fits = true;
        Site site[SITE_COMPONENTS];
        load_site(sites, active ? p : 0, site);
        Sum virial[6];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] = Policy::zero_sum();
#pragma unroll
        for (int k = 0; k < 6; ++k) virial[k] = Policy::zero_sum();
        walk(group, tile, p, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
            Interaction pair = interaction(constants, site, other, place != p);
            add_force(sum, pair.force, pair.displacement, pair.length);
            add_virial(virial, pair);
            too_close |= pair.too_close;
        });
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            if (vanishes(k)) continue;
            // Alike in all lanes of a particle.
            double of_particle = Policy::energy_to_f64(total_of_group(group, virial[k]));
            bool counts = active && group.member == 0;
            add(6 + k, counts ? exact_term(of_particle, fits) : 0);
        }
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, ids[p]);
        return too_close;
    }

    // Of the velocities between the kicks; all lanes of a warp come here, and `counts` where there is a particle.
    static INLINE void add_kinetic(const Body &body, bool counts, const u32 *ids, u32 p, Findings &findings) {
        bool fits = true;
        double mass = 0.0, v[3] = {0.0, 0.0, 0.0};
        if (counts) {
            mass = mass_of_species[body.species];
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) v[axis] = Policy::velocity_to_f64(policy, body.velocity[axis], axis);
        }
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            if (vanishes(k)) continue;
            add(k, counts ? kinetic_stress_term(mass, v, k, fits) : 0);
        }
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, ids[p]);
    }
};

// The pass of a step at which the stress is wanted. It is rare, and takes more registers than the usual one.
template <Acting ACTING, bool SINGLE_LANE>
static __device__ __noinline__ Findings pass_with_stress(const PassOf pass, const Work work, WarpSums sums) {
    return force_pass<ACTING, SINGLE_LANE, WithStress>(pass, work, sums);
}

// After a pass and a barrier of the block: adds its sums to those of a sample. All threads come here; `warps` of them took part.
static __device__ __noinline__ void leave_stress(SplitSum *total, u32 warps) {
    u32 lane = threadIdx.x & 31;
    for (u32 k = threadIdx.x >> 5; k < 12; k += blockDim.x >> 5) {
        SplitSum sum = {0, 0};
        if (lane < warps) sum = SplitSum{stress_of_warps[k][0][lane], stress_of_warps[k][1][lane]};
        sum = sum_of_lanes(sum);
        // Pairs after their energy.
        SplitSum *to = total + (k < 6 ? k : VELOCITY_SUMS + 1 + k - 6);
        if (lane < 2) atomicAdd((unsigned long long *)(lane == 0 ? &to->upper : &to->lower), lane == 0 ? sum.upper : sum.lower);
    }
}
#else
INLINE SplitSum *stress_at(const SampleTimes &, u32) { return nullptr; }
template <Acting ACTING, bool SINGLE_LANE>
INLINE Findings pass_with_stress(const PassOf &, const Work &, const WarpSums &) {
    return Findings{false, false};
}
INLINE void leave_stress(SplitSum *, u32) {}
#endif
