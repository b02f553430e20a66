//! Times since the start of a stage that are listed, or at equal ratios.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::StageChecks;
use crate::config::defaults;
use crate::config::document::{ListOr, Number, Times, Written};

/// Times at most: each adds to files.
pub const MAXIMUM_TIMES: usize = 10_000;
const MOST_PER_DECADE: f64 = 1000.0;

/// In steps of the stage, rounded to at least one, ascending, each once.
pub fn rounded_to_steps(
    times: &Written<ListOr<Times>>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    let mut steps = match &times.value {
        ListOr::List(typed) => {
            if typed.is_empty() {
                let example = "times = [0.1, 1.0, 10.0], for example";
                checker.reject(&times.span, "must hold times", example);
                return None;
            }
            let of = |time| in_steps(time, stage_checks, checker);
            typed.iter().map(of).collect::<Option<Vec<_>>>()?
        }
        ListOr::Table(table) => at_equal_ratios(&times.span, table, stage_checks, checker)?,
    };
    steps.sort_unstable();
    steps.dedup();
    if steps.len() > MAXIMUM_TIMES {
        let message = format!("there are {} times", steps.len());
        checker.reject(&times.span, message, format!("at most {MAXIMUM_TIMES}"));
        return None;
    }
    Some(steps)
}

/// A time in whole steps, at least one, that the stage has.
fn in_steps(
    time: &Written<Number>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<u64> {
    let value = checker.positive(time)?;
    let (timestep, steps) = (stage_checks.timestep?, stage_checks.steps);
    let found = rounded(value / timestep);
    if steps > 0 && found > steps {
        let message = format!("{value:?} is longer than the stage");
        let length = steps as f64 * timestep;
        checker.reject(&time.span, message, format!("at most {length:.6}, or more steps"));
        return None;
    }
    Some(found)
}

fn rounded(steps: f64) -> u64 {
    steps.round().max(1.0) as u64
}

/// In steps, rounded to at least one, ascending; several may be the same.
pub fn at_equal_ratios(
    span: &Range<usize>,
    table: &Times,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    let first = in_steps(&table.from, stage_checks, checker);
    let last = in_steps(&table.to, stage_checks, checker);
    let points = match &table.points_per_decade {
        Some(typed) => checker.positive(typed).filter(|&value| {
            if value > MOST_PER_DECADE {
                let message = format!("must be at most {MOST_PER_DECADE}, not {value:?}");
                checker.reject(&typed.span, message, "");
            }
            value <= MOST_PER_DECADE
        }),
        None => {
            checker.filled_in(span, "points_per_decade", defaults::POINTS_PER_DECADE);
            Some(defaults::POINTS_PER_DECADE)
        }
    };
    let (first, last, points) = (first?, last?, points?);
    let (from, to) = (table.from.value.0, table.to.value.0);
    if to < from {
        let message = format!("{to:?} is shorter than from, {from:?}");
        checker.reject(&table.to.span, message, "");
        return None;
    }
    let timestep = stage_checks.timestep?;
    let count = ((to / from).log10() * points + 1e-9).floor();
    if count >= MAXIMUM_TIMES as f64 {
        let message = format!("there are {} times", count + 1.0);
        checker.reject(span, message, format!("at most {MAXIMUM_TIMES}"));
        return None;
    }
    let at = |k: u64| rounded(from * 10_f64.powf(k as f64 / points) / timestep).clamp(first, last);
    Some((0..=count as u64).map(at).collect())
}
