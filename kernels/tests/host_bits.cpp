// The headers of kernels/ as host code: reads 64-bit words from standard input, applies the function named
// by the first argument to each record, and writes the results. The second argument is the hexadecimal image
// of a struct of constants. tests/kernel_arithmetic.rs compares every bit with Rust.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define POLICY FixedPoint
#define EVALUATOR_HEADER "potential/lennard_jones.cuh"
#define EVALUATOR LennardJones<float>
#define TRUNCATION TRUNCATION_SHIFTED
#define SATURATING 1
#include "run.cuh"
#include "potential/buckingham.cuh"
#include "potential/dzugutov.cuh"
#include "potential/gaussian_core.cuh"
#include "potential/harmonic_spheres.cuh"
#include "potential/inverse_powers.cuh"
#include "potential/yukawa.cuh"
#include "hilbert.cuh"
#include "minimize/fire.cuh"
#include "observable/cells.cuh"
#include "observable/pair_terms.cuh"

typedef std::vector<unsigned char> Constants;

struct Function {
    std::string name;
    int inputs;
    int outputs;
    void (*call)(const Constants &constants, const u64 *in, u64 *out);
};

// A number of any type in a word, and back.
static u64 word(float x) { return to_bits(x); }
static u64 word(double x) { return to_bits(x); }
static u64 word(u64 x) { return x; }
static u64 word(i64 x) { return (u64)x; }
static u64 word(i32 x) { return (u64)(i64)x; }
static u64 word(bool x) { return x; }
static u64 word(DoubleSingle x) { return to_bits(x); }
static float f32(u64 bits) { return float_from_bits((u32)bits); }
static double f64(u64 bits) { return double_from_bits(bits); }
static DoubleSingle pair_of(u64 bits) { return double_single_from_bits(bits); }
template <typename R> R real(u64 bits);
template <> float real<float>(u64 bits) { return f32(bits); }
template <> double real<double>(u64 bits) { return f64(bits); }

template <typename T>
static T as(const Constants &constants) {
    if (constants.size() != sizeof(T)) {
        std::fprintf(stderr, "the struct has %zu bytes here, %zu came\n", sizeof(T), constants.size());
        std::exit(2);
    }
    T value;
    std::memcpy(&value, constants.data(), sizeof(T));
    return value;
}

static void double_single(const Constants &, const u64 *in, u64 *out) {
    DoubleSingle a = pair_of(in[0]), b = pair_of(in[1]);
    float f = f32(in[2]), s, e;
    two_product(a.hi, f, s, e);
    DoubleSingle product = DoubleSingle{s, e};
    DoubleSingle results[] = {add(a, b),  sub(a, b), mul(a, b),      divide(a, b), add(a, f),
                              mul(a, f),  -a,        magnitude(a),   square_root(magnitude(a)),
                              double_single_from_sum(a.hi, f),       product};
    for (int k = 0; k < 11; ++k) out[k] = word(results[k]);
    out[11] = word(to_f64(a));
    out[12] = word(double_single_from_f64(f64(in[3])));
}

static void reciprocals(const Constants &, const u64 *in, u64 *out) {
    float x = f32(in[0]), y;
    out[0] = word(reciprocal(x));
    out[1] = word(reciprocal_sqrt(x));
    out[2] = word(sqrt_and_reciprocal(x, y));
    out[3] = word(y);
}

static void exponentials(const Constants &, const u64 *in, u64 *out) {
    out[0] = word(exp_f32(f32(in[0])));
    out[1] = word(exp_f64(f64(in[1])));
    out[2] = word(exp_near_zero(f64(in[1])));
}

static void error_functions(const Constants &, const u64 *in, u64 *out) {
    out[0] = word(erf_f32(f32(in[0])));
    out[1] = word(erfc_f32(f32(in[0])));
    out[2] = word(erf_f64(f64(in[1])));
    out[3] = word(erfc_f64(f64(in[1])));
}

static void logarithm_and_circle(const Constants &, const u64 *in, u64 *out) {
    double sine, cosine;
    sin_cos_2pi(f64(in[1]), sine, cosine);
    out[0] = word(ln_f64(f64(in[0])));
    out[1] = word(sine);
    out[2] = word(cosine);
    float sine_of_turn, cosine_of_turn;
    sin_cos_of_turn((u32)(in[1] >> 20), sine_of_turn, cosine_of_turn);
    out[3] = word(ln_f32(to_float(f64(in[0]))));
    out[4] = word(sine_of_turn);
    out[5] = word(cosine_of_turn);
}

