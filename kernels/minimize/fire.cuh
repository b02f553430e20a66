// FIRE 2.0: time step and mixing of a descent. Mirrors src/integrator/fire.rs, where the formulas stand.
#pragma once
#include "arithmetic/portable.cuh"

// Iterations with positive power before the time step grows, and iterations at the start in which it does not shrink.
#define FIRE_DELAY 20

#include "shared/fire.cuh"

// What an iteration does.
struct Iteration {
    // Half of the last move is taken back and velocities are zeroed first.
    bool turn_back;
    double timestep;
    // Zero where velocities are not mixed with forces.
    double mixing;
};

// The next iteration, from the present power.
INLINE Iteration next_iteration(Fire &fire, double power) {
    fire.iterations += 1;
    if (power > 0.0) {
        fire.downhill += 1;
        if (fire.downhill > FIRE_DELAY) {
            double longer = mul(fire.timestep, 1.1), longest = mul(10.0, fire.first_timestep);
            fire.timestep = longer < longest ? longer : longest;
            fire.mixing = mul(fire.mixing, 0.99);
        }
        return Iteration{false, fire.timestep, fire.mixing};
    }
    fire.downhill = 0;
    if (fire.iterations > FIRE_DELAY) {
        double shorter = mul(fire.timestep, 0.5);
        if (shorter >= mul(0.02, fire.first_timestep)) fire.timestep = shorter;
        fire.mixing = 0.25;
    }
    return Iteration{true, fire.timestep, 0.0};
}
