// How a kernel ends that the host waits for: the last block writes what was found into the host's memory, and clears it. That
// takes the host a few microseconds less than a copy behind the kernel, twice for each list.
#pragma once
#include "domain/rim.cuh"

// Whether this is the last block to come here; what the others have written is seen then, also by other cards that are
// told of it afterwards.
INLINE bool is_last_block() {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        last = atomicAdd(&rim.control->ended, 1u) + 1 == gridDim.x;
        if (last) rim.control->ended = 0;
        fence_system();
    }
    __syncthreads();
    return last;
}

// One thread of the grid notes the moment.
INLINE void note_moment(Moment moment) {
    if (blockIdx.x == 0 && threadIdx.x == 0) rim.control->moments[moment] = nanoseconds();
}

// Each other's findings, by mail: a neighbour writes those of the report after the next into the same place, and by then has
// those of the next, which are sent when these have been read. One thread comes here.
static __device__ __noinline__ Agreed agree(u32 number) {
    const volatile RimControl &control = *rim.control;
    u64 own[4] = {control.first.stale, control.first.fault, control.moved2, control.failed};
    u32 words = FINDINGS_WORDS + 4 * (number & 1);
    for (u32 j = 0; j < rim.neighbors; ++j) {
        for (u32 k = 0; k < 4; ++k) *mail_to(j, words + k) = own[k];
    }
    fence_system();
    for (u32 j = 0; j < rim.neighbors; ++j) store_relaxed_system(mail_to(j, FINDINGS), number);
    for (u32 j = 0; j < rim.neighbors; ++j) {
        if (wait_for_mail(j, FINDINGS, number) == 0) break;
        for (u32 k = 0; k < 4; ++k) {
            u64 other = load_relaxed_system(mail_from(j, words + k));
            own[k] = (k < 2) == (other < own[k]) ? other : own[k];
        }
    }
    return Agreed{own[0], own[1], own[2], own[3]};
}

// What has been launched behind a kernel: nothing that it may halt; steps, which need the lists; a rebuilding, for which it
// must be the right step.
enum Behind : u32 { NOTHING = 0, STEPS = 1, REBUILDING = 2 };

// All threads come here at the end of a kernel; `number` is that of the report. `good_until`: the step before the one in which
// the lists are to be rebuilt, or the largest number if that is not the next one.
static __device__ __noinline__ void report_to_host(u32 number, Behind behind, u64 good_until) {
    if (!is_last_block()) return;
    // For the next cooperative launch.
    if (threadIdx.x < 2) system.control->barrier[threadIdx.x] = 0;
    Report *to = rim.report + (number & 1);
    if (rim.agrees && threadIdx.x == 0) {
        Agreed agreed = agree(number);
        volatile Agreed &told = to->agreed;
        told.stale = agreed.stale;
        told.fault = agreed.fault;
        told.moved2 = agreed.moved2;
        told.failed = agreed.failed;
        bool halts = agreed.fault != ~0ull || (behind == STEPS ? agreed.failed != 0 : agreed.stale <= good_until);
        if (behind != NOTHING) *rim.halt = halts;
    }
    __syncthreads();
    if (threadIdx.x == 0) *(volatile u64 *)&to->written = nanoseconds();
    volatile u32 *control = (volatile u32 *)rim.control, *report = (volatile u32 *)&to->control;
    for (u32 word = threadIdx.x; word < sizeof(RimControl) / 4; word += blockDim.x) {
        report[word] = control[word];
        control[word] = word * 4 < sizeof(FirstSteps) ? ~0u : 0;
    }
    fence_system();
    __syncthreads();
    if (threadIdx.x == 0) store_relaxed_system(&to->number, number);
}
