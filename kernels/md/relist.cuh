// New lists of a small system whose blocks have all sites in shared memory (`md/tagged.cuh`): each block makes those of its own particles, which stay
// where they are in memory.
//
// All particles are candidates. They are looked at by their places in 7 bits an axis, four bytes in a word: the difference of two words is, byte by byte,
// twice that of the nearest images and one more, where the lowest bit of one of them takes what the byte below borrows. A sum of squares of the bytes
// leaves out most of the pairs beyond the reach, and the sites decide on the rest.
//
// Candidates are taken by their class, the place modulo eight, by another lane each. The lanes of a particle add what they have found in turn, so that
// in the pair loop they read neighbors of different classes: these lie in different banks of shared memory.
#pragma once
#include "md/list_writer.cuh"
#include "md/rebuild.cuh"
#include "md/staged.cuh"

#if RELISTING
static_assert(DIMENSION == 3 && sizeof(Site) == 4 && sizeof(Real) == 4, "sites are fractions of the box");

#if TILTED
// Whether bytes tell how far particles are apart: not where coordinates are skewed.
#define BY_CLASSES 0
#else
#define BY_CLASSES 1
#endif

#define CLASSES_LOG2 3
#define CLASSES (1u << CLASSES_LOG2)

#if BY_CLASSES
// Words of candidates that a lane keeps before it writes what it has found.
#define MOST_WORDS 16

// Places of a class follow each other, classes begin in different banks, and a whole word of candidates may be read where fewer are left: as
// `staged_bytes` in src/engine/cuda/single_rank/mod.rs.
INLINE u32 stride_of_class() { return (system.count / CLASSES + 36 + 31) / 32 * 32 + 4; }
// Behind the staged sites.
INLINE u32 *words_of_class(u32 of_class) {
    return (u32 *)(staged_memory() + (size_t)system.count * SITE_STRIDE) + of_class * stride_of_class();
}
INLINE u32 place_word(const Site (&site)[SITE_COMPONENTS]) {
    return ((u32)site[0] >> 24 & 0xFE) | ((u32)site[1] >> 16 & 0xFE00) | ((u32)site[2] >> 8 & 0xFE0000);
}
// All threads of the block come here, and see the words after its next barrier.
INLINE void store_place_words(const StagedSites &sites) {
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        Site site[SITE_COMPONENTS];
        load_site(sites, p, site);
        words_of_class(p % CLASSES)[p / CLASSES] = place_word(site);
    }
}

// Minus the square of a reach in halves of the shortest edge / 128, enlarged by the errors of the bytes: less than three along each axis, and one of
// the unused byte.
INLINE i32 minus_reach_of_words(double reach2) {
    float shortest = (float)policy.site_length[0];
    for (int axis = 1; axis < DIMENSION; ++axis) shortest = fminf(shortest, (float)policy.site_length[axis]);
    float reach = sqrtf((float)reach2) / (shortest * 33554432.0f) * 2.0f * 1.0001f + 3.0f * 1.7321f;
    return -(i32)(reach * reach) - 3;
}

// Bit 31 - k: whether candidate k of 32 may be within reach.
INLINE u32 near_by_words(const u32 *words, u32 own, i32 minus_reach2) {
    u32 near = 0;
#pragma unroll
    for (u32 k = 0; k < 32; k += 8) {
        u32 of_eight = 0;
#pragma unroll
        for (u32 half = 0; half < 8; half += 4) {
            uint4 four = *(const uint4 *)(words + k + half);
            i32 difference[4] = {(i32)(own - four.x), (i32)(own - four.y), (i32)(own - four.z), (i32)(own - four.w)};
#pragma unroll
            for (int each = 0; each < 4; ++each) of_eight = shifted_in(of_eight, dot4(difference[each], difference[each], minus_reach2));
        }
        near |= of_eight << (24 - k);
    }
    return near;
}

// Words of 32 candidates that a lane looks at: rows of one class, or of several ones after each other; bit 31 - k of a word is the place
// `base() + CLASSES k`.
struct Turns {
    u32 from;
    u32 words;
    u32 lanes_log2;
    u32 of_class;
    u32 word;

    INLINE u32 row() const { return from + 32 * word; }
    INLINE u32 base() const { return row() * CLASSES + of_class; }
    INLINE void go_on() {
        if (++word < words) return;
        word = 0;
        of_class += 1u << lanes_log2;
    }
};

// What has been found in some words, and is taken one by one.
struct Found {
    u32 near[MOST_WORDS];
    u32 count;
    Turns turns;
    // The present word, and what is left of it; the next one is loaded ahead.
    u32 number;
    u32 left;
    u32 next;

    INLINE void begin() {
        number = 0;
        left = near[0];
        next = count > 1 ? near[1] : 0;
    }
    INLINE bool has_more() const { return left != 0 || number + 1 < count; }
    // Goes on to the next word where nothing is left; whether there is a place in it.
    INLINE bool take(u32 &place) {
        if (left == 0 && number + 1 < count) {
            left = next;
            ++number;
            turns.go_on();
            next = number + 1 < count ? near[number + 1] : 0;
        }
        if (left == 0) return false;
        u32 bit = (u32)__clz((i32)left);
        left ^= 0x80000000u >> bit;
        place = turns.base() + CLASSES * bit;
        return true;
    }
};

