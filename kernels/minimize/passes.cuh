// The passes of an iteration of FIRE over the particles of a system, their sums, and the decisions between them. Mirrors
// src/engine/cpu/minimize.rs; always in 64-bit floats.
//
// An iteration is three passes: forces and their sums; velocities, and half of the last move taken back where the power is not
// positive; the move, whose length depends on the largest speed. Lists are rebuilt where a particle has moved by half the skin.
#pragma once
#include "md/forces.cuh"
#include "md/integrate.cuh"
#include "minimize/fire.cuh"

static_assert(sizeof(Real) == 8 && sizeof(Coordinate) == 8, "a minimum is found in 64-bit floats");

#include "shared/descent.cuh"

// Threads that make a sum: no block is smaller.
#define SUMMING_THREADS 128

INLINE void merge(DescentSums &sums, const DescentSums &other) {
    sums.power = add(sums.power, other.power);
    sums.force2 = add(sums.force2, other.force2);
    sums.velocity2 = add(sums.velocity2, other.velocity2);
    sums.largest2 = fmax(sums.largest2, other.largest2);
}

// Over the lanes of a warp, in all of them.
INLINE DescentSums sum_of_warp(DescentSums sums) {
    for (u32 offset = 16; offset > 0; offset >>= 1) {
        DescentSums other = {exchange(sums.power, offset), exchange(sums.force2, offset), exchange(sums.velocity2, offset),
                      exchange(sums.largest2, offset)};
        merge(sums, other);
    }
    return sums;
}

// Of consecutive entries, in all threads of the block; all must come here.
INLINE DescentSums sum_of_entries(const DescentSums *entries, u32 count) {
    __shared__ DescentSums of_warp[SUMMING_THREADS / 32];
    if (threadIdx.x < SUMMING_THREADS) {
        DescentSums sums = {};
        for (u32 entry = threadIdx.x; entry < count; entry += SUMMING_THREADS) merge(sums, entries[entry]);
        sums = sum_of_warp(sums);
        if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = sums;
    }
    __syncthreads();
    DescentSums all = of_warp[0];
#pragma unroll
    for (int warp = 1; warp < SUMMING_THREADS / 32; ++warp) merge(all, of_warp[warp]);
    __syncthreads();
    return all;
}

// The largest of the block's numbers, in its first thread; all must come here.
INLINE double largest_of_block(double x) {
    __shared__ double of_warp[32];
    for (u32 offset = 16; offset > 0; offset >>= 1) x = fmax(x, exchange(x, offset));
    __syncthreads();
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = x;
    __syncthreads();
    if (threadIdx.x != 0) return x;
    for (u32 warp = 1; warp < blockDim.x >> 5; ++warp) x = fmax(x, of_warp[warp]);
    return x;
}

// Forces at the present sites and what the tiles contribute to the sums; whether a pair was too close.
static __device__ __noinline__ bool force_pass(const Group group, const Particles &particles, const PresentSites sites, u32 first_tile,
                                               u32 last_tile, DescentSums *of_tile) {
    Findings findings = {false, false};
    for (u32 tile = first_tile + (threadIdx.x >> 5); tile < last_tile; tile += blockDim.x >> 5) {
        u32 p = particle_of(group, tile);
        bool active = p < system.count;
        u32 species = active ? particles.species[p] : 0;
        Sum sum[DIMENSION];
        if (sum_forces(group, tile, p, species, sites, sum)) {
            report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        }
        Force force[DIMENSION];
        total_of_group(group, sum, force);
        DescentSums sums = {};
        if (active && group.member == 0) {
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) {
                double f = force[axis], v = particles.velocity[axis][p];
                system.force[axis][p] = f;
                sums.power = add(sums.power, mul(f, v));
                sums.force2 = add(sums.force2, mul(f, f));
                sums.velocity2 = add(sums.velocity2, mul(v, v));
            }
            sums.largest2 = sums.force2;
        }
        sums = sum_of_warp(sums);
        if (group.lane == 0) of_tile[tile] = sums;
    }
    return findings.error;
}

