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

// (-U'(r)/r, U(r) - shift) of a potential.
template <typename V, typename R>
INLINE void evaluate_shifted(const V &potential, R r2, R shift, R &force, R &energy) {
    potential.evaluate(r2, force, energy);
    energy = sub(energy, shift);
}

// V is an evaluator with V::Real its arithmetic and
// `void evaluate(Real r2, Real &force_over_r, Real &energy) const`, the pair (-U'(r)/r, U(r)).
//
// Where it is smoothed in 32 bits, the potential and its shift are in units of the pair's r_c and epsilon: pairs with
// one ratio of cutoff to sigma then have their constants in common.
template <typename V, int KIND>
struct Truncated {
    typedef typename V::Real Real;

    V potential;
    // Subtracted from the energy: U(r_c), or zero for the sharp cutoff.
    Real energy_shift;
    // (r_c / 2 h)^4, h being the width.
    Real steepness;
    Real cutoff2;
    // 1 / r_c^2.
    Real inv_cutoff2;
    // From units of r_c and epsilon: of force over distance, and of energy.
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
    }

    // Whether `evaluate` gives no force beyond the cutoff by itself.
    static constexpr bool VANISHES = KIND == TRUNCATION_SMOOTH && sizeof(Real) == 4;

    // (-U'(r)/r, U(r)) of the truncated potential for 0 < r2 < r_c^2.
    INLINE void evaluate(Real r2, Real &force_over_r, Real &energy_out) const {
        if constexpr (VANISHES) {
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

    // The same without a root, for (r_c / 2 h)^4 d^4 / rho in place of x^4: rho = (r / r_c)^2, d = 1 - rho.
    INLINE void smooth_in_reduced_units(Real r2, Real &force_over_r, Real &energy_out) const {
        Real rho = mul(r2, inv_cutoff2);
        Real force, energy;
        evaluate_shifted(potential, rho, energy_shift, force, energy);
        Real depth = one_minus_clamped(rho);
        Real depth2 = mul(depth, depth);
        Real steep = mul(steepness, depth2);
        Real inv = inverse(fused(steep, depth2, rho));
        // 2 (1 + 3 rho)
        Real slope = fused(depth, Real(-6), Real(8));
        Real outer = mul(mul(energy, slope), inv);
        force_over_r = mul(mul(mul(mul(steep, depth), inv), fused(depth, force, outer)), force_unit);
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
