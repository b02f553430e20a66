// The words of CUDA C++ for a C++17 compiler on the CPU; included before the text of the kernels.
#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include "interface.h"

// The C library has a function of this name; driver.cpp looks for this one first.
#define system emulated_system

#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// `__global__` and `__launch_bounds__` stay: nvrtc.cpp looks for them.

#define threadIdx (emulated::place->thread)
#define blockIdx (emulated::place->block)
#define blockDim (emulated::place->block_size)
#define gridDim (emulated::place->grid)
#define warpSize 32

#define EMULATED_VECTORS(TYPE, NAME, BYTES)                                                             \
    struct alignas(2 * BYTES) NAME##2 { TYPE x, y; };                                                   \
    struct alignas(BYTES >= 8 ? 16 : 4 * BYTES) NAME##4 { TYPE x, y, z, w; };                           \
    inline NAME##2 make_##NAME##2(TYPE x, TYPE y) { return NAME##2{x, y}; }                             \
    inline NAME##4 make_##NAME##4(TYPE x, TYPE y, TYPE z, TYPE w) { return NAME##4{x, y, z, w}; }
EMULATED_VECTORS(int, int, 4)
EMULATED_VECTORS(unsigned, uint, 4)
EMULATED_VECTORS(float, float, 4)
EMULATED_VECTORS(double, double, 8)
EMULATED_VECTORS(long long, longlong, 8)
EMULATED_VECTORS(unsigned long long, ulonglong, 8)
#undef EMULATED_VECTORS

