// Thermostats: the formulas of src/integrator in the same order of operations.
#pragma once
#include "md/sums.cuh"

#include "shared/thermostat.cuh"

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
    // On all velocities, from the drift of a step to its second kick.
    double factor;
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

// Factor of half a step of a chain's friction on all velocities.
INLINE double chain_factor(const Thermostat &thermostat, const Memory &memory) {
    return exp_near_zero(-0.5 * thermostat.timestep * memory.velocity[0]);
}

// A step of a Nose-Hoover chain in three parts, so that little is left to be done when the kinetic energy is there, for which the
// particles wait. One thread of a block comes here. The accelerations with which the links are kicked upwards are those of the next way
// down, and the drags of both ways are the same.
struct ChainStep {
    // The step whose first part is done.
    u64 step;
    Memory chain;
    double drag[LONGEST_CHAIN];
    // Twice the kinetic energy at the temperature of the step.
    double thermal;
    // 1 / tau^2.
    double rate2;

    // Before the kinetic energy is known: all links but the first are kicked, from the last one on.
    INLINE void begin(const Thermostat &thermostat, const Memory &memory, double inverse_square_of_time, u64 of_step) {
        u32 last = thermostat.chain_length - 1;
        double quarter = 0.25 * thermostat.timestep;
        chain.heat = memory.heat;
        for (u32 link = 0; link <= last; ++link) {
            chain.position[link] = memory.position[link];
            chain.velocity[link] = memory.velocity[link];
        }
        step = of_step;
        rate2 = inverse_square_of_time;
        follow_target_temperature(thermostat, step, chain);
        thermal = (double)thermostat.degrees_of_freedom * target_temperature(thermostat, step);
        chain.position[0] += 0.5 * thermostat.timestep * chain.velocity[0];
        kick_last(thermostat);
        drag[0] = 1.0;
        for (u32 link = last; link-- > 0;) {
            drag[link] = exp_near_zero(-quarter * chain.velocity[link + 1]);
            if (link > 0) kick(thermostat, link, acceleration(thermostat, link));
        }
        for (u32 link = 1; link <= last; ++link) chain.position[link] += thermostat.timestep * chain.velocity[link];
    }
    // At twice the kinetic energy of a half step: the first link, on both ways.
    INLINE void drive(const Thermostat &thermostat, double kinetic2) {
        double by_particles = (kinetic2 / thermal - 1.0) * rate2;
        kick(thermostat, 0, by_particles);
        kick(thermostat, 0, by_particles);
    }
    // The other links on the way up; gives the memory all but its factor.
    INLINE void end(const Thermostat &thermostat, Memory &memory) {
        u32 last = thermostat.chain_length - 1;
        for (u32 link = 1; link < last; ++link) kick(thermostat, link, acceleration(thermostat, link));
        kick_last(thermostat);
        chain.position[0] += 0.5 * thermostat.timestep * chain.velocity[0];
        memory.heat = chain.heat;
        for (u32 link = 0; link <= last; ++link) {
            memory.position[link] = chain.position[link];
            memory.velocity[link] = chain.velocity[link];
        }
    }

private:
    // Of a link by the one before.
    INLINE double acceleration(const Thermostat &thermostat, u32 link) const {
        double before = chain.velocity[link - 1];
        return (link == 1 ? (double)thermostat.degrees_of_freedom : 1.0) * (before * before) - rate2;
    }
    INLINE void kick(const Thermostat &thermostat, u32 link, double by) {
        chain.velocity[link] = (chain.velocity[link] * drag[link] + 0.5 * thermostat.timestep * by) * drag[link];
    }
    // Of a chain of one link it is the first.
    INLINE void kick_last(const Thermostat &thermostat) {
        u32 last = thermostat.chain_length - 1;
        if (last > 0) chain.velocity[last] += 0.5 * thermostat.timestep * acceleration(thermostat, last);
    }
};

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

// The random numbers of stochastic velocity rescaling in a step (Bussi, Donadio and Parrinello 2007).
struct BussiNumbers {
    double normal;
    double others;
};

static __device__ __noinline__ BussiNumbers bussi_numbers(const Thermostat &thermostat, u64 step) {
    // The kinetic energy becomes that of the temperature at once.
    if (thermostat.parameter == 0.0) return BussiNumbers{0.0, (double)thermostat.degrees_of_freedom};
    Words words;
    words.sequence = Sequence{thermostat.seed, PURPOSE_BUSSI, step, 0};
    words.used = 4;
    BussiNumbers numbers = {words.normal(), 0.0};
    u64 n = thermostat.degrees_of_freedom - 1;
    if (n == 1) {
        double x = words.normal();
        numbers.others = x * x;
    } else if (n > 1) {
        numbers.others = 2.0 * words.gamma(0.5 * (double)n);
    }
    return numbers;
}

