// How a kernel ends that the host waits for: the last block writes what was found into the host's memory, and clears it. That
// takes the host a few microseconds less than a copy after the kernel, twice for each list.
#pragma once
#include "domain/halo.cuh"

// Whether this is the last block to come here; what the others have written is seen then, also by other GPUs that are
// notified of it afterwards.
INLINE bool is_last_block() {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        last = atomicAdd(&halo.control->ended, 1u) + 1 == gridDim.x;
        if (last) halo.control->ended = 0;
        fence_system();
    }
    __syncthreads();
    return last;
}

// One thread of the grid notes the moment.
INLINE void note_time_stamp(TimeStamp time_stamp) {
    if (blockIdx.x == 0 && threadIdx.x == 0) halo.control->time_stamps[time_stamp] = nanoseconds();
}

// Each other's findings, by signals: a neighbor writes those of the report after the next into the same place, and by then has
// those of the next, which are sent when these have been read. One thread comes here.
static __device__ __noinline__ Agreed agree(u32 number) {
    const volatile HaloControl &control = *halo.control;
    u64 own[4] = {control.first.needs_rebuild, control.first.fault, control.moved2, control.failed};
    u32 words = FINDINGS_WORDS + 4 * (number & 1);
    for (u32 j = 0; j < halo.neighbors; ++j) {
        for (u32 k = 0; k < 4; ++k) *signals_to(j, words + k) = own[k];
    }
    fence_system();
    for (u32 j = 0; j < halo.neighbors; ++j) store_relaxed_system(signals_to(j, FINDINGS), number);
    for (u32 j = 0; j < halo.neighbors; ++j) {
        if (wait_for_signal(j, FINDINGS, number) == 0) break;
        for (u32 k = 0; k < 4; ++k) {
            u64 other = load_relaxed_system(signals_from(j, words + k));
            own[k] = (k < 2) == (other < own[k]) ? other : own[k];
        }
    }
    return Agreed{own[0], own[1], own[2], own[3]};
}

// What has been launched after a kernel: nothing that it may halt; steps, which need the lists; a rebuilding, for which it
// must be the right step.
enum Behind : u32 { NOTHING = 0, STEPS = 1, REBUILDING = 2 };

// All threads come here at the end of a kernel; `number` is that of the report. `good_until`: the step before the one in which
// the lists are to be rebuilt, or the largest number if that is not the next one.
static __device__ __noinline__ void report_to_host(u32 number, Behind behind, u64 good_until) {
    if (!is_last_block()) return;
    // For the next cooperative launch.
    if (threadIdx.x < 2) system.control->barrier[threadIdx.x] = 0;
    Report *to = halo.report + (number & 1);
    if (halo.agrees && threadIdx.x == 0) {
        Agreed agreed = agree(number);
        volatile Agreed &theirs = to->agreed;
        theirs.needs_rebuild = agreed.needs_rebuild;
        theirs.fault = agreed.fault;
        theirs.moved2 = agreed.moved2;
        theirs.failed = agreed.failed;
        bool halts = agreed.fault != ~0ull || (behind == STEPS ? agreed.failed != 0 : agreed.needs_rebuild <= good_until);
        if (behind != NOTHING) *halo.halt = halts;
    }
    __syncthreads();
    if (threadIdx.x == 0) *(volatile u64 *)&to->written = nanoseconds();
    volatile u32 *control = (volatile u32 *)halo.control, *report = (volatile u32 *)&to->control;
    for (u32 word = threadIdx.x; word < sizeof(HaloControl) / 4; word += blockDim.x) {
        report[word] = control[word];
        control[word] = word * 4 < sizeof(FirstSteps) ? ~0u : 0;
    }
    fence_system();
    __syncthreads();
    if (threadIdx.x == 0) store_relaxed_system(&to->number, number);
}
