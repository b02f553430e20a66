// Many steps in one launch: every block keeps a share of the particles of its system, whose blocks meet at a barrier once a step.
//
// A pass goes over the block's particles: forces at the present sites, second half kick, first half kick of the next step,
// drift. The new sites go to the other copy of the sites, so that nobody overwrites what another block still
// reads. After the barrier the lists are rebuilt where a particle has moved by half the skin. A thermostat of
// the whole system (Nose-Hoover, Bussi) acts on the kinetic energy of half steps, whose sum the same barrier completes; a
// collision of Andersen's, in the middle of a drift, takes four or seven barriers.
//
// In small systems the sites of a step carry its tag, and blocks take them as they come instead of meeting (`md/tagged.cuh`). The last
// warp of each then belongs to such a thermostat (`SPARES_WARP`). Where sums do not depend on their order, each block makes new lists
// of its own particles, which are not sorted (`md/relist.cuh`).
#pragma once
#include "md/andersen.cuh"
#include "md/passes.cuh"
#include "md/rebuild.cuh"
#include "md/relist.cuh"
#include "md/staged.cuh"
#include "md/stress.cuh"

// The steps' bookkeeping of a thermostat, alike in all blocks, unless the first one alone acts (`FIRST_ACTS`).
struct SharedThermostat : GlobalThermostat {
    // Clock at the start of the pass, and cycles of passes and of waiting after them.
    i64 start;
    u64 cycles[2];
};

// Whether the sums of a pass stay in registers: the faster way for Langevin's thermostat in one system with many particles.
template <Acting ACTING>
static constexpr bool SUMS_IN_REGISTERS = !TAGGED && !MEMBERS && ACTING == ACTS_LANGEVIN;

// What a thermostat does after the drift to a step, by the sums of a pass, which come with the tag of the sites there; the last
// warp of each block that acts comes here. `gives`: the other warps wait for the factor of the whole system; `to_all`: other blocks do.
template <Acting ACTING>
static __device__ __noinline__ void act_after_drift(const Thermostat &thermostat, SharedThermostat &shared, u32 turn, u32 tag, u64 step,
                                                    bool gives, bool to_all) {
    bool one = (threadIdx.x & 31) == 0;
    if (thermostat.kind != THERMOSTAT_LANGEVIN) {
        shared.draw_for(thermostat, step);
        BussiStep bussi = shared.begin_step(thermostat, step);
        double kinetic2 = value_over_blocks(turn, SUM_OF_KINETIC_ENERGY, tag);
        if (one) {
            shared.find_factor(thermostat, bussi, kinetic2, step);
            if (gives) shared.ready.give();
            if (to_all) give_factor_to_all(turn + 1, shared.memory.factor);
            shared.end_step(thermostat);
        }
    }
    // Only the first block keeps the heat.
    if (blockIdx.x != 0 || thermostat.kind == THERMOSTAT_NOSE_HOOVER) return;
    double heat = value_over_blocks(turn, SUM_OF_HEAT, tag);
    if (one) shared.memory.heat += heat;
}

// After a pass that has stopped between the kicks: the first kick of the next step, up to the middle of its drift. Each thread takes
// some of the block's particles.
static __device__ __noinline__ void move_before_collision(const Own own) {
    const Particles &particles = system.particles[own.copy];
    for (u32 at = own.first + threadIdx.x; at < own.last; at += blockDim.x) {
        const u32 p = own.place(at);
        if (TAGGED && p >= system.count) continue;
        Body body;
        body.load(particles, p);
        body.half_kick_by_stored(p);
        body.half_drift(particles, p);
        body.store_place(particles, p);
        body.store_velocity(particles, p);
    }
}

// And from there on.
static __device__ __noinline__ Findings move_after_collision(const Own own, Site *sites) {
    const Particles &particles = system.particles[own.copy];
    Findings findings = {false, false};
    for (u32 at = own.first + threadIdx.x; at < own.last; at += blockDim.x) {
        const u32 p = own.place(at);
        if (TAGGED && p >= system.count) continue;
        Body body;
        body.load(particles, p);
        body.drift<true>(particles, sites, p, findings);
        body.store_place(particles, p);
        // A flow has changed it.
        if (TILTED) body.store_velocity(particles, p);
    }
    return findings;
}

