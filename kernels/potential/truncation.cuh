// A potential cut at r_c, ready for the pair loop. Mirrors src/potential/truncation.rs.
#pragma once
#include "arithmetic/real.cuh"

#include "shared/truncations.cuh"

// (-U'(r)/r, raise U(r) - shift) of a potential where it is smoothed in 32 bits, in its own units.
template <typename V, typename R>
INLINE void evaluate_reduced(const V &potential, R r2, R raise, R shift, R &force, R &energy) {
    potential.evaluate(r2, force, energy);
    energy = fused(energy, raise, -shift);
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
    // Subtracted from the energy, where that is raised after it is: U(r_c), or zero for the sharp cutoff.
    Real energy_shift;
    // k = (r_c / 2 h) (r_c / a)^(1/2), h being the width and a the unit of length; it is the depth at r = 0.
    Real depth;
    // -k (a / r_c)^2.
    Real minus_slope;
    // 8 k in the units of force over those of energy.
    Real raise;
    // -3 / 4 k.
    Real bend;
    Real cutoff2;
    // 1 / a^2.
    Real inv_unit2;
    // From these units: of what is multiplied with `Policy::arm`, and of energy.
    Real force_unit;
    Real energy_unit;
    Real cutoff;
    // -U'(r_c).
    Real force_at_cutoff;
    // F = -U'(r)/r at the cutoff, and dF / d(r^2) there.
    Real end_force;
    Real end_slope;
    // 1 / h.
    Real inv_width;
    // Of two particles at the same place; zero where the potential has a pole.
    Real contact_energy;

    // The constants that pairs may have in common.
    INLINE void set_common(const Truncated &other) {
        potential = other.potential;
        energy_shift = other.energy_shift;
        depth = other.depth;
        minus_slope = other.minus_slope;
        raise = other.raise;
        bend = other.bend;
    }

    // `evaluate` then gives impulses.
    static constexpr bool REDUCED = KIND == TRUNCATION_SMOOTH && sizeof(Real) == 4;
    // `evaluate` gives nothing beyond the cutoff: the first factor, which is negative there, saturates to [0, 1]. Possible
    // where it is below 1 inside and nothing overflows within the box.
    static constexpr bool ENDS_BY_ITSELF = REDUCED && SATURATING;

    // (-U'(r)/r, U(r)) of the truncated potential for coincident2 <= r2 < r_c^2.
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
            if (KIND == TRUNCATION_EVEN_QUARTIC) {
                // Less the first terms of the Taylor series in y = r^2 - r_c^2.
                Real y = sub(r2, cutoff2);
                Real line = fused(y, end_slope, end_force);
                force_over_r = sub(force, line);
                energy_out = fused(mul(Real(0.25), y), add(end_force, line), energy);
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

    // The same without a root, for d^4 / rho in place of x^4, with rho = (r / a)^2 and the depth d = k (1 - (r / r_c)^2).
    INLINE void smooth_in_reduced_units(Real r2, Real &impulse, Real &energy_out) const {
        Real rho = mul(r2, inv_unit2);
        Real force, energy;
        evaluate_reduced(potential, rho, raise, energy_shift, force, energy);
        Real d = fused(rho, minus_slope, depth);
        Real d2 = mul(d, d);
        Real inv = inverse(fused(d2, d2, rho));
        Real factor = SATURATING ? product_within_one(mul(d2, d), inv) : mul(mul(d2, d), inv);
        Real outer = mul(energy, inv);
        impulse = mul(mul(factor, force_unit), fused(d, fused(outer, bend, force), outer));
        energy_out = mul(mul(mul(factor, d), energy), energy_unit);
    }
};

// One pair of species in the pair loop.
template <typename V, int KIND>
struct PairEntry {
    Truncated<V, KIND> interaction;
    // Below this squared distance the pair's force does not fit into the sums; above zero where the potential has a pole.
    typename V::Real core2;

    // The interaction at any squared distance, with itself (not `is_other`) too: nothing beyond the cutoff and with
    // itself, no force at the same place. As `pair` in src/engine/cpu/forces.rs.
    INLINE void evaluate(typename V::Real r2, bool is_other, typename V::Real &force, typename V::Real &energy,
                         bool &too_close) const {
        typedef typename V::Real Real;
        bool inside = r2 < interaction.cutoff2, coincident = r2 < coincident2(Real());
        interaction.evaluate(r2, force, energy);
        force = inside && !coincident ? force : Real(0);
        energy = inside && !coincident ? energy : Real(0);
        energy = coincident && is_other ? interaction.contact_energy : energy;
        too_close = inside && is_other && r2 < core2;
    }
};
