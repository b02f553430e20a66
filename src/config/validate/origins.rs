//! `origins` of a correlation: time origins that are given.
use supercool_observables::Section;

use super::checker::Checker;
use super::stage_checks::StageChecks;
use super::times;
use crate::config::document::{Correlation, Document, ListOr, Number, Table, Written};
use crate::observable::dynamics::source::is_of_stress;
use crate::plan::{DynamicObservable, Plan};

/// Each has all lags.
const MAXIMUM_ORIGINS: usize = 1000;
/// A time is a multiple of the timestep if it is within this share of one.
const ROUNDING: f64 = 1e-6;

/// In steps since the start of the stage, ascending; none where they are not given. `shortest`: the first lag behind them, in steps.
pub fn check(
    document: &Table<Correlation>,
    shortest: Option<u64>,
    observables: Option<&[DynamicObservable]>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    let Some(typed) = &document.origins else { return Some(Vec::new()) };
    let of_stress = observables?.iter().find(|&&observable| is_of_stress(observable));
    if let Some(of_stress) = of_stress {
        let message = format!(
            "{} of one time origin is the product of two numbers, and says nothing",
            of_stress.word()
        );
        let help = "leave origins out, or give the stress a [[stage.correlation]] without them";
        checker.reject(&typed.span, message, help);
        return None;
    }
    let steps = match &typed.value {
        ListOr::List(list) => {
            if list.is_empty() {
                let help = "origins = [0, 10, 100], for example, or leave it out for an average over all of them";
                checker.reject(&typed.span, "must hold times", help);
                return None;
            }
            listed(list, stage_checks, checker)?
        }
        ListOr::Table(table) => {
            let mut steps = times::at_equal_ratios(&typed.span, table, stage_checks, checker)?;
            steps.dedup();
            steps
        }
    };
    if steps.len() > MAXIMUM_ORIGINS {
        let message = format!("there are {} time origins", steps.len());
        checker.reject(&typed.span, message, format!("at most {MAXIMUM_ORIGINS}"));
        return None;
    }
    let (timestep, shortest, last) = (stage_checks.timestep?, shortest?, *steps.last()?);
    if stage_checks.steps > 0 && last + shortest > stage_checks.steps {
        let span = match &typed.value {
            ListOr::List(list) => &list[list.len() - 1].span,
            ListOr::Table(table) => &table.to.span,
        };
        let message = format!(
            "the last time origin, {:.6}, has no lag before the end of the stage",
            last as f64 * timestep
        );
        let latest = stage_checks.steps.saturating_sub(shortest) as f64 * timestep;
        checker.reject(span, message, format!("at most {latest:.6}, or more steps"));
        return None;
    }
    Some(steps)
}

fn listed(
    list: &[Written<Number>],
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    let mut steps: Vec<u64> = Vec::with_capacity(list.len());
    for (index, time) in list.iter().enumerate() {
        let value = checker.finite(time)?;
        if value < 0.0 {
            let help = "time origins are times since the start of the stage, from 0 on";
            checker.reject(&time.span, format!("{value:?} is before the stage"), help);
            return None;
        }
        let (timestep, of_stage) = (stage_checks.timestep?, stage_checks.steps);
        let wanted = value / timestep;
        if of_stage > 0 && wanted > of_stage as f64 * (1.0 + 1e-9) {
            let length = of_stage as f64 * timestep;
            let message = format!("{value:?} is beyond the end of the stage, {length:.6}");
            checker.reject(&time.span, message, "earlier ones, or more steps");
            return None;
        }
        let found = wanted.round();
        if (wanted - found).abs() > ROUNDING * wanted.max(1.0) {
            let message = format!("{value:?} is not a multiple of the timestep, {timestep:?}");
            let help = format!("for example {:.6}, {found} steps", found * timestep);
            checker.reject(&time.span, message, help);
            return None;
        }
        let found = found as u64;
        if let Some(&before) = steps.last()
            && found <= before
        {
            let message = format!("{value:?} is not behind {:?}", list[index - 1].value.0);
            checker.reject(&time.span, message, "time origins ascend");
            return None;
        }
        steps.push(found);
    }
    Some(steps)
}

/// Fluctuations are those of one time origin over many systems.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    if plan.ensemble.as_ref().is_some_and(|ensemble| ensemble.samples > 1) {
        return;
    }
    for (number, (stage, typed)) in plan.stages.iter().zip(&document.stage).enumerate() {
        checker.in_stage(number, &stage.name);
        for (correlation, typed) in stage.correlations.iter().zip(&typed.correlation) {
            let Some(origins) = &typed.origins else { continue };
            let mut observables = correlation.observables.iter();
            if let Some(fluctuation) = observables.find(|&&of| is_fluctuation(of)) {
                let word = fluctuation.word();
                let message = format!(
                    "{word} from a time origin is a variance over systems, and there is one"
                );
                let help = "add [ensemble] with several systems, or leave origins out";
                checker.reject(&origins.span, message, help);
            }
        }
    }
    checker.after_stages();
}

fn is_fluctuation(observable: DynamicObservable) -> bool {
    let figure = observable.descriptor().figure;
    figure.is_some_and(|figure| figure.section == Section::Susceptibility)
}
