// What lies around particles, for pairs of samples: how many places of the earlier one are taken again, which share of the
// neighbors in the earlier one is still near, and displacements relative to their mean (cages).
//
// The particles of the earlier sample, the origin, are sorted by cell; what is read for the neighbors of a particle stands in that order,
// in which they lie near each other. All sums are of integers, so that the order of those in a cell does not matter.
//
//   DIMENSION, SPECIES_COUNT
#include "observable/origins.cuh"

#include "shared/neighborhoods.cuh"
#include "shared/pairs_of_origins.cuh"

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

// What the pairs of an origin, which follow each other, have in common. A block takes some particles in all pairs: threads side by side
// take the pairs of a particle, so that what they read of the origin is one load for all, and what they write lies together.
struct PairsOfOrigin {
    u32 origin;
    u32 first;
    u32 count;

    INLINE PairsOfOrigin(const PairsOfRound &round, u32 of) : origin(of), first(round.first[of]), count(round.first[of + 1] - first) {}

    // Where something of a particle is in a pair: by origin, place among the sorted, pair.
    INLINE size_t number(u32 at, u32 pair) const { return (size_t)first * particle_count() + (size_t)at * count + pair; }

    // Calls `work(pair, place among the sorted)` for a share of the particles and of the pairs of the origin, one pair after the other, and
    // `end(pair)` behind those of a pair.
    template <typename Work, typename End>
    INLINE void share(Work work, End end) const {
        u32 side_by_side = count < THREADS ? count : THREADS, rows = THREADS / side_by_side, row = threadIdx.x / side_by_side;
        if (row >= rows) return;
        u32 from = blockIdx.x * PARTICLES_OF_BLOCK, particles = particle_count();
        u32 to = from + PARTICLES_OF_BLOCK < particles ? from + PARTICLES_OF_BLOCK : particles;
        for (u32 pair = threadIdx.x % side_by_side; pair < count; pair += side_by_side) {
            for (u32 at = from + row; at < to; at += rows) work(pair, at);
            end(pair);
        }
    }
    template <typename Work>
    INLINE void share(Work work) const {
        share(work, [](u32) {});
    }
};

// Where a particle is, along each axis and with a word that pads.
struct alignas(16) Place {
    u32 fraction[4];
};

// Later samples of pairs: by origin, place among the sorted, pair. Blocks along x for the particles, along y for the origins.
extern "C" __global__ void __launch_bounds__(THREADS)
    sort_later(const __grid_constant__ Records records, PairsOfRound round, const Point *points, Place *places) {
    const PairsOfOrigin of_origin(round, blockIdx.y);
    of_origin.share([&](u32 pair, u32 at) {
        u32 particle = points[column_of(of_origin.origin, at)].id;
        Record record;
        record.load(sample_of(records, round.pairs[of_origin.first + pair].later_slot) + (size_t)particle * RECORD_WORDS);
        Place place = {};
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) place.fraction[axis] = record.fraction(axis);
        places[of_origin.number(at, pair)] = place;
    });
}

// Sums of a block by pair and species in two words, the lower one of 16 bits from each thread, so that neither overflows.
struct SumsOfPairs {
    u32 *upper;
    u32 *lower;
    u64 *all;

    // Adds those of a thread.
    INLINE void add(const u64 (&of_thread)[SPECIES_COUNT], u32 pair) const {
#pragma unroll
        for (u32 species = 0; species < SPECIES_COUNT; ++species) {
            u32 at = pair * SPECIES_COUNT + species;
            u64 sum = of_thread[species];
            if (sum == 0) continue;
            if (at < MOST_SHARED_SUMS) {
                atomicAdd(upper + at, (u32)(sum >> 16));
                atomicAdd(lower + at, (u32)sum & 0xFFFF);
            } else {
                atomicAdd(all + at, sum);
            }
        }
    }
};

