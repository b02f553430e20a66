// Boxes with a tilt, and shear, which moves the tilt by one number a step. As src/engine/cpu/shear.rs and
// src/engine/cpu/tilted.rs, where the equations stand.
//
// Coordinates are skewed as the box is: pairs add the slope times what they differ by along y. Every block keeps the tilt of its
// system, which changes between the passes of steps.
#pragma once

#if TILTED
// What rounding leaves of the momentum along x, in units of the last digit of velocities: all particles share it, and those of
// the first ids have one more.
struct Residue {
    i64 sign, share;
    u64 rest;

    INLINE i64 of(u32 id) const { return sign * (share + (id < rest ? 1 : 0)); }
};

struct Flow {
    // Of the present box, and of that in which lists were made; and its growth in a quarter of a step.
    double tilt, made_at, quarter;
    // dx/dy in units of displacements: at the present sites, and at those after the coming drift, before a flip.
    Real slope, next_slope;
    // Of the coming drift, as of `DriftInBox`.
    Policy::Skew growth, middle;
    // Squared displacement against the flow up to which the lists are good after the coming drift.
    Real next_limit2;
    // What the tilt loses at the end of the coming drift: the box is flipped where it is beyond 1/2.
    i32 turns;
    Residue residue;
    // Of an oscillation: a fourth of its largest tilt, its steps (0: the flow is steady), those that are over, and a fourth of the
    // tilt that they have added.
    double amplitude;
    u64 period, phase;
    double oscillation;

    // As `TiltGrowth::of_oscillation`.
    INLINE double oscillation_after(u64 steps) const {
        double sine, cosine;
        sin_cos_2pi(divide((double)steps, (double)period), sine, cosine);
        bool fits = true;
        return mul((double)wide_round(mul(mul(amplitude, sine), 9007199254740992.0), fits), 1.0 / 9007199254740992.0);
    }
    // Takes the growth in the coming step.
    INLINE void grow_in_oscillation() {
        double before = oscillation;
        phase = phase + 1 == period ? 0 : phase + 1;
        oscillation = oscillation_after(phase);
        quarter = sub(oscillation, before);
    }
    // That of a launch (`LaunchFlow`), some steps of which are over.
    template <typename OfLaunch>
    INLINE void enter(const OfLaunch &of_launch, u32 steps) {
        quarter = of_launch.quarter;
        amplitude = of_launch.amplitude;
        period = of_launch.period;
        if (period == 0) return;
        phase = (of_launch.phase + steps) % period;
        oscillation = oscillation_after(phase);
        grow_in_oscillation();
    }

    // What follows is done by one thread of the block at a time; the others see it after its next barrier.
    INLINE void set_tilt(double of_box) {
        tilt = of_box;
        slope = Policy::slope(tilt, system.aspect);
    }
    INLINE void prepare_drift() {
        double end = add(tilt, mul(4.0, quarter));
        growth = Policy::skew(mul(2.0, quarter), system.aspect);
        middle = Policy::skew(add(tilt, mul(2.0, quarter)), system.aspect);
        next_slope = Policy::slope(end, system.aspect);
        turns = end > 0.5 ? 1 : end < -0.5 ? -1 : 0;
        // As `NeighborLists::limit2_in_flow`, with half of the shear since lists were made, the most that it shortens distances by.
        double shortening = mul(0.5, magnitude(mul(sub(end, made_at), system.aspect)));
        double limit = sub(system.limit, mul(shortening, system.limit_of_reach));
        next_limit2 = limit > 0.0 ? (Real)mul(limit, limit) : Real(-1);
    }
    INLINE void note_lists() {
        made_at = tilt;
        prepare_drift();
    }
    INLINE double tilt_after_drift() const { return sub(add(tilt, mul(4.0, quarter)), (double)turns); }
    // After a drift.
    INLINE void go_on() {
        set_tilt(tilt_after_drift());
        if (period != 0) grow_in_oscillation();
        prepare_drift();
    }
};
__shared__ Flow flow;

