use super::correlation::Correlation;
use super::sample::PairChunk;
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

    fn formula(&self) -> &'static str {
        "<|r_i(t) - r_i(0)|^2>"
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        sums[0] += chunk.sum(|i| chunk.squared_displacement(i));
    }
}
