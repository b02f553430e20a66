// What happens to one particle by itself: kicks, drift, friction and noise.
#pragma once
#include "md/tagged.cuh"
#include "md/thermostat.cuh"

// What the particles of a thread report at the end of a pass.
struct Findings {
    // A particle has moved further than the lists allow.
    bool needs_rebuild;
    bool error;
};

// Records an error; the first one stays.
RARELY void record(Control *control, u32 status, u32 culprit) {
    if (atomicCAS(&control->status, (u32)STATUS_DONE, status) == STATUS_DONE) control->culprit = culprit;
}
INLINE void report(Control *control, Findings &findings, u32 status, u32 culprit) {
    record(control, status, culprit);
    findings.error = true;
}

INLINE void flag_range(Control *control, bool fits, u32 status, u32 id) {
    Findings findings;
    if (!fits) report(control, findings, status, id);
}

// Whether a particle has moved further than the lists allow.
INLINE bool needs_rebuild(const Site (&site)[SITE_COMPONENTS], const Site (&reference)[SITE_COMPONENTS]) {
    Real displacement[DIMENSION], length[DIMENSION];
    Real moved2 = distance2_at(site, reference, slope_after_drift(), displacement, length);
    return !(moved2 <= limit2_after_drift());
}

// Writes a site of the next step; tagged ones may ask for attention.
template <typename Sites>
static constexpr bool IS_TAGGED = false;
template <typename Sites>
INLINE void write_site(const Sites &sites, u32 p, const Site (&site)[SITE_COMPONENTS], bool) {
    store_site(sites, p, site);
}
#if TAGGED
template <>
constexpr bool IS_TAGGED<TaggedSites> = true;
INLINE void write_site(const TaggedSites &sites, u32 p, const Site (&site)[SITE_COMPONENTS], bool asks) {
    store_site(sites, p, site, asks);
}
#endif

// Of species: constants, so that they are there when a step needs them; and of their roots the inverse.
__constant__ double mass_of_species[SPECIES_COUNT];
__constant__ double inverse_root_mass[SPECIES_COUNT];

// m v_a^2.
INLINE i64 kinetic_term(Velocity velocity, double mass, int axis, bool &fits) {
    double v = Policy::velocity_to_f64(policy, velocity, axis);
    return exact_term(mul(mass, mul(v, v)), fits);
}

// v *= factor; v += F dt / 2m. `without`: the velocity that the kick alone would have given.
INLINE Velocity scaled_and_kicked(Velocity velocity, double factor, Policy::Kick kick, Velocity &without, bool &fits) {
    without = Policy::kicked(velocity, kick);
    return Policy::kicked(Policy::scale(velocity, factor, fits), kick);
}

// Adds the kinetic energy that the factor has brought to `with`.
INLINE void add_heat(Velocity without, Velocity with, int axis, double mass, SplitSum &heat, bool &fits) {
    double before = Policy::velocity_to_f64(policy, without, axis), after = Policy::velocity_to_f64(policy, with, axis);
    double given = mul(mul(0.5, mass), sub(mul(after, after), mul(before, before)));
    add_term(heat, exact_term(given, fits));
}

