use super::correlation::Correlation;
use super::sample::PairChunk;
use crate::plan::DynamicObservable;

/// `<|r_i(t) - r_i(0)|^4>` over the particles of a species (length to the fourth power).
pub struct MeanQuarticDisplacement;

impl Correlation for MeanQuarticDisplacement {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::MeanQuarticDisplacement
    }

    fn unit(&self) -> &'static str {
        "sigma4"
    }

    fn formula(&self) -> &'static str {
        "<|r_i(t) - r_i(0)|^4>"
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        sums[0] += chunk.sum(|i| chunk.squared_displacement(i).powi(2));
    }
}
