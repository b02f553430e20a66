// Integers wherever anything is summed: the same bits on every machine. Mirrors
// src/engine/precision/fixed_point.rs, where units and ranges stand.
#pragma once
#include "arithmetic/fixed_point.cuh"
#include "arithmetic/real.cuh"
#include "precision/box_fraction.cuh"
#include "precision/species.cuh"

#include "shared/fixed_point_constants.cuh"

#ifndef EQUAL_MASSES
#define EQUAL_MASSES 0
#endif

struct FixedPoint {
    typedef u64 Coordinate;
    typedef i64 Velocity;
    typedef i64 Force;
    typedef i32 Site;
    typedef float Real;
    // Partial sum of the pair loop.
    typedef i64 Sum;

    typedef FixedPointConstants Constants;

    // What a kick gives that does not fit: `is_runaway` sees it.
    static INLINE i64 runaway() { return 1ll << 62; }
    static constexpr i64 NO_IMPULSE = (i64)(1ull << 63);
    // Energies and virials are summed in multiples of 2^-31.
    static INLINE float energy_scale() { return 2147483648.0f; }

    static INLINE double coordinate_to_f64(const Constants &c, u64 x, int axis) {
        return fraction_to_f64(x, c.edges[axis]);
    }
    // A fraction of any edge.
    static INLINE u64 scaled_coordinate(const Constants &, u64 x, double, int, i32 &) { return x; }
    static INLINE u64 coordinate_to_bits(u64 x) { return x; }
    static INLINE u64 coordinate_from_bits(u64 bits) { return bits; }

    static INLINE i64 velocity_from_f64(const Constants &c, double v, int axis, bool &fits) {
        return wide_round(divide(v, c.velocity_quantum[axis]), fits);
    }
    static INLINE double velocity_to_f64(const Constants &c, i64 v, int axis) {
        return mul((double)v, c.velocity_quantum[axis]);
    }
    static INLINE u64 velocity_to_bits(i64 v) { return (u64)v; }
    static INLINE i64 velocity_from_bits(u64 bits) { return (i64)bits; }
    static INLINE i64 negate(i64 v) { return wrapping_sub(0ll, v); }
    static INLINE i64 scale(i64 v, double factor, bool &fits) { return scale_i64(v, factor, fits); }
    static INLINE i64 halved(i64 v) { return v >> 1; }
    static INLINE i64 subtract_units(i64 v, i64 units) { return wrapping_sub(v, units); }

    // In a tilted box (src/engine/precision/mod.rs): dx/dy in units of displacements.
    static INLINE float slope(double tilt, double) { return to_float(tilt); }
    // Velocity of the skewed coordinate along x at a tilt: v_x - slope v_y.
    typedef SmallFactor Skew;
    static INLINE Skew skew(double tilt, double) { return small_factor(tilt); }
    static INLINE i64 skewed_velocity(i64 vx, i64 vy, Skew skew) { return wrapping_sub(vx, scale_by_small(vy, skew)); }
    // The skewed coordinate along x where the tilt is less by `turns` (1 or -1).
    static INLINE u64 flipped(const Constants &, u64 x, u64 y, double, i32 turns, i32 &image) {
        u64 moved = turns > 0 ? x + y : x - y;
        if (turns > 0) {
            image += moved < x ? 1 : 0;
        } else {
            image -= moved > x ? 1 : 0;
        }
        return moved;
    }

    static INLINE double force_to_f64(const Constants &c, i64 force, int axis) {
        return mul((double)force, c.force_quantum[axis]);
    }

    static INLINE i32 site(const Constants &, u64 x, int) { return (i32)(x >> 32); }
    static INLINE u64 site_to_bits(i32 site) { return (u32)site; }
    static INLINE i32 site_from_bits(u64 bits) { return (i32)(u32)bits; }
    static INLINE double site_to_f64(const Constants &c, i32 site, int axis) { return fraction_position(site, c.edges[axis]); }
    // Which of `count` equal slabs of the box along an axis holds the site.
    static INLINE u32 slab(const Constants &, i32 site, int, u32 count) { return fraction_slab(site, count); }
    static INLINE float in_slab(const Constants &, i32 site, int, u32 count) { return fraction_in_slab(site, count); }

    // What a half kick adds to the velocity; `NO_IMPULSE`: the force is too large.
    typedef i64 Kick;
    static INLINE Kick kick(const Constants &c, i64 force, u32 species) {
        i64 impulse = (i64)((u64)force << c.shift);
#if !EQUAL_MASSES
        Ratio ratio = c.mass_ratio[species];
        if (ratio.multiplier != 0) {
            bool fits = true;
            impulse = mul_round(impulse, ratio.multiplier, ratio.shift, fits);
            impulse = fits ? impulse : runaway();
        }
#endif
        return magnitude(force) >= 1ull << (61 - c.shift) ? NO_IMPULSE : impulse;
    }
    static INLINE i64 kicked(i64 v, Kick kick) { return kick == NO_IMPULSE ? runaway() : wrapping_add(v, kick); }
    // x + v; overflow is the periodic boundary; `image` changes by its crossing.
    static INLINE u64 drift(const Constants &, u64 x, i64 v, int, i32 &image) {
        u64 moved = x + (u64)v;
        if (v >= 0) {
            image += moved < x ? 1 : 0;
        } else {
            image -= moved > x ? 1 : 0;
        }
        return moved;
    }
    static INLINE bool is_runaway(const Constants &, i64 v, int) { return magnitude(v) >= 1ull << 62; }

    static INLINE float displacement(const Constants &, i32 a, i32 b, int) { return fraction_displacement(a, b); }
    static INLINE float length(const Constants &c, float displacement, int axis) {
        return mul(displacement, c.site_length[axis]);
    }
    static INLINE float relative_length(const Constants &c, float displacement, int axis) {
        return fraction_of_first_edge(displacement, c.relative_length[axis]);
    }
    static INLINE float impulse(const Constants &c, float force_over_r) {
        return mul(force_over_r, c.impulse_factor);
    }
    static INLINE float force_of_impulse(const Constants &c, float impulse) {
        return mul(impulse, c.inv_impulse_factor);
    }
    static INLINE float arm(float displacement, float) { return displacement; }
    static INLINE Sum zero_sum() { return 0; }
    static INLINE void accumulate_force(Sum &sum, float impulse) { sum = wrapping_add(sum, round_to_i64(impulse)); }
    static INLINE void accumulate_energy(Sum &sum, float term) {
        sum = wrapping_add(sum, round_to_i64(mul(term, energy_scale())));
    }
    static INLINE void merge(Sum &sum, Sum other) { sum = wrapping_add(sum, other); }
    static INLINE i64 total(Sum sum) { return sum; }
    static INLINE double energy_to_f64(i64 sum) { return divide((double)sum, (double)energy_scale()); }
};
