// Sums over particles of what pairs of samples give, for all pairs of a batch of samples.
//
// A block holds the particles of a chunk from all samples of a group in its shared memory; each warp takes a pair of
// samples after the other, and adds up the terms of the chunk's particles. Chunks are fixed, as is the order within
// them and of their sums: results do not depend on blocks, threads or batches.
//
//   DIMENSION, SPECIES_COUNT
//   WIDTH          number of sums
//   BINS           number of bins of |dr|, counted
//   SHELLS         number of shells of wave vectors; the engine writes `add_scattering` before this text
//   MOST_SLOTS     samples of a group
//   REMOVE_DRIFT   displacements and velocities relative to the centre of mass
//
// In place of ADD_TERMS and ADD_TERMS_AT_LAG_ZERO the engine writes the statements of what is wanted, which stand in the
// modules of src/observable/dynamics.
#include "observable/pair_terms.cuh"
#include "observable/records.cuh"
#include "shared/blocks.cuh"
#include "shared/chunk.cuh"
#include "shared/groups.cuh"
#include "shared/pair_sums.cuh"
#include "shared/pairs.cuh"

#define RECORD UNPACKED_WORDS
// No array is empty.
#define SUMS (WIDTH > 0 ? WIDTH : 1)

__constant__ Geometry geometry;

// What the centre of mass does between two samples.
struct Drift {
    float length[DIMENSION];
    u32 turns[DIMENSION];
    float velocity[2][DIMENSION];

    INLINE void set(const Center *centers, u32 origin, u32 later) {
#if REMOVE_DRIFT
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            double moved = sub(centers[later].position[axis], centers[origin].position[axis]);
            length[axis] = to_float(moved);
            turns[axis] = (u32)drift_in_units(moved, geometry.edge[axis]);
            velocity[0][axis] = to_float(centers[origin].velocity[axis]);
            velocity[1][axis] = to_float(centers[later].velocity[axis]);
        }
#endif
    }
};

// Adds the terms of one particle.
INLINE void add_terms(const u32 *origin, const u32 *later, const Edge (&edge)[DIMENSION], const Drift &drift,
                      float (&sums)[SUMS], u32 *counts) {
    AxisDisplacement moved[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        moved[axis] = displacement_between(origin + SAMPLED_WORDS * axis, later + SAMPLED_WORDS * axis, edge[axis]);
#if REMOVE_DRIFT
        moved[axis].length = sub(moved[axis].length, drift.length[axis]);
        moved[axis].turns -= drift.turns[axis];
#endif
    }
    float r2 = mul(moved[0].length, moved[0].length);
#pragma unroll
    for (int axis = 1; axis < DIMENSION; ++axis) r2 = fused(moved[axis].length, moved[axis].length, r2);
    ADD_TERMS;
}

// The same for a sample with itself.
INLINE void add_terms_at_lag_zero(const u32 *origin, const Drift &drift, float (&sums)[SUMS], u32 *counts) {
    ADD_TERMS_AT_LAG_ZERO;
}

INLINE u32 species_of(u32 chunk) {
    u32 species = 0;
#pragma unroll
    for (int k = 1; k < SPECIES_COUNT; ++k) species += chunk >= geometry.first_chunk[k] ? 1 : 0;
    return species;
}

// The records of a chunk from all samples of a group, unpacked; many loads at a time.
INLINE void fetch(const Records &records, const Group &group, Chunk chunk, u32 *tile) {
    const u32 rows = 32 * WARPS / CHUNK, at_once = 4;
    u32 p = threadIdx.x % CHUNK, row = threadIdx.x / CHUNK;
    if (p >= chunk.count) return;
    size_t offset = (size_t)(chunk.start + p) * RECORD_WORDS;
    for (u32 first = row; first < group.slots; first += rows * at_once) {
        Record fetched[at_once];
#pragma unroll
        for (u32 k = 0; k < at_once; ++k) {
            u32 s = first + rows * k;
            if (s < group.slots) fetched[k].load(sample_of(records, group.slot[s]) + offset);
        }
#pragma unroll
        for (u32 k = 0; k < at_once; ++k) {
            u32 s = first + rows * k;
            if (s >= group.slots) continue;
            u32 *to = tile + (s * CHUNK + p) * RECORD;
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) {
                to[SAMPLED_WORDS * axis] = fetched[k].fraction(axis);
                to[SAMPLED_WORDS * axis + 1] = (u32)fetched[k].image(axis);
                to[SAMPLED_WORDS * axis + 2] = fetched[k].velocity(axis);
            }
        }
    }
}

