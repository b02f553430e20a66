//! `[stage.observe.inherent_structures]`.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::{StageChecks, interval};
use crate::config::defaults;
use crate::config::document::{Document, InherentStructures, Integer, Number, Table, Written};
use crate::plan::{InherentStructuresPlan, Plan};

const MOST_ITERATIONS: u64 = 1_000_000_000;

pub fn check(
    document: &Table<InherentStructures>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<InherentStructuresPlan> {
    let span = &document.span;
    let every = interval(&document.every, stage_checks, checker);
    let descent = descent(
        span,
        document.force_tolerance.as_ref(),
        document.maximum_iterations.as_ref(),
        document.timestep.as_ref(),
        stage_checks,
        checker,
    );
    let (force_tolerance, maximum_iterations, timestep) = descent?;
    Some(InherentStructuresPlan { every: every?, force_tolerance, maximum_iterations, timestep })
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

/// What the potential and the other stages say of them.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    for (stage, typed) in plan.stages.iter().zip(&document.stage) {
        if let Some(settings) = stage.propensity.as_ref().and_then(|of| of.inherent)
            && let Some(typed) = typed.propensity.as_ref().and_then(|of| of.inherent.as_ref())
        {
            check_jump(plan, &settings, &typed.span, checker);
        }
        let (Some(settings), Some(observe)) = (stage.observe.inherent_structures, &typed.observe)
        else {
            continue;
        };
        let Some(table) = &observe.inherent_structures else { continue };
        check_jump(plan, &settings, &table.span, checker);
        let file = format!("{}.inherent", stage.name);
        let other = plan.stages.iter().find(|other| other.name.eq_ignore_ascii_case(&file));
        if let Some(other) = other {
            let message = format!("{file}.h5md would be a file of the stage {:?}, too", other.name);
            checker.reject(&table.span, message, "give one of the stages another name");
        }
    }
}

pub fn check_jump(
    plan: &Plan,
    settings: &InherentStructuresPlan,
    span: &Range<usize>,
    checker: &mut Checker<'_>,
) {
    let jump = plan.potential.jumps_at_cutoff().energy;
    // A force below the tolerance changes the energy by no more over a distance of sigma.
    if jump >= settings.force_tolerance * plan.potential.smallest_length() {
        let message = format!(
            "the energy jumps by {jump:.2e} at the cutoff: between minima it would go up and down in steps"
        );
        let help =
            "truncation = \"shifted\", \"force-shifted\" or { kind = \"smooth\", width = 0.005 }";
        checker.reject(span, message, help);
    }
}
