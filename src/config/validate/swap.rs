//! `swap` of a stage.
use super::checker::Checker;
use super::stage_checks::StageChecks;
use crate::config::defaults;
use crate::config::document::{Stage, Table};
use crate::observable::dynamics::source::is_of_stress;
use crate::plan::SwapPlan;

/// Trials of a round at most.
const MOST_TRIALS: f64 = u32::MAX as f64;

/// `Some(None)`: there are no exchanges.
pub fn check(
    stage: &Table<Stage>,
    conditions: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<SwapPlan>> {
    let Some(table) = &stage.swap else { return Some(None) };
    if conditions.diameters == Some(false) {
        let help = "give [system.diameters], or leave swap out";
        checker.reject(&table.span, "exchanges diameters, and particles have none", help);
        return None;
    }
    if stage.thermostat.is_none() {
        let help = "give the stage a thermostat: its temperature is that of the exchanges";
        checker.reject(&table.span, "belongs to a stage with a thermostat", help);
        return None;
    }
    let stresses = refuse_stresses(stage, checker);
    let every = checker.integer(&table.every, 1..=i64::MAX as u64);
    let trials = table.trials_per_particle.as_ref();
    let trials = checker.positive_or(
        &table.span,
        "trials_per_particle",
        trials,
        defaults::TRIALS_PER_PARTICLE,
    );
    let (every, trials_per_particle) = (every?, trials?);
    let particles = conditions.species?.iter().map(|species| species.count).sum::<usize>() as f64;
    if let Some(typed) = &table.trials_per_particle
        && trials_per_particle * particles > MOST_TRIALS
    {
        let message = format!("{:.1e} trials in a round", trials_per_particle * particles);
        checker.reject(&typed.span, message, "fewer trials, and a smaller `every`");
        return None;
    }
    stresses.map(|()| Some(SwapPlan { every, trials_per_particle }))
}

/// Exchanges make the stress jump between steps, so that its correlations are not those of a liquid.
fn refuse_stresses(stage: &Table<Stage>, checker: &mut Checker<'_>) -> Option<()> {
    let observables = stage.correlation.iter().flat_map(|correlation| &correlation.observables);
    let mut found = None;
    for observable in observables.flat_map(|typed| &typed.value) {
        if is_of_stress(observable.value) {
            let message = "is made of stresses, which jump where diameters are exchanged";
            let help = "leave it to a stage without swap";
            checker.reject(&observable.span, message, help);
            found = Some(());
        }
    }
    found.map_or(Some(()), |()| None)
}
