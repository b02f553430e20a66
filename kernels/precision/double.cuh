// Everything in 64-bit floats. Mirrors src/engine/precision/double.rs.
#pragma once
#include "arithmetic/fixed_point.cuh"
#include "arithmetic/real.cuh"
#include "precision/species.cuh"
#include "precision/tilt.cuh"

#include "shared/double_constants.cuh"

struct Double {
    typedef double Coordinate;
    typedef double Velocity;
    typedef double Force;
    typedef double Site;
    typedef double Real;
    // Partial sum of the pair loop.
    typedef double Sum;

    typedef DoubleConstants Constants;

    static INLINE double coordinate_to_f64(const Constants &, double x, int) { return x; }
    // In the box of the constants, whose edge is this factor as long as that of before.
    static INLINE double scaled_coordinate(const Constants &c, double x, double factor, int axis, i32 &image) {
        double scaled = (double)mul((double)x, factor);
        if (scaled < c.edges[axis]) return scaled;
        image += 1;
        return 0.0;
    }
    static INLINE u64 coordinate_to_bits(double x) { return to_bits(x); }
    static INLINE double coordinate_from_bits(u64 bits) { return double_from_bits(bits); }

    static INLINE double velocity_from_f64(const Constants &, double v, int, bool &fits) {
        if (!is_finite(v)) fits = false;
        return v;
    }
    static INLINE double velocity_to_f64(const Constants &, double v, int) { return v; }
    static INLINE u64 velocity_to_bits(double v) { return to_bits(v); }
    static INLINE double velocity_from_bits(u64 bits) { return double_from_bits(bits); }
    static INLINE double negate(double v) { return -v; }
    static INLINE double halved(double v) { return mul(0.5, v); }
    static INLINE double scale(double v, double factor, bool &) { return mul(v, factor); }
    static INLINE double subtract_units(double v, i64) { return v; }

    // In a tilted box: as of `FixedPoint`.
    static INLINE double slope(double tilt, double aspect) { return mul(tilt, aspect); }
    typedef double Skew;
    static INLINE Skew skew(double tilt, double aspect) { return slope(tilt, aspect); }
    static INLINE double skewed_velocity(double vx, double vy, Skew skew) { return fused(-vy, skew, vx); }
    static INLINE double flipped(const Constants &c, double x, double y, double aspect, i32 turns, i32 &image) {
        double moved = flipped_in_edge(x, y, c.edges[0], aspect, turns, image);
        if (moved < c.edges[0]) return moved;
        image += 1;
        return 0.0;
    }

    static INLINE double force_to_f64(const Constants &, double force, int) { return force; }

    static INLINE double site(const Constants &, double x, int) { return x; }
    static INLINE u64 site_to_bits(double site) { return to_bits(site); }
    static INLINE double site_from_bits(u64 bits) { return double_from_bits(bits); }
    static INLINE double site_to_f64(const Constants &, double site, int) { return site; }
    // Which of `count` equal slabs of the box along an axis holds the site.
    static INLINE u32 slab(const Constants &c, double site, int axis, u32 count) {
        u32 at = truncate_to_u32(mul(mul(site, c.inv_edges[axis]), (double)count));
        return at < count - 1 ? at : count - 1;
    }
    // Place within that slab: 0 at its lower and 1 at its upper end.
    static INLINE float in_slab(const Constants &c, double site, int axis, u32 count) {
        return to_float(sub(mul(mul(site, c.inv_edges[axis]), (double)count), (double)slab(c, site, axis, count)));
    }

    // Of a half kick.
    struct Kick {
        double force, factor;
    };
    static INLINE Kick kick(const Constants &c, double force, u32 species) { return Kick{force, c.half_kick[species]}; }
    static INLINE double kicked(double v, Kick kick) { return fused(kick.force, kick.factor, v); }
    // x + v dt, wrapped; `image` changes by the crossing of a boundary.
    static INLINE double drift(const Constants &c, double x, double v, int axis, i32 &image) {
        double edge = c.edges[axis];
        double moved = fused(v, c.timestep, x);
        if (moved >= edge) {
            image += 1;
            return sub(moved, edge);
        }
        if (moved < 0.0) {
            double wrapped = add(moved, edge);
            if (wrapped < edge) {
                image -= 1;
                return wrapped;
            }
            return 0.0;
        }
        return moved;
    }
    static INLINE bool is_runaway(const Constants &c, double v, int axis) {
        return !(magnitude(mul(v, c.timestep)) < mul(0.25, c.edges[axis]));
    }

    static INLINE double displacement(const Constants &c, double a, double b, int axis) {
        double edge = c.edges[axis];
        double half = mul(0.5, edge);
        double d = sub(a, b);
        d = d > half ? sub(d, edge) : d;
        return d < -half ? add(d, edge) : d;
    }
    static INLINE double length(const Constants &, double displacement, int) { return displacement; }
    static INLINE double relative_length(const Constants &, double displacement, int) { return displacement; }
    static INLINE double force_of_impulse(const Constants &, double impulse) { return impulse; }
    static INLINE double impulse(const Constants &, double force_over_r) { return force_over_r; }
    static INLINE double arm(double, double length) { return length; }
    static INLINE Sum zero_sum() { return 0.0; }
    static INLINE void accumulate_force(Sum &sum, double impulse) { sum = add(sum, impulse); }
    static INLINE void accumulate_energy(Sum &sum, double term) { sum = add(sum, term); }
    static INLINE void merge(Sum &sum, Sum other) { sum = add(sum, other); }
    static INLINE double total(Sum sum) { return sum; }
    static INLINE double energy_to_f64(double sum) { return sum; }
};
