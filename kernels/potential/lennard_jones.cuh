// U(r) = 4 epsilon [(sigma/r)^12 - (sigma/r)^6]. Mirrors src/potential/lennard_jones.rs.
#pragma once
#include "arithmetic/real.cuh"

template <typename R>
struct LennardJones {
    typedef R Real;

    R force_12;
    R force_6;
    R energy_12;
    R energy_6;

    INLINE void evaluate(R r2, R &force, R &energy) const {
        R inv_r2 = inverse(r2);
        R inv_r6 = mul(mul(inv_r2, inv_r2), inv_r2);
        force = mul(mul(inv_r6, inv_r2), fused(force_12, inv_r6, force_6));
        energy = mul(inv_r6, fused(energy_12, inv_r6, energy_6));
    }
};

// In units of sigma, 24 epsilon and 4 epsilon: no constant takes a register.
template <typename R>
INLINE void evaluate_reduced(const LennardJones<R> &, R r2, R shift, R &force, R &energy) {
    R inv_r2 = inverse(r2);
    R inv_r6 = mul(mul(inv_r2, inv_r2), inv_r2);
    R less = sub(inv_r6, R(1));
    force = mul(mul(inv_r6, inv_r2), add(inv_r6, less));
    energy = fused(inv_r6, less, -shift);
}

template <typename R>
INLINE R reduced_slope(const LennardJones<R> &, R depth) {
    return sub(R(4.0 / 3.0), depth);
}
