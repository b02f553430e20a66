// Many steps of a domain in one launch: the neighbours' cards write the sites of ghosts into this one's memory.
//
// In a pass every warp waits for the ghosts of the step, if lists of its tiles hold some, goes over these tiles, writes the
// new sites of what their particles lend into the neighbours' memory, and goes over its other tiles while these are on their
// way. The last warp to have written puts the number of the step into the neighbours' mail boxes: by then nobody here
// reads the ghosts of this step any more. Sites of steps alternate between two copies; so a neighbour that has got the mail
// may write the ghosts of the step after the next where those of this one were. Every block has its share of the tiles of
// the boundary and of those of the interior, so that the mail leaves early in a pass.
//
// A launch may end with the drift to the next step, whose lists are to be rebuilt; or else the next launch begins with
// lending its sites. Which step that is, the host has foreseen, or the ranks find out: after each drift from some step on all
// tell each other whether a particle has moved too far.
//
// The first pass reads the particles from the copy that is valid and writes them to the other one, where they stay: what the
// launch began with is kept until the ranks have agreed that its lists were good.
#pragma once
#include "domain/report.cuh"
#include "domain/steps.cu"
#include "md/passes.cuh"

// What is there of a step: its forces; or only sites, with those of the ghosts or of the own particles alone. Mirrors
// `Present` in src/engine/cuda/rank/mod.rs.
enum Present : u32 { FORCES = 0, ALL_SITES = 1, OWN_SITES = 2 };

// Mirrors `PeerLaunch` in src/engine/cuda/rank/steps_with_peers.rs.
struct PeerLaunch {
    u64 first_step;
    // Times that all ranks have lent sites since the start.
    u64 sequence;
    u32 steps;
    // What is there of the first step.
    u32 present;
    // Ends with the first kick and the drift of the next step.
    u32 drifts;
    // Lists are new: only one copy of the particles has ids and species.
    u32 names;
    // Launches with a thermostat of the whole system, this one included.
    u32 number;
    // Number of its report.
    u32 report;
    // From the drift behind so many steps on all ranks look whether the lists are good for it, and end with the first for
    // which they are not.
    u32 looks_after;
    // Whether a rebuilding is launched behind, for this end.
    u32 rebuilds;

    // Half steps of a bath before the drift behind so many steps.
    INLINE u32 half_steps_before(u32 done) const { return 2 * done + (present == FORCES ? 0 : 2); }
    INLINE bool looks() const { return looks_after != ~0u; }
    // How often the launch has lent sites when so many of its steps are complete.
    INLINE u32 lent_after(u32 done) const { return done + (present == OWN_SITES ? 1 : 0); }
};

// Waits until the neighbours have lent sites so many times, alike in all lanes of the warp.
static __device__ __noinline__ void wait_for_ghosts(u64 number) {
    u32 lane = threadIdx.x & 31;
    if (lane < rim.neighbors) wait_for_mail(lane, SITES, number);
    __syncwarp();
}

// Writes the sites that the warp's particles lend, in one of their copies, into the neighbours' memory. All warps come here;
// the last one of all tells the neighbours. `turn`: times that the launch has lent sites, this one included; `number`: those
// of all launches.
static __device__ __noinline__ void lend_sites(const Work &work, u32 site_copy, u32 &warps_done, u32 turn, u64 number) {
    u32 lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const Site *sites = system.sites[site_copy];
    if (work.has_boundary()) {
        // What the other lanes have written.
        __syncwarp();
        for (u32 at = work.first(); at < work.last(); at += warps) {
            u32 tile = work.tile(at), last = rim.lent_end[tile];
            for (u32 entry = rim.lent_start[tile] + lane; entry < last; entry += 32) {
                Site *to = rim.peer_sites[site_copy][rim.lent_slot[entry] >> SLOT_BITS];
                load_ghost(sites, rim.lent_own[entry], to, rim.lent_remote[entry]);
            }
        }
        __syncwarp();
    }
    if (lane != 0) return;
    // That of the last warp holds for what the others have written; each empties the first-level cache.
    fence_block();
    if (atomicAdd(&warps_done, 1u) + 1 != turn * warps) return;
    fence_system();
    if (atomicAdd(&rim.control->arrived, 1u) + 1 != turn * gridDim.x) return;
    fence_system();
    for (u32 j = 0; j < rim.neighbors; ++j) store_relaxed_system(mail_to(j, SITES), number);
}

