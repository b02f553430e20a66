use super::{EngineError, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;

/// What is of some systems, each with its number, in their order.
pub type OfSystems<T> = Vec<(usize, T)>;

/// An engine's part of time correlations: it takes the samples at their steps, keeps those of the blocks, and sums over
/// particles where they are. An engine has one system, an ensemble many; all are sampled at the same steps.
pub trait Correlator {
    /// Evaluates these correlations from now on, besides none: those of each system, which differ in their samples so far
    /// only. At the start of a stage (no samples so far) the first sample is taken at once; else the last one was that of the
    /// present step or before.
    ///
    /// # Errors
    /// If there is no memory for the blocks, or the kernels cannot be compiled.
    fn begin(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError>;

    /// What was evaluated since the last call, with the indices of the correlations; that of each system in order.
    fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)>;

    /// Has all pairs evaluated whose samples were taken.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn flush(&mut self) -> Result<(), EngineError>;

    /// The samples of the blocks, by system and correlation, after a [`flush`](Self::flush); `None` where they are not kept
    /// here.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn held(&mut self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError>;

    /// Has also evaluated what the blocks still hold. What was evaluated remains to be taken until the next stage begins.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn finish(&mut self) -> Result<(), EngineError>;
}
