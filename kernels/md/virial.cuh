// What pairs contribute to the virial.
#pragma once
#include "md/forces.cuh"

// Adds r_a F_b of a pair.
INLINE void add_virial(Sum (&virial)[6], const Interaction &pair) {
    Real r[3] = {};
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) r[axis] = Policy::length(policy, pair.displacement[axis], axis);
    Real force = REDUCED ? Policy::force_of_impulse(policy, pair.force) : pair.force;
    const int first[6] = {0, 1, 2, 0, 0, 1}, second[6] = {0, 1, 2, 1, 2, 2};
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        Policy::accumulate_energy(virial[k], mul(mul(force, r[first[k]]), r[second[k]]));
    }
}
