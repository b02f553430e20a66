// Points sorted by cell, to find those near a place of the periodic box, whose coordinates are 32-bit fractions of the edge.
#pragma once
#include "arithmetic/portable.cuh"

#include "shared/cells.cuh"

struct alignas(16) Point {
    u32 fraction[3];
    u32 id;
};

// Cells along the last axis follow each other.
template <int D>
INLINE u32 cell_of(const CellGrid &grid, const u32 (&fraction)[D]) {
    u32 cell = 0;
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int axis = 0; axis < D; ++axis) cell = cell * grid.cells[axis] + (u32)((u64)fraction[axis] * grid.cells[axis] >> 32);
    return cell;
}

// Cells along an axis that have points within reach; they may lie one box away.
struct CellRange {
    i32 first;
    i32 last;

    INLINE CellRange(const CellGrid &grid, u32 fraction, int axis) {
        i64 cells = grid.cells[axis], reach = grid.reach[axis];
        first = (i32)(((i64)fraction - reach) * cells >> 32);
        last = (i32)(((i64)fraction + reach) * cells >> 32);
        if (last - first + 1 >= (i32)cells) first = 0, last = (i32)cells - 1;
    }
};

template <int D>
struct SortedPoints {
    const CellGrid &grid;
    // The end of each cell among the points.
    const u32 *ends;
    const Point *points;
    // Lengths of 2^-32 of the edges.
    float unit[D];

    INLINE SortedPoints(const CellGrid &of, const u32 *cell_ends, const Point *sorted, const double (&edge)[3])
        : grid(of), ends(cell_ends), points(sorted) {
        for (int axis = 0; axis < D; ++axis) unit[axis] = to_float(mul(edge[axis], 1.0 / 4294967296.0));
    }

    // Displacement from a place to the nearest image of a point, and its square.
    INLINE float displacement(const u32 *point, const u32 (&place)[D], float (&d)[D]) const {
        float r2 = 0.0f;
#if defined(__CUDACC__)
#pragma unroll
#endif
        for (int axis = 0; axis < D; ++axis) {
            d[axis] = mul((float)(i32)(point[axis] - place[axis]), unit[axis]);
            r2 = axis == 0 ? mul(d[axis], d[axis]) : fused(d[axis], d[axis], r2);
        }
        return r2;
    }

    // Calls `visit(number, point, displacement, its square)` for the points within the radius of a place. Of several
    // images the nearest counts. Work may be shared: `part` of `parts` visits every `parts`-th layer of cells.
    template <typename Visit>
    INLINE void near(const u32 (&place)[D], Visit visit, u32 part = 0, u32 parts = 1) const {
        CellRange along_x(grid, place[0], 0), along_last(grid, place[D - 1], D - 1);
        for (i32 x = along_x.first + (i32)part; x <= along_x.last; x += (i32)parts) {
            u32 row = wrapped(x, 0) * grid.cells[1];
            if (D == 2) {
                in_row(row, along_last, place, visit);
            } else {
                CellRange along_y(grid, place[1], 1);
                for (i32 y = along_y.first; y <= along_y.last; ++y) {
                    in_row((row + wrapped(y, 1)) * grid.cells[2], along_last, place, visit);
                }
            }
        }
    }

private:
    INLINE u32 wrapped(i32 cell, int axis) const {
        i32 cells = (i32)grid.cells[axis];
        return (u32)(cell < 0 ? cell + cells : cell >= cells ? cell - cells : cell);
    }

    // Of a row of cells along the last axis.
    template <typename Visit>
    INLINE void in_row(u32 row, CellRange range, const u32 (&place)[D], Visit visit) const {
        i32 cells = (i32)grid.cells[D - 1];
        if (range.first < 0) {
            in_stretch(row + (u32)(range.first + cells), row + (u32)cells - 1, place, visit);
            range.first = 0;
        } else if (range.last >= cells) {
            in_stretch(row, row + (u32)(range.last - cells), place, visit);
            range.last = cells - 1;
        }
        in_stretch(row + (u32)range.first, row + (u32)range.last, place, visit);
    }

    template <typename Visit>
    INLINE void in_stretch(u32 first, u32 last, const u32 (&place)[D], Visit visit) const {
        u32 end = ends[last];
        for (u32 at = first > 0 ? ends[first - 1] : 0; at < end; ++at) {
            Point point = points[at];
            float d[D], r2 = displacement(point.fraction, place, d);
            if (r2 < grid.squared_radius) visit(at, point, d, r2);
        }
    }
};
