//! What a tilted box must be for the nearest images of pairs.
use super::EngineError;
use crate::system::SimulationBox;

/// Less than one by what rounding may take.
const MARGIN: f64 = 1.0 - 1e-9;

/// How far lists may reach in a box that takes any tilt.
pub fn largest_reach(simulation_box: &SimulationBox) -> f64 {
    let [x, y, _] = simulation_box.padded_edges();
    (x / (2.0 + x / y)).min(0.5 * y) * MARGIN
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_reach_as_far_as_they_may_are_taken_in_any_box() {
        for number in 1..2000 {
            let x = 3.0 + 0.017 * f64::from(number);
            for y in [x, 1.3 * x, 0.9 * x] {
                let simulation_box = SimulationBox::new(&[x, y, x]);
                let reach = largest_reach(&simulation_box);
                assert!(check_tilt(&simulation_box, true, reach).is_ok(), "{x}, {y}");
                assert!(check_tilt(&simulation_box, true, 1.0001 * reach).is_err(), "{x}, {y}");
            }
        }
    }
}