// Of the box at the start of a kernel.
INLINE void enter_box() {
    if (threadIdx.x == 0) {
        flow.quarter = 0.0;
        flow.period = 0;
        flow.residue = Residue{0, 0, 0};
        flow.made_at = system.control->lists_made_at;
        flow.set_tilt(system.control->tilt);
        flow.prepare_drift();
    }
}
// Lists are made in the present box.
INLINE void note_lists() {
    if (threadIdx.x == 0) flow.note_lists();
}
INLINE Real present_slope() { return flow.slope; }
// The same for a loop, which would load it for each row: what comes from another lane stays in a register. All lanes of the warp come here.
INLINE Real slope_in_register() { return __shfl_sync(~0u, present_slope(), 0); }
INLINE Real slope_after_drift() { return flow.next_slope; }
INLINE Real limit2_after_drift() { return flow.next_limit2; }
INLINE bool is_flipped_after_drift() { return flow.turns != 0; }

// The displacement of a pair of the difference of skewed coordinates.
INLINE void straighten(Real (&displacement)[DIMENSION], Real slope) {
    displacement[0] = fused(displacement[1], slope, displacement[0]);
}

// A drift, or half of one: `v_x -= rate v_y dt/2; r += v dt; v_x -= rate v_y dt/2`.
struct DriftInBox {
    Policy::Skew growth, middle;

    // The tilt grows in `quarters` of the step after the first `begin` of them.
    INLINE DriftInBox(int begin, int quarters) {
        if (begin == 0 && quarters == 4) {
            growth = flow.growth;
            middle = flow.middle;
            return;
        }
        growth = Policy::skew(mul(0.5 * quarters, flow.quarter), system.aspect);
        middle = Policy::skew(add(flow.tilt, mul(begin + 0.5 * quarters, flow.quarter)), system.aspect);
    }
    // In each half.
    INLINE void slow(Velocity (&velocity)[DIMENSION], const Particles &particles, u32 p) const {
        if (flow.quarter == 0.0) return;
        velocity[0] = Policy::skewed_velocity(velocity[0], velocity[1], growth);
        if (flow.residue.sign != 0) velocity[0] = Policy::subtract_units(velocity[0], flow.residue.of(particles.id[p]));
    }
    // Of the coordinate along an axis.
    INLINE Velocity of_coordinate(const Velocity (&velocity)[DIMENSION], int axis) const {
        return axis == 0 ? Policy::skewed_velocity(velocity[0], velocity[1], middle) : velocity[axis];
    }

    // The same for a lane that integrates one axis and knows the velocity along y, where steps follow each other: then nothing is
    // left of the momentum that particles would share. Without branches, as the lanes of a warp have different axes.
    INLINE Velocity slowed(Velocity velocity, Velocity along_y, u32 axis) const {
        Velocity slower = Policy::skewed_velocity(velocity, along_y, growth);
        return axis == 0 ? slower : velocity;
    }
    INLINE Velocity of_coordinate(Velocity velocity, Velocity along_y, u32 axis) const {
        Velocity skewed = Policy::skewed_velocity(velocity, along_y, middle);
        return axis == 0 ? skewed : velocity;
    }
};

// The place along x in the flipped box, with the same periodic images, of a particle at `y` in the image `image_y`.
INLINE void flip(Coordinate &x, i32 &image, Coordinate y, i32 image_y) {
    x = Policy::flipped(policy, x, y, system.aspect, flow.turns, image);
    image += flow.turns * image_y;
}
#else
INLINE void enter_box() {}
INLINE void note_lists() {}
INLINE Real present_slope() { return Real(0); }
INLINE Real slope_in_register() { return Real(0); }
INLINE Real slope_after_drift() { return Real(0); }
INLINE Real limit2_after_drift() { return (Real)system.limit2; }
INLINE bool is_flipped_after_drift() { return false; }
INLINE void straighten(Real (&)[DIMENSION], Real) {}

struct DriftInBox {
    INLINE DriftInBox(int, int) {}
    INLINE void slow(Velocity (&)[DIMENSION], const Particles &, u32) const {}
    INLINE Velocity of_coordinate(const Velocity (&velocity)[DIMENSION], int axis) const { return velocity[axis]; }
};
INLINE void flip(Coordinate &, i32 &, Coordinate, i32) {}
#endif
