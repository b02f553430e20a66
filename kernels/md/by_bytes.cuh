// Lists of a small system that one block has to itself, one lane a particle: all particles are candidates.
//
// A place is kept in 8 bits an axis, in units of an edge / 256. The byte-wise difference of two places is that of the nearest
// images, off by less than a unit along each axis, so that a distance is off by less than DIMENSION^(1/2) units: pairs beyond
// the reach by that much are left out by one addition, one logical operation and a sum of squares. Lists are a little longer than
// those of exact distances; testing those here takes longer than walking past the rest.
//
// Candidates are taken by their class, the place modulo eight. Each lane begins with another class, so that the lanes of a
// warp read neighbors of different classes when they walk their lists: these lie in different banks of shared memory.
#pragma once
#include "md/list_writer.cuh"
#include "md/staged.cuh"

#ifndef ALL_CANDIDATES
#define ALL_CANDIDATES 0
#endif
// Whether particles are sorted by the length of their lists (`rebuild.cuh`).
#ifndef BY_LENGTH
#define BY_LENGTH 0
#endif

#if ALL_CANDIDATES
#define CLASSES 8
#define UPPER_BITS 0x80808080u

// Bytes of a place, for a difference without a borrow from byte to byte: all bits but the highest of each byte, and the highest
// ones inverted.
struct PlaceBytes {
    u32 lower;
    u32 not_upper;
};

// Places of a class follow each other; classes begin in different banks.
INLINE u32 stride_of_class(u32 count) { return (count / CLASSES + 5 + 13) / 16 * 16 + 2; }

// After the staged sites, where 16 bytes may be read at once.
INLINE PlaceBytes *place_bytes() {
    u32 bytes = STAGED_COPIES * system.count * (u32)(SITE_STRIDE * sizeof(Site));
    return (PlaceBytes *)((u8 *)staged_memory() + ((bytes + 15) & ~15u));
}
INLINE u32 index_in_classes(u32 place) { return (place & (CLASSES - 1)) * stride_of_class(system.count) + place / CLASSES; }

INLINE u32 bytes_of(const Site (&site)[SITE_COMPONENTS]) {
    u32 bytes = 0;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) bytes |= Policy::slab(policy, site[axis], axis, 256) << (8 * axis);
    return bytes;
}

// Fills in the bytes of all places; all threads of the block must come here.
INLINE void store_place_bytes(const StagedSites &sites) {
    for (u32 p = threadIdx.x; p < system.count; p += blockDim.x) {
        Site site[SITE_COMPONENTS];
        load_site(sites, p, site);
        u32 bytes = bytes_of(site);
        place_bytes()[index_in_classes(p)] = PlaceBytes{bytes & ~UPPER_BITS, ~bytes & UPPER_BITS};
    }
}

// Minus the square of a reach in the units of the bytes, enlarged by their error.
INLINE i32 minus_reach_of_bytes(double reach2) {
    float units = sqrtf((float)reach2) * system.inv_cell / (float)system.cells[0] * 256.0f;
    float reach = units * 1.0001f + (DIMENSION == 3 ? 1.7321f : 1.4143f);
    return -(i32)(reach * reach) - 1;
}

// Bit 31 - k: whether candidate k of those of a class from `row` on is within the reach; `width`, a multiple of four, of them are
// tested.
INLINE u32 near_by_bytes(const PlaceBytes *row, u32 width, u32 with_upper, u32 upper_flipped, i32 minus_reach2) {
    u32 near = 0;
#pragma unroll 4
    for (u32 k = 0; k < width; k += 2) {
        uint4 two = *(const uint4 *)(row + k);
        i32 first = (i32)((with_upper - two.x) ^ upper_flipped ^ two.y), second = (i32)((with_upper - two.z) ^ upper_flipped ^ two.w);
        near = shifted_in(near, dot4(first, first, minus_reach2));
        near = shifted_in(near, dot4(second, second, minus_reach2));
    }
    return width == 32 ? near : near << (32 - width);
}

// Adds the particles [first, last) that are within the enlarged reach.
INLINE void add_by_bytes(u32 first, u32 last, double reach2, Search &search) {
    u32 bytes = bytes_of(search.site);
    // The unused byte of two dimensions is alike everywhere.
    u32 with_upper = bytes | UPPER_BITS, upper_flipped = bytes & UPPER_BITS;
    i32 minus_reach2 = minus_reach_of_bytes(reach2);
    u32 lane = threadIdx.x & 31, row_from = first / CLASSES & ~1u, row_end = (last + CLASSES - 1) / CLASSES;
#pragma unroll 1
    for (u32 turn = 0; turn < CLASSES; ++turn) {
        u32 of_class = (lane + turn) & (CLASSES - 1);
        const PlaceBytes *row = place_bytes() + of_class * stride_of_class(system.count);
#pragma unroll 1
        for (u32 from = row_from; from < row_end; from += 32) {
            u32 left = (row_end - from + 3) & ~3u, width = left < 32 ? left : 32;
            u32 near = near_by_bytes(row + from, width, with_upper, upper_flipped, minus_reach2);
            // Candidate k is at place `base + CLASSES k`.
            u32 base = from * CLASSES + of_class;
            u32 begin = first > base ? (first - base + CLASSES - 1) / CLASSES : 0;
            u32 end = last > base ? (last - base + CLASSES - 1) / CLASSES : 0;
            u32 valid = bits_from_top(begin, end), far = valid & ~near;
            near &= valid;
            if (far != 0) search.filling = base + CLASSES * (u32)__clz((i32)far);
            // The particle is no neighbor of itself.
            u32 self = search.particle - base;
            if (self < 32 * CLASSES && (self & (CLASSES - 1)) == 0) near &= ~(0x80000000u >> (self / CLASSES));
            while (near != 0) {
                u32 k = (u32)__clz((i32)near);
                near &= ~(0x80000000u >> k);
                search.pending.put(search.writer, search.length++, base + CLASSES * k);
            }
        }
    }
}

// Lists of all particles from the sorted reference, which takes the place of the staged sites of this copy. Returns whether a list had no
// room.
static __device__ __noinline__ bool build_lists_by_bytes(const Particles &particles, u32 site_copy) {
    const StagedSites sites = staged_sites(site_copy);
    stage_sites(system.reference, sites);
    __syncthreads();
    store_place_bytes(sites);
    __syncthreads();
    Group group = group_of<true>();
    bool full = false;
    for (u32 tile = threadIdx.x >> 5; tile < tile_count(group); tile += blockDim.x >> 5) {
        Search search;
        if (!search.begin(group, tile, sites)) continue;
        u32 species = particles.species[search.particle];
        for (u32 b = 0; b < SPECIES_COUNT; ++b) {
            search.filling = search.particle;
            // All cells are of one group.
            u32 first = system.bin_start[b << system.group_log2], last = system.bin_start[(b + 1) << system.group_log2];
            if (first < last) add_by_bytes(first, last, system.reach2[species * SPECIES_COUNT + b], search);
            end_segment<true>(group, b, search);
        }
        full |= is_too_long<true>(group, search);
    }
    return full;
}
#endif
