use super::correlation::{Correlation, Part};
use super::evaluation::ParticleSum;
use super::pair_chunk::{Frame, PairChunk};
use super::terms::ParticleTerms;
use crate::observable::ObservableError;
use crate::plan::DynamicObservable;

/// `Q_s(t)`: fraction of particles that are less than a length `a` from where they were,
/// `<theta(a - |r_i(t) - r_i(0)|)>` (self part of the overlap of Lacevic et al., J. Chem. Phys. 119, 7372
/// (2003)). Of every species, and of all particles. In the frame of the
/// cage, see [`CageRelative`](super::cage::CageRelative).
pub struct SelfOverlap {
    frame: Frame,
    length: f64,
}

impl SelfOverlap {
    pub fn new(frame: Frame, length: f64) -> Self {
        SelfOverlap { frame, length }
    }
}

impl Correlation for SelfOverlap {
    fn kind(&self) -> DynamicObservable {
        match self.frame {
            Frame::Laboratory => DynamicObservable::SelfOverlap,
            Frame::Cage => DynamicObservable::CageRelativeSelfOverlap,
        }
    }

    fn formula(&self) -> String {
        format!("<theta(a - |{}|)>, a = {}", self.frame.displacement(), self.length)
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::species_and_all(species, listed)
    }
}

/// 1 for particles with `|dr| < a`.
pub struct WithinDistance {
    length: f64,
    squared_length: f64,
}

impl WithinDistance {
    /// # Errors
    /// For a length that is not positive.
    pub fn new(length: f64) -> Result<Self, ObservableError> {
        if !(length > 0.0 && length.is_finite()) {
            let key = "correlation.overlap_length";
            return Err(ObservableError::value(key, length, "a positive number"));
        }
        Ok(WithinDistance { length, squared_length: length * length })
    }
}

impl ParticleTerms for WithinDistance {
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        // Those that only fill up the chunk have not moved.
        let within = (0..chunk.count())
            .filter(|&i| chunk.squared_displacement(i) < self.squared_length)
            .count();
        sums[0] += within as f64;
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::Within(self.length))
    }
}
