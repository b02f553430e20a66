// What lies in the GPU's memory, and sites there.
#pragma once
#include "ptx.cuh"
#include "run.cuh"

typedef unsigned char u8;

#ifndef DIAMETERS
#define DIAMETERS 0
#endif
// Components of a site: the place along each axis, and the bits of the particle's diameter, if it has one.
#define SITE_COMPONENTS (DIMENSION + DIAMETERS)
// The same in memory: padded so that one load fetches them.
#define SITE_STRIDE (SITE_COMPONENTS == 2 ? 2 : 4)

// Of a block.
#define MOST_WARPS 32

// A float of 16 bits.
typedef unsigned short HalfBits;

#include "shared/system.cuh"

#ifndef MEMBERS
#define MEMBERS 0
#endif
// Whether sites say of which step they are (`md/tagged.cuh`).
#ifndef TAGGED
#define TAGGED 0
#endif
// Whether lists are made anew without sorting the particles: each block has all sites, and sums do not depend on their order.
#ifndef RELISTING
#define RELISTING 0
#endif

// Whether a piston moves the box in some stage (`md/piston.cuh`).
#ifndef PISTON
#define PISTON 0
#endif

// Whether the box has a tilt at some time (`md/flow.cuh`).
#ifndef TILTED
#define TILTED 0
#endif
INLINE void enter_box();
// Whether each block has a system and a box of its own.
#ifndef OWN_BOXES
#define OWN_BOXES 0
#endif
// Whether each system among many has a box of its own.
#ifndef MEMBER_BOXES
#define MEMBER_BOXES 0
#endif

#if MEMBERS
#include "md/member.cuh"
#elif !OWN_BOXES
// Where everything lies: constant, so that every function reads it at no cost.
__constant__ System system;
// Every kernel begins so.
INLINE void enter_system() {
    enter_box();
    if (TILTED) __syncthreads();
}
#endif
#if OWN_BOXES
#include "minimize/own_box.cuh"
#elif !MEMBER_BOXES
#include "md/box_constants.cuh"
#endif
static constexpr bool REDUCED = Truncated<Evaluator, TRUNCATION>::REDUCED;
static constexpr bool ENDS_BY_ITSELF = Truncated<Evaluator, TRUNCATION>::ENDS_BY_ITSELF;

#include "md/flow.cuh"

INLINE float smaller(float a, float b) { return fminf(a, b); }
INLINE double smaller(double a, double b) { return fmin(a, b); }

INLINE void site_from_word(u32 word, i32 &site) { site = (i32)word; }
INLINE void site_from_word(u32 word, float &site) { site = float_from_bits(word); }

// The site of a place in memory, in one load where it has 32-bit components.
INLINE void load_site(const i32 *sites, u32 place, i32 (&x)[SITE_COMPONENTS]) {
    u32 word[SITE_STRIDE];
    load_words(sites + (size_t)place * SITE_STRIDE, word);
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) site_from_word(word[k], x[k]);
}
INLINE void load_site(const float *sites, u32 place, float (&x)[SITE_COMPONENTS]) {
    u32 word[SITE_STRIDE];
    load_words(sites + (size_t)place * SITE_STRIDE, word);
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) site_from_word(word[k], x[k]);
}
INLINE void load_site(const double *sites, u32 place, double (&x)[SITE_COMPONENTS]) {
    const double *at = sites + (size_t)place * SITE_STRIDE;
    load_doubles(at, x[0], x[1]);
#if SITE_COMPONENTS == 3
    load_double(at + 2, x[2]);
#elif SITE_COMPONENTS == 4
    load_doubles(at + 2, x[2], x[3]);
#endif
}

INLINE void store_site(i32 *sites, u32 place, const i32 (&x)[SITE_COMPONENTS]) {
#if SITE_COMPONENTS == 4
    *(int4 *)(sites + (size_t)place * 4) = make_int4(x[0], x[1], x[2], x[3]);
#elif SITE_COMPONENTS == 3
    *(int4 *)(sites + (size_t)place * 4) = make_int4(x[0], x[1], x[2], 0);
#else
    *(int2 *)(sites + (size_t)place * 2) = make_int2(x[0], x[1]);
#endif
}
INLINE void store_site(float *sites, u32 place, const float (&x)[SITE_COMPONENTS]) {
#if SITE_COMPONENTS == 4
    *(float4 *)(sites + (size_t)place * 4) = make_float4(x[0], x[1], x[2], x[3]);
#elif SITE_COMPONENTS == 3
    *(float4 *)(sites + (size_t)place * 4) = make_float4(x[0], x[1], x[2], 0.0f);
#else
    *(float2 *)(sites + (size_t)place * 2) = make_float2(x[0], x[1]);
#endif
}
INLINE void store_site(double *sites, u32 place, const double (&x)[SITE_COMPONENTS]) {
    double *at = sites + (size_t)place * SITE_STRIDE;
#pragma unroll
    for (int k = 0; k < SITE_COMPONENTS; ++k) at[k] = x[k];
}