#if TILTED
// What rounding would leave of the momentum along x in the drift of a step, when all velocities along it lose their share of
// those along y: as `residue` in src/engine/cpu/shear.rs. All threads of the grid come here, after the first kick of the step; thread 0 of
// each block learns it. `turn` goes from step to step.
static __device__ __noinline__ void find_residue(const Own own, u32 &turn) {
    const Particles &particles = system.particles[own.copy];
    const double growth = mul(2.0, flow.quarter);
    const Policy::Skew skew = Policy::skew(growth, system.aspect);
    // What is lost, and the momentum along y.
    SplitSum sums[2] = {};
    for (u32 at = own.first + threadIdx.x; at < own.last; at += blockDim.x) {
        const u32 p = own.place(at);
        if (TAGGED && p >= system.count) continue;
        Velocity along_y = particles.velocity[1][p], none = {};
        add_term(sums[0], units(Policy::skewed_velocity(none, along_y, skew)));
        add_term(sums[1], units(along_y));
    }
    SplitSum *totals = system.control->sums[turn & 3];
    add_to_totals(sums, totals);
    synchronize(false);
    if (threadIdx.x == 0) {
        // The sum of the losses fits 64 bits: the growth is far below one.
        const volatile SplitSum &losses = totals[0];
        i64 lost = (i64)((losses.upper << 32) + losses.lower);
        bool fits = true;
        i64 expected = wide_round(-mul(mul(value_of(totals[1]), 1099511627776.0), growth), fits);
        i64 left = wrapping_sub(lost, expected);
        u64 size = magnitude(left), count = system.count;
        flow.residue = Residue{left > 0 ? 1 : left < 0 ? -1 : 0, (i64)(size / count), size % count};
    }
    if (blockIdx.x == 0 && threadIdx.x < 3) system.control->sums[(turn + 3) & 3][threadIdx.x] = SplitSum{0, 0};
    turn += 1;
    __syncthreads();
}

// The first kick of a step, by the forces that a pass has stored.
static __device__ __noinline__ void kick_of_block(const Own own) {
    const Particles &particles = system.particles[own.copy];
    for (u32 at = own.first + threadIdx.x; at < own.last; at += blockDim.x) {
        const u32 p = own.place(at);
        if (TAGGED && p >= system.count) continue;
        Body body;
        body.load(particles, p);
        body.half_kick_by_stored(p);
        body.store_velocity(particles, p);
    }
}

// And its drift.
static __device__ __noinline__ Findings drift_of_block(const Own own, Site *sites) {
    const Particles &particles = system.particles[own.copy];
    Findings findings = {false, false};
    for (u32 at = own.first + threadIdx.x; at < own.last; at += blockDim.x) {
        const u32 p = own.place(at);
        if (TAGGED && p >= system.count) continue;
        Body body;
        body.load(particles, p);
        body.drift(particles, sites, p, findings);
        body.store_place(particles, p);
        body.store_velocity(particles, p);
    }
    return findings;
}
#endif

// Takes the flow of a launch, and the box of a checkpoint's lists where these are made first. The others of the block see it after
// its next barrier.
INLINE void enter_flow(const Launch &launch) {
#if TILTED
    if (threadIdx.x != 0) return;
    flow.enter(launch.flow, launch.from);
    if (launch.rebuild && launch.restore) flow.set_tilt(flow.made_at);
    flow.prepare_drift();
#endif
}
// After they were made. All threads of the block come here.
INLINE void enter_present_box() {
#if TILTED
    __syncthreads();
    if (threadIdx.x == 0) {
        flow.set_tilt(system.control->tilt);
        flow.prepare_drift();
    }
    __syncthreads();
#endif
}
// After a drift of all particles of the block, and a barrier. The others see it after the next one. By the last warp, which need not
// copy sites where it waits for the kinetic energy.
INLINE void go_on_in_flow(const Launch &launch) {
#if TILTED
    if (threadIdx.x == blockDim.x - 32 && launch.flow.flows) flow.go_on();
#endif
}

INLINE void finish(const Work &work, const SharedThermostat &shared, u32 steps_done) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    Control *control = system.control;
    control->copy = work.copy;
    control->site_copy = work.site_copy;
    control->steps_done = steps_done;
#if TILTED
    control->tilt = flow.tilt;
    control->lists_made_at = flow.made_at;
#endif
    for (int part = 0; part < 2; ++part) control->cycles[part] += shared.cycles[part];
    shared.store(control);
}

