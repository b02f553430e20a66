// What depends on the box and is constant within a launch. The host writes all of it at once (src/engine/cuda/box_constants.rs).
#pragma once
#include "block_sums.cuh"

struct BoxConstants {
    alignas(16) PolicyConstants policy;
    // More than the alignment of a number would have the constants of a pair in 64 bits loaded together: registers are spilled then.
    alignas(8) Pair pairs[SPECIES_COUNT * SPECIES_COUNT];
    // Largest `core2` of all pairs, and no less than `coincident2`.
    alignas(16) Real largest_core2;
};

#if MEMBER_BOXES
// Each system among many has its own: of the block's, in the memory of the block.
__shared__ PolicyConstants policy;
__shared__ Pair pairs[SPECIES_COUNT * SPECIES_COUNT];
__shared__ Real largest_core2;

// The threads see it after the next barrier of the block.
INLINE void take_box(const void *constants) {
    const BoxConstants &of_system = *(const BoxConstants *)constants;
    copy_by_block(policy, of_system.policy);
    copy_by_block(pairs, of_system.pairs);
    copy_by_block(largest_core2, of_system.largest_core2);
}
#else
__constant__ BoxConstants box_constants;
static constexpr const PolicyConstants &policy = box_constants.policy;
static constexpr const Pair (&pairs)[SPECIES_COUNT * SPECIES_COUNT] = box_constants.pairs;
static constexpr const Real &largest_core2 = box_constants.largest_core2;
#endif
