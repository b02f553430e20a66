// Sites that neighbor lists are made around: not those of the moment, but where particles are expected in the middle of the lists' life.
//
// A list of reach r_c + skin holds all pairs within r_c as long as no particle is farther than skin / 2 from the site that the list was
// made around. A particle with velocity v that starts at -v h from that site passes it and has twice as far to go until it is too far
// away. So lists live longer, or can be shorter. h is taken to be somewhat less than half of the life of the lists before.
#pragma once
#include "md/neighbor_lists.cuh"

#ifndef DOMAIN
#define DOMAIN 0
#endif
// Ranks choose ghosts by present sites, and in a flow coordinates move with it: there they are taken as they are.
#define LOOKS_AHEAD (!DOMAIN && !TILTED)

// Of the life of the lists before.
#define SHARE_AHEAD 0.45f
// In steps: particles that vibrate have turned round by then.
#define MOST_AHEAD 10.0f
// Of the displacement that lists allow: lists are good from the start.
#define MOST_OF_LIMIT 0.9f

// Steps from `step` to the middle of the life of lists that are made there.
INLINE float steps_ahead(u64 step) {
    u64 made = *(volatile u64 *)&system.control->lists_made_in;
    float life = step > made ? (float)(step - made) : 0.0f;
    return fminf(SHARE_AHEAD * life, MOST_AHEAD);
}

#if LOOKS_AHEAD
// After a drift with this factor on the velocity; returns its squared length.
INLINE float site_after(const Particles &particles, u32 p, double factor, const Site (&present)[SITE_COMPONENTS], Site (&site)[SITE_COMPONENTS]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        bool fits = true;
        i32 image = 0;
        Velocity velocity = Policy::scale(particles.velocity[axis][p], factor, fits);
        site[axis] = present[axis];
        if (fits) site[axis] = Policy::site(policy, Policy::drift(policy, particles.position[axis][p], velocity, axis, image), axis);
    }
    Real displacement[DIMENSION], length[DIMENSION];
    return (float)distance2(site, present, displacement, length);
}
#endif

// Moves the site of a particle a number of steps ahead. By itself, as it is needed seldom and in two places.
static __device__ __noinline__ void look_ahead(const Particles &particles, u32 p, float steps, Site (&site)[SITE_COMPONENTS]) {
#if LOOKS_AHEAD
    Site present[SITE_COMPONENTS];
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) present[k] = site[k];
    float most = MOST_OF_LIMIT * (float)system.limit, moved2 = site_after(particles, p, (double)steps, present, site);
    if (moved2 <= most * most) return;
    moved2 = site_after(particles, p, (double)(steps * most / sqrtf(moved2)), present, site);
    // The length of a drift across half of the box or more was that of another image.
    if (moved2 <= (float)system.limit2) return;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) site[axis] = present[axis];
#endif
}

// Site of a particle, with its diameter, a number of steps ahead.
INLINE void load_expected_site(const Particles &particles, const Site *sites, u32 p, float steps, Site (&site)[SITE_COMPONENTS]) {
    load_site(sites, p, site);
    if (LOOKS_AHEAD && steps > 0.0f) look_ahead(particles, p, steps, site);
}
