// Trials to change the volume of one system, which the GPU decides by itself: as `Decision` in src/engine/barostat.rs.
#pragma once
#include "md/sums.cuh"

#include "shared/measure.cuh"

// What a sum of `measure_pairs` amounts to, which counts every pair twice.
INLINE double of_pairs_once(const SplitSum &sum) { return mul(0.5, value_of(sum)); }

// Change of lambda by the drift back, of the sums in the proposed box.
INLINE double drift_back(const VolumeDecision &rule, const SplitSum *after) {
    double along[3];
    for (int axis = 0; axis < 3; ++axis) along[axis] = of_pairs_once(after[1 + axis]);
    double virial = rule.axis < 3 ? along[rule.axis] : (along[0] + along[1] + along[2]) / (double)rule.dimension;
    double pressure = (rule.ideal + virial) / rule.volume;
    double missing = rule.pressure - pressure - rule.correction;
    double change = -rule.rate * missing * rule.interval;
    return change < -rule.most ? -rule.most : change > rule.most ? rule.most : change;
}

// Whether the trial is accepted, of the sums in the proposed box. One thread comes here.
INLINE bool accepts(const VolumeDecision &rule, const SplitSum *after) {
    double back = rule.back - drift_back(rule, after);
    double of_proposals = (rule.there2 - back * back) / rule.width2;
    double enthalpy = of_pairs_once(after[0]) - rule.energy + rule.work;
    double exponent = of_proposals + rule.of_places - enthalpy / rule.temperature;
    return exponent >= 0.0 || (exponent > -700.0 && rule.uniform < exp_f64(exponent));
}

// Copies words, by the threads of one block.
INLINE void copy_words(const WordsToCopy &words) {
    const volatile u32 *from = words.from;
    for (u32 word = threadIdx.x; word < words.count; word += blockDim.x) words.to[word] = from[word];
}