static void random_numbers(const Constants &, const u64 *in, u64 *out) {
    u64 seed = in[0], step = in[2];
    u32 id = (u32)in[1], purpose = (u32)in[3], draw = (u32)in[4];
    RandomWords words = random_block(seed, id, step, purpose, draw);
    double normal[3];
    normals3(seed, id, step, purpose, normal);
    for (int k = 0; k < 4; ++k) out[k] = words.word[k];
    for (int k = 0; k < 3; ++k) out[4 + k] = word(normal[k]);
    out[7] = word(uniform(seed, id, step, purpose));
    float normal_of_32_bits[3];
    normals3_f32(seed, id, step, purpose, normal_of_32_bits);
    for (u32 k = 0; k < 3; ++k) {
        out[8 + k] = word(normal_of_32_bits[k]);
        out[11 + k] = word(normal_f32(seed, id, step, purpose, k));
    }
}

static void rounding(const Constants &, const u64 *in, u64 *out) {
    float x = f32(in[0]);
    bool fits = true;
    out[0] = word(round_by_magic((double)x));
    out[1] = word(round_by_conversion(x));
    out[2] = word(round_by_magic(f64(in[1])));
    out[3] = word(wide_round(f64(in[2]), fits));
    out[4] = word(fits);
    fits = true;
    out[5] = word(exact_term(f64(in[2]), fits));
    out[6] = word(fits);
}

static void scaling(const Constants &, const u64 *in, u64 *out) {
    bool fits = true;
    out[0] = word(mul_round((i64)in[0], in[1], (u32)in[2], fits));
    out[1] = word(fits);
    fits = true;
    out[2] = word(scale_i64((i64)in[0], f64(in[3]), fits));
    out[3] = word(fits);
}

static void scaling_by_small(const Constants &, const u64 *in, u64 *out) {
    out[0] = word(scale_by_small((i64)in[0], small_factor(f64(in[1]))));
}

static void fractions(const Constants &, const u64 *in, u64 *out) {
    double edge = f64(in[2]);
    out[0] = word(fraction_from_f64(f64(in[0]), edge));
    out[1] = word(fraction_to_f64(in[1], edge));
    out[2] = word(displacement_to_f64((i64)in[1], edge));
}

static void long_sums(const Constants &, const u64 *in, u64 *out) {
    ExactSum sum = exact_sum_of(0);
    for (int k = 0; k < 4; ++k) merge(sum, exact_sum_of((i64)in[k]));
    ExactSum twice = sum;
    merge(twice, sum);
    out[0] = twice.lo;
    out[1] = (u64)twice.hi;
}

static void hilbert(const Constants &, const u64 *in, u64 *out) {
    u32 square[2] = {(u32)in[0], (u32)in[1]};
    u32 cube[3] = {(u32)in[0], (u32)in[1], (u32)in[2]};
    out[0] = hilbert_index<2>(square, (u32)in[3]);
    out[1] = hilbert_index<3>(cube, (u32)in[3]);
}

template <typename P>
static void policy(const Constants &constants, const u64 *in, u64 *out) {
    typename P::Constants c = as<typename P::Constants>(constants);
    typedef typename P::Real R;
    typename P::Coordinate x = P::coordinate_from_bits(in[0]);
    typename P::Velocity v = P::velocity_from_bits(in[1]);
    typename P::Force force = P::velocity_from_bits(in[2]);
    typename P::Site a = P::site_from_bits(in[3]), b = P::site_from_bits(in[4]);
    int axis = (int)in[5];
    u32 species = (u32)in[6], count = (u32)in[7];
    double factor = f64(in[8]), velocity = f64(in[9]);
    R terms[3] = {real<R>(in[10]), real<R>(in[11]), real<R>(in[12])};

    out[0] = P::velocity_to_bits(P::kicked(v, P::kick(c, force, species)));
    i32 image = 0;
    out[1] = P::coordinate_to_bits(P::drift(c, x, v, axis, image));
    out[2] = word(image);
    out[3] = word(P::is_runaway(c, v, axis));
    R displacement = P::displacement(c, a, b, axis);
    R length = P::length(c, displacement, axis);
    out[4] = word(displacement);
    out[5] = word(length);
    out[6] = word(P::impulse(c, terms[0]));
    out[7] = word(P::arm(displacement, length));
    out[8] = P::site_to_bits(P::site(c, x, axis));
    out[9] = P::slab(c, a, axis, count);
    out[10] = P::velocity_to_bits(P::negate(v));
    bool fits = true;
    out[11] = P::velocity_to_bits(P::scale(v, factor, fits));
    out[12] = word(fits);
    fits = true;
    out[13] = P::velocity_to_bits(P::velocity_from_f64(c, velocity, axis, fits));
    out[14] = word(fits);
    out[15] = word(P::velocity_to_f64(c, v, axis));
    out[16] = word(P::coordinate_to_f64(c, x, axis));
    out[17] = word(P::force_to_f64(c, force, axis));
    typename P::Sum forces = P::zero_sum(), energies = P::zero_sum();
    for (R term : terms) {
        P::accumulate_force(forces, term);
        P::accumulate_energy(energies, term);
    }
    out[18] = P::velocity_to_bits(P::total(forces));
    out[19] = word(P::energy_to_f64(P::total(energies)));
    out[20] = P::velocity_to_bits(P::subtract_units(v, (i64)in[2]));
    out[21] = P::velocity_to_bits(P::halved(v));
    out[22] = word(P::relative_length(c, displacement, axis));
    out[23] = word(P::force_of_impulse(c, terms[0]));
    out[24] = word(P::site_to_f64(c, a, axis));
}

