// Steps of a domain, taken apart: between these kernels ghosts travel and the host combines what thermostats need.
#pragma once
#include "domain/flow.cuh"
#include "domain/halo.cuh"
#include "md/andersen.cuh"
#include "md/passes.cuh"

// Keeps the first step at which something was found.
INLINE void note(const Findings &findings, u64 step) {
    if (findings.needs_rebuild) atomicMin((unsigned long long *)&halo.control->first.needs_rebuild, (unsigned long long)step);
    if (findings.error) atomicMin((unsigned long long *)&halo.control->first.fault, (unsigned long long)step);
}

// v += F dt / 2m; x += v dt, with the site in its place.
INLINE void kick_and_drift_one(const Particles &particles, Site *sites, u32 p, Findings &findings) {
    Body body;
    body.load(particles, p);
    body.half_kick_by_stored(p);
    body.drift(particles, sites, p, findings);
    body.store_place(particles, p);
    body.store_velocity(particles, p);
}

// The same for all; `step` is the one that the drift leads to.
extern "C" __global__ void __launch_bounds__(256) kick_and_drift(u64 step, const __grid_constant__ FlowOfStep of_step) {
    enter_flow(of_step);
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    Findings findings = {false, false};
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        kick_and_drift_one(particles, sites, p, findings);
    }
    note(findings, step);
}

// v += F dt / 2m.
extern "C" __global__ void __launch_bounds__(256) kick() {
    const Particles &particles = system.particles[system.control->copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Body body;
        body.load(particles, p);
        body.half_kick_by_stored(p);
        body.store_velocity(particles, p);
    }
}

// The first half of a drift.
extern "C" __global__ void __launch_bounds__(256) half_drift(const __grid_constant__ FlowOfStep of_step) {
    enter_flow(of_step);
    const Particles &particles = system.particles[system.control->copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Body body;
        body.load(particles, p);
        body.half_drift(particles, p);
        body.store_place(particles, p);
        // A flow has changed it.
        if (TILTED) body.store_velocity(particles, p);
    }
}

// x += v dt, or by half of that, to a step.
template <bool SECOND_HALF>
INLINE void drift_all(u64 step, const FlowOfStep &of_step) {
    enter_flow(of_step);
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    Findings findings = {false, false};
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Body body;
        body.load(particles, p);
        body.drift<SECOND_HALF>(particles, sites, p, findings);
        body.store_place(particles, p);
        if (TILTED) body.store_velocity(particles, p);
    }
    note(findings, step);
}
extern "C" __global__ void __launch_bounds__(256) drift(u64 step, const __grid_constant__ FlowOfStep of_step) {
    drift_all<false>(step, of_step);
}
extern "C" __global__ void __launch_bounds__(256) end_drift(u64 step, const __grid_constant__ FlowOfStep of_step) {
    drift_all<true>(step, of_step);
}

// The box has another tilt from now on.
extern "C" __global__ void __launch_bounds__(256) set_tilt(double tilt) {
    if (blockIdx.x == 0 && threadIdx.x == 0) system.control->tilt = tilt;
}

// What velocities along x would lose when the tilt grows, and the momentum along y, in units of the last digit.
extern "C" __global__ void __launch_bounds__(256) sum_losses(SplitSum *total, double growth) {
    const Particles &particles = system.particles[system.control->copy];
    SplitSum sums[2] = {};
#if TILTED
    const Policy::Skew skew = Policy::skew(growth, system.aspect);
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Velocity along_y = particles.velocity[1][p], none = {};
        add_term(sums[0], units(Policy::skewed_velocity(none, along_y, skew)));
        add_term(sums[1], units(along_y));
    }
#endif
    add_to_totals(sums, total);
}

// v *= factor; v += F dt / 2m, with the kinetic energy that the factor has brought.
extern "C" __global__ void __launch_bounds__(256) scale_and_kick(double factor, u64 step, SplitSum *heat) {
    const Particles &particles = system.particles[system.control->copy];
    Findings findings = {false, false};
    SplitSum given = {0, 0};
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Body body;
        body.load(particles, p);
        Force force[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) force[axis] = system.force[axis][p];
        body.scale_and_kick(factor, body.kick_of(force), particles.id[p], given, findings);
        body.store_velocity(particles, p);
    }
    add_to_total(given, heat);
    note(findings, step);
}

