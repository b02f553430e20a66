// Sites that neighbor lists are made around: not those of the moment, but where particles are expected in the middle of the lists' life.
//
// A list of reach r_c + skin holds all pairs within r_c as long as no particle is farther than skin / 2 from the site that the list was
// made around. A particle with velocity v that starts at -v h from that site passes it and has twice as far to go until it is too far
// away. So lists live longer, or can be shorter. h is taken to be somewhat less than half of the life of the lists before. Forces bend
// the path: where they are known they are taken as constant.
#pragma once
#include "md/neighbor_lists.cuh"

#ifndef DOMAIN
#define DOMAIN 0
#endif
// Small systems have lists that live long: what they gain there they lose in making them. On ranks lists in a flow are made around
// present sites.
#define LOOKS_AHEAD (!TAGGED && !(TILTED && DOMAIN))

// How far lists look ahead.
struct Outlook {
    // In steps; zero: they are made around present sites.
    float steps;
    // The pass before has stored its forces: how velocities change is known.
    bool has_forces;
};
INLINE Outlook no_outlook() { return Outlook{0.0f, false}; }

// Of the life of the lists before.
#define SHARE_AHEAD 0.45f
// Of the displacement by acceleration at that time, as what counts are all times of the lists' life.
#define SHARE_OF_FORCE 1.35
// Of the life of the lists before, and the least age in steps: from then on lists may end, and passes store forces for the next ones.
#define SHARE_WITHOUT_FORCES 0.6f
#define LEAST_LIFE 6
// In steps: particles that vibrate have turned round by then.
#define MOST_AHEAD 10.0f
// Of the displacement that lists allow: lists are good from the start.
#define MOST_OF_LIMIT 0.9f

// Steps to the middle of the life of lists that are made now, after others that have lived for `life` steps: as many as a velocity is
// worth of which friction leaves the share `damping` in each.
INLINE float steps_ahead(u64 life, double damping) {
    float steps = fminf(SHARE_AHEAD * (float)life, MOST_AHEAD);
    if (damping == 1.0) return steps;
    float worth = 0.0f, left = 1.0f;
    for (; steps > 0.0f; steps -= 1.0f) {
        left *= (float)damping;
        worth += fminf(steps, 1.0f) * left;
    }
    return worth;
}

#if LOOKS_AHEAD
// In shared memory: whether passes store forces that read this copy of the sites, as lists may end after them.
struct PassesBeforeLists {
    bool stores_forces[2];
};

#if !DOMAIN
// The same by how old the lists are, in steps of a launch modulo 2^32. One thread of the block calls what changes it.
struct ListAge : PassesBeforeLists {
    u32 made_at;
    // Age from which on passes store forces.
    u32 enough;

    // `renewed`: the launch begins with new lists.
    INLINE void enter(u64 first_step, u32 from, bool renewed) {
        const u64 *made = system.control->lists_made_in;
        made_at = (u32)(made[0] - first_step);
        set_enough((u32)(made[0] - made[1]));
        if (renewed) renew(from);
        look(from, 0);
        look(from, 1);
    }
    // While the other copy is in use.
    INLINE void look(u32 at, u32 site_copy) { stores_forces[site_copy] = at - made_at >= enough; }
    INLINE void renew(u32 at) {
        set_enough(at - made_at);
        made_at = at;
        stores_forces[0] = stores_forces[1] = false;
    }

private:
    INLINE void set_enough(u32 life) {
        u32 share = (u32)(SHARE_WITHOUT_FORCES * (float)life);
        enough = share < LEAST_LIFE ? LEAST_LIFE : share;
    }
};
#endif

// After a drift of one step with a velocity; returns its squared length.
INLINE float site_after(const Particles &particles, u32 p, const double (&velocity)[DIMENSION], const Site (&present)[SITE_COMPONENTS],
                        Site (&site)[SITE_COMPONENTS]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        bool fits = true;
        i32 image = 0;
        Velocity of_drift = Policy::velocity_from_f64(policy, velocity[axis], axis, fits);
        site[axis] = present[axis];
        if (fits) site[axis] = Policy::site(policy, Policy::drift(policy, particles.position[axis][p], of_drift, axis, image), axis);
    }
    Real displacement[DIMENSION], length[DIMENSION];
    return (float)distance2(site, present, displacement, length);
}
#endif

// Moves the site of a particle to where it is expected. By itself, as it is needed seldom and in two places.
static __device__ __noinline__ void look_ahead(const Particles &particles, u32 p, Outlook outlook, Site (&site)[SITE_COMPONENTS]) {
#if LOOKS_AHEAD
    Site present[SITE_COMPONENTS];
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) present[k] = site[k];
    // The displacement as the velocity of one step.
    double velocity[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        Velocity v = particles.velocity[axis][p];
        velocity[axis] = Policy::velocity_to_f64(policy, v, axis);
        if (outlook.has_forces) {
            Policy::Kick kick = Policy::kick(policy, system.force[axis][p], particles.species[p]);
            double by_half_kick = Policy::velocity_to_f64(policy, Policy::kicked(v, kick), axis) - velocity[axis];
            velocity[axis] += SHARE_OF_FORCE * (double)outlook.steps * by_half_kick;
        }
        velocity[axis] *= (double)outlook.steps;
    }
#if TILTED
    // Of the skewed coordinate.
    velocity[0] -= flow.tilt * system.aspect * velocity[1];
#endif
    float most = MOST_OF_LIMIT * (float)system.limit, moved2 = site_after(particles, p, velocity, present, site);
    if (moved2 <= most * most) return;
    double shorter = (double)(most / sqrtf(moved2));
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) velocity[axis] *= shorter;
    moved2 = site_after(particles, p, velocity, present, site);
    // The length of a drift across half of the box or more was that of another image.
    if (moved2 <= (float)system.limit2) return;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = present[axis];
#endif
}

// Site at which a particle is expected, with its diameter.
INLINE void load_expected_site(const Particles &particles, const Site *sites, u32 p, Outlook outlook, Site (&site)[SITE_COMPONENTS]) {
    load_site(sites, p, site);
    if (LOOKS_AHEAD && outlook.steps > 0.0f) look_ahead(particles, p, outlook, site);
}
