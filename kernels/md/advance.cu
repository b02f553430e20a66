// Many steps in one launch: a cooperative kernel in which every block keeps a share of the particles and all
// meet at a barrier once a step.
//
// A pass goes over the block's particles: forces at the present sites, second half kick, first half kick of the next step,
// drift. The new sites go to the other copy of the sites, so that nobody overwrites what another block still
// reads. After the barrier the lists are rebuilt where a particle has moved by half the skin. A thermostat of
// the whole system (Nose-Hoover, Bussi) needs the kinetic energy between the kicks: one or two barriers more; a collision of
// Andersen's takes four or seven. Samples of a step are taken after what its thermostat does.
#include "md/andersen.cuh"
#include "md/passes.cuh"
#include "md/rebuild.cuh"
#include "md/stress.cuh"
#include "md/velocities.cuh"

// The steps' bookkeeping of a thermostat, alike in all blocks.
struct SharedThermostat : GlobalThermostat {
    // Sums of the grid in use: one of four, so that none is cleared while another block reads it.
    u32 turn;
    // Clock at the start of the pass.
    i64 start;
};

// Twice the kinetic energy of the system; clears the sums that everybody has read.
INLINE double read_kinetic2(u32 turn) {
    double kinetic2 = 0.0;
    for (int axis = 0; axis < 3; ++axis) kinetic2 = kinetic2 + value_of(system.control->sums[turn & 3][axis]);
    if (blockIdx.x == 0) {
        for (int axis = 0; axis < 3; ++axis) system.control->sums[(turn + 3) & 3][axis] = SplitSum{0, 0};
    }
    return kinetic2;
}

// A pass of a thermostat of the whole system over the velocities; returns what was found.
template <int ACTION>
static __device__ __noinline__ Findings velocity_pass(Work work, double factor, u32 turn) {
    const Particles &particles = system.particles[work.copy];
    Findings findings = {false, false};
    SplitSum sums[3] = {};
    // What the lanes of the pass before wrote is read by others of the block.
    __syncthreads();
    u32 particles_of_tile = 32u >> system.lanes_log2;
    u32 first = work.first_tile * particles_of_tile, last = work.last_tile * particles_of_tile;
    last = last < system.count ? last : system.count;
    for (u32 p = first + threadIdx.x; p < last; p += blockDim.x) {
        change_velocity<ACTION>(particles, particles, p, factor, work.sample, system.sites[work.site_copy ^ 1], sums, findings);
    }
    if (ACTION == SUM_ONLY || ACTION == SCALE_AND_SUM) {
        add_to_totals(sums, system.control->sums[turn & 3]);
    }
    return findings;
}

struct Started {
    Findings findings;
    SplitSum heat;
};

// After a pass that has stopped between the kicks: the first kick of the next step and its drift. Each thread takes the
// particles whose velocities it has read in `sum_stress` and changed in `collide` and `velocity_pass`.
template <bool LANGEVIN>
static __device__ __noinline__ Started start_step_of_block(const Thermostat &thermostat, u32 copy, Site *sites, u64 step) {
    const Particles &particles = system.particles[copy];
    Started started = {{false, false}, {0, 0}};
    Group group = group_of();
    u32 first, last;
    share_of_block(tile_count(group), first, last);
    first *= group.particles, last *= group.particles;
    last = last < system.count ? last : system.count;
    for (u32 p = first + threadIdx.x; p < last; p += blockDim.x) {
        Body body;
        body.load(particles, p);
        if (LANGEVIN) {
            double noise = langevin_noise(thermostat, step, body.species);
            body.langevin(thermostat, noise, particles.id[p], 2 * step, started.heat, started.findings);
        }
        body.start_step(particles, sites, p, started.findings);
        body.store_place(particles, p);
        body.store_velocity(particles, p);
    }
    return started;
}

// The same, with what was found added; returns the heat.
template <bool LANGEVIN>
INLINE SplitSum start_step(const Thermostat &thermostat, const Work &work, u64 step, Findings &findings) {
    Started started = start_step_of_block<LANGEVIN>(thermostat, work.copy, system.sites[work.site_copy ^ 1], step);
    findings.needs_rebuild |= started.findings.needs_rebuild;
    findings.error |= started.findings.error;
    return started.heat;
}

// Passes of `thermostat_between_steps` over the block's particles. The sample and the stress of the step (where its sums go,
// or null) are taken with the last change of its velocities.
struct PassesOfBlock {
    Work &work;
    SharedThermostat &shared;
    SplitSum *stress;
    Findings found;
    bool failed;

