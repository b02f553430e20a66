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

// The same with `shift` subtracted from the energy, rounded once less.
template <typename R>
INLINE void evaluate_shifted(const LennardJones<R> &lj, R r2, R shift, R &force, R &energy) {
    R inv_r2 = inverse(r2);
    R inv_r6 = mul(mul(inv_r2, inv_r2), inv_r2);
    force = mul(mul(inv_r6, inv_r2), fused(lj.force_12, inv_r6, lj.force_6));
    energy = fused(inv_r6, fused(lj.energy_12, inv_r6, lj.energy_6), -shift);
}
