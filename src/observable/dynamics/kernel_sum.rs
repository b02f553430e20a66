//! A sum over particles as text of the kernel that engines make it with.
use serde::{Deserialize, Serialize};

use super::evaluation::Evaluation;
use crate::observable::wavevectors::WaveVectorShell;

/// Particles of a chunk, whose sums are made by themselves.
pub const CHUNK: usize = 128;
/// The same of density modes.
pub const CHUNK_OF_MODES: usize = 1024;
/// More orbits of wave vectors than this are looked up in a table.
pub const MOST_WRITTEN_OUT: usize = 160;

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
    /// The same for a processor.
    pub term: KernelTerm,
    pub results: Results,
    /// Adds the terms of one particle.
    pub add: &'static str,
    /// The same for a sample with itself; `later` and `moved` are not known.
    pub add_at_lag_zero: &'static str,
    /// Values of the constants that the texts read as `geometry.NAME`: names as the source declares them.
    pub constants: Vec<(&'static str, f32)>,
}

/// What is added for every particle, for a processor that gives the bits of the kernel
/// ([`portable`](crate::observable::portable)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelTerm {
    DisplacementMoments,
    Distances,
    VelocityProduct,
    DisplacementHistogram,
    SelfOverlap,
    SelfScattering,
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

/// Where kernels leave a wanted sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Column {
    /// Among the sums.
    Sum(usize),
    /// Among the counts, and what each counts for.
    Count(usize, f64),
}

/// Sums of a kernel, without the counts of histograms.
pub fn sum_count(evaluation: &Evaluation) -> usize {
    evaluation.kernel_sums().map(|(_, sum)| columns_of(sum)).sum()
}

pub fn columns_of(sum: &KernelSum) -> usize {
    match &sum.results {
        Results::Counts(_) => 0,
        results => results.count(),
    }
}

/// The sums of a correlation in those of the kernels.
pub fn columns(evaluation: &Evaluation) -> Vec<Column> {
    let mut columns = vec![Vec::new(); evaluation.sums.len()];
    let mut first = 0;
    for (index, sum) in evaluation.kernel_sums() {
        let end = first + columns_of(sum);
        columns[index] = match &sum.results {
            Results::Counts(each) => {
                let counts = each.iter().enumerate();
                counts.map(|(bin, &each)| Column::Count(bin, each)).collect()
            }
            _ => (first..end).map(Column::Sum).collect(),
        };
        first = end;
    }
    columns.concat()
}
