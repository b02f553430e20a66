// Sorting of the particles and building of their neighbor lists, on the whole grid of blocks.
//
// One counting sort over bins gives the order of memory and the cell lists. Bins follow groups of cells along the
// Hilbert curve, species, cells of the group; inside a bin the order is that of the ids, so that it does not depend on who
// came first.
#pragma once
#include "md/by_bytes.cuh"
#include "md/coarse.cuh"
#include "md/expected_sites.cuh"
#include "md/list_writer.cuh"
#if DOMAIN
#include "domain/tiles.cuh"
#endif

// Whether there is no particle at a place among those that are to be sorted.
#if DOMAIN
INLINE bool has_left(u32 p) { return halo.destination[p] == HAS_LEFT; }
#else
INLINE bool has_left(u32) { return false; }
#endif

// The sites that lists are to be made around, before particles are sorted: those at which they are expected by an outlook from the present
// ones. Ranks know them already.
INLINE const Site *sites_before(const Site *present) {
#if DOMAIN
    return halo.expected;
#else
    return present;
#endif
}

// Rank along the curve of the cell that holds a site.
INLINE u32 cell_of(const Site (&site)[SITE_COMPONENTS]) {
    u32 flat = 0;
#pragma unroll
    for (int axis = DIMENSION - 1; axis >= 0; --axis) {
        flat = flat * system.cells[axis] + Policy::slab(policy, site[axis], axis, system.cells[axis]);
    }
    return system.cell_rank[flat];
}

// Bin of a cell and species.
INLINE u32 bin_number(u32 rank, u32 species) {
    u32 in_group = rank & ((1u << system.group_log2) - 1), group = rank - in_group;
    return group * SPECIES_COUNT + (species << system.group_log2) + in_group;
}

// Where particles need not lie beside their neighbors, those with lists of one length do, by the lists so far: the lanes of a
// warp then end their walk together. Sums do not depend on the order where they are integers.
INLINE u32 bin_of_particle(const Particles &particles, const Site (&site)[SITE_COMPONENTS], u32 p) {
#if BY_LENGTH
    if (system.lanes_log2 == 0) {
        u32 rows = system.row_ends[(size_t)p * SPECIES_COUNT + SPECIES_COUNT - 1], last = (1u << system.group_log2) - 1;
        return bin_number(rows < last ? rows : last, particles.species[p]);
    }
#endif
    return bin_number(cell_of(site), particles.species[p]);
}

// Particles of each bin, and the place of each particle among those of its bin, by the sites at which they are expected from these; for
// the particles at the first places.
INLINE void count_bins(const Particles &particles, const Site *sites, u32 places, Outlook outlook = no_outlook()) {
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < places; p += gridDim.x * blockDim.x) {
        if (has_left(p)) continue;
        Site site[SITE_COMPONENTS];
        load_expected_site(particles, sites, p, outlook, site);
        u32 bin = bin_of_particle(particles, site, p);
        system.bin_of[p] = bin;
        system.slot_of[p] = atomicAdd(system.bin_count + bin, 1u);
    }
}

// Sums over the counts before each, from `base` on, and over all after the last; leaves the counts at zero for the next
// time.
INLINE void prefix_sums(u32 *counts, u32 *starts, u32 length, u32 base) {
    u32 first, last;
    share_of_block(length, first, last);
    u32 sum = 0;
    for (u32 k = first + threadIdx.x; k < last; k += blockDim.x) sum += counts[k];
    sum = block_sum(sum);
    if (threadIdx.x == 0) system.block_total[blockIdx.x] = sum;
    synchronize(false);
    u32 before = 0;
    for (u32 block = threadIdx.x; block < blockIdx.x; block += blockDim.x) before += system.block_total[block];
    before = base + block_sum(before);
    for (u32 from = first; from < last; from += blockDim.x) {
        u32 k = from + threadIdx.x;
        u32 count = k < last ? counts[k] : 0;
        u32 total;
        u32 start = before + block_prefix(count, total);
        if (k < last) {
            starts[k] = start;
            counts[k] = 0;
        }
        before += total;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) starts[length] = before;
    synchronize(false);
}

