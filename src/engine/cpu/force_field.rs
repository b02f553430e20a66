//! The sum of all terms of the potential energy, and the pass over the chunks that computes its forces.
use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::force_term::{ClosePair, Exchange, ForceTerm};
use super::forces::{EnergyAndVirial, Targets};
use super::gather::Sites;
use super::instruction_set::InstructionSet;
use super::kernels::{self, pair_kernels};
use super::state::State;
use crate::engine::pair_core::{Limits, core_distances};
use crate::engine::precision::Policy;
use crate::potential::PotentialPlan;

/// The terms of the potential energy. The pair potential of a plan is the only one so far.
pub struct ForceField<P: Policy> {
    terms: Vec<Box<dyn ForceTerm<P>>>,
    set: InstructionSet,
}

impl<P: Policy> ForceField<P> {
    pub fn new(policy: &P, potential: &PotentialPlan, set: InstructionSet) -> Self {
        let cores = core_distances(&Limits::of(policy), potential);
        ForceField { terms: vec![pair_kernels(policy, potential, set, &cores)], set }
    }

    /// Takes the constants of another box, with given cores of the pairs.
    pub fn set_box(&mut self, policy: &P, potential: &PotentialPlan, cores: &[f64]) {
        self.terms = vec![pair_kernels(policy, potential, self.set, cores)];
    }

    /// A pass over particles of a policy and dimension, with `kick` followed by `v += F dt/2m`.
    pub fn pass<'a>(&'a self, policy: &'a P, dimension: usize, kick: bool) -> ForcePass<'a, P> {
        ForcePass { force_field: self, policy, dimension, kick }
    }

    /// Forces of all particles in the chunks that are `wanted`; returns whether a pair was too close for its force to fit.
    pub fn compute(
        &self,
        state: &mut State<P>,
        kick: bool,
        wanted: &(dyn Fn(&Chunk<P>) -> bool + Sync),
    ) -> bool {
        let dimension = state.dimension();
        let (policy, chunks, sites) = state.split();
        self.pass(policy, dimension, kick).over(chunks, sites, wanted)
    }

    fn forces(&self, policy: &P, targets: &Targets<P>, out: &mut [Vec<P::Force>; 3]) -> bool {
        let Some((first, others)) = self.terms.split_first() else { return false };
        let mut too_close = first.forces(policy, targets, out);
        for term in others {
            let mut more: [Vec<P::Force>; 3] =
                std::array::from_fn(|axis| vec![P::Force::default(); out[axis].len()]);
            too_close |= term.forces(policy, targets, &mut more);
            for (sum, more) in out.iter_mut().flatten().zip(more.iter().flatten()) {
                *sum = P::add_forces(*sum, *more);
            }
        }
        too_close
    }

    /// Energy and virial of each target, with those of each pair whole.
    pub fn energies(&self, policy: &P, targets: &Targets<P>) -> Vec<EnergyAndVirial> {
        let all = self.terms.iter().map(|term| term.energies(policy, targets));
        let sum = |mut sums: Vec<EnergyAndVirial>, more: Vec<EnergyAndVirial>| {
            let numbers = sums.iter_mut().flatten().zip(more.iter().flatten());
            numbers.for_each(|(sum, more)| *sum += more);
            sums
        };
        all.reduce(sum).unwrap_or_default()
    }

    /// Change of the energy by an exchange ([`ForceTerm::change_by_exchange`]).
    pub fn change_by_exchange(&self, policy: &P, exchange: &Exchange<'_, P>) -> Option<i64> {
        self.terms.iter().map(|term| term.change_by_exchange(policy, exchange)).sum()
    }

    /// A pair whose force does not fit, or that is inside the inner maximum.
    pub fn find_too_close(&self, policy: &P, targets: &Targets<P>) -> Option<ClosePair> {
        self.terms.iter().find_map(|term| term.find_too_close(policy, targets))
    }
}

/// A pass over the chunks that sums the forces on their particles.
pub struct ForcePass<'a, P: Policy> {
    force_field: &'a ForceField<P>,
    policy: &'a P,
    dimension: usize,
    /// Followed by `v += F dt/2m`.
    kick: bool,
}

impl<P: Policy> ForcePass<'_, P> {
    /// Forces of all particles in the chunks that are `wanted`; returns whether a pair was too close for its force to fit.
    pub fn over(
        &self,
        chunks: &mut [Chunk<P>],
        sites: &Sites<P>,
        wanted: &(dyn Fn(&Chunk<P>) -> bool + Sync),
    ) -> bool {
        chunks
            .par_iter_mut()
            .enumerate()
            .filter(|(_, chunk)| wanted(chunk))
            .map(|(index, chunk)| {
                let targets = Targets {
                    first: index * CHUNK,
                    species: &chunk.species,
                    neighbors: &chunk.neighbors,
                    sites,
                };
                let too_close = self.force_field.forces(self.policy, &targets, &mut chunk.force);
                if self.kick {
                    kernels::half_kick(self.force_field.set, self.policy, chunk, self.dimension);
                }
                too_close
            })
            .reduce(|| false, |a, b| a | b)
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::CpuEngine;
    use super::*;
    use crate::engine::precision::in_precision;
    use crate::{config, initial};

    // Some sites of the lattice are empty: forces around them are not zero.
    const TEXT: &str = r#"
[system]
dimension = 3
density = 0.8
seed = 3
species = [{ name = "A", count = 450 }]
initial = { lattice = "fcc", temperature = 1.0 }

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
pairs = { AA = { epsilon = 1.0, sigma = 1.0 } }

[run]
engine = "cpu"
precision = "PRECISION"
timestep = 0.004

[[stage]]
name = "production"
steps = 1
"#;

    /// Twice a force is exact in all precisions, and so is the sum of two equal ones. Energies of particles are rounded to
    /// 2^-40 before they are summed: by half of that at most.
    #[test]
    fn two_equal_terms_give_twice_the_forces_and_energies_of_one() {
        for precision in ["single", "double-single", "double", "fixed-point"] {
            let plan = config::parse(&TEXT.replace("PRECISION", precision), "test").unwrap();
            let state = initial::create(&plan).unwrap();
            in_precision!(plan.run.precision, |P| {
                let mut engine = CpuEngine::<P>::new(&plan, &state).unwrap();
                let one = |engine: &mut CpuEngine<P>| {
                    assert!(!engine.force_field.compute(&mut engine.state, false, &|_| true));
                    let energies = engine.energy_and_virial().unwrap();
                    (engine.state.forces(), energies)
                };
                let (forces, energies) = one(&mut engine);
                let set = engine.processor.instruction_set();
                let policy = engine.state.policy();
                let cores = core_distances(&Limits::of(policy), &plan.potential);
                let more = pair_kernels(policy, &plan.potential, set, &cores);
                engine.force_field.terms.push(more);
                let (twice, double) = one(&mut engine);
                assert!(forces.iter().flatten().any(|force| force.abs() > 0.1), "{precision}");
                for (one, two) in forces.iter().flatten().zip(twice.iter().flatten()) {
                    assert_eq!(2.0 * one, *two, "{precision}");
                }
                let rounding = 450.0 * (2.0 + 1.0) * 0.5 * 2f64.powi(-40);
                for (one, two) in energies.iter().zip(double) {
                    assert!((2.0 * one - two).abs() <= rounding, "{precision}: {one}, {two}");
                }
                assert!(energies[0] < -100.0, "{precision}");
            });
        }
    }
}
