// Andersen's thermostat within a launch: in the middle of a drift all particles get new velocities of the Boltzmann
// distribution, with zero total momentum. As `draw_velocities` in src/engine/thermostats.rs.
//
// The block's particles are passed over several times, with sums over the system and a barrier between: each thread
// has the same particles in all passes.
#pragma once
#include "md/integrate.cuh"

// A velocity in units of its last digit, where it is an integer.
INLINE i64 units(i64 v) { return v; }
INLINE i64 units(float) { return 0; }
INLINE i64 units(double) { return 0; }
INLINE i64 units(DoubleSingle) { return 0; }

// What a pass does with the velocities, and of what it makes sums along each axis.
enum Redraw { LEAVE, DRAW, SHIFT, SUBTRACT, RESCALE };
enum Summed { MOMENTUM, UNITS, KINETIC };

// With what.
struct Change {
    double center[3];
    i64 share[3];
    // The first ids, up to this number, give one unit more.
    u64 rest[3];
    double factor;
};

// Particles of a block, numbered from `first` to `last`, in tiles that come in its turn where sites are tagged; in the last one there may be
// fewer.
struct Own {
    u32 copy;
    u32 first;
    u32 last;

    INLINE u32 place(u32 number) const {
        if (!TAGGED) return number;
        const u32 of_tile_log2 = 5 - system.lanes_log2;
        return (tile_of_block<true>(number >> of_tile_log2) << of_tile_log2) + (number & ((1u << of_tile_log2) - 1));
    }
};

// Whether a number did not fit. The sums go to those of turn `turn`.
template <int REDRAW, int SUMMED>
static __device__ __noinline__ bool velocities_pass(const Thermostat &thermostat, const Own own, const Change &change,
                                                    u64 step, u32 turn) {
    const Particles &particles = system.particles[own.copy];
    Findings findings = {false, false};
    SplitSum sums[3] = {};
    double temperature = target_temperature(thermostat, step);
    for (u32 at = own.first + threadIdx.x; at < own.last; at += blockDim.x) {
        const u32 p = own.place(at);
        if (TAGGED && p >= system.count) continue;
        u32 id = particles.id[p];
        double mass = system.mass[particles.species[p]];
        double width = square_root(divide(temperature, mass));
        double normal[3] = {0.0, 0.0, 0.0};
        if (REDRAW == DRAW) normals3(thermostat.seed, id, step, PURPOSE_ANDERSEN_VELOCITY, normal);
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            Velocity v = particles.velocity[axis][p];
            if (REDRAW == DRAW) v = Policy::velocity_from_f64(policy, mul(width, normal[axis]), axis, fits);
            if (REDRAW == SHIFT) {
                double shifted = sub(Policy::velocity_to_f64(policy, v, axis), change.center[axis]);
                v = Policy::velocity_from_f64(policy, shifted, axis, fits);
            }
            if (REDRAW == SUBTRACT) v = Policy::subtract_units(v, change.share[axis] + (id < change.rest[axis] ? 1 : 0));
            if (REDRAW == RESCALE) v = Policy::scale(v, change.factor, fits);
            if (REDRAW != LEAVE) particles.velocity[axis][p] = v;
            double now = Policy::velocity_to_f64(policy, v, axis);
            if (SUMMED == MOMENTUM) add_term(sums[axis], exact_term(mul(mass, now), fits));
            if (SUMMED == UNITS) add_term(sums[axis], units(v));
            if (SUMMED == KINETIC) add_term(sums[axis], exact_term(mul(mass, mul(now, now)), fits));
        }
        if (!fits) report(system.control, findings, STATUS_VELOCITY_RANGE, id);
    }
    add_to_totals(sums, system.control->sums[turn & 3]);
    return findings.error;
}

