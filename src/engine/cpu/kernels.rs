//! The table of kernels: one for each precision, potential, truncation and instruction set.
use super::bodies::{self, Langevin, Parts};
use super::called::ByAddress;
use super::chunk::Chunk;
use super::force_term::{ClosePair, Exchange, ForceTerm};
use super::forces::{
    EnergyAndVirial, PairEntry, PairTable, Targets, change_by_exchange, energies, find_too_close,
    forces,
};
use super::gather::STRIDE;
use super::instruction_set::InstructionSet;
use super::neighbors::{self, ListOf, NeighborList, Reach, SortedParticles};
use super::tilted::{self, TiltedDrift};
use crate::engine::cells::CellGrid;
use crate::engine::pair_core::core2;
use crate::engine::precision::{ExactSum, Policy};
use crate::potential::{
    Evaluator, FormVisitor, Mixing, PairForm, PairParameters, PotentialPlan, Truncated,
    TruncationKind,
};

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

/// The same without one for AVX-512: processors that have it have AVX2.
macro_rules! dispatch_up_to_avx2 {
    ($set:expr, $name:ident[$($generic:ty),*; $($constant:expr),*]($($argument:expr),*)) => {
        match $set {
            // SAFETY: the set, or a wider one, was detected on this processor.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 | InstructionSet::Avx2 => unsafe {
                avx2::$name::<$($generic,)* $({ $constant }),*>($($argument),*)
            },
            _ => baseline::$name::<$($generic,)* $({ $constant }),*>($($argument),*),
        }
    };
}

