// A domain among others: what a rank lends to its neighbours and holds of theirs. Mirrors src/engine/cuda/rank/rim.rs.
//
// Own particles have the places [0, count) in memory and ghosts those from there on, each part sorted by bin and id.
#pragma once
#include "md/lists.cuh"

// A domain touches no more others in three dimensions.
#define MOST_NEIGHBORS 26

// Where a particle goes when it migrates; others: number of the neighbour and one.
enum Destination : u8 { STAYS = 0, HAS_LEFT = 255 };

// Which tiles a pass works on: those of the interior hold no particle that is lent, and their lists no ghosts.
enum Region : u32 { INTERIOR = 0, BOUNDARY = 1, EVERYWHERE = 2 };

// Entries of what is lent and arrives by neighbour: `start[j]` is the number of those of the neighbours before.
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
    u64 stale;
    u64 fault;
};

// What the steps since the last comparison have met.
struct RimControl {
    FirstSteps first;
    // Bits of the largest squared displacement since the lists were built.
    u64 moved2;
    // When the kernels have come so far, by `Moment`, in nanoseconds of the card's clock.
    u64 moments[4];
    // Number of a neighbour that did not answer, and one.
    u32 lost;
    // Most domains that a particle must cross.
    u32 hops;
    // Blocks that have written what they lend, in all steps of the launch.
    u32 arrived;
    // Blocks that have come to the end of a kernel.
    u32 ended;
    // Steps that a launch has completed, and whether it has ended with the drift of another one.
    u32 steps;
    u32 drifted;
    // Particles for each neighbour.
    u32 for_neighbor[MOST_NEIGHBORS];
    // What the last rebuilding among peers has made: whether something had no room, own particles and places in use
    // after migration, entries that are lent, and numbers of particles lent to each neighbour and of its ghosts.
    u32 failed;
    u32 count;
    u32 extent;
    u32 lent;
    u32 lent_to[MOST_NEIGHBORS];
    u32 ghosts_from[MOST_NEIGHBORS];
};

// Of a rebuilding: particles begin to leave, sorting begins, lending, building of lists. Of steps: they begin, and have ended.
enum Moment : u32 { LEAVING = 0, SORTING = 1, LENDING = 2, LISTING = 3, STEPPING = 0, STEPPED = 1 };

// What all ranks have found: the first of the steps, the largest of the others.
struct Agreed {
    u64 stale;
    u64 fault;
    u64 moved2;
    u64 failed;
};

// What a kernel tells the host, and which report it is.
struct Report {
    RimControl control;
    Agreed agreed;
    // When it was written.
    u64 written;
    u64 number;
};

struct Rim {
    RimControl *control;
    // Two that are used in turn.
    Report *report;
    // Whether what was launched behind is to be left out: steps behind a rebuilding that has failed on a rank, a rebuilding
    // behind steps for which lists were good.
    u32 *halt;
    u8 *destination;
    // Region of each tile; tiles of the boundary before each, and all behind the last; tiles of the boundary, then those of
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
    // What is lent: the entries of each tile from the first on and before the end; of each entry the place here, neighbour
    // and number in its message, place in the neighbour's memory.
    u32 *lent_start;
    u32 *lent_end;
    u32 *lent_own;
    u32 *lent_slot;
    u32 *lent_remote;
    // Messages to the neighbours and from them, `segment` bytes for each. What comes in has two halves that are used in
    // turn: a neighbour may write the next messages while the last are read.
    u8 *outgoing;
    const u8 *incoming;
    // Heat of a bath, two half steps a step.
    SplitSum *heat;
    // What neighbours have written here, by kind of `Letter` and neighbour.
    u64 *mail;
    // Of the neighbours: the first of their words of mail for this rank, their sites, both halves of their messages from
    // it, and where they keep the places of their particles' ghosts.
    u64 *peer_mail[MOST_NEIGHBORS];
    Site *peer_sites[2][MOST_NEIGHBORS];
    u8 *peer_inbox[2][MOST_NEIGHBORS];
    u32 *peer_remote[MOST_NEIGHBORS];
    u64 segment;
    // Domains of the neighbours.
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
    // Number of the neighbour at an offset of -1, 0, 1 along x, y, z (x fastest), and one.
    u32 neighbor_at[27];
    u32 neighbors;
    // Places in use before migration, with those of arrivals.
    u32 extent;
    u32 ghosts;
    // Entries that are lent.
    u32 lent;
    Starts arrivals;
    // For how many particles, ghosts and entries there is room.
    u32 room_particles;
    u32 room_ghosts;
    u32 room_lent;
    // Whether all ranks are neighbours, and agree without the host.
    u32 agrees;
    u32 unused;
};

__constant__ Rim rim;

#define SLOT_BITS 27

// Kinds of mail: the number of the step whose ghosts have been written; number of a rebuilding (upper half) and count of
// migrants; the same of ghosts; number of a launch (upper half) and how many sums over the particles it has sent; these
// sums, six words each, in two places that are used in turn; number of a report; what was found, as `Agreed`, likewise in
// two places; number of the step whose ghosts have been written (upper bits) and whether the lists are no longer good for it.
enum Letter : u32 {
    SITES = 0,
    MIGRANTS = 1,
    GHOSTS = 2,
    SUMS = 3,
    SUM_WORDS = 4,
    FINDINGS = 16,
    FINDINGS_WORDS = 17,
    LISTS_END = 25,
};

// Clock cycles after which a neighbour is given up: half a minute or more.
#define LONGEST_WAIT (1ll << 36)

INLINE const u64 *mail_from(u32 neighbor, u32 letter) { return rim.mail + letter * MOST_NEIGHBORS + neighbor; }
INLINE u64 *mail_to(u32 neighbor, u32 letter) { return rim.peer_mail[neighbor] + letter * MOST_NEIGHBORS; }

// Waits until a word of mail has come to a number or beyond, and returns it; zero if the neighbour is lost. What was
// written before the word is seen after: waiting empties the first-level cache.
INLINE u64 wait_for_mail(u32 neighbor, u32 letter, u64 number) {
    u64 found = load_acquire_system(mail_from(neighbor, letter));
    if ((i64)(found - number) >= 0) return found;
    i64 start = clock64();
    while ((i64)(load_relaxed_system(mail_from(neighbor, letter)) - number) < 0) {
        spin_wait();
        if (clock64() - start > LONGEST_WAIT) {
            rim.control->lost = neighbor + 1;
            return 0;
        }
    }
    return load_acquire_system(mail_from(neighbor, letter));
}

INLINE u8 *message_to(u32 neighbor) { return rim.outgoing + rim.segment * neighbor; }
INLINE const u8 *message_from(u32 neighbor, u32 half) {
    return rim.incoming + rim.segment * (half * rim.neighbors + neighbor);
}

INLINE void load_ghost(const Site *from, u32 index, Site *to, u32 place) {
    Site site[DIMENSION];
    load_site(from, index, site);
    store_site(to, place, site);
}
