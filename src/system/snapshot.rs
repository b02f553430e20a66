use std::sync::Arc;

use super::SimulationBox;

/// All particles at one step, in id order, as 64-bit floats: what observables and files read.
///
/// In two dimensions the third component of everything is zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Steps since the start of the run.
    pub step: u64,
    /// Wrapped into the box, `0 <= x < edge`.
    pub position: Vec<[f64; 3]>,
    /// How often each particle has left the box upwards, less downwards.
    pub image: Vec<[i32; 3]>,
    pub velocity: Vec<[f64; 3]>,
    /// Empty where particles have none.
    pub diameter: Arc<[f64]>,
}

impl Snapshot {
    /// Position of a particle as if there were no periodic boundary.
    pub fn unwrapped(&self, particle: usize, simulation_box: &SimulationBox) -> [f64; 3] {
        let edges = simulation_box.padded_edges();
        std::array::from_fn(|k| {
            self.position[particle][k] + f64::from(self.image[particle][k]) * edges[k]
        })
    }
}
