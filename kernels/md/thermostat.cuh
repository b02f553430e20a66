// Thermostats: the formulas of src/integrator in the same order of operations.
#pragma once
#include "md/sums.cuh"

#include "shared/thermostat.cuh"

INLINE double target_temperature(const Thermostat &thermostat, u64 step) {
    if (thermostat.from == thermostat.to) return thermostat.from;
    double share = (double)(step - thermostat.stage_first_step) / (double)thermostat.stage_steps;
    return thermostat.from + (thermostat.to - thermostat.from) * share;
}

// What a thermostat of the whole system remembers: every block that acts holds the same.
struct Memory {
    double heat;
    double position[LONGEST_CHAIN];
    double velocity[LONGEST_CHAIN];
    // On all velocities, from the drift of a step to its second kick.
    double factor;
};

// The thermostat has the temperature of a step, and had that of the step before: the change of the chain's energy is heat.
INLINE void follow_target_temperature(const Thermostat &thermostat, u64 step, const Memory &memory, double &heat) {
    double before = target_temperature(thermostat, step - 1), temperature = target_temperature(thermostat, step);
    if (before == temperature) return;
    double time = thermostat.parameter / (2.0 * 3.14159265358979311600e+00);
    double per_temperature = 0.0;
    for (u32 link = 0; link < thermostat.chain_length; ++link) {
        double degrees = link == 0 ? (double)thermostat.degrees_of_freedom : 1.0;
        double x = memory.position[link], v = memory.velocity[link];
        per_temperature += degrees * (0.5 * time * time * v * v + x);
    }
    heat += (temperature - before) * per_temperature;
}

// Factor of half a step of a chain's friction on all velocities.
INLINE double chain_factor(const Thermostat &thermostat, const Memory &memory) {
    return exp_near_zero(-0.5 * thermostat.timestep * memory.velocity[0]);
}

// Chains of up to as many links are kept in registers during a step.
#define SHORT_CHAIN 4

// Links of a Nose-Hoover chain, up to `MOST`. The accelerations with which they are kicked on the way up are those of the next way
// down, and the drags of both ways are the same. `Numbers`: one for each link, or where they lie.
template <u32 MOST, typename Numbers>
struct Links {
    Numbers position;
    Numbers velocity;
    Numbers drag;
    u32 last;
    double timestep;
    double degrees_of_freedom;
    // 1 / tau^2.
    double rate2;

    // All but the first are kicked, from the last one on, and half of the step goes by for the first, all of it for the others.
    INLINE void go_down() {
        double quarter = 0.25 * timestep;
        position[0] += 0.5 * timestep * velocity[0];
        kick_last();
#pragma unroll(MOST <= SHORT_CHAIN ? MOST : 1)
        for (u32 above = MOST - 1; above > 0; --above) {
            u32 link = above - 1;
            if (link >= last) continue;
            drag[link] = exp_near_zero(-quarter * velocity[above]);
            if (link > 0) kick(link);
        }
        if (last == 0) drag[0] = 1.0;
        each([&](u32 link) {
            if (link > 0) position[link] += timestep * velocity[link];
        });
    }
    // And on the way up.
    INLINE void go_up() {
        each([&](u32 link) {
            if (link > 0 && link < last) kick(link);
        });
        kick_last();
        position[0] += 0.5 * timestep * velocity[0];
    }
    template <typename Action>
    INLINE void each(Action act) const {
#pragma unroll(MOST <= SHORT_CHAIN ? MOST : 1)
        for (u32 link = 0; link < MOST; ++link) {
            if (link <= last) act(link);
        }
    }

private:
    // Of a link by the one before.
    INLINE double acceleration(u32 link) const {
        double before = velocity[link - 1];
        return (link == 1 ? degrees_of_freedom : 1.0) * (before * before) - rate2;
    }
    INLINE void kick(u32 link) { velocity[link] = (velocity[link] * drag[link] + 0.5 * timestep * acceleration(link)) * drag[link]; }
    // Of a chain of one link it is the first.
    INLINE void kick_last() {
        each([&](u32 link) {
            if (link > 0 && link == last) velocity[link] += 0.5 * timestep * acceleration(link);
        });
    }
};

// A step of a Nose-Hoover chain in three parts, so that little is left to be done when the kinetic energy is there, for which the
// particles wait. One thread of a block comes here.
struct ChainStep {
    // The step whose first part is done.
    u64 step;
    Memory chain;
    double drag[LONGEST_CHAIN];
    // Twice the kinetic energy at the temperature of the step.
    double thermal;

