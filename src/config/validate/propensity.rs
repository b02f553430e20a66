//! `[stage.propensity]`.
use super::checker::Checker;
use super::stage_checks::StageChecks;
use super::{inherent, neighbors};
use crate::config::defaults;
use crate::config::document::{Document, ListOr, Number, Propensity, Table, Times, Written};
use crate::plan::{EnsembleKind, Plan, PropensityObservable, PropensityPlan};

/// Times at most: each adds arrays over all particles to the file.
const MAXIMUM_TIMES: usize = 10_000;
const MOST_PER_DECADE: f64 = 1000.0;

pub fn check(
    document: &Table<Propensity>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<PropensityPlan> {
    let steps = steps(document, stage_checks, checker);
    let observables = observables(document, checker)?;
    let has = |observable| observables.contains(&observable);
    let scattering = has(PropensityObservable::SelfIntermediateScatteringFunction);
    let wavenumber = match (&document.wavenumber, scattering) {
        (Some(typed), true) => checker.positive(typed).map(Some),
        (None, false) => Some(None),
        (None, true) => {
            let help = "the self-intermediate scattering function needs it: wavenumber = 7.25";
            checker.missing(&document.span, "wavenumber", help);
            None
        }
        (Some(typed), false) => {
            unused(typed, PropensityObservable::SelfIntermediateScatteringFunction, checker)
        }
    };
    let overlap_length = match (&document.overlap_length, has(PropensityObservable::SelfOverlap)) {
        (typed, true) => checker
            .positive_or(&document.span, "overlap_length", typed.as_ref(), defaults::OVERLAP_LENGTH)
            .map(Some),
        (None, false) => Some(None),
        (Some(typed), false) => unused(typed, PropensityObservable::SelfOverlap, checker),
    };
    let (radius, breaking) =
        (document.bond_radius.as_ref(), document.bond_breaking_radius.as_ref());
    let bonds = match (has(PropensityObservable::BondBreaking), radius.or(breaking)) {
        (true, _) => {
            neighbors::bond_plan(radius, breaking, &document.span, stage_checks, checker).map(Some)
        }
        (false, None) => Some(None),
        (false, Some(typed)) => unused(typed, PropensityObservable::BondBreaking, checker),
    };
    let inherent = match &document.inherent {
        Some(typed) if typed.value => Some(Some(inherent::by_default(stage_checks.timestep?))),
        Some(_) => Some(None),
        None => {
            checker.filled_in(&document.span, "inherent", false);
            Some(None)
        }
    };
    Some(PropensityPlan {
        steps: steps?,
        observables,
        wavenumber: wavenumber?,
        overlap_length: overlap_length?,
        bonds: bonds?,
        inherent: inherent?,
    })
}

fn unused<T>(
    typed: &Written<Number>,
    needs: PropensityObservable,
    checker: &mut Checker<'_>,
) -> Option<T> {
    let help = format!("add \"{}\" to observables, or leave it out", needs.word());
    checker.reject(&typed.span, "no observable of these propensities takes it", help);
    None
}

fn observables(
    document: &Table<Propensity>,
    checker: &mut Checker<'_>,
) -> Option<Vec<PropensityObservable>> {
    let default = PropensityObservable::Displacement;
    let Some(typed) = &document.observables else {
        checker.filled_in(&document.span, "observables", default.word());
        return Some(vec![default]);
    };
    if typed.value.is_empty() {
        let help = format!("leave it out for \"{}\"", default.word());
        checker.reject(&typed.span, "names no observable", help);
        return None;
    }
    let mut all = Vec::new();
    for observable in &typed.value {
        if all.contains(&observable.value) {
            checker.reject(&observable.span, "is named twice", "leave one of them out");
            return None;
        }
        all.push(observable.value);
    }
    Some(all)
}

/// In steps of the stage, ascending, each once.
fn steps(
    document: &Table<Propensity>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<u64>> {
    let mut steps = match &document.times.value {
        ListOr::List(typed) => {
            if typed.is_empty() {
                let example = "times = [0.1, 1.0, 10.0], for example";
                checker.reject(&document.times.span, "must hold times", example);
                return None;
            }
            let of = |time| in_steps(time, stage_checks, checker);
            typed.iter().map(of).collect::<Option<Vec<_>>>()?
        }
        ListOr::Table(table) => at_equal_ratios(document, table, stage_checks, checker)?,
    };
    steps.sort_unstable();
    steps.dedup();
    if steps.len() > MAXIMUM_TIMES {
        let message = format!("there are {} times", steps.len());
        checker.reject(&document.times.span, message, format!("at most {MAXIMUM_TIMES}"));
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

fn at_equal_ratios(
    document: &Table<Propensity>,
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
            checker.filled_in(
                &document.times.span,
                "points_per_decade",
                defaults::POINTS_PER_DECADE,
            );
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
        checker.reject(&document.times.span, message, format!("at most {MAXIMUM_TIMES}"));
        return None;
    }
    let at = |k: u64| rounded(from * 10_f64.powf(k as f64 / points) / timestep).clamp(first, last);
    Some((0..=count as u64).map(at).collect())
}

/// What the rest of the plan says of it.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    for (number, (stage, typed)) in plan.stages.iter().zip(&document.stage).enumerate() {
        let (Some(_), Some(typed)) = (&stage.propensity, &typed.propensity) else { continue };
        let kind = plan.ensemble.as_ref().map(|ensemble| ensemble.kind);
        if kind != Some(EnsembleKind::Isoconfigurational) {
            let message = "propensities are averages over runs from the same configuration";
            let help = "add [ensemble] with kind = \"isoconfigurational\", or leave them out";
            checker.reject(&typed.span, message, help);
        } else if number > 0 {
            let first = &plan.stages[0].name;
            let message = "runs have the same positions only at the start of the first stage";
            checker.reject(&typed.span, message, format!("move it to the stage {first:?}"));
        }
    }
}
