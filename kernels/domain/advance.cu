// Many steps of a domain in one launch: the neighbors' GPUs write the sites of ghosts into this one's memory.
//
// In a pass every warp waits for the ghosts of the step, if lists of its tiles hold some, goes over these tiles, writes the
// new sites of what their particles send into the neighbors' memory, and goes over its other tiles while these are on their
// way. The last warp to have written puts the number of the step into the neighbors' signals: by then nobody here
// reads the ghosts of this step any more. Sites of steps alternate between two copies; so a neighbor that has got the signal
// may write the ghosts of the step after the next where those of this one were. Every block has its share of the tiles of
// the boundary and of those of the interior, so that the signal leaves early in a pass.
//
// A launch may end with the drift to the next step, whose lists are to be rebuilt; or else the next launch begins with
// sending its sites. Which step that is, the host has foreseen, or the ranks find out: after each drift from some step on all
// tell each other whether a particle has moved too far.
//
// The first pass reads the particles from the copy that is valid and writes them to the other one, where they stay: what the
// launch began with is kept until the ranks have agreed that its lists were good.
#pragma once
#include "domain/kinetic_energy.cuh"
#include "domain/report.cuh"
#include "domain/steps.cu"
#include "md/passes.cuh"

#include "shared/peer_launch.cuh"

INLINE bool looks(const PeerLaunch &launch) { return launch.looks_after != ~0u; }
// Whether lists may end with the drift after this number of steps: those that follow are made with the forces before it.
INLINE bool lists_may_end(const PeerLaunch &launch, u32 done) {
    return done >= launch.looks_after || (launch.drifts && done == launch.steps);
}
// How often the launch has sent sites when this number of its steps is complete.
INLINE u32 sent_after(const PeerLaunch &launch, u32 done) { return done + (launch.present == OWN_SITES ? 1 : 0); }

// Waits until the neighbors have sent sites this number of times, alike in all lanes of the warp.
static __device__ __noinline__ void wait_for_ghosts(u64 number) {
    u32 lane = threadIdx.x & 31;
    if (lane < halo.neighbors) wait_for_signal(lane, SITES, number);
    __syncwarp();
}

// Writes the sites that the warp's particles send, in one of their copies, into the neighbors' memory. All warps come here;
// the last one of all tells the neighbors. `turn`: times that the launch has sent sites, this one included; `number`: those
// of all launches.
static __device__ __noinline__ void send_sites(const Work &work, u32 site_copy, u32 &warps_done, u32 turn, u64 number) {
    u32 lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const Site *sites = system.sites[site_copy];
    if (work.has_boundary()) {
        // What the other lanes have written.
        __syncwarp();
        for (u32 at = work.first(); at < work.last(); at += warps) {
            u32 tile = work.tile(at), last = halo.send_end[tile];
            for (u32 entry = halo.send_start[tile] + lane; entry < last; entry += 32) {
                Site *to = halo.peer_sites[site_copy][halo.send_slot[entry] >> SLOT_BITS];
                load_ghost(sites, halo.send_own[entry], to, halo.send_remote[entry]);
            }
        }
        __syncwarp();
    }
    if (lane != 0) return;
    // That of the last warp holds for what the others have written; each empties the first-level cache.
    fence_block();
    if (atomicAdd(&warps_done, 1u) + 1 != turn * warps) return;
    fence_system();
    if (atomicAdd(&halo.control->arrived, 1u) + 1 != turn * gridDim.x) return;
    fence_system();
    for (u32 j = 0; j < halo.neighbors; ++j) store_relaxed_system(signals_to(j, SITES), number);
}

// Whether lists are no longer good for the sites that all have sent, `number` times since the start: for those here, or those of
// a neighbor. A word with a later number is of a neighbor for which they were good. All threads of the grid come here.
static __device__ __noinline__ bool lists_end_anywhere(bool here, u64 number) {
    u32 j = threadIdx.x;
    bool there = false;
    if (j < halo.neighbors) {
        if (blockIdx.x == 0) {
            fence_system();
            store_relaxed_system(signals_to(j, LISTS_END), 2 * number + (here ? 1 : 0));
        }
        there = wait_for_signal(j, LISTS_END, 2 * number) == 2 * number + 1;
    }
    return __syncthreads_or(here || there);
}

// The barrier after the drift after `done` steps; whether the launch ends with it, alike on all ranks.
INLINE bool ends_with_drift(const PeerLaunch &launch, bool needs_rebuild, u32 done) {
    if (done < launch.looks_after) {
        synchronize(false);
        return false;
    }
    bool here = synchronize(needs_rebuild);
    return lists_end_anywhere(here, launch.sequence + sent_after(launch, done + 1));
}

