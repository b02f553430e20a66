use super::{EngineError, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;

/// An engine's part of time correlations: it takes the samples at their steps, keeps those of the blocks, and sums over
/// particles where they are.
pub trait Correlator {
    /// Evaluates these correlations from now on, besides none. At the start of a stage (no samples so far) the first
    /// sample is taken at once; else the last one was that of the present step or before.
    ///
    /// # Errors
    /// If there is no memory for the blocks, or the kernels cannot be compiled.
    fn begin(&mut self, correlations: Vec<Offloaded>) -> Result<(), EngineError>;

    /// What was evaluated since the last call, in order, with the indices of the correlations.
    fn evaluated(&mut self) -> Vec<(usize, Pending<Evaluated>)>;

    /// Has all pairs evaluated whose samples were taken.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn flush(&mut self) -> Result<(), EngineError>;

    /// The samples of the blocks, by correlation, after a [`flush`](Self::flush); `None` where they are not kept
    /// here.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn held(&mut self) -> Result<Vec<Option<HeldSamples>>, EngineError>;

    /// Has also evaluated what the blocks still hold. What was evaluated remains to be taken until the next stage begins.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn finish(&mut self) -> Result<(), EngineError>;
}
