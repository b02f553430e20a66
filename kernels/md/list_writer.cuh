// The growing list of one particle while it is searched for.
#pragma once
#include "md/neighbor_lists.cuh"

// Where its entries go.
struct ListWriter {
    Entry *at;
    u32 lanes_log2;
    u32 rows;
    u32 group_start;

    INLINE void put(u32 index, u32 entry) const {
        u32 lane = group_start + (index & ((1u << lanes_log2) - 1));
        u32 of_lane = index >> lanes_log2;
        u32 row = of_lane >> 2;
        if (row < rows) at[(row * 32 + lane) * 4 + (of_lane & 3)] = (Entry)(entry << ENTRY_LOG2);
    }
};

// The last four entries of a list that one lane makes alone: written together.
struct Pending {
    u32 entry[4];

    INLINE void put(const ListWriter &writer, u32 index, u32 next) {
        entry[0] = entry[1];
        entry[1] = entry[2];
        entry[2] = entry[3];
        entry[3] = next << ENTRY_LOG2;
        if ((index & 3) == 3 && index >> 2 < writer.rows) {
            ((Row *)writer.at)[(index >> 2) * 32 + writer.group_start] = row_of(entry);
        }
    }
};

// What a lane knows of its particle while its list grows.
struct Search {
    u32 particle;
    Site site[SITE_COMPONENTS];
    ListWriter writer;
    // Entries and, for filling up, a particle out of reach.
    u32 length;
    u32 filling;
    Pending pending;

    // Begins with an empty list of the lane's particle in a tile; false: there is none.
    template <typename Sites>
    INLINE bool begin(const Group &group, u32 tile, const Sites &sites) {
        particle = particle_of(group, tile);
        if (particle >= system.count) return false;
        load_site(sites, particle, site);
        Entry *lists = (Entry *)system.list;
        writer = ListWriter{lists + (size_t)tile * system.rows * 128, group.lanes_log2, system.rows, group.lane - group.member};
        length = 0;
        return true;
    }
};

// Lanes that know no particle out of reach take that of another lane of their group: a list that is filled up with its own particle takes the pair
// loop long.
INLINE void share_filling(const Group &group, Search &search) {
    const u32 knowing = __ballot_sync(group.mask, search.filling != search.particle) & group.mask;
    const u32 of_other = __shfl_sync(group.mask, search.filling, knowing != 0 ? __ffs((i32)knowing) - 1 : (int)group.lane);
    if (search.filling == search.particle) search.filling = of_other;
}

// Bits 31 - k for k in [first, last).
INLINE u32 bits_from_top(u32 first, u32 last) {
    u32 from = first < 32 ? ~0u >> first : 0;
    return last < 32 ? from & ~(~0u >> last) : from;
}

// Entries that make a row of the list.
template <bool BY_ONE>
INLINE u32 entries_of_row(const Group &group) { return BY_ONE ? 4 : 4u << group.lanes_log2; }

// Fills the segment of a species up to a whole row, and notes where it ends (`BY_ONE`: one lane makes the whole list).
template <bool BY_ONE>
INLINE void end_segment(const Group &group, u32 species, Search &search) {
    u32 per_row = entries_of_row<BY_ONE>(group);
    u32 end = (search.length + per_row - 1) / per_row * per_row;
    for (u32 index = search.length + (BY_ONE ? 0 : group.member); index < end; index += per_row / 4) {
        if (BY_ONE) {
            search.pending.put(search.writer, index, search.filling);
        } else {
            search.writer.put(index, search.filling);
        }
    }
    search.length = end;
    u32 rows = end / per_row;
    if (BY_ONE || group.member == 0) {
        system.row_ends[(size_t)search.particle * SPECIES_COUNT + species] = rows < system.rows ? rows : system.rows;
    }
}

// Whether the list has no room, which is noted.
template <bool BY_ONE>
INLINE bool is_too_long(const Group &group, const Search &search) {
    if (search.length <= system.rows * entries_of_row<BY_ONE>(group)) return false;
    atomicMax(&system.control->list_need, search.length);
    return true;
}