    INLINE bool sum() {
        found = velocity_pass<SUM_ONLY>(work, 1.0, shared.turn);
        failed = synchronize(found.error);
        return !failed;
    }
    INLINE bool scale_and_sum(double factor) {
        found = velocity_pass<SCALE_AND_SUM>(work, factor, shared.turn);
        if (stress) found.error |= sum_stress(work.copy, work.site_copy, stress);
        work.sample = nullptr;
        stress = nullptr;
        failed = synchronize(found.error);
        return !failed;
    }
    INLINE double kinetic2() const { return read_kinetic2(shared.turn); }
    INLINE void next_turn() {
        if (threadIdx.x == 0) shared.turn += 1;
        __syncthreads();
    }
};

// Between the second kick of one step and the first of the next: returns findings; `failed` if the launch ends.
static __device__ __noinline__ Findings global_thermostat(const Thermostat &thermostat, Work work, SharedThermostat &shared, u64 step,
                                                          SplitSum *stress, bool after, bool before, bool &failed) {
    PassesOfBlock passes = {work, shared, stress, {false, false}, false};
    double factor = thermostat_between_steps(thermostat, shared, passes, step, after, before);
    failed = passes.failed;
    if (failed) return passes.found;
    stress = passes.stress;
    if (before && !stress) return velocity_pass<SCALE_AND_DRIFT>(work, factor, shared.turn);
    Findings found = velocity_pass<SCALE_ONLY>(work, factor, shared.turn);
    if (stress) found.error |= sum_stress(work.copy, work.site_copy, stress);
    if (before) start_step<false>(thermostat, work, step, found);
    return found;
}

// Stores the block's particles as they are.
static __device__ __noinline__ void store_block(u32 *sample, const Own own) {
    const Particles &particles = system.particles[own.copy];
    for (u32 p = own.first + threadIdx.x; p < own.last; p += blockDim.x) {
        Body body;
        body.load(particles, p);
        store_sampled(sample, particles.id[p], body.position, body.image, body.velocity);
    }
}

// Adds the heat of Langevin half steps that is complete after a barrier: the second half of the step before, then
// the first half of this one.
INLINE void collect_heat(SharedThermostat &shared, u32 turn) {
    Control *control = system.control;
    shared.memory.heat += value_of(control->sums[turn & 3][0]);
    shared.memory.heat += value_of(control->sums[turn & 3][1]);
    if (blockIdx.x == 0) {
        for (int half = 0; half < 2; ++half) control->sums[(turn + 3) & 3][half] = SplitSum{0, 0};
    }
}

INLINE void finish(const Work &work, const SharedThermostat &shared, u32 steps_done) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    Control *control = system.control;
    control->copy = work.copy;
    control->site_copy = work.site_copy;
    control->steps_done = steps_done;
    shared.store(control);
}

// What acts on the velocities between the steps of a launch: nothing, a Langevin thermostat, one of the whole system
// (Nose-Hoover, Bussi), or Andersen's.
enum Acting { ACTS_NONE, ACTS_LANGEVIN, ACTS_GLOBAL, ACTS_ANDERSEN };