// Factor on all velocities after the drift to a step; `c` is exp(-dt / time).
INLINE double bussi_factor(const Thermostat &thermostat, const BussiNumbers &numbers, double c, double kinetic2, u64 step) {
    if (kinetic2 <= 0.0) return 1.0;
    double normal = numbers.normal;
    double ratio = (1.0 - c) * target_temperature(thermostat, step) / kinetic2;
    double square = c + ratio * (normal * normal + numbers.others) + 2.0 * normal * square_root(c * ratio);
    return square_root(square > 0.0 ? square : 0.0);
}

// A thermostat of the whole system (Nose-Hoover, Bussi) during a launch, alike in all blocks. It acts on the velocities of half
// steps: after the drift of a step one thread of each block takes their kinetic energy and leaves the factor, while the
// others compute forces; they wait for it before the second kick.
struct GlobalThermostat {
    Memory memory;
    // Nose-Hoover: 1 / tau^2; Bussi: exp(-dt / time).
    double constant;
    // Bussi: of some steps, and the first of these.
    BussiNumbers numbers[32];
    u64 first_step_of_numbers;
    // Nose-Hoover.
    ChainStep ahead;
    // Given when the factor of a step is there.
    Signal ready;

    // Takes what the launch before remembers; one thread of a block comes here. So in what follows but `draw_for`.
    INLINE void load(const Thermostat &thermostat, const Control *control) {
        memory.heat = control->heat;
        for (u32 link = 0; link < LONGEST_CHAIN; ++link) {
            memory.position[link] = control->chain_position[link];
            memory.velocity[link] = control->chain_velocity[link];
        }
        memory.factor = control->factor;
        first_step_of_numbers = ahead.step = 1ull << 63;
        ready.reset();
        bool is_gradual = thermostat.parameter > 0.0;
        if (thermostat.kind == THERMOSTAT_BUSSI) constant = is_gradual ? exp_f64(-thermostat.timestep / thermostat.parameter) : 0.0;
        if (thermostat.kind != THERMOSTAT_NOSE_HOOVER) return;
        double time = thermostat.parameter / (2.0 * 3.14159265358979311600e+00);
        constant = 1.0 / (time * time);
        memory.factor = chain_factor(thermostat, memory);
    }
    INLINE void store(Control *control) const {
        control->heat = memory.heat;
        for (u32 link = 0; link < LONGEST_CHAIN; ++link) {
            control->chain_position[link] = memory.position[link];
            control->chain_velocity[link] = memory.velocity[link];
        }
        control->factor = memory.factor;
    }

    // Bussi: draws the numbers of a step and of those that follow it, unless they are there; each lane of a warp those of one.
    INLINE void draw_for(const Thermostat &thermostat, u64 step) {
        if (thermostat.kind != THERMOSTAT_BUSSI || step - first_step_of_numbers < 32) return;
        u32 lane = threadIdx.x & 31;
        __syncwarp();
        numbers[lane] = bussi_numbers(thermostat, step + lane);
        if (lane == 0) first_step_of_numbers = step;
        __syncwarp();
    }
    // After the drift to a step, whose numbers were drawn: the factor, from twice the kinetic energy of the velocities there.
    INLINE void find_factor(const Thermostat &thermostat, double kinetic2, u64 step) {
        if (thermostat.kind == THERMOSTAT_NOSE_HOOVER) {
            if (ahead.step != step) ahead.begin(thermostat, memory, constant, step);
            ahead.drive(thermostat, kinetic2);
            memory.factor = chain_factor(thermostat, ahead.chain);
        } else {
            const BussiNumbers &of_step = numbers[step - first_step_of_numbers];
            memory.factor = bussi_factor(thermostat, of_step, constant, kinetic2, step);
        }
    }
    // What is left to do in the step, and what can be done of the next one.
    INLINE void end_step(const Thermostat &thermostat, u64 step) {
        if (thermostat.kind != THERMOSTAT_NOSE_HOOVER) return;
        ahead.end(thermostat, memory);
        ahead.begin(thermostat, memory, constant, step + 1);
    }
};
