// What lies around particles, for pairs of samples: how many places of the earlier one are taken again, and displacements
// relative to the mean of the neighbors in the earlier one (cages).
//
// The particles of the earlier sample, the origin, are sorted by cell. All sums are of integers, so that the order of
// those in a cell does not matter.
//
//   DIMENSION, SPECIES_COUNT
#include "observable/origins.cuh"

// Samples that are compared. Mirrors `Pair` in src/engine/cuda/correlator/neighborhoods.rs.
struct Pair {
    // Number among the origins that were sorted, its slot, and that of the later sample.
    u32 origin;
    u32 origin_slot;
    u32 later_slot;
    // Slot for the later sample relative to cages.
    u32 target;
};

// What the centre of mass moves between the samples of a pair, in 2^-32 of the edge, where it is taken away.
INLINE i64 drift_of(const Pair &pair, const Center *centers, int axis) {
    if (!geometry.remove_drift) return 0;
    double moved = sub(centers[pair.later_slot].position[axis], centers[pair.origin_slot].position[axis]);
    return drift_in_units(moved, geometry.edge[axis]);
}

// For each particle of the later sample, the number of those of the origin within the radius. Adds to `counts`: by pair,
// species. Blocks along x for the particles, along y for the pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_places(const __grid_constant__ Records records, const Pair *pairs, const u32 *ends, const Point *points,
                 const Center *centers, u32 *counts) {
    __shared__ u32 of_species[SPECIES_COUNT];
    for (u32 k = threadIdx.x; k < SPECIES_COUNT; k += THREADS) of_species[k] = 0;
    __syncthreads();
    Pair pair = pairs[blockIdx.y];
    Sorted sorted = sorted_of(ends, points, pair.origin);
    // In the order of the origin: neighbors have much in common.
    u32 at = blockIdx.x * THREADS + threadIdx.x, found = 0, species = 0;
    if (at < particle_count()) {
        u32 particle = sorted.points[at].id;
        Record record;
        record.load(records.of(pair.later_slot) + (size_t)particle * RECORD_WORDS);
        u32 place[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            place[axis] = record.fraction(axis) - (u32)drift_of(pair, centers, axis);
        }
        sorted.near(place, [&](u32, const Point &, const float(&)[DIMENSION], float) { ++found; });
        species = species_of(particle);
    }
#pragma unroll
    for (u32 k = 0; k < SPECIES_COUNT; ++k) {
        u32 sum = species == k ? found : 0;
        for (u32 offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
        if ((threadIdx.x & 31) == 0 && sum > 0) atomicAdd(of_species + k, sum);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < SPECIES_COUNT; k += THREADS) {
        if (of_species[k] > 0) atomicAdd(counts + (size_t)blockIdx.y * SPECIES_COUNT + k, of_species[k]);
    }
}

// A place without periodic boundaries, in 2^-32 of the edge.
INLINE i64 place_in_units(const Record &record, int axis) {
    return (i64)((u64)(i64)record.image(axis) << 32 | record.fraction(axis));
}

// Displacements between the samples of pairs, in 2^-32 of the edge: by pair, place among the sorted, axis. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    displace(const __grid_constant__ Records records, const Pair *pairs, const u32 *ends, const Point *points, i64 *all_moved) {
    Pair pair = pairs[blockIdx.y];
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (at >= count) return;
    u32 particle = sorted_of(ends, points, pair.origin).points[at].id;
    Record origin, later;
    origin.load(records.of(pair.origin_slot) + (size_t)particle * RECORD_WORDS);
    later.load(records.of(pair.later_slot) + (size_t)particle * RECORD_WORDS);
    i64 *moved = all_moved + ((size_t)blockIdx.y * count + at) * DIMENSION;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) moved[axis] = place_in_units(later, axis) - place_in_units(origin, axis);
}

// Later samples in the frame of the cages: each particle less the mean displacement of its neighbors at the origin, or,
// if it has none, less that of the centre of mass where that is taken away. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    subtract_cages(const __grid_constant__ Records records, const Pair *pairs, const u32 *ends, const Point *points,
                   const Center *centers, const i64 *all_moved) {
    Pair pair = pairs[blockIdx.y];
    Sorted sorted = sorted_of(ends, points, pair.origin);
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (at >= count) return;
    const i64 *moved = all_moved + (size_t)blockIdx.y * count * DIMENSION;
    Point own = sorted.points[at];
    u32 place[DIMENSION];
    i64 sum[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        place[axis] = own.fraction[axis];
        sum[axis] = 0;
    }
    u32 neighbors = 0;
    sorted.near(place, [&](u32 other, const Point &, const float(&)[DIMENSION], float) {
        if (other == at) return;
        ++neighbors;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] += moved[(size_t)other * DIMENSION + axis];
    });
    Record later;
    later.load(records.of(pair.later_slot) + (size_t)own.id * RECORD_WORDS);
    Sampled sampled[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        i64 of_cage = neighbors > 0 ? nearest_i64(divide((double)sum[axis], (double)neighbors)) : drift_of(pair, centers, axis);
        i64 relative = place_in_units(later, axis) - of_cage;
        sampled[axis] = Sampled{(u32)relative, (i32)(relative >> 32), float_from_bits(later.velocity(axis))};
    }
    store_record(records.of(pair.target) + (size_t)own.id * RECORD_WORDS, sampled);
}
