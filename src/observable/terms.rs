//! What one time origin contributes: sums that several observables share.
use super::displacement_moments::DisplacementMoments;
use super::sample::PairChunk;
use super::self_intermediate_scattering_function::SelfScattering;
use super::self_overlap::WithinDistance;
use super::velocity_autocorrelation::VelocityProduct;
use super::wavevectors::{self, WaveVectorShell};
use super::{ObservableError, SampleContext};
use crate::plan::CorrelationPlan;

/// Names the terms that an observable is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `|dr|^2` and `|dr|^4` of particles.
    DisplacementMoments,
    /// `v(0) . v(t)` of particles.
    VelocityProduct,
    /// `cos(q . dr)` of particles, averaged over shells of wave vectors.
    SelfScattering,
    /// 1 for particles with `|dr| < a`.
    SelfOverlap,
}

/// What terms depend on beside the lag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rows<'a> {
    /// Nothing.
    One,
    /// The wave number.
    Shells(&'a [WaveVectorShell]),
}

impl Rows<'_> {
    pub fn count(&self) -> usize {
        match self {
            Rows::One => 1,
            Rows::Shells(shells) => shells.len(),
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

    fn needs_velocity(&self) -> bool {
        false
    }

    /// Adds the sums over the particles of `chunk` to `sums`: for every row all terms.
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]);
}

/// The terms of one source.
pub(super) fn build(
    source: Source,
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Box<dyn ParticleTerms>, ObservableError> {
    Ok(match source {
        Source::DisplacementMoments => Box::new(DisplacementMoments),
        Source::VelocityProduct => Box::new(VelocityProduct),
        Source::SelfScattering => {
            Box::new(SelfScattering::new(&context.simulation_box, shells(plan, context)?))
        }
        Source::SelfOverlap => Box::new(WithinDistance::new(plan.overlap_length)?),
    })
}

fn shells(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    if plan.wavenumbers.is_empty() {
        let expected = "at least one for functions of the wave number";
        return Err(ObservableError::value("correlation.wavenumbers", "[]", expected));
    }
    wavevectors::shells(&context.simulation_box, &plan.wavenumbers, plan.vectors_per_shell)
}
