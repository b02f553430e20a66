//! Shear at a constant rate.
use serde::{Deserialize, Serialize};

use crate::system::{SimulationBox, TILT_QUANTUM, round_tilt};

/// The flow `rate y` along x: the tilt of the box grows by `rate dt L_y / L_x` in a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShearPlan {
    /// Strain per time.
    pub rate: f64,
}

impl ShearPlan {
    /// Growth of the tilt in a quarter of a step, a multiple of [`TILT_QUANTUM`]: that rounds the rate, by `2^-52 / (dt rate)` of
    /// itself in a cube.
    pub fn quarter(&self, simulation_box: &SimulationBox, timestep: f64) -> f64 {
        let [x, y, _] = simulation_box.padded_edges();
        round_tilt(0.25 * self.rate * timestep * (y / x))
    }

    /// The box some steps after it was another one: what an engine has after them, to the bit.
    pub fn box_after(&self, from: &SimulationBox, timestep: f64, steps: u64) -> SimulationBox {
        if steps == 0 {
            return *from;
        }
        let units = |tilt: f64| (tilt / TILT_QUANTUM) as i128;
        let (one, growth) = (units(1.0), 4 * units(self.quarter(from, timestep)));
        let total = units(from.tilt()) + growth * i128::from(steps);
        // An engine flips the box beyond 1/2, not at it.
        let mut tilt = total.rem_euclid(one);
        if 2 * tilt > one || (2 * tilt == one && growth < 0) {
            tilt -= one;
        }
        from.with_tilt(tilt as f64 * TILT_QUANTUM)
    }

    /// Strain since the start of a stage, after some steps of it.
    pub fn strain_after(&self, simulation_box: &SimulationBox, timestep: f64, steps: u64) -> f64 {
        let [x, y, _] = simulation_box.padded_edges();
        4.0 * self.quarter(simulation_box, timestep) * (x / y) * steps as f64
    }
}