INLINE void move_particle(const Particles &from, const Particles &to, const Site *sites,
                          Site *sorted_sites, u32 source, u32 place, Outlook outlook) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        to.position[axis][place] = from.position[axis][source];
        to.velocity[axis][place] = from.velocity[axis][source];
        to.image[axis][place] = from.image[axis][source];
    }
    to.id[place] = from.id[source];
    to.species[place] = from.species[source];
    Site site[SITE_COMPONENTS];
    load_site(sites, source, site);
    store_site(sorted_sites, place, site);
    load_expected_site(from, sites_before(sites), source, outlook, site);
    store_site(system.reference, place, site);
    if (system.coarse) store_coarse(site, place);
}

// Copies the particles at the first places, and their sites, into the other copy, sorted by bin and id. The lists' reference are the sites
// at which they are expected.
INLINE void sort_particles(u32 &copy, u32 &site_copy, u32 places, Outlook outlook = no_outlook()) {
    const Particles &from = system.particles[copy], &to = system.particles[copy ^ 1];
    const Site *sites = system.sites[site_copy];
    count_bins(from, sites_before(sites), places, outlook);
    synchronize(false);
    prefix_sums(system.bin_count, system.bin_start, system.bins, 0);
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 p = thread; p < places; p += threads) {
        if (has_left(p)) continue;
        u32 slot = system.bin_start[system.bin_of[p]] + system.slot_of[p];
        system.sorted[slot] = (u64)from.id[p] << 32 | p;
    }
    synchronize(false);
    for (u32 slot = thread; slot < system.count; slot += threads) {
        u64 key = system.sorted[slot];
        u32 source = (u32)key;
        u32 bin = system.bin_of[source];
        u32 first = system.bin_start[bin], last = system.bin_start[bin + 1], place = first;
        for (u32 other = first; other < last; ++other) place += system.sorted[other] < key ? 1 : 0;
        move_particle(from, to, sites, system.sites[site_copy ^ 1], source, place, outlook);
    }
    copy ^= 1;
    site_copy ^= 1;
    synchronize(false);
}

// How a list is searched for: by the lanes of a group together, whose finds are written lane by lane or alternate; by one lane alone, or by one lane with
// 16-bit floats.
enum SearchKind { TOGETHER, ALTERNATING, SINGLE_LANE, COARSE };

// Adds the particles [first, last) that are within reach: 32 candidates of each lane are tested at a time.
template <int KIND, typename Sites>
INLINE void add_candidates(const Group &group, const Sites &sites, const Reach &reach, u32 first, u32 last, Search &search) {
    constexpr bool BY_ONE = KIND == SINGLE_LANE;
    const u32 lanes_log2 = BY_ONE ? 0 : group.lanes_log2, lanes = 1u << lanes_log2;
    for (u32 base = first; base < last; base += 32 << lanes_log2) {
        u32 start = BY_ONE ? base : base + group.member, near = 0;
        u32 mine = start < last ? (last - start + lanes - 1) >> lanes_log2 : 0;
        mine = mine < 32 ? mine : 32;
#pragma unroll 4
        for (u32 k = 0; k < mine; ++k) {
            Site x[SITE_COMPONENTS];
            load_site(sites, start + (k << lanes_log2), x);
            Real displacement[DIMENSION], along[DIMENSION];
            Real r2 = distance2(search.site, x, displacement, along);
            near |= (reach.holds(r2, search.site, x) ? 1u : 0u) << k;
        }
        u32 far = ~near & (mine == 32 ? ~0u : (1u << mine) - 1);
        if (far != 0) search.filling = start + ((u32)(__ffs(far) - 1) << lanes_log2);
        // The particle is no neighbor of itself.
        u32 self = search.particle - start;
        if (self < 32u << lanes_log2 && (self & (lanes - 1)) == 0) near &= ~(1u << (self >> lanes_log2));
        if (KIND == ALTERNATING) {
            // The first one that each lane has found, then the second ones: lanes of the pair loop that read sites together find them in different banks.
            const u32 lanes_below = group.mask & ((1u << group.lane) - 1);
            for (;;) {
                const u32 have_more = __ballot_sync(group.mask, near != 0) & group.mask;
                if (have_more == 0) break;
                if (near != 0) {
                    u32 entry = start + ((u32)(__ffs(near) - 1) << lanes_log2);
                    search.writer.put(search.length + __popc(have_more & lanes_below), entry);
                    near &= near - 1;
                }
                search.length += __popc(have_more);
            }
            continue;
        }
        u32 found = __popc(near), index = search.length;
        if (BY_ONE) {
            search.length += found;
        } else {
            u32 inclusive = found;
            for (u32 offset = 1; offset < lanes; offset <<= 1) {
                u32 below = __shfl_up_sync(group.mask, inclusive, offset, lanes);
                if (group.member >= offset) inclusive += below;
            }
            index += inclusive - found;
            search.length += __shfl_sync(group.mask, inclusive, lanes - 1, lanes);
        }
        for (; near != 0; near &= near - 1, ++index) {
            u32 entry = start + ((u32)(__ffs(near) - 1) << lanes_log2);
            if (BY_ONE) {
                search.pending.put(search.writer, index, entry);
            } else {
                search.writer.put(index, entry);
            }
        }
    }
}