// `SINGLE_LANE`: one lane a particle.
template <Acting ACTING, bool SINGLE_LANE>
INLINE void advance_steps(const Launch &launch, const Thermostat &thermostat) {
    __shared__ SharedThermostat shared;
    __shared__ Work of_warp[SINGLE_LANE ? MOST_WARPS : 1];
    begin_grid();
    Work of_thread;
    Work &work = SINGLE_LANE ? of_warp[threadIdx.x >> 5] : of_thread;
    Work::change<SINGLE_LANE>([&] {
        share_of_block(tile_count(group_of<SINGLE_LANE>()), work.first_tile, work.last_tile);
        work.copy = system.control->copy;
        work.site_copy = system.control->site_copy;
        work.sample = nullptr;
    });
    if (threadIdx.x == 0) {
        shared.load(system.control);
        shared.turn = 0;
    }
    __syncthreads();
    if (launch.rebuild) {
        u32 copy = work.copy, site_copy = work.site_copy;
        bool full = rebuild(copy, site_copy);
        Work::change<SINGLE_LANE>([&] {
            work.copy = copy ^ 1;
            work.site_copy = site_copy ^ 1;
        });
        if (full) return finish(work, shared, launch.from);
    }
    if (launch.restore) {
        present_sites(work);
        synchronize(false);
    }
    SampleCursor turns(launch.samples, launch.from);
    u32 collision_turn = 0;
    for (u32 done = launch.from;; ++done) {
        bool last = done == launch.steps;
        bool kick = done > 0;
        u64 step = launch.first_step + done;
        u32 turn = done - launch.from;
        if (threadIdx.x == 0) shared.start = clock64();
        bool collides = ACTING == ACTS_ANDERSEN && kick && is_collision(thermostat, step);
        // Where the velocities of the step come later, so does its sample.
        bool later = ACTING == ACTS_GLOBAL || collides;
        u32 *sample = turns.at(done, launch.samples);
        if (SAMPLING || ACTING != ACTS_NONE) Work::change<SINGLE_LANE>([&] { work.sample = later ? nullptr : sample; });
        SplitSum heat[2] = {};
        // The stress is summed up between the kicks: the pass ends there.
        bool stops = last || later || stress_at(launch.stress, done);
        bool go_on = !stops, store_force = stops;
        Findings findings = ACTING != ACTS_LANGEVIN && !SINGLE_LANE && system.lanes_log2 >= 2
                                ? force_pass_by_axis(work, kick, go_on, store_force)
                                : force_pass<ACTING == ACTS_LANGEVIN, SINGLE_LANE>(thermostat, work, step, kick, go_on, store_force, heat);
        SplitSum *stress = stops ? stress_at(launch.stress, done) : nullptr;
        if (ACTING == ACTS_ANDERSEN && collides) {
            u32 particles_of_tile = group_of<SINGLE_LANE>().particles, end = work.last_tile * particles_of_tile;
            Own own = {work.copy, work.first_tile * particles_of_tile, end < system.count ? end : system.count};
            if (collide(thermostat, own, step, collision_turn, shared.memory.heat)) return finish(work, shared, done);
            if (sample) store_block(sample, own);
        }
        if (ACTING != ACTS_GLOBAL && stops) {
            if (stress) findings.error |= sum_stress(work.copy, work.site_copy, stress);
            if (!last) {
                SplitSum started = start_step<ACTING == ACTS_LANGEVIN>(thermostat, work, step, findings);
                if (ACTING == ACTS_LANGEVIN) heat[1] = started;
            }
        }
        if (ACTING == ACTS_LANGEVIN) {
            add_to_totals(heat, system.control->sums[turn & 3]);
            if (last && blockIdx.x == 0 && threadIdx.x == 0) system.control->turn = turn;
        }
        if (ACTING == ACTS_GLOBAL) {
            bool failed = false;
            Work::change<SINGLE_LANE>([&] { work.sample = sample; });
            Findings more = global_thermostat(thermostat, work, shared, step, stress, kick, !last, failed);
            if (failed) return finish(work, shared, done);
            findings.needs_rebuild |= more.needs_rebuild;
            findings.error |= more.error;
        }
        if (last) return finish(work, shared, done);
        i64 waiting = clock64();
        bool attention = synchronize(findings.needs_rebuild || findings.error);
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            system.control->cycles[0] += (u64)(waiting - shared.start);
            system.control->cycles[1] += (u64)(clock64() - waiting);
        }
        if (ACTING == ACTS_LANGEVIN && threadIdx.x == 0) collect_heat(shared, turn);
        if (attention) {
            if (*(volatile u32 *)&system.control->status != STATUS_DONE) return finish(work, shared, done);
            bool full = rebuild(work.copy, work.site_copy ^ 1);
            Work::change<SINGLE_LANE>([&] { work.copy ^= 1; });
            if (full) return finish(work, shared, done + 1);
        } else {
            Work::change<SINGLE_LANE>([&] { work.site_copy ^= 1; });
        }
    }
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance(const __grid_constant__ Launch launch,
            const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_NONE, false>(launch, thermostat);
}

// For one lane a particle and many particles: fewer registers, so that more warps are under way.
extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK_SINGLE_LANE, 1)
    advance_single_lane(const __grid_constant__ Launch launch,
                  const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_NONE, true>(launch, thermostat);
}

// For small blocks: more registers, so that more loads are under way.
extern "C" __global__ void __launch_bounds__(512, 1)
    advance_wide(const __grid_constant__ Launch launch,
                 const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_NONE, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_langevin(const __grid_constant__ Launch launch,
                     const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_LANGEVIN, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_global(const __grid_constant__ Launch launch,
                   const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_GLOBAL, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_andersen(const __grid_constant__ Launch launch,
                     const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_ANDERSEN, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK_SINGLE_LANE, 1)
    advance_andersen_single_lane(const __grid_constant__ Launch launch,
                           const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_ANDERSEN, true>(launch, thermostat);
}
