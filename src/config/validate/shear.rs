//! `stage.shear`, and what stages do in boxes with a tilt.
use super::box_change;
use super::checker::Checker;
use super::stage_checks::{StageChecks, rounded_down};
use crate::config::document::{Document, Number, Shear, Stage, Table, Written};
use crate::engine::skin;
use crate::plan::{EngineChoice, NotInTiltedBox, Plan, ShearPlan};
use crate::system::TILT_QUANTUM;

/// Of a step: pairs at contact bear it, and the tilt stays far below the half of an edge that flips the box.
const LARGEST_STRAIN: f64 = 0.02;
/// The tilt grows by at least this number of its quanta in a quarter of a step: the rate is met to a thousandth of itself.
const FEWEST_QUANTA: f64 = 512.0;
/// Of an oscillation, a strain.
const SMALLEST_AMPLITUDE: f64 = 1e-9;

pub fn check(
    document: &Table<Shear>,
    stage: &Stage,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<ShearPlan> {
    if let Some(span) = box_change::span(stage) {
        let help = "a stage of its own for each";
        checker.reject(span, "does not go together with shear", help);
        return None;
    }
    match (&document.rate, &document.amplitude, &document.period) {
        (Some(rate), None, None) => steady(rate, stage_checks, checker),
        (None, Some(amplitude), Some(period)) => {
            oscillatory(amplitude, period, stage_checks, checker)
        }
        (None, None, None) => {
            checker.missing(&document.span, "rate", "or amplitude and period of an oscillation");
            None
        }
        (None, None, Some(_)) => {
            checker.missing(&document.span, "amplitude", "an oscillation needs it beside period");
            None
        }
        (None, Some(_), None) => {
            checker.missing(&document.span, "period", "an oscillation needs it beside amplitude");
            None
        }
        (Some(rate), ..) => {
            let message = "is of a steady flow, and amplitude and period are of an oscillation";
            checker.reject(&rate.span, message, "leave rate out, or the others");
            None
        }
    }
}

fn steady(
    typed: &Written<Number>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<ShearPlan> {
    let rate = checker.finite(typed)?;
    let (timestep, simulation_box) = (stage_checks.timestep?, stage_checks.simulation_box?);
    let strain = rate.abs() * timestep;
    if strain > LARGEST_STRAIN {
        let message = format!("strains by {strain:.3} in a step");
        let help = format!("a rate of at most {}", rounded_down(LARGEST_STRAIN / timestep));
        checker.reject(&typed.span, message, help);
        return None;
    }
    let shear = ShearPlan::Steady { rate };
    let quarter = shear.growth(simulation_box, timestep).quarter;
    if quarter.abs() < FEWEST_QUANTA * TILT_QUANTUM {
        let message = format!("is too slow: {rate:?} is not met to a thousandth of itself");
        checker.reject(&typed.span, message, "a higher rate, or no shear");
        return None;
    }
    Some(shear)
}

fn oscillatory(
    typed: &Written<Number>,
    typed_period: &Written<Number>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<ShearPlan> {
    let (amplitude, period) = (checker.finite(typed)?, checker.positive(typed_period)?);
    let timestep = stage_checks.timestep?;
    let steps = (period / timestep).round();
    if steps < 1.0 || (steps * timestep / period - 1.0).abs() > 1e-9 {
        let message = format!("{period:?} is not a multiple of the timestep, {timestep:?}");
        let nearest = steps.max(1.0) * timestep;
        checker.reject(&typed_period.span, message, format!("{nearest}, for example"));
        return None;
    }
    let strain = amplitude.abs() * std::f64::consts::TAU / steps;
    if strain > LARGEST_STRAIN {
        let message = format!("strains by {strain:.3} in a step");
        let most = rounded_down(LARGEST_STRAIN * steps / std::f64::consts::TAU);
        let help = format!("an amplitude of at most {most} with this period, or a longer one");
        checker.reject(&typed.span, message, help);
        return None;
    }
    if amplitude.abs() < SMALLEST_AMPLITUDE {
        let message = format!("{amplitude:?} is nothing that a stress would show");
        checker.reject(&typed.span, message, format!("at least {SMALLEST_AMPLITUDE:e}"));
        return None;
    }
    Some(ShearPlan::Oscillatory { amplitude, period })
}

/// Samples along which particles are followed beside a flow from given time origins: all their steps are in memory.
const MOST_SAMPLES: u64 = 10_000_000;

fn check_origins(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    for (stage, typed) in plan.stages.iter().zip(&document.stage) {
        for (correlation, typed) in stage.correlations.iter().zip(&typed.correlation) {
            let Some(first) = correlation.origins.first() else { continue };
            let samples = (stage.steps - first) / correlation.every;
            if stage.shear.is_some() && samples > MOST_SAMPLES {
                let message = format!("follows particles beside a flow by {samples} samples");
                let least = (stage.steps - first).div_ceil(MOST_SAMPLES);
                let help = format!("an interval of at least {least}, or a shorter stage");
                let span = typed.every.as_ref().map_or(&typed.span, |every| &every.span);
                checker.reject(span, message, help);
            }
        }
    }
}

/// What the rest of the plan says of boxes with a tilt.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    check_origins(plan, document, checker);
    for number in plan.tilted_stages() {
        let typed = &document.stage[number];
        if let Some(refused) = plan.stages[number].not_in_tilted_box() {
            let NotInTiltedBox { what, help, in_flow } = refused;
            let message = match in_flow {
                true => format!("the box is sheared, and {what} is of a liquid at rest"),
                false => format!("the box is tilted, and {what} is not made for it"),
            };
            checker.reject(&typed.span, message, help);
        }
    }
    let Some(first) = plan.stages.iter().position(|stage| stage.shear.is_some()) else { return };
    let Some(typed) = &document.stage[first].shear else { return };
    let span = &typed.span;
    if plan.integrity.is_some() {
        let help = "leave out [integrity], or make the shear a run of its own";
        checker.reject(span, "steps in a box that changes are not computed twice", help);
    }
    let [x, y, _] = plan.system.simulation_box.padded_edges();
    let skin = match plan.run.engine {
        EngineChoice::Cpu => skin::on_cpus(plan),
        _ => skin::on_cpus(plan).max(skin::on_one_gpu(plan)).max(skin::of_many_on_a_gpu(plan)),
    };
    let reach = plan.reach(skin);
    let needed = reach * (2.0 + x / y);
    if x < needed {
        let message = format!(
            "the edge along x, {x:.4}, is too short for the tilts of a shear: lists reach {reach:.4} (cutoff and skin)"
        );
        let help = format!("an edge of at least {needed:.4}, or a smaller run.skin");
        checker.reject(span, message, help);
    }
}
