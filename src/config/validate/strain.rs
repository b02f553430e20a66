//! `strain` of a stage.
use std::ops::Range;

use super::box_change;
use super::checker::Checker;
use super::inherent;
use super::stage_checks::{MAXIMUM_STEPS, StageChecks, rounded_down};
use crate::config::document::{
    self, Document, Number, NumberOrList, Observe, Stage, Strain, StrainAxis, Table, Written,
};
use crate::engine::skin;
use crate::plan::{InherentStructuresPlan, Plan, StrainMode, StrainPlan};

/// Strain at once that pairs at contact bear.
const LARGEST_STEP: f64 = 0.01;
/// Of the tilt in a step: far below the half of an edge that flips the box.
const LARGEST_TILT: f64 = 0.25;
/// Beyond, a box is no box any more.
const LARGEST_STRAIN: f64 = 2.0;
/// A strain is a multiple of the step if the ratio is so close to a whole number.
const ROUNDING: f64 = 1e-6;
/// Strains of a step that floats still tell apart.
const SMALLEST_PART: f64 = 1e-12;

/// What the stage may not have beside it is refused.
pub fn check(
    stage: &Table<Stage>,
    document: &Table<Strain>,
    conditions: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<StrainPlan> {
    let allowed = refuse_others(stage, checker);
    let mode = mode(document, conditions, checker);
    let step = checker.positive(&document.step).filter(|&step| {
        if step > LARGEST_STEP {
            let message = format!("{step:?} of strain is too much at once");
            checker.reject(&document.step.span, message, format!("at most {LARGEST_STEP}"));
        }
        step <= LARGEST_STEP
    });
    let descent = inherent::descent(
        &document.span,
        document.force_tolerance.as_ref(),
        document.maximum_iterations.as_ref(),
        document.timestep.as_ref(),
        conditions,
        checker,
    );
    let step = step?;
    let turns = turns(document, step, checker);
    let halve_to = match &document.halve_to {
        None => Some(None),
        Some(typed) => halve_to(typed, step, checker).map(Some),
    };
    let event_threshold = checker.positive_or(
        &document.span,
        "event_threshold",
        document.event_threshold.as_ref(),
        10.0 * step * step,
    );
    let (force_tolerance, maximum_iterations, timestep) = descent?;
    let descent =
        InherentStructuresPlan { every: 1, force_tolerance, maximum_iterations, timestep };
    let plan = StrainPlan {
        mode: mode?,
        step,
        turns: turns?,
        halve_to: halve_to?,
        event_threshold: event_threshold?,
        descent,
    };
    if plan.steps() > MAXIMUM_STEPS {
        let message = format!("there are {} steps of strain", plan.steps());
        checker.reject(&document.to.span, message, format!("at most {MAXIMUM_STEPS}"));
        return None;
    }
    allowed.then_some(plan)
}

fn mode(
    document: &Strain,
    conditions: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<StrainMode> {
    let Some(axis) = &document.axis else {
        return Some(match document.mode.value {
            document::StrainMode::PureShear => StrainMode::PureShear,
            document::StrainMode::SimpleShear => StrainMode::SimpleShear,
            document::StrainMode::Compression => StrainMode::Compression,
        });
    };
    if document.mode.value != document::StrainMode::Compression {
        let help = "leave it out: shears are in the plane of x and y";
        checker.reject(&axis.span, "belongs to mode = \"compression\"", help);
        return None;
    }
    let number = match axis.value {
        StrainAxis::X => 0,
        StrainAxis::Y => 1,
        StrainAxis::Z => 2,
    };
    let dimension = conditions.simulation_box?.dimension();
    if number >= dimension {
        checker.reject(&axis.span, format!("is not there in {dimension} dimensions"), "x or y");
        return None;
    }
    Some(StrainMode::UniaxialCompression(number))
}

/// In steps.
fn turns(document: &Strain, step: f64, checker: &mut Checker<'_>) -> Option<Vec<i64>> {
    let typed = match &document.to.value {
        NumberOrList::Number(to) => {
            vec![Written { value: Number(*to), span: document.to.span.clone() }]
        }
        NumberOrList::List(list) if list.is_empty() => {
            let help = "to = 0.2, or a list such as [0.1, -0.1, 0.0]";
            checker.reject(&document.to.span, "must hold strains", help);
            return None;
        }
        NumberOrList::List(list) => list.clone(),
    };
    let mut turns: Vec<i64> = Vec::with_capacity(typed.len());
    for to in &typed {
        let value = checker.finite(to)?;
        if value.abs() > LARGEST_STRAIN {
            let help = format!("from {} to {LARGEST_STRAIN}", -LARGEST_STRAIN);
            checker.reject(&to.span, format!("a strain of {value:?} is too large"), help);
            return None;
        }
        let ratio = value / step;
        if (ratio - ratio.round()).abs() > ROUNDING * ratio.abs().max(1.0) {
            let near = format!("{:.10}", ratio.round() * step);
            let near = near.trim_end_matches('0').trim_end_matches('.');
            let message = format!("{value:?} is no whole multiple of step = {step:?}");
            checker.reject(&to.span, message, format!("{near}, for example"));
            return None;
        }
        let multiple = ratio.round() as i64;
        if multiple == turns.last().copied().unwrap_or(0) {
            let message = "is where the strain is already";
            checker.reject(
                &to.span,
                message,
                "each leg leads to another strain; the first begins at 0",
            );
            return None;
        }
        turns.push(multiple);
    }
    Some(turns)
}

fn halve_to(typed: &Written<Number>, step: f64, checker: &mut Checker<'_>) -> Option<f64> {
    let value = checker.positive(typed)?;
    if value >= step {
        let message = format!("{value:?} is not below step = {step:?}");
        checker.reject(&typed.span, message, "a smaller strain, or leave it out");
        return None;
    }
    if value < SMALLEST_PART {
        let message = format!("{value:?} is too small");
        checker.reject(&typed.span, message, format!("at least {SMALLEST_PART:e}"));
        return None;
    }
    Some(value)
}

/// Whether the stage has nothing that makes no sense beside it.
fn refuse_others(stage: &Table<Stage>, checker: &mut Checker<'_>) -> bool {
    fn span<T>(table: Option<&Table<T>>) -> Option<Range<usize>> {
        table.map(|table| table.span.clone())
    }
    let is_true = |typed: Option<&Written<bool>>| {
        typed.filter(|typed| typed.value).map(|typed| typed.span.clone())
    };
    let time = "nothing moves in time in a stage of strain";
    let own = "a stage of strain begins with a minimum, and changes the box by itself";
    let of_stage = [
        (
            stage.steps.as_ref().map(|typed| typed.span.clone()),
            "steps of strain are the steps of the stage",
            "leave it out: step and to of strain say how many there are",
        ),
        (
            stage.timestep.as_ref().map(|typed| typed.span.clone()),
            time,
            "leave it out; the first time step of the descents is strain.timestep",
        ),
        (span(stage.thermostat.as_ref()), time, "leave it out"),
        (is_true(stage.draw_velocities.as_ref()), time, "leave it out"),
        (span(stage.swap.as_ref()), time, "leave it out"),
        (stage.set_total_energy.as_ref().map(|typed| typed.span.clone()), time, "leave it out"),
        (span(stage.minimize.as_ref()), own, "leave it out"),
        (box_change::span(stage).cloned(), own, "leave it out"),
        (span(stage.correlation.first()), time, "leave it out"),
        (span(stage.propensity.as_ref()), time, "leave it out"),
    ];
    let observe = stage.observe.as_ref();
    let of_observe = |of: fn(&Observe) -> Option<Range<usize>>| {
        let help = "leave it out; observe.trajectory writes the minima";
        (observe.and_then(|observe| of(observe)), "curves of strain are written in its place", help)
    };
    let of_observe = [
        of_observe(|it| it.thermodynamics.as_ref().map(|typed| typed.span.clone())),
        of_observe(|it| span(it.structure.as_ref())),
        of_observe(|it| span(it.bond_order.as_ref())),
        of_observe(|it| it.configurational_temperature.as_ref().map(|typed| typed.span.clone())),
        of_observe(|it| span(it.local_order.as_ref())),
        of_observe(|it| span(it.inherent_structures.as_ref())),
    ];
    let mut allowed = true;
    for (place, message, help) in of_stage.into_iter().chain(of_observe) {
        if let Some(place) = place {
            checker.reject(&place, message, help);
            allowed = false;
        }
    }
    allowed
}

/// What the rest of the plan says of them.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    for (number, stage) in plan.stages.iter().enumerate() {
        let (Some(strain), Some(typed)) = (&stage.strain, &document.stage[number].strain) else {
            continue;
        };
        let reference = plan.at_stage(number).system.simulation_box;
        let reach = plan.reach(plan.run.skin.unwrap_or(0.0));
        let half = |turn: &i64| {
            let strained = strain.mode.box_at(&reference, strain.strain(*turn));
            strained.shortest_edge() / 2.0
        };
        let half = strain.turns.iter().map(half).fold(f64::INFINITY, f64::min);
        if reach > half {
            let message = format!(
                "the box is then too small: half its shortest edge, {half:.4}, is below the cutoff"
            );
            checker.reject(&typed.to.span, message, format!("half an edge of at least {reach:.4}"));
        }
        let [x, y, _] = reference.padded_edges();
        let at_once = strain.step * y / x;
        if strain.mode == StrainMode::SimpleShear && at_once > LARGEST_TILT {
            let message = format!("tilts the box by {at_once:.3} of its edge along x at once");
            let help = format!("at most {}", rounded_down(LARGEST_TILT * x / y));
            checker.reject(&typed.step.span, message, help);
        }
        let of_descents = plan.reach(skin::of_descents(&plan.at_stage(number)));
        if let Some(narrow) = plan.narrow_for_strain(number, of_descents) {
            checker.reject(&typed.span, narrow.message(), narrow.help());
        }
        if plan.integrity.is_some() {
            let help = "leave out [integrity], or make the strain a run of its own";
            checker.reject(&typed.span, "steps of strain are not computed twice", help);
        }
        if plan.ensemble.as_ref().is_some_and(|ensemble| ensemble.exchange_every.is_some()) {
            let help = "make the strain a run of its own, from the states of this one";
            checker.reject(&typed.span, "replicas are not exchanged while they are strained", help);
        }
    }
}