template <typename V, int KIND>
static void pair(const Constants &constants, const u64 *in, u64 *out) {
    typedef typename V::Real R;
    PairEntry<V, KIND> entry = as<PairEntry<V, KIND>>(constants);
    R force, energy;
    out[0] = word(entry.interaction.cutoff2);
    out[1] = word(entry.core2);
    for (int is_other = 0; is_other < 2; ++is_other) {
        bool too_close;
        entry.evaluate(real<R>(in[0]), is_other == 1, force, energy, too_close);
        out[2 + 3 * is_other] = word(force);
        out[3 + 3 * is_other] = word(energy);
        out[4 + 3 * is_other] = word(too_close);
    }
}

static void sampled(const Constants &, const u64 *in, u64 *out) {
    Sampled of_float, of_integer;
    sampled_place(f64(in[0]), f64(in[1]), (i32)in[2], of_float);
    sampled_place(in[3], 0.0, (i32)in[2], of_integer);
    out[0] = of_float.fraction;
    out[1] = word(of_float.image);
    out[2] = of_integer.fraction;
    out[3] = word(of_integer.image);
}

static void pair_terms(const Constants &, const u64 *in, u64 *out) {
    u32 from[2] = {(u32)in[0], (u32)in[1]}, to[2] = {(u32)in[2], (u32)in[3]};
    double edge = f64(in[4]);
    AxisDisplacement moved = displacement_between(from, to, Edge{(float)edge, (float)(edge / 4294967296.0)});
    out[0] = word(moved.length);
    out[1] = word(cosine_of_turns((u32)in[5] * moved.turns));
}

// First time step, then the power of each iteration.
static void fire(const Constants &, const u64 *in, u64 *out) {
    Fire fire = {f64(in[0]), f64(in[0]), 0.25, 0, 0};
    for (int k = 0; k < 60; ++k) {
        Iteration iteration = next_iteration(fire, f64(in[1 + k]));
        out[3 * k] = word(iteration.turn_back);
        out[3 * k + 1] = word(iteration.timestep);
        out[3 * k + 2] = word(iteration.mixing);
    }
}

// Points of a generator of numbers, sorted; how many are near some places, and the sum of their ids.
template <int D>
static void points_near(const Constants &, const u64 *in, u64 *out) {
    u64 state = in[0], count = in[1];
    double edge[3] = {f64(in[5]), f64(in[6]), f64(in[7])}, radius = f64(in[8]);
    CellGrid grid = {{(u32)in[2], (u32)in[3], (u32)in[4]}, (u32)(in[2] * in[3] * in[4]), {}, (float)(radius * radius)};
    for (int axis = 0; axis < 3; ++axis) grid.reach[axis] = (u32)(radius / edge[axis] * 4294967296.0) + 2;
    auto next = [&state]() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (u32)(state >> 32);
    };
    std::vector<Point> points(count), sorted(count);
    std::vector<u32> ends(grid.cell_count, 0);
    auto cell = [&grid](const Point &point) {
        u32 fraction[D];
        for (int axis = 0; axis < D; ++axis) fraction[axis] = point.fraction[axis];
        return cell_of(grid, fraction);
    };
    for (u32 id = 0; id < count; ++id) {
        points[id].id = id;
        for (int axis = 0; axis < 3; ++axis) points[id].fraction[axis] = axis < D ? next() : 0;
        ends[cell(points[id])] += 1;
    }
    u32 before = 0;
    for (u32 &end : ends) {
        u32 own = end;
        end = before;
        before += own;
    }
    for (const Point &point : points) sorted[ends[cell(point)]++] = point;
    SortedPoints<D> all(grid, ends.data(), sorted.data(), edge);
    out[0] = out[1] = 0;
    for (const Point &point : points) {
        u32 place[D];
        // Points, and places between them.
        for (int axis = 0; axis < D; ++axis) place[axis] = point.fraction[axis] + (point.id % 2 ? 0x10000001u : 0);
        auto visit = [&](u32 at, const Point &found, const float (&)[D], float) {
            out[0] += 1;
            out[1] += (u64)(point.id + 1) * (sorted[at].id + 1) + (found.id - sorted[at].id);
        };
        // At once, or in parts.
        for (u32 part = 0, parts = 1 + point.id % 3; part < parts; ++part) all.near(place, visit, part, parts);
    }
}

