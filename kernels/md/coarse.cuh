// Neighbors of one particle searched for with 16-bit floats, two candidates an instruction.
//
// Places are kept relative to their cell, in units of the widest edge of a cell: in [0, 1] for a candidate and in
// [-1, 2] for the particle as seen from the candidate's cell. With u = 2^-12 they are rounded by at most u and 2u
// and their difference, where it matters, by 2u: a distance is off by 5 sqrt(3) u < 0.0022. Near the limit the operations of
// r^2 - limit round by at most 2u each but the last by next to nothing: 4u < 0.0011. A limit that is enlarged by both
// loses nobody within reach; lists become longer by about one in a hundred.
//
// In a tilted box places are straightened from the corner of the cell on. Then they lie within [-1/2, 3/2] and [-2, 3] along x, where
// the box is not longer along x than along y, and are rounded by 2u and 4u: a distance is off by (8^2 + 2 5^2)^(1/2) u < 0.0027.
#pragma once
#include "md/neighbor_lists.cuh"

#define RANK_BITS 26

#if TILTED
#define COARSE_ERROR 0.0027f
#else
#define COARSE_ERROR 0.0022f
#endif

// Place of a site in its cell.
INLINE void place_in_cell(const Site (&site)[SITE_COMPONENTS], float (&place)[DIMENSION]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        place[axis] = Policy::in_slab(policy, site[axis], axis, system.cells[axis]) * system.cell_shape[axis];
    }
}

// In units of the widest edge of a cell: from places relative to the corner of a cell.
INLINE void straighten_place(float (&place)[DIMENSION]) {
#if TILTED
    place[0] = __fmaf_rn((float)mul(flow.tilt, system.aspect), place[1], place[0]);
#endif
}

INLINE void store_coarse(const Site (&site)[SITE_COMPONENTS], u32 p) {
    float place[DIMENSION];
    place_in_cell(site, place);
    straighten_place(place);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) system.coarse_place[axis][p] = half_of(place[axis]);
}

// Minus the enlarged square of a reach.
INLINE Half2 coarse_limit(double reach2) {
    float reach = sqrtf((float)reach2) * system.inv_cell + COARSE_ERROR;
    // Rounded to 16 bits, the limit may become smaller by 2^-11 of itself.
    return half2_of(-(reach * reach * 1.0005f + 0.0011f));
}

// The particle as seen from a cell around its own.
INLINE void seen_from(const float (&place)[DIMENSION], u32 rank_and_offset, Half2 (&seen)[DIMENSION]) {
    float from_cell[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        float digit = (float)(rank_and_offset >> (RANK_BITS + 2 * axis) & 3);
        from_cell[axis] = __fmaf_rn(-digit, system.cell_shape[axis], place[axis] + system.cell_shape[axis]);
    }
    straighten_place(from_cell);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) seen[axis] = half2_of(from_cell[axis]);
}

// r^2 - limit of candidates `first` (a multiple of four) to `first + 3`, two a word.
INLINE void beyond_limit(const Half2 (&seen)[DIMENSION], Half2 limit, u32 first, Half2 &low, Half2 &high) {
    low = high = limit;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        uint2 four = *(const uint2 *)(system.coarse_place[axis] + first);
        Half2 a = sub_half2(seen[axis], four.x), b = sub_half2(seen[axis], four.y);
        low = fused_half2(a, a, low);
        high = fused_half2(b, b, high);
    }
}

// A block of 32 candidates from `base` on has candidate 2 i in bit i and candidate 2 i + 1 in bit 16 + i.
INLINE u32 bit_of_candidate(u32 k) { return (k >> 1) | (k & 1) << 4; }
INLINE u32 candidate_of_bit(u32 bit) { return (bit & 15) << 1 | bit >> 4; }

// The candidates [first, last) of the block, in these bits.
INLINE u32 candidates(u32 first, u32 last) {
    u32 even = ((1u << ((last + 1) >> 1)) - 1) & ~((1u << ((first + 1) >> 1)) - 1);
    u32 odd = ((1u << (last >> 1)) - 1) & ~((1u << (first >> 1)) - 1);
    return even | odd << 16;
}

// Words of candidates within the limit that wait for being written. Written cell by cell, the lanes of a warp would wait for
// the one that has found most in each; all together they have about as many.
#define MOST_WAITING 40

struct Waiting {
    u32 base[MOST_WAITING];
    u32 near[MOST_WAITING];
    u32 count;
};

template <typename Search>
INLINE void write_waiting(Waiting &waiting, const Reach &reach, const Site *sites, Search &search) {
    u32 near = 0, base = 0;
    for (u32 word = 0; near != 0 || word < waiting.count; near &= near - 1) {
        if (near == 0) {
            near = waiting.near[word];
            base = waiting.base[word];
            ++word;
        }
        u32 entry = base + candidate_of_bit(__ffs(near) - 1);
#if DIAMETERS
        // The limit was that of the widest neighbors.
        Site other[SITE_COMPONENTS];
        load_site(sites, entry, other);
        Real displacement[DIMENSION], length[DIMENSION];
        if (!reach.holds(distance2(search.site, other, displacement, length), search.site, other)) continue;
#endif
        search.pending.put(search.writer, search.length++, entry);
    }
    waiting.count = 0;
}

// Finds the particles [first, last) of one cell and species that are within the limit.
template <typename Search>
INLINE void add_coarsely(const Half2 (&seen)[DIMENSION], Half2 limit, u32 first, u32 last, const Reach &reach, const Site *sites,
                         Search &search, Waiting &waiting) {
    for (u32 base = first & ~3u; base < last; base += 32) {
        u32 end = last - base < 32 ? last - base : 32, tested = (end + 7) & ~7u, near = 0;
#pragma unroll 1
        for (u32 k = 0; k < tested; k += 8) {
            Half2 words[4];
            beyond_limit(seen, limit, base + k, words[0], words[1]);
            beyond_limit(seen, limit, base + k + 4, words[2], words[3]);
#pragma unroll
            for (int word = 0; word < 4; ++word) near = near >> 1 | (words[word] & 0x80008000u);
        }
        near >>= 16 - (tested >> 1);
        u32 valid = candidates(first > base ? first - base : 0, end);
        near &= valid;
        u32 far = valid & ~near;
        if (far != 0) search.filling = base + candidate_of_bit(__ffs(far) - 1);
        // The particle is no neighbor of itself.
        u32 self = search.particle - base;
        if (self < 32) near &= ~(1u << bit_of_candidate(self));
        if (near == 0) continue;
        if (waiting.count == MOST_WAITING) write_waiting(waiting, reach, sites, search);
        waiting.base[waiting.count] = base;
        waiting.near[waiting.count++] = near;
    }
}
