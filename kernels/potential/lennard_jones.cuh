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

// In units of sigma and 48 epsilon.
template <typename R>
INLINE void evaluate_reduced(const LennardJones<R> &, R r2, R raise, R shift, R &force, R &energy) {
    R inv_r2 = inverse(r2);
    R inv_r6 = mul(mul(inv_r2, inv_r2), inv_r2);
    R difference = fused(inv_r6, inv_r6, -inv_r6);
    force = mul(inv_r2, fused(inv_r6, R(0.5), difference));
    energy = fused(difference, raise, -shift);
}