// total = share count + rest with 0 <= rest < count.
INLINE void divide_total(const volatile SplitSum &total, u32 count, i64 &share, u64 &rest) {
    u64 upper = total.upper, lower = total.lower;
    u64 lo = (upper << 32) + lower;
    i64 hi = ((i64)upper >> 32) + (lo < lower ? 1 : 0);
    bool negative = hi < 0;
    if (negative) {
        lo = 0 - lo;
        hi = ~hi + (lo == 0 ? 1 : 0);
    }
    const u32 digits[4] = {(u32)((u64)hi >> 32), (u32)hi, (u32)(lo >> 32), (u32)lo};
    u64 quotient = 0, left = 0;
    for (int k = 0; k < 4; ++k) {
        u64 part = left << 32 | digits[k];
        quotient = quotient << 32 | part / count;
        left = part % count;
    }
    if (negative && left != 0) {
        quotient += 1;
        left = count - left;
    }
    share = negative ? -(i64)quotient : (i64)quotient;
    rest = left;
}

// The collision of a step: in place of the velocities after its second kick. All threads of the grid must come here; thread
// 0 adds the energy given to `heat`. Returns, alike in all of them, whether a number did not fit. `turn` goes from
// collision to collision.
static __device__ __noinline__ bool collide(const Thermostat &thermostat, const Own own, u64 step, u32 &turn,
                                            double &heat) {
    __shared__ Change change;
    __shared__ double kinetic2;
    // What the lanes of the pass before wrote is read by others of the block.
    __syncthreads();
    // Waits for the sums of a pass; those of the one before have been read by everybody.
    auto meet = [&](bool error) {
        bool failed = synchronize(error);
        if (blockIdx.x == 0 && threadIdx.x < 3) system.control->sums[(turn + 3) & 3][threadIdx.x] = SplitSum{0, 0};
        return failed;
    };
    auto value = [&](int axis) { return value_of(system.control->sums[turn & 3][axis]); };
    auto read_kinetic2 = [&]() {
        if (threadIdx.x == 0) kinetic2 = value(0) + value(1) + value(2);
        __syncthreads();
        turn += 1;
        return kinetic2;
    };
    // Makes the total momentum zero; leaves the sums of the kinetic energy.
    auto remove_drift = [&]() {
        if (threadIdx.x == 0) {
            for (int axis = 0; axis < 3; ++axis) change.center[axis] = divide(value(axis), thermostat.total_mass);
        }
        __syncthreads();
        turn += 1;
        if (meet(velocities_pass<SHIFT, UNITS>(thermostat, own, change, step, turn))) return false;
        if (threadIdx.x == 0) {
            for (int axis = 0; axis < 3; ++axis) {
                change.share[axis] = 0;
                change.rest[axis] = 0;
                const volatile SplitSum &total = system.control->sums[turn & 3][axis];
                if (thermostat.equal_masses) divide_total(total, system.count, change.share[axis], change.rest[axis]);
            }
        }
        __syncthreads();
        turn += 1;
        return !meet(velocities_pass<SUBTRACT, KINETIC>(thermostat, own, change, step, turn));
    };
    if (meet(velocities_pass<LEAVE, KINETIC>(thermostat, own, change, step, turn))) return true;
    double before = read_kinetic2();
    if (meet(velocities_pass<DRAW, MOMENTUM>(thermostat, own, change, step, turn))) return true;
    if (!remove_drift()) return true;
    double after = read_kinetic2();
    if (thermostat.exact && system.count > 1 && after > 0.0) {
        if (threadIdx.x == 0) {
            double degrees = mul((double)DIMENSION, (double)(system.count - 1));
            change.factor = square_root(divide(mul(degrees, target_temperature(thermostat, step)), after));
        }
        __syncthreads();
        if (meet(velocities_pass<RESCALE, MOMENTUM>(thermostat, own, change, step, turn))) return true;
        if (!remove_drift()) return true;
        after = read_kinetic2();
    }
    if (threadIdx.x == 0) heat += 0.5 * (after - before);
    __syncthreads();
    return false;
}

// The first step from one on in which particles collide with the thermostat.
INLINE u64 first_collision(const Thermostat &thermostat, u64 step) {
    u64 since = step - thermostat.stage_first_step, beyond = since % thermostat.interval;
    return beyond == 0 ? step : step + (thermostat.interval - beyond);
}
