// A domain among others: what a rank sends to its neighbors and holds of theirs.
//
// Own particles have the places [0, count) in memory and ghosts those from there on, each part sorted by bin and id.
#pragma once
#include "md/neighbor_lists.cuh"

// Where a particle goes when it migrates; others: number of the neighbor and one.
enum Destination : u8 { STAYS = 0, HAS_LEFT = 255 };

#include "shared/launch.cuh"
#include "shared/domain.cuh"
#include "shared/halo.cuh"
#include "shared/report.cuh"
#include "shared/halo_constant.cuh"

INLINE u32 neighbor_of(const Starts &starts, u32 entry, u32 neighbors) {
    u32 j = 0;
    while (j + 1 < neighbors && entry >= starts.start[j + 1]) ++j;
    return j;
}

__constant__ Halo halo;

#define SLOT_BITS 27

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
    Site site[SITE_COMPONENTS];
    load_site(from, index, site);
    store_site(to, place, site);
}
