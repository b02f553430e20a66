// Choosing of ghosts, and the lists with them.
#pragma once
#include "domain/flow.cuh"
#include "domain/halo.cuh"
#include "md/rebuild.cuh"

// A ghost when it is chosen, at the site that lists are made around; later only its present site travels.
struct GhostRecord {
    Site site[SITE_STRIDE];
    u32 id;
    u32 species;
    // Entry of what the owner sends.
    u32 entry;
    u32 unused;
};

// Least square of the length of `(d_x + s d_y, d_y)` for differences of at least these gaps: `across` of
// src/engine/domain/grid.rs.
INLINE double across(double x, double y, double s) {
    double stretch = 1.0 + s * s, along = x - s * y;
    if (s * y >= x) return y * y;
    if (s * x >= stretch * y) return x * x / stretch;
    return along * along + y * y;
}

// Squared distance of a position in the box from a neighbor's domain, to its nearest image: `DomainGrid::distance2`.
INLINE double distance2_from(u32 neighbor, const double (&position)[DIMENSION]) {
    double gaps[3] = {0.0, 0.0, 0.0};
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        if (halo.domains[axis] == 1) continue;
        double lower = halo.lower[neighbor][axis], upper = halo.upper[neighbor][axis], x = position[axis];
        double below = x < lower ? lower - x : lower - x + halo.edge[axis];
        double above = x >= upper ? x - upper : x - upper + halo.edge[axis];
        gaps[axis] = x >= lower && x < upper ? 0.0 : below < above ? below : above;
    }
    return across(gaps[0], gaps[1], slope_of_box()) + gaps[2] * gaps[2];
}

// The neighbors that need a particle at a site as a ghost, a bit each.
INLINE u32 receivers_of(const Site (&site)[SITE_COMPONENTS]) {
    double position[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) position[axis] = Policy::site_to_f64(policy, site[axis], axis);
    u32 receivers = 0;
    for (u32 j = 0; j < halo.neighbors; ++j) receivers |= (distance2_from(j, position) < halo.reach2 ? 1u : 0u) << j;
    return receivers;
}

// Whether a site may be within reach of another domain, decided with 32-bit floats: of no particle that is sent is it untrue.
INLINE bool is_near_boundary(const Site (&site)[SITE_COMPONENTS]) {
    bool near = false;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        float place = Policy::in_slab(policy, site[axis], axis, halo.domains[axis]), margin = halo.margin[axis];
        near |= place < margin || place > 1.0f - margin;
    }
    return near;
}

// Takes `count` numbers from a counter for each lane, with one addition a warp; returns the lane's first.
INLINE u32 take_numbers(u32 *counter, u32 wanted) {
    u32 lane = threadIdx.x & 31, inclusive = wanted;
    for (u32 offset = 1; offset < 32; offset <<= 1) {
        u32 below = __shfl_up_sync(~0u, inclusive, offset);
        if (lane >= offset) inclusive += below;
    }
    u32 first = 0;
    if (lane == 31 && inclusive > 0) first = atomicAdd(counter, inclusive);
    return __shfl_sync(~0u, first, 31) + inclusive - wanted;
}

// Whole warps go over the own particles at the sites that lists are made around, and `send(p, j, entry, number)` is called for each particle that a neighbor
// needs as a ghost; `number` is that among what this neighbor gets. The entries of a tile follow each other: their first
// and how many they are, and the tile's region, are written. All threads of the grid come here, all counters are zero.
template <typename Send>
INLINE void send_all(Send send) {
    Group group = group_of();
    u32 lane = threadIdx.x & 31;
    u32 first = blockIdx.x * blockDim.x + threadIdx.x - lane;
    for (; first < system.count; first += gridDim.x * blockDim.x) {
        u32 p = first + lane;
        bool active = p < system.count;
        Site site[SITE_COMPONENTS];
        load_site(system.reference, active ? p : 0, site);
        u32 receivers = active && is_near_boundary(site) ? receivers_of(site) : 0, count = __popc(receivers);
        // Lanes of one tile, and those of them that send something.
        u32 lanes = group.particles == 32 ? ~0u : ((1u << group.particles) - 1) << (lane & ~(group.particles - 1));
        u32 sending = __ballot_sync(~0u, receivers != 0);
        u32 entry = sending == 0 ? 0 : take_numbers(&halo.control->sent, count);
        if (active && (lane & (group.particles - 1)) == 0) {
            u32 tile = p / group.particles;
            halo.boundary[tile] = (sending & lanes) != 0 ? BOUNDARY : INTERIOR;
            halo.send_start[tile] = entry;
            if ((sending & lanes) == 0) halo.send_end[tile] = entry;
        }
        if (sending == 0) continue;
        // The last lane that sends something knows where the tile's entries end.
        if (receivers != 0 && (sending & lanes) >> lane == 1) halo.send_end[p / group.particles] = entry + count;
        for (u32 j = 0; j < halo.neighbors; ++j) {
            bool needs = receivers >> j & 1;
            if (!__any_sync(~0u, needs)) continue;
            u32 number = take_numbers(halo.control->for_neighbor + j, needs ? 1 : 0);
            if (needs) send(p, j, entry++, number);
        }
    }
}

