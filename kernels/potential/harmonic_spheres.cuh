// U(r) = epsilon/2 (1 - r/sigma)^2 for r < sigma. Mirrors src/potential/harmonic_spheres.rs.
#pragma once
#include "arithmetic/real.cuh"

template <typename R>
struct HarmonicSpheres {
    typedef R Real;

    R inv_sigma;
    R half_epsilon;
    R epsilon_over_sigma;

    INLINE void evaluate(R r2, R &force, R &energy) const {
        R inv_r = inverse_sqrt(r2);
        R overlap = fused(-mul(r2, inv_r), inv_sigma, R(1));
        force = mul(mul(epsilon_over_sigma, overlap), inv_r);
        energy = mul(mul(half_epsilon, overlap), overlap);
    }
};