// Of the particles within the radius of each particle at the origin, the share that is within another radius in the later
// sample, in units of 2^-32 to the nearest; 1 where there are none. Adds to `shares`: by pair, species. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_bonds_kept(PairsOfRound round, const u32 *ends, const Point *points, Neighbors neighbors, const Place *places,
                   float squared_breaking_radius, u64 *shares) {
    __shared__ u32 of_block[2][MOST_SHARED_SUMS];
    const PairsOfOrigin of_origin(round, blockIdx.y);
    u64 *of_pairs = shares + (size_t)of_origin.first * SPECIES_COUNT;
    u32 shared = of_origin.count * SPECIES_COUNT;
    if (shared > MOST_SHARED_SUMS) shared = MOST_SHARED_SUMS;
    for (u32 k = threadIdx.x; k < shared; k += THREADS) of_block[0][k] = of_block[1][k] = 0;
    __syncthreads();
    const SumsOfPairs sums = {of_block[0], of_block[1], of_pairs};
    Sorted sorted = sorted_of(ends, points, of_origin.origin);
    u64 of_thread[SPECIES_COUNT] = {};
    auto add_share = [&](u32 pair, u32 at) {
        // Of the first particle in this pair.
        const Place *of_pair = places + of_origin.number(0, pair);
        Place own = of_pair[at * of_origin.count];
        u32 to[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) to[axis] = own.fraction[axis];
        u32 bonds = 0, kept = 0;
        visit_neighbors(neighbors, of_origin.origin, sorted, at, [&](u32 other) {
            Place place = of_pair[other * of_origin.count];
            float d[DIMENSION];
            ++bonds;
            if (sorted.displacement(place.fraction, to, d) < squared_breaking_radius) ++kept;
        });
        u64 share = bonds == 0 ? (u64)1 << 32 : (((u64)kept << 32) + bonds / 2) / bonds;
        u32 species = species_of(sorted.points[at].id);
#pragma unroll
        for (u32 k = 0; k < SPECIES_COUNT; ++k) of_thread[k] += species == k ? share : 0;
    };
    of_origin.share(add_share, [&](u32 pair) {
        sums.add(of_thread, pair);
#pragma unroll
        for (u32 k = 0; k < SPECIES_COUNT; ++k) of_thread[k] = 0;
    });
    __syncthreads();
    for (u32 k = threadIdx.x; k < shared; k += THREADS) {
        u64 sum = ((u64)of_block[0][k] << 16) + of_block[1][k];
        if (sum > 0) atomicAdd(of_pairs + k, sum);
    }
}

#if DIMENSION == 3
// A displacement between two samples, in 2^-32 of the edge: the lower 32 bits along each axis, and of the upper ones ten bits each. One
// that is longer is known to be so.
struct alignas(16) Moved {
    u32 lower[3];
    u32 upper;

    static INLINE Moved from(const i64 (&along)[3]) {
        Moved moved = {{(u32)along[0], (u32)along[1], (u32)along[2]}, 0};
        bool fits = true;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            i32 upper = (i32)(along[axis] >> 32);
            fits &= upper >= -512 && upper < 512;
            moved.upper |= (u32)(upper & 1023) << (10 * axis);
        }
        if (!fits) moved.upper = IS_LONG;
        return moved;
    }
    INLINE bool is_long() const { return upper == IS_LONG; }
    INLINE i64 along(int axis) const {
        i32 upper_of_axis = (i32)(upper << (22 - 10 * axis)) >> 22;
        return (i64)((u64)(i64)upper_of_axis << 32 | lower[axis]);
    }

private:
    static constexpr u32 IS_LONG = ~0u;
};
#else
struct alignas(16) Moved {
    i64 of_axis[2];

    static INLINE Moved from(const i64 (&along)[2]) { return Moved{{along[0], along[1]}}; }
    INLINE bool is_long() const { return false; }
    INLINE i64 along(int axis) const { return of_axis[axis]; }
};
#endif

