// U(r) = epsilon (sigma/r) exp(-kappa (r - sigma)). Mirrors src/potential/yukawa.rs.
#pragma once
#include "arithmetic/real.cuh"

template <typename R>
struct Yukawa {
    typedef R Real;

    R epsilon_sigma;
    R kappa;
    R kappa_sigma;

    INLINE void evaluate(R r2, R &force, R &energy) const {
        R inv_r = inverse_sqrt(r2);
        R r = mul(r2, inv_r);
        energy = mul(mul(epsilon_sigma, inv_r), exponential(fused(-kappa, r, kappa_sigma)));
        force = mul(mul(energy, add(kappa, inv_r)), inv_r);
    }
};
