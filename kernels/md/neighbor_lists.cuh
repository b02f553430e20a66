// Neighbor lists: where their entries lie, and how they are walked.
//
// A particle is worked on by 2^lanes_log2 lanes; a tile is the particles of one warp. A list has a segment for each
// species of neighbor. Entry k of a segment belongs to lane k mod lanes; each lane reads its entries in rows of
// four, and a row of a tile is 32 times four consecutive entries. An entry is a place in memory. Lists are full: each pair
// stands in both. A segment is filled up to a whole row with a particle that is out of reach, or, where all are
// within, with the particle itself, whose distance of zero the pair loop leaves out.
#pragma once
#include "md/grid.cuh"

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

// SHORT_ENTRIES   1: of 16 bits
// ENTRY_LOG2      log2 of an entry over its place in memory: where a site is found by its first byte
#ifndef SHORT_ENTRIES
#define SHORT_ENTRIES 0
#endif
#ifndef ENTRY_LOG2
#define ENTRY_LOG2 0
#endif

INLINE u32 place_of(u32 entry) { return entry >> ENTRY_LOG2; }
INLINE void load_site_of_entry(const Site *sites, u32 entry, Site (&x)[SITE_COMPONENTS]) { load_site(sites, place_of(entry), x); }

// The four entries of a lane in a row.
#if SHORT_ENTRIES
typedef unsigned short Entry;
typedef uint2 Row;
INLINE Row row_of(const u32 (&entry)[4]) { return make_uint2(entry[0] | entry[1] << 16, entry[2] | entry[3] << 16); }
INLINE Row load_row(const Row *at) {
    u32 word[2];
    load_words_once(at, word);
    return make_uint2(word[0], word[1]);
}
INLINE void entries_of(const Row &row, u32 (&entry)[4]) {
    entry[0] = row.x & 0xFFFF;
    entry[1] = row.x >> 16;
    entry[2] = row.y & 0xFFFF;
    entry[3] = row.y >> 16;
}
#else
typedef u32 Entry;
typedef uint4 Row;
INLINE Row row_of(const u32 (&entry)[4]) { return make_uint4(entry[0], entry[1], entry[2], entry[3]); }
INLINE Row load_row(const Row *at) {
    u32 entry[4];
#if TAGGED
    // A small system's stay in the first-level cache.
    load_words(at, entry);
#else
    load_words_once(at, entry);
#endif
    return row_of(entry);
}
INLINE void entries_of(const Row &row, u32 (&entry)[4]) {
    entry[0] = row.x;
    entry[1] = row.y;
    entry[2] = row.z;
    entry[3] = row.w;
}
#endif

INLINE const Row *first_row(const Group &group, u32 tile) {
    return (const Row *)system.list + (size_t)tile * system.rows * 32 + group.lane;
}

// How far the list of a particle reaches: the cutoff and the skin. With diameters it is that of each pair.
struct Reach {
#if DIAMETERS
    // In units of the diameter of a pair, and as a length.
    Real cutoff;
    Real skin;

    INLINE Reach(u32, u32) : cutoff((Real)system.unit_cutoff), skin((Real)system.skin) {}
    INLINE Real squared(Real a, Real b) const {
        Real reach = fused(diameter_of_pair(a, b, minus_half_non_additivity), cutoff, skin);
        return mul(reach, reach);
    }
    INLINE bool holds(Real r2, const Site (&site)[SITE_COMPONENTS], const Site (&other)[SITE_COMPONENTS]) const {
        return r2 < squared(diameter_of(site), diameter_of(other));
    }
    // The square of the farthest reach of a particle: for given s_i the diameter of a pair is greatest at s_j = 1 / (2 Delta), if that is
    // between s_i and the largest diameter.
    INLINE double farthest2(const Site (&site)[SITE_COMPONENTS]) const {
        Real own = diameter_of(site), widest = (Real)system.widest_partner;
        return (double)squared(own, own < widest ? widest : own);
    }
#else
    double reach2;

    INLINE Reach(u32 species, u32 other) : reach2(system.reach2[species * SPECIES_COUNT + other]) {}
    INLINE bool holds(Real r2, const Site (&)[SITE_COMPONENTS], const Site (&)[SITE_COMPONENTS]) const { return r2 < (Real)reach2; }
    INLINE double farthest2(const Site (&)[SITE_COMPONENTS]) const { return reach2; }
#endif
};

