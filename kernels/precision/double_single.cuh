// Positions, velocities and forces as pairs of 32-bit floats; pair forces in 32-bit floats from the leading
// 32 bits of the positions, as fractions of the edges. Mirrors src/engine/precision/double_single.rs.
//
// Pairs are summed in 64-bit floats; where those are slow (SUMS_IN_PAIRS) in pairs of 32-bit floats by two-sums,
// which gives the same to about 2^-46 of the largest term.
#pragma once
#include "arithmetic/double_single.cuh"
#include "precision/box_fraction.cuh"
#include "precision/species.cuh"
#include "precision/tilt.cuh"

#include "shared/double_singles_constants.cuh"

struct DoubleSingles {
    typedef DoubleSingle Coordinate;
    typedef DoubleSingle Velocity;
    typedef DoubleSingle Force;
    typedef i32 Site;
    typedef float Real;
    // Partial sum of the pair loop.
#if defined(SUMS_IN_PAIRS)
    struct Sum {
        float hi;
        // Errors: normalised only by `total`.
        float lo;
    };
#else
    typedef double Sum;
#endif

    typedef DoubleSinglesConstants Constants;

    static INLINE double coordinate_to_f64(const Constants &, DoubleSingle x, int) { return to_f64(x); }
    // In the box of the constants, whose edge is this factor as long as that of before.
    static INLINE DoubleSingle scaled_coordinate(const Constants &c, DoubleSingle x, double factor, int axis, i32 &image) {
        DoubleSingle scaled = double_single_from_f64(mul(to_f64(x), factor));
        if (to_f64(scaled) < to_f64(c.edges[axis])) return scaled;
        image += 1;
        return DoubleSingle{0.0f, 0.0f};
    }
    static INLINE u64 coordinate_to_bits(DoubleSingle x) { return to_bits(x); }
    static INLINE DoubleSingle coordinate_from_bits(u64 bits) { return double_single_from_bits(bits); }

    static INLINE DoubleSingle velocity_from_f64(const Constants &, double v, int, bool &fits) {
        if (!is_finite(v)) fits = false;
        return double_single_from_f64(v);
    }
    static INLINE double velocity_to_f64(const Constants &, DoubleSingle v, int) { return to_f64(v); }
    static INLINE u64 velocity_to_bits(DoubleSingle v) { return to_bits(v); }
    static INLINE DoubleSingle velocity_from_bits(u64 bits) { return double_single_from_bits(bits); }
    static INLINE DoubleSingle negate(DoubleSingle v) { return -v; }
    static INLINE DoubleSingle halved(DoubleSingle v) { return DoubleSingle{mul(0.5f, v.hi), mul(0.5f, v.lo)}; }
    static INLINE DoubleSingle scale(DoubleSingle v, double factor, bool &) {
        return double_single_from_f64(mul(to_f64(v), factor));
    }
    static INLINE DoubleSingle subtract_units(DoubleSingle v, i64) { return v; }

    // In a tilted box: as of `FixedPoint`.
    static INLINE float slope(double tilt, double) { return to_float(tilt); }
    typedef DoubleSingle Skew;
    static INLINE Skew skew(double tilt, double aspect) { return double_single_from_f64(mul(tilt, aspect)); }
    static INLINE DoubleSingle skewed_velocity(DoubleSingle vx, DoubleSingle vy, Skew skew) { return sub(vx, mul(vy, skew)); }
    static INLINE DoubleSingle flipped(const Constants &c, DoubleSingle x, DoubleSingle y, double aspect, i32 turns, i32 &image) {
        double edge = to_f64(c.edges[0]);
        DoubleSingle moved = double_single_from_f64(flipped_in_edge(to_f64(x), to_f64(y), edge, aspect, turns, image));
        if (to_f64(moved) < edge) return moved;
        image += 1;
        return DoubleSingle{0.0f, 0.0f};
    }

    static INLINE double force_to_f64(const Constants &, DoubleSingle force, int) { return to_f64(force); }

