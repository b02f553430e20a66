//! The table of kernels: one for each precision, potential, truncation and instruction set.
use super::bodies::{self, LangevinHalfStep};
use super::chunk::Chunk;
use super::forces::{EnergyAndVirial, PairEntry, Targets, energies, find_too_close, forces};
use super::gather::STRIDE;
use super::neighbors::{self, ListOf, NeighborList, SortedParticles};
use crate::arithmetic::Real;
use crate::engine::cells::CellGrid;
use crate::engine::precision::{ExactSum, Policy};
use crate::potential::{
    Evaluator, FormVisitor, PairForm, PairParameters, PairUnits, PotentialPlan, Truncated,
    TruncationKind, evaluate_exactly,
};

/// Instructions that the loops are compiled for; the results are the same bits in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    Avx512,
    Avx2,
    /// Whatever the build is for. On x86-64 without FMA it is slow: fused operations are emulated.
    Baseline,
}

impl InstructionSet {
    /// The widest of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return InstructionSet::Avx512;
            }
            if avx2 {
                return InstructionSet::Avx2;
            }
        }
        InstructionSet::Baseline
    }

    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Avx512 => "AVX-512",
            InstructionSet::Avx2 => "AVX2 and FMA",
            InstructionSet::Baseline => "baseline",
        }
    }
}

/// Two particles that are too close.
pub struct ClosePair {
    /// In memory.
    pub places: [usize; 2],
    pub distance: f64,
    /// Of the potential of the pair, if they are inside it.
    pub inner_maximum: Option<f64>,
}

/// The pair loops of one potential and truncation.
pub trait PairKernels<P: Policy>: Send + Sync {
    /// Forces on the targets; returns whether a pair was too close for its force to fit.
    fn forces(&self, policy: &P, targets: &Targets<P>, out: &mut [Vec<P::Force>; 3]) -> bool;
    /// Energy and virial of each target's pairs.
    fn energies(&self, policy: &P, targets: &Targets<P>) -> Vec<EnergyAndVirial>;
    /// A pair whose force does not fit, or that is inside the inner maximum.
    fn find_too_close(&self, policy: &P, targets: &Targets<P>) -> Option<ClosePair>;
}

/// Calls `$body` compiled for the instruction set `$set`.
macro_rules! dispatch {
    ($set:expr, $name:ident[$($generic:ty),*; $($constant:expr),*]($($argument:expr),*)) => {
        match $set {
            // SAFETY: the set was detected on this processor.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { avx512::$name::<$($generic,)* $({ $constant }),*>($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { avx2::$name::<$($generic,)* $({ $constant }),*>($($argument),*) },
            _ => baseline::$name::<$($generic,)* $({ $constant }),*>($($argument),*),
        }
    };
}

