// A domain among others: what a rank sends to its neighbors and holds of theirs. Mirrors src/engine/cuda/rank/halo.rs.
//
// Own particles have the places [0, count) in memory and ghosts those from there on, each part sorted by bin and id.
#pragma once
#include "md/neighbor_lists.cuh"

// A domain touches no more others in three dimensions.
#define MOST_NEIGHBORS 26

// Where a particle goes when it migrates; others: number of the neighbor and one.
enum Destination : u8 { STAYS = 0, HAS_LEFT = 255 };

// Which tiles a pass works on: those of the interior hold no particle that is sent, and their lists no ghosts.
enum Region : u32 { INTERIOR = 0, BOUNDARY = 1, EVERYWHERE = 2 };

// Entries of what is sent and arrives by neighbor: `start[j]` is the number of those of the neighbors before.
struct Starts {
    u32 start[MOST_NEIGHBORS + 1];

    INLINE u32 neighbor_of(u32 entry, u32 neighbors) const {
        u32 j = 0;
        while (j + 1 < neighbors && entry >= start[j + 1]) ++j;
        return j;
    }
};

// First step at which a particle had moved further than the lists allow, and first with an error; ~0: none.
struct FirstSteps {
    u64 needs_rebuild;
    u64 fault;
};

// What the steps since the last comparison have met.
struct HaloControl {
    FirstSteps first;
    // Bits of the largest squared displacement since the lists were built.
    u64 moved2;
    // When the kernels have come so far, by `TimeStamp`, in nanoseconds of the GPU's clock.
    u64 time_stamps[4];
    // Number of a neighbor that did not answer, and one.
    u32 lost;
    // Most domains that a particle must cross.
    u32 hops;
    // Blocks that have written what they send, in all steps of the launch.
    u32 arrived;
    // Blocks that have come to the end of a kernel.
    u32 ended;
    // Steps that a launch has completed, and whether it has ended with the drift of another one.
    u32 steps;
    u32 drifted;
    // Particles for each neighbor.
    u32 for_neighbor[MOST_NEIGHBORS];
    // What the last rebuilding among peers has made: whether something had no room, own particles and places in use
    // after migration, entries that are sent, and numbers of particles sent to each neighbor and of its ghosts.
    u32 failed;
    u32 count;
    u32 extent;
    u32 sent;
    u32 send_to[MOST_NEIGHBORS];
    u32 ghosts_from[MOST_NEIGHBORS];
};

// Of a rebuilding: particles begin to leave, sorting begins, sending, building of lists. Of steps: they begin, and have ended.
enum TimeStamp : u32 { LEAVING = 0, SORTING = 1, SENDING = 2, LISTING = 3, STEPPING = 0, STEPPED = 1 };

// What all ranks have found: the first of the steps, the largest of the others.
struct Agreed {
    u64 needs_rebuild;
    u64 fault;
    u64 moved2;
    u64 failed;
};

// What a kernel tells the host, and which report it is.
struct Report {
    HaloControl control;
    Agreed agreed;
    // When it was written.
    u64 written;
    u64 number;
};