static std::vector<Function> functions() {
    std::vector<Function> all = {
        {"double_single", 4, 13, double_single},
        {"reciprocals", 1, 4, reciprocals},
        {"exponentials", 2, 3, exponentials},
        {"error_functions", 2, 4, error_functions},
        {"logarithm_and_circle", 2, 6, logarithm_and_circle},
        {"random_numbers", 5, 14, random_numbers},
        {"rounding", 3, 7, rounding},
        {"scaling", 4, 4, scaling},
        {"scaling_by_small", 2, 1, scaling_by_small},
        {"fractions", 3, 3, fractions},
        {"long_sums", 4, 2, long_sums},
        {"hilbert", 4, 2, hilbert},
        {"sampled", 4, 4, sampled},
        {"pair_terms", 6, 2, pair_terms},
        {"fire", 61, 180, fire},
        {"points_near 2", 9, 2, points_near<2>},
        {"points_near 3", 9, 2, points_near<3>},
        {"Single", 13, 25, policy<Single>},
        {"DoubleSingles", 13, 25, policy<DoubleSingles>},
        {"Double", 13, 25, policy<Double>},
        {"FixedPoint", 13, 25, policy<FixedPoint>},
    };
#define EVALUATORS(...) \
    all.push_back({std::string(#__VA_ARGS__) + " TRUNCATION_SHIFTED", 1, 8, pair<__VA_ARGS__, TRUNCATION_SHIFTED>}); \
    all.push_back({std::string(#__VA_ARGS__) + " TRUNCATION_FORCE_SHIFTED", 1, 8, pair<__VA_ARGS__, TRUNCATION_FORCE_SHIFTED>}); \
    all.push_back({std::string(#__VA_ARGS__) + " TRUNCATION_EVEN_QUARTIC", 1, 8, pair<__VA_ARGS__, TRUNCATION_EVEN_QUARTIC>}); \
    all.push_back({std::string(#__VA_ARGS__) + " TRUNCATION_SMOOTH", 1, 8, pair<__VA_ARGS__, TRUNCATION_SMOOTH>});
#define IN_BOTH_PRECISIONS(R) \
    EVALUATORS(LennardJones<R>) \
    EVALUATORS(HarmonicSpheres<R>) \
    EVALUATORS(Yukawa<R>) \
    EVALUATORS(GaussianCore<R>) \
    EVALUATORS(Buckingham<R>) \
    EVALUATORS(Dzugutov<R>) \
    EVALUATORS(InversePowers<R, false, 6, 3>) \
    EVALUATORS(InversePowers<R, true, 11, 7>) \
    EVALUATORS(InversePowers<R, false, 9, 0>) \
    EVALUATORS(InversePowers<R, true, 9, 0>) \
    EVALUATORS(InversePowers<R, true, 63, 62>)
    IN_BOTH_PRECISIONS(float)
    IN_BOTH_PRECISIONS(double)
    return all;
}

int main(int count, char **arguments) {
    std::string name = count > 1 ? arguments[1] : "", digits = count > 2 ? arguments[2] : "";
    Constants constants;
    for (size_t at = 0; at + 1 < digits.size(); at += 2)
        constants.push_back((unsigned char)std::stoi(digits.substr(at, 2), nullptr, 16));
    for (const Function &function : functions()) {
        if (function.name != name) continue;
        std::vector<u64> in(function.inputs), out(function.outputs);
        while (std::fread(in.data(), 8, in.size(), stdin) == in.size()) {
            function.call(constants, in.data(), out.data());
            std::fwrite(out.data(), 8, out.size(), stdout);
        }
        return 0;
    }
    std::fprintf(stderr, "no function is called '%s'\n", name.c_str());
    return 1;
}
