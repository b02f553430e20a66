use super::correlation::Correlation;
use super::correlation::Places;
use super::displacement_moments;
use super::pair_chunk::Frame;
use super::registry::Definition;
use crate::plan::DynamicObservable;

/// `<|r_i(t) - r_i(0)|^2>` over the particles of a species (length squared); in the frame of the cage, see
/// [`CageRelative`](super::cage::CageRelative).
pub struct MeanSquareDisplacement(pub Frame);

pub(super) static DEFINITION: Definition = Definition {
    source: &displacement_moments::SOURCE,
    correlation: |_, _| Box::new(MeanSquareDisplacement(Frame::Laboratory)),
};

pub(super) static IN_CAGE: Definition = Definition {
    source: &displacement_moments::IN_CAGE,
    correlation: |_, _| Box::new(MeanSquareDisplacement(Frame::Cage)),
};

impl Correlation for MeanSquareDisplacement {
    fn kind(&self) -> DynamicObservable {
        match self.0 {
            Frame::Laboratory => DynamicObservable::MeanSquareDisplacement,
            Frame::Cage => DynamicObservable::CageRelativeMeanSquareDisplacement,
        }
    }

    fn formula(&self) -> String {
        format!("<|{}|^2>", self.0.displacement())
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components[0] = terms[0];
    }

    fn departure(&self) -> Option<fn(f64, &Places) -> f64> {
        match self.0 {
            Frame::Laboratory => Some(|value, places| value / places.squared_distance),
            Frame::Cage => None,
        }
    }
}