#if !DOMAIN
// The tiles whose lists a warp builds. A block has a row of neighbors on the curve, which see the same cells.
struct TileTurns {
    u32 tile;

    INLINE TileTurns(u32 count) {
        u32 first;
        share_of_block(count, first, last);
        tile = first + (threadIdx.x >> 5) - (blockDim.x >> 5);
    }
    INLINE bool next() {
        tile += blockDim.x >> 5;
        return tile < last;
    }

private:
    u32 last;
};
#endif

// Particles of a bin: own ones and, for tiles of the boundary, ghosts. Most bins have only one of both.
struct Candidates {
    u32 first, last;
#if DOMAIN
    u32 first_ghost, last_ghost;
#endif

    INLINE void load(u32 bin, bool with_ghosts) {
        first = system.bin_start[bin];
        last = system.bin_start[bin + 1];
#if DOMAIN
        first_ghost = with_ghosts ? halo.ghost_start[bin] : 0;
        last_ghost = with_ghosts ? halo.ghost_start[bin + 1] : 0;
#endif
    }

    // `search(first, last, are ghosts)` for what there is.
    template <typename Visit>
    INLINE void visit(Visit search) const {
#if DOMAIN
        // Lanes with ghosts alone and those with own particles alone search at once.
        bool ghosts = first == last;
        u32 from = ghosts ? first_ghost : first, to = ghosts ? last_ghost : last;
#pragma unroll 1
        for (;;) {
            if (from < to) search(from, to, ghosts);
            if (ghosts || first_ghost == last_ghost) break;
            ghosts = true;
            from = first_ghost;
            to = last_ghost;
        }
#else
        search(first, last, false);
#endif
    }
};

INLINE bool has_ghosts_around(u32 tile) {
#if DOMAIN
    return halo.boundary[tile] == BOUNDARY;
#else
    return false;
#endif
}

