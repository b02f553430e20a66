//! What a time correlation has to say about itself.
use super::mean_quartic_displacement::MeanQuarticDisplacement;
use super::mean_square_displacement::MeanSquareDisplacement;
use super::non_gaussian_parameter::NonGaussianParameter;
use super::sample::PairChunk;
use super::self_intermediate_scattering_function::SelfIntermediateScatteringFunction;
use super::velocity_autocorrelation::VelocityAutocorrelation;
use super::wavevectors::{self, WaveVectorShell};
use super::{ObservableError, SampleContext};
use crate::plan::{CorrelationPlan, DynamicObservable};

/// A function of the lag time, averaged over the particles of a species and over time origins.
///
/// For every pair of samples the observable adds up one or more *terms* per particle. Their averages over
/// particles and time origins make the value; a value may need several (`components`).
pub trait Correlation: Send + Sync {
    fn kind(&self) -> DynamicObservable;

    /// Definition, as text for the file.
    fn formula(&self) -> &'static str;

    /// Unit of the value in the notation of H5MD; empty for a pure number.
    fn unit(&self) -> &'static str {
        ""
    }

    /// Averages that one value is made of.
    fn components(&self) -> usize {
        1
    }

    /// Shells of wave vectors, for functions of the wave number.
    fn shells(&self) -> Option<&[WaveVectorShell]> {
        None
    }

    /// Length of the sums that [`add`](Self::add) adds to.
    fn width(&self) -> usize {
        self.components() * self.shells().map_or(1, <[_]>::len)
    }

    fn needs_velocity(&self) -> bool {
        false
    }

    /// Whether the value exists at lag zero.
    fn has_lag_zero(&self) -> bool {
        true
    }

    /// Adds the sums over the particles of `chunk` to `sums`: for every shell (or once), all components.
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]);

    /// Value as a function of the averages, and its gradient.
    fn value(&self, averages: &[f64]) -> (f64, [f64; 2]) {
        (averages[0], [1.0, 0.0])
    }
}

/// The registry: every observable of the plan, in its order.
pub(super) fn build(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Vec<Box<dyn Correlation>>, ObservableError> {
    let simulation_box = &context.simulation_box;
    let dimension = simulation_box.dimension();
    let make = |kind: &DynamicObservable| -> Result<Box<dyn Correlation>, ObservableError> {
        Ok(match kind {
            DynamicObservable::MeanSquareDisplacement => Box::new(MeanSquareDisplacement),
            DynamicObservable::MeanQuarticDisplacement => Box::new(MeanQuarticDisplacement),
            DynamicObservable::NonGaussianParameter => {
                Box::new(NonGaussianParameter::new(dimension))
            }
            DynamicObservable::VelocityAutocorrelation => Box::new(VelocityAutocorrelation),
            DynamicObservable::SelfIntermediateScatteringFunction => {
                let (wanted, most) = (&plan.wavenumbers, plan.vectors_per_shell);
                if wanted.is_empty() {
                    let expected = "at least one for the self-intermediate scattering function";
                    return Err(ObservableError::value("correlation.wavenumbers", "[]", expected));
                }
                let shells = wavevectors::shells(simulation_box, wanted, most)?;
                Box::new(SelfIntermediateScatteringFunction::new(simulation_box, shells))
            }
        })
    };
    plan.observables.iter().map(make).collect()
}
