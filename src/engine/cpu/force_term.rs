//! A part of the potential energy.
use super::forces::{EnergyAndVirial, Targets};
use super::gather::Sites;
use crate::engine::precision::Policy;

/// Two particles that are too close.
pub struct ClosePair {
    /// In memory.
    pub places: [usize; 2],
    pub distance: f64,
    /// Of the potential of the pair, if they are inside it.
    pub inner_maximum: Option<f64>,
}

/// Two particles that may exchange diameters and species.
pub struct Exchange<'a, P: Policy> {
    /// Of all particles, in the order of memory.
    pub sites: &'a Sites<P>,
    pub species: &'a [u8],
    /// In memory.
    pub places: [usize; 2],
    /// Of each: all particles within the reach of any pair.
    pub neighbors: [Vec<u32>; 2],
}

/// A part of the potential energy, and the forces that belong to it.
pub trait ForceTerm<P: Policy>: Send + Sync {
    /// Writes its forces on the targets; returns whether a pair was too close for its force to fit.
    fn forces(&self, policy: &P, targets: &Targets<P>, out: &mut [Vec<P::Force>; 3]) -> bool;

    /// Energy and virial of each target, with those of each pair whole.
    fn energies(&self, policy: &P, targets: &Targets<P>) -> Vec<EnergyAndVirial>;

    /// Change of the energy by an exchange, in the units of [`swaps`](crate::engine::swaps); `None`: an energy is too large.
    fn change_by_exchange(&self, policy: &P, exchange: &Exchange<'_, P>) -> Option<i64>;

    /// A pair whose force does not fit, or that is inside the inner maximum.
    fn find_too_close(&self, policy: &P, targets: &Targets<P>) -> Option<ClosePair>;
}
