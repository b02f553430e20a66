//! What one time origin contributes: sums that several observables share.
use super::evaluation::ParticleSum;
use super::pair_chunk::PairChunk;
use super::part::Part;
use super::stress_correlator;
use crate::observable::sample::Sample;
use crate::observable::wavevectors::WaveVectorShell;

/// What terms depend on beside the lag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rows<'a> {
    /// Nothing.
    One,
    /// The wave number.
    Shells(&'a [WaveVectorShell]),
    /// The distance: centres of the bins.
    Distances(&'a [f64]),
}

impl Rows<'_> {
    pub fn count(&self) -> usize {
        match self {
            Rows::One => 1,
            Rows::Shells(shells) => shells.len(),
            Rows::Distances(distances) => distances.len(),
        }
    }

    /// Wave vectors of all shells, one of each `q`, `-q`.
    pub fn wave_vectors(&self) -> Vec<[i32; 3]> {
        match self {
            Rows::Shells(shells) => {
                shells.iter().flat_map(|shell| shell.lattice_vectors()).collect()
            }
            Rows::One | Rows::Distances(_) => Vec::new(),
        }
    }

    /// Number of wave vectors in every row; 1 where there are none.
    pub fn vectors(&self) -> Vec<u64> {
        match self {
            Rows::Shells(shells) => shells.iter().map(WaveVectorShell::count).collect(),
            Rows::One | Rows::Distances(_) => vec![1; self.count()],
        }
    }
}

/// Sums over particles; their mean over the particles of a part are the terms.
pub trait ParticleTerms: Send + Sync {
    fn rows(&self) -> Rows<'_> {
        Rows::One
    }

    /// Terms of every row.
    fn terms(&self) -> usize {
        1
    }

    /// Length of the sums that [`add`](Self::add) adds to.
    fn width(&self) -> usize {
        self.terms() * self.rows().count()
    }

    /// Adds the sums over the particles of `chunk` to `sums`: for every row all terms.
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]);

    /// The same for an engine that evaluates it where the particles are, if one may.
    fn particle_sum(&self) -> Option<ParticleSum> {
        None
    }
}

/// Terms that are functions of two samples as wholes.
pub trait SampleTerms: Send + Sync {
    fn rows(&self) -> Rows<'_> {
        Rows::One
    }

    /// Terms of every row.
    fn terms(&self) -> usize {
        1
    }

    /// Writes for every row all terms of one part.
    fn evaluate(&self, origin: &Sample, later: &Sample, part: Part, terms: &mut [f64]);
}

/// How terms are evaluated.
pub enum Terms {
    Particles(Box<dyn ParticleTerms>),
    Samples(Box<dyn SampleTerms>),
    /// From a series of their own.
    Stress,
}

impl Terms {
    pub fn of_particles(terms: impl ParticleTerms + 'static) -> Terms {
        Terms::Particles(Box::new(terms))
    }

    pub fn rows(&self) -> Rows<'_> {
        match self {
            Terms::Particles(terms) => terms.rows(),
            Terms::Samples(terms) => terms.rows(),
            Terms::Stress => Rows::One,
        }
    }

    /// Numbers that one time origin gives.
    pub fn width(&self) -> usize {
        match self {
            Terms::Particles(terms) => terms.width(),
            Terms::Samples(terms) => terms.terms() * terms.rows().count(),
            Terms::Stress => stress_correlator::TERMS,
        }
    }
}