// Counts what is sent, by neighbor.
extern "C" __global__ void __launch_bounds__(256) count_sent() {
    enter_system();
    send_all([](u32, u32, u32, u32) {});
}

// Chooses what is sent.
extern "C" __global__ void __launch_bounds__(256) choose_sent() {
    enter_system();
    send_all([&](u32 p, u32 j, u32 entry, u32 number) {
        halo.send_own[entry] = p;
        halo.send_slot[entry] = j << SLOT_BITS | number;
    });
}

INLINE void write_ghost(const Particles &particles, u32 p, u32 entry, GhostRecord *to) {
    load_ghost(system.reference, p, to->site, 0);
    to->id = particles.id[p];
    to->species = particles.species[p];
    to->entry = entry;
}

// Puts all that is sent into the messages.
extern "C" __global__ void __launch_bounds__(256) pack_ghosts() {
    const Particles &particles = system.particles[system.control->copy];
    for (u32 entry = blockIdx.x * blockDim.x + threadIdx.x; entry < halo.sent; entry += gridDim.x * blockDim.x) {
        u32 p = halo.send_own[entry], slot = halo.send_slot[entry];
        GhostRecord *to = (GhostRecord *)message_to(slot >> SLOT_BITS) + (slot & ((1u << SLOT_BITS) - 1));
        write_ghost(particles, p, entry, to);
    }
}

INLINE const GhostRecord &arrival(const Starts &starts, u32 i, u32 half) {
    u32 j = neighbor_of(starts, i, halo.neighbors);
    return ((const GhostRecord *)message_from(j, half))[i - starts.start[j]];
}

// Sorts the ghosts that have come by bin and id, and puts them after the own particles. `placed(i, ghost, place)` is
// called for each.
template <typename Placed>
INLINE void place_ghosts(const Particles &particles, const Starts &starts, u32 half, Placed placed) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 ghosts = starts.start[halo.neighbors];
    for (u32 i = thread; i < ghosts; i += threads) {
        const GhostRecord &ghost = arrival(starts, i, half);
        Site site[SITE_COMPONENTS];
        load_site(ghost.site, 0, site);
        u32 bin = bin_number(cell_of(site), ghost.species);
        halo.ghost_bin[i] = bin;
        halo.ghost_slot[i] = atomicAdd(system.bin_count + bin, 1u);
    }
    synchronize(false);
    prefix_sums(system.bin_count, halo.ghost_start, system.bins, system.count);
    for (u32 i = thread; i < ghosts; i += threads) {
        u32 slot = halo.ghost_start[halo.ghost_bin[i]] - system.count + halo.ghost_slot[i];
        halo.ghost_sorted[slot] = (u64)arrival(starts, i, half).id << 32 | i;
    }
    synchronize(false);
    for (u32 slot = thread; slot < ghosts; slot += threads) {
        u64 key = halo.ghost_sorted[slot];
        u32 i = (u32)key, bin = halo.ghost_bin[i];
        u32 first = halo.ghost_start[bin] - system.count, last = halo.ghost_start[bin + 1] - system.count, place = first;
        for (u32 other = first; other < last; ++other) place += halo.ghost_sorted[other] < key ? 1 : 0;
        place += system.count;
        const GhostRecord &ghost = arrival(starts, i, half);
        particles.id[place] = ghost.id;
        particles.species[place] = (u8)ghost.species;
        Site site[SITE_COMPONENTS];
        load_site(ghost.site, 0, site);
        // Present sites come later.
        store_site(system.reference, place, site);
        store_site(system.sites[0], place, site);
        store_site(system.sites[1], place, site);
        if (system.coarse) store_coarse(site, place);
        halo.ghost_place[i] = place;
        placed(i, ghost, place);
    }
    synchronize(false);
}

