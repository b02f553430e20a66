// Samples of all particles for time correlations, taken within a launch or between launches.
#pragma once
#include "md/integrate.cuh"
#include "md/neighbor_lists.cuh"
#include "observable/records.cuh"

#ifndef SAMPLING
#define SAMPLING 0
#endif
// Whether a stage may want the particles of its samples in another order than that of their ids.
#ifndef SAMPLE_PLACES
#define SAMPLE_PLACES 0
#endif

#include "shared/launch.cuh"
#include "shared/sampling.cuh"

#if SAMPLING
#if !MEMBERS
__constant__ SamplingConstant sampling;
#endif

INLINE u32 *sample_slot(u32 slot) { return sampling.records + slot * sampling.slot_words; }

// Where the record of a particle is.
INLINE u32 *record_in_sample(u32 *sample, u32 id) {
#if SAMPLE_PLACES
    if (sampling.places) id = sampling.places[id];
#endif
    return sample + (size_t)id * RECORD_WORDS;
}

INLINE u64 coordinate_in_sample(u64 x, int) { return x; }
template <typename X>
INLINE double coordinate_in_sample(X x, int axis) { return Policy::coordinate_to_f64(policy, x, axis); }

INLINE Sampled sampled_axis(Coordinate position, i32 image, Velocity velocity, int axis) {
    Sampled sampled;
    sampled_place(coordinate_in_sample(position, axis), sampling.units[axis], image, sampled);
    sampled.velocity = to_float(Policy::velocity_to_f64(policy, velocity, axis));
    return sampled;
}

INLINE void store_sampled(u32 *sample, u32 id, const Coordinate (&position)[DIMENSION], const i32 (&image)[DIMENSION],
                          const Velocity (&velocity)[DIMENSION]) {
    Sampled sampled[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        sampled[axis] = sampled_axis(position[axis], image[axis], velocity[axis], axis);
    }
    store_record(record_in_sample(sample, id), sampled);
}

// By a lane for each axis (`stores`) of four or more; all lanes must come here.
INLINE void store_sampled_axis(u32 *sample, u32 id, u32 axis, bool stores, const AxisBody &body) {
    Sampled sampled = {0, 0, 0.0f};
    if (stores) sampled = sampled_axis(body.position, body.image, body.velocity, axis);
#if DIMENSION == 3
    // The first two lanes store half of the record each, all of it in one piece of memory: as `store_record`.
    u32 lane = threadIdx.x & 31, velocity = to_bits(sampled.velocity);
    uint4 half;
    half.x = axis == 0 ? sampled.fraction : velocity;
    half.y = __shfl_sync(~0u, axis == 1 ? sampled.fraction : velocity, lane + 1);
    half.z = __shfl_sync(~0u, sampled.fraction, lane + 2);
    half.w = velocity;
    i64 images = stores ? (i64)packed_image(sampled.image, axis) : 0;
    images |= exchange(images, 1);
    images |= exchange(images, 2);
    if (!stores || axis > 1) return;
    if (axis == 1) half.z = (u32)images, half.w = (u32)((u64)images >> 32);
    __stcs((uint4 *)record_in_sample(sample, id) + axis, half);
#else
    if (!stores) return;
    u32 *at = record_in_sample(sample, id);
    at[SAMPLED_WORDS * axis] = sampled.fraction;
    at[SAMPLED_WORDS * axis + 1] = (u32)sampled.image;
    at[SAMPLED_WORDS * axis + 2] = to_bits(sampled.velocity);
#endif
}

// The present state.
extern "C" __global__ void __launch_bounds__(256) take_sample(u32 slot) {
    enter_system();
    const Particles &particles = system.particles[system.control->copy];
    u32 *sample = sample_slot(slot);
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        Body body;
        body.load(particles, p);
        store_sampled(sample, particles.id[p], body.position, body.image, body.velocity);
    }
}

// Which passes of a launch take samples.
struct SampleCursor {
    // Steps of the launch at the next one, and its number.
    u32 next;
    u32 number;
    // Its slot, fetched when the one before is taken.
    u32 slot;

    INLINE void begin(const SampleTimes &turns, u32 from) {
        number = from > turns.first ? (from - turns.first + turns.every - 1) / turns.every : 0;
        next = turns.first + number * turns.every;
        slot = turns.first != ~0u ? sampling.slots[number] : 0;
    }
    // Where the next one goes.
    INLINE u32 *take(const SampleTimes &turns) {
        u32 *sample = sample_slot(slot);
        next += turns.every;
        number += 1;
        slot = sampling.slots[number];
        return sample;
    }
};

// The samples of a launch: known in registers, or for each warp in shared memory, which leaves the registers to the pair loop
// (`LOOKS_FOR_SAMPLE` in md/passes.cuh). All lanes of a warp come here.
template <bool IN_REGISTERS>
struct Samples {
    SampleCursor cursor;

    INLINE Samples(const SampleTimes &turns, u32 from) { cursor.begin(turns, from); }
    // Where the pass after `done` steps leaves a sample; null: nowhere. `may_take`: the pass is not in vain.
    INLINE u32 *look(u32 done, bool may_take, const SampleTimes &turns) {
        return may_take && done == cursor.next ? cursor.take(turns) : nullptr;
    }
};

// What a warp knows of them in shared memory.
struct WarpSamples {
    SampleCursor cursor;
    // Where the present pass leaves a sample; null: nowhere.
    u32 *present;
};
__shared__ WarpSamples samples_of_warps[MOST_WARPS];
INLINE WarpSamples &samples_of_warp() { return samples_of_warps[threadIdx.x >> 5]; }
// Read in each pass, when it is asked for.
INLINE u32 *present_sample() { return *(u32 *const volatile *)&samples_of_warp().present; }

template <>
struct Samples<false> {
    INLINE Samples(const SampleTimes &turns, u32 from) {
        if ((threadIdx.x & 31) == 0) {
            samples_of_warp().cursor.begin(turns, from);
            samples_of_warp().present = nullptr;
        }
        __syncwarp();
    }
    // Leaves that to `present_sample`, which is asked after the pair loop.
    INLINE u32 *look(u32 done, bool may_take, const SampleTimes &turns) {
        WarpSamples &of_warp = samples_of_warp();
        const bool takes = may_take && done == of_warp.cursor.next;
        if (!takes && of_warp.present == nullptr) return nullptr;
        __syncwarp();
        if ((threadIdx.x & 31) == 0) of_warp.present = takes ? of_warp.cursor.take(turns) : nullptr;
        __syncwarp();
        return nullptr;
    }
};
#else
INLINE void store_sampled(u32 *, u32, const Coordinate (&)[DIMENSION], const i32 (&)[DIMENSION],
                          const Velocity (&)[DIMENSION]) {}
INLINE void store_sampled_axis(u32 *, u32, u32, bool, const AxisBody &) {}
INLINE u32 *present_sample() { return nullptr; }
template <bool>
struct Samples {
    INLINE Samples(const SampleTimes &, u32) {}
    INLINE u32 *look(u32, bool, const SampleTimes &) { return nullptr; }
};
#endif
