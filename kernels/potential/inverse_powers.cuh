// U(r) = a (sigma/r)^m - b (sigma/r)^n. Mirrors src/potential/inverse_powers.rs; the exponents are constants
// of the kernel. With ODD false the powers are those of (sigma/r)^2 and M, N are half the exponents.
#pragma once
#include "arithmetic/real.cuh"

// base^EXPONENT by squaring.
template <typename R, int EXPONENT>
INLINE R power(R base) {
    R result = R(1);
    R square = base;
#pragma unroll
    for (int bit = 0; bit < 6; ++bit) {
        if ((EXPONENT & 1 << bit) != 0) result = EXPONENT % (1 << bit) == 0 ? square : mul(result, square);
        if (EXPONENT >> (bit + 1) != 0) square = mul(square, square);
    }
    return result;
}

template <typename R, bool ODD, int M, int N>
struct InversePowers {
    typedef R Real;

    R sigma2;
    R inv_sigma2;
    R energy_m;
    R energy_n;
    R force_m;
    R force_n;

    INLINE void evaluate(R r2, R &force, R &energy) const {
        R ratio2 = mul(sigma2, inverse(r2));
        R base = ODD ? inverse_sqrt(mul(r2, inv_sigma2)) : ratio2;
        R power_m = power<R, M>(base), power_n = power<R, N>(base);
        energy = fused(energy_m, power_m, mul(energy_n, power_n));
        R radial = fused(force_m, power_m, mul(force_n, power_n));
        force = mul(radial, mul(ratio2, inv_sigma2));
    }
};
