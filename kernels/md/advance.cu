// The kernels that take steps of one system: cooperative, over the whole GPU.
#include "md/advance.cuh"

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
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK, 1)
    advance_wide(const __grid_constant__ Launch launch,
                 const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_NONE, false>(launch, thermostat);
}

extern "C" __global__ void __launch_bounds__(SMALL_BLOCK, 1)
    advance_langevin_wide(const __grid_constant__ Launch launch,
                          const __grid_constant__ Thermostat thermostat) {
    // For four lanes a particle or more: without the other pass, which would take registers from this one's pair loop.
    advance_steps<ACTS_LANGEVIN, false, true>(launch, thermostat);
}

// For fewer lanes. Where sites are tagged, these are rare enough for the next kernel.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK, 1)
    advance_langevin_few_lanes(const __grid_constant__ Launch launch,
                               const __grid_constant__ Thermostat thermostat) {
#if !TAGGED
    advance_steps<ACTS_LANGEVIN, false>(launch, thermostat);
#endif
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

// For small blocks; where sites are not tagged, as `advance_langevin_wide`.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK_GLOBAL, 1)
    advance_global_wide(const __grid_constant__ Launch launch,
                        const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_GLOBAL, false, !TAGGED>(launch, thermostat);
}

// For small blocks with as many tiles as warps. The first one has a tile less, and its last warp finds the factor for all. Four lanes a
// particle or more; not where sites are tagged.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK, 1)
    advance_global_first_acts(const __grid_constant__ Launch launch,
                              const __grid_constant__ Thermostat thermostat) {
#if !TAGGED
    advance_steps<ACTS_GLOBAL, false, true, false, true>(launch, thermostat);
#endif
}

// Where sites are tagged, each warp has one tile or none, and four lanes or more work on a particle.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK_GLOBAL, 1)
    advance_global_one_tile(const __grid_constant__ Launch launch,
                            const __grid_constant__ Thermostat thermostat) {
#if TAGGED
    advance_steps<ACTS_GLOBAL, false, false, true>(launch, thermostat);
#endif
}

// Where they are not, for fewer lanes.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK_GLOBAL, 1)
    advance_global_few_lanes(const __grid_constant__ Launch launch,
                             const __grid_constant__ Thermostat thermostat) {
#if !TAGGED
    advance_steps<ACTS_GLOBAL, false>(launch, thermostat);
#endif
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK, 1)
    advance_andersen(const __grid_constant__ Launch launch,
                     const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_ANDERSEN, false>(launch, thermostat);
}

// For small blocks and four lanes a particle or more, where sites are not tagged.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK, 1)
    advance_andersen_wide(const __grid_constant__ Launch launch,
                          const __grid_constant__ Thermostat thermostat) {
#if !TAGGED
    advance_steps<ACTS_ANDERSEN, false, true>(launch, thermostat);
#endif
}

extern "C" __global__ void __launch_bounds__(LARGEST_BLOCK_SINGLE_LANE, 1)
    advance_andersen_single_lane(const __grid_constant__ Launch launch,
                           const __grid_constant__ Thermostat thermostat) {
    advance_steps<ACTS_ANDERSEN, true>(launch, thermostat);
}
