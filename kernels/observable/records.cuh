// Samples in the GPU's memory: a record for each particle, in few pieces of as many bytes as one store takes.
//
// Three dimensions: fractions, velocities, and the images in 21 bits each (differences of images are known modulo 2^21):
// 32 bytes. Two: fraction, image, velocity of each axis, 24 bytes. Mirrors src/engine/cuda/correlator/records.rs.
#pragma once
#include "observable/sampled.cuh"

#if DIMENSION == 3
#define RECORD_WORDS 8
#else
#define RECORD_WORDS 6
#endif
// Words of a particle when unpacked: three for each axis.
#define UNPACKED_WORDS (SAMPLED_WORDS * DIMENSION)

// Part of the packed images.
INLINE u64 packed_image(i32 image, int axis) { return (u64)((u32)image & 0x1FFFFFu) << (21 * axis); }
INLINE i32 unpacked_image(u64 images, int axis) { return (i32)((u32)(images >> (21 * axis)) << 11) >> 11; }

// Past the caches, which the steps need: samples are read much later.
INLINE void store_record(u32 *at, const Sampled (&sampled)[DIMENSION]) {
#if DIMENSION == 3
    u64 images = packed_image(sampled[0].image, 0) | packed_image(sampled[1].image, 1) | packed_image(sampled[2].image, 2);
    __stcs((uint4 *)at,
           make_uint4(sampled[0].fraction, sampled[1].fraction, sampled[2].fraction, to_bits(sampled[0].velocity)));
    __stcs((uint4 *)(at + 4),
           make_uint4(to_bits(sampled[1].velocity), to_bits(sampled[2].velocity), (u32)images, (u32)(images >> 32)));
#else
    __stcs((uint2 *)at, make_uint2(sampled[0].fraction, (u32)sampled[0].image));
    __stcs((uint2 *)(at + 2), make_uint2(to_bits(sampled[0].velocity), sampled[1].fraction));
    __stcs((uint2 *)(at + 4), make_uint2((u32)sampled[1].image, to_bits(sampled[1].velocity)));
#endif
}

// A record as it lies in memory, and its numbers.
struct Record {
    u32 word[RECORD_WORDS];

    INLINE void load(const u32 *at) {
#if DIMENSION == 3
        uint4 first = *(const uint4 *)at, second = *(const uint4 *)(at + 4);
        word[0] = first.x, word[1] = first.y, word[2] = first.z, word[3] = first.w;
        word[4] = second.x, word[5] = second.y, word[6] = second.z, word[7] = second.w;
#else
#pragma unroll
        for (int k = 0; k < RECORD_WORDS; k += 2) {
            uint2 two = *(const uint2 *)(at + k);
            word[k] = two.x, word[k + 1] = two.y;
        }
#endif
    }
    INLINE u32 fraction(int axis) const { return DIMENSION == 3 ? word[axis] : word[SAMPLED_WORDS * axis]; }
    INLINE i32 image(int axis) const {
#if DIMENSION == 3
        return unpacked_image((u64)word[7] << 32 | word[6], axis);
#else
        return (i32)word[SAMPLED_WORDS * axis + 1];
#endif
    }
    INLINE u32 velocity(int axis) const { return DIMENSION == 3 ? word[3 + axis] : word[SAMPLED_WORDS * axis + 2]; }
};

// Slots of samples. Mirrors `Records` in src/engine/cuda/correlator/records.rs.
struct Records {
    u32 *words;
    u64 slot_words;

    INLINE u32 *of(u32 slot) const { return words + slot * slot_words; }
};

// A centre of mass: place without periodic boundaries.
struct Center {
    double position[3];
    double velocity[3];
};
