// How a kernel ends that the host waits for: the last block writes what was found into the host's memory, and clears it. That
// takes the host a few microseconds less than a copy behind the kernel, twice for each list.
#pragma once
#include "domain/rim.cuh"

// Whether this is the last block to come here; what the others have written is seen then, also by other cards that are
// told of it afterwards. The barrier is ready for the next cooperative launch.
INLINE bool is_last_block() {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        last = atomicAdd(&rim.control->ended, 1u) + 1 == gridDim.x;
        if (last) {
            rim.control->ended = 0;
            system.control->barrier[0] = 0;
            system.control->barrier[1] = 0;
        }
        fence_system();
    }
    __syncthreads();
    return last;
}

// All threads come here at the end of a kernel; `number` is that of the report.
INLINE void report_to_host(u32 number) {
    if (!is_last_block()) return;
    volatile u32 *control = (volatile u32 *)rim.control, *report = (volatile u32 *)&rim.report->control;
    for (u32 word = threadIdx.x; word < sizeof(RimControl) / 4; word += blockDim.x) {
        report[word] = control[word];
        control[word] = word * 4 < sizeof(FirstSteps) ? ~0u : 0;
    }
    fence_system();
    __syncthreads();
    if (threadIdx.x == 0) store_release_system(&rim.report->number, number);
}
