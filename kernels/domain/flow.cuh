// Steady shear of a domain among others: its box is that of all. The host leads a step's drift, or a launch takes many steps.
#pragma once
#include "domain/halo.cuh"
#include "md/grid.cuh"

// The box before the drift of a step. All threads of the block come here.
INLINE void enter_flow(const FlowOfStep &of_step) {
#if TILTED
    enter_box();
    if (threadIdx.x == 0) {
        flow.enter(of_step.flow, 0);
        flow.residue = Residue{of_step.sign, of_step.share, of_step.rest};
        flow.prepare_drift();
    }
    __syncthreads();
#endif
}

// After a drift of all particles in a launch that has begun with another one, and a barrier. All threads of the block come here.
INLINE void go_on_in_flow(const FlowOfStep &first) {
#if TILTED
    if (threadIdx.x == 0 && first.flow.flows) flow.go_on();
    __syncthreads();
#endif
}

// What a launch of steps leaves, which may have ended with a drift; one thread of the grid comes here.
INLINE void store_box(bool drifted) {
#if TILTED
    system.control->tilt = drifted ? flow.tilt_after_drift() : flow.tilt;
#endif
}

// Lists have been made in the present box; one thread of the grid comes here.
INLINE void store_box_of_lists() {
#if TILTED
    system.control->lists_made_at = flow.tilt;
#endif
}

// The slope of the tilted period.
INLINE double slope_of_box() {
#if TILTED
    return magnitude(mul(flow.tilt, system.aspect));
#else
    return 0.0;
#endif
}
