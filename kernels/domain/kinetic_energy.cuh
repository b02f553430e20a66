// The kinetic energy of all ranks' particles within a launch, for a thermostat of the whole system (Nose-Hoover, Bussi): after
// each drift the ranks tell each other theirs. All must be neighbors of each other.
#pragma once
#include "domain/halo.cuh"
#include "md/thermostat.cuh"

#include "shared/peer_launch.cuh"

// Twice the kinetic energy of all ranks' particles, once the blocks here have added theirs; one thread of each block comes
// here. A neighbor writes the sums of the turn after the next into the same place: then it has those of the next, which
// are sent when all blocks here have read these.
static __device__ __noinline__ double kinetic2_of_ranks(u32 launch, u32 turn) {
    SplitSum(*sums)[3] = system.control->sums;
    u32 words = SUM_WORDS + 2 * (turn & 1);
    u64 number = (u64)launch << 32 | (turn + 1);
    const volatile SplitSum &own = sums[turn & 3][0];
    SplitSum total = {own.upper, own.lower};
    if (blockIdx.x == 0) {
        for (u32 j = 0; j < halo.neighbors; ++j) {
            *signals_to(j, words) = total.upper;
            *signals_to(j, words + 1) = total.lower;
        }
        fence_system();
        for (u32 j = 0; j < halo.neighbors; ++j) store_relaxed_system(signals_to(j, SUMS), number);
        sums[(turn + 3) & 3][0] = SplitSum{0, 0};
    }
    for (u32 j = 0; j < halo.neighbors; ++j) {
        wait_for_signal(j, SUMS, number);
        total.upper += load_relaxed_system(signals_from(j, words));
        total.lower += load_relaxed_system(signals_from(j, words + 1));
    }
    return value_of(total);
}

// The thermostat acts after the drift to a step, the `drift`-th of the launch. All threads come here, after a barrier.
static __device__ __noinline__ void act_after_drift_of_ranks(const Thermostat &thermostat, GlobalThermostat &shared,
                                                             const PeerLaunch &launch, u32 drift, u64 step) {
    if (threadIdx.x < 32) shared.draw_for(thermostat, step);
    if (threadIdx.x == 0) {
        shared.find_factor(thermostat, shared.begin_step(thermostat, step), kinetic2_of_ranks(launch.number, drift), step);
        shared.end_step(thermostat);
    }
    __syncthreads();
}