// Sums over chunks: by pair, chunk, term. Adds to `counts`: by pair, species, bin.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    correlate(const __grid_constant__ Records records, const Group *groups, const u32 *pairs, const Chunk *chunks,
              const Center *centers, float *partial, u32 *counts) {
    extern __shared__ u32 tile[];
    const Group &group = groups[blockIdx.y];
    Chunk chunk = chunks[blockIdx.x];
    fetch(records, group, chunk, tile);
    __syncthreads();
    Edge edge[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        edge[axis] = Edge{to_float(geometry.edge[axis]), to_float(mul(geometry.edge[axis], 1.0 / 4294967296.0))};
    }
    u32 lane = threadIdx.x & 31;
    for (u32 at = threadIdx.x >> 5; at < group.pairs; at += WARPS) {
        u32 pair = group.first_pair + at;
        u32 origin = pairs[pair] & 0xFFFF, later = pairs[pair] >> 16;
        Drift drift;
        drift.set(centers, group.slot[origin], group.slot[later]);
        float sums[SUMS] = {};
        u32 *bins = counts + ((size_t)pair * SPECIES_COUNT + species_of(blockIdx.x)) * BINS;
#if BINS > 0 && BINS <= MOST_SHARED_BINS
        u32 *shared_bins = tile + MOST_SLOTS * CHUNK * RECORD + (threadIdx.x >> 5) * BINS;
        for (u32 bin = lane; bin < BINS; bin += 32) shared_bins[bin] = 0;
        __syncwarp();
#else
        u32 *shared_bins = bins;
#endif
        const u32 *from = tile + origin * (CHUNK * RECORD), *to = tile + later * (CHUNK * RECORD);
        if (origin == later) {
            for (u32 p = lane; p < chunk.count; p += 32) add_terms_at_lag_zero(from + p * RECORD, drift, sums, shared_bins);
        } else {
            for (u32 p = lane; p < chunk.count; p += 32) {
                add_terms(from + p * RECORD, to + p * RECORD, edge, drift, sums, shared_bins);
            }
        }
#if BINS > 0 && BINS <= MOST_SHARED_BINS
        __syncwarp();
        for (u32 bin = lane; bin < BINS; bin += 32) {
            if (shared_bins[bin] != 0) atomicAdd(bins + bin, shared_bins[bin]);
        }
        __syncwarp();
#endif
        float mine = 0.0f;
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) {
            float sum = sums[k];
#pragma unroll
            for (u32 offset = 16; offset > 0; offset >>= 1) sum = add(sum, __shfl_xor_sync(~0u, sum, offset));
            if (lane == (k & 31)) mine = sum;
            if ((k & 31) == 31 || k == WIDTH - 1) {
                u32 column = (k & ~31) + lane;
                if (column <= k) partial[((size_t)pair * gridDim.x + blockIdx.x) * WIDTH + column] = mine;
            }
        }
    }
}

// Sums over the chunks of each species: by pair, species, term. A block for each pair, a warp for each sum.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    add_chunks(const float *partial, u32 chunks, double *sums) {
    u32 lane = threadIdx.x & 31, pair = blockIdx.x;
    for (u32 sum = threadIdx.x >> 5; sum < SPECIES_COUNT * WIDTH; sum += WARPS) {
        u32 species = sum / SUMS, term = sum % SUMS;
        double total = 0.0;
        for (u32 chunk = geometry.first_chunk[species] + lane; chunk < geometry.first_chunk[species + 1]; chunk += 32) {
            total = add(total, (double)partial[((size_t)pair * chunks + chunk) * WIDTH + term]);
        }
#pragma unroll
        for (u32 offset = 16; offset > 0; offset >>= 1) total = add(total, __shfl_xor_sync(~0u, total, offset));
        if (lane == 0) sums[(size_t)pair * (SPECIES_COUNT * WIDTH) + sum] = total;
    }
}
