// What lies around particles, for pairs of samples: how many places of the earlier one are taken again, which share of the
// neighbors in the earlier one is still near, and displacements relative to their mean (cages).
//
// The particles of the earlier sample, the origin, are sorted by cell. All sums are of integers, so that the order of
// those in a cell does not matter.
//
//   DIMENSION, SPECIES_COUNT
#include "observable/origins.cuh"

#include "shared/neighborhoods.cuh"

// What the centre of mass moves between the samples of a pair, in 2^-32 of the edge, where it is taken away.
INLINE i64 drift_of(const ComparedSamples &pair, const Center *centers, int axis) {
    if (!geometry.remove_drift) return 0;
    double moved = sub(centers[pair.later_slot].position[axis], centers[pair.origin_slot].position[axis]);
    return drift_in_units(moved, geometry.edge[axis]);
}

// Adds the numbers of a block's particles to `sums` by species. `of_species`: shared by the block, zeros.
template <typename T>
INLINE void add_by_species(T number, u32 species, T *of_species, T *sums) {
#pragma unroll
    for (u32 k = 0; k < SPECIES_COUNT; ++k) {
        T sum = species == k ? number : 0;
        for (u32 offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
        if ((threadIdx.x & 31) == 0 && sum > 0) atomicAdd(of_species + k, sum);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < SPECIES_COUNT; k += THREADS) {
        if (of_species[k] > 0) atomicAdd(sums + k, of_species[k]);
    }
}

// For each particle of the later sample, the number of those of the origin within the radius. Adds to `counts`: by pair,
// species. Blocks along x for the particles, along y for the pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_places(const __grid_constant__ Records records, const ComparedSamples *pairs, const u32 *ends, const Point *points,
                 const Center *centers, u32 *counts) {
    __shared__ u32 of_species[SPECIES_COUNT];
    for (u32 k = threadIdx.x; k < SPECIES_COUNT; k += THREADS) of_species[k] = 0;
    __syncthreads();
    ComparedSamples pair = pairs[blockIdx.y];
    Sorted sorted = sorted_of(ends, points, pair.origin);
    // In the order of the origin: neighbors have much in common.
    u32 at = blockIdx.x * THREADS + threadIdx.x, found = 0, species = 0;
    if (at < particle_count()) {
        u32 particle = sorted.points[at].id;
        Record record;
        record.load(sample_of(records, pair.later_slot) + (size_t)particle * RECORD_WORDS);
        u32 place[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            place[axis] = record.fraction(axis) - (u32)drift_of(pair, centers, axis);
        }
        sorted.near(place, [&](u32, const Point &, const float(&)[DIMENSION], float) { ++found; });
        species = species_of(particle);
    }
    add_by_species(found, species, of_species, counts + (size_t)blockIdx.y * SPECIES_COUNT);
}

// Where a particle is along each axis.
INLINE void fractions_of(const Record &record, u32 (&place)[DIMENSION]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) place[axis] = record.fraction(axis);
}

// Of the particles within the radius of each particle at the origin, the share that is within another radius in the later
// sample, in units of 2^-32 to the nearest; 1 where there are none. Adds to `shares`: by pair, species. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_bonds_kept(const __grid_constant__ Records records, const ComparedSamples *pairs, const u32 *ends, const Point *points,
                   float squared_breaking_radius, u64 *shares) {
    __shared__ u64 of_species[SPECIES_COUNT];
    for (u32 k = threadIdx.x; k < SPECIES_COUNT; k += THREADS) of_species[k] = 0;
    __syncthreads();
    ComparedSamples pair = pairs[blockIdx.y];
    Sorted sorted = sorted_of(ends, points, pair.origin);
    const u32 *later = sample_of(records, pair.later_slot);
    u32 at = blockIdx.x * THREADS + threadIdx.x, species = 0;
    u64 share = 0;
    if (at < particle_count()) {
        Point own = sorted.points[at];
        u32 from[DIMENSION], to[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) from[axis] = own.fraction[axis];
        Record record;
        record.load(later + (size_t)own.id * RECORD_WORDS);
        fractions_of(record, to);
        u32 bonds = 0, kept = 0;
        sorted.near(from, [&](u32 other, const Point &point, const float(&)[DIMENSION], float) {
            if (other == at) return;
            Record neighbor;
            neighbor.load(later + (size_t)point.id * RECORD_WORDS);
            u32 place[DIMENSION];
            fractions_of(neighbor, place);
            float d[DIMENSION];
            ++bonds;
            if (sorted.displacement(place, to, d) < squared_breaking_radius) ++kept;
        });
        share = bonds == 0 ? (u64)1 << 32 : (((u64)kept << 32) + bonds / 2) / bonds;
        species = species_of(own.id);
    }
    add_by_species(share, species, of_species, shares + (size_t)blockIdx.y * SPECIES_COUNT);
}

// A place without periodic boundaries, in 2^-32 of the edge.
INLINE i64 place_in_units(const Record &record, int axis) {
    return (i64)((u64)(i64)record.image(axis) << 32 | record.fraction(axis));
}

// Displacements between the samples of pairs, in 2^-32 of the edge: by pair, place among the sorted, axis. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    displace(const __grid_constant__ Records records, const ComparedSamples *pairs, const u32 *ends, const Point *points, i64 *all_moved) {
    ComparedSamples pair = pairs[blockIdx.y];
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (at >= count) return;
    u32 particle = sorted_of(ends, points, pair.origin).points[at].id;
    Record origin, later;
    origin.load(sample_of(records, pair.origin_slot) + (size_t)particle * RECORD_WORDS);
    later.load(sample_of(records, pair.later_slot) + (size_t)particle * RECORD_WORDS);
    i64 *moved = all_moved + ((size_t)blockIdx.y * count + at) * DIMENSION;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) moved[axis] = place_in_units(later, axis) - place_in_units(origin, axis);
}

// Later samples in the frame of the cages: each particle less the mean displacement of its neighbors at the origin, or,
// if it has none, less that of the centre of mass where that is taken away. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    subtract_cages(const __grid_constant__ Records records, const ComparedSamples *pairs, const u32 *ends, const Point *points,
                   const Center *centers, const i64 *all_moved) {
    ComparedSamples pair = pairs[blockIdx.y];
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
    later.load(sample_of(records, pair.later_slot) + (size_t)own.id * RECORD_WORDS);
    Sampled sampled[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        i64 of_cage = neighbors > 0 ? nearest_i64(divide((double)sum[axis], (double)neighbors)) : drift_of(pair, centers, axis);
        i64 relative = place_in_units(later, axis) - of_cage;
        sampled[axis] = Sampled{(u32)relative, (i32)(relative >> 32), float_from_bits(later.velocity(axis))};
    }
    store_record(sample_of(records, pair.target) + (size_t)own.id * RECORD_WORDS, sampled);
}
