// Diameters of particles: the potential is that of r / sigma_ij. Mirrors src/potential/diameters.rs.
//
// The factor 1 / sigma_ij^2 belongs to squared distances and to -U'(r)/r.
#pragma once
#include "arithmetic/real.cuh"

INLINE float magnitude_of(float x) { return fabsf(x); }
INLINE double magnitude_of(double x) { return fabs(x); }

// sigma_ij = (s_i + s_j)/2 (1 - Delta |s_i - s_j|), the same to the bit for either order of the two.
template <typename R>
INLINE R diameter_of_pair(R a, R b, R minus_half_non_additivity) {
    return mul(add(a, b), fused(minus_half_non_additivity, magnitude_of(sub(a, b)), R(0.5)));
}

template <typename R>
INLINE R inverse_square_of_diameter(R a, R b, R minus_half_non_additivity) {
    R sigma = diameter_of_pair(a, b, minus_half_non_additivity);
    return inverse(mul(sigma, sigma));
}