// The first kick of a step and its drift, by the forces that the launch before has left.
template <Acting ACTING>
static __device__ __noinline__ Started start_step_of_tiles(const Thermostat &thermostat, double factor, const Work &work, u64 step) {
    const Particles &from = system.particles[work.copy], &to = system.particles[work.copy_to];
    Started started = {{false, false}, {0, 0}};
    Group group = group_of();
    for (u32 at = work.first(); at < work.last(); at += blockDim.x >> 5) {
        u32 p = particle_of(group, work.tile(at));
        if (p >= system.count || group.member != 0) continue;
        u32 species = from.species[p];
        start_step_of<ACTING>(thermostat, factor, from, to, system.sites[work.site_copy ^ 1], p, step, started);
        work.write_names(p, species);
    }
    return started;
}

// The warp's part in a launch; `shares` of its block is filled. Names of ghosts are copied where the launch is to write them.
INLINE void begin_work(const PeerLaunch &launch, TileShares &shares, Work &work) {
    work.change([&] {
        const Control *control = system.control;
        work.copy = control->copy;
        work.copy_to = work.copy ^ 1;
        work.names = launch.names != 0;
        work.site_copy = control->site_copy;
        work.sample = nullptr;
    });
    if (threadIdx.x == 0) shares = shares_of_block(blockIdx.x);
    __syncthreads();
    work.learn_regions(shares);
    note_time_stamp(STEPPING);
    if (!work.names) return;
    const Particles &from = system.particles[work.copy], &to = system.particles[work.copy_to];
    u32 ghost = system.count + blockIdx.x * blockDim.x + threadIdx.x;
    for (; ghost < halo.ghost_start[system.bins]; ghost += gridDim.x * blockDim.x) {
        to.id[ghost] = from.id[ghost];
        to.species[ghost] = from.species[ghost];
    }
}

// Whether the rebuilding before has failed; the launch then does nothing.
INLINE bool is_halted(const PeerLaunch &launch) {
    if (*(volatile u32 *)halo.halt == 0) return false;
    report_to_host(launch.report, NOTHING, 0);
    return true;
}

