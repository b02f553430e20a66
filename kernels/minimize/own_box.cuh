// A system and a box for each block of a launch.
#pragma once
#include "block_sums.cuh"

// Of the block.
__shared__ System system;
__shared__ PolicyConstants policy;

// As in `md/box_constants.cuh`: in 64 bits they do not depend on the box.
__constant__ Pair pairs[SPECIES_COUNT * SPECIES_COUNT];
__constant__ Real largest_core2;

// Every kernel begins so.
INLINE void enter_system(const System &of_block, const PolicyConstants &in_box, double tilt) {
    copy_by_block(system, of_block);
    copy_by_block(policy, in_box);
    __syncthreads();
    if (!TILTED) return;
    if (threadIdx.x == 0) {
        system.aspect = divide(policy.edges[0], policy.edges[1]);
        system.control->tilt = system.control->lists_made_at = tilt;
    }
    enter_box();
    __syncthreads();
}
