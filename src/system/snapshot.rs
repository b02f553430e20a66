use std::sync::Arc;

use super::SimulationBox;

/// All particles at one step, in id order, as 64-bit floats: what observables and files read.
///
/// In two dimensions the third component of everything is zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Steps since the start of the run.
    pub step: u64,
    /// Wrapped into the box, `0 <= x < edge`; in a tilted box `0 <= x - slope y < edge`.
    pub position: Vec<[f64; 3]>,
    /// The same as fractions of the edges in `2^-32`, rounded to nearest, modulo the edge: in `fixed-point` alone, else empty. In a tilted
    /// box those of skewed coordinates.
    pub fraction: Vec<[u32; 3]>,
    /// How often each particle has left the box upwards, less downwards; in a tilted box counts of its periods.
    pub image: Vec<[i32; 3]>,
    pub velocity: Vec<[f64; 3]>,
    /// Empty where particles have none.
    pub diameter: Arc<[f64]>,
}

impl Snapshot {
    /// Position of a particle as if there were no periodic boundary: with `n` the image counts,
    /// `x + (n_x + u n_y) L_x`, `y + n_y L_y`, `z + n_z L_z`, where `u` is the tilt of the box.
    ///
    /// A particle at an unwrapped height `y` moves with the flow at that height in a steady shear.
    pub fn unwrapped(&self, particle: usize, simulation_box: &SimulationBox) -> [f64; 3] {
        simulation_box.unwrapped(self.position[particle], self.image[particle])
    }
}
