// Samples of all particles for time correlations, taken within a launch or between launches.
#pragma once
#include "md/integrate.cuh"
#include "observable/sampled.cuh"

#ifndef SAMPLING
#define SAMPLING 0
#endif

// Where samples go. Mirrors `Sampling` in src/engine/cuda/sampling.rs.
struct Sampling {
    // Slots of `slot_words` words: particles in id order, `SAMPLED_WORDS` for each axis.
    u32 *records;
    // Slots of the launch's samples, in order.
    const u32 *slots;
    u64 slot_words;
    // 2^32 over the edge.
    double units[3];
};

#if SAMPLING
__constant__ Sampling sampling;

INLINE u32 *sample_slot(u32 slot) { return sampling.records + slot * sampling.slot_words; }

INLINE u64 coordinate_in_sample(u64 x, int) { return x; }
template <typename X>
INLINE double coordinate_in_sample(X x, int axis) { return Policy::coordinate_to_f64(policy, x, axis); }

INLINE void store_sampled(u32 *sample, u32 id, int axis, Coordinate position, i32 image, Velocity velocity) {
    Sampled sampled;
    sampled_place(coordinate_in_sample(position, axis), sampling.units[axis], image, sampled);
    u32 *at = sample + ((size_t)id * DIMENSION + axis) * SAMPLED_WORDS;
    at[0] = sampled.fraction;
    at[1] = (u32)sampled.image;
    at[2] = to_bits(to_float(Policy::velocity_to_f64(policy, velocity, axis)));
}

// The present state.
extern "C" __global__ void __launch_bounds__(256) take_sample(u32 slot) {
    const Particles &particles = system.particles[system.control->copy];
    u32 *sample = sample_slot(slot);
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        u32 id = particles.id[p];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            store_sampled(sample, id, axis, particles.position[axis][p], particles.image[axis][p],
                          particles.velocity[axis][p]);
        }
    }
}

// Which passes of a launch take samples.
struct SampleTurns {
    // Steps of the launch at the next one, and its number.
    u32 next;
    u32 number;

    INLINE SampleTurns(u32 first, u32 every, u32 from) {
        number = from > first ? (from - first + every - 1) / every : 0;
        next = first + number * every;
    }
    // Where the sample after `done` steps goes; null: none is due.
    INLINE u32 *at(u32 done, u32 every) {
        if (done != next) return nullptr;
        u32 *slot = sample_slot(sampling.slots[number]);
        next += every;
        number += 1;
        return slot;
    }
};
#else
INLINE void store_sampled(u32 *, u32, int, Coordinate, i32, Velocity) {}
struct SampleTurns {
    INLINE SampleTurns(u32, u32, u32) {}
    INLINE u32 *at(u32, u32) { return nullptr; }
};
#endif
