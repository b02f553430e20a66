// Steps under a piston, which moves the box in each of them (src/engine/piston.rs). The host leads them: it has the kinetic energies and
// the virial after two launches, and gives the constants of the box before the first. In these launches velocities are in units of
// the edges, and coordinates are fractions of them, where precisions have them so.
#pragma once
#include "md/stress.cuh"

// Adds m v_a^2 along each axis.
INLINE void add_kinetic_by_axis(SplitSum (&sums)[3], const Body &body, u32 id, Findings &findings) {
    double mass = mass_of_species[body.species];
    bool fits = true;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        add_term(sums[axis], kinetic_term(body.velocity[axis], mass, axis, fits));
    }
    if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, id);
}

// v_a *= factor_a.
INLINE void scale_by_axis(Body &body, const double (&factors)[3], u32 id, Findings &findings) {
    bool fits = true;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) body.velocity[axis] = Policy::scale(body.velocity[axis], factors[axis], fits);
    if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
}

// v += F dt / 2m, by the stored forces; and the sums of m v_a^2 after it.
extern "C" __global__ void __launch_bounds__(256) kick_under_piston(SplitSum *total) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    Findings findings = {false, false};
    SplitSum kinetic[3] = {};
    FOR_EACH_PARTICLE(p) {
        Body body;
        body.load(particles, p);
        body.half_kick_by_stored(p);
        add_kinetic_by_axis(kinetic, body, particles.id[p], findings);
        body.store_velocity(particles, p);
    }
    add_to_totals(kinetic, sums_of_system(total) + PISTON_NEXT_KINETIC);
}

// The drift in the new box, between factors on the velocities, and the sums of m v_a^2 after both; notes whether a particle has
// moved further than the lists allow.
INLINE void drift_under_piston_by(SplitSum *sums, const PistonDrift &drift) {
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    Findings findings = {false, false};
    SplitSum kinetic[3] = {};
    bool has_moved = false;
    FOR_EACH_PARTICLE(p) {
        u32 id = particles.id[p];
        Body body;
        body.load(particles, p);
        scale_by_axis(body, drift.before, id, findings);
        bool runaway = false;
        Site site[SITE_COMPONENTS], reference[SITE_COMPONENTS];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            runaway |= Policy::is_runaway(policy, body.velocity[axis], axis);
            body.position[axis] = Policy::drift(policy, body.position[axis], body.velocity[axis], axis, body.image[axis]);
            site[axis] = Policy::site(policy, body.position[axis], axis);
        }
        if (runaway) report(system.control, findings, STATUS_RUNAWAY, id);
        load_site(system.reference, p, reference);
        take_diameter(site, reference);
        store_site(sites, p, site);
        Real displacement[DIMENSION], length[DIMENSION];
        has_moved |= !(distance2(site, reference, displacement, length) <= (Real)drift.limit2);
        scale_by_axis(body, drift.after, id, findings);
        add_kinetic_by_axis(kinetic, body, id, findings);
        body.store_place(particles, p);
        body.store_velocity(particles, p);
    }
    add_to_totals(kinetic, sums + PISTON_KINETIC);
    if (has_moved) sums[PISTON_REBUILDS].lower = 1;
}

#if MEMBERS
extern "C" __global__ void __launch_bounds__(256) drift_under_piston(SplitSum *total) {
    enter_system();
    drift_under_piston_by(sums_of_system(total), member_of_block().piston);
}
#else
extern "C" __global__ void __launch_bounds__(256)
    drift_under_piston(SplitSum *total, const __grid_constant__ PistonDrift drift) {
    enter_system();
    drift_under_piston_by(total, drift);
}
#endif

// Forces with the virial, and v += F dt / 2m, once or twice: the second is the first of the next step, of which the sums of m v_a^2 are made.
// In systems whose lists hold all pairs; `rebuilt`: in those whose lists did not when they were looked at, and are made anew.
extern "C" __global__ void __launch_bounds__(256) forces_under_piston(SplitSum *total, u32 kicks, u32 rebuilt) {
    enter_system();
    SplitSum *sums = sums_of_system(total);
    if ((sums[PISTON_REBUILDS].lower != 0) != (rebuilt != 0)) return;
    const Particles &particles = system.particles[system.control->copy];
    const Site *sites = system.sites[system.control->site_copy];
    Group group = group_of();
    Findings findings = {false, false};
    // Of the virial along each axis, and of m v_a^2.
    SplitSum of_thread[6] = {};
    u32 warps = gridDim.x * (blockDim.x >> 5), tiles = tile_count(group);
    for (u32 tile = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; tile < tiles; tile += warps) {
        u32 p = particle_of(group, tile);
        u32 species = p < system.count ? particles.species[p] : 0;
        Site site[SITE_COMPONENTS];
        load_site(sites, p < system.count ? p : 0, site);
        Sum sum[DIMENSION], virial[6];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] = Policy::zero_sum();
#pragma unroll
        for (int k = 0; k < 6; ++k) virial[k] = Policy::zero_sum();
        bool too_close = false;
        walk(group, tile, p, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
            Interaction pair = interaction(constants, site, other, place != p);
            add_force(sum, pair.force, pair.displacement, pair.length);
            add_virial(virial, pair);
            too_close |= pair.too_close;
        });
        if (too_close) report(system.control, findings, STATUS_TOO_CLOSE, particles.id[p]);
        Force force[DIMENSION];
        total_of_group(group, sum, force);
        double along[3];
#pragma unroll
        for (int k = 0; k < 3; ++k) along[k] = Policy::energy_to_f64(total_of_group(group, virial[k]));
        if (p >= system.count || group.member != 0) continue;
        bool fits = true;
#pragma unroll
        for (int k = 0; k < 3; ++k) add_term(of_thread[k], exact_term(along[k], fits));
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            system.force[axis][p] = force[axis];
            Policy::Kick kick = Policy::kick(policy, force[axis], species);
            Velocity velocity = particles.velocity[axis][p];
            for (u32 k = 0; k < kicks; ++k) velocity = Policy::kicked(velocity, kick);
            particles.velocity[axis][p] = velocity;
            if (kicks == 2) add_term(of_thread[3 + axis], kinetic_term(velocity, mass_of_species[species], axis, fits));
        }
        flag_range(system.control, fits, STATUS_KINETIC_RANGE, particles.id[p]);
    }
    add_to_totals(of_thread, sums + PISTON_VIRIAL);
}
