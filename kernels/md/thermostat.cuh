// Thermostats: the formulas of src/integrator in the same order of operations.
#pragma once
#include "md/sums.cuh"

enum ThermostatKind : u32 {
    THERMOSTAT_NONE = 0,
    THERMOSTAT_LANGEVIN = 1,
    THERMOSTAT_NOSE_HOOVER = 2,
    THERMOSTAT_BUSSI = 3,
    THERMOSTAT_ANDERSEN = 4,
};

// What acts on the velocities of this launch. Mirrors src/engine/cuda/thermostat.rs.
struct Thermostat {
    u32 kind;
    u32 chain_length;
    u64 seed;
    u64 stage_first_step;
    u64 stage_steps;
    // Ramp of the thermostat's temperature over the stage.
    double from;
    double to;
    double timestep;
    u64 degrees_of_freedom;
    // Langevin: exp(-friction dt / 2); Nose-Hoover: period; Bussi: relaxation time.
    double parameter;
    // Andersen: steps between collisions, the mass of all particles, whether velocities are scaled to the temperature
    // exactly, and whether all masses are equal.
    u64 interval;
    double total_mass;
    u32 exact;
    u32 equal_masses;
};

INLINE double target_temperature(const Thermostat &thermostat, u64 step) {
    if (thermostat.from == thermostat.to) return thermostat.from;
    double share = (double)(step - thermostat.stage_first_step) / (double)thermostat.stage_steps;
    return thermostat.from + (thermostat.to - thermostat.from) * share;
}

// What a thermostat of the whole system remembers: every block holds the same.
struct Memory {
    double heat;
    double position[LONGEST_CHAIN];
    double velocity[LONGEST_CHAIN];
};

// The thermostat has the temperature of a step, and had that of the step before: the change of the chain's energy is heat.
INLINE void follow_target_temperature(const Thermostat &thermostat, u64 step, Memory &memory) {
    double before = target_temperature(thermostat, step - 1), temperature = target_temperature(thermostat, step);
    if (before == temperature) return;
    double time = thermostat.parameter / (2.0 * 3.14159265358979311600e+00);
    double per_temperature = 0.0;
    for (u32 link = 0; link < thermostat.chain_length; ++link) {
        double degrees = link == 0 ? (double)thermostat.degrees_of_freedom : 1.0;
        double x = memory.position[link], v = memory.velocity[link];
        per_temperature += degrees * (0.5 * time * time * v * v + x);
    }
    memory.heat += (temperature - before) * per_temperature;
}

// Half a step of a Nose-Hoover chain; returns the factor on all velocities. One thread of a block comes here, and the others
// wait: nothing is computed twice. The accelerations with which the links are kicked upwards are those of the next way
// down, and the drags of both ways are the same.
static __device__ __noinline__ double chain_half_step(const Thermostat &thermostat, double temperature, Memory &memory,
                                                      double kinetic2) {
    __shared__ double mass[LONGEST_CHAIN], acceleration[LONGEST_CHAIN], drag[LONGEST_CHAIN];
    u32 last = thermostat.chain_length - 1;
    double time = thermostat.parameter / (2.0 * 3.14159265358979311600e+00);
    double degrees = (double)thermostat.degrees_of_freedom;
    for (u32 link = 0; link <= last; ++link) mass[link] = (link == 0 ? degrees : 1.0) * temperature * time * time;
    auto accelerate = [&](u32 link) {
        double excess;
        if (link == 0) {
            excess = kinetic2 - degrees * temperature;
        } else {
            double before = memory.velocity[link - 1];
            excess = mass[link - 1] * before * before - temperature;
        }
        acceleration[link] = excess / mass[link];
    };
    auto kick = [&](u32 link, double half) {
        double velocity = memory.velocity[link];
        memory.velocity[link] = (velocity * drag[link] + half * acceleration[link]) * drag[link];
    };
    double factor = 1.0;
    double outer = 1.0 / (2.0 - 1.2599210498948732);
    for (u32 link = 0; link <= last; ++link) accelerate(link);
    for (u32 part = 0; part < 3; ++part) {
        double weight = part == 1 ? 1.0 - 2.0 * outer : outer;
        double half = 0.25 * weight * thermostat.timestep;
        double quarter = 0.5 * half;
        memory.velocity[last] += half * acceleration[last];
        for (u32 link = last; link-- > 0;) {
            drag[link] = exp_f64(-quarter * memory.velocity[link + 1]);
            kick(link, half);
        }
        double scale = exp_f64(-2.0 * half * memory.velocity[0]);
        factor *= scale;
        kinetic2 *= scale * scale;
        for (u32 link = 0; link <= last; ++link) memory.position[link] += 2.0 * half * memory.velocity[link];
        for (u32 link = 0; link < last; ++link) {
            accelerate(link);
            kick(link, half);
        }
        accelerate(last);
        memory.velocity[last] += half * acceleration[last];
    }
    return factor;
}

// A sequence of random numbers for what is not of one particle (`CounterRng`).
struct Sequence {
    u64 seed;
    u32 purpose;
    u64 stream;
    u64 next_block;

    INLINE RandomWords block() {
        u32 last = 1u << 31 | purpose << 24 | ((u32)(next_block >> 32) & 0xFFFFFF);
        RandomWords words = philox4x32((u32)next_block, (u32)stream, (u32)(stream >> 32), last, (u32)seed, (u32)(seed >> 32));
        ++next_block;
        return words;
    }
};

// As the sequence of the CPU engine, which hands out the words of a block one after the other.
struct Words {
    Sequence sequence;
    RandomWords words;
    u32 used;

    INLINE u32 next() {
        if (used == 4) {
            words = sequence.block();
            used = 0;
        }
        return words.word[used++];
    }
    INLINE double uniform() {
        u32 high = next();
        u32 low = next();
        return uniform_open(high, low);
    }
    INLINE double normal() {
        RandomWords four;
        for (u32 k = 0; k < 4; ++k) four.word[k] = next();
        double x, unused;
        normal_pair(four, x, unused);
        return x;
    }
    // Marsaglia and Tsang's gamma distribution.
    INLINE double gamma(double shape) {
        double d = shape - 1.0 / 3.0;
        double c = 1.0 / square_root(9.0 * d);
        for (;;) {
            double x = normal();
            double u = uniform();
            double w = 1.0 + c * x;
            double v = w * w * w;
            if (w > 0.0 && ln_f64(u) < 0.5 * x * x + d * (1.0 - v + ln_f64(v))) return d * v;
        }
    }
};

// Factor on all velocities after a step (Bussi, Donadio and Parrinello 2007).
static __device__ __noinline__ double bussi_factor(const Thermostat &thermostat, double kinetic2, u64 step) {
    if (kinetic2 <= 0.0) return 1.0;
    Words words;
    words.sequence = Sequence{thermostat.seed, PURPOSE_BUSSI, step, 0};
    words.used = 4;
    double normal = words.normal();
    u64 n = thermostat.degrees_of_freedom - 1;
    double others = 0.0;
    if (n == 1) {
        double x = words.normal();
        others = x * x;
    } else if (n > 1) {
        others = 2.0 * words.gamma(0.5 * (double)n);
    }
    double c = exp_f64(-thermostat.timestep / thermostat.parameter);
    double ratio = (1.0 - c) * target_temperature(thermostat, step) / kinetic2;
    double square = c + ratio * (normal * normal + others) + 2.0 * normal * square_root(c * ratio);
    return square_root(square > 0.0 ? square : 0.0);
}
