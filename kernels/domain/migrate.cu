// Particles that have left the domain, and those that come.
#pragma once
#include "domain/halo.cuh"
#include "md/expected_sites.cuh"
#include "md/integrate.cuh"

// A particle on its way; coordinates and velocities as they lie in memory, and the site at which it is expected: where that is, it
// belongs.
struct Migrant {
    Coordinate position[3];
    Velocity velocity[3];
    i32 image[3];
    u32 id;
    u32 species;
    u32 unused;
    Site expected[4];
};

// Domains to cross along an axis, on the shorter way round.
INLINE i32 domains_to_cross(u32 owner, int axis) {
    i32 count = (i32)halo.domains[axis], steps = (i32)owner - (i32)halo.domain[axis];
    if (steps < 0) steps += count;
    return 2 * steps > count ? steps - count : steps;
}

// Finds the site at which a particle is expected, for lists that are to be made.
INLINE void expect(const Particles &particles, const Site *sites, u32 p, Outlook outlook, Site (&site)[SITE_COMPONENTS]) {
    load_expected_site(particles, sites, p, outlook, site);
    store_site(halo.expected, p, site);
}

// Where a particle belongs that is expected at a site; `hops` grows to the number of domains that it must cross.
INLINE u32 destination_of(const Site (&site)[SITE_COMPONENTS], u32 &hops) {
    u32 offset = 13, stride = 1;
    hops = 0;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis, stride *= 3) {
        if (halo.domains[axis] == 1) continue;
        i32 cross = domains_to_cross(Policy::slab(policy, site[axis], axis, halo.domains[axis]), axis);
        u32 far = (u32)(cross < 0 ? -cross : cross);
        hops = far > hops ? far : hops;
        offset += cross > 0 ? stride : 0u;
        offset -= cross < 0 ? stride : 0u;
    }
    return hops == 0 ? (u32)STAYS : halo.neighbor_at[offset];
}

INLINE Migrant migrant_of(const Particles &particles, u32 p, const Site (&expected)[SITE_COMPONENTS]) {
    Migrant migrant = {};
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        migrant.expected[axis] = expected[axis];
        migrant.position[axis] = particles.position[axis][p];
        migrant.velocity[axis] = particles.velocity[axis][p];
        migrant.image[axis] = particles.image[axis][p];
    }
    migrant.id = particles.id[p];
    migrant.species = particles.species[p];
    return migrant;
}

INLINE void take_migrant(const Migrant &migrant, const Particles &particles, Site *sites, u32 p) {
    Site site[SITE_COMPONENTS], expected[SITE_COMPONENTS];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        expected[axis] = migrant.expected[axis];
        particles.position[axis][p] = migrant.position[axis];
        particles.velocity[axis][p] = migrant.velocity[axis];
        particles.image[axis][p] = migrant.image[axis];
        site[axis] = Policy::site(policy, migrant.position[axis], axis);
    }
    take_diameter_of(site, migrant.id);
    take_diameter_of(expected, migrant.id);
    particles.id[p] = migrant.id;
    particles.species[p] = (u8)migrant.species;
    store_site(sites, p, site);
    store_site(halo.expected, p, expected);
    halo.destination[p] = STAYS;
}

// Finds where all particles are expected after a number of steps. The pass before has stored its forces.
extern "C" __global__ void __launch_bounds__(256) expect_all(float steps) {
    const Particles &particles = system.particles[system.control->copy];
    const Site *sites = system.sites[system.control->site_copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < halo.extent; p += gridDim.x * blockDim.x) {
        if (halo.destination[p] == HAS_LEFT) continue;
        Site site[SITE_COMPONENTS];
        expect(particles, sites, p, Outlook{steps, true}, site);
    }
}

// Finds where every particle belongs, counts those for each neighbor, and numbers them.
extern "C" __global__ void __launch_bounds__(256) find_destinations() {
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < halo.extent; p += gridDim.x * blockDim.x) {
        if (halo.destination[p] == HAS_LEFT) continue;
        Site site[SITE_COMPONENTS];
        load_site(halo.expected, p, site);
        u32 hops, destination = destination_of(site, hops);
        halo.destination[p] = (u8)destination;
        if (destination == STAYS) continue;
        system.slot_of[p] = atomicAdd(halo.control->for_neighbor + (destination - 1), 1u);
        atomicMax(&halo.control->hops, hops);
    }
}

// Puts those that go into the messages, where they have room.
extern "C" __global__ void __launch_bounds__(256) pack_migrants() {
    const Particles &particles = system.particles[system.control->copy];
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < halo.extent; p += gridDim.x * blockDim.x) {
        u32 destination = halo.destination[p];
        if (destination == STAYS || destination == HAS_LEFT) continue;
        Site site[SITE_COMPONENTS];
        load_site(halo.expected, p, site);
        ((Migrant *)message_to(destination - 1))[system.slot_of[p]] = migrant_of(particles, p, site);
        halo.destination[p] = HAS_LEFT;
    }
}

// Takes those that have come to the places from `halo.extent` on.
extern "C" __global__ void __launch_bounds__(256) take_migrants(const __grid_constant__ Starts starts, u32 half) {
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    u32 count = starts.start[halo.neighbors];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        u32 j = neighbor_of(starts, i, halo.neighbors), p = halo.extent + i;
        take_migrant(((const Migrant *)message_from(j, half))[i - starts.start[j]], particles, sites, p);
    }
}
