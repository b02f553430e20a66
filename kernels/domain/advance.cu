// Many steps of a domain in one launch: the neighbours' cards write the sites of ghosts into this one's memory.
//
// A pass goes over the tiles of the interior first, then waits for the ghosts of the step and goes over the others. After it
// every block writes the new sites of what its particles lend into the neighbours' memory, and when all blocks have,
// the number of the step goes into their mail boxes. Sites of steps alternate between two copies: a neighbour that has
// gone on writes into the one that nobody here reads any more, because it cannot have gone on further than one step.
#pragma once
#include "domain/rim.cuh"
#include "domain/steps.cu"
#include "md/passes.cuh"

// Mirrors `PeerLaunch` in src/engine/cuda/rank/steps.rs.
struct PeerLaunch {
    u64 first_step;
    // Steps that all ranks have taken so since the start.
    u64 sequence;
    u32 steps;
    u32 unused;
};

// Clock cycles after which a neighbour is given up: half a minute or more.
#define LONGEST_WAIT (1ll << 36)

// Waits until the neighbours have written the ghosts of a step, alike in all threads of the block.
INLINE void wait_for_ghosts(u64 step) {
    if (threadIdx.x < rim.neighbors) {
        i64 start = clock64();
        while ((i64)(load_acquire_system(rim.mail + threadIdx.x) - step) < 0) {
            spin_wait();
            if (clock64() - start > LONGEST_WAIT) {
                rim.control->lost = threadIdx.x + 1;
                break;
            }
        }
    }
    __syncthreads();
}

// Writes the sites that the block's particles lend into the neighbours' memory.
INLINE void lend_sites(u32 first, u32 last, u32 site_copy) {
    const Site *sites = system.sites[site_copy];
    // What other lanes have written.
    __syncthreads();
    for (u32 entry = first + threadIdx.x; entry < last; entry += blockDim.x) {
        Site *to = rim.peer_sites[site_copy][rim.lent_slot[entry] >> SLOT_BITS];
        load_ghost(sites, rim.lent_own[entry], to, rim.lent_remote[entry]);
    }
    __syncthreads();
    if (threadIdx.x == 0 && first < last) fence_system();
}

template <bool LANGEVIN, bool ALONE>
INLINE void advance_with_peers_steps(const PeerLaunch &launch, const Thermostat &thermostat) {
    Control *control = system.control;
    i64 begun = clock64();
    begin_grid();
    Work work;
    u32 particles_of_tile = group_of<ALONE>().particles;
    share_of_block(tile_count(group_of<ALONE>()), work.first_tile, work.last_tile);
    work.copy = control->copy;
    work.site_copy = control->site_copy;
    work.sample = nullptr;
    u32 first_lent = rim.lent_start[work.first_tile], last_lent = rim.lent_start[work.last_tile];
    u32 last_particle = work.last_tile * particles_of_tile;
    last_particle = last_particle < system.count ? last_particle : system.count;
    for (u32 p = work.first_tile * particles_of_tile + threadIdx.x; p < last_particle; p += blockDim.x) {
        copy_moving(system.particles[work.copy], system.particles[work.copy ^ 1], p);
    }
    __syncthreads();
    i64 waited = 0;
    for (u32 done = 0;; ++done) {
        bool last = done == launch.steps, kick = done > 0;
        u64 step = launch.first_step + done;
        SplitSum heat[2] = {};
        Findings findings = {false, false};
        for (u32 region = INTERIOR; region <= BOUNDARY; ++region) {
            work.region = region;
            if (region == BOUNDARY && kick) {
                i64 start = clock64();
                wait_for_ghosts(launch.sequence + done);
                waited += clock64() - start;
            }
            Findings found = !LANGEVIN && !ALONE && system.lanes_log2 >= 2
                                 ? force_pass_by_axis(work, kick, !last, last)
                                 : force_pass<LANGEVIN, ALONE>(thermostat, work, step, kick, !last, last, heat);
            findings.stale |= found.stale;
            findings.error |= found.error;
        }
        if (LANGEVIN) {
            // Half steps of the launch: that before its first drift has number 0.
            if (kick) add_to_total(heat[0], rim.heat + (2 * done - 1));
            if (!last) add_to_total(heat[1], rim.heat + 2 * done);
        }
        // What is too close now; what runs away does so in the next step.
        bool now = findings.error && *(volatile u32 *)&control->status == STATUS_TOO_CLOSE;
        note(findings, now ? step : step + 1);
        if (last) break;
        lend_sites(first_lent, last_lent, work.site_copy ^ 1);
        synchronize(false);
        if (blockIdx.x == 0 && threadIdx.x < rim.neighbors) {
            store_release_system(rim.peer_mail[threadIdx.x], launch.sequence + done + 1);
        }
        work.site_copy ^= 1;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control->cycles[0] += (u64)(clock64() - begun);
        control->steps_done = launch.steps;
        control->cycles[1] += (u64)waited;
        control->site_copy = work.site_copy;
    }
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_with_peers(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<false, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(512, 1)
    advance_with_peers_wide(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<false, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK_ALONE, 1)
    advance_with_peers_alone(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<false, true>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_with_peers_langevin(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<true, false>(launch, thermostat);
}
