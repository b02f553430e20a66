// U(r) = A exp(-r/rho) - C/r^6. Mirrors src/potential/buckingham.rs.
#pragma once
#include "arithmetic/real.cuh"

template <typename R>
struct Buckingham {
    typedef R Real;

    R a;
    R inv_rho;
    R c;

    INLINE void evaluate(R r2, R &force, R &energy) const {
        R inv_r = inverse_sqrt(r2);
        R inv_r2 = mul(inv_r, inv_r);
        R repulsion = mul(a, exponential(-mul(mul(r2, inv_r), inv_rho)));
        R attraction = mul(mul(mul(c, inv_r2), inv_r2), inv_r2);
        R pull = mul(mul(R(6), attraction), inv_r2);
        force = fused(mul(repulsion, inv_rho), inv_r, -pull);
        energy = sub(repulsion, attraction);
    }
};
