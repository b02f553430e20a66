// U(r) = epsilon (A (x^-16 - B) exp(c/(x - a)) + B exp(d/(x - b))), x = r/sigma, either term up to its end.
// Mirrors src/potential/dzugutov.rs.
#pragma once
#include "arithmetic/real.cuh"

template <typename R>
struct Dzugutov {
    typedef R Real;

    R inv_sigma2;
    // epsilon A and epsilon B.
    R first;
    R second;

    // exp(rate / (x - end)) before the end, zero beyond, and the square of 1 / (x - end).
    static INLINE void decay(R x, R end, R rate, R &value, R &square) {
        R gap = sub(x, end), least = R(-1.0 / 4096.0);
        gap = gap < least ? gap : least;
        R inv = inverse(gap);
        value = exponential(mul(rate, inv));
        square = mul(inv, inv);
    }

    INLINE void evaluate(R r2, R &force, R &energy) const {
        R x2 = mul(r2, inv_sigma2);
        R inv_x = inverse_sqrt(x2);
        R x = mul(x2, inv_x);
        R inv_x2 = mul(inv_x, inv_x);
        R inv_x4 = mul(inv_x2, inv_x2);
        R inv_x8 = mul(inv_x4, inv_x4);
        R power = mul(inv_x8, inv_x8);
        R decay_1, square_1, decay_2, square_2;
        decay(x, R(1.87), R(1.1), decay_1, square_1);
        decay(x, R(1.94), R(0.27), decay_2, square_2);
        R amplitude = mul(first, decay_1);
        R of_first = mul(amplitude, sub(power, R(1.28)));
        R of_second = mul(second, decay_2);
        R of_decays = fused(mul(of_first, R(1.1)), square_1, mul(mul(of_second, R(0.27)), square_2));
        R slope = fused(mul(mul(R(16), amplitude), power), inv_x, of_decays);
        force = mul(mul(slope, inv_x), inv_sigma2);
        energy = add(of_first, of_second);
    }
};