// Lists of all particles from the sorted sites. Returns whether a list had no room.
template <int KIND>
static __device__ __noinline__ bool build_lists(const Particles &particles, const Site *sites) {
    constexpr bool BY_ONE = KIND == SINGLE_LANE || KIND == COARSE;
    Group group = group_of();
    bool full = false;
    TileTurns turns(tile_count(group));
    while (turns.next()) {
        const u32 tile = turns.tile;
        Search search;
        if (!search.begin(group, tile, sites)) continue;
        u32 species = particles.species[search.particle];
        const bool with_ghosts = has_ghosts_around(tile);
        const u32 *around = system.around + (size_t)cell_of(search.site) * system.around_count;
        float place[DIMENSION];
        Waiting waiting;
        waiting.count = 0;
        if (KIND == COARSE) place_in_cell(search.site, place);
        for (u32 b = 0; b < SPECIES_COUNT; ++b) {
            const Reach reach(species, b);
            Half2 limit = KIND == COARSE ? coarse_limit(reach.farthest2(search.site)) : 0;
            search.filling = search.particle;
            u32 cell = around[0];
            Candidates next;
            next.load(bin_number(cell & ((1u << RANK_BITS) - 1), b), with_ghosts);
            for (u32 k = 0; k < system.around_count; ++k) {
                u32 this_cell = cell;
                const Candidates candidates = next;
                if (k + 1 < system.around_count) {
                    cell = around[k + 1];
                    next.load(bin_number(cell & ((1u << RANK_BITS) - 1), b), with_ghosts);
                }
                candidates.visit([&](u32 first, u32 last, bool ghosts) {
                    u32 filling = search.filling;
                    if (KIND == COARSE) {
                        Half2 seen[DIMENSION];
                        seen_from(place, this_cell, seen);
                        add_coarsely(seen, limit, first, last, reach, sites, search, waiting);
                    } else {
                        add_candidates<KIND>(group, sites, reach, first, last, search);
                    }
                    // A list is not filled up with ghosts: their sites may be on their way while it is walked.
                    if (ghosts) search.filling = filling;
                });
            }
            if (KIND == COARSE) write_waiting(waiting, reach, sites, search);
            if (!BY_ONE) share_filling(group, search);
            end_segment<BY_ONE>(group, b, search);
        }
        full |= is_too_long<BY_ONE>(group, search);
    }
    return full;
}

// Whether what lanes find alternates in lists: with fewer lanes it would take longer than it gains. Where sums depend on the order of their terms, that
// stays as it is.
INLINE bool finds_alternate() { return !DOMAIN && IS_INTEGER<Sum> && system.lanes_log2 >= 3; }

// Lists of all particles; returns whether one had no room.
INLINE bool build_all_lists(const Particles &particles, const Site *sites) {
    bool full;
    if (finds_alternate()) full = build_lists<ALTERNATING>(particles, sites);
    else if (system.lanes_log2 != 0) full = build_lists<TOGETHER>(particles, sites);
    else full = system.coarse ? build_lists<COARSE>(particles, sites) : build_lists<SINGLE_LANE>(particles, sites);
    return synchronize(full);
}

// Sorts and builds the lists around expected sites; the other copies of particles and sites are valid after. Returns whether
// a list had no room.
static __device__ __noinline__ bool rebuild(u32 copy, u32 site_copy, Outlook outlook) {
    i64 start = clock64();
    note_lists();
    sort_particles(copy, site_copy, system.count, outlook);
    i64 sorted = clock64();
    const Particles &particles = system.particles[copy];
#if ALL_CANDIDATES
    bool full = system.lanes_log2 == 0 ? synchronize(build_lists_by_bytes(particles, site_copy)) : build_all_lists(particles, system.reference);
#else
    bool full = build_all_lists(particles, system.reference);
#endif
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        system.control->rebuilds += 1;
        if (full) system.control->status = STATUS_LISTS_FULL;
        system.control->cycles[2] += (u64)(sorted - start);
        system.control->cycles[3] += (u64)(clock64() - sorted);
    }
    return full;
}

// The same in a step of a run; `damping`: what friction leaves of a velocity in a step, `has_forces`: the pass before has stored them.
INLINE bool rebuild_in_step(u32 copy, u32 site_copy, u64 step, double damping, bool has_forces) {
#if LOOKS_AHEAD
    // Modulo 2^64: a run that begins with a checkpoint counts steps anew.
    u64 life = step - *(volatile u64 *)&system.control->lists_made_in[0];
    bool full = rebuild(copy, site_copy, Outlook{steps_ahead(life, damping), has_forces});
    if (blockIdx.x == 0 && threadIdx.x == 0 && !full) {
        u64 *made = system.control->lists_made_in;
        made[1] = made[0];
        made[0] = step;
    }
    return full;
#else
    return rebuild(copy, site_copy, no_outlook());
#endif
}
