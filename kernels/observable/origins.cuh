// Samples with their particles sorted by cell, with about one in a cell; those of a cell lie in any order.
//
//   DIMENSION, SPECIES_COUNT
#pragma once
#include "block_sums.cuh"
#include "observable/cells.cuh"
#include "observable/pair_terms.cuh"
#include "observable/records.cuh"

#include "shared/blocks.cuh"
#include "shared/origins.cuh"
#include "shared/sorting.cuh"

__constant__ Geometry geometry;

INLINE u32 particle_count() { return geometry.start[SPECIES_COUNT]; }

typedef SortedPoints<DIMENSION> Sorted;

// Those of an origin.
INLINE Sorted sorted_of(const u32 *ends, const Point *points, u32 origin) {
    return Sorted(geometry.grid, ends + (size_t)origin * geometry.grid.cell_count,
                  points + (size_t)origin * particle_count(), geometry.edge);
}

INLINE u32 cell_of(const Record &record) {
    u32 fraction[DIMENSION];
#pragma unroll
    for (int axis = 0; axis < DIMENSION; ++axis) fraction[axis] = record.fraction(axis);
    return cell_of(geometry.grid, fraction);
}

// A block for each origin. `ends`: by origin, cell; `points`: by origin, place.
extern "C" __global__ void __launch_bounds__(SORTING_THREADS)
    sort_origins(const __grid_constant__ Records records, const u32 *origins, u32 *all_ends, Point *all_points) {
    const u32 *sample = sample_of(records, origins[blockIdx.x]);
    u32 cells = geometry.grid.cell_count, count = particle_count();
    u32 *ends = all_ends + (size_t)blockIdx.x * cells;
    Point *points = all_points + (size_t)blockIdx.x * count;
    for (u32 cell = threadIdx.x; cell < cells; cell += SORTING_THREADS) ends[cell] = 0;
    __syncthreads();
    for (u32 p = threadIdx.x; p < count; p += SORTING_THREADS) {
        Record record;
        record.load(sample + (size_t)p * RECORD_WORDS);
        atomicAdd(ends + cell_of(record), 1u);
    }
    __syncthreads();
    // The start of each cell, which grows to its end as its particles are put there.
    u32 before = 0;
    for (u32 first = 0; first < cells; first += SORTING_THREADS) {
        u32 cell = first + threadIdx.x, total;
        u32 start = block_prefix(cell < cells ? ends[cell] : 0, total);
        if (cell < cells) ends[cell] = before + start;
        before += total;
    }
    __syncthreads();
    for (u32 p = threadIdx.x; p < count; p += SORTING_THREADS) {
        Record record;
        record.load(sample + (size_t)p * RECORD_WORDS);
        u32 place = atomicAdd(ends + cell_of(record), 1u);
        points[place] = Point{{record.fraction(0), record.fraction(1), DIMENSION == 3 ? record.fraction(2) : 0}, p};
    }
}

INLINE u32 species_of(u32 particle) {
    u32 species = 0;
#pragma unroll
    for (int k = 1; k < SPECIES_COUNT; ++k) species += particle >= geometry.start[k] ? 1 : 0;
    return species;
}