    // Before the kinetic energy is known: all links but the first.
    INLINE void begin(const Thermostat &thermostat, Memory &memory, double rate2, u64 of_step) {
        step = of_step;
        chain = memory;
        with_links<false>(thermostat, memory, rate2);
    }
    // At twice the kinetic energy of a half step: the first link, on both ways.
    INLINE void drive(const Thermostat &thermostat, double rate2, double kinetic2) {
        double kick = 0.5 * thermostat.timestep * ((kinetic2 / thermal - 1.0) * rate2), velocity = chain.velocity[0], first_drag = drag[0];
        velocity = (velocity * first_drag + kick) * first_drag;
        chain.velocity[0] = (velocity * first_drag + kick) * first_drag;
    }
    // The other links on the way up, which gives the memory all but its factor; and the first part of the next step.
    INLINE void end(const Thermostat &thermostat, Memory &memory, double rate2) {
        ++step;
        with_links<true>(thermostat, memory, rate2);
    }

private:
    template <bool ENDS, typename SomeLinks>
    INLINE void go_on(SomeLinks &links, const Thermostat &thermostat, Memory &memory) {
        if (ENDS) {
            links.go_up();
            links.each([&](u32 link) {
                memory.position[link] = links.position[link];
                memory.velocity[link] = links.velocity[link];
            });
            memory.heat = chain.heat;
        }
        follow_target_temperature(thermostat, step, memory, chain.heat);
        thermal = links.degrees_of_freedom * target_temperature(thermostat, step);
        links.go_down();
    }
    template <bool ENDS>
    INLINE void with_links(const Thermostat &thermostat, Memory &memory, double rate2) {
        u32 last = thermostat.chain_length - 1;
        double timestep = thermostat.timestep, degrees_of_freedom = (double)thermostat.degrees_of_freedom;
        if (last < SHORT_CHAIN) {
            Links<SHORT_CHAIN, double[SHORT_CHAIN]> links = {{}, {}, {}, last, timestep, degrees_of_freedom, rate2};
            links.each([&](u32 link) {
                links.position[link] = chain.position[link];
                links.velocity[link] = chain.velocity[link];
                links.drag[link] = drag[link];
            });
            go_on<ENDS>(links, thermostat, memory);
            links.each([&](u32 link) {
                chain.position[link] = links.position[link];
                chain.velocity[link] = links.velocity[link];
                drag[link] = links.drag[link];
            });
        } else {
            Links<LONGEST_CHAIN, double(&)[LONGEST_CHAIN]> links = {chain.position, chain.velocity, drag, last, timestep, degrees_of_freedom,
                                                                     rate2};
            go_on<ENDS>(links, thermostat, memory);
        }
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

// A step of it, as far as it does not depend on the kinetic energy.
struct BussiStep {
    // exp(-dt / time).
    double c;
    // (1 - c) T.
    double thermal;
    // R_1^2 and the sum of the others, and 2 R_1.
    double squares;
    double twice_normal;

    // Factor on all velocities after the drift to the step.
    INLINE double factor(double kinetic2) const {
        if (kinetic2 <= 0.0) return 1.0;
        double ratio = thermal / kinetic2;
        double square = c + ratio * squares + twice_normal * square_root(c * ratio);
        return square_root(square > 0.0 ? square : 0.0);
    }
};

// A thermostat of the whole system (Nose-Hoover, Bussi) during a launch, alike in all blocks that act. It acts on the velocities of half
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
    // Before the kinetic energy is known. Bussi: of a step whose numbers were drawn.
    INLINE BussiStep begin_step(const Thermostat &thermostat, u64 step) const {
        if (thermostat.kind != THERMOSTAT_BUSSI) return BussiStep{};
        BussiNumbers of_step = numbers[step - first_step_of_numbers];
        double normal = of_step.normal;
        return BussiStep{constant, (1.0 - constant) * target_temperature(thermostat, step), normal * normal + of_step.others, 2.0 * normal};
    }
    // After the drift to a step: the factor, from twice the kinetic energy of the velocities there.
    INLINE void find_factor(const Thermostat &thermostat, const BussiStep &bussi, double kinetic2, u64 step) {
        if (thermostat.kind == THERMOSTAT_NOSE_HOOVER) {
            if (ahead.step != step) begin_step_of_chain(thermostat, step);
            ahead.drive(thermostat, constant, kinetic2);
            memory.factor = chain_factor(thermostat, ahead.chain);
        } else {
            memory.factor = bussi.factor(kinetic2);
        }
    }
    // What is left to do in the step, and what can be done of the next one.
    INLINE void end_step(const Thermostat &thermostat) {
        if (thermostat.kind == THERMOSTAT_NOSE_HOOVER) end_step_of_chain(thermostat);
    }

private:
    // By themselves: their registers would be saved under other thermostats, too.
    __device__ __noinline__ void begin_step_of_chain(const Thermostat &thermostat, u64 step) { ahead.begin(thermostat, memory, constant, step); }
    __device__ __noinline__ void end_step_of_chain(const Thermostat &thermostat) { ahead.end(thermostat, memory, constant); }
};
