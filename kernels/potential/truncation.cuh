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

// (-U'(r)/r, U(r) - shift) of a potential where it is smoothed in 32 bits, in its own units of length, force and energy.
template <typename V, typename R>
INLINE void evaluate_reduced(const V &potential, R r2, R shift, R &force, R &energy) {
    potential.evaluate(r2, force, energy);
    energy = sub(energy, shift);
}

// 8 - 6 depth, times the unit of energy over that of force.
template <typename V, typename R>
INLINE R reduced_slope(const V &, R depth) {
    return fused(depth, R(-6), R(8));
}

// V is an evaluator with V::Real its arithmetic and
// `void evaluate(Real r2, Real &force_over_r, Real &energy) const`, the pair (-U'(r)/r, U(r)).
//
// Where it is smoothed in 32 bits (REDUCED), distances are in the policy's unit (`Policy::relative_length`), and the
// potential and its shift in units of the pair's sigma (Lennard-Jones) or r_c, and epsilon: pairs with one ratio of cutoff
// to sigma then have their constants in common.
template <typename V, int KIND>
struct Truncated {
    typedef typename V::Real Real;

    V potential;
    // Subtracted from the energy: U(r_c), or zero for the sharp cutoff.
    Real energy_shift;
    // (r_c / 2 h)^4 (r_c / a)^2, h being the width and a the unit of length.
    Real steepness;
    // -(a / r_c)^2.
    Real minus_inv_cutoff2;
    Real cutoff2;
    // 1 / a^2.
    Real inv_unit2;
    // From these units: of what is multiplied with `Policy::arm`, and of energy.
    Real force_unit;
    Real energy_unit;
    Real cutoff;
    // -U'(r_c).
    Real force_at_cutoff;
    // 1 / h.
    Real inv_width;

    // The constants that pairs may have in common.
    INLINE void set_common(const Truncated &other) {
        potential = other.potential;
        energy_shift = other.energy_shift;
        steepness = other.steepness;
        minus_inv_cutoff2 = other.minus_inv_cutoff2;
    }

    // `evaluate` then gives impulses, and nothing beyond the cutoff.
    static constexpr bool REDUCED = KIND == TRUNCATION_SMOOTH && sizeof(Real) == 4;

    // (-U'(r)/r, U(r)) of the truncated potential for 0 < r2 < r_c^2.
    INLINE void evaluate(Real r2, Real &force_over_r, Real &energy_out) const {
        if constexpr (REDUCED) {
            smooth_in_reduced_units(r2, force_over_r, energy_out);
        } else {
            Real force, energy;
            potential.evaluate(r2, force, energy);
            energy = sub(energy, energy_shift);
            if (KIND == TRUNCATION_SHIFTED) {
                force_over_r = force;
                energy_out = energy;
                return;
            }
            Real inv_r = inverse_sqrt(r2);
            if (KIND == TRUNCATION_FORCE_SHIFTED) {
                // r - r_c
                Real excess = fused(r2, inv_r, -cutoff);
                force_over_r = fused(-force_at_cutoff, inv_r, force);
                energy_out = fused(excess, force_at_cutoff, energy);
                return;
            }
            // U g with g = x^4 / (1 + x^4), x = (r_c - r) / h; -(U g)'/r = F g + U 4 x^3 / (1 + x^4)^2 / (h r)
            Real x = mul(sub(cutoff, mul(r2, inv_r)), inv_width);
            Real slope = mul(Real(4), mul(inv_r, inv_width));
            Real x2 = mul(x, x);
            Real x3 = mul(x2, x);
            Real complement = inverse(fused(x2, x2, Real(1)));
            Real outer = mul(mul(energy, complement), slope);
            force_over_r = mul(mul(x3, complement), fused(force, x, outer));
            energy_out = mul(mul(mul(x3, x), complement), energy);
        }
    }

    // The same without a root, for (r_c / 2 h)^4 d^4 (r_c / r)^2 in place of x^4, the depth d being 1 - (r / r_c)^2.
    INLINE void smooth_in_reduced_units(Real r2, Real &impulse, Real &energy_out) const {
        Real rho = mul(r2, inv_unit2);
        Real force, energy;
        evaluate_reduced(potential, rho, energy_shift, force, energy);
        Real depth = fused_from_one_clamped(rho, minus_inv_cutoff2);
        Real depth2 = mul(depth, depth);
        Real steep = mul(steepness, depth2);
        Real inv = inverse(fused(steep, depth2, rho));
        // What depends on the energy comes last: it is known last.
        Real outer = mul(energy, mul(reduced_slope(potential, depth), inv));
        Real factor = mul(mul(steep, mul(depth, force_unit)), inv);
        impulse = mul(factor, fused(depth, force, outer));
        energy_out = mul(mul(mul(mul(steep, depth2), inv), energy), energy_unit);
    }
};

// One pair of species in the pair loop.
template <typename V, int KIND>
struct PairEntry {
    Truncated<V, KIND> interaction;
    // Below this squared distance the pair's force does not fit into the sums.
    typename V::Real core2;
};
