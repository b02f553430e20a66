// What happens to one particle by itself: kicks, drift, friction and noise.
#pragma once
#include "md/thermostat.cuh"

// What the particles of a thread report at the end of a pass.
struct Findings {
    // A particle has moved further than the lists allow.
    bool needs_rebuild;
    bool error;
};

// Records an error; the first one stays.
INLINE void report(Control *control, Findings &findings, u32 status, u32 culprit) {
    if (atomicCAS(&control->status, (u32)STATUS_DONE, status) == STATUS_DONE) control->culprit = culprit;
    findings.error = true;
}

// Whether a particle has moved further than the lists allow.
INLINE bool needs_rebuild(const Site (&site)[DIMENSION], u32 p) {
    Site reference[DIMENSION];
    load_site(system.reference, p, reference);
    Real displacement[DIMENSION], length[DIMENSION];
    Real moved2 = distance2(site, reference, displacement, length);
    return !(moved2 <= (Real)system.limit2);
}

struct Body {
    Velocity velocity[DIMENSION];
    Coordinate position[DIMENSION];
    i32 image[DIMENSION];
    u32 species;

    INLINE void load(const Particles &particles, u32 p) {
        species = particles.species[p];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            velocity[axis] = particles.velocity[axis][p];
            position[axis] = particles.position[axis][p];
            image[axis] = particles.image[axis][p];
        }
    }
    INLINE void store_velocity(const Particles &particles, u32 p) const {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) particles.velocity[axis][p] = velocity[axis];
    }
    INLINE void store_place(const Particles &particles, u32 p) const {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            particles.position[axis][p] = position[axis];
            particles.image[axis][p] = image[axis];
        }
    }

    // v += F dt / 2m.
    INLINE void half_kick(const Force (&force)[DIMENSION]) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            velocity[axis] = Policy::half_kick(policy, velocity[axis], force[axis], species);
        }
    }

    // x += v dt; the new site is written to `sites` and compared with the one of the lists.
    INLINE void drift(const Particles &particles, Site *sites, u32 p, Findings &findings) {
        bool runaway = false;
        Site site[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            runaway |= Policy::is_runaway(policy, velocity[axis], axis);
            position[axis] = Policy::drift(policy, position[axis], velocity[axis], axis, image[axis]);
            site[axis] = Policy::site(policy, position[axis], axis);
        }
        store_site(sites, p, site);
        findings.needs_rebuild |= needs_rebuild(site, p);
        if (runaway) report(system.control, findings, STATUS_RUNAWAY, particles.id[p]);
    }

    // The first kick of a step, by the forces that a pass has stored, and its drift.
    INLINE void start_step(const Particles &particles, Site *sites, u32 p, Findings &findings) {
        Force force[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) force[axis] = system.force[axis][p];
        half_kick(force);
        drift(particles, sites, p, findings);
    }

    // Half a step of friction and noise; adds the energy given.
    INLINE void langevin(const Thermostat &thermostat, double noise, u32 id, u64 draw,
                         SplitSum &heat, Findings &findings) {
        double normal[3];
        normals3(thermostat.seed, id, draw, PURPOSE_LANGEVIN, normal);
        double mass = system.mass[species];
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double before = Policy::velocity_to_f64(policy, velocity[axis], axis);
            double after = add(mul(thermostat.parameter, before), mul(noise, normal[axis]));
            velocity[axis] = Policy::velocity_from_f64(policy, after, axis, fits);
            double given = mul(mul(0.5, mass), sub(mul(after, after), mul(before, before)));
            add_term(heat, exact_term(given, fits));
        }
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }

    INLINE void scale(double factor, u32 id, Findings &findings) {
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) velocity[axis] = Policy::scale(velocity[axis], factor, fits);
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }

    // Adds m v_a^2 for each axis.
    INLINE void add_kinetic(SplitSum (&sums)[3], u32 id, Findings &findings) const {
        double mass = system.mass[species];
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double v = Policy::velocity_to_f64(policy, velocity[axis], axis);
            add_term(sums[axis], exact_term(mul(mass, mul(v, v)), fits));
        }
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, id);
    }
};

// One axis of a particle: where four or more lanes work on it, each of the first ones integrates an axis.
struct AxisBody {
    u32 axis;
    Velocity velocity;
    Coordinate position;
    i32 image;

    INLINE void load(const Particles &particles, u32 p, u32 of_axis) {
        axis = of_axis;
        velocity = particles.velocity[axis][p];
        position = particles.position[axis][p];
        image = particles.image[axis][p];
    }
    INLINE void store_velocity(const Particles &particles, u32 p) const { particles.velocity[axis][p] = velocity; }
    INLINE void store_place(const Particles &particles, u32 p) const {
        particles.position[axis][p] = position;
        particles.image[axis][p] = image;
    }

    // v += F dt / 2m.
    INLINE void half_kick(Force force, u32 species) { velocity = Policy::half_kick(policy, velocity, force, species); }

    // x += v dt and the new site, as `Body::drift`; returns the squared displacement along the axis.
    INLINE Real drift(const Particles &particles, Site *sites, u32 p, Findings &findings) {
        size_t at = (size_t)p * SITE_STRIDE + axis;
        Site reference = system.reference[at];
        if (Policy::is_runaway(policy, velocity, axis)) {
            report(system.control, findings, STATUS_RUNAWAY, particles.id[p]);
        }
        position = Policy::drift(policy, position, velocity, axis, image);
        Site site = Policy::site(policy, position, axis);
        sites[at] = site;
        Real length = Policy::length(policy, Policy::displacement(policy, site, reference, axis), axis);
        return mul(length, length);
    }
};

// Width of the noise of Langevin dynamics for a species.
INLINE double langevin_noise(const Thermostat &thermostat, u64 step, u32 species) {
    double damping = thermostat.parameter;
    double noise2 = target_temperature(thermostat, step) * (1.0 - damping * damping);
    return square_root(divide(noise2, system.mass[species]));
}
