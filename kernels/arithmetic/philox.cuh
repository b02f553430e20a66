// Philox 4x32-10. Mirrors src/arithmetic/philox.rs.
#pragma once
#include "arithmetic/portable.cuh"

struct RandomWords {
    u32 word[4];
};

INLINE RandomWords philox4x32(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1) {
    const u32 m0 = 0xD2511F53u, m1 = 0xCD9E8D57u;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        u32 p0_high = multiply_high(m0, c0), p0_low = m0 * c0;
        u32 p1_high = multiply_high(m1, c2), p1_low = m1 * c2;
        c0 = p1_high ^ c1 ^ k0;
        c1 = p1_low;
        c2 = p0_high ^ c3 ^ k1;
        c3 = p0_low;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return RandomWords{{c0, c1, c2, c3}};
}
