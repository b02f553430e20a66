//! Swap Monte Carlo: trials in which two particles exchange their diameters or their species, at fixed positions.
//!
//! Between two steps of molecular dynamics trials follow each other. Each takes two particles at random, and exchanges their
//! diameters with probability `min(1, exp(-dU/T))` (Metropolis), where `dU` is the change of the potential energy
//! (L. Berthier et al., J. Stat. Mech. 064004 (2019)). Where particles exchange species, those of a trial do so if theirs are one of the
//! given pairs. They exchange their ids with them: each id keeps its species. In the trials of a round particles are
//! known by the ids that they had before it, so that who takes part does not depend on what trials before have done. Energies of pairs are rounded to multiples of 2^-32 and their sums
//! are exact: `dU` does not depend on the order, and is minus that of the reverse trial. So any engine may take trials at
//! once that do not touch each other (`kernels/md/swaps.cuh`), and the outcome is that of one after the other.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arithmetic::elementary::exp_f64;
use crate::arithmetic::fixed_point::wide_round;
use crate::arithmetic::random::{Purpose, block, uniform_open};
use crate::integrator::ThermostatState;
use crate::plan::SpeciesPairs;

/// Units of energies in one.
const UNITS: f64 = (1u64 << 32) as f64;

/// Larger energies of pairs never occur in equilibrium: such a trial is rejected.
const LARGEST_ENERGY: f64 = (1u64 << 20) as f64;

/// Arguments of the exponential below this give no chance.
const LEAST_EXPONENT: f64 = -700.0;

/// The trials after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwapTrials {
    /// Of the random numbers.
    pub key: u64,
    pub step: u64,
    pub temperature: f64,
    pub count: u32,
    /// Of species that are exchanged; none where diameters are.
    pub pairs: SpeciesPairs,
}

/// Two particles, by id, and what decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub particles: [u32; 2],
    uniform: f64,
}

impl SwapTrials {
    /// A trial of a number of particles. These may be the same: then nothing changes.
    pub fn trial(&self, number: u32, particles: u32) -> Trial {
        let words = block(self.key, number, self.step, Purpose::Swap, 0);
        let one_of = |word: u32| ((u64::from(word) * u64::from(particles)) >> 32) as u32;
        Trial {
            particles: [one_of(words[0]), one_of(words[1])],
            uniform: uniform_open(words[2], words[3]),
        }
    }

    /// Whether particles of these species may exchange them, or their diameters.
    pub fn may_exchange(&self, species: [u8; 2]) -> bool {
        self.pairs.is_empty() || self.pairs.holds(species[0], species[1])
    }

    /// Metropolis' rule, for a change of the energy in its units.
    pub fn accepts(&self, trial: &Trial, change: i64) -> bool {
        let exponent = -energy(change) / self.temperature;
        change <= 0 || (exponent > LEAST_EXPONENT && trial.uniform < exp_f64(exponent))
    }
}

/// What the trials after a step have done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapRound {
    /// Trials of particles that may exchange what they have, and how many were accepted.
    pub trials: u32,
    pub accepted: u64,
    /// Change of the potential energy, in its units.
    pub change: i64,
    /// Ids of particles that have another diameter, or another id and species: each with that of the particle that had them before.
    pub exchanged: Vec<[u32; 2]>,
}

impl SwapRound {
    /// Diameters by id after the trials, of those before.
    pub fn diameters_after<T: Copy>(&self, before: &[T]) -> Arc<[T]> {
        let mut after = before.to_vec();
        for &[id, from] in &self.exchanged {
            after[id as usize] = before[from as usize];
        }
        after.into()
    }

    /// By the id that a particle had before the trials, the one that it has after them, for particles of species.
    pub fn ids_after(&self, particles: usize) -> Vec<u32> {
        let mut after: Vec<u32> = (0..particles as u32).collect();
        for &[id, from] in &self.exchanged {
            after[id as usize] = from;
        }
        after
    }

    /// Counts the trials; the energy that they have changed is heat.
    pub fn count_in(&self, memory: &mut ThermostatState) {
        memory.swap_trials += u64::from(self.trials);
        memory.swaps += self.accepted;
        memory.heat += energy(self.change);
    }
}

/// The energy of a pair in units of 2^-32; `None` if it is too large.
#[inline(always)]
pub fn units_of(energy: f64) -> Option<i64> {
    if energy.abs() < LARGEST_ENERGY { wide_round(energy * UNITS) } else { None }
}

/// A sum of such units as an energy.
pub fn energy(units: i64) -> f64 {
    units as f64 / UNITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_are_chosen_evenly_and_independently() {
        let trials = SwapTrials {
            key: 3,
            step: 50,
            temperature: 0.5,
            count: 0,
            pairs: SpeciesPairs::default(),
        };
        let mut counts = [[0u32; 5]; 5];
        for number in 0..25_000 {
            let [a, b] = trials.trial(number, 5).particles;
            counts[a as usize][b as usize] += 1;
        }
        // 1,000 each, with a standard deviation of 31.
        assert!(counts.iter().flatten().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    }

    #[test]
    fn changes_are_accepted_as_often_as_metropolis_says() {
        let trials = SwapTrials {
            key: 3,
            step: 50,
            temperature: 0.5,
            count: 0,
            pairs: SpeciesPairs::default(),
        };
        let change = units_of(0.5).unwrap();
        let accepted =
            (0..10_000).filter(|&number| trials.accepts(&trials.trial(number, 5), change));
        // exp(-1), with a standard deviation of 48.
        let accepted = accepted.count() as f64;
        assert!((accepted - 3678.8).abs() < 240.0, "{accepted}");
        let trial = trials.trial(0, 5);
        assert!(trials.accepts(&trial, 0) && trials.accepts(&trial, -change));
        assert!(!trials.accepts(&trial, i64::MAX));
    }

    #[test]
    fn only_the_given_pairs_of_species_are_exchanged() {
        let mut pairs = SpeciesPairs::default();
        pairs.insert(1, 2);
        pairs.insert(7, 0);
        let trials = SwapTrials { key: 3, step: 50, temperature: 0.5, count: 0, pairs };
        let given = [[0, 7], [1, 2], [2, 1], [7, 0]];
        for a in 0..20 {
            for b in 0..20 {
                assert_eq!(trials.may_exchange([a, b]), given.contains(&[a, b]), "{a} {b}");
            }
        }
    }
}
