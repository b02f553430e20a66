//! What the tables of a stage are checked against, and checks that several of them share.
use super::checker::Checker;
use crate::config::document::{Integer, Number, Written};
use crate::system::{SimulationBox, Species};

/// So that the steps of all stages together fit in 64 bits.
pub const MAXIMUM_STEPS: u64 = 1_000_000_000_000_000;

/// What a stage is checked against.
pub struct StageChecks<'a> {
    pub simulation_box: Option<&'a SimulationBox>,
    pub species: Option<&'a [Species]>,
    /// Whether particles have diameters.
    pub diameters: Option<bool>,
    /// Whether they are exchanged.
    pub swaps: bool,
    pub timestep: Option<f64>,
    pub steps: u64,
}

/// A distance below half the shortest edge of the box.
pub fn below_half_the_box(
    distance: &Written<Number>,
    simulation_box: Option<&SimulationBox>,
    checker: &mut Checker<'_>,
) -> Option<f64> {
    let value = checker.positive(distance)?;
    let half = simulation_box?.shortest_edge() / 2.0;
    if !(value < half) {
        let message = format!("{value:?} is not below half the shortest edge of the box");
        checker.reject(&distance.span, message, format!("below {}", rounded_down(half)));
        return None;
    }
    Some(value)
}

/// An interval that is no longer than its stage; the steps after its last multiple are not sampled.
pub fn interval(
    every: &Written<Integer>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<u64> {
    let value = checker.integer(every, 1..=MAXIMUM_STEPS)?;
    let steps = stage_checks.steps;
    if steps == 0 {
        return Some(value);
    }
    if value > steps {
        let message = format!("{value} steps are more than the stage has, {steps}");
        checker.reject(&every.span, message, "");
        return None;
    }
    Some(value)
}

/// To four decimals, never above.
pub fn rounded_down(value: f64) -> f64 {
    let rounded = (value * 1e4).floor() / 1e4;
    if rounded > 0.0 { rounded } else { value }
}
