//! A part of the potential energy.
use super::forces::{EnergyAndVirial, Targets};
use crate::engine::precision::Policy;

/// Two particles that are too close.
pub struct ClosePair {
    /// In memory.
    pub places: [usize; 2],
    pub distance: f64,
    /// Of the potential of the pair, if they are inside it.
    pub inner_maximum: Option<f64>,
}

/// A part of the potential energy, and the forces that belong to it.
pub trait ForceTerm<P: Policy>: Send + Sync {
    /// Writes its forces on the targets; returns whether a pair was too close for its force to fit.
    fn forces(&self, policy: &P, targets: &Targets<P>, out: &mut [Vec<P::Force>; 3]) -> bool;

    /// Energy and virial of each target, with those of each pair whole.
    fn energies(&self, policy: &P, targets: &Targets<P>) -> Vec<EnergyAndVirial>;

    /// A pair whose force does not fit, or that is inside the inner maximum.
    fn find_too_close(&self, policy: &P, targets: &Targets<P>) -> Option<ClosePair>;
}