/// The loops once more, compiled for one instruction set.
macro_rules! compiled_for {
    ($module:ident, $set:expr, $(#[$attribute:meta])?) => {
        mod $module {
            use super::*;

            $(#[$attribute])?
            pub fn forces<P: Policy, V: Evaluator<P::Real>, const KIND: usize, const LANES: usize>(
                policy: &P,
                table: &[PairEntry<P::Real, V>],
                species_count: usize,
                targets: &Targets<P>,
                out: &mut [Vec<P::Force>; 3],
            ) -> bool {
                super::forces::<P, V, KIND, { $set as usize }, LANES>(policy, table, species_count, targets, out)
            }

            $(#[$attribute])?
            pub fn energies<P: Policy, V: Evaluator<P::Real>, const KIND: usize, const LANES: usize>(
                policy: &P,
                table: &[PairEntry<P::Real, V>],
                species_count: usize,
                targets: &Targets<P>,
                out: &mut Vec<EnergyAndVirial>,
            ) {
                super::energies::<P, V, KIND, { $set as usize }, LANES>(policy, table, species_count, targets, out)
            }

            $(#[$attribute])?
            pub fn kick_and_drift<P: Policy>(
                policy: &P,
                chunk: &mut Chunk<P>,
                sites: &mut [[P::Site; STRIDE]],
                dimension: usize,
                limit2: P::Real,
            ) -> (bool, bool) {
                bodies::kick_and_drift(policy, chunk, sites, dimension, limit2)
            }

            $(#[$attribute])?
            pub fn half_kick<P: Policy>(policy: &P, chunk: &mut Chunk<P>, dimension: usize) {
                bodies::half_kick(policy, chunk, dimension)
            }

            $(#[$attribute])?
            pub fn langevin<P: Policy>(
                policy: &P,
                chunk: &mut Chunk<P>,
                step: &LangevinHalfStep,
                dimension: usize,
            ) -> Result<ExactSum, u32> {
                bodies::langevin(policy, chunk, step, dimension)
            }

            $(#[$attribute])?
            pub fn build<P: Policy>(
                list: &mut NeighborList,
                of: &ListOf<P>,
                policy: &P,
                grid: &CellGrid,
                sorted: &SortedParticles<P>,
                reach2: &[Vec<P::Real>],
            ) {
                neighbors::build::<P, { $set as usize }>(list, of, policy, grid, sorted, reach2)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled_for!(avx512, InstructionSet::Avx512, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]);
#[cfg(target_arch = "x86_64")]
compiled_for!(avx2, InstructionSet::Avx2, #[target_feature(enable = "avx2,fma")]);
compiled_for!(baseline, InstructionSet::Baseline,);

/// Builds the lists of a chunk with the loops of an instruction set.
pub fn build_list<P: Policy>(
    set: InstructionSet,
    list: &mut NeighborList,
    of: &ListOf<P>,
    policy: &P,
    grid: &CellGrid,
    sorted: &SortedParticles<P>,
    reach2: &[Vec<P::Real>],
) {
    dispatch!(set, build[P;](list, of, policy, grid, sorted, reach2));
}

/// [`bodies::kick_and_drift`] with the loops of an instruction set.
pub fn kick_and_drift<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    sites: &mut [[P::Site; STRIDE]],
    dimension: usize,
    limit2: P::Real,
) -> (bool, bool) {
    dispatch!(set, kick_and_drift[P;](policy, chunk, sites, dimension, limit2))
}

/// [`bodies::half_kick`] with the loops of an instruction set.
pub fn half_kick<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    dimension: usize,
) {
    dispatch!(set, half_kick[P;](policy, chunk, dimension));
}

/// [`bodies::langevin`] with the loops of an instruction set.
pub fn langevin<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    step: &LangevinHalfStep,
    dimension: usize,
) -> Result<ExactSum, u32> {
    dispatch!(set, langevin[P;](policy, chunk, step, dimension))
}

struct Kernels<P: Policy, V, const KIND: usize> {
    set: InstructionSet,
    species_count: usize,
    table: Vec<PairEntry<P::Real, V>>,
    /// [`PairForm::inner_maximum`] of each entry.
    inner_maxima: Vec<Option<f64>>,
}

/// 64-bit lanes are half as many.
const fn is_wide<R>() -> bool {
    size_of::<R>() == 8
}

impl<P: Policy, V: Evaluator<P::Real>, const KIND: usize> PairKernels<P> for Kernels<P, V, KIND> {
    fn forces(&self, policy: &P, targets: &Targets<P>, out: &mut [Vec<P::Force>; 3]) -> bool {
        if is_wide::<P::Real>() {
            dispatch!(self.set, forces[P, V; KIND, 8](policy, &self.table, self.species_count, targets, out))
        } else {
            dispatch!(self.set, forces[P, V; KIND, 16](policy, &self.table, self.species_count, targets, out))
        }
    }

    fn energies(&self, policy: &P, targets: &Targets<P>) -> Vec<EnergyAndVirial> {
        let mut out = Vec::with_capacity(targets.species.len());
        if is_wide::<P::Real>() {
            dispatch!(self.set, energies[P, V; KIND, 8](policy, &self.table, self.species_count, targets, &mut out));
        } else {
            dispatch!(self.set, energies[P, V; KIND, 16](policy, &self.table, self.species_count, targets, &mut out));
        }
        out
    }

    fn find_too_close(&self, policy: &P, targets: &Targets<P>) -> Option<ClosePair> {
        let found = find_too_close::<P, V, KIND>(policy, &self.table, self.species_count, targets);
        found.map(|(places, distance, entry)| {
            let inner_maximum = self.inner_maxima[entry].filter(|&maximum| distance < maximum);
            ClosePair { places, distance, inner_maximum }
        })
    }
}

/// The kernels of a plan's potential.
pub fn pair_kernels<P: Policy>(
    policy: &P,
    potential: &PotentialPlan,
    set: InstructionSet,
) -> Box<dyn PairKernels<P>> {
    potential.form.visit(KernelsOf { policy, potential, set })
}

struct KernelsOf<'a, P> {
    policy: &'a P,
    potential: &'a PotentialPlan,
    set: InstructionSet,
}

impl<P: Policy> FormVisitor for KernelsOf<'_, P> {
    type Output = Box<dyn PairKernels<P>>;

    fn visit<F: PairForm>(self, form: F) -> Self::Output {
        match self.potential.truncation.kind() {
            TruncationKind::Shifted => {
                Box::new(self.kernels::<F, { TruncationKind::Shifted as usize }>(&form))
            }
            TruncationKind::ForceShifted => {
                Box::new(self.kernels::<F, { TruncationKind::ForceShifted as usize }>(&form))
            }
            TruncationKind::Smooth => {
                Box::new(self.kernels::<F, { TruncationKind::Smooth as usize }>(&form))
            }
        }
    }
}

impl<P: Policy> KernelsOf<'_, P> {
    fn kernels<F: PairForm, const KIND: usize>(
        &self,
        form: &F,
    ) -> Kernels<P, F::Evaluator<P::Real>, KIND> {
        let KernelsOf { policy, potential, set } = *self;
        let units = policy.pair_units();
        let entry = |pair: &PairParameters| PairEntry {
            interaction: Truncated::new(form, pair, &potential.truncation, units),
            core2: core2(policy, potential, core_distance(policy, potential, pair)),
        };
        let pairs = || potential.pairs.iter().flatten();
        Kernels {
            set,
            species_count: potential.pairs.len(),
            table: pairs().map(entry).collect(),
            inner_maxima: pairs().map(|pair| form.inner_maximum(pair)).collect(),
        }
    }
}

/// The square of [`core_distance`], in the units of the pair loop; large enough to hold two particles at the same place
/// where there is a core at all.
pub(in crate::engine) fn core2<P: Policy>(
    policy: &P,
    potential: &PotentialPlan,
    core_distance: f64,
) -> P::Real {
    let units = PairUnits::of::<P::Real>(potential.truncation.kind(), policy.pair_units());
    if core_distance == 0.0 {
        return P::Real::ZERO;
    }
    let core2 = (core_distance / units.length).powi(2);
    P::Real::from_f64(core2.max(P::Real::COINCIDENT2.to_f64()))
}

/// Largest distance at which a pair's force or energy does not fit into the policy's sums, or the potential has turned
/// over ([`PairForm::inner_maximum`]); zero if there is none, which takes a potential that is finite at zero.
///
/// Cores are intervals that begin at zero: they are looked for on a coarse grid, and their edge on a fine one, or, where
/// it lies below, by bisection over the orders of magnitude.
pub(in crate::engine) fn core_distance<P: Policy>(
    policy: &P,
    potential: &PotentialPlan,
    pair: &PairParameters,
) -> f64 {
    // Of a pair of no energy: where its terms overflow, so that nothing is made of them.
    let pair = &pair.with_some_energy();
    let inner_maximum = potential.form.inner_maximum(pair).unwrap_or(0.0);
    inner_maximum.max(unrepresentable_within(policy, potential, pair))
}

fn unrepresentable_within<P: Policy>(
    policy: &P,
    potential: &PotentialPlan,
    pair: &PairParameters,
) -> f64 {
    const STEPS: u32 = 20_000;
    const COARSE: u32 = 100;
    let (force_limit, energy_limit) = (policy.largest_pair_force(), policy.largest_pair_energy());
    let distance = |step: u32| pair.cutoff * f64::from(step) / f64::from(STEPS);
    let fits_at = |r: f64| {
        let (force_over_r, energy) =
            evaluate_exactly(potential.form, &potential.truncation, pair, r);
        // The virial of a pair is summed in the units of energy.
        let virial = force_over_r * r * r;
        (force_over_r * r).abs() < force_limit
            && energy.abs() < energy_limit
            && virial.abs() < energy_limit
    };
    let fits = |step: u32| fits_at(distance(step));
    let inside = (1..STEPS / COARSE).rev().map(|step| step * COARSE).find(|&step| !fits(step));
    let lowest = inside.unwrap_or(1);
    let edge = (lowest..lowest + COARSE).rev().find(|&step| !fits(step));
    if let Some(step) = edge {
        return distance(step);
    }
    if fits_at(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (1e-100, distance(1));
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        *(if fits_at(middle) { &mut high } else { &mut low }) = middle;
    }
    low
}
