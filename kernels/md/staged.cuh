// Sites of the block's system in shared memory, from where the pair loop gathers them faster than through the first-level cache.
//
//   STAGED_COPIES   0: none; 1: the present sites, copied before each pass; 2: those of the next step, too, which a pass with one
//                   lane a particle writes by itself
#pragma once
#include "md/neighbor_lists.cuh"

#ifndef STAGED_COPIES
#define STAGED_COPIES 0
#endif

// Words of a site there.
#ifndef STAGED_STRIDE
#define STAGED_STRIDE SITE_STRIDE
#endif

#if STAGED_COPIES
INLINE Site *staged_memory() {
    extern __shared__ uint4 staged[];
    return (Site *)staged;
}

// A copy: the place of its first site.
struct StagedSites {
    u32 first;

    INLINE Site *at(u32 place) const { return staged_memory() + (size_t)(first + place) * STAGED_STRIDE; }
};

INLINE StagedSites staged_sites(u32 site_copy) {
    return StagedSites{STAGED_COPIES == 2 && site_copy != 0 ? system.count : 0};
}

INLINE void load_staged(const i32 *at, i32 (&x)[SITE_COMPONENTS]) {
#if SITE_STRIDE == 4
    int4 site = *(const int4 *)at;
    x[2] = site.z;
#if SITE_COMPONENTS == 4
    x[3] = site.w;
#endif
#else
    int2 site = *(const int2 *)at;
#endif
    x[0] = site.x;
    x[1] = site.y;
}
INLINE void load_staged(const float *at, float (&x)[SITE_COMPONENTS]) {
#if SITE_STRIDE == 4
    float4 site = *(const float4 *)at;
    x[2] = site.z;
#if SITE_COMPONENTS == 4
    x[3] = site.w;
#endif
#else
    float2 site = *(const float2 *)at;
#endif
    x[0] = site.x;
    x[1] = site.y;
}
INLINE void load_staged(const double *at, double (&x)[SITE_COMPONENTS]) {
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) x[k] = at[k];
}
INLINE void load_site(const StagedSites &sites, u32 place, Site (&x)[SITE_COMPONENTS]) { load_staged(sites.at(place), x); }
INLINE void load_site_of_entry(const StagedSites &sites, u32 entry, Site (&x)[SITE_COMPONENTS]) {
#if ENTRY_LOG2
    static_assert(STAGED_STRIDE * sizeof(Site) == 1 << ENTRY_LOG2, "an entry is the first byte of a site");
    load_staged((const Site *)((const u8 *)sites.at(0) + entry), x);
#else
    load_site(sites, entry, x);
#endif
}

INLINE void store_site(const StagedSites &sites, u32 place, const Site (&x)[SITE_COMPONENTS]) {
    Site *at = sites.at(place);
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) at[k] = x[k];
}

// Copies the sites of the system; all threads of the block must come here, and none may read the copy before the block's next
// barrier.
INLINE void stage_sites(const Site *sites, const StagedSites &to) {
    if (STAGED_STRIDE != SITE_STRIDE) {
        for (u32 place = threadIdx.x; place < system.count; place += blockDim.x) {
            Site site[SITE_COMPONENTS];
            load_site(sites, place, site);
            store_site(to, place, site);
        }
        return;
    }
    u32 words = system.count * (u32)(SITE_STRIDE * sizeof(Site) / sizeof(uint2));
    const uint2 *from = (const uint2 *)sites;
    uint2 *at = (uint2 *)to.at(0);
    for (u32 word = threadIdx.x; word < words; word += blockDim.x) at[word] = from[word];
}

// Sites of the next step, in global memory and staged.
struct NextSites {
    Site *sites;
    StagedSites staged;
};
INLINE void store_site(const NextSites &to, u32 place, const Site (&x)[SITE_COMPONENTS]) {
    store_site(to.sites, place, x);
    if (STAGED_COPIES == 2) store_site(to.staged.at(0), place, x);
}

typedef StagedSites PresentSites;
INLINE PresentSites present_sites_of(const Site *, u32 site_copy) { return staged_sites(site_copy); }
INLINE NextSites next_sites_of(Site *sites, u32 site_copy) { return NextSites{sites, staged_sites(site_copy)}; }
#else
typedef const Site *PresentSites;
INLINE PresentSites present_sites_of(const Site *sites, u32) { return sites; }
INLINE Site *next_sites_of(Site *sites, u32) { return sites; }
#endif
