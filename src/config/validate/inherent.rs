//! `[stage.observe.inherent_structures]`.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::{StageChecks, interval};
use super::times;
use crate::config::defaults;
use crate::config::document::{Document, InherentStructures, Integer, Number, Table, Written};
use crate::plan::{InherentStructuresPlan, Plan};

const MOST_ITERATIONS: u64 = 1_000_000_000;

/// With the steps at which they are taken, where these are not at an interval.
pub fn check(
    document: &Table<InherentStructures>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<(InherentStructuresPlan, Vec<u64>)> {
    let span = &document.span;
    let when = match (&document.every, &document.times) {
        (Some(every), None) => {
            interval(every, stage_checks, checker).map(|every| (every, Vec::new()))
        }
        // The interval is without meaning.
        (None, Some(times)) => {
            times::rounded_to_steps(times, stage_checks, checker).map(|steps| (1, steps))
        }
        (Some(_), Some(times)) => {
            let message = "does not go together with every";
            checker.reject(&times.span, message, "leave one of them out");
            None
        }
        (None, None) => {
            checker.missing(span, "every", "the interval in steps: every = 10_000, or times");
            None
        }
    };
    let descent = descent(
        span,
        document.force_tolerance.as_ref(),
        document.maximum_iterations.as_ref(),
        document.timestep.as_ref(),
        stage_checks,
        checker,
    );
    let (force_tolerance, maximum_iterations, timestep) = descent?;
    let (every, steps) = when?;
    let plan = InherentStructuresPlan { every, force_tolerance, maximum_iterations, timestep };
    Some((plan, steps))
}

/// Tolerance, iterations and first time step of a descent.
pub fn descent(
    span: &Range<usize>,
    force_tolerance: Option<&Written<Number>>,
    maximum_iterations: Option<&Written<Integer>>,
    timestep: Option<&Written<Number>>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<(f64, u64, f64)> {
    let force_tolerance =
        checker.positive_or(span, "force_tolerance", force_tolerance, defaults::FORCE_TOLERANCE);
    let maximum_iterations = checker.integer_or(
        span,
        "maximum_iterations",
        maximum_iterations,
        1..=MOST_ITERATIONS,
        defaults::MAXIMUM_ITERATIONS,
    );
    let timestep = match timestep {
        Some(timestep) => checker.positive(timestep),
        None => {
            // Ten times as long a step as that of a run would be near the limit of stability.
            let half = 0.5 * stage_checks.timestep?;
            checker.filled_in(span, "timestep", half);
            Some(half)
        }
    };
    Some((force_tolerance?, maximum_iterations?, timestep?))
}

/// Where nothing is typed; of a run of this timestep.
pub fn by_default(timestep: f64) -> InherentStructuresPlan {
    InherentStructuresPlan {
        every: 1,
        force_tolerance: defaults::FORCE_TOLERANCE,
        maximum_iterations: defaults::MAXIMUM_ITERATIONS,
        timestep: 0.5 * timestep,
    }
}

/// What the other stages say of them.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    for (stage, typed) in plan.stages.iter().zip(&document.stage) {
        let Some(observe) = &typed.observe else { continue };
        let Some(table) = &observe.inherent_structures else { continue };
        let file = format!("{}.inherent", stage.name);
        let other = plan.stages.iter().find(|other| other.name.eq_ignore_ascii_case(&file));
        if let Some(other) = other {
            let message = format!("{file}.h5md would be a file of the stage {:?}, too", other.name);
            checker.reject(&table.span, message, "give one of the stages another name");
        }
    }
}
