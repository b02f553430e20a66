//! What a stage changes before its steps: `stage.minimize`, and whether anything moves after it.
use std::ops::Range;

use super::checker::Checker;
use super::inherent;
use super::stage_checks::StageChecks;
use crate::config::document::{Document, Minimize, Table};
use crate::plan::{InherentStructuresPlan, MinimizePlan, Plan, StagePlan, Thermostat};

pub fn minimize(
    document: &Table<Minimize>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<MinimizePlan> {
    let descent = inherent::descent(
        &document.span,
        document.force_tolerance.as_ref(),
        document.maximum_iterations.as_ref(),
        document.timestep.as_ref(),
        stage_checks,
        checker,
    );
    let temperature = match &document.temperature {
        Some(temperature) => Some(checker.positive(temperature)?),
        None => {
            checker.filled_in(&document.span, "temperature", "none: velocities are zero");
            None
        }
    };
    let (force_tolerance, maximum_iterations, timestep) = descent?;
    let descent =
        InherentStructuresPlan { every: 1, force_tolerance, maximum_iterations, timestep };
    Some(MinimizePlan { descent, temperature })
}

/// What the rest of the plan says of them.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let typed = |number: usize| &document.stage[number];
    for (number, stage) in plan.stages.iter().enumerate() {
        if let (Some(minimize), Some(typed)) = (&stage.minimize, &typed(number).minimize)
            && minimize.temperature.is_none()
        {
            check_rest(plan, number, &typed.span, checker);
        }
        if let Some(typed) = &typed(number).strain {
            check_rest(plan, number, &typed.span, checker);
        }
        if let (Some(of), Some(typed)) = (&stage.thermostat, &typed(number).thermostat)
            && of.kind.is_brownian()
            && of.temperature.to == 0.0
        {
            check_rest(plan, number + 1, &typed.temperature.span, checker);
        }
    }
}

/// Something must set the particles in motion in the first stage from one on that takes steps: it comes from a minimum, or from overdamped
/// motion.
fn check_rest(plan: &Plan, number: usize, typed: &Range<usize>, checker: &mut Checker<'_>) {
    let is_strain = |stage: &StagePlan| stage.strain.is_some();
    let moving = plan.stages[number..].iter().enumerate().find(|(after, stage)| {
        let comes_to_rest = stage.minimize.is_some() || is_strain(stage);
        (stage.steps > 0 && !is_strain(stage)) || (*after > 0 && comes_to_rest)
    });
    let Some((_, moving)) = moving.filter(|(_, stage)| stage.steps > 0 && !is_strain(stage)) else {
        return;
    };
    let needs_none = |kind: Thermostat| kind.draws_velocities() || kind.is_brownian();
    let draws = moving.thermostat.is_some_and(|thermostat| needs_none(thermostat.kind));
    if !draws
        && !moving.draw_velocities
        && moving.minimize.is_none_or(|of| of.temperature.is_none())
    {
        let of = &plan.stages[number];
        let message =
            format!("velocities are zero after this, and the stage {:?} gives none", moving.name);
        let help = match is_strain(of) || of.minimize.is_none() {
            true => "draw_velocities = true or an andersen or langevin thermostat there",
            false => {
                "temperature = ... here for new ones, or draw_velocities = true or an andersen or langevin thermostat there"
            }
        };
        checker.reject(typed, message, help);
    }
}
