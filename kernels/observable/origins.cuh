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

// Sorting takes a block for each origin where particles are few, else three kernels one after the other. `ends`: by origin, cell;
// `points`: by origin, place.

// Where each cell starts, which grows to its end as its particles are put there; `ends` are numbers of particles before. All threads of a
// block come here.
INLINE void find_starts_of(u32 *ends) {
    u32 cells = geometry.grid.cell_count, before = 0;
    for (u32 first = 0; first < cells; first += SORTING_THREADS * CELLS_OF_THREAD) {
        u32 cell = first + threadIdx.x * CELLS_OF_THREAD, number[CELLS_OF_THREAD], sum = 0, total;
#pragma unroll
        for (u32 k = 0; k < CELLS_OF_THREAD; ++k) {
            number[k] = cell + k < cells ? ends[cell + k] : 0;
            sum += number[k];
        }
        u32 start = before + block_prefix(sum, total);
#pragma unroll
        for (u32 k = 0; k < CELLS_OF_THREAD; ++k) {
            if (cell + k < cells) ends[cell + k] = start;
            start += number[k];
        }
        before += total;
    }
}

INLINE void put_in_cell(const u32 *sample, u32 particle, u32 *ends, Point *points) {
    Record record;
    record.load(sample + (size_t)particle * RECORD_WORDS);
    u32 place = atomicAdd(ends + cell_of(record), 1u);
    points[place] = Point{{record.fraction(0), record.fraction(1), DIMENSION == 3 ? record.fraction(2) : 0}, particle};
}

INLINE void count_in_cell(const u32 *sample, u32 particle, u32 *ends) {
    Record record;
    record.load(sample + (size_t)particle * RECORD_WORDS);
    atomicAdd(ends + cell_of(record), 1u);
}

extern "C" __global__ void __launch_bounds__(SORTING_THREADS)
    sort_origins(const __grid_constant__ Records records, const u32 *origins, u32 *all_ends, Point *all_points) {
    const u32 *sample = sample_of(records, origins[blockIdx.x]);
    u32 cells = geometry.grid.cell_count, count = particle_count();
    u32 *ends = all_ends + (size_t)blockIdx.x * cells;
    Point *points = all_points + (size_t)blockIdx.x * count;
    for (u32 cell = threadIdx.x; cell < cells; cell += SORTING_THREADS) ends[cell] = 0;
    __syncthreads();
    for (u32 p = threadIdx.x; p < count; p += SORTING_THREADS) count_in_cell(sample, p, ends);
    __syncthreads();
    find_starts_of(ends);
    __syncthreads();
    for (u32 p = threadIdx.x; p < count; p += SORTING_THREADS) put_in_cell(sample, p, ends, points);
}

// Particles of each cell, on top of zeros. Blocks along x for the particles, along y for the origins.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_in_cells(const __grid_constant__ Records records, const u32 *origins, u32 *all_ends) {
    u32 p = blockIdx.x * THREADS + threadIdx.x;
    if (p >= particle_count()) return;
    count_in_cell(sample_of(records, origins[blockIdx.y]), p, all_ends + (size_t)blockIdx.y * geometry.grid.cell_count);
}

// A block for each origin.
extern "C" __global__ void __launch_bounds__(SORTING_THREADS) find_starts(u32 *all_ends) {
    find_starts_of(all_ends + (size_t)blockIdx.x * geometry.grid.cell_count);
}

// Blocks as to count them.
extern "C" __global__ void __launch_bounds__(THREADS)
    put_in_cells(const __grid_constant__ Records records, const u32 *origins, u32 *all_ends, Point *all_points) {
    u32 p = blockIdx.x * THREADS + threadIdx.x, count = particle_count();
    if (p >= count) return;
    u32 *ends = all_ends + (size_t)blockIdx.y * geometry.grid.cell_count;
    put_in_cell(sample_of(records, origins[blockIdx.y]), p, ends, all_points + (size_t)blockIdx.y * count);
}

INLINE u32 species_of(u32 particle) {
    u32 species = 0;
#pragma unroll
    for (int k = 1; k < SPECIES_COUNT; ++k) species += particle >= geometry.start[k] ? 1 : 0;
    return species;
}
