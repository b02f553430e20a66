// What a thermostat of the whole system does to the velocities between the kicks of two steps.
#pragma once
#include "md/integrate.cuh"
#include "md/sample.cuh"

enum Action { SUM_ONLY, SCALE_AND_SUM, SCALE_ONLY, SCALE_AND_DRIFT };

// One particle, taken from `from` and left in `to`, which may be the same: its velocity is scaled, sampled (with the rest,
// where `sample` is not null) and added to the kinetic energy, or the next step begins with it.
template <int ACTION>
INLINE void change_velocity(const Particles &from, const Particles &to, u32 p, double factor, u32 *sample,
                            Site *next_sites, SplitSum (&sums)[3], Findings &findings) {
    Body body;
    body.load(from, p);
    u32 id = from.id[p];
    if (ACTION != SUM_ONLY) body.scale(factor, id, findings);
    if (ACTION != SUM_ONLY && sample) store_sampled(sample, id, body.position, body.image, body.velocity);
    if (ACTION == SUM_ONLY || ACTION == SCALE_AND_SUM) body.add_kinetic(sums, id, findings);
    if (ACTION == SCALE_AND_DRIFT) {
        body.start_step(from, next_sites, p, findings);
        body.store_place(to, p);
    }
    if (ACTION != SUM_ONLY) body.store_velocity(to, p);
}

// A thermostat of the whole system during a launch, alike in all blocks.
struct GlobalThermostat {
    Memory memory;
    // On all velocities.
    double factor;

    // Takes what it remembers from the launch before; one thread of a block comes here. So in `store`.
    INLINE void load(const Control *control) {
        memory.heat = control->heat;
        for (u32 link = 0; link < LONGEST_CHAIN; ++link) {
            memory.position[link] = control->chain_position[link];
            memory.velocity[link] = control->chain_velocity[link];
        }
    }
    INLINE void store(Control *control) const {
        control->heat = memory.heat;
        for (u32 link = 0; link < LONGEST_CHAIN; ++link) {
            control->chain_position[link] = memory.position[link];
            control->chain_velocity[link] = memory.velocity[link];
        }
    }
};

// Half a step of the thermostat: the factor on all velocities, from the sums of a pass. `arrives`: the step has just been
// taken. All threads come here.
template <class Passes>
INLINE double thermostat_half_step(const Thermostat &thermostat, GlobalThermostat &shared, Passes &passes, u64 step,
                                   bool chain, bool arrives) {
    if (threadIdx.x == 0) {
        double kinetic2 = passes.kinetic2();
        if (chain) {
            if (arrives) follow_target_temperature(thermostat, step, shared.memory);
            shared.factor = chain_half_step(thermostat, target_temperature(thermostat, step), shared.memory, kinetic2);
        } else {
            shared.factor = bussi_factor(thermostat, kinetic2, step);
            shared.memory.heat += 0.5 * kinetic2 * (shared.factor * shared.factor - 1.0);
        }
    }
    __syncthreads();
    double factor = shared.factor;
    __syncthreads();
    passes.next_turn();
    return factor;
}

// What the thermostat does between the second kick of a step, which was `after`, and the first kick of the next, which is
// to come `before`: returns the factor that is left to scale the velocities with. `passes` go over the velocities:
// - `sum()` and `scale_and_sum(factor)` make the sums of the kinetic energy and meet all others; false where the launch ends;
// - `kinetic2()`: twice the kinetic energy of the system, of these sums, for one thread of a block;
// - `next_turn()`: the sums have been read.
template <class Passes>
INLINE double thermostat_between_steps(const Thermostat &thermostat, GlobalThermostat &shared, Passes &passes, u64 step,
                                       bool after, bool before) {
    bool chain = thermostat.kind == THERMOSTAT_NOSE_HOOVER;
    double factor = 1.0;
    if (after || chain) {
        if (!passes.sum()) return factor;
        factor = thermostat_half_step(thermostat, shared, passes, step, chain, after);
    }
    if (chain && after && before) {
        // The chain's half step after this step, then the one before the next.
        if (!passes.scale_and_sum(factor)) return factor;
        factor = thermostat_half_step(thermostat, shared, passes, step, true, false);
    }
    return factor;
}