// Notes how the launch has ended, after this number of steps; of the times only the first thread's count. All threads come here.
INLINE void end_work(const PeerLaunch &launch, const Work &work, u32 done, bool drifted, const i64 &begun, const i64 &waited) {
    note_time_stamp(STEPPED);
    if (!looks(launch)) {
        keep_maximum_displacement(system.sites[work.site_copy], blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Control *control = system.control;
        control->cycles[0] += (u64)(clock64() - begun);
        control->cycles[1] += (u64)waited;
        control->copy = work.copy;
        control->site_copy = work.site_copy ^ (drifted ? 1 : 0);
        control->reached = launch.first_step + done + (drifted ? 1 : 0);
        halo.control->steps = done;
        halo.control->drifted = drifted;
        store_box(drifted);
    }
    report_to_host(launch.report, launch.rebuilds ? REBUILDING : NOTHING, drifted ? launch.first_step + done : ~0ull);
}

// A pass under a thermostat. With 64-bit floats by itself, so that less of what stands around it is moved to slow memory; else within
// the kernel, where it takes 0.6 of the time.
template <Acting ACTING, typename Sums>
static __device__ __noinline__ Findings pass_by_itself(const PassOf &pass, const Work &work, Sums &sums) {
    return pass_over_particles<ACTING, false>(pass, work, sums);
}
template <Acting ACTING, bool SINGLE_LANE, typename Sums>
INLINE Findings pass_of_ranks(const PassOf &pass, const Work &work, Sums &sums) {
    if (ACTING != ACTS_NONE && sizeof(Real) == 8) return pass_by_itself<ACTING>(pass, work, sums);
    return pass_over_particles<ACTING, SINGLE_LANE>(pass, work, sums);
}

template <Acting ACTING, bool SINGLE_LANE>
INLINE void advance_with_peers_steps(const PeerLaunch &launch, const Thermostat &thermostat) {
    constexpr bool LANGEVIN = ACTING == ACTS_LANGEVIN, GLOBAL = ACTING == ACTS_GLOBAL;
    __shared__ u32 warps_done;
    // Clock at the start, and cycles that the first warp has waited.
    __shared__ i64 begun, waited;
    __shared__ GlobalThermostat shared;
#if LOOKS_AHEAD
    __shared__ PassesBeforeLists before_lists;
    if (threadIdx.x == 0) {
        u32 site_copy = system.control->site_copy;
        for (u32 done = 0; done < 2; ++done) before_lists.stores_forces[site_copy ^ done] = lists_may_end(launch, done);
    }
#endif
    if (threadIdx.x == 0) {
        warps_done = 0;
        begun = clock64();
        waited = 0;
        if (GLOBAL) shared.load(thermostat, system.control);
    }
    __shared__ TileShares shares;
    __shared__ Work of_warp[MOST_WARPS];
    if (is_halted(launch)) return;
    begin_grid();
    enter_flow(launch.of_step);
    Work &work = of_warp[threadIdx.x >> 5];
    begin_work(launch, shares, work);
    // The first block may end before others have begun.
    if (launch.steps == 0) synchronize(false);
    u32 done = 0, drifts = 0;
    bool drifted = false;
    if (launch.present == OWN_SITES) {
        work.go_to(BOUNDARY);
        send_sites(work, work.site_copy, warps_done, 1, launch.sequence + 1);
        // Nobody is counted a second time before all have been once.
        synchronize(false);
    }
    if (launch.present == FORCES) {
        bool needs_rebuild = false;
        double factor = GLOBAL ? shared.memory.factor : 1.0;
        SplitSum sums[1] = {};
        for (u32 turn = 0; turn < 2; ++turn) {
            work.go_to(turn == 0 ? BOUNDARY : INTERIOR);
            Started started = start_step_of_tiles<ACTING>(thermostat, factor, work, launch.first_step + 1);
            if (turn == 0) send_sites(work, work.site_copy ^ 1, warps_done, 1, launch.sequence + 1);
            if (LANGEVIN) add_to_total(started.sum, halo.heat + 1);
            sums[0].upper += started.sum.upper;
            sums[0].lower += started.sum.lower;
            note(started.findings, launch.first_step + 1);
            needs_rebuild |= started.findings.needs_rebuild;
        }
        if (GLOBAL) add_to_totals(sums, system.control->sums[0]);
        drifted = ends_with_drift(launch, needs_rebuild, 0);
        if (GLOBAL) act_after_drift_of_ranks(thermostat, shared, launch, drifts++, launch.first_step + 1);
        work.stay();
        if (!drifted) {
            work.take_new_sites();
            go_on_in_flow(launch.of_step);
            done = 1;
        }
    }
    for (; !drifted; ++done) {
        bool last = done == launch.steps, moves = !last || launch.drifts;
        u64 step = launch.first_step + done;
        // As on one GPU: Langevin's heat in registers, the sums of the others in shared memory.
        ThreadSums of_threads = {};
        WarpSums of_warps = {done};
        if (GLOBAL) of_warps.clear();
        Findings findings = {false, false};
        if (sent_after(launch, done) > 0 && work.has_boundary()) {
            if (threadIdx.x == 0) waited -= clock64();
            wait_for_ghosts(launch.sequence + sent_after(launch, done));
            if (threadIdx.x == 0) waited += clock64();
        }
#if LOOKS_AHEAD
        PassOf pass = {thermostat, shared, before_lists, false, 0, step, true, moves, !moves};
#else
        PassOf pass = {thermostat, shared, false, 0, step, true, moves, !moves};
#endif
        for (u32 turn = 0; turn < 2; ++turn) {
            work.go_to(turn == 0 ? BOUNDARY : INTERIOR);
            Findings found = GLOBAL ? pass_of_ranks<ACTING, SINGLE_LANE>(pass, work, of_warps)
                                    : pass_of_ranks<ACTING, SINGLE_LANE>(pass, work, of_threads);
            findings.needs_rebuild |= found.needs_rebuild;
            findings.error |= found.error;
            if (turn == 0 && !last) {
                u32 sending = sent_after(launch, done + 1);
                send_sites(work, work.site_copy ^ 1, warps_done, sending, launch.sequence + sending);
            }
        }
        // By step, from the first of the launch on.
        if (LANGEVIN && moves) add_to_total(of_threads.sum[0], halo.heat + done + 1);
        if (GLOBAL) {
            __syncthreads();
            if (threadIdx.x < 32) {
                if (thermostat.kind == THERMOSTAT_BUSSI) of_warps.add_of_block(0, halo.heat + done);
                if (moves) of_warps.add_of_block(1, system.control->sums[drifts & 3]);
            }
        }
        // What is too close is so now; what runs away does so in the next step.
        u32 status = *(volatile u32 *)&system.control->status;
        bool now = findings.error && (GLOBAL ? status != STATUS_RUNAWAY : status == STATUS_TOO_CLOSE);
        note(findings, now ? step : step + 1);
        work.stay();
#if LOOKS_AHEAD
        // Of the next pass; before the barrier.
        if (threadIdx.x == 0) before_lists.stores_forces[work.site_copy ^ 1] = lists_may_end(launch, done + 1);
#endif
        drifted = last ? launch.drifts != 0 : ends_with_drift(launch, findings.needs_rebuild, done);
        if (GLOBAL && moves) {
            // Else the barrier has been within.
            if (last) synchronize(false);
            act_after_drift_of_ranks(thermostat, shared, launch, drifts++, step + 1);
        }
        if (last || drifted) break;
        work.take_new_sites();
        go_on_in_flow(launch.of_step);
    }
    if (GLOBAL && blockIdx.x == 0 && threadIdx.x == 0) shared.store(system.control);
    end_work(launch, work, done, drifted, begun, waited);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_with_peers(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<ACTS_NONE, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(512, 1)
    advance_with_peers_wide(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<ACTS_NONE, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK_SINGLE_LANE, 1)
    advance_with_peers_single_lane(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<ACTS_NONE, true>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_with_peers_langevin(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<ACTS_LANGEVIN, false>(launch, thermostat);
}

// All ranks must be neighbors of each other.
extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_with_peers_global(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    advance_with_peers_steps<ACTS_GLOBAL, false>(launch, thermostat);
}
