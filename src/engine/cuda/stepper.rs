//! Where engines that hold a whole system and those of ranks differ between launches.
use crate::engine::precision::ExactSum;

/// A kernel's number that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// As in [`status`](super::buffers::status).
    pub status: u32,
    /// Id of the particle.
    pub particle: u32,
}

/// Who takes the steps of the particles on a GPU.
pub trait Stepper {
    /// Ghosts, which lie in memory after the particles.
    fn ghosts(&self) -> usize;

    /// Sums over the whole system of sums over the particles here.
    ///
    /// # Errors
    /// If a number did not fit, here or on another rank.
    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], Fault>,
    ) -> Result<[ExactSum; COUNT], Fault>;

    /// Whether a fault is an error at once; else it is one when all ranks compare.
    fn fails_at_once(&self) -> bool;
}