// v -> damping v + noise xi. Adds the energy given.
INLINE Velocity with_friction_and_noise(const Thermostat &thermostat, Velocity velocity, double noise, float normal, int axis,
                                        double mass, SplitSum &heat, bool &fits) {
    double before = Policy::velocity_to_f64(policy, velocity, axis);
    double after = add(mul(thermostat.parameter, before), mul(noise, (double)normal));
    double given = mul(mul(0.5, mass), sub(mul(after, after), mul(before, before)));
    add_term(heat, exact_term(given, fits));
    return Policy::velocity_from_f64(policy, after, axis, fits);
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

    // Of a force.
    struct Kick {
        Policy::Kick along[DIMENSION];
    };
    INLINE Kick kick_of(const Force (&force)[DIMENSION]) const {
        Kick kick;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) kick.along[axis] = Policy::kick(policy, force[axis], species);
        return kick;
    }

    // v += F dt / 2m.
    INLINE void half_kick(const Kick &kick) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) velocity[axis] = Policy::kicked(velocity[axis], kick.along[axis]);
    }

    // The first half of a drift.
    INLINE void half_drift(const Particles &particles, u32 p) {
        const DriftInBox in_box(0, 2);
        in_box.slow(velocity, particles, p);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Velocity v = Policy::halved(in_box.of_coordinate(velocity, axis));
            position[axis] = Policy::drift(policy, position[axis], v, axis, image[axis]);
        }
        in_box.slow(velocity, particles, p);
    }

    // x += v dt (`SECOND_HALF`: by half of that); the new site is written to `sites` and compared with the one of the lists.
    template <bool SECOND_HALF = false, typename Sites>
    INLINE void drift(const Particles &particles, const Sites &sites, u32 p, Findings &findings) {
        bool runaway = false;
        Site site[SITE_COMPONENTS], reference[SITE_COMPONENTS];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) runaway |= Policy::is_runaway(policy, velocity[axis], axis);
        const DriftInBox in_box(SECOND_HALF ? 2 : 0, SECOND_HALF ? 2 : 4);
        in_box.slow(velocity, particles, p);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Velocity v = in_box.of_coordinate(velocity, axis);
            position[axis] = Policy::drift(policy, position[axis], SECOND_HALF ? Policy::halved(v) : v, axis, image[axis]);
        }
        in_box.slow(velocity, particles, p);
        if (is_flipped_after_drift()) flip(position[0], image[0], position[1], image[1]);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = Policy::site(policy, position[axis], axis);
        bool moved = false;
        if (!IS_TAGGED<Sites>) {
#if DIAMETERS
            load_site(system.reference, p, reference);
            take_diameter(site, reference);
            write_site(sites, p, site, false);
#else
            write_site(sites, p, site, false);
            load_site(system.reference, p, reference);
#endif
            moved = needs_rebuild(site, reference) || is_flipped_after_drift();
        }
        if (runaway) report(system.control, findings, STATUS_RUNAWAY, particles.id[p]);
        if (IS_TAGGED<Sites>) {
            load_site(system.reference, p, reference);
            moved = needs_rebuild(site, reference) || is_flipped_after_drift();
            write_site(sites, p, site, moved || findings.error);
        }
        findings.needs_rebuild |= moved;
    }

    // v += F dt / 2m, by the forces that a pass has stored.
    INLINE void half_kick_by_stored(u32 p) {
        Force force[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) force[axis] = system.force[axis][p];
        half_kick(kick_of(force));
    }

    // A step of friction and noise; adds the energy given.
    INLINE void friction_and_noise(const Thermostat &thermostat, double noise, u32 id, u64 step, SplitSum &heat, Findings &findings) {
        float normal[3];
        normals3_f32(thermostat.seed, id, step, PURPOSE_LANGEVIN, normal);
        double mass = mass_of_species[species], noise_of_mass = mul(noise, inverse_root_mass[species]);
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            velocity[axis] = with_friction_and_noise(thermostat, velocity[axis], noise_of_mass, normal[axis], axis, mass, heat, fits);
        }
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }

    INLINE void scale(double factor, u32 id, Findings &findings) {
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) velocity[axis] = Policy::scale(velocity[axis], factor, fits);
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }

    // The second kick with a factor on the velocity before it; adds the kinetic energy that the factor has brought.
    INLINE void scale_and_kick(double factor, const Kick &kick, u32 id, SplitSum &heat, Findings &findings) {
        double mass = mass_of_species[species];
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Velocity without;
            velocity[axis] = scaled_and_kicked(velocity[axis], factor, kick.along[axis], without, fits);
            add_heat(without, velocity[axis], axis, mass, heat, fits);
        }
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }

    // Adds m v^2.
    INLINE void add_kinetic(SplitSum &sum, u32 id, Findings &findings) const {
        double mass = mass_of_species[species];
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) add_term(sum, kinetic_term(velocity[axis], mass, axis, fits));
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, id);
    }
};

// One axis of a particle: where four or more lanes work on it, each of the first ones integrates an axis.
struct AxisBody {
    u32 axis;
    Velocity velocity;
    Coordinate position;
    i32 image;
    // Of the lists, and after a drift.
    Site reference;
    Site site;

