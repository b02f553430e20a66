//! What the tables of a stage are checked against, and checks that several of them share.
use num_integer::Integer as _;

use super::checker::Checker;
use crate::config::document::{Integer, Number, PlainOr, Stage, Written};
use crate::system::{SimulationBox, Species};

/// So that the steps of all stages together fit in 64 bits.
pub const MAXIMUM_STEPS: u64 = 1_000_000_000_000_000;

/// What a stage is checked against.
pub struct StageChecks<'a> {
    pub simulation_box: Option<&'a SimulationBox>,
    pub species: Option<&'a [Species]>,
    pub timestep: Option<f64>,
    pub steps: u64,
    /// What every interval divides that the stage gives in steps.
    pub common_multiple: u64,
}

/// The least common multiple of the intervals that a stage gives in steps, `steps` at most: where it is more, or one of them
/// is NaN of steps, 1.
pub fn common_multiple(stage: &Stage, steps: u64) -> u64 {
    let mut intervals: Vec<&Integer> = Vec::new();
    if let Some(observe) = &stage.observe {
        intervals.extend(observe.thermodynamics.iter().map(|every| &every.value));
        intervals.extend(observe.trajectory.iter().map(|frames| match &frames.value {
            PlainOr::Plain(every) => every,
            PlainOr::Table(table) => &table.every.value,
        }));
        intervals.extend(observe.structure.iter().map(|table| &table.every.value));
        intervals.extend(observe.bond_order.iter().map(|table| &table.every.value));
        intervals.extend(observe.inherent_structures.iter().map(|table| &table.every.value));
    }
    let correlations = stage.correlation.iter().filter_map(|table| table.every.as_ref());
    intervals.extend(correlations.map(|every| &every.value));
    let multiple = intervals.into_iter().try_fold(1_u64, |multiple, interval| {
        let interval = u64::try_from(interval.0).ok().filter(|&interval| interval > 0)?;
        let multiple = multiple.checked_mul(interval / multiple.gcd(&interval))?;
        (multiple <= steps).then_some(multiple)
    });
    multiple.unwrap_or(1)
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

/// An interval that divides the steps of its stage.
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
    if !steps.is_multiple_of(value) {
        // What the other intervals divide, too, if that is near.
        let unit = stage_checks.common_multiple.max(value);
        let below = steps - steps % unit;
        checker.reject(
            &every.span,
            format!("{value} does not divide the {steps} steps of the stage"),
            format!("for example steps = {below} or {}", below + unit),
        );
        return None;
    }
    Some(value)
}

/// To four decimals, never above.
pub fn rounded_down(value: f64) -> f64 {
    let rounded = (value * 1e4).floor() / 1e4;
    if rounded > 0.0 { rounded } else { value }
}
