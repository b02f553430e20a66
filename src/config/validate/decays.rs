//! Times of propensities at which the structure has decayed in a first run, which the plan repeats to the bit.
use std::path::Path;

use supercool_analysis::export::steps_of_decay;
use supercool_analysis::results::ResultsFile;

use super::checker::Checker;
use super::stage_checks::StageChecks;
use super::times;
use crate::config::document::{ListOr, Propensity, PropensityTimes, Times, Written};
use crate::plan::{EnsemblePlan, Plan, Precision, StagePlan};

/// Steps of the stage, ascending, each once.
pub fn steps_of_times(
    typed: &Written<ListOr<PropensityTimes>>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    let span = typed.span.clone();
    let value = match &typed.value {
        ListOr::List(list) => ListOr::List(list.clone()),
        ListOr::Table(table) if table.scattering.is_some() || table.first_run.is_some() => {
            return of_first_run(typed, table, stage_checks, checker);
        }
        ListOr::Table(table) => {
            let PropensityTimes { from, to, points_per_decade, .. } = table.clone();
            for (key, typed) in [("from", &from), ("to", &to)] {
                if typed.is_none() {
                    checker.missing(&span, key, "times = { from = 0.1, to = 1000.0 }, for example");
                }
            }
            ListOr::Table(Times { from: from?, to: to?, points_per_decade })
        }
    };
    times::rounded_to_steps(&Written { value, span }, stage_checks, checker)
}

fn of_first_run(
    typed: &Written<ListOr<PropensityTimes>>,
    table: &PropensityTimes,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    const EXAMPLE: &str =
        "times = { scattering = [0.9, 0.5, 0.1], first_run = \"results/first/NAME.h5\" }";
    let others = [&table.from, &table.to, &table.points_per_decade];
    if let Some(other) = others.into_iter().flatten().next() {
        let message = "times are at equal ratios or those of scattering, not both";
        checker.reject(&other.span, message, "leave it out");
        return None;
    }
    let (Some(values), Some(path)) = (&table.scattering, &table.first_run) else {
        let key = if table.scattering.is_none() { "scattering" } else { "first_run" };
        checker.missing(&typed.span, key, EXAMPLE);
        return None;
    };
    if values.value.is_empty() {
        checker.reject(&values.span, "must hold values", EXAMPLE);
        return None;
    }
    for value in &values.value {
        if !(value.value.0 > 0.0 && value.value.0 < 1.0) {
            let message = format!("must be between 0 and 1, not {:?}", value.value.0);
            checker.reject(&value.span, message, EXAMPLE);
            return None;
        }
    }
    let wanted: Vec<f64> = values.value.iter().map(|value| value.value.0).collect();
    let steps = match steps_of_decay(&checker.path(path)?, &wanted) {
        Ok(steps) => steps,
        Err(error) => {
            let help = "a finished run with propensities of the self-intermediate scattering function at close times";
            checker.reject(&path.span, error.to_string(), help);
            return None;
        }
    };
    let (last, of_stage) = (steps.last().copied().unwrap_or(0), stage_checks.steps);
    if of_stage > 0 && last > of_stage {
        let time = last as f64 * stage_checks.timestep?;
        let message = format!("the last of these times, {time:.6}, is longer than the stage");
        checker.reject(&values.span, message, format!("steps = {last}, or more"));
        return None;
    }
    Some(steps)
}

/// That the first run, if times are taken from one, had the steps of this plan.
pub fn check_plan(plan: &Plan, document: &Propensity, checker: &mut Checker<'_>) {
    let ListOr::Table(PropensityTimes { first_run: Some(path), .. }) = &document.times.value else {
        return;
    };
    if let Some(problem) = differs_in(plan, Path::new(&path.value)) {
        let message = format!("the run of {} is another one: {problem}", path.value);
        let help = "all but stage.observe, correlations, propensities and the length of the stage must be as it was there";
        checker.reject(&path.span, message, help);
    }
}

/// In what the run of a file does not take the steps of the plan in its first stage.
fn differs_in(plan: &Plan, path: &Path) -> Option<String> {
    if plan.run.precision != Precision::FixedPoint {
        return Some("only runs in precision \"fixed-point\" repeat their bits".to_owned());
    }
    let first = ResultsFile::open(path).ok().and_then(|file| file.plan());
    let Some(first) = first.and_then(|plan| serde_json::from_value::<Plan>(plan).ok()) else {
        return Some("it holds no plan that this version reads".to_owned());
    };
    // As results files hold it.
    let (first, plan) = (first.at_stage(0), plan.at_stage(0));
    let differs = [
        (first.system != plan.system, "[system]"),
        (first.potential != plan.potential, "[potential]"),
        (first.run.precision != plan.run.precision, "run.precision"),
        (first.run.timestep != plan.run.timestep, "run.timestep"),
        (of_files(&first) != of_files(&plan), "[ensemble]"),
        (
            first.stages.first().map(|stage| steps_of(stage, &plan))
                != plan.stages.first().cloned(),
            "the first stage",
        ),
    ];
    let found = differs.into_iter().find(|(differs, _)| *differs);
    found.map(|(_, what)| format!("{what} differs"))
}

/// Without what is known only when the files have been read.
fn of_files(plan: &Plan) -> Option<EnsemblePlan> {
    let keys_behind_file = Vec::new();
    plan.ensemble.clone().map(|ensemble| EnsemblePlan { keys_behind_file, ..ensemble })
}

/// A stage with what a plan observes in its first one, and as long where its steps do not depend on its length.
fn steps_of(stage: &StagePlan, plan: &Plan) -> StagePlan {
    let now = &plan.stages[0];
    let is_steady = stage.rescale.is_none()
        && stage.barostat.is_none()
        && stage.thermostat.is_none_or(|of| of.temperature.from == of.temperature.to);
    StagePlan {
        name: now.name.clone(),
        steps: if is_steady { now.steps } else { stage.steps },
        observe: now.observe.clone(),
        correlations: now.correlations.clone(),
        propensity: now.propensity.clone(),
        ..stage.clone()
    }
}
