// What this run's kernels are compiled for; the macros are given by the engine.
//
//   POLICY       FixedPoint, DoubleSingles, Double or Single
//   EVALUATOR_HEADER   file of the potential, such as "potential/lennard_jones.cuh"
//   EVALUATOR    such as LennardJones<float>, over the arithmetic of the policy
//   TRUNCATION   one of those of shared/truncations.cuh
//   DIMENSION    2 or 3
//   SPECIES_COUNT
//   EQUAL_MASSES 1 if all species have the same
//   CUBIC        1 if all edges of the box are equal
//   COMMON_CONSTANTS   1 if all pairs of species have those of `Truncated::set_common`
//   DIAMETERS    1 if every particle has one
//   SATURATING   1 if smoothing in 32 bits needs no comparison with the cutoff (`Truncated::ENDS_BY_ITSELF`)
#pragma once
#include "arithmetic/exact_sum.cuh"
#include "arithmetic/random.cuh"
#include EVALUATOR_HEADER
#include "potential/diameters.cuh"
#include "potential/truncation.cuh"
#include "precision/double.cuh"
#include "precision/double_single.cuh"
#include "precision/fixed_point.cuh"
#include "precision/single.cuh"

typedef POLICY Policy;
typedef Policy::Constants PolicyConstants;
typedef Policy::Coordinate Coordinate;
typedef Policy::Velocity Velocity;
typedef Policy::Force Force;
typedef Policy::Site Site;
typedef Policy::Real Real;
typedef Policy::Sum Sum;
typedef EVALUATOR Evaluator;
typedef PairEntry<Evaluator, TRUNCATION> Pair;
