// What the kernels write in PTX: loads that the compiler would split, atomic operations with an order, 16-bit floats.
//
// The plain form of each lets any C++17 compiler read the kernels (tests/emulated_gpu). The loads leave out hints to
// the caches; the 16-bit operations are rounded once from 64-bit floats.
#pragma once
#include "arithmetic/portable.cuh"

// Two 16-bit floats in a word.
typedef u32 Half2;

#if defined(__CUDACC__)

INLINE void load_words(const void *at, u32 (&word)[4]) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "l"(at));
}
INLINE void load_words(const void *at, u32 (&word)[2]) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(word[0]), "=r"(word[1]) : "l"(at));
}
// Leaves the first-level cache to what is read again.
INLINE void load_words_once(const void *at, u32 (&word)[4]) {
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "l"(at));
}
INLINE void load_words_once(const void *at, u32 (&word)[2]) {
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(word[0]), "=r"(word[1]) : "l"(at));
}
INLINE void load_doubles(const double *at, double &x, double &y) {
    asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(x), "=d"(y) : "l"(at));
}
INLINE void load_double(const double *at, double &x) {
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(x) : "l"(at));
}

// What this thread has written before is seen by whoever has seen the addition and then called `fence`.
INLINE void add_release(u64 *at, u64 value) {
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}
INLINE u64 load_relaxed(const u64 *at) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
// 16 bytes that go to the L2 and come from there as a whole, in no order with anything else.
INLINE void store_whole(void *at, u64 low, u64 high) {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3)
    asm volatile("{\n.reg .b128 both;\nmov.b128 both, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], both;\n}"
                 :
                 : "l"(at), "l"(low), "l"(high)
                 : "memory");
#else
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" : : "l"(at), "l"(low), "l"(high) : "memory");
#endif
}
INLINE void load_whole(const void *at, u64 &low, u64 &high) {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3)
    asm volatile("{\n.reg .b128 both;\nld.relaxed.gpu.global.b128 both, [%2];\nmov.b128 {%0, %1}, both;\n}"
                 : "=l"(low), "=l"(high)
                 : "l"(at)
                 : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(at) : "memory");
#endif
}
INLINE void fence() {
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
}
// The same within a block, and with other GPUs.
INLINE void fence_block() {
    asm volatile("fence.acq_rel.cta;" : : : "memory");
}
INLINE void fence_system() {
    asm volatile("fence.acq_rel.sys;" : : : "memory");
}
// Behind `fence_system`: whoever has seen the value and then loads it with `load_acquire_system` sees what was written before.
INLINE void store_relaxed_system(u64 *at, u64 value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}
INLINE u64 load_relaxed_system(const u64 *at) {
    u64 value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
INLINE u64 load_acquire_system(const u64 *at) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
// In the body of every loop that waits for another block.
INLINE void spin_wait() {}
// What lies in memory is loaded again after this, and does not stay in registers from before.
INLINE void forget_registers() { asm volatile("" : : : "memory"); }
// Of the GPU's clock; all blocks have the same.
INLINE u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Sum over the lanes of a warp, modulo 2^32.
INLINE u32 add_over_warp(u32 x) {
    u32 sum;
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(x) : "memory");
    return sum;
}

// 1/x to a unit in the last place.
INLINE float estimate_reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

INLINE Half2 half2_of(float x) {
    Half2 both;
    asm("{\n\t.reg .b16 h;\n\tcvt.rn.f16.f32 h, %1;\n\tmov.b32 %0, {h, h};\n\t}" : "=r"(both) : "f"(x));
    return both;
}
INLINE unsigned short half_of(float x) {
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
}
INLINE Half2 sub_half2(Half2 a, Half2 b) {
    Half2 result;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}
INLINE Half2 fused_half2(Half2 a, Half2 b, Half2 c) {
    Half2 result;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

// Of one thread of a block to the others, in shared memory: given once a turn, in turns 0, 1, 2, ...; what its giver wrote before
// is visible to those who have waited for it. None may be a turn behind when it is given again.
struct Signal {
    u64 word;

    // Before a barrier of the block.
    INLINE void reset() { asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address()) : "memory"); }
    INLINE void give() {
        asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(address()) : "memory");
    }
    INLINE void wait(u32 turn) const {
        u32 given = 0;
        while (!given) {
            asm volatile("{\n.reg .pred given;\nmbarrier.test_wait.parity.shared.b64 given, [%1], %2;\nselp.u32 %0, 1, 0, given;\n}"
                         : "=r"(given)
                         : "r"(address()), "r"(turn & 1)
                         : "memory");
        }
    }

private:
    INLINE u32 address() const { return (u32)__cvta_generic_to_shared(&word); }
};

// Sum of the products of signed bytes, and of `sum`.
INLINE i32 dot4(i32 a, i32 b, i32 sum) {
    i32 result;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}
// The bits, moved up by one, with the sign of a number below.
INLINE u32 shifted_in(u32 bits, i32 sign) {
    u32 result;
    asm("shf.l.clamp.b32 %0, %1, %2, 1;" : "=r"(result) : "r"((u32)sign), "r"(bits));
    return result;
}