// Whether lists are no longer good for the sites that all have lent, `number` times since the start: for those here, or those of
// a neighbour. A word with a later number is of a neighbour for which they were good. All threads of the grid come here.
static __device__ __noinline__ bool lists_end_anywhere(bool here, u64 number) {
    u32 j = threadIdx.x;
    bool there = false;
    if (j < rim.neighbors) {
        if (blockIdx.x == 0) {
            fence_system();
            store_relaxed_system(mail_to(j, LISTS_END), 2 * number + (here ? 1 : 0));
        }
        there = wait_for_mail(j, LISTS_END, 2 * number) == 2 * number + 1;
    }
    return __syncthreads_or(here || there);
}

// The barrier behind the drift behind `done` steps; whether the launch ends with it, alike on all ranks.
INLINE bool ends_with_drift(const PeerLaunch &launch, bool stale, u32 done) {
    if (done < launch.looks_after) {
        synchronize(false);
        return false;
    }
    bool here = synchronize(stale);
    return lists_end_anywhere(here, launch.sequence + launch.lent_after(done + 1));
}

struct Started {
    Findings findings;
    SplitSum heat;
};

// The first kick of a step and its drift, by the forces that the launch before has left.
template <bool LANGEVIN>
static __device__ __noinline__ Started start_step_of_tiles(const Thermostat &thermostat, const Work &work, u64 step) {
    const Particles &from = system.particles[work.copy], &to = system.particles[work.copy_to];
    Started started = {{false, false}, {0, 0}};
    Group group = group_of();
    for (u32 at = work.first(); at < work.last(); at += blockDim.x >> 5) {
        u32 p = particle_of(group, work.tile(at));
        if (p >= system.count || group.member != 0) continue;
        Body body;
        body.load(from, p);
        if (LANGEVIN) {
            double noise = langevin_noise(thermostat, step, body.species);
            body.langevin(thermostat, noise, from.id[p], 2 * step, started.heat, started.findings);
        }
        body.start_step(from, system.sites[work.site_copy ^ 1], p, started.findings);
        body.store_place(to, p);
        body.store_velocity(to, p);
        work.write_names(p, body.species);
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
    note_moment(STEPPING);
    if (!work.names) return;
    const Particles &from = system.particles[work.copy], &to = system.particles[work.copy_to];
    u32 ghost = system.count + blockIdx.x * blockDim.x + threadIdx.x;
    for (; ghost < rim.ghost_start[system.bins]; ghost += gridDim.x * blockDim.x) {
        to.id[ghost] = from.id[ghost];
        to.species[ghost] = from.species[ghost];
    }
}

// Whether the rebuilding before has failed; the launch then does nothing.
INLINE bool is_halted(const PeerLaunch &launch) {
    if (*(volatile u32 *)rim.halt == 0) return false;
    report_to_host(launch.report, NOTHING, 0);
    return true;
}

// Notes how the launch has ended, after so many steps; of the times only the first thread's count. All threads come here.
INLINE void end_work(const PeerLaunch &launch, const Work &work, u32 done, bool drifted, const i64 &begun, const i64 &waited) {
    note_moment(STEPPED);
    if (!launch.looks()) {
        keep_furthest(system.sites[work.site_copy], blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Control *control = system.control;
        control->cycles[0] += (u64)(clock64() - begun);
        control->cycles[1] += (u64)waited;
        control->copy = work.copy;
        control->site_copy = work.site_copy ^ (drifted ? 1 : 0);
        rim.control->steps = done;
        rim.control->drifted = drifted;
    }
    report_to_host(launch.report, launch.rebuilds ? REBUILDING : NOTHING, drifted ? launch.first_step + done : ~0ull);
}

// A pass under a Langevin bath. By itself, so that less of what stands around it is moved to slow memory.
static __device__ __noinline__ Findings langevin_pass(const Thermostat &thermostat, const Work &work, u64 step, bool moves,
                                                      SplitSum (&heat)[2]) {
    return force_pass<true, false>(thermostat, work, step, true, moves, !moves, heat);
}

// Adds the heat of the half step before a place, and of that at it if there is a drift.
static __device__ __noinline__ void keep_heat(const SplitSum (&heat)[2], SplitSum *at, bool moves) {
    add_to_total(heat[0], at - 1);
    if (moves) add_to_total(heat[1], at);
}

template <bool LANGEVIN, bool ALONE>
INLINE void advance_with_peers_steps(const PeerLaunch &launch, const Thermostat &thermostat) {
    __shared__ u32 warps_done;
    // Clock at the start, and cycles that the first warp has waited.
    __shared__ i64 begun, waited;
    if (threadIdx.x == 0) {
        warps_done = 0;
        begun = clock64();
        waited = 0;
    }
    __shared__ TileShares shares;
    __shared__ Work of_warp[MOST_WARPS];
    if (is_halted(launch)) return;
    begin_grid();
    Work &work = of_warp[threadIdx.x >> 5];
    begin_work(launch, shares, work);
    // The first block may end before others have begun.
    if (launch.steps == 0) synchronize(false);
    u32 done = 0;
    bool drifted = false;
    if (launch.present == OWN_SITES) {
        work.go_to(BOUNDARY);
        lend_sites(work, work.site_copy, warps_done, 1, launch.sequence + 1);
        // Nobody is counted a second time before all have been once.
        synchronize(false);
    }
    if (launch.present == FORCES) {
        bool stale = false;
        for (u32 turn = 0; turn < 2; ++turn) {
            work.go_to(turn == 0 ? BOUNDARY : INTERIOR);
            Started started = start_step_of_tiles<LANGEVIN>(thermostat, work, launch.first_step);
            if (turn == 0) lend_sites(work, work.site_copy ^ 1, warps_done, 1, launch.sequence + 1);
            if (LANGEVIN) add_to_total(started.heat, rim.heat);
            note(started.findings, launch.first_step + 1);
            stale |= started.findings.stale;
        }
        drifted = ends_with_drift(launch, stale, 0);
        work.stay();
        if (!drifted) {
            work.take_new_sites();
            done = 1;
        }
    }
    for (; !drifted; ++done) {
        bool last = done == launch.steps, moves = !last || launch.drifts;
        u64 step = launch.first_step + done;
        SplitSum heat[2] = {};
        Findings findings = {false, false};
        if (launch.lent_after(done) > 0 && work.has_boundary()) {
            if (threadIdx.x == 0) waited -= clock64();
            wait_for_ghosts(launch.sequence + launch.lent_after(done));
            if (threadIdx.x == 0) waited += clock64();
        }
        for (u32 turn = 0; turn < 2; ++turn) {
            work.go_to(turn == 0 ? BOUNDARY : INTERIOR);
            Findings found = LANGEVIN ? langevin_pass(thermostat, work, step, moves, heat)
                             : !ALONE && system.lanes_log2 >= 2
                                 ? force_pass_by_axis(work, true, moves, !moves)
                                 : force_pass<false, ALONE>(thermostat, work, step, true, moves, !moves, heat);
            findings.stale |= found.stale;
            findings.error |= found.error;
            if (turn == 0 && !last) {
                u32 lending = launch.lent_after(done + 1);
                lend_sites(work, work.site_copy ^ 1, warps_done, lending, launch.sequence + lending);
            }
        }
        if (LANGEVIN) {
            keep_heat(heat, rim.heat + launch.half_steps_before(done), moves);
        }
        // What is too close now; what runs away does so in the next step.
        bool now = findings.error && *(volatile u32 *)&system.control->status == STATUS_TOO_CLOSE;
        note(findings, now ? step : step + 1);
        work.stay();
        drifted = last ? launch.drifts != 0 : ends_with_drift(launch, findings.stale, done);
        if (last || drifted) break;
        work.take_new_sites();
    }
    end_work(launch, work, done, drifted, begun, waited);
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