INLINE Real square(const Real (&length)[DIMENSION]) {
#if DIMENSION == 3
    Real last = mul(length[2], length[2]);
#else
    Real last = Real(0);
#endif
    return fused(length[0], length[0], fused(length[1], length[1], last));
}

// Displacement of two sites in its own units, where the box has a slope (`straighten`).
INLINE void displacement_of(const Site (&a)[SITE_COMPONENTS], const Site (&b)[SITE_COMPONENTS], Real slope,
                            Real (&displacement)[DIMENSION]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        displacement[axis] = Policy::displacement(policy, a[axis], b[axis], axis);
    }
    straighten(displacement, slope);
}

// Squared distance of two sites, and the displacement in its own units and as a length.
INLINE Real distance2_at(const Site (&a)[SITE_COMPONENTS], const Site (&b)[SITE_COMPONENTS], Real slope,
                         Real (&displacement)[DIMENSION], Real (&length)[DIMENSION]) {
    displacement_of(a, b, slope, displacement);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) length[axis] = Policy::length(policy, displacement[axis], axis);
    return square(length);
}
INLINE Real distance2(const Site (&a)[SITE_COMPONENTS], const Site (&b)[SITE_COMPONENTS], Real (&displacement)[DIMENSION],
                      Real (&length)[DIMENSION]) {
    return distance2_at(a, b, present_slope(), displacement, length);
}

// The same in the unit that the pairs' constants are for.
INLINE Real pair_distance2(const Site (&a)[SITE_COMPONENTS], const Site (&b)[SITE_COMPONENTS], Real (&displacement)[DIMENSION],
                           Real (&length)[DIMENSION], Real slope) {
    if (!REDUCED) return distance2_at(a, b, slope, displacement, length);
    displacement_of(a, b, slope, displacement);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) length[axis] = Policy::relative_length(policy, displacement[axis], axis);
    return square(length);
}
INLINE Real pair_distance2(const Site (&a)[SITE_COMPONENTS], const Site (&b)[SITE_COMPONENTS], Real (&displacement)[DIMENSION],
                           Real (&length)[DIMENSION]) {
    return pair_distance2(a, b, displacement, length, present_slope());
}

#if DIAMETERS
// -Delta / 2 of `diameter_of_pair`.
__constant__ Real minus_half_non_additivity;

// Diameters have the bits of a `Real` in sites, which are as long.
static_assert(sizeof(Site) == sizeof(Real), "a diameter takes the place of a coordinate");
INLINE float real_of_site(i32 site) { return float_from_bits((u32)site); }
INLINE float real_of_site(float site) { return site; }
INLINE double real_of_site(double site) { return site; }
INLINE Site site_of_real(Real x) {
    Site site;
    site_from_word(to_bits(x), site);
    return site;
}
INLINE Real diameter_of(const Site (&site)[SITE_COMPONENTS]) { return real_of_site(site[DIMENSION]); }

// Factor on the squared distance of a pair, and on its force over distance.
INLINE Real scale_of_pair(const Site (&a)[SITE_COMPONENTS], const Site (&b)[SITE_COMPONENTS]) {
    return inverse_square_of_diameter(diameter_of(a), diameter_of(b), minus_half_non_additivity);
}
INLINE Real scaled(Real x, Real scale) { return mul(x, scale); }
// A site takes the diameter that is in another one.
INLINE void take_diameter(Site (&site)[SITE_COMPONENTS], const Site (&from)[SITE_COMPONENTS]) { site[DIMENSION] = from[DIMENSION]; }
// The same of a particle.
INLINE void take_diameter_of(Site (&site)[SITE_COMPONENTS], u32 id) { site[DIMENSION] = system.diameter[id]; }
#else
INLINE Real scale_of_pair(const Site (&)[SITE_COMPONENTS], const Site (&)[SITE_COMPONENTS]) { return Real(1); }
INLINE Real scaled(Real x, Real) { return x; }
INLINE void take_diameter(Site (&)[SITE_COMPONENTS], const Site (&)[SITE_COMPONENTS]) {}
INLINE void take_diameter_of(Site (&)[SITE_COMPONENTS], u32) {}
#endif
