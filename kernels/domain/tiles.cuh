// Who works on which tiles of a domain. Every block has a part of the boundary and a part of the interior, each in the order of
// memory, so that signals leave early in a pass, and as many of both together as all others.
#pragma once
#include "domain/halo.cuh"

// Numbers in `halo.tile_order`, of the interior and of the boundary (by `Region`): those of a block.
struct TileShares {
    u32 first[2];
    u32 last[2];

    INLINE u32 count(u32 region) const { return last[region] - first[region]; }
    INLINE u32 count() const { return count(INTERIOR) + count(BOUNDARY); }
    // Of the tiles of the block, those of the boundary first.
    INLINE u32 tile(u32 turn) const {
        u32 boundary = count(BOUNDARY);
        return halo.tile_order[turn < boundary ? first[BOUNDARY] + turn : first[INTERIOR] + (turn - boundary)];
    }
};

INLINE u32 before_block(u32 count, u32 block) { return (u32)((u64)count * block / gridDim.x); }

INLINE TileShares shares_of_block(u32 block) {
    u32 all = tile_count(group_of()), boundary = halo.order_start[all], interior = all - boundary;
    TileShares shares;
    for (u32 end = 0; end < 2; ++end) {
        u32 of_boundary = before_block(boundary, block + end);
        // What is left of an equal share of all; equal shares of both where blocks may have no tile of the interior.
        u32 of_interior = interior < gridDim.x ? before_block(interior, block + end) : before_block(all, block + end) - of_boundary;
        (end == 0 ? shares.first : shares.last)[BOUNDARY] = of_boundary;
        (end == 0 ? shares.first : shares.last)[INTERIOR] = boundary + of_interior;
    }
    return shares;
}

// The tiles whose lists a warp builds: those of its block, one after the other as warps come for more, then what other blocks
// have left. Lists of the boundary take longer than others, and nobody knows how long.
struct TileTurns {
    u32 tile;

    INLINE TileTurns(u32) : block(blockIdx.x), shares(shares_of_block(blockIdx.x)) {}

    // Whole warps come here.
    INLINE bool next() {
        for (;;) {
            u32 turn = 0;
            if ((threadIdx.x & 31) == 0) turn = atomicAdd(halo.tiles_taken + block, 1u);
            turn = __shfl_sync(~0u, turn, 0);
            if (turn < shares.count()) {
                tile = shares.tile(turn);
                return true;
            }
            if (!find_block()) return false;
            shares = shares_of_block(block);
        }
    }

private:
    u32 block;
    TileShares shares;

    // The next block that has tiles left.
    INLINE bool find_block() {
        for (u32 base = 0; base < gridDim.x; base += 32) {
            u32 distance = base + (threadIdx.x & 31), other = (blockIdx.x + distance) % gridDim.x;
            bool has_left = distance < gridDim.x && *(volatile u32 *)(halo.tiles_taken + other) < shares_of_block(other).count();
            u32 found = __ballot_sync(~0u, has_left);
            if (found == 0) continue;
            block = __shfl_sync(~0u, other, __ffs(found) - 1);
            return true;
        }
        return false;
    }
};