/// The loops once more, compiled for one instruction set.
macro_rules! compiled_for {
    ($module:ident, $set:expr, $(#[$attribute:meta])?) => {
        // There is no use of all loops of all sets.
        #[allow(dead_code)]
        mod $module {
            use super::*;

            $(#[$attribute])?
            pub fn forces<
                P: Policy,
                V: Evaluator<P::Real>,
                const KIND: usize,
                const LANES: usize,
                const TILTED: bool,
            >(
                policy: &P,
                table: &PairTable<P::Real, V>,
                targets: &Targets<P>,
                out: &mut [Vec<P::Force>; 3],
            ) -> bool {
                super::forces::<P, V, KIND, { $set as usize }, LANES, TILTED>(policy, table, targets, out)
            }

            $(#[$attribute])?
            pub fn energies<P: Policy, V: Evaluator<P::Real>, const KIND: usize, const LANES: usize>(
                policy: &P,
                table: &PairTable<P::Real, V>,
                targets: &Targets<P>,
                out: &mut Vec<EnergyAndVirial>,
            ) {
                super::energies::<P, V, KIND, { $set as usize }, LANES>(policy, table, targets, out)
            }

            $(#[$attribute])?
            pub fn drift<P: Policy>(
                policy: &P,
                chunk: &mut Chunk<P>,
                parts: Parts,
                sites: &mut [[P::Site; STRIDE]],
                dimension: usize,
                limit2: P::Real,
            ) -> (bool, bool) {
                bodies::drift(policy, chunk, parts, sites, dimension, limit2)
            }

            $(#[$attribute])?
            pub fn half_drift<P: Policy>(policy: &P, chunk: &mut Chunk<P>, dimension: usize) {
                bodies::half_drift(policy, chunk, dimension)
            }

            $(#[$attribute])?
            pub fn half_kick<P: Policy>(policy: &P, chunk: &mut Chunk<P>, dimension: usize) {
                bodies::half_kick(policy, chunk, dimension)
            }

            $(#[$attribute])?
            pub fn scale_and_kick<P: Policy>(
                policy: &P,
                chunk: &mut Chunk<P>,
                factor: f64,
                masses: &[f64],
                dimension: usize,
            ) -> Result<ExactSum, u32> {
                bodies::scale_and_kick(policy, chunk, factor, masses, dimension)
            }

            $(#[$attribute])?
            pub fn langevin<P: Policy>(
                policy: &P,
                chunk: &mut Chunk<P>,
                step: &Langevin,
                dimension: usize,
            ) -> Result<ExactSum, u32> {
                bodies::langevin(policy, chunk, step, dimension)
            }

            $(#[$attribute])?
            pub fn drift_in_tilted_box<P: Policy>(
                policy: &P,
                chunk: &mut Chunk<P>,
                drift: &TiltedDrift,
                sites: &mut [[P::Site; STRIDE]],
                limit2: P::Real,
            ) -> (bool, bool) {
                tilted::drift(policy, chunk, drift, sites, limit2)
            }

            $(#[$attribute])?
            pub fn build<P: Policy, const TILTED: bool>(
                list: &mut NeighborList,
                of: &ListOf<P>,
                policy: &P,
                grid: &CellGrid,
                sorted: &SortedParticles<P>,
                reach: &Reach<P::Real>,
            ) {
                neighbors::build::<P, { $set as usize }, TILTED>(list, of, policy, grid, sorted, reach)
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
    reach: &Reach<P::Real>,
) {
    if policy.slope().tilt == 0.0 {
        dispatch!(set, build[P; false](list, of, policy, grid, sorted, reach));
    } else {
        dispatch!(set, build[P; true](list, of, policy, grid, sorted, reach));
    }
}

/// [`tilted::drift`] with the loops of an instruction set.
pub fn drift_in_tilted_box<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    drift: &TiltedDrift,
    sites: &mut [[P::Site; STRIDE]],
    limit2: P::Real,
) -> (bool, bool) {
    dispatch_up_to_avx2!(set, drift_in_tilted_box[P;](policy, chunk, drift, sites, limit2))
}

/// [`bodies::drift`] with the loops of an instruction set.
pub fn drift<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    parts: Parts,
    sites: &mut [[P::Site; STRIDE]],
    dimension: usize,
    limit2: P::Real,
) -> (bool, bool) {
    dispatch!(set, drift[P;](policy, chunk, parts, sites, dimension, limit2))
}

/// [`bodies::half_drift`] with the loops of an instruction set.
pub fn half_drift<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    dimension: usize,
) {
    dispatch!(set, half_drift[P;](policy, chunk, dimension));
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

/// [`bodies::scale_and_kick`] with the loops of an instruction set.
pub fn scale_and_kick<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    factor: f64,
    masses: &[f64],
    dimension: usize,
) -> Result<ExactSum, u32> {
    dispatch!(set, scale_and_kick[P;](policy, chunk, factor, masses, dimension))
}

/// [`bodies::langevin`] with the loops of an instruction set.
pub fn langevin<P: Policy>(
    set: InstructionSet,
    policy: &P,
    chunk: &mut Chunk<P>,
    step: &Langevin,
    dimension: usize,
) -> Result<ExactSum, u32> {
    dispatch!(set, langevin[P;](policy, chunk, step, dimension))
}

struct Kernels<P: Policy, V, const KIND: usize> {
    set: InstructionSet,
    table: PairTable<P::Real, V>,
    /// [`PairForm::inner_maximum`] of each entry.
    inner_maxima: Vec<Option<f64>>,
}

/// 64-bit lanes are half as many.
const fn is_wide<R>() -> bool {
    size_of::<R>() == 8
}

impl<P: Policy, V: Evaluator<P::Real>, const KIND: usize> ForceTerm<P> for Kernels<P, V, KIND> {
    fn forces(&self, policy: &P, targets: &Targets<P>, out: &mut [Vec<P::Force>; 3]) -> bool {
        let is_tilted = policy.slope().tilt != 0.0;
        match (is_wide::<P::Real>(), is_tilted) {
            (true, false) => {
                dispatch!(self.set, forces[P, V; KIND, 8, false](policy, &self.table, targets, out))
            }
            (true, true) => {
                dispatch!(self.set, forces[P, V; KIND, 8, true](policy, &self.table, targets, out))
            }
            (false, false) => {
                dispatch!(self.set, forces[P, V; KIND, 16, false](policy, &self.table, targets, out))
            }
            (false, true) => {
                dispatch!(self.set, forces[P, V; KIND, 16, true](policy, &self.table, targets, out))
            }
        }
    }

    fn energies(&self, policy: &P, targets: &Targets<P>) -> Vec<EnergyAndVirial> {
        let mut out = Vec::with_capacity(targets.species.len());
        // Rarely wanted: there is no loop for the widest set, which would have the same bits.
        if is_wide::<P::Real>() {
            dispatch_up_to_avx2!(self.set, energies[P, V; KIND, 8](policy, &self.table, targets, &mut out));
        } else {
            dispatch_up_to_avx2!(self.set, energies[P, V; KIND, 16](policy, &self.table, targets, &mut out));
        }
        out
    }

    fn change_by_exchange(&self, policy: &P, exchange: &Exchange<'_, P>) -> Option<i64> {
        change_by_exchange::<P, V, KIND>(policy, &self.table, exchange)
    }

    fn find_too_close(&self, policy: &P, targets: &Targets<P>) -> Option<ClosePair> {
        let found = find_too_close::<P, V, KIND>(policy, &self.table, targets);
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
    cores: &[f64],
) -> Box<dyn ForceTerm<P>> {
    potential.form.visit(KernelsOf { policy, potential, set, cores })
}

struct KernelsOf<'a, P> {
    policy: &'a P,
    potential: &'a PotentialPlan,
    set: InstructionSet,
    /// Of each ordered pair of species.
    cores: &'a [f64],
}

impl<P: Policy> FormVisitor for KernelsOf<'_, P> {
    type Output = Box<dyn ForceTerm<P>>;

    fn visit<F: PairForm>(self, form: F) -> Self::Output {
        if const { F::HAS_ITS_OWN_LOOPS } {
            self.of(form)
        } else {
            self.of(ByAddress { form, set: self.set })
        }
    }
}

impl<P: Policy> KernelsOf<'_, P> {
    /// One for each truncation.
    fn of<F: PairForm>(&self, form: F) -> Box<dyn ForceTerm<P>> {
        match self.potential.truncation.kind() {
            TruncationKind::Shifted => {
                Box::new(self.kernels::<F, { TruncationKind::Shifted as usize }>(&form))
            }
            TruncationKind::ForceShifted => {
                Box::new(self.kernels::<F, { TruncationKind::ForceShifted as usize }>(&form))
            }
            TruncationKind::EvenQuartic => {
                Box::new(self.kernels::<F, { TruncationKind::EvenQuartic as usize }>(&form))
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
        let KernelsOf { policy, potential, set, cores } = *self;
        let units = policy.pair_units();
        let entry = |(pair, &core): (&PairParameters, &f64)| PairEntry {
            interaction: Truncated::new(form, pair, &potential.truncation, units),
            core2: core2(policy, potential, core),
        };
        let pairs = || potential.pairs.iter().flatten();
        Kernels {
            set,
            table: PairTable {
                species_count: potential.pairs.len(),
                entries: pairs().zip(cores).map(entry).collect(),
                mixing: potential.diameters.as_ref().map(Mixing::new),
            },
            inner_maxima: pairs().map(|pair| form.inner_maximum(pair)).collect(),
        }
    }
}