#else

INLINE void load_words(const void *at, u32 (&word)[4]) { std::memcpy(word, at, sizeof(word)); }
INLINE void load_words(const void *at, u32 (&word)[2]) { std::memcpy(word, at, sizeof(word)); }
INLINE void load_words_once(const void *at, u32 (&word)[4]) { load_words(at, word); }
INLINE void load_words_once(const void *at, u32 (&word)[2]) { load_words(at, word); }
INLINE void load_double(const double *at, double &x) { x = *at; }
INLINE void load_doubles(const double *at, double &x, double &y) {
    x = at[0];
    y = at[1];
}

INLINE void add_release(u64 *at, u64 value) { __atomic_fetch_add(at, value, __ATOMIC_RELEASE); }
INLINE u64 load_relaxed(const u64 *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
// While they are written the second word is one that nobody writes, and both that are loaded are zero.
#define HALF_WRITTEN (~0ull)
INLINE void store_whole(void *at, u64 low, u64 high) {
    u64 *words = (u64 *)at;
    __atomic_store_n(words + 1, HALF_WRITTEN, __ATOMIC_SEQ_CST);
    __atomic_store_n(words, low, __ATOMIC_SEQ_CST);
    __atomic_store_n(words + 1, high, __ATOMIC_SEQ_CST);
}
INLINE void load_whole(const void *at, u64 &low, u64 &high) {
    const u64 *words = (const u64 *)at;
    u64 before = __atomic_load_n(words + 1, __ATOMIC_SEQ_CST);
    low = __atomic_load_n(words, __ATOMIC_SEQ_CST);
    high = __atomic_load_n(words + 1, __ATOMIC_SEQ_CST);
    if (high != before || high == HALF_WRITTEN) low = high = 0;
}
INLINE void fence() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
INLINE void fence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
INLINE void fence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void forget_registers() {}
INLINE void store_relaxed_system(u64 *at, u64 value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
INLINE u64 load_relaxed_system(const u64 *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
INLINE u64 load_acquire_system(const u64 *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
// Lets other threads run; this and the clock are given by the emulation.
void spin_wait();
INLINE u64 nanoseconds();

// Shuffles are the emulation's; other programs do not call this.
template <typename Word>
INLINE Word add_over_warp(Word x) {
    for (u32 offset = 16; offset > 0; offset >>= 1) x += __shfl_xor_sync(~0u, x, offset);
    return x;
}

INLINE float estimate_reciprocal(float x) { return 1.0f / x; }

// To nearest, halves to even.
INLINE unsigned short half_from_double(double x) {
    u32 sign = (u32)(to_bits(x) >> 48) & 0x8000;
    double size = magnitude(x);
    if (!(size < 65520.0)) return (unsigned short)(sign | (size == size ? 0x7C00 : 0x7FFF));
    if (size < 0x1p-14) return (unsigned short)(sign | (u32)std::nearbyint(size * 0x1p24));
    u64 bits = to_bits(size);
    bits += 0x1FFFFFFFFFFull + (bits >> 42 & 1);
    return (unsigned short)(sign | (u32)((bits >> 42) - (1008ull << 10)));
}
INLINE double double_from_half(u32 half) {
    u64 sign = (u64)(half & 0x8000) << 48, exponent = half >> 10 & 31, fraction = half & 0x3FF;
    if (exponent == 0) return double_from_bits(sign | to_bits((double)fraction * 0x1p-24));
    return double_from_bits(sign | (exponent == 31 ? 0x7FFull : exponent + 1008) << 52 | fraction << 42);
}
INLINE unsigned short half_of(float x) { return half_from_double(x); }
INLINE Half2 half2_of(float x) { return half_of(x) * 0x10001u; }
INLINE Half2 sub_half2(Half2 a, Half2 b) {
    u32 low = half_from_double(double_from_half(a & 0xFFFF) - double_from_half(b & 0xFFFF));
    u32 high = half_from_double(double_from_half(a >> 16) - double_from_half(b >> 16));
    return low | high << 16;
}
struct Signal {
    u64 word;

    INLINE void reset() { word = 0; }
    INLINE void give() { add_release(&word, 1); }
    INLINE void wait(u32 turn) const {
        while ((load_relaxed(&word) & 1) == (turn & 1)) spin_wait();
        fence();
    }
};

INLINE i32 dot4(i32 a, i32 b, i32 sum) {
    for (int byte = 0; byte < 32; byte += 8) sum += (i32)(signed char)(a >> byte) * (i32)(signed char)(b >> byte);
    return sum;
}
INLINE u32 shifted_in(u32 bits, i32 sign) { return bits << 1 | (u32)sign >> 31; }
INLINE Half2 fused_half2(Half2 a, Half2 b, Half2 c) {
    u32 low = half_from_double(
        fused(double_from_half(a & 0xFFFF), double_from_half(b & 0xFFFF), double_from_half(c & 0xFFFF)));
    u32 high = half_from_double(fused(double_from_half(a >> 16), double_from_half(b >> 16), double_from_half(c >> 16)));
    return low | high << 16;
}

#endif
