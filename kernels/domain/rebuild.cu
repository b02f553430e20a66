// Rebuilding among neighbors that write into each other's memory, without the host: three kernels, one after the other.
//
//   leave_with_peers   kick and drift of the step, if still to come; finds where particles are expected; who leaves the domain is
//                      written to the neighbor
//   enter_with_peers   takes those that come
//   list_with_peers    sorts, writes the ghosts to the neighbors, places those that come, tells their owners where they
//                      are, and builds the lists
//
// Lists are made around the sites at which particles are expected; the steps that follow begin with sending the present ones.
//
// Particles leave in the first half of the messages and ghosts in the second, so that nobody writes what another still
// reads; before the next rebuilding the ranks agree on the steps between. What has no room is left out and noted
// (`failed`): the host then begins again with the particles as they are after the drift, which still stand in the
// copy that was sorted from.
#pragma once
#include "domain/ghosts.cu"
#include "domain/migrate.cu"
#include "domain/report.cuh"
#include "domain/steps.cu"

// Waits until all neighbors have written a kind of records in a rebuilding; alike in all threads of the block.
INLINE void wait_for_records(u32 signal, u32 number, u32 capacity, Starts &starts) {
    u32 j = threadIdx.x;
    __syncthreads();
    if (j < halo.neighbors) starts.start[j + 1] = (u32)wait_for_signal(j, signal, (u64)number << 32);
    __syncthreads();
    if (j == 0) {
        starts.start[0] = 0;
        for (u32 k = 0; k < halo.neighbors; ++k) {
            u32 end = starts.start[k] + starts.start[k + 1];
            if (end > capacity) {
                halo.control->failed = 1;
                end = capacity;
            }
            starts.start[k + 1] = end;
        }
    }
    __syncthreads();
}

// Tells the neighbors how many records are there for them; returns how many in all.
INLINE u32 send_records(u32 signal, u32 number, u32 most, u32 *sent) {
    u32 all = 0;
    for (u32 j = 0; j < halo.neighbors; ++j) {
        u32 count = halo.control->for_neighbor[j];
        halo.control->for_neighbor[j] = 0;
        if (count > most) {
            halo.control->failed = 1;
            count = most;
        }
        if (sent) sent[j] = count;
        all += count;
        store_relaxed_system(signals_to(j, signal), (u64)number << 32 | count);
    }
    return all;
}

INLINE u32 most_records(u32 bytes) { return (u32)(halo.segment / bytes); }

// Whether the steps before have not ended where the lists are to be rebuilt.
INLINE bool is_left_out() { return *(volatile u32 *)halo.halt != 0; }

extern "C" __global__ void __launch_bounds__(256)
    leave_with_peers(const __grid_constant__ NewLists lists, u32 number, u32 drifts, const __grid_constant__ FlowOfStep of_step) {
    if (is_left_out()) {
        // It is copied into `system.count`.
        if (blockIdx.x == 0 && threadIdx.x == 0) halo.control->count = system.count;
        return;
    }
    enter_flow(of_step);
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    Findings findings = {false, false};
    note_time_stamp(LEAVING);
    u64 step = lists.where_steps_end ? system.control->reached : lists.step;
    Outlook outlook = {steps_ahead(step - lists.made, lists.damping), true};
    u32 most = most_records(sizeof(Migrant));
    for (u32 p = blockIdx.x * blockDim.x + threadIdx.x; p < system.count; p += gridDim.x * blockDim.x) {
        if (drifts) kick_and_drift_one(particles, sites, p, findings);
        Site site[SITE_COMPONENTS];
        expect(particles, sites, p, outlook, site);
        u32 hops, destination = destination_of(site, hops);
        halo.destination[p] = destination == STAYS ? STAYS : HAS_LEFT;
        if (destination == STAYS) continue;
        u32 j = destination - 1, slot = atomicAdd(halo.control->for_neighbor + j, 1u);
        if (slot < most) ((Migrant *)halo.peer_inbox[0][j])[slot] = migrant_of(particles, p, site);
        if (hops > 1) halo.control->failed = 1;
    }
    note(findings, step);
    if (!is_last_block() || threadIdx.x != 0) return;
    u32 left = send_records(MIGRANTS, number, most, nullptr);
    halo.control->count = system.count - left;
}

extern "C" __global__ void __launch_bounds__(256) enter_with_peers(u32 number) {
    __shared__ Starts starts;
    if (is_left_out()) return;
    const Particles &particles = system.particles[system.control->copy];
    Site *sites = system.sites[system.control->site_copy];
    wait_for_records(MIGRANTS, number, halo.capacity_particles - system.count, starts);
    u32 count = starts.start[halo.neighbors];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        u32 j = neighbor_of(starts, i, halo.neighbors);
        const Migrant &migrant = ((const Migrant *)message_from(j, 0))[i - starts.start[j]];
        take_migrant(migrant, particles, sites, system.count + i);
    }
    if (!is_last_block() || threadIdx.x != 0) return;
    halo.control->count += count;
    halo.control->extent = system.count + count;
}

// `system.count` is that of the control by now.
extern "C" __global__ void __launch_bounds__(REBUILDING_BLOCK, 1) list_with_peers(u32 number, u32 report) {
    __shared__ Starts starts;
    if (is_left_out()) return;
    begin_grid();
    __syncthreads();
    u32 copy = system.control->copy, site_copy = system.control->site_copy;
    u32 most = most_records(sizeof(GhostRecord));
    note_time_stamp(SORTING);
    sort_particles(copy, site_copy, halo.control->extent);
    const Particles &particles = system.particles[copy];
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 p = thread; p < system.count; p += threads) halo.destination[p] = STAYS;
    note_time_stamp(SENDING);
    send_all([&](u32 p, u32 j, u32 entry, u32 number) {
        if (entry < halo.send_capacity) {
            halo.send_own[entry] = p;
            halo.send_slot[entry] = j << SLOT_BITS | number;
        }
        if (number < most) write_ghost(particles, p, entry, (GhostRecord *)halo.peer_inbox[1][j] + number);
    });
    if (is_last_block() && threadIdx.x == 0) {
        system.control->copy = copy;
        system.control->site_copy = site_copy;
        if (halo.control->sent > halo.send_capacity) halo.control->failed = 1;
        send_records(GHOSTS, number, most, halo.control->send_to);
    }
    // While the ghosts are on their way.
    synchronize(false);
    order_tiles();
    wait_for_records(GHOSTS, number, halo.capacity_ghosts, starts);
    place_ghosts(particles, starts, 1, [&](u32 i, const GhostRecord &ghost, u32 place) {
        u32 j = neighbor_of(starts, i, halo.neighbors);
        if (ghost.entry < halo.send_capacity) halo.peer_remote[j][ghost.entry] = place;
    });
    note_time_stamp(LISTING);
    bool full = build_all_lists(particles, system.reference);
    if (blockIdx.x == 0) {
        if (full && threadIdx.x == 0) halo.control->failed = 1;
        if (threadIdx.x == 0) store_box_of_lists();
        u32 j = threadIdx.x;
        if (j < halo.neighbors) halo.control->ghosts_from[j] = starts.start[j + 1] - starts.start[j];
    }
    report_to_host(report, STEPS, ~0ull);
}
