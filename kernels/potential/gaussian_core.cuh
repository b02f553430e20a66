// U(r) = epsilon exp(-(r/sigma)^2). Mirrors src/potential/gaussian_core.rs.
#pragma once
#include "arithmetic/real.cuh"

template <typename R>
struct GaussianCore {
    typedef R Real;

    R epsilon;
    R minus_inv_sigma2;
    R two_inv_sigma2;

    INLINE void evaluate(R r2, R &force, R &energy) const {
        energy = mul(epsilon, exponential(mul(r2, minus_inv_sigma2)));
        force = mul(energy, two_inv_sigma2);
    }
};