    static INLINE i32 site(const Constants &c, DoubleSingle x, int axis) {
        DoubleSingle part = mul(x, c.inv_edges[axis]);
        return (i32)(u32)(site_units(part.hi) + site_units(part.lo));
    }
    static INLINE u64 site_units(float part) { return (u64)round_to_i64(mul(part, 4294967296.0f)); }
    static INLINE u64 site_to_bits(i32 site) { return (u32)site; }
    static INLINE i32 site_from_bits(u64 bits) { return (i32)(u32)bits; }
    static INLINE double site_to_f64(const Constants &c, i32 site, int axis) { return fraction_position(site, to_f64(c.edges[axis])); }
    // Which of `count` equal slabs of the box along an axis holds the site.
    static INLINE u32 slab(const Constants &, i32 site, int, u32 count) { return fraction_slab(site, count); }
    static INLINE float in_slab(const Constants &, i32 site, int, u32 count) { return fraction_in_slab(site, count); }

    // Of a half kick.
    typedef DoubleSingle Kick;
    static INLINE Kick kick(const Constants &c, DoubleSingle force, u32 species) { return mul(force, c.half_kick[species]); }
    static INLINE DoubleSingle kicked(DoubleSingle v, Kick kick) { return add(v, kick); }
    // x + v dt, wrapped; `image` changes by the crossing of a boundary.
    static INLINE DoubleSingle drift(const Constants &c, DoubleSingle x, DoubleSingle v, int axis, i32 &image) {
        DoubleSingle edge = c.edges[axis];
        DoubleSingle moved = add(x, mul(v, c.timestep));
        DoubleSingle beyond = sub(moved, edge);
        if (beyond.hi >= 0.0f) {
            image += 1;
            return beyond;
        }
        if (moved.hi < 0.0f) {
            DoubleSingle wrapped = add(moved, edge);
            if (sub(wrapped, edge).hi < 0.0f) {
                image -= 1;
                return wrapped;
            }
            return DoubleSingle{0.0f, 0.0f};
        }
        return moved;
    }
    static INLINE bool is_runaway(const Constants &c, DoubleSingle v, int axis) {
        return !(magnitude(mul(v.hi, c.timestep.hi)) < mul(0.25f, c.edges[axis].hi));
    }

    static INLINE float displacement(const Constants &, i32 a, i32 b, int) { return fraction_displacement(a, b); }
    static INLINE float length(const Constants &c, float displacement, int axis) {
        return mul(displacement, c.site_length[axis]);
    }
    static INLINE float relative_length(const Constants &c, float displacement, int axis) {
        return fraction_of_first_edge(displacement, c.relative_length[axis]);
    }
    static INLINE float impulse(const Constants &, float force_over_r) { return force_over_r; }
    static INLINE float force_of_impulse(const Constants &c, float impulse) { return mul(impulse, c.inv_site_length); }
    static INLINE float arm(float, float length) { return length; }
#if defined(SUMS_IN_PAIRS)
    static INLINE Sum zero_sum() { return Sum{0.0f, 0.0f}; }
    static INLINE void accumulate_force(Sum &sum, float impulse) {
        float hi, error;
        two_sum(sum.hi, impulse, hi, error);
        sum.hi = hi;
        sum.lo = add(sum.lo, error);
    }
    static INLINE void merge(Sum &sum, Sum other) {
        accumulate_force(sum, other.hi);
        sum.lo = add(sum.lo, other.lo);
    }
    static INLINE DoubleSingle total(Sum sum) { return double_single_from_sum(sum.hi, sum.lo); }
#else
    static INLINE Sum zero_sum() { return 0.0; }
    static INLINE void accumulate_force(Sum &sum, float impulse) { sum = add(sum, (double)impulse); }
    static INLINE void merge(Sum &sum, Sum other) { sum = add(sum, other); }
    static INLINE DoubleSingle total(Sum sum) { return double_single_from_f64(sum); }
#endif
    static INLINE void accumulate_energy(Sum &sum, float term) { accumulate_force(sum, term); }
    static INLINE double energy_to_f64(DoubleSingle sum) { return to_f64(sum); }
};