// A place without periodic boundaries, in 2^-32 of the edge.
INLINE i64 place_in_units(const Record &record, int axis) {
    return (i64)((u64)(i64)record.image(axis) << 32 | record.fraction(axis));
}

// The displacement of a particle between the samples of a pair, from the samples.
INLINE void displacement_of(const Records &records, const ComparedSamples &pair, u32 particle, i64 (&along)[DIMENSION]) {
    Record origin, later;
    origin.load(sample_of(records, pair.origin_slot) + (size_t)particle * RECORD_WORDS);
    later.load(sample_of(records, pair.later_slot) + (size_t)particle * RECORD_WORDS);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) along[axis] = place_in_units(later, axis) - place_in_units(origin, axis);
}

// Displacements between the samples of pairs: by origin, place among the sorted, pair. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    displace(const __grid_constant__ Records records, PairsOfRound round, const Point *points, Moved *all_moved) {
    const PairsOfOrigin of_origin(round, blockIdx.y);
    of_origin.share([&](u32 pair, u32 at) {
        i64 along[DIMENSION];
        displacement_of(records, round.pairs[of_origin.first + pair], points[column_of(of_origin.origin, at)].id, along);
        all_moved[of_origin.number(at, pair)] = Moved::from(along);
    });
}

// The sum of the displacements of a particle's neighbors, of which one is long.
INLINE void sum_from_samples(const Records &records, const ComparedSamples &pair, const Neighbors &neighbors, u32 origin,
                             const Sorted &sorted, u32 at, i64 (&sum)[DIMENSION]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] = 0;
    visit_neighbors(neighbors, origin, sorted, at, [&](u32 other) {
        i64 along[DIMENSION];
        displacement_of(records, pair, sorted.points[other].id, along);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] += along[axis];
    });
}

// Later samples in the frame of the cages: each particle less the mean displacement of its neighbors at the origin, or,
// if it has none, less that of the centre of mass where that is taken away; without velocities. Blocks as above.
extern "C" __global__ void __launch_bounds__(THREADS)
    subtract_cages(const __grid_constant__ Records records, PairsOfRound round, const u32 *ends, const Point *points,
                   Neighbors neighbors, const Center *centers, const Moved *all_moved) {
    const PairsOfOrigin of_origin(round, blockIdx.y);
    Sorted sorted = sorted_of(ends, points, of_origin.origin);
    of_origin.share([&](u32 of_pair, u32 at) {
        ComparedSamples pair = round.pairs[of_origin.first + of_pair];
        // Of the first particle in this pair.
        const Moved *moved = all_moved + of_origin.number(0, of_pair);
        i64 sum[DIMENSION] = {};
        u32 found = 0;
        bool is_long = false;
        visit_neighbors(neighbors, of_origin.origin, sorted, at, [&](u32 other) {
            Moved of_other = moved[other * of_origin.count];
            is_long |= of_other.is_long();
            ++found;
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) sum[axis] += of_other.along(axis);
        });
        if (is_long) sum_from_samples(records, pair, neighbors, of_origin.origin, sorted, at, sum);
        u32 particle = sorted.points[at].id;
        Record origin;
        origin.load(sample_of(records, pair.origin_slot) + (size_t)particle * RECORD_WORDS);
        Moved own = moved[at * of_origin.count];
        i64 moved_by[DIMENSION];
        if (own.is_long()) {
            displacement_of(records, pair, particle, moved_by);
        } else {
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) moved_by[axis] = own.along(axis);
        }
        Sampled sampled[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) {
            i64 of_cage = found > 0 ? nearest_i64(divide((double)sum[axis], (double)found)) : drift_of(pair, centers, axis);
            i64 relative = place_in_units(origin, axis) + moved_by[axis] - of_cage;
            sampled[axis] = Sampled{(u32)relative, (i32)(relative >> 32), 0.0f};
        }
        store_record(sample_of(records, pair.target) + (size_t)particle * RECORD_WORDS, sampled);
    });
}
