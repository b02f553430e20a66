use super::correlation::Correlation;
use super::terms::Source;
use crate::plan::DynamicObservable;

/// `<|r_i(t) - r_i(0)|^2>` over the particles of a species (length squared).
pub struct MeanSquareDisplacement;

impl Correlation for MeanSquareDisplacement {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::MeanSquareDisplacement
    }

    fn unit(&self) -> &'static str {
        "sigma2"
    }

    fn formula(&self) -> String {
        "<|r_i(t) - r_i(0)|^2>".into()
    }

    fn source(&self) -> Source {
        Source::DisplacementMoments
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components[0] = terms[0];
    }
}
