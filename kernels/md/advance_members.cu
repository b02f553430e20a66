// The kernels that take steps of many systems at once. Where each has one block there is no barrier of the grid, and more systems
// than find room wait for their turn; else the launch is cooperative.
//
//   MEMBER_THREADS, MEMBER_BLOCKS   most threads of a block, and blocks that a multiprocessor has room for
#include "md/advance.cuh"

template <Acting ACTING, bool SINGLE_LANE>
INLINE void advance_member() {
    __shared__ Launch launch;
    __shared__ Thermostat thermostat;
    copy_by_block(launch, member_of_block().launch);
    copy_by_block(thermostat, member_of_block().thermostat);
    enter_system();
    advance_steps<ACTING, SINGLE_LANE>(launch, thermostat);
}

#define ADVANCE_MEMBERS(name, acting, single_lane)                                                                        \
    extern "C" __global__ void __launch_bounds__(MEMBER_THREADS, MEMBER_BLOCKS) name() {                                  \
        advance_member<acting, single_lane>();                                                                            \
    }

ADVANCE_MEMBERS(advance_members, ACTS_NONE, false)
ADVANCE_MEMBERS(advance_members_langevin, ACTS_LANGEVIN, false)
ADVANCE_MEMBERS(advance_members_global, ACTS_GLOBAL, false)
ADVANCE_MEMBERS(advance_members_andersen, ACTS_ANDERSEN, false)
// For one lane a particle.
ADVANCE_MEMBERS(advance_members_single_lane, ACTS_NONE, true)
ADVANCE_MEMBERS(advance_members_langevin_single_lane, ACTS_LANGEVIN, true)
ADVANCE_MEMBERS(advance_members_global_single_lane, ACTS_GLOBAL, true)
ADVANCE_MEMBERS(advance_members_andersen_single_lane, ACTS_ANDERSEN, true)
