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
        Real inv_r = inverse_sqrt(r2);
        // r - r_c
        Real excess = fused(r2, inv_r, -cutoff);
        if (KIND == TRUNCATION_FORCE_SHIFTED) {
            force_over_r = fused(-force_at_cutoff, inv_r, force);
            energy_out = fused(excess, force_at_cutoff, energy);
            return;
        }
        // g = x^4 / (1 + x^4), g' = 4 x^3 / (1 + x^4)^2
        Real x = mul(excess, inv_width);
        Real x2 = mul(x, x);
        Real x4 = mul(x2, x2);
        Real complement = inverse(add(x4, Real(1)));
        Real g = mul(x4, complement);
        Real x3 = mul(x2, x);
        Real slope = mul(mul(Real(4), mul(x3, complement)), mul(complement, inv_width));
        force_over_r = fused(force, g, -mul(mul(energy, slope), inv_r));
        energy_out = mul(energy, g);
    }
};

// One pair of species in the pair loop.
template <typename V, int KIND>
struct PairEntry {
    Truncated<V, KIND> interaction;
    // Below this squared distance the pair's force does not fit into the sums.
    typename V::Real core2;
};