    INLINE void load(const Particles &particles, u32 p, u32 of_axis) {
        axis = of_axis;
        velocity = particles.velocity[axis][p];
        position = particles.position[axis][p];
        image = particles.image[axis][p];
        reference = system.reference[(size_t)p * SITE_STRIDE + axis];
    }
    INLINE void store_velocity(const Particles &particles, u32 p) const { particles.velocity[axis][p] = velocity; }
    INLINE void store_place(const Particles &particles, u32 p) const {
        particles.position[axis][p] = position;
        particles.image[axis][p] = image;
    }

    // v += F dt / 2m.
    INLINE void half_kick(Policy::Kick kick) { velocity = Policy::kicked(velocity, kick); }

    // As of `Body`.
    INLINE void scale(double factor, u32 id, Findings &findings) {
        bool fits = true;
        velocity = Policy::scale(velocity, factor, fits);
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }
    // Returns the velocity that the kick alone would have given.
    INLINE Velocity scale_and_kick(double factor, Policy::Kick kick, u32 id, Findings &findings) {
        bool fits = true;
        Velocity without;
        velocity = scaled_and_kicked(velocity, factor, kick, without, fits);
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
        return without;
    }
    // Adds the kinetic energy that the factor has brought to a velocity.
    INLINE void add_heat_of(Velocity without, Velocity with, u32 species, u32 id, SplitSum &heat, Findings &findings) const {
        bool fits = true;
        add_heat(without, with, axis, mass_of_species[species], heat, fits);
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }
    INLINE void add_kinetic(u32 species, SplitSum &sum, u32 id, Findings &findings) const {
        bool fits = true;
        add_term(sum, kinetic_term(velocity, mass_of_species[species], axis, fits));
        if (!fits) report(system.control, findings, STATUS_KINETIC_RANGE, id);
    }

    INLINE void friction_and_noise(const Thermostat &thermostat, double noise, float normal, u32 species, u32 id, SplitSum &heat,
                                   Findings &findings) {
        double mass = mass_of_species[species], noise_of_mass = mul(noise, inverse_root_mass[species]);
        bool fits = true;
        velocity = with_friction_and_noise(thermostat, velocity, noise_of_mass, normal, axis, mass, heat, fits);
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }

    // As of `Body`.
    INLINE void half_drift() { position = Policy::drift(policy, position, Policy::halved(velocity), axis, image); }

    // x += v dt (`SECOND_HALF`: by half of that) and the new site, as `Body::drift`; returns the squared displacement along
    // the axis. Tagged sites are written by whoever has all axes.
    template <bool SECOND_HALF>
    INLINE Real drift(const Particles &particles, Site *sites, u32 p, Findings &findings) {
        if (Policy::is_runaway(policy, velocity, axis)) {
            report(system.control, findings, STATUS_RUNAWAY, particles.id[p]);
        }
        position = Policy::drift(policy, position, SECOND_HALF ? Policy::halved(velocity) : velocity, axis, image);
        Real length = Policy::length(policy, arrive(sites, p), axis);
        return mul(length, length);
    }

    // The new site; returns how far it is from that of the lists along the axis.
    INLINE Real arrive(Site *sites, u32 p) {
        site = Policy::site(policy, position, axis);
#if !TAGGED
        sites[(size_t)p * SITE_STRIDE + axis] = site;
#if DIAMETERS
        if (axis == 0) sites[(size_t)p * SITE_STRIDE + DIMENSION] = system.reference[(size_t)p * SITE_STRIDE + DIMENSION];
#endif
#endif
        return Policy::displacement(policy, site, reference, axis);
    }

#if TILTED
    // A drift, or half of one, of a lane that knows the velocity along y.
    template <bool HALF>
    INLINE void drift_in_flow(const DriftInBox &in_box, Velocity along_y) {
        velocity = in_box.slowed(velocity, along_y, axis);
        Velocity v = in_box.of_coordinate(velocity, along_y, axis);
        position = Policy::drift(policy, position, HALF ? Policy::halved(v) : v, axis, image);
        velocity = in_box.slowed(velocity, along_y, axis);
    }
#endif
};

// Width of the noise of Langevin dynamics in a step, for mass 1.
INLINE double langevin_noise(const Thermostat &thermostat, u64 step) {
    double damping = thermostat.parameter;
    return square_root(target_temperature(thermostat, step) * (1.0 - damping * damping));
}