// `SINGLE_LANE`: one lane a particle; `BY_AXIS`: four or more. `SPARED_SUMS`: four or more, too, and one tile a warp at most
// (`md/spared_sums.cuh`). `FIRST_ACTS`: a thermostat of the whole system acts in the first block, which gives the factor to the others;
// not where sites are tagged.
template <Acting ACTING, bool SINGLE_LANE, bool BY_AXIS = false, bool SPARED_SUMS = false, bool FIRST_ACTS = false>
INLINE void advance_steps(const Launch &launch, const Thermostat &thermostat) {
    // Whether the thermostat needs sums over all particles in each step.
    constexpr bool HAS_SUMS = ACTING == ACTS_LANGEVIN || ACTING == ACTS_GLOBAL;
    const double damping = ACTING == ACTS_LANGEVIN ? thermostat.parameter : 1.0;
    const bool block_acts = !FIRST_ACTS || blockIdx.x == 0;
    __shared__ SharedThermostat shared;
    __shared__ Work of_warp[SINGLE_LANE ? MOST_WARPS : 1];
#if LOOKS_AHEAD
    __shared__ ListAge list_age;
#endif
    begin_grid();
    Work of_thread;
    Work &work = SINGLE_LANE ? of_warp[threadIdx.x >> 5] : of_thread;
    Work::change<SINGLE_LANE>([&] {
        share_tiles<IN_TURN<ACTING>>(tile_count(group_of<SINGLE_LANE>()), work.first_tile, work.last_tile);
        work.copy = system.control->copy;
        work.site_copy = system.control->site_copy;
        work.sample = nullptr;
    });
    if (threadIdx.x == 0) {
        shared.load(thermostat, system.control);
        shared.cycles[0] = shared.cycles[1] = 0;
        if (FIRST_ACTS && blockIdx.x == 0) forget_factor_for_all();
#if TAGGED
        if (SPARED_SUMS) velocities_of_pass.failed = false;
#endif
#if LOOKS_AHEAD
        list_age.enter(launch.first_step, launch.from, launch.rebuild && !launch.restore);
#endif
    }
    enter_flow(launch);
    __syncthreads();
    if (launch.rebuild) {
        u32 copy = work.copy, site_copy = work.site_copy;
        // The reference of a checkpoint is taken as it is.
        u64 step = launch.first_step + launch.from;
        bool full = launch.restore || !LOOKS_AHEAD ? rebuild(copy, site_copy, no_outlook()) : rebuild_in_step(copy, site_copy, step, damping, false);
        Work::change<SINGLE_LANE>([&] {
            work.copy = copy ^ 1;
            work.site_copy = site_copy ^ 1;
        });
        if (full) return finish(work, shared, launch.from);
    }
    if (launch.restore) {
        enter_present_box();
        present_sites(work);
        synchronize(false);
    }
    Samples<!LOOKS_FOR_SAMPLE<ACTING, SINGLE_LANE>> samples(launch.samples, launch.from);
    u32 turn_of_sums = 0;
    u64 next_collision = ACTING == ACTS_ANDERSEN ? first_collision(thermostat, launch.first_step + launch.from + 1) : 0;
    // Whether the thermostat has still to act after the last drift, and how often it has done so beside a pass.
    bool acts = false;
    u32 acted = 0;
#if STAGED_COPIES
    bool is_staged = false;
#endif
#if TAGGED
    // Whether the sites of the step come tagged, without a barrier before.
    bool come_tagged = false;
#endif
    bool failed_before = false;
    for (u32 done = launch.from;; ++done) {
        bool last = done == launch.steps;
        u64 step = launch.first_step + done;
        u32 turn = done - launch.from;
        if (threadIdx.x == 0) shared.start = clock64();
        // Of the sites of the step, and of the sums that come with them.
        u32 tag = launch.tag + turn;
        bool is_last_warp = threadIdx.x >= blockDim.x - 32;
#if TAGGED
        // Whether lists have to be rebuilt, or a step has gone wrong.
        bool asks = false;
        if (come_tagged) {
            StagedSites staged = staged_sites(work.site_copy);
            is_staged = true;
            u32 threads = SPARES_WARP<ACTING> ? blockDim.x - 32 : blockDim.x;
            bool stages = !SPARES_WARP<ACTING> || !is_last_warp;
            asks = __syncthreads_or(stages && stage_tagged(system.sites[work.site_copy], staged, tag, threads));
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                i64 now = clock64();
                shared.cycles[1] += (u64)(now - shared.start);
                shared.start = now;
            }
        }
#endif
        // The last warp has the fewest tiles.
        if (HAS_SUMS && acts && is_last_warp && block_acts) {
            act_after_drift<ACTING>(thermostat, shared, turn - 1, tag, step, true, FIRST_ACTS);
        }
#if STAGED_COPIES
        if (!is_staged) {
            stage_sites(system.sites[work.site_copy], staged_sites(work.site_copy));
            __syncthreads();
        }
        // What the pass writes for the next one.
        is_staged = STAGED_COPIES == 2 && SINGLE_LANE;
#endif
        bool collides = ACTING == ACTS_ANDERSEN && !last && step + 1 == next_collision;
#if TAGGED
        u32 *sample = samples.look(done, !asks, launch.samples);
#else
        u32 *sample = samples.look(done, true, launch.samples);
#endif
        if (SAMPLING && !LOOKS_FOR_SAMPLE<ACTING, SINGLE_LANE>) Work::change<SINGLE_LANE>([&] { work.sample = sample; });
        // Where the stress of the step goes, if it is wanted.
        SplitSum *stress = stress_at(launch.stress, done);
        // The drift waits for a sum over the velocities after the first kick.
        bool shares = TILTED && ACTING == ACTS_NONE && launch.shares_residue;
        bool stops = last || collides || shares;
        WarpSums sums = {turn};
#if TAGGED
        // The pass with stress adds as ever.
        const bool spares_sums = SPARED_SUMS && !stress;
        if (SPARED_SUMS) failed_before |= velocities_of_pass.failed;
#else
        constexpr bool spares_sums = false;
#endif
        if (HAS_SUMS && !spares_sums) sums.clear();
        // Before the first pass all blocks have it.
        const bool from_first = !block_acts && turn > 0;
#if LOOKS_AHEAD
        PassOf pass = {thermostat, shared, list_age, acts, acted, step, done > 0, !stops, stops, tag + 1, failed_before, from_first, turn};
#else
        PassOf pass = {thermostat, shared, acts, acted, step, done > 0, !stops, stops, tag + 1, failed_before, from_first, turn};
#endif
        acted += acts ? 1 : 0;
        Findings findings = {false, false};
#if TAGGED
        const bool takes_tiles = !asks && !(SPARES_WARP<ACTING> && is_last_warp);
#else
        const bool takes_tiles = true;
#endif
        if (stress) {
            if (takes_tiles) findings = pass_with_stress<ACTING, SINGLE_LANE>(pass, work, sums);
        } else if (SUMS_IN_REGISTERS<ACTING>) {
            ThreadSums of_threads = {};
            findings = pass_over_particles<ACTING, SINGLE_LANE, BY_AXIS>(pass, work, of_threads);
            add_of_tile<ACTING>(pass, of_threads.sum, sums);
        } else if (takes_tiles) {
            findings = pass_over_particles<ACTING, SINGLE_LANE, BY_AXIS, SPARED_SUMS>(pass, work, sums);
        }
        failed_before = findings.error;
        // What does not depend on the kinetic energy, while others integrate.
        if (ACTING == ACTS_GLOBAL && !last && is_last_warp && block_acts) shared.draw_for(thermostat, step + 1);
        const bool wanted[2] = {ACTING == ACTS_LANGEVIN || thermostat.kind == THERMOSTAT_BUSSI, ACTING == ACTS_GLOBAL};
#if TAGGED
        // Staged sites are read up to here.
        asks = __syncthreads_or(asks);
        if (asks) {
            // The others see the same. What they wrote of their particles is visible behind a barrier.
#if RELISTING
            bool full = relist<IN_TURN<ACTING>>(system.particles[work.copy], staged_sites(work.site_copy), work.first_tile, work.last_tile);
#else
            synchronize(false);
#endif
            u32 status = *(volatile u32 *)&system.control->status;
            bool has_failed = status != STATUS_DONE && status != STATUS_LISTS_FULL;
            if (has_failed) return finish(work, shared, done - 1);
#if !RELISTING
            bool full = rebuild_in_step(work.copy, work.site_copy, step, damping, false);
            Work::change<SINGLE_LANE>([&] {
                work.copy ^= 1;
                work.site_copy ^= 1;
            });
            is_staged = false;
#endif
            if (full) return finish(work, shared, done);
            acts = come_tagged = false;
            // Once more, with the new lists.
            --done;
            continue;
        }
#endif
        if (stress) {
            if (!TAGGED) __syncthreads();
            leave_stress(stress, warps_of_pass<ACTING>());
        }
        if (stops && !last) {
#if STAGED_COPIES
            is_staged = false;
#endif
            Site *next_sites = system.sites[work.site_copy ^ 1];
            Findings started = {false, false};
            u32 particles_of_tile = group_of<SINGLE_LANE>().particles, end = work.last_tile * particles_of_tile;
            if (!TAGGED && end > system.count) end = system.count;
            Own own = {work.copy, work.first_tile * particles_of_tile, end};
            if (ACTING == ACTS_ANDERSEN && collides) {
                // What the lanes of the pass wrote is read by others of the block.
                __syncthreads();
                move_before_collision(own);
                if (collide(thermostat, own, step + 1, turn_of_sums, shared.memory.heat)) return finish(work, shared, done);
                started = move_after_collision(own, next_sites);
                next_collision += thermostat.interval;
#if TILTED
            } else if (shares) {
                __syncthreads();
                kick_of_block(own);
                find_residue(own, turn_of_sums);
                started = drift_of_block(own, next_sites);
#endif
            }
            findings.needs_rebuild |= started.needs_rebuild;
            findings.error |= started.error;
        }
        if (last) {
            // The heat of the last kick; and all that the thermostat remembers is there.
#if TAGGED
            if (spares_sums) {
                __syncthreads();
                if (is_last_warp && wanted[SUM_OF_HEAT]) add_spared_heat(axes_of_block(work), system.control->sums[0]);
                return finish(work, shared, done);
            }
#endif
            if (HAS_SUMS) sums.add_to(system.control->sums[0]);
            return finish(work, shared, done);
        }
        i64 waiting = clock64();
        bool attention = findings.needs_rebuild || findings.error;
#if TAGGED
        come_tagged = !stops;
        if (come_tagged) {
            if (HAS_SUMS && is_last_warp) {
                if (spares_sums) leave_spared_sums(axes_of_block(work), turn, wanted[SUM_OF_HEAT], tag + 1);
                else leave_sums(sums, wanted, tag + 1);
            }
            if (blockIdx.x == 0 && threadIdx.x == 0) shared.cycles[0] += (u64)(waiting - shared.start);
            Work::change<SINGLE_LANE>([&] { work.site_copy ^= 1; });
            go_on_in_flow(launch);
            acts = true;
            continue;
        }
#endif
#if LOOKS_AHEAD
        if (threadIdx.x == 0) list_age.look(done + 1, work.site_copy ^ 1);
#endif
        if (HAS_SUMS) {
            attention = synchronize_with_sums(attention, sums, wanted, tag + 1);
        } else {
            attention = synchronize(attention);
        }
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            shared.cycles[0] += (u64)(waiting - shared.start);
            shared.cycles[1] += (u64)(clock64() - waiting);
        }
        acts = true;
        go_on_in_flow(launch);
        if (TILTED) __syncthreads();
        if (attention) {
            if (*(volatile u32 *)&system.control->status != STATUS_DONE) return finish(work, shared, done);
            if (HAS_SUMS) {
                if (threadIdx.x >= blockDim.x - 32 && block_acts) {
                    act_after_drift<ACTING>(thermostat, shared, turn, tag + 1, step + 1, false, FIRST_ACTS);
                }
                acts = false;
            }
#if RELISTING
            Work::change<SINGLE_LANE>([&] { work.site_copy ^= 1; });
            StagedSites staged = staged_sites(work.site_copy);
            stage_sites(system.sites[work.site_copy], staged);
            __syncthreads();
            is_staged = true;
            bool full = relist<IN_TURN<ACTING>>(system.particles[work.copy], staged, work.first_tile, work.last_tile);
#else
            bool has_forces = false;
#if LOOKS_AHEAD
            // Whether or not it has stored forces for another reason: lists depend on the steps alone.
            has_forces = list_age.stores_forces[work.site_copy];
            __syncthreads();
            if (threadIdx.x == 0) list_age.renew(done + 1);
#endif
            bool full = rebuild_in_step(work.copy, work.site_copy ^ 1, step + 1, damping, has_forces);
            Work::change<SINGLE_LANE>([&] { work.copy ^= 1; });
#if STAGED_COPIES
            is_staged = false;
#endif
#endif
            if (full) return finish(work, shared, done + 1);
        } else {
            Work::change<SINGLE_LANE>([&] { work.site_copy ^= 1; });
        }
    }
}
