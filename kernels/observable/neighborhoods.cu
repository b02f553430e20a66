// What lies around particles, for pairs of samples: how many places of the earlier one are taken again, which share of the
// neighbors in the earlier one is still near, and displacements relative to their mean (cages).
//
// The particles of the earlier sample, the origin, are sorted by cell; what is read for the neighbors of a particle stands in that order,
// in which they lie near each other. All sums are of integers, so that the order of those in a cell does not matter.
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

// Numbers of a particle of an origin and of its neighbors: their places among the sorted, where there is room for all.
INLINE size_t column_of(u32 origin, u32 at) { return (size_t)origin * particle_count() + at; }
INLINE size_t place_of(const Neighbors &neighbors, u32 origin, u32 k, u32 at) {
    return ((size_t)origin * neighbors.most + k) * particle_count() + at;
}

// Calls `visit(place)` for those within the radius of a particle of an origin.
template <typename Visit>
INLINE void search_neighbors(const Sorted &sorted, u32 at, Visit visit) {
    Point own = sorted.points[at];
    u32 place[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) place[axis] = own.fraction[axis];
    sorted.near(place, [&](u32 other, const Point &, const float(&)[DIMENSION], float) {
        if (other != at) visit(other);
    });
}

// Finds the neighbors in origins, once for all their pairs. Blocks along x for the particles, along y for the origins.
extern "C" __global__ void __launch_bounds__(THREADS) find_neighbors(const u32 *ends, const Point *points, Neighbors neighbors) {
    u32 origin = blockIdx.y, at = blockIdx.x * THREADS + threadIdx.x, found = 0;
    if (at >= particle_count()) return;
    search_neighbors(sorted_of(ends, points, origin), at, [&](u32 other) {
        if (found < neighbors.most) neighbors.places[place_of(neighbors, origin, found, at)] = other;
        ++found;
    });
    neighbors.counts[column_of(origin, at)] = found;
}

// Calls `visit(place)` for the neighbors of a particle of an origin: those that have been found or, where these are more than there
// is room for, all of them anew.
template <typename Visit>
INLINE void visit_neighbors(const Neighbors &neighbors, u32 origin, const Sorted &sorted, u32 at, Visit visit) {
    u32 found = neighbors.most > 0 ? neighbors.counts[column_of(origin, at)] : 1;
    if (found > neighbors.most) return search_neighbors(sorted, at, visit);
    const u32 *place = neighbors.places + place_of(neighbors, origin, 0, at);
    const size_t stride = particle_count();
#pragma unroll 4
    for (u32 k = 0; k < found; ++k) visit(place[k * stride]);
}

// Where a particle is, along each axis and with a word that pads.
struct alignas(16) Place {
    u32 fraction[4];
};

// Later samples of pairs, in the order of the origin: by pair, place. Blocks along x for the particles, along y for the pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
    sort_later(const __grid_constant__ Records records, const ComparedSamples *pairs, const Point *points, Place *all_places) {
    ComparedSamples pair = pairs[blockIdx.y];
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (at >= count) return;
    u32 particle = points[column_of(pair.origin, at)].id;
    Record record;
    record.load(sample_of(records, pair.later_slot) + (size_t)particle * RECORD_WORDS);
    Place place = {};
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) place.fraction[axis] = record.fraction(axis);
    all_places[(size_t)blockIdx.y * count + at] = place;
}

// Of the particles within the radius of each particle at the origin, the share that is within another radius in the later
// sample, in units of 2^-32 to the nearest; 1 where there are none. Adds to `shares`: by pair, species. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_bonds_kept(const ComparedSamples *pairs, const u32 *ends, const Point *points, Neighbors neighbors, const Place *all_places,
                   float squared_breaking_radius, u64 *shares) {
    __shared__ u64 of_species[SPECIES_COUNT];
    for (u32 k = threadIdx.x; k < SPECIES_COUNT; k += THREADS) of_species[k] = 0;
    __syncthreads();
    u32 origin = pairs[blockIdx.y].origin;
    Sorted sorted = sorted_of(ends, points, origin);
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count(), species = 0;
    const Place *places = all_places + (size_t)blockIdx.y * count;
    u64 share = 0;
    if (at < count) {
        Place own = places[at];
        u32 to[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) to[axis] = own.fraction[axis];
        u32 bonds = 0, kept = 0;
        visit_neighbors(neighbors, origin, sorted, at, [&](u32 other) {
            Place place = places[other];
            float d[DIMENSION];
            ++bonds;
            if (sorted.displacement(place.fraction, to, d) < squared_breaking_radius) ++kept;
        });
        share = bonds == 0 ? (u64)1 << 32 : (((u64)kept << 32) + bonds / 2) / bonds;
        species = species_of(sorted.points[at].id);
    }
    add_by_species(share, species, of_species, shares + (size_t)blockIdx.y * SPECIES_COUNT);
}

// A place without periodic boundaries, in 2^-32 of the edge.
INLINE i64 place_in_units(const Record &record, int axis) {
    return (i64)((u64)(i64)record.image(axis) << 32 | record.fraction(axis));
}

// Displacement between two samples, in 2^-32 of the edge.
struct alignas(16) Moved {
    i64 along[DIMENSION == 3 ? 4 : 2];
};

// Displacements between the samples of pairs: by pair, place among the sorted. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    displace(const __grid_constant__ Records records, const ComparedSamples *pairs, const Point *points, Moved *all_moved) {
    ComparedSamples pair = pairs[blockIdx.y];
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (at >= count) return;
    u32 particle = points[column_of(pair.origin, at)].id;
    Record origin, later;
    origin.load(sample_of(records, pair.origin_slot) + (size_t)particle * RECORD_WORDS);
    later.load(sample_of(records, pair.later_slot) + (size_t)particle * RECORD_WORDS);
    Moved moved = {};
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) moved.along[axis] = place_in_units(later, axis) - place_in_units(origin, axis);
    all_moved[(size_t)blockIdx.y * count + at] = moved;
}

// Later samples in the frame of the cages: each particle less the mean displacement of its neighbors at the origin, or,
// if it has none, less that of the centre of mass where that is taken away. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    subtract_cages(const __grid_constant__ Records records, const ComparedSamples *pairs, const u32 *ends, const Point *points,
                   Neighbors neighbors, const Center *centers, const Moved *all_moved) {
    ComparedSamples pair = pairs[blockIdx.y];
    Sorted sorted = sorted_of(ends, points, pair.origin);
    u32 at = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (at >= count) return;
    const Moved *moved = all_moved + (size_t)blockIdx.y * count;
    i64 sum[DIMENSION] = {};
    u32 found = 0;
    visit_neighbors(neighbors, pair.origin, sorted, at, [&](u32 other) {
        Moved of_other = moved[other];
        ++found;
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] += of_other.along[axis];
    });
    u32 particle = sorted.points[at].id;
    Record later;
    later.load(sample_of(records, pair.later_slot) + (size_t)particle * RECORD_WORDS);
    Sampled sampled[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        i64 of_cage = found > 0 ? nearest_i64(divide((double)sum[axis], (double)found)) : drift_of(pair, centers, axis);
        i64 relative = place_in_units(later, axis) - of_cage;
        sampled[axis] = Sampled{(u32)relative, (i32)(relative >> 32), float_from_bits(later.velocity(axis))};
    }
    store_record(sample_of(records, pair.target) + (size_t)particle * RECORD_WORDS, sampled);
}
