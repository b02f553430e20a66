// What lies in the GPU's memory, as the kernels see it. Mirrors src/engine/cuda/buffers.rs.
#pragma once
#include "ptx.cuh"
#include "run.cuh"

typedef unsigned char u8;

// Longest chain of Nose-Hoover thermostats.
#define LONGEST_CHAIN 16
// Components of a site in memory: padded so that one load fetches it.
#define SITE_STRIDE (DIMENSION == 2 ? 2 : 4)

// Particles in the order of memory: sorted by cell along the Hilbert curve, species and id.
struct Particles {
    Coordinate *position[3];
    Velocity *velocity[3];
    i32 *image[3];
    u32 *id;
    u8 *species;
};

// How a launch ended.
enum Status : u32 {
    STATUS_DONE = 0,
    // A neighbor list is longer than its room: see `list_need`.
    STATUS_LISTS_FULL = 1,
    STATUS_TOO_CLOSE = 2,
    STATUS_RUNAWAY = 3,
    STATUS_VELOCITY_RANGE = 4,
    STATUS_KINETIC_RANGE = 5,
};

// Whole-system sums of terms in units of 2^-40: upper and lower 32 bits of the terms summed apart, so that
// neither can overflow.
struct SplitSum {
    u64 upper;
    u64 lower;
};

// The few numbers that blocks and host share.
struct Control {
    // Arrivals at the grid barrier (lower half) and blocks that asked for attention (upper half), for
    // every other barrier one of the words.
    u64 barrier[2];
    // Copy of the particles and of the sites that is valid.
    u32 copy;
    u32 site_copy;
    u32 status;
    // Steps of the launch that are complete.
    u32 steps_done;
    // Longest list wanted.
    u32 list_need;
    // Id of the particle that an error is about.
    u32 culprit;
    u64 rebuilds;
    // Pair too close: smaller and larger id.
    u64 closest_pair;
    // Which of `sums` the next barrier completes.
    u32 turn;
    double heat;
    double chain_position[LONGEST_CHAIN];
    double chain_velocity[LONGEST_CHAIN];
    SplitSum sums[4][3];
    // Clock cycles that the first block spent on the steps' passes, waiting, sorting and building lists.
    u64 cycles[4];
};

struct System {
    Particles particles[2];
    Site *sites[2];
    // Sites at the last building of the lists.
    Site *reference;
    Force *force[3];
    u32 *list;
    // Row after the last one of each segment of each list.
    u32 *row_ends;
    u32 *cell_rank;
    // Cells around each cell, itself included, as many for all: rank, and above RANK_BITS the offset with two bits
    // (0, 1, 2 for -1, 0, 1) for each axis, x lowest.
    u32 *around;
    u32 *bin_count;
    u32 *bin_start;
    u32 *block_total;
    u32 *bin_of;
    u32 *slot_of;
    u64 *sorted;
    // Places in the cells as 16-bit floats (`coarse.cuh`).
    unsigned short *coarse_place[3];
    // Squared reach of the lists of each pair of species.
    double *reach2;
    double *mass;
    Control *control;
    // Squared displacement up to which the lists are good.
    double limit2;
    u32 count;
    u32 cells[3];
    // Cells, filled up to whole groups, times species.
    u32 bins;
    u32 around_count;
    // log2 of the threads per particle.
    u32 lanes_log2;
    // Rows of four entries that each lane has room for.
    u32 rows;
    // Edges of a cell in lengths of the widest, and the inverse of that one.
    float cell_shape[3];
    float inv_cell;
    // Whether lists may be searched for with 16-bit floats: three cells or more along each axis.
    u32 coarse;
    // log2 of the cells in a group: neighbors on the curve whose particles are sorted by species first, so that
    // most warps work on lists of one length.
    u32 group_log2;
};

// Where everything lies: constant, so that every function reads it at no cost.
__constant__ System system;
__constant__ PolicyConstants policy;
__constant__ Pair pairs[SPECIES_COUNT * SPECIES_COUNT];
static constexpr bool REDUCED = Truncated<Evaluator, TRUNCATION>::REDUCED;
static constexpr bool ENDS_BY_ITSELF = Truncated<Evaluator, TRUNCATION>::ENDS_BY_ITSELF;
// Largest `core2` of all pairs, and no less than `coincident2`.
__constant__ Real largest_core2;

INLINE float smaller(float a, float b) { return fminf(a, b); }
INLINE double smaller(double a, double b) { return fmin(a, b); }

INLINE void site_from_word(u32 word, i32 &site) { site = (i32)word; }
INLINE void site_from_word(u32 word, float &site) { site = float_from_bits(word); }

// The site of a place in memory, in one load where it has 32-bit components.
INLINE void load_site(const i32 *sites, u32 place, i32 (&x)[DIMENSION]) {
    u32 word[SITE_STRIDE];
    load_words(sites + (size_t)place * SITE_STRIDE, word);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) site_from_word(word[axis], x[axis]);
}
INLINE void load_site(const float *sites, u32 place, float (&x)[DIMENSION]) {
    u32 word[SITE_STRIDE];
    load_words(sites + (size_t)place * SITE_STRIDE, word);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) site_from_word(word[axis], x[axis]);
}
INLINE void load_site(const double *sites, u32 place, double (&x)[DIMENSION]) {
    const double *at = sites + (size_t)place * SITE_STRIDE;
    load_doubles(at, x[0], x[1]);
#if DIMENSION == 3
    load_double(at + 2, x[2]);
#endif
}

INLINE void store_site(i32 *sites, u32 place, const i32 (&x)[DIMENSION]) {
#if DIMENSION == 3
    *(int4 *)(sites + (size_t)place * 4) = make_int4(x[0], x[1], x[2], 0);
#else
    *(int2 *)(sites + (size_t)place * 2) = make_int2(x[0], x[1]);
#endif
}
INLINE void store_site(float *sites, u32 place, const float (&x)[DIMENSION]) {
#if DIMENSION == 3
    *(float4 *)(sites + (size_t)place * 4) = make_float4(x[0], x[1], x[2], 0.0f);
#else
    *(float2 *)(sites + (size_t)place * 2) = make_float2(x[0], x[1]);
#endif
}
INLINE void store_site(double *sites, u32 place, const double (&x)[DIMENSION]) {
    double *at = sites + (size_t)place * SITE_STRIDE;
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) at[axis] = x[axis];
}

INLINE Real square(const Real (&length)[DIMENSION]) {
#if DIMENSION == 3
    Real last = mul(length[2], length[2]);
#else
    Real last = Real(0);
#endif
    return fused(length[0], length[0], fused(length[1], length[1], last));
}

// Squared distance of two sites, and the displacement in its own units and as a length.
INLINE Real distance2(const Site (&a)[DIMENSION], const Site (&b)[DIMENSION], Real (&displacement)[DIMENSION],
                      Real (&length)[DIMENSION]) {
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        displacement[axis] = Policy::displacement(policy, a[axis], b[axis], axis);
        length[axis] = Policy::length(policy, displacement[axis], axis);
    }
    return square(length);
}

// The same in the unit that the pairs' constants are for.
INLINE Real pair_distance2(const Site (&a)[DIMENSION], const Site (&b)[DIMENSION], Real (&displacement)[DIMENSION],
                           Real (&length)[DIMENSION]) {
    if (!REDUCED) return distance2(a, b, displacement, length);
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) {
        displacement[axis] = Policy::displacement(policy, a[axis], b[axis], axis);
        length[axis] = Policy::relative_length(policy, displacement[axis], axis);
    }
    return square(length);
}
