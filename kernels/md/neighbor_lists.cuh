// Neighbor lists: where their entries lie, and how they are walked.
//
// A particle is worked on by 2^lanes_log2 lanes; a tile is the particles of one warp. A list has a segment for each
// species of neighbor. Entry k of a segment belongs to lane k mod lanes; each lane reads its entries in rows of
// four, and a row of a tile is 512 consecutive bytes. An entry is a place in memory. Lists are full: each pair
// stands in both. A segment is filled up to a whole row with a particle that is out of reach, or, where all are
// within, with the particle itself, whose distance of zero the pair loop leaves out.
#pragma once
#include "md/grid.cuh"

// Of a block.
#define MOST_WARPS 32

// The part of a warp that works on one particle.
struct Group {
    u32 lanes_log2;
    u32 lane;
    // Lane within the group.
    u32 member;
    // Particles in a tile.
    u32 particles;
    // Lanes of the group, as a mask.
    u32 mask;
};

// `ALONE`: known to be of one lane.
template <bool SINGLE_LANE = false>
INLINE Group group_of() {
    u32 lanes_log2 = SINGLE_LANE ? 0 : system.lanes_log2, lanes = 1u << lanes_log2, lane = threadIdx.x & 31;
    u32 mask = lanes == 32 ? ~0u : ((1u << lanes) - 1) << (lane & ~(lanes - 1));
    return Group{lanes_log2, lane, lane & (lanes - 1), 32u >> lanes_log2, mask};
}

INLINE u32 tile_count(const Group &group) {
    return (system.count + group.particles - 1) / group.particles;
}
INLINE u32 particle_of(const Group &group, u32 tile) {
    return tile * group.particles + (group.lane >> group.lanes_log2);
}

INLINE const uint4 *first_row(const Group &group, u32 tile) {
    return (const uint4 *)system.list + (size_t)tile * system.rows * 32 + group.lane;
}
INLINE uint4 load_row(const uint4 *at) {
    u32 entry[4];
    load_words_once(at, entry);
    return make_uint4(entry[0], entry[1], entry[2], entry[3]);
}

INLINE i64 exchange(i64 value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE float exchange(float value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE double exchange(double value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
#if defined(SUMS_IN_PAIRS)
INLINE DoubleSingles::Sum exchange(DoubleSingles::Sum value, u32 offset) {
    return DoubleSingles::Sum{exchange(value.hi, offset), exchange(value.lo, offset)};
}
#endif

// Sums over the group, in all its lanes.
INLINE void total_of_group(const Group &group, Sum (&sum)[DIMENSION], Force (&total)[DIMENSION]) {
    for (u32 offset = 1u << group.lanes_log2 >> 1; offset > 0; offset >>= 1) {
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) Policy::merge(sum[axis], exchange(sum[axis], offset));
    }
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) total[axis] = Policy::total(sum[axis]);
}
INLINE Force total_of_group(const Group &group, Sum sum) {
    for (u32 offset = 1u << group.lanes_log2 >> 1; offset > 0; offset >>= 1) {
        Policy::merge(sum, exchange(sum, offset));
    }
    return Policy::total(sum);
}

// Row after the last one of each segment.
INLINE void load_row_ends(u32 particle, bool active, u32 (&end)[SPECIES_COUNT]) {
#pragma unroll
    for (u32 b = 0; b < SPECIES_COUNT; ++b) end[b] = active ? system.row_ends[(size_t)particle * SPECIES_COUNT + b] : 0;
}

// Constants of the pairs that one species makes.
struct PairRow {
    const Pair *row;
    Pair first;
    Pair last;

    INLINE PairRow(u32 species) : row(pairs + species * SPECIES_COUNT), first(row[0]), last(row[SPECIES_COUNT - 1]) {}

    // Those of row `at` of a list. Two species are held in registers and selected; more are looked up. What all pairs
    // have in common is read where it is needed.
    INLINE Pair of(u32 at, const u32 (&end)[SPECIES_COUNT]) const {
        Pair pair = select(at, end);
        if (COMMON_CONSTANTS) pair.interaction.set_common(pairs[0].interaction);
        return pair;
    }

private:
    INLINE Pair select(u32 at, const u32 (&end)[SPECIES_COUNT]) const {
        if (SPECIES_COUNT == 1) return first;
        if (SPECIES_COUNT == 2) return at < end[0] ? first : last;
        u32 species = 0;
#pragma unroll
        for (u32 b = 0; b + 1 < SPECIES_COUNT; ++b) species += at < end[b] ? 0 : 1;
        return row[species];
    }
};

// Calls `visit(constants of the pair, place of the neighbor, its site)` for all entries of this lane.
template <typename Visit>
INLINE void walk(const Group &group, u32 tile, u32 particle, u32 species, const Site *sites, Visit visit) {
    const uint4 *at = first_row(group, tile);
    uint4 next = load_row(at);
    u32 end[SPECIES_COUNT];
    load_row_ends(particle, particle < system.count, end);
    PairRow constants(species);
    u32 rows = end[SPECIES_COUNT - 1];
    for (u32 row = 0; row < rows; ++row) {
        uint4 entries = next;
        at += 32;
        Site x0[DIMENSION], x1[DIMENSION], x2[DIMENSION], x3[DIMENSION];
        load_site(sites, entries.x, x0);
        load_site(sites, entries.y, x1);
        load_site(sites, entries.z, x2);
        load_site(sites, entries.w, x3);
        // After the sites: it takes the place of the entries. Also beyond the last row: there is one more than the lists
        // have room for.
        next = load_row(at);
        Pair pair = constants.of(row, end);
        visit(pair, entries.x, x0);
        visit(pair, entries.y, x1);
        visit(pair, entries.z, x2);
        visit(pair, entries.w, x3);
    }
}
