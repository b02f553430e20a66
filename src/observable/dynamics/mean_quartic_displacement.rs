use super::correlation::Correlation;
use super::displacement_moments;
use super::registry::Definition;
use crate::plan::DynamicObservable;

/// `<|r_i(t) - r_i(0)|^4>` over the particles of a species (length to the fourth power).
pub struct MeanQuarticDisplacement;

pub(super) static DEFINITION: Definition = Definition {
    source: &displacement_moments::SOURCE,
    correlation: |_, _| Box::new(MeanQuarticDisplacement),
};

impl Correlation for MeanQuarticDisplacement {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::MeanQuarticDisplacement
    }

    fn formula(&self) -> String {
        "<|r_i(t) - r_i(0)|^4>".into()
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components[0] = terms[1];
    }
}
