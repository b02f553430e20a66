//! A box that changes in steps.
use serde::{Deserialize, Serialize};

use crate::system::SimulationBox;

/// A change of the box in steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RescalePlan {
    /// The box at the end of the stage; not yet the right one where it is [`to_mean_of`](Self::to_mean_of) a stage.
    pub to: SimulationBox,
    /// Steps between two changes; the last one is at the end of the stage in any case.
    pub every: u64,
    /// The stage whose mean density the box gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_mean_of: Option<usize>,
}

impl RescalePlan {
    /// With the density of that mean, in a box of the same shape.
    pub fn to_density(self, density: f64, particles: usize) -> Self {
        RescalePlan { to: self.to.at_density(density, particles), ..self }
    }

    /// The box after a step of a stage that has begun in another one: edges change in proportion to the steps.
    pub fn at(&self, from: &SimulationBox, step: u64, steps: u64) -> SimulationBox {
        if step == steps {
            return self.to;
        }
        let share = step as f64 / steps as f64;
        let edges = from.edges().iter().zip(self.to.edges());
        let edges: Vec<f64> = edges.map(|(from, to)| from + share * (to - from)).collect();
        SimulationBox::new(&edges).with_tilt(from.tilt())
    }
}
