// Words with which the same text is device code (NVRTC) and host code (any C++17 compiler, for the tests).
//
// Every floating-point operation of the physics is one of the functions below: on the device they are
// intrinsics that no compiler option contracts, reorders or approximates; on the host they are plain
// operators, compiled with -ffp-contract=off. Mirrors src/arithmetic/real.rs.
#pragma once

#if defined(__CUDACC__)
#define INLINE __device__ __forceinline__
// Of what comes rarely, and would make the code longer where it does not.
#define RARELY static __device__ __noinline__
#else
#include <cmath>
#include <cstring>
#define INLINE inline __attribute__((always_inline))
#define RARELY static inline
#endif

typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// Place of a field in a struct, as a constant; older NVRTC lack the builtin of other compilers.
#if defined(__CUDACC__)
#define OFFSET_OF(type, field) __INTADDR__(&((type *)0)->field)
#else
#define OFFSET_OF(type, field) __builtin_offsetof(type, field)
#endif

// Bits of a float and back; rounding to nearest everywhere.
#if defined(__CUDACC__)
INLINE u32 to_bits(float x) { return __float_as_uint(x); }
INLINE u64 to_bits(double x) { return (u64)__double_as_longlong(x); }
INLINE float float_from_bits(u32 bits) { return __uint_as_float(bits); }
INLINE double double_from_bits(u64 bits) { return __longlong_as_double((i64)bits); }

INLINE float add(float a, float b) { return __fadd_rn(a, b); }
INLINE float sub(float a, float b) { return __fsub_rn(a, b); }
INLINE float mul(float a, float b) { return __fmul_rn(a, b); }
INLINE float divide(float a, float b) { return __fdiv_rn(a, b); }
INLINE float square_root(float x) { return __fsqrt_rn(x); }
INLINE float fused(float x, float a, float b) { return __fmaf_rn(x, a, b); }
// a b, zero where that is less and one where it is more; one instruction.
INLINE float product_within_one(float a, float b) { return __saturatef(__fmul_rn(a, b)); }

INLINE double add(double a, double b) { return __dadd_rn(a, b); }
INLINE double sub(double a, double b) { return __dsub_rn(a, b); }
INLINE double mul(double a, double b) { return __dmul_rn(a, b); }
INLINE double divide(double a, double b) { return __ddiv_rn(a, b); }
INLINE double square_root(double x) { return __dsqrt_rn(x); }
INLINE double fused(double x, double a, double b) { return __fma_rn(x, a, b); }

INLINE float to_float(double x) { return __double2float_rn(x); }
INLINE double round_down(double x) { return floor(x); }
// Towards zero, for arguments that fit.
INLINE u32 truncate_to_u32(double x) { return __double2uint_rz(x); }
INLINE u64 truncate_to_u64(double x) { return __double2ull_rz(x); }
// To nearest, halves to even, for arguments that fit.
INLINE i64 nearest_i64(double x) { return __double2ll_rn(x); }
INLINE i64 nearest_i64(float x) { return __float2ll_rn(x); }
INLINE u64 multiply_high(u64 a, u64 b) { return __umul64hi(a, b); }
INLINE u32 multiply_high(u32 a, u32 b) { return __umulhi(a, b); }
INLINE u32 leading_zeros(u64 x) { return (u32)__clzll((i64)x); }
#else
INLINE u32 to_bits(float x) { u32 bits; std::memcpy(&bits, &x, 4); return bits; }
INLINE u64 to_bits(double x) { u64 bits; std::memcpy(&bits, &x, 8); return bits; }
INLINE float float_from_bits(u32 bits) { float x; std::memcpy(&x, &bits, 4); return x; }
INLINE double double_from_bits(u64 bits) { double x; std::memcpy(&x, &bits, 8); return x; }

INLINE float add(float a, float b) { return a + b; }
INLINE float sub(float a, float b) { return a - b; }
INLINE float mul(float a, float b) { return a * b; }
INLINE float divide(float a, float b) { return a / b; }
INLINE float square_root(float x) { return std::sqrt(x); }
INLINE float fused(float x, float a, float b) { return std::fma(x, a, b); }
INLINE float product_within_one(float a, float b) { return std::fmin(std::fmax(a * b, 0.0f), 1.0f); }

INLINE double add(double a, double b) { return a + b; }
INLINE double sub(double a, double b) { return a - b; }
INLINE double mul(double a, double b) { return a * b; }
INLINE double divide(double a, double b) { return a / b; }
INLINE double square_root(double x) { return std::sqrt(x); }
INLINE double fused(double x, double a, double b) { return std::fma(x, a, b); }

INLINE float to_float(double x) { return (float)x; }
INLINE double round_down(double x) { return std::floor(x); }
INLINE u32 truncate_to_u32(double x) { return (u32)x; }
INLINE u64 truncate_to_u64(double x) { return (u64)x; }
INLINE i64 nearest_i64(double x) { return (i64)std::nearbyint(x); }
INLINE i64 nearest_i64(float x) { return (i64)std::nearbyint(x); }
INLINE u64 multiply_high(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
INLINE u32 multiply_high(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
INLINE u32 leading_zeros(u64 x) { return x == 0 ? 64 : (u32)__builtin_clzll(x); }
#endif

INLINE float magnitude(float x) { return float_from_bits(to_bits(x) & 0x7FFFFFFFu); }
INLINE double magnitude(double x) { return double_from_bits(to_bits(x) & ~(1ull << 63)); }
// |v|, also of the most negative integer.
INLINE u64 magnitude(i64 v) { return v < 0 ? 0ull - (u64)v : (u64)v; }
INLINE bool is_finite(double x) { return (to_bits(x) >> 52 & 0x7FF) != 0x7FF; }
INLINE i64 wrapping_add(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
INLINE i64 wrapping_sub(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
INLINE i32 wrapping_sub(i32 a, i32 b) { return (i32)((u32)a - (u32)b); }