// x by itself, within 0 <= x < edge; `image` changes by the edges taken off. As `wrap` in
// src/engine/precision/double.rs.
INLINE double wrapped(double x, int axis, i32 &image) {
    double edge = policy.edges[axis];
    double crossed = round_down(divide(x, edge));
    double inside = sub(x, mul(crossed, edge));
    image += (i32)crossed;
    if (inside < 0.0) {
        inside = add(inside, edge);
        image -= 1;
    }
    if (inside >= edge) {
        inside = 0.0;
        image += 1;
    }
    return inside;
}

// How velocities change in an iteration.
struct Change {
    bool turn_back;
    // Time for which a move is taken back.
    double back;
    // dt / m, and the shares of velocity and force in what is mixed.
    double kick;
    double keep;
    double turn;
};

// The velocity of the coordinate along an axis; of x in a tilted box v_x - slope v_y, which is that of the skewed coordinate.
INLINE double velocity_of_coordinate(const Particles &particles, u32 p, int axis) {
    double v = particles.velocity[axis][p];
#if TILTED
    if (axis == 0) return sub(v, mul(present_slope(), particles.velocity[1][p]));
#endif
    return v;
}

// v = keep (v + kick F) + turn F, from zero where the descent turns back; the largest squared speed.
static __device__ __noinline__ double velocity_pass(const Particles &particles, u32 first, u32 last, const Change change) {
    double fastest2 = 0.0;
    for (u32 p = first + threadIdx.x; p < last; p += blockDim.x) {
        double speed2 = 0.0;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double v = particles.velocity[axis][p], f = system.force[axis][p];
            if (change.turn_back) {
                i32 image = particles.image[axis][p];
                double x = add(particles.position[axis][p], mul(change.back, velocity_of_coordinate(particles, p, axis)));
                particles.position[axis][p] = wrapped(x, axis, image);
                particles.image[axis][p] = image;
                v = 0.0;
            }
            v = add(mul(change.keep, add(v, mul(change.kick, f))), mul(change.turn, f));
            particles.velocity[axis][p] = v;
            speed2 = add(speed2, mul(v, v));
        }
        fastest2 = fmax(fastest2, speed2);
    }
    return fastest2;
}

// x += v t; whether the lists must be rebuilt.
template <typename Sites>
static __device__ __noinline__ bool move_pass(const Particles &particles, const Sites sites, u32 first, u32 last, double time) {
    bool needs_rebuild = false;
    for (u32 p = first + threadIdx.x; p < last; p += blockDim.x) {
        Site site[SITE_COMPONENTS], reference[SITE_COMPONENTS];
        load_site(system.reference, p, reference);
        take_diameter(site, reference);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            i32 image = particles.image[axis][p];
            double x = add(particles.position[axis][p], mul(time, velocity_of_coordinate(particles, p, axis)));
            site[axis] = wrapped(x, axis, image);
            particles.position[axis][p] = site[axis];
            particles.image[axis][p] = image;
        }
        store_site(sites, p, site);
        Real displacement[DIMENSION], length[DIMENSION];
        needs_rebuild |= !(distance2(site, reference, displacement, length) <= system.limit2);
    }
    return needs_rebuild;
}

// What all threads of a descent know.
struct Shared {
    Progress progress;
    Change change;
    double timestep;
    bool goes_on;
};

// Ends the descent or takes the next iteration's decisions, unless it pauses.
INLINE void decide(const DescentArgument &descent, const DescentSums &sums, bool pauses, Shared &shared) {
    Progress &progress = shared.progress;
    shared.goes_on = false;
    progress.residual_force = square_root(sums.largest2);
    if (!is_finite(sums.force2)) {
        progress.end = NOT_FINITE;
    } else if (progress.residual_force < descent.force_tolerance || progress.fire.iterations >= descent.most) {
        progress.end = END_DONE;
    } else if (!pauses) {
        Iteration iteration = next_iteration(progress.fire, sums.power);
        double ratio = square_root(divide(sums.velocity2, sums.force2));
        shared.change.turn_back = iteration.turn_back;
        shared.change.back = mul(-0.5, progress.moved_for);
        shared.change.kick = divide(iteration.timestep, descent.inertia);
        shared.change.keep = sub(1.0, iteration.mixing);
        shared.change.turn = mul(iteration.mixing, ratio);
        shared.timestep = iteration.timestep;
        shared.goes_on = true;
    }
}