// Adds the particles [first, last) that are within reach to the list of the lane's particle, which is `active` or is none. All lanes of a warp come here.
INLINE void add_by_classes(const Group &group, bool active, const StagedSites &sites, u32 first, u32 last, double reach2, Search &search) {
    const Real limit2 = (Real)reach2;
    const i32 minus_reach2 = minus_reach_of_words(reach2);
    const u32 own = active ? place_word(search.site) | 0x01010101 : 0, lanes_below = group.mask & ((1u << group.lane) - 1);
    // A lane has several classes, or several lanes have parts of one.
    const u32 lanes_log2 = group.lanes_log2 < CLASSES_LOG2 ? group.lanes_log2 : CLASSES_LOG2, parts_log2 = group.lanes_log2 - lanes_log2;
    const u32 row_from = first / CLASSES & ~3u, row_end = first < last ? (last + CLASSES - 1) / CLASSES : row_from;
    const u32 rows_of_part = (((row_end - row_from + (1u << parts_log2) - 1) >> parts_log2) + 3) & ~3u;
    const u32 part_from = row_from + rows_of_part * (group.member >> lanes_log2);
    const u32 part_end = part_from + rows_of_part < row_end ? part_from + rows_of_part : row_end;
    const u32 words = (rows_of_part + 31) / 32, all_words = words << (CLASSES_LOG2 - lanes_log2);
    Turns turns = {part_from, words, lanes_log2, group.member % CLASSES, 0};
    for (u32 done = 0; done < all_words; done += MOST_WORDS) {
        Found found;
        found.count = all_words - done < MOST_WORDS ? all_words - done : MOST_WORDS;
        found.turns = turns;
        for (u32 k = 0; k < found.count; ++k, turns.go_on()) {
            u32 near = 0;
            const u32 row = turns.row();
            if (active && row < part_end) {
                near = near_by_words(words_of_class(turns.of_class) + row, own, minus_reach2);
                const u32 base = turns.base(), rows = part_end - row;
                u32 begin = first > base ? (first - base + CLASSES - 1) / CLASSES : 0;
                u32 end = last > base ? (last - base + CLASSES - 1) / CLASSES : 0;
                u32 valid = bits_from_top(begin, end < rows ? end : rows), far = valid & ~near;
                near &= valid;
                if (far != 0) search.filling = base + CLASSES * (u32)__clz((i32)far);
            }
            found.near[k] = near;
        }
        found.begin();
        u32 next = 0;
        bool has_next = found.take(next);
        Site x[SITE_COMPONENTS];
        load_site(sites, next, x);
        while (__any_sync(~0u, has_next || found.has_more())) {
            Real displacement[DIMENSION], along[DIMENSION];
            const u32 place = next;
            const bool is_one = has_next, is_near = distance2(search.site, x, displacement, along) < limit2;
            // While this one is looked at.
            has_next = found.take(next);
            load_site(sites, next, x);
            if (is_one && !is_near) search.filling = place;
            // The particle is no neighbor of itself.
            const bool is_neighbor = is_one && is_near && place != search.particle;
            const u32 neighbors = __ballot_sync(~0u, is_neighbor);
            if (is_neighbor) search.writer.put(search.length + __popc(neighbors & lanes_below), place);
            search.length += __popc(neighbors & group.mask);
        }
    }
}
#endif

// Lists of the particles of a block's tiles (`tile_of_block`).
// All blocks come here; returns, alike in all, whether a list had no room.
template <bool IN_TURN>
static __device__ __noinline__ bool relist(const Particles &particles, const StagedSites &sites, u32 first, u32 last) {
    i64 start = clock64();
    note_lists();
    Group group = group_of();
    // With more lanes there are so few candidates for each that looking at their sites is faster.
    const bool by_classes = group.lanes_log2 <= CLASSES_LOG2;
#if BY_CLASSES
    if (by_classes) {
        store_place_words(sites);
        __syncthreads();
    }
#endif
    bool full = false;
    for (u32 number = first + (threadIdx.x >> 5); number < last; number += blockDim.x >> 5) {
        u32 tile = tile_of_block<IN_TURN>(number), p = particle_of(group, tile);
        if (p < system.count && group.member == 0) {
            Site site[SITE_COMPONENTS];
            load_site(sites, p, site);
            store_site(system.reference, p, site);
        }
        Search search;
        const bool active = search.begin(group, tile, sites);
        const u32 species = active ? particles.species[search.particle] : 0;
        for (u32 b = 0; b < SPECIES_COUNT; ++b) {
            search.filling = search.particle;
            // All cells are of one group.
            u32 from = system.bin_start[b << system.group_log2], to = system.bin_start[(b + 1) << system.group_log2];
#if BY_CLASSES
            if (by_classes) add_by_classes(group, active, sites, from, to, system.reach2[species * SPECIES_COUNT + b], search);
#else
            // In a flow neighbors do not lie beside each other for long: what is found comes from many classes as it is.
            if (by_classes && active) add_candidates<TOGETHER>(group, sites, Reach(species, b), from, to, search);
#endif
            if (!by_classes && active) add_candidates<ALTERNATING>(group, sites, Reach(species, b), from, to, search);
            share_filling(group, search);
            if (active) end_segment<false>(group, b, search);
        }
        full |= active && is_too_long<false>(group, search);
    }
    full = synchronize(full);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        system.control->rebuilds += 1;
        if (full && system.control->status == STATUS_DONE) system.control->status = STATUS_LISTS_FULL;
        system.control->cycles[3] += (u64)(clock64() - start);
    }
    return full;
}
#endif