namespace emulated {

template <typename T>
unsigned long long word_of(T value) {
    static_assert(sizeof(T) <= 8, "shuffles take 4 or 8 bytes");
    unsigned long long word = 0;
    memcpy(&word, &value, sizeof(T));
    return word;
}
template <typename T>
T value_of_word(unsigned long long word) {
    T value;
    memcpy(&value, &word, sizeof(T));
    return value;
}
inline unsigned lane() { return threadIdx.x & 31; }

template <typename T>
struct Same {
    typedef T type;
};

template <typename T, typename Change>
inline T update(T *at, Change change) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 4 or 8 bytes");
    T before, after;
    __atomic_load(at, &before, __ATOMIC_RELAXED);
    do {
        after = change(before);
    } while (!__atomic_compare_exchange(at, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return before;
}

template <auto FUNCTION>
struct KernelOf;
template <typename... P, void (*FUNCTION)(P...)>
struct KernelOf<FUNCTION> {
    typedef std::tuple<P...> Arguments;
    template <size_t... I>
    static void *copy_each(void **arguments, std::index_sequence<I...>) {
        (void)arguments;
        return new Arguments(*(P *)arguments[I]...);
    }
    static void *copy(void **arguments) { return copy_each(arguments, std::index_sequence_for<P...>()); }
    static void call(void *arguments) { std::apply(FUNCTION, *(Arguments *)arguments); }
    static void drop(void *arguments) { delete (Arguments *)arguments; }
    static constexpr Kernel of(unsigned most_threads = 1024, unsigned = 1) { return Kernel{copy, call, drop, most_threads}; }
};

}  // namespace emulated

template <typename T>
inline T __shfl_sync(unsigned mask, T value, int source, unsigned width = 32) {
    unsigned lane = emulated::lane(), from = (lane & ~(width - 1)) | ((unsigned)source & (width - 1));
    return emulated::value_of_word<T>(emulated_shuffle("__shfl_sync", mask, emulated::word_of(value), from));
}
template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int offset, unsigned width = 32) {
    unsigned lane = emulated::lane(), from = lane ^ (unsigned)offset;
    // Into an earlier group of `width` lanes, but not into a later one.
    if (from >= (lane & ~(width - 1)) + width) from = lane;
    return emulated::value_of_word<T>(emulated_shuffle("__shfl_xor_sync", mask, emulated::word_of(value), from));
}
template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned offset, unsigned width = 32) {
    unsigned lane = emulated::lane(), from = (lane & (width - 1)) >= offset ? lane - offset : lane;
    return emulated::value_of_word<T>(emulated_shuffle("__shfl_up_sync", mask, emulated::word_of(value), from));
}
template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned offset, unsigned width = 32) {
    unsigned lane = emulated::lane(), from = (lane & (width - 1)) + offset < width ? lane + offset : lane;
    return emulated::value_of_word<T>(emulated_shuffle("__shfl_down_sync", mask, emulated::word_of(value), from));
}
inline unsigned __ballot_sync(unsigned mask, int value) { return emulated_ballot("__ballot_sync", mask, value); }
inline int __any_sync(unsigned mask, int value) { return emulated_ballot("__any_sync", mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return emulated_ballot("__all_sync", mask, !value) == 0; }
inline void __syncwarp(unsigned mask = ~0u) { emulated_ballot("__syncwarp", mask, 0); }

inline void __syncthreads() { emulated_barrier("__syncthreads", emulated::VOTE_NONE, 0); }
inline int __syncthreads_or(int value) { return emulated_barrier("__syncthreads_or", emulated::VOTE_ANY, value); }
inline int __syncthreads_and(int value) { return emulated_barrier("__syncthreads_and", emulated::VOTE_ALL, value); }
inline int __syncthreads_count(int value) { return emulated_barrier("__syncthreads_count", emulated::VOTE_COUNT, value); }

inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { spin_wait(); }
inline long long clock64() { return emulated_clock(); }
inline long long clock() { return emulated_clock(); }
// As `nanoseconds` of kernels/ptx.cuh.
inline unsigned long long nanoseconds() { return (unsigned long long)emulated_clock(); }

#define EMULATED_ATOMIC(NAME, EXPRESSION)                                                               \
    template <typename T>                                                                               \
    inline T NAME(T *at, typename emulated::Same<T>::type value) {                                      \
        return emulated::update(at, [&](T old) -> T { return EXPRESSION; });                            \
    }                                                                                                   \
    template <typename T>                                                                               \
    inline T NAME##_system(T *at, typename emulated::Same<T>::type value) { return NAME(at, value); }   \
    template <typename T>                                                                               \
    inline T NAME##_block(T *at, typename emulated::Same<T>::type value) { return NAME(at, value); }
EMULATED_ATOMIC(atomicAdd, old + value)
EMULATED_ATOMIC(atomicSub, old - value)
EMULATED_ATOMIC(atomicMax, old < value ? value : old)
EMULATED_ATOMIC(atomicMin, value < old ? value : old)
EMULATED_ATOMIC(atomicExch, ((void)old, value))
EMULATED_ATOMIC(atomicOr, old | value)
EMULATED_ATOMIC(atomicAnd, old & value)
EMULATED_ATOMIC(atomicXor, old ^ value)
#undef EMULATED_ATOMIC
template <typename T>
inline T atomicCAS(T *at, typename emulated::Same<T>::type expected, typename emulated::Same<T>::type value) {
    __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

#define EMULATED_LOAD(NAME) \
    template <typename T>   \
    inline T NAME(const T *at) { return *at; }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldcs)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldlu)
EMULATED_LOAD(__ldcv)
#undef EMULATED_LOAD
#define EMULATED_STORE(NAME) \
    template <typename T>    \
    inline void NAME(T *at, typename emulated::Same<T>::type value) { *at = value; }
EMULATED_STORE(__stcs)
EMULATED_STORE(__stcg)
EMULATED_STORE(__stwb)
EMULATED_STORE(__stwt)
#undef EMULATED_STORE

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __float_as_uint(float x) { return emulated::value_of_word<unsigned>(emulated::word_of(x)); }
inline float __uint_as_float(unsigned x) { return emulated::value_of_word<float>(emulated::word_of(x)); }
inline int __float_as_int(float x) { return emulated::value_of_word<int>(emulated::word_of(x)); }
inline float __int_as_float(int x) { return emulated::value_of_word<float>(emulated::word_of(x)); }
inline long long __double_as_longlong(double x) { return emulated::value_of_word<long long>(emulated::word_of(x)); }
inline double __longlong_as_double(long long x) { return emulated::value_of_word<double>(emulated::word_of(x)); }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __cosf(float x) { return cosf(x); }
inline float __sinf(float x) { return sinf(x); }
