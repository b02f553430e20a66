//! A sum over particles as text of the kernel that engines make it with.
use crate::observable::wavevectors::WaveVectorShell;

/// What the kernel `correlate` (`kernels/observable/correlate.cu`) adds for every particle of two samples. The texts are
/// statements in which
///
/// - `origin` and `later` are the words of the particle in both samples (`kernels/observable/sampled.cuh`),
/// - `moved[axis]` is its displacement (`length`, and `turns` modulo the edge in `2^-32` of it), `r2` the square of that,
/// - `drift` is what the centre of mass does, where that is taken away,
/// - `sum` are the floats to add to, and `counts` the counts of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSum {
    /// Of the source.
    pub name: &'static str,
    pub results: Results,
    /// Adds the terms of one particle.
    pub add: &'static str,
    /// The same for a sample with itself; `later` and `moved` are not known.
    pub add_at_lag_zero: &'static str,
    /// Values of the constants that the texts read as `geometry.NAME`: names as the source declares them.
    pub constants: Vec<(&'static str, f32)>,
}

/// What the kernel gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Results {
    /// This many sums.
    Sums(usize),
    /// A sum for each shell of wave vectors; the engine writes `add_scattering(turns, sum)`, which adds the means of cosines.
    Shells(Vec<WaveVectorShell>),
    /// Counts of a histogram, and what each counts for.
    Counts(Vec<f64>),
}

impl Results {
    pub fn count(&self) -> usize {
        match self {
            Results::Sums(count) => *count,
            Results::Shells(shells) => shells.len(),
            Results::Counts(each) => each.len(),
        }
    }
}