// The order of the tiles by region, which `send_all` has left; all lists are to be built.
INLINE void order_tiles() {
    if (threadIdx.x == 0) halo.tiles_taken[blockIdx.x] = 0;
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 tiles = tile_count(group_of());
    u32 *is_boundary = system.slot_of;
    for (u32 tile = thread; tile < tiles; tile += threads) is_boundary[tile] = halo.boundary[tile] == BOUNDARY;
    synchronize(false);
    prefix_sums(is_boundary, halo.order_start, tiles, 0);
    u32 boundary = halo.order_start[tiles];
    for (u32 tile = thread; tile < tiles; tile += threads) {
        u32 before = halo.order_start[tile];
        halo.tile_order[halo.boundary[tile] == BOUNDARY ? before : boundary + tile - before] = tile;
    }
    synchronize(false);
}

// Sorts the own particles.
extern "C" __global__ void __launch_bounds__(REBUILDING_BLOCK, 1) sort_own() {
    begin_grid();
    u32 copy = system.control->copy, site_copy = system.control->site_copy;
    synchronize(false);
    sort_particles(copy, site_copy, halo.extent);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        system.control->copy = copy;
        system.control->site_copy = site_copy;
    }
}

// Places the ghosts and builds the lists. `recount`: the cells are others than those that the particles were sorted by.
extern "C" __global__ void __launch_bounds__(REBUILDING_BLOCK, 1) build_with_ghosts(u32 recount, u32 half) {
    begin_grid();
    const Particles &particles = system.particles[system.control->copy];
    if (recount) {
        count_bins(particles, system.reference, halo.extent);
        synchronize(false);
        prefix_sums(system.bin_count, system.bin_start, system.bins, 0);
        if (system.coarse) {
            for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
                Site site[SITE_COMPONENTS];
                load_site(system.reference, p, site);
                store_coarse(site, p);
            }
        }
    }
    place_ghosts(particles, halo.arrivals, half, [](u32, const GhostRecord &, u32) {});
    order_tiles();
    bool full = build_all_lists(particles, system.reference);
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    store_box_of_lists();
    if (full) system.control->status = STATUS_LISTS_FULL;
}

// Sends the places of ghosts back to whom they come from.
extern "C" __global__ void __launch_bounds__(256) pack_places() {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < halo.ghosts; i += gridDim.x * blockDim.x) {
        u32 j = neighbor_of(halo.arrivals, i, halo.neighbors);
        ((u32 *)message_to(j))[i - halo.arrivals.start[j]] = halo.ghost_place[i];
    }
}
extern "C" __global__ void __launch_bounds__(256) take_places(u32 half) {
    for (u32 entry = blockIdx.x * blockDim.x + threadIdx.x; entry < halo.sent; entry += gridDim.x * blockDim.x) {
        u32 slot = halo.send_slot[entry];
        halo.send_remote[entry] = ((const u32 *)message_from(slot >> SLOT_BITS, half))[slot & ((1u << SLOT_BITS) - 1)];
    }
}

// The sites of what is sent, for the neighbors.
extern "C" __global__ void __launch_bounds__(256) pack_sites() {
    const Site *sites = system.sites[system.control->site_copy];
    for (u32 entry = blockIdx.x * blockDim.x + threadIdx.x; entry < halo.sent; entry += gridDim.x * blockDim.x) {
        u32 slot = halo.send_slot[entry];
        load_ghost(sites, halo.send_own[entry], (Site *)message_to(slot >> SLOT_BITS), slot & ((1u << SLOT_BITS) - 1));
    }
}
extern "C" __global__ void __launch_bounds__(256) take_sites(u32 half) {
    Site *sites = system.sites[system.control->site_copy];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < halo.ghosts; i += gridDim.x * blockDim.x) {
        u32 j = neighbor_of(halo.arrivals, i, halo.neighbors);
        load_ghost((const Site *)message_from(j, half), i - halo.arrivals.start[j], sites, halo.ghost_place[i]);
    }
}
