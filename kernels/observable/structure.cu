// Static structure of samples: pairs of particles by their distance, and six-fold bond-orientational order.
//
// All sums are of integers, so that the order of those in a cell does not matter.
//
//   DIMENSION, SPECIES_COUNT
#include "arithmetic/exact_sum.cuh"
#include "observable/origins.cuh"

#define PAIRS_OF_SPECIES (SPECIES_COUNT * (SPECIES_COUNT + 1) / 2)
#include "shared/structure.cuh"

// Pairs of each pair of species (a <= b) by their distance. Adds to `counts`: by sample, pair, bin. Blocks along x for the
// particles, along y for the samples, for each of which several share the work.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_distances(const u32 *ends, const Point *points, u32 parts, u64 *counts) {
    extern __shared__ u32 shared_bins[];
    const u32 bins = geometry.bins, all_bins = PAIRS_OF_SPECIES * bins;
    bool shared = all_bins <= MOST_SHARED_BINS;
    if (shared) {
        for (u32 bin = threadIdx.x; bin < all_bins; bin += THREADS) shared_bins[bin] = 0;
    }
    __syncthreads();
    u32 sample = blockIdx.y / parts, part = blockIdx.y % parts;
    u64 *of_sample = counts + (size_t)sample * all_bins;
    Sorted sorted = sorted_of(ends, points, sample);
    u32 at = blockIdx.x * THREADS + threadIdx.x;
    if (at < particle_count()) {
        Point own = sorted.points[at];
        u32 place[DIMENSION], species = species_of(own.id);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) place[axis] = own.fraction[axis];
        auto visit = [&](u32, const Point &other, const float(&)[DIMENSION], float r2) {
            // Each pair once: species do not fall with the number.
            u32 bin = (u32)mul(square_root(r2), geometry.inverse_bin_width);
            if (other.id <= own.id || bin >= bins) return;
            u32 of_other = species_of(other.id);
            u32 pair = species * SPECIES_COUNT - species * (species + 1) / 2 + of_other;
            if (shared) {
                atomicAdd(shared_bins + pair * bins + bin, 1u);
            } else {
                atomicAdd(of_sample + pair * bins + bin, 1ull);
            }
        };
        sorted.near(place, visit, part, parts);
    }
    if (!shared) return;
    __syncthreads();
    for (u32 bin = threadIdx.x; bin < all_bins; bin += THREADS) {
        if (shared_bins[bin] > 0) atomicAdd(of_sample + bin, (u64)shared_bins[bin]);
    }
}

// Units of components and of the local order.
#define COMPONENT_UNITS 4294967296.0

// (x + i y)^m for m = 0, ..., 6.
INLINE void powers_of(float x, float y, float (&power)[7][2]) {
    power[0][0] = 1.0f, power[0][1] = 0.0f;
#pragma unroll
    for (int m = 1; m < 7; ++m) {
        power[m][0] = fused(power[m - 1][0], x, -mul(power[m - 1][1], y));
        power[m][1] = fused(power[m - 1][0], y, mul(power[m - 1][1], x));
    }
}

// Components of a bond of unit length as in src/observable/structure/bond_orientational_order.rs, each times the square
// root of its weight. Two dimensions have the last alone.
#if DIMENSION == 3
#define FIRST_COMPONENT 0
INLINE void components_of(const float (&unit)[DIMENSION], float (&component)[7][2]) {
    float z = unit[2], z2 = mul(z, z);
    // Legendre functions less (1 - z^2)^(m/2), times the square root of 2 (6 - m)! / (6 + m)!, half of it for m = 0.
    const float legendre[7] = {
        mul(fused(fused(fused(231.0f, z2, -315.0f), z2, 105.0f), z2, -5.0f), 0.0625f),
        mul(mul(z, fused(fused(33.0f, z2, -30.0f), z2, 5.0f)), 0.57282196186948f),
        mul(fused(fused(33.0f, z2, -18.0f), z2, 1.0f), 0.45285552331841994f),
        mul(mul(z, fused(11.0f, z2, -3.0f)), 0.9057110466368399f),
        mul(fused(11.0f, z2, -1.0f), 0.4960783708246107f),
        mul(z, 2.3268138086232857f),
        0.6716932893813962f,
    };
    powers_of(unit[0], unit[1], component);
#pragma unroll
    for (int m = 0; m < 7; ++m) {
        component[m][0] = mul(component[m][0], legendre[m]);
        component[m][1] = mul(component[m][1], legendre[m]);
    }
}
#else
#define FIRST_COMPONENT 6
INLINE void components_of(const float (&unit)[DIMENSION], float (&component)[7][2]) {
    powers_of(unit[0], unit[1], component);
}
#endif

// Sums over the particles of bonds to those within the radius. Adds to `sums`: by sample. Blocks along x for the particles,
// along y for the samples.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_bond_order(const u32 *ends, const Point *points, i64 *sums) {
    Sorted sorted = sorted_of(ends, points, blockIdx.y);
    u32 at = blockIdx.x * THREADS + threadIdx.x;
    i64 sum[7][2] = {}, bonds = 0, local = 0;
    if (at < particle_count()) {
        Point own = sorted.points[at];
        u32 place[DIMENSION];
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) place[axis] = own.fraction[axis];
        sorted.near(place, [&](u32 other, const Point &, const float(&d)[DIMENSION], float r2) {
            if (other == at || r2 == 0.0f) return;
            float inverse = divide(1.0f, square_root(r2)), unit[DIMENSION], component[7][2];
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) unit[axis] = mul(d[axis], inverse);
            components_of(unit, component);
#pragma unroll
            for (int m = FIRST_COMPONENT; m < 7; ++m) {
                sum[m][0] += round_to_i64(mul(component[m][0], (float)COMPONENT_UNITS));
                sum[m][1] += round_to_i64(mul(component[m][1], (float)COMPONENT_UNITS));
            }
            ++bonds;
        });
    }
    if (bonds > 0) {
        double squared = 0.0, count = (double)bonds;
#pragma unroll
        for (int m = FIRST_COMPONENT; m < 7; ++m) {
            double re = (double)sum[m][0], im = (double)sum[m][1];
            squared = fused(re, re, fused(im, im, squared));
        }
        // At most one: the sum of 2^31 particles fits.
        local = nearest_i64(divide(square_root(squared), count));
#if DIMENSION == 2
        // Every particle counts the same.
        sum[6][0] = nearest_i64(divide((double)sum[6][0], count));
        sum[6][1] = nearest_i64(divide((double)sum[6][1], count));
        bonds = 1;
#endif
    }
    i64 *of_sample = sums + (size_t)blockIdx.y * ORDER_SUMS;
#pragma unroll
    for (int k = 2 * FIRST_COMPONENT; k < ORDER_SUMS; ++k) {
        i64 total = k == 14 ? bonds : k == 15 ? local : sum[k < 14 ? k / 2 : 0][k % 2];
        for (u32 offset = 16; offset > 0; offset >>= 1) total += __shfl_xor_sync(~0u, total, offset);
        if ((threadIdx.x & 31) == 0 && total != 0) atomicAdd((u64 *)of_sample + k, (u64)total);
    }
}
