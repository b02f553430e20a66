// Sums over velocities where the last warp of a block takes no tiles (`SPARES_WARP` in `md/passes.cuh`): each other warp leaves the velocities
// of its tile in shared memory and goes on to the sites of the next step, and the last one sums them up.
#pragma once
#include "md/integrate.cuh"
#include "md/sums.cuh"

#if TAGGED
// Axes of the particles of a block: of one tile a warp, with four lanes a particle or more.
#define MOST_AXES (DIMENSION * (32 / 4) * (SMALL_BLOCK_GLOBAL / 32 - 1))

// What a pass leaves of each axis of the block's particles.
struct VelocitiesOfPass {
    // Of the next half step; at the end of the step, and what it would have been without the thermostat.
    Velocity half[MOST_AXES];
    Velocity ended[MOST_AXES];
    Velocity without[MOST_AXES];
    u8 species[MOST_AXES];
    // One was out of range: the next pass says so with its sites.
    bool failed;
};
__shared__ VelocitiesOfPass velocities_of_pass;

// The block's particles, from `first` on: their axes are numbered from there.
struct AxesOfBlock {
    u32 copy;
    u32 first;
    u32 count;

    INLINE u32 number(u32 p, u32 axis) const { return DIMENSION * (p - first) + axis; }

    // Heat, and twice the kinetic energy of the half step. After a barrier of the block, for one warp, all lanes of which come here.
    INLINE SplitSum heat() const {
        return sum(STATUS_VELOCITY_RANGE, [](u32 at, int axis, double mass, SplitSum &sum, bool &fits) {
            add_heat(velocities_of_pass.without[at], velocities_of_pass.ended[at], axis, mass, sum, fits);
        });
    }
    INLINE SplitSum kinetic() const {
        return sum(STATUS_KINETIC_RANGE, [](u32 at, int axis, double mass, SplitSum &sum, bool &fits) {
            add_term(sum, kinetic_term(velocities_of_pass.half[at], mass, axis, fits));
        });
    }

private:
    template <typename AddTerm>
    INLINE SplitSum sum(u32 status, AddTerm add_term_of) const {
        SplitSum sum = {0, 0};
        for (u32 at = threadIdx.x & 31; at < count; at += 32) {
            bool fits = true;
            add_term_of(at, at % DIMENSION, mass_of_species[velocities_of_pass.species[at]], sum, fits);
            if (!fits) {
                record(system.control, status, system.particles[copy].id[first + at / DIMENSION]);
                velocities_of_pass.failed = true;
            }
        }
        return sum_of_lanes(sum);
    }
};

// As `leave_sums`, after a pass whose velocities are left.
INLINE void leave_spared_sums(const AxesOfBlock &axes, u32 turn, bool with_heat, u32 tag) {
    SplitSum kinetic = axes.kinetic();
    if ((threadIdx.x & 31) == 0) leave_sum(sums_of_blocks(turn, SUM_OF_KINETIC_ENERGY) + blockIdx.x, kinetic, tag);
    if (!with_heat) return;
    SplitSum heat = axes.heat();
    if ((threadIdx.x & 31) == 0) leave_sum(sums_of_blocks(turn, SUM_OF_HEAT) + blockIdx.x, heat, tag);
}

// Adds the heat of the last pass of a launch to that of all blocks.
INLINE void add_spared_heat(const AxesOfBlock &axes, SplitSum *total) {
    SplitSum heat = axes.heat();
    if ((threadIdx.x & 31) == 0) add_to_sum(heat, total);
}
#endif
