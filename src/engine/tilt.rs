//! What a tilted box must be for the nearest images of pairs.
use super::EngineError;
use crate::system::SimulationBox;

/// How far lists may reach in a box that takes any tilt.
pub fn largest_reach(simulation_box: &SimulationBox) -> f64 {
    let [x, y, _] = simulation_box.padded_edges();
    (x / (2.0 + x / y)).min(0.5 * y)
}

/// That the nearest image of a pair within reach of the lists is the one that differences of skewed coordinates give, each
/// wrapped by itself: `L_x >= 2 R + 2 |u| R L_x / L_y`. In a flow at any tilt.
///
/// # Errors
/// If the box is too narrow for that.
pub fn check_tilt(
    simulation_box: &SimulationBox,
    is_in_flow: bool,
    reach: f64,
) -> Result<(), EngineError> {
    let tilt = if is_in_flow { 0.5 } else { simulation_box.tilt().abs() };
    if tilt == 0.0 {
        return Ok(());
    }
    let [x, y, _] = simulation_box.padded_edges();
    let needed = 2.0 * reach * (1.0 + tilt * x / y);
    if x >= needed && y >= 2.0 * reach {
        return Ok(());
    }
    Err(EngineError::NarrowForTilt { edges: [x, y], tilt, needed, reach })
}
