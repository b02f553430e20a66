// The pair loop, written once over precision, potential, truncation and dimension.
#pragma once
#include "md/staged.cuh"

// Interaction with one neighbor; nothing beyond the cutoff and for the particle itself, which a list may hold.
struct Interaction {
    Real displacement[DIMENSION];
    // In the unit of `pair_distance2`.
    Real length[DIMENSION];
    // As `evaluate` gives it.
    Real force;
    Real energy;
    bool too_close;
};

INLINE Interaction interaction(const Pair &constants, const Site (&site)[SITE_COMPONENTS], const Site (&other)[SITE_COMPONENTS],
                                bool is_other) {
    Interaction pair;
    Real scale = scale_of_pair(site, other), r2 = scaled(pair_distance2(site, other, pair.displacement, pair.length), scale);
    constants.evaluate(r2, is_other, pair.force, pair.energy, pair.too_close);
    pair.force = scaled(pair.force, scale);
    return pair;
}

INLINE void add_force(Sum (&sum)[DIMENSION], Real force, const Real (&displacement)[DIMENSION], const Real (&length)[DIMENSION]) {
    Real impulse = REDUCED ? force : Policy::impulse(policy, force);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        Policy::accumulate_force(sum[axis], mul(impulse, Policy::arm(displacement[axis], length[axis])));
    }
}

struct ForceSums {
    Sum sum[DIMENSION];
    bool too_close;
};

// The sums with every distance checked: for the rare particle that has a very close neighbor, or itself, in its list.
static __device__ __noinline__ ForceSums sum_forces_carefully(Group group, u32 tile, u32 particle,
                                                              u32 species, PresentSites sites) {
    ForceSums sums;
    sums.too_close = false;
    Site site[SITE_COMPONENTS];
    load_site(sites, particle, site);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) sums.sum[axis] = Policy::zero_sum();
    walk(group, tile, particle, species, sites, [&](const Pair &constants, u32 place, const Site(&other)[SITE_COMPONENTS]) {
        Interaction pair = interaction(constants, site, other, place != particle);
        add_force(sums.sum, pair.force, pair.displacement, pair.length);
        sums.too_close |= pair.too_close;
    });
    return sums;
}

// Force on a particle by the neighbors of this lane. Returns whether one was too close.
INLINE bool sum_forces(const Group &group, u32 tile, u32 particle, u32 species, const PresentSites &sites,
                       Sum (&sum)[DIMENSION]) {
    Site site[SITE_COMPONENTS];
    load_site(sites, particle < system.count ? particle : 0, site);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] = Policy::zero_sum();
    Real closest2 = largest_core2;
    const Real slope = slope_in_register();
    walk(group, tile, particle, species, sites, [&](const Pair &constants, u32, const Site(&other)[SITE_COMPONENTS]) {
        Real displacement[DIMENSION], length[DIMENSION];
        Real scale = scale_of_pair(site, other), r2 = scaled(pair_distance2(site, other, displacement, length, slope), scale);
        Real force, energy;
        constants.interaction.evaluate(r2, force, energy);
        if (!ENDS_BY_ITSELF) force = r2 < constants.interaction.cutoff2 ? force : Real(0);
        add_force(sum, scaled(force, scale), displacement, length);
        closest2 = smaller(closest2, r2);
    });
    if (!(closest2 < largest_core2)) return false;
    ForceSums sums = sum_forces_carefully(group, tile, particle, species, sites);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] = sums.sum[axis];
    return sums.too_close;
}
