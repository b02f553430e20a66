// Steps of a domain in one launch under a thermostat of the whole system (Nose-Hoover, Bussi): between the kicks of two
// steps, the ranks tell each other the kinetic energies of their particles. All must be neighbors of each other.
#pragma once
#include "domain/advance.cu"
#include "md/velocities.cuh"

// A pass over the velocities of the block's tiles in one region.
template <int ACTION>
static __device__ __noinline__ Findings velocities_of_region(const Work &work, double factor, SplitSum (&sums)[3]) {
    const Particles &from = system.particles[work.copy], &to = system.particles[work.copy_to];
    Findings findings = {false, false};
    Group group = group_of();
    // What the other lanes of the warp have written.
    __syncwarp();
    for (u32 at = work.first(); at < work.last(); at += blockDim.x >> 5) {
        u32 p = particle_of(group, work.tile(at));
        if (p >= system.count || group.member != 0) continue;
        Site *next_sites = system.sites[work.site_copy ^ 1];
        change_velocity<ACTION>(from, to, p, factor, nullptr, next_sites, sums, findings);
        if (ACTION == SCALE_AND_DRIFT) work.write_names(p, from.species[p]);
    }
    return findings;
}

// The same of both regions, with sums added to those of a turn.
template <int ACTION>
INLINE void change_velocities(Work &work, double factor, u32 turn, u64 step) {
    SplitSum sums[3] = {};
    for (u32 region = 0; region < 2; ++region) {
        work.go_to(region);
        note(velocities_of_region<ACTION>(work, factor, sums), step);
    }
    if (ACTION == SCALE_ONLY) return;
    add_to_totals(sums, system.control->sums[turn & 3]);
}

// Twice the kinetic energy of all ranks' particles, once the blocks here have added theirs; one thread of each block comes
// here. A neighbor writes the sums of the turn after the next into the same place: then it has those of the next, which
// are sent when all blocks here have read these.
static __device__ __noinline__ double kinetic2_of_ranks(u32 launch, u32 turn) {
    SplitSum(*sums)[3] = system.control->sums;
    u32 words = SUM_WORDS + 6 * (turn & 1);
    u64 number = (u64)launch << 32 | (turn + 1);
    SplitSum total[3];
    for (int axis = 0; axis < 3; ++axis) {
        const volatile SplitSum &own = sums[turn & 3][axis];
        total[axis] = SplitSum{own.upper, own.lower};
    }
    if (blockIdx.x == 0) {
        for (u32 j = 0; j < halo.neighbors; ++j) {
            for (int axis = 0; axis < 3; ++axis) {
                *signals_to(j, words + 2 * axis) = total[axis].upper;
                *signals_to(j, words + 2 * axis + 1) = total[axis].lower;
            }
        }
        fence_system();
        for (u32 j = 0; j < halo.neighbors; ++j) store_relaxed_system(signals_to(j, SUMS), number);
        for (int axis = 0; axis < 3; ++axis) sums[(turn + 3) & 3][axis] = SplitSum{0, 0};
    }
    for (u32 j = 0; j < halo.neighbors; ++j) {
        wait_for_signal(j, SUMS, number);
        for (int axis = 0; axis < 3; ++axis) {
            total[axis].upper += load_relaxed_system(signals_from(j, words + 2 * axis));
            total[axis].lower += load_relaxed_system(signals_from(j, words + 2 * axis + 1));
        }
    }
    double kinetic2 = 0.0;
    for (int axis = 0; axis < 3; ++axis) kinetic2 = kinetic2 + value_of(total[axis]);
    return kinetic2;
}

// Passes of `thermostat_between_steps` over the block's particles, with sums over all ranks.
struct PassesOfRanks {
    Work &work;
    u32 launch;
    u64 step;
    u32 turn;

    INLINE bool sum() {
        change_velocities<SUM_ONLY>(work, 1.0, turn, step);
        synchronize(false);
        return true;
    }
    INLINE bool scale_and_sum(double factor) {
        change_velocities<SCALE_AND_SUM>(work, factor, turn, step);
        synchronize(false);
        return true;
    }
    INLINE double kinetic2() const { return kinetic2_of_ranks(launch, turn); }
    INLINE void next_turn() { ++turn; }
};

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_with_peers_global(const __grid_constant__ PeerLaunch launch, const __grid_constant__ Thermostat thermostat) {
    __shared__ GlobalThermostat shared;
    __shared__ u32 warps_done;
    __shared__ TileShares shares;
    __shared__ Work of_warp[MOST_WARPS];
    Control *control = system.control;
    i64 begun = clock64(), waited = 0;
    if (threadIdx.x == 0) {
        warps_done = 0;
        shared.load(control);
    }
    if (is_halted(launch)) return;
    begin_grid();
    Work &work = of_warp[threadIdx.x >> 5];
    begin_work(launch, shares, work);
    bool drifted = false;
    u32 done = 0;
    PassesOfRanks passes = {work, launch.number, 0, 0};
    if (launch.present == OWN_SITES) {
        work.go_to(BOUNDARY);
        send_sites(work, work.site_copy, warps_done, 1, launch.sequence + 1);
        // Nobody is counted a second time before all have been once.
        synchronize(false);
    }
    for (;; ++done) {
        bool last = done == launch.steps, moves = !last || launch.drifts;
        u64 step = launch.first_step + done;
        // Else the launch before has left the forces, and done what comes after this step.
        bool after = done > 0 || launch.present != FORCES;
        if (after) {
            if (sent_after(launch, done) > 0 && work.has_boundary()) {
                i64 start = clock64();
                wait_for_ghosts(launch.sequence + sent_after(launch, done));
                waited += clock64() - start;
            }
            SplitSum unused[2];
            for (u32 region = 0; region < 2; ++region) {
                work.go_to(region == 0 ? BOUNDARY : INTERIOR);
                Findings found = system.lanes_log2 >= 2
                                     ? force_pass_by_axis(work, true, false, true)
                                     : force_pass<false, false>(thermostat, work, step, true, false, true, unused);
                note(found, step);
            }
            work.stay();
        }
        passes.step = step;
        double factor = thermostat_between_steps(thermostat, shared, passes, step, after, moves);
        if (!moves) {
            change_velocities<SCALE_ONLY>(work, factor, passes.turn, step);
            break;
        }
        Findings findings = {false, false};
        for (u32 region = 0; region < 2; ++region) {
            work.go_to(region == 0 ? BOUNDARY : INTERIOR);
            SplitSum unused[3];
            Findings found = velocities_of_region<SCALE_AND_DRIFT>(work, factor, unused);
            if (region == 0 && !last) {
                u32 sending = sent_after(launch, done + 1);
                send_sites(work, work.site_copy ^ 1, warps_done, sending, launch.sequence + sending);
            }
            findings.needs_rebuild |= found.needs_rebuild;
            findings.error |= found.error;
        }
        bool before_drift = findings.error && *(volatile u32 *)&control->status != STATUS_RUNAWAY;
        note({findings.needs_rebuild, findings.error && !before_drift}, step + 1);
        note({false, before_drift}, step);
        work.stay();
        drifted = last || ends_with_drift(launch, findings.needs_rebuild, done);
        if (drifted) break;
        work.take_new_sites();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) shared.store(control);
    end_work(launch, work, done, drifted, begun, waited);
}
