// Passes over the particles of a block: forces, kicks, drift.
#pragma once
#include "md/forces.cuh"
#include "md/integrate.cuh"
#include "md/sample.cuh"
#if DOMAIN
#include "domain/rim.cuh"
#endif

// What all passes of a launch share.
struct Work {
    u32 first_tile;
    u32 last_tile;
    u32 copy;
    u32 site_copy;
    // Where the pass leaves a sample, if it does.
    u32 *sample;
#if DOMAIN
    // The region that a pass works on, which of the warp's first 32 tiles belong to the boundary, and whether any does.
    u32 region;
    u32 in_boundary;
    bool has_boundary;

    INLINE void learn_regions() {
        u32 warps = blockDim.x >> 5, from = first_tile + (threadIdx.x >> 5);
        in_boundary = 0;
        has_boundary = false;
        for (u32 at = from; at < last_tile; at += 32 * warps) {
            u32 tile = at + (threadIdx.x & 31) * warps;
            u32 found = __ballot_sync(~0u, tile < last_tile && rim.boundary[tile] == BOUNDARY);
            if (at == from) in_boundary = found;
            has_boundary |= found != 0;
        }
    }
    INLINE bool skips(u32 tile) const {
        u32 k = (tile - first_tile) / (blockDim.x >> 5);
        return (k < 32 ? in_boundary >> k & 1 : rim.boundary[tile]) != region;
    }
#else
    INLINE bool skips(u32) const { return false; }
#endif
};

INLINE void present_sites(const Work &work) {
    const Particles &particles = system.particles[work.copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Site site[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = Policy::site(policy, particles.position[axis][p], axis);
        store_site(system.sites[work.site_copy], p, site);
    }
}

// One pass: forces at the sites of step `step`, its second kick, and the first kick and drift of the next.
template <bool LANGEVIN, bool ALONE>
INLINE Findings force_pass(const Thermostat &thermostat, const Work &work, u64 step, bool kick,
                           bool go_on, bool store_force, SplitSum (&heat)[2]) {
    const Particles &particles = system.particles[work.copy];
    const Site *sites = system.sites[work.site_copy];
    Group group = group_of<ALONE>();
    Findings findings = {false, false};
    for (u32 tile = work.first_tile + (threadIdx.x >> 5); tile < work.last_tile; tile += blockDim.x >> 5) {
        if (work.skips(tile)) continue;
        u32 p = particle_of(group, tile);
        bool active = p < system.count;
        bool leads = active && group.member == 0;
        Sum sum[DIMENSION];
        u32 species = active ? particles.species[p] : 0;
        // Early: it is waited for at the end.
        u32 sampled_id = work.sample && leads ? particles.id[p] : 0;
        bool too_close = sum_forces(group, tile, p, species, sites, sum);
        if (too_close) report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        Force force[DIMENSION];
        total_of_group(group, sum, force);
        if (!leads) continue;
        Body body;
        body.load(particles, p);
        u32 id = LANGEVIN ? particles.id[p] : 0;
        if (kick) {
            body.half_kick(force);
            if (LANGEVIN) {
                double noise = langevin_noise(thermostat, step, body.species);
                body.langevin(thermostat, noise, id, 2 * step + 1, heat[0], findings);
            }
        }
        if (work.sample) store_sampled(work.sample, sampled_id, body.position, body.image, body.velocity);
        if (go_on) {
            if (LANGEVIN) {
                double noise = langevin_noise(thermostat, step, body.species);
                body.langevin(thermostat, noise, id, 2 * step, heat[1], findings);
            }
            body.half_kick(force);
            body.drift(particles, system.sites[work.site_copy ^ 1], p, findings);
            body.store_place(particles, p);
        }
        body.store_velocity(particles, p);
        if (store_force) {
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) system.force[axis][p] = force[axis];
        }
    }
    return findings;
}

// As `force_pass` without a thermostat, for four or more lanes a particle: each of the first integrates an axis.
INLINE Findings force_pass_by_axis(const Work &work, bool kick, bool go_on, bool store_force) {
    const Particles &particles = system.particles[work.copy];
    const Site *sites = system.sites[work.site_copy];
    Findings findings = {false, false};
    Group group = group_of();
    u32 axis = group.member;
    for (u32 tile = work.first_tile + (threadIdx.x >> 5); tile < work.last_tile; tile += blockDim.x >> 5) {
        if (work.skips(tile)) continue;
        u32 p = particle_of(group, tile);
        bool active = p < system.count;
        bool integrates = active && axis < DIMENSION;
        AxisBody body;
        if (integrates) body.load(particles, p, axis);
        u32 species = active ? particles.species[p] : 0;
        u32 sampled_id = work.sample && active ? particles.id[p] : 0;
        Sum sum[DIMENSION];
        bool too_close = sum_forces(group, tile, p, species, sites, sum);
        if (too_close) report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        Force total[DIMENSION];
        total_of_group(group, sum, total);
        Force force = total[0];
#pragma unroll
        for (int other = 1; other < DIMENSION; ++other) {
            if (axis == other) force = total[other];
        }
        Real moved2 = Real(0);
        if (integrates) {
            if (kick) body.half_kick(force, species);
#if SAMPLING
        }
        if (work.sample) store_sampled_axis(work.sample, sampled_id, axis, integrates, body);
        if (integrates) {
#endif
            if (go_on) {
                body.half_kick(force, species);
                moved2 = body.drift(particles, system.sites[work.site_copy ^ 1], p, findings);
            }
            body.store_velocity(particles, p);
            if (store_force) system.force[axis][p] = force;
        }
        moved2 = add(moved2, exchange(moved2, 1));
        moved2 = add(moved2, exchange(moved2, 2));
        findings.stale |= axis < DIMENSION && !(moved2 <= (Real)system.limit2);
    }
    return findings;
}

struct Started {
    Findings findings;
    SplitSum heat;
};

// After a pass that has stopped between the kicks: the first kick of the next step and its drift, by the forces that were
// stored. Each thread takes the particles whose velocities it has read in `sum_stress` and changed in `collide` and
// `velocity_pass`.
template <bool LANGEVIN>
static __device__ __noinline__ Started start_step_of_block(const Thermostat &thermostat, u32 copy, Site *sites, u64 step) {
    const Particles &particles = system.particles[copy];
    Started started = {{false, false}, {0, 0}};
    Group group = group_of();
    u32 first, last;
    share_of_block(tile_count(group), first, last);
    first *= group.particles, last *= group.particles;
    last = last < system.count ? last : system.count;
    for (u32 p = first + threadIdx.x; p < last; p += blockDim.x) {
        Body body;
        body.load(particles, p);
        if (LANGEVIN) {
            double noise = langevin_noise(thermostat, step, body.species);
            body.langevin(thermostat, noise, particles.id[p], 2 * step, started.heat, started.findings);
        }
        Force force[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) force[axis] = system.force[axis][p];
        body.half_kick(force);
        body.drift(particles, sites, p, started.findings);
        body.store_place(particles, p);
        body.store_velocity(particles, p);
    }
    return started;
}
