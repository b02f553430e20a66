use super::cage::in_cage;
use super::correlation::{Correlation, Places};
use super::evaluation::ParticleSum;
use super::evaluator::Evaluator;
use super::kernel_sum::{KernelSum, KernelTerm, Results};
use super::pair_chunk::{Frame, PairChunk};
use super::part::Part;
use super::registry::Definition;
use super::source::{Need, Source};
use super::susceptibility::Susceptibility;
use super::terms::{ParticleTerms, Terms};
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

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |plan, _| Box::new(SelfOverlap::new(Frame::Laboratory, plan.overlap_length)),
};

pub(super) static IN_CAGE: Definition = Definition {
    source: &SOURCE_IN_CAGE,
    correlation: |plan, _| Box::new(SelfOverlap::new(Frame::Cage, plan.overlap_length)),
};

pub(super) static SUSCEPTIBILITY: Definition = Definition {
    source: &SOURCE,
    correlation: |plan, _| {
        let length = plan.overlap_length;
        Box::new(Susceptibility {
            kind: DynamicObservable::SelfOverlapSusceptibility,
            fluctuating: format!("sum_i theta(a - |r_i(t) - r_i(0)|) / N, a = {length}"),
            parts: Part::species_and_all,
        })
    },
};

static SOURCE: Source = Source {
    needs: &[Need::OverlapLength],
    constants: &[SQUARED_LENGTH],
    ..Source::of_positions("self overlap", |plan, _| {
        Ok(Terms::of_particles(WithinDistance::new(plan.overlap_length)?))
    })
};

static SOURCE_IN_CAGE: Source = Source {
    needs: &[Need::OverlapLength, Need::CageRadius],
    evaluator: Evaluator::Cages,
    constants: &[SQUARED_LENGTH],
    ..Source::of_positions("self overlap in cages", |plan, context| {
        in_cage(WithinDistance::new(plan.overlap_length)?, plan, context)
    })
};

/// Of the kernel.
const SQUARED_LENGTH: &str = "squared_overlap";

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

    fn departure(&self) -> Option<fn(f64, &Places) -> f64> {
        match self.frame {
            Frame::Laboratory => Some(|value, _| -value.ln()),
            Frame::Cage => None,
        }
    }
}

/// 1 for particles with `|dr| < a`.
pub struct WithinDistance {
    squared_length: f64,
}

impl WithinDistance {
    /// # Errors
    /// As [`squared_overlap_length`].
    pub fn new(length: f64) -> Result<Self, ObservableError> {
        Ok(WithinDistance { squared_length: squared_overlap_length(length)? })
    }
}

/// # Errors
/// For a length that is not positive.
pub(super) fn squared_overlap_length(length: f64) -> Result<f64, ObservableError> {
    if !(length > 0.0 && length.is_finite()) {
        let key = "correlation.overlap_length";
        return Err(ObservableError::value(key, length, "a positive number"));
    }
    Ok(length * length)
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
        Some(ParticleSum::Kernel(KernelSum {
            name: "self overlap",
            term: KernelTerm::SelfOverlap,
            results: Results::Sums(1),
            add: "sum[0] = add(sum[0], r2 < geometry.squared_overlap ? 1.0f : 0.0f);",
            add_at_lag_zero: "sum[0] = add(sum[0], 1.0f);",
            constants: vec![(SQUARED_LENGTH, self.squared_length as f32)],
        }))
    }
}
