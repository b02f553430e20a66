//! Swap Monte Carlo.
use serde::{Deserialize, Serialize};

/// Swap Monte Carlo between steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapPlan {
    /// Steps between two rounds of trials.
    pub every: u64,
    /// Of each round.
    pub trials_per_particle: f64,
    /// What particles exchange: their species, where some pairs are given, or else their diameters.
    #[serde(default, skip_serializing_if = "SpeciesPairs::is_empty")]
    pub pairs: SpeciesPairs,
}

impl SwapPlan {
    /// Whether particles exchange their species.
    pub fn is_of_species(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Trials of a round.
    pub fn trials(&self, particles: usize) -> u32 {
        (self.trials_per_particle * particles as f64).round().max(1.0) as u32
    }
}

/// Pairs of species, of the first eight: bit `8 a + b` for `a` and `b`, in both orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpeciesPairs(u64);

impl SpeciesPairs {
    /// Species beyond these cannot be in a pair.
    pub const MOST_SPECIES: usize = 8;

    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// # Panics
    /// If a species is beyond the first eight.
    pub fn insert(&mut self, a: usize, b: usize) {
        assert!(a.max(b) < Self::MOST_SPECIES, "species {a} and {b}");
        self.0 |= 1 << (8 * a + b) | 1 << (8 * b + a);
    }

    /// Species beyond the first eight are in no pair.
    pub fn holds(&self, a: u8, b: u8) -> bool {
        usize::from(a.max(b)) < Self::MOST_SPECIES && self.0 >> (8 * a + b) & 1 == 1
    }

    pub fn bits(&self) -> u64 {
        self.0
    }
}
