// Whole-system sums that do not depend on the order of their terms. Mirrors `ExactSum` in
// src/engine/precision/mod.rs: terms are integers in units of 2^-40, the sum has 128 bits.
#pragma once
#include "arithmetic/fixed_point.cuh"

// A term in units of 2^-40; does not fit from 2^63 units on.
INLINE i64 exact_term(double term, bool &fits) { return wide_round(mul(term, 1099511627776.0), fits); }

// A signed 128-bit sum, two's complement.
struct ExactSum {
    u64 lo;
    i64 hi;
};

INLINE ExactSum exact_sum_of(i64 term) { return ExactSum{(u64)term, term < 0 ? -1ll : 0ll}; }

INLINE void merge(ExactSum &sum, ExactSum other) {
    u64 lo = sum.lo + other.lo;
    sum.hi = wrapping_add(wrapping_add(sum.hi, other.hi), lo < other.lo ? 1 : 0);
    sum.lo = lo;
}
