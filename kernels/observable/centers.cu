// The centre of mass of samples: its place without periodic boundaries, and its velocity.
//
//   DIMENSION, SPECIES_COUNT
#include "observable/records.cuh"

#include "shared/blocks.cuh"
#include "shared/centers.cuh"

__constant__ Geometry geometry;

INLINE double block_total(double value) {
    __shared__ double of_warp[WARPS];
#pragma unroll
    for (u32 offset = 16; offset > 0; offset >>= 1) value = add(value, __shfl_xor_sync(~0u, value, offset));
    __syncthreads();
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = value;
    __syncthreads();
    value = 0.0;
    for (u32 warp = 0; warp < WARPS; ++warp) value = add(value, of_warp[warp]);
    return value;
}

INLINE i64 block_total(i64 value) {
    __shared__ i64 of_warp[WARPS];
#pragma unroll
    for (u32 offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(~0u, value, offset);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = value;
    __syncthreads();
    value = 0;
    for (u32 warp = 0; warp < WARPS; ++warp) value += of_warp[warp];
    return value;
}

// A block for each sample.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    find_centers(const __grid_constant__ Records records, const u32 *slots, Center *centers) {
    u32 slot = slots[blockIdx.x];
    const u32 *sample = sample_of(records, slot);
    Center center = {};
    double mass = 0.0;
    for (u32 species = 0; species < SPECIES_COUNT; ++species) {
        i64 images[DIMENSION] = {}, fractions[DIMENSION] = {};
        double velocities[DIMENSION] = {};
        for (u32 p = geometry.start[species] + threadIdx.x; p < geometry.start[species + 1]; p += 32 * WARPS) {
            Record record;
            record.load(sample + (size_t)p * RECORD_WORDS);
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) {
                fractions[axis] += record.fraction(axis);
                images[axis] += record.image(axis);
                velocities[axis] = add(velocities[axis], (double)float_from_bits(record.velocity(axis)));
            }
        }
        double each = geometry.mass[species];
        mass = fused(each, (double)(geometry.start[species + 1] - geometry.start[species]), mass);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double boxes = fused((double)block_total(fractions[axis]), 1.0 / 4294967296.0,
                                 (double)block_total(images[axis]));
            center.position[axis] = fused(each, mul(boxes, geometry.edge[axis]), center.position[axis]);
            center.velocity[axis] = fused(each, block_total(velocities[axis]), center.velocity[axis]);
        }
    }
    if (threadIdx.x != 0) return;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        center.position[axis] = divide(center.position[axis], mass);
        center.velocity[axis] = divide(center.velocity[axis], mass);
    }
    centers[slot] = center;
}