INLINE i64 exchange(i64 value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE i32 exchange(i32 value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE float exchange(float value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE u64 exchange(u64 value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE double exchange(double value, u32 offset) { return __shfl_xor_sync(~0u, value, offset); }
INLINE DoubleSingle exchange(DoubleSingle value, u32 offset) {
    return DoubleSingle{exchange(value.hi, offset), exchange(value.lo, offset)};
}
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

template <typename Number>
static constexpr bool IS_INTEGER = false;
template <>
constexpr bool IS_INTEGER<i64> = true;

// Of four lanes or more each of the first gets the sum over the group along its axis. What a lane does not integrate it gives to one that
// does: fewer exchanges than sums of all in all lanes. Floats are added in the order of `total_of_group`.
INLINE Force total_of_axis(const Group &group, Sum (&sum)[DIMENSION]) {
    constexpr bool IN_ANY_ORDER = IS_INTEGER<Sum>;
    const u32 half = 1u << group.lanes_log2 >> 1;
    if (!IN_ANY_ORDER) {
        for (u32 offset = half; offset > 2; offset >>= 1) {
            Sum other[DIMENSION];
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) other[axis] = exchange(sum[axis], offset);
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) Policy::merge(sum[axis], other[axis]);
        }
    }
    // Lanes 0 and 1 of four have the first two axes, 2 and 3 the last one.
    const bool is_upper = (group.member & 2) != 0, is_odd = (group.member & 1) != 0;
    Sum first = sum[0], second = sum[1];
    if (DIMENSION == 3) {
        Sum given = is_upper ? sum[0] : sum[DIMENSION - 1];
        first = is_upper ? sum[DIMENSION - 1] : sum[0];
        Sum for_first = exchange(given, 2), for_second = exchange(second, 2);
        Policy::merge(first, for_first);
        Policy::merge(second, for_second);
    } else {
        Sum for_first = exchange(first, 2), for_second = exchange(second, 2);
        Policy::merge(first, for_first);
        Policy::merge(second, for_second);
    }
    const bool has_first = !is_odd || (DIMENSION == 3 && is_upper), gives_first = is_odd || (DIMENSION == 3 && is_upper);
    Sum mine = has_first ? first : second, given = gives_first ? first : second;
    Policy::merge(mine, exchange(given, 1));
    if (IN_ANY_ORDER) {
        for (u32 offset = half; offset > 2; offset >>= 1) Policy::merge(mine, exchange(mine, offset));
    }
    return Policy::total(mine);
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
template <typename Sites, typename Visit>
INLINE void walk(const Group &group, u32 tile, u32 particle, u32 species, const Sites &sites, Visit visit) {
    const Row *at = first_row(group, tile);
    Row next = load_row(at);
    u32 end[SPECIES_COUNT];
    load_row_ends(particle, particle < system.count, end);
    PairRow constants(species);
    u32 rows = end[SPECIES_COUNT - 1];
    for (u32 row = 0; row < rows; ++row) {
        u32 entry[4];
        entries_of(next, entry);
        at += 32;
        Site x0[SITE_COMPONENTS], x1[SITE_COMPONENTS], x2[SITE_COMPONENTS], x3[SITE_COMPONENTS];
        load_site_of_entry(sites, entry[0], x0);
        load_site_of_entry(sites, entry[1], x1);
        load_site_of_entry(sites, entry[2], x2);
        load_site_of_entry(sites, entry[3], x3);
        // After the sites: it takes the place of the entries. Also beyond the last row: there is one more than the lists
        // have room for.
        next = load_row(at);
        Pair pair = constants.of(row, end);
        visit(pair, place_of(entry[0]), x0);
        visit(pair, place_of(entry[1]), x1);
        visit(pair, place_of(entry[2]), x2);
        visit(pair, place_of(entry[3]), x3);
    }
}

// The same for entries of every `parts`-th row, where several threads share a lane's.
template <typename Visit>
INLINE void walk_part(const Group &group, u32 tile, u32 particle, u32 species, const Site *sites, u32 part, u32 parts, Visit visit) {
    const Row *rows_of_lane = first_row(group, tile);
    // Under way together with what tells whether there is such a row.
    Row next = load_row(rows_of_lane + 32 * (part < system.rows ? part : 0));
    u32 end[SPECIES_COUNT];
    load_row_ends(particle, particle < system.count, end);
    PairRow constants(species);
    for (u32 row = part; row < end[SPECIES_COUNT - 1]; row += parts) {
        u32 entry[4];
        entries_of(next, entry);
        if (row + parts < end[SPECIES_COUNT - 1]) next = load_row(rows_of_lane + 32 * (row + parts));
        Site x[4][SITE_COMPONENTS];
#pragma unroll
        for (int k = 0; k < 4; ++k) load_site_of_entry(sites, entry[k], x[k]);
        Pair pair = constants.of(row, end);
#pragma unroll
        for (int k = 0; k < 4; ++k) visit(pair, place_of(entry[k]), x[k]);
    }
}
