// Many systems in one launch. All of them have potential and species in common, and the box, unless `MEMBER_BOXES`. The blocks with one index along y belong to
// one system: they are the grid of all other files.
#pragma once
#include "block_sums.cuh"
#if MEMBER_BOXES
#include "md/box_constants.cuh"
#endif
#include "shared/launch.cuh"
#include "shared/sampling.cuh"
#include "shared/thermostat.cuh"
#include "shared/swaps.cuh"
#include "shared/measure.cuh"
#include "shared/member.cuh"

// The systems, and the first one of the launch.
__constant__ const Member *members;
__constant__ u32 first_member;

// Of the block's system.
__shared__ System system;
__shared__ SamplingConstant sampling;
__shared__ SplitSum *stress_sums;

INLINE const Member &member_of_block() { return members[first_member + blockIdx.y]; }

// Every kernel begins so.
INLINE void enter_system() {
    const Member &mine = member_of_block();
    copy_by_block(system, mine.system);
    copy_by_block(sampling, mine.sampling);
    if (threadIdx.x == 0) stress_sums = mine.stress_sums;
#if MEMBER_BOXES
    take_box(mine.box_constants);
#endif
    __syncthreads();
    enter_box();
    if (TILTED) __syncthreads();
}
