// A potential cut at r_c, ready for the pair loop. Mirrors src/potential/truncation.rs.
#pragma once
#include "arithmetic/real.cuh"

// How a truncation enters the pair loop; the values of `TruncationKind`.
enum TruncationKind {
    // Sharp and shifted: the force is that of the bare potential.
    TRUNCATION_SHIFTED = 0,
    TRUNCATION_FORCE_SHIFTED = 1,
    TRUNCATION_SMOOTH = 2,
};

// V is an evaluator with V::Real its arithmetic and
// `void evaluate(Real r2, Real &force_over_r, Real &energy) const`, the pair (-U'(r)/r, U(r)).
template <typename V, int KIND>
struct Truncated {
    typedef typename V::Real Real;

    V potential;
    Real cutoff2;
    Real cutoff;
    // Subtracted from the energy: U(r_c), or zero for the sharp cutoff.
    Real energy_shift;
    // -U'(r_c).
    Real force_at_cutoff;
    // 1 / (width sigma).
    Real inv_width;
    // Coefficients of the depth below the cutoff.
    Real depth_1;
    Real depth_2;

    // Whether `evaluate` gives no force beyond the cutoff by itself.
    static constexpr bool VANISHES = KIND == TRUNCATION_SMOOTH && sizeof(Real) == 4;

    // (-U'(r)/r, U(r)) of the truncated potential for 0 < r2 < r_c^2.
    INLINE void evaluate(Real r2, Real &force_over_r, Real &energy_out) const {
        Real force, energy;
        potential.evaluate(r2, force, energy);
        energy = sub(energy, energy_shift);
        if (KIND == TRUNCATION_SHIFTED) {
            force_over_r = force;
            energy_out = energy;
            return;
        }
        if (KIND == TRUNCATION_FORCE_SHIFTED) {
            Real inv_r = inverse_sqrt(r2);
            // r - r_c
            Real excess = fused(r2, inv_r, -cutoff);
            force_over_r = fused(-force_at_cutoff, inv_r, force);
            energy_out = fused(excess, force_at_cutoff, energy);
            return;
        }
        // U g with g = x^4 / (1 + x^4); -(U g)'/r = F g + U 4 x^3 / (1 + x^4)^2 dx/d(-r^2/2)
        Real x, slope;
        depth(r2, x, slope);
        Real x2 = mul(x, x);
        Real x3 = mul(x2, x);
        Real complement = inverse(fused(x2, x2, Real(1)));
        Real outer = mul(mul(energy, complement), slope);
        force_over_r = mul(mul(x3, complement), fused(force, x, outer));
        energy_out = mul(mul(mul(x3, x), complement), energy);
    }

    // x = (r_c - r) / h and 4 dx/d(-r^2/2); in 32 bits to second order in r_c^2 - r^2.
    INLINE void depth(float r2, float &x, float &slope) const {
        float d = larger(sub(cutoff2, r2), 0.0f);
        x = mul(d, fused(depth_2, d, depth_1));
        slope = fused(mul(16.0f, depth_2), d, mul(8.0f, depth_1));
    }
    INLINE void depth(double r2, double &x, double &slope) const {
        double inv_r = inverse_sqrt(r2);
        x = mul(sub(cutoff, mul(r2, inv_r)), inv_width);
        slope = mul(4.0, mul(inv_r, inv_width));
    }
};

// One pair of species in the pair loop.
template <typename V, int KIND>
struct PairEntry {
    Truncated<V, KIND> interaction;
    // Below this squared distance the pair's force does not fit into the sums.
    typename V::Real core2;
};
