// Coordinates in a tilted box, where they are lengths. Mirrors `flipped` of src/engine/precision/mod.rs.
#pragma once
#include "arithmetic/real.cuh"

// The skewed coordinate along x, x + turns aspect y, wrapped; below the edge before it is rounded to fewer digits. `image` changes
// by its crossing.
INLINE double flipped_in_edge(double x, double y, double edge, double aspect, i32 turns, i32 &image) {
    double moved = add(x, mul((double)turns, mul(aspect, y)));
    if (moved < 0.0) {
        moved = add(moved, edge);
        image -= 1;
    }
    if (moved >= edge) {
        moved = sub(moved, edge);
        image += 1;
    }
    return moved;
}
