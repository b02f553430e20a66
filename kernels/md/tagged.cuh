// Sites that say of which step they are: a block takes those of all particles as they come, and no barrier ends a step.
//
// The fourth word of a site is its tag: the number of its step in the launch, on top of the launch's own, which no other launch of
// the engine has near it; its highest bit asks all blocks for attention. A block writes the sites of a step when it has
// taken all those of the step before, so that none is still wanted which it writes over: two copies are enough. All blocks see the same
// tags, and agree without meeting.
#pragma once
#include "md/staged.cuh"

#if TAGGED
static_assert(DIMENSION == 3 && sizeof(Site) == 4 && STAGED_COPIES == 1, "a word is left for the tag");

#define ASKS_FOR_ATTENTION (1u << 31)

INLINE u32 word_of_site(i32 x) { return (u32)x; }
INLINE u32 word_of_site(float x) { return to_bits(x); }

INLINE void store_tagged(Site *sites, u32 place, const Site (&x)[SITE_COMPONENTS], u32 tag) {
    u64 low = (u64)word_of_site(x[1]) << 32 | word_of_site(x[0]), high = (u64)tag << 32 | word_of_site(x[2]);
    store_whole(sites + (size_t)place * SITE_STRIDE, low, high);
}

// Where a pass writes the sites of the next step.
struct TaggedSites {
    Site *sites;
    u32 tag;
};
INLINE void store_site(const TaggedSites &to, u32 place, const Site (&x)[SITE_COMPONENTS], bool asks) {
    store_tagged(to.sites, place, x, asks ? to.tag | ASKS_FOR_ATTENTION : to.tag);
}

// Copies the sites of a step as they come. Returns whether one that this thread has copied asks for attention. The first `threads`
// of the block come here, and none may read the copy before their next barrier.
INLINE bool stage_tagged(const Site *sites, const StagedSites &to, u32 tag, u32 threads) {
    constexpr u32 AT_ONCE = 4;
    ulonglong2 *staged = (ulonglong2 *)to.at(0);
    bool asks = false;
    for (u32 first = threadIdx.x; first < system.count; first += AT_ONCE * threads) {
        u64 low[AT_ONCE], high[AT_ONCE];
        u32 missing = 0;
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            if (first + k * threads < system.count) missing |= 1u << k;
        }
        while (missing != 0) {
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                if (missing >> k & 1) load_whole(sites + (size_t)(first + k * threads) * SITE_STRIDE, low[k], high[k]);
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                u32 found = (u32)(high[k] >> 32);
                if (!(missing >> k & 1) || (found & ~ASKS_FOR_ATTENTION) != tag) continue;
                missing &= ~(1u << k);
                asks |= found != tag;
                staged[first + k * threads] = make_ulonglong2(low[k], high[k]);
            }
            if (missing != 0) spin_wait();
        }
    }
    return asks;
}
#endif
