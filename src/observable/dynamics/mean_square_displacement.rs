use super::correlation::Correlation;
use super::pair_chunk::Frame;
use crate::plan::DynamicObservable;

/// `<|r_i(t) - r_i(0)|^2>` over the particles of a species (length squared); in the frame of the cage, see
/// [`CageRelative`](super::cage::CageRelative).
pub struct MeanSquareDisplacement(pub Frame);

impl Correlation for MeanSquareDisplacement {
    fn kind(&self) -> DynamicObservable {
        match self.0 {
            Frame::Laboratory => DynamicObservable::MeanSquareDisplacement,
            Frame::Cage => DynamicObservable::CageRelativeMeanSquareDisplacement,
        }
    }

    fn unit(&self) -> &'static str {
        "sigma2"
    }

    fn formula(&self) -> String {
        format!("<|{}|^2>", self.0.displacement())
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components[0] = terms[0];
    }
}
