//! `[stage.propensity]`.
use super::checker::Checker;
use super::stage_checks::StageChecks;
use super::{decays, inherent, neighbors};
use crate::config::defaults;
use crate::config::document::{Document, Number, Propensity, Table, Written};
use crate::plan::{EnsembleKind, Plan, PropensityObservable, PropensityPlan};

pub fn check(
    document: &Table<Propensity>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<PropensityPlan> {
    let steps = decays::steps_of_times(&document.times, stage_checks, checker);
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
    if document.trajectory.is_none() {
        checker.filled_in(&document.span, "trajectory", false);
    }
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
        } else {
            decays::check_plan(plan, typed, checker);
        }
    }
}