struct Halo {
    HaloControl *control;
    // Two that are used in turn.
    Report *report;
    // Whether what was launched after is to be left out: steps after a rebuilding that has failed on a rank, a rebuilding
    // after steps for which lists were good.
    u32 *halt;
    u8 *destination;
    // Region of each tile; tiles of the boundary before each, and all after the last; tiles of the boundary, then those of
    // the interior.
    u8 *boundary;
    u32 *order_start;
    u32 *tile_order;
    // Of each block's tiles, how many have been taken to build their lists.
    u32 *tiles_taken;
    // Of each bin the first place of its ghosts.
    u32 *ghost_start;
    // By arrival: bin, number within it, place.
    u32 *ghost_bin;
    u32 *ghost_slot;
    u32 *ghost_place;
    u64 *ghost_sorted;
    // What is sent: the entries of each tile from the first on and before the end; of each entry the place here, neighbor
    // and number in its message, place in the neighbor's memory.
    u32 *send_start;
    u32 *send_end;
    u32 *send_own;
    u32 *send_slot;
    u32 *send_remote;
    // Messages to the neighbors and from them, `segment` bytes for each. What comes in has two halves that are used in
    // turn: a neighbor may write the next messages while the last are read.
    u8 *outgoing;
    const u8 *incoming;
    // Heat of a thermostat, two half steps a step.
    SplitSum *heat;
    // What neighbors have written here, by kind of `Signal` and neighbor.
    u64 *signals;
    // Of the neighbors: the first of their signals for this rank, their sites, both halves of their messages from
    // it, and where they keep the places of their particles' ghosts.
    u64 *peer_signals[MOST_NEIGHBORS];
    Site *peer_sites[2][MOST_NEIGHBORS];
    u8 *peer_inbox[2][MOST_NEIGHBORS];
    u32 *peer_remote[MOST_NEIGHBORS];
    u64 segment;
    // Domains of the neighbors.
    double lower[MOST_NEIGHBORS][3];
    double upper[MOST_NEIGHBORS][3];
    double edge[3];
    // Squared distance from a domain up to which it needs a particle as a ghost.
    double reach2;
    // How far others reach into the domain along each axis, as a share of it and a little more; negative where there are none.
    float margin[3];
    // Domains along each axis, and which of them this is.
    u32 domains[3];
    u32 domain[3];
    // Number of the neighbor at an offset of -1, 0, 1 along x, y, z (x fastest), and one.
    u32 neighbor_at[27];
    u32 neighbors;
    // Places in use before migration, with those of arrivals.
    u32 extent;
    u32 ghosts;
    // Entries that are sent.
    u32 sent;
    Starts arrivals;
    // For how many particles, ghosts and entries there is room.
    u32 capacity_particles;
    u32 capacity_ghosts;
    u32 send_capacity;
    // Whether all ranks are neighbors, and agree without the host.
    u32 agrees;
    u32 unused;
};

__constant__ Halo halo;

#define SLOT_BITS 27

// Kinds of signals: the number of the step whose ghosts have been written; number of a rebuilding (upper half) and count of
// migrants; the same of ghosts; number of a launch (upper half) and how many sums over the particles it has sent; these
// sums, six words each, in two places that are used in turn; number of a report; what was found, as `Agreed`, likewise in
// two places; number of the step whose ghosts have been written (upper bits) and whether the lists are no longer good for it.
enum Signal : u32 {
    SITES = 0,
    MIGRANTS = 1,
    GHOSTS = 2,
    SUMS = 3,
    SUM_WORDS = 4,
    FINDINGS = 16,
    FINDINGS_WORDS = 17,
    LISTS_END = 25,
};

// Clock cycles after which a neighbor is given up: half a minute or more.
#define LONGEST_WAIT (1ll << 36)

INLINE const u64 *signals_from(u32 neighbor, u32 signal) { return halo.signals + signal * MOST_NEIGHBORS + neighbor; }
INLINE u64 *signals_to(u32 neighbor, u32 signal) { return halo.peer_signals[neighbor] + signal * MOST_NEIGHBORS; }

// Waits until a signal has come to a number or beyond, and returns it; zero if the neighbor is lost. What was
// written before the word is seen after: waiting empties the first-level cache.
INLINE u64 wait_for_signal(u32 neighbor, u32 signal, u64 number) {
    u64 found = load_acquire_system(signals_from(neighbor, signal));
    if ((i64)(found - number) >= 0) return found;
    i64 start = clock64();
    while ((i64)(load_relaxed_system(signals_from(neighbor, signal)) - number) < 0) {
        spin_wait();
        if (clock64() - start > LONGEST_WAIT) {
            halo.control->lost = neighbor + 1;
            return 0;
        }
    }
    return load_acquire_system(signals_from(neighbor, signal));
}

INLINE u8 *message_to(u32 neighbor) { return halo.outgoing + halo.segment * neighbor; }
INLINE const u8 *message_from(u32 neighbor, u32 half) {
    return halo.incoming + halo.segment * (half * halo.neighbors + neighbor);
}

INLINE void load_ghost(const Site *from, u32 index, Site *to, u32 place) {
    Site site[DIMENSION];
    load_site(from, index, site);
    store_site(to, place, site);
}
