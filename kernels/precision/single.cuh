// Everything in 32-bit floats. Mirrors src/engine/precision/single.rs.
#pragma once
#include "arithmetic/fixed_point.cuh"
#include "arithmetic/real.cuh"
#include "precision/species.cuh"
#include "precision/tilt.cuh"

#include "shared/single_constants.cuh"

// Which of `count` slabs holds a wrapped 32-bit coordinate.
INLINE u32 slab_f32(float site, float inv_edge, u32 count) {
    u32 at = truncate_to_u32(mul(mul((double)site, (double)inv_edge), (double)count));
    return at < count - 1 ? at : count - 1;
}

// A difference of two wrapped coordinates, moved by an edge if that makes it shorter.
INLINE float nearest_image(float d, float edge) {
    float half = mul(0.5f, edge);
    d = d > half ? sub(d, edge) : d;
    return d < -half ? add(d, edge) : d;
}

struct Single {
    typedef float Coordinate;
    typedef float Velocity;
    typedef float Force;
    typedef float Site;
    typedef float Real;
    // Partial sum of the pair loop.
    typedef float Sum;

    typedef SingleConstants Constants;

    static INLINE double coordinate_to_f64(const Constants &, float x, int) { return (double)x; }
    // In the box of the constants, whose edge is this factor as long as that of before.
    static INLINE float scaled_coordinate(const Constants &c, float x, double factor, int axis, i32 &image) {
        float scaled = (float)mul((double)x, factor);
        if (scaled < c.edges[axis]) return scaled;
        image += 1;
        return 0.0f;
    }
    static INLINE u64 coordinate_to_bits(float x) { return to_bits(x); }
    static INLINE float coordinate_from_bits(u64 bits) { return float_from_bits((u32)bits); }

    static INLINE float velocity_from_f64(const Constants &, double v, int, bool &fits) {
        if (!is_finite(v)) fits = false;
        return to_float(v);
    }
    static INLINE double velocity_to_f64(const Constants &, float v, int) { return (double)v; }
    static INLINE u64 velocity_to_bits(float v) { return to_bits(v); }
    static INLINE float velocity_from_bits(u64 bits) { return float_from_bits((u32)bits); }
    static INLINE float negate(float v) { return -v; }
    static INLINE float halved(float v) { return mul(0.5f, v); }
    static INLINE float scale(float v, double factor, bool &) { return to_float(mul((double)v, factor)); }
    static INLINE float subtract_units(float v, i64) { return v; }

    // In a tilted box: as of `FixedPoint`.
    static INLINE float slope(double tilt, double aspect) { return to_float(mul(tilt, aspect)); }
    typedef float Skew;
    static INLINE Skew skew(double tilt, double aspect) { return slope(tilt, aspect); }
    static INLINE float skewed_velocity(float vx, float vy, Skew skew) { return fused(-vy, skew, vx); }
    static INLINE float flipped(const Constants &c, float x, float y, double aspect, i32 turns, i32 &image) {
        float moved = to_float(flipped_in_edge(x, y, c.edges[0], aspect, turns, image));
        if (moved < c.edges[0]) return moved;
        image += 1;
        return 0.0f;
    }

    static INLINE double force_to_f64(const Constants &, float force, int) { return (double)force; }

    static INLINE float site(const Constants &, float x, int) { return x; }
    static INLINE u64 site_to_bits(float site) { return to_bits(site); }
    static INLINE float site_from_bits(u64 bits) { return float_from_bits((u32)bits); }
    static INLINE double site_to_f64(const Constants &, float site, int) { return (double)site; }
    // Which of `count` equal slabs of the box along an axis holds the site.
    static INLINE u32 slab(const Constants &c, float site, int axis, u32 count) {
        return slab_f32(site, c.inv_edges[axis], count);
    }
    // Place within that slab: 0 at its lower and 1 at its upper end.
    static INLINE float in_slab(const Constants &c, float site, int axis, u32 count) {
        double along = mul(mul((double)site, (double)c.inv_edges[axis]), (double)count);
        return to_float(sub(along, (double)slab(c, site, axis, count)));
    }

    // Of a half kick.
    struct Kick {
        float force, factor;
    };
    static INLINE Kick kick(const Constants &c, float force, u32 species) { return Kick{force, c.half_kick[species]}; }
    static INLINE float kicked(float v, Kick kick) { return fused(kick.force, kick.factor, v); }
    // x + v dt, wrapped; `image` changes by the crossing of a boundary.
    static INLINE float drift(const Constants &c, float x, float v, int axis, i32 &image) {
        float edge = c.edges[axis];
        float moved = fused(v, c.timestep, x);
        if (moved >= edge) {
            image += 1;
            return sub(moved, edge);
        }
        if (moved < 0.0f) {
            float wrapped = add(moved, edge);
            if (wrapped < edge) {
                image -= 1;
                return wrapped;
            }
            return 0.0f;
        }
        return moved;
    }
    static INLINE bool is_runaway(const Constants &c, float v, int axis) {
        return !(magnitude(mul(v, c.timestep)) < mul(0.25f, c.edges[axis]));
    }

    static INLINE float displacement(const Constants &c, float a, float b, int axis) {
        return nearest_image(sub(a, b), c.edges[axis]);
    }
    static INLINE float length(const Constants &, float displacement, int) { return displacement; }
    static INLINE float relative_length(const Constants &, float displacement, int) { return displacement; }
    static INLINE float force_of_impulse(const Constants &, float impulse) { return impulse; }
    static INLINE float impulse(const Constants &, float force_over_r) { return force_over_r; }
    static INLINE float arm(float, float length) { return length; }
    static INLINE Sum zero_sum() { return 0.0f; }
    static INLINE void accumulate_force(Sum &sum, float impulse) { sum = add(sum, impulse); }
    static INLINE void accumulate_energy(Sum &sum, float term) { sum = add(sum, term); }
    static INLINE void merge(Sum &sum, Sum other) { sum = add(sum, other); }
    static INLINE float total(Sum sum) { return sum; }
    static INLINE double energy_to_f64(float sum) { return (double)sum; }
};