// Forces at the present sites of the particles of a region, with `kick` followed by v += F dt / 2m.
extern "C" __global__ void __launch_bounds__(256) forces_of_region(u32 region, u32 kick, u64 step) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    const Site *sites = system.sites[system.control->site_copy];
    Group group = group_of();
    Findings findings = {false, false};
    u32 warps = gridDim.x * (blockDim.x >> 5), tiles = tile_count(group);
    for (u32 tile = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; tile < tiles; tile += warps) {
        if (region != EVERYWHERE && halo.boundary[tile] != region) continue;
        u32 p = particle_of(group, tile);
        u32 species = p < system.count ? particles.species[p] : 0;
        Sum sum[DIMENSION];
        bool too_close = sum_forces(group, tile, p, species, sites, sum);
        if (too_close) report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        Force force[DIMENSION];
        total_of_group(group, sum, force);
        if (p >= system.count || group.member != 0) continue;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            system.force[axis][p] = force[axis];
            if (!kick) continue;
            Velocity &velocity = particles.velocity[axis][p];
            velocity = Policy::kicked(velocity, Policy::kick(policy, force[axis], species));
        }
    }
    note(findings, step);
}

// A step of friction and noise.
extern "C" __global__ void __launch_bounds__(256)
    friction_and_noise(const __grid_constant__ Thermostat thermostat, u64 step, SplitSum *heat) {
    const Particles &particles = system.particles[system.control->copy];
    Findings findings = {false, false};
    SplitSum given = {0, 0};
    double noise = langevin_noise(thermostat, step);
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Body body;
        body.load(particles, p);
        body.friction_and_noise(thermostat, noise, particles.id[p], step, given, findings);
        body.store_velocity(particles, p);
    }
    add_to_total(given, heat);
    note(findings, step);
}

// Keeps the squared displacement since the lists were built of the furthest of the particles first, first + stride, ...;
// whole warps must come here.
INLINE void keep_maximum_displacement(const Site *sites, u32 first, u32 stride) {
    double maximum_displacement2 = 0.0;
#pragma unroll 4
    for (u32 p = first; p < system.count; p += stride) {
        Site site[SITE_COMPONENTS], reference[SITE_COMPONENTS];
        load_site(sites, p, site);
        load_site(system.reference, p, reference);
        Real displacement[DIMENSION], length[DIMENSION];
        double moved2 = (double)distance2(site, reference, displacement, length);
        maximum_displacement2 = moved2 > maximum_displacement2 ? moved2 : maximum_displacement2;
    }
    // Bits of floats above zero are in the order of the numbers.
    unsigned long long bits = to_bits(maximum_displacement2);
    for (u32 offset = 16; offset > 0; offset >>= 1) {
        unsigned long long other = __shfl_xor_sync(~0u, bits, offset);
        bits = other > bits ? other : bits;
    }
    if ((threadIdx.x & 31) == 0) atomicMax((unsigned long long *)&halo.control->moved2, bits);
}

extern "C" __global__ void __launch_bounds__(256) find_maximum_displacement() {
    enter_system();
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    keep_maximum_displacement(system.sites[system.control->site_copy], thread, gridDim.x * blockDim.x);
}

INLINE void copy_moving(const Particles &from, const Particles &to, u32 p) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        to.position[axis][p] = from.position[axis][p];
        to.velocity[axis][p] = from.velocity[axis][p];
        to.image[axis][p] = from.image[axis][p];
    }
}

// Keeps what steps change, in the copy of the particles that the last sorting has left.
extern "C" __global__ void __launch_bounds__(256) save_particles() {
    u32 copy = system.control->copy;
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        copy_moving(system.particles[copy], system.particles[copy ^ 1], p);
    }
}

INLINE void renew_site(const Particles &particles, Site *sites, u32 p) {
    Site site[SITE_COMPONENTS];
    take_diameter_of(site, particles.id[p]);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = Policy::site(policy, particles.position[axis][p], axis);
    store_site(sites, p, site);
}

// Goes back to it.
extern "C" __global__ void __launch_bounds__(256) restore_particles() {
    u32 copy = system.control->copy;
    const Particles &particles = system.particles[copy];
    Site *sites = system.sites[system.control->site_copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        copy_moving(system.particles[copy ^ 1], particles, p);
        renew_site(particles, sites, p);
    }
}

// Sites of the positions: others have been written over them.
extern "C" __global__ void __launch_bounds__(256) renew_sites() {
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        renew_site(particles, sites, p);
    }
}
