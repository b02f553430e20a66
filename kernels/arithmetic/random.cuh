// Random numbers keyed by seed, particle, step and purpose. Mirrors src/arithmetic/random.rs, where the
// layout of the counter stands.
#pragma once
#include "arithmetic/elementary.cuh"
#include "arithmetic/philox.cuh"

#include "shared/purposes.cuh"

INLINE RandomWords random_block(u64 seed, u32 id, u64 step, u32 purpose, u32 draw) {
    return philox4x32(id, (u32)step, (u32)(step >> 32), purpose << 24 | draw, (u32)seed, (u32)(seed >> 32));
}

// Uniform in (0, 1).
INLINE double uniform_open(u32 high, u32 low) {
    u64 n = (u64)high << 20 | (u64)low >> 12;
    return add(sub(double_from_bits(1023ull << 52 | n), 1.0), double_from_bits((1023ull - 53) << 52));
}

// Two independent normal numbers of mean 0 and variance 1.
INLINE void normal_pair(RandomWords words, double &x, double &y) {
    double radius = square_root(mul(-2.0, ln_f64(uniform_open(words.word[0], words.word[1]))));
    double sine, cosine;
    sin_cos_2pi(uniform_open(words.word[2], words.word[3]), sine, cosine);
    x = mul(radius, cosine);
    y = mul(radius, sine);
}

// Three independent normal numbers for a particle at a step: draws 0 and 1 of the purpose.
INLINE void normals3(u64 seed, u32 id, u64 step, u32 purpose, double (&normal)[3]) {
    double unused;
    normal_pair(random_block(seed, id, step, purpose, 0), normal[0], normal[1]);
    normal_pair(random_block(seed, id, step, purpose, 1), normal[2], unused);
}

// Two independent normal numbers as 32-bit floats.
INLINE void normal_pair_f32(u32 radial, u32 turn, float &x, float &y) {
    const float unit = 1.0f / 4294967296.0f;
    float u = fused((float)radial, unit, 0.5f * unit);
    float radius = square_root(mul(-2.0f, ln_f32(u)));
    float sine, cosine;
    sin_cos_of_turn(turn, sine, cosine);
    x = mul(radius, cosine);
    y = mul(radius, sine);
}

// Three independent normal numbers as 32-bit floats for a particle at a step: draw 0 of the purpose.
INLINE void normals3_f32(u64 seed, u32 id, u64 step, u32 purpose, float (&normal)[3]) {
    RandomWords words = random_block(seed, id, step, purpose, 0);
    float unused;
    normal_pair_f32(words.word[0], words.word[1], normal[0], normal[1]);
    normal_pair_f32(words.word[2], words.word[3], normal[2], unused);
}

// One of them.
INLINE float normal_f32(u64 seed, u32 id, u64 step, u32 purpose, u32 axis) {
    RandomWords words = random_block(seed, id, step, purpose, 0);
    float x, y;
    normal_pair_f32(axis == 2 ? words.word[2] : words.word[0], axis == 2 ? words.word[3] : words.word[1], x, y);
    return axis == 1 ? y : x;
}

// One uniform number in (0, 1) for a particle at a step: draw 0 of the purpose.
INLINE double uniform(u64 seed, u32 id, u64 step, u32 purpose) {
    RandomWords words = random_block(seed, id, step, purpose, 0);
    return uniform_open(words.word[0], words.word[1]);
}
