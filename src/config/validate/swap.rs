//! `swap` of a stage.
use std::collections::HashMap;

use super::checker::Checker;
use super::species_pair::{pair_key, species_of_pair};
use super::stage_checks::StageChecks;
use crate::config::defaults;
use crate::config::document::{Stage, Swap, Table};
use crate::observable::dynamics::source::{follows_particles, is_of_stress};
use crate::plan::{SpeciesPairs, SwapPlan};

/// Trials of a round at most.
const MOST_TRIALS: f64 = u32::MAX as f64;

/// `Some(None)`: there are no exchanges.
pub fn check(
    stage: &Table<Stage>,
    conditions: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<SwapPlan>> {
    let Some(table) = &stage.swap else { return Some(None) };
    if stage.thermostat.is_none() {
        let help = "give the stage a thermostat: its temperature is that of the exchanges";
        checker.reject(&table.span, "belongs to a stage with a thermostat", help);
        return None;
    }
    let pairs = pairs(table, conditions, checker);
    let of_species = pairs.is_some_and(|pairs| !pairs.is_empty());
    let correlations = refuse_correlations(stage, of_species, checker);
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
    correlations?;
    Some(Some(SwapPlan { every, trials_per_particle, pairs: pairs? }))
}

/// The species that are exchanged; none where diameters are.
fn pairs(
    table: &Table<Swap>,
    conditions: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<SpeciesPairs> {
    let species = conditions.species?;
    let Some(listed) = &table.pairs else {
        if conditions.diameters? {
            return Some(SpeciesPairs::default());
        }
        let help = match species {
            [_] => "give [system.diameters], or leave swap out".to_owned(),
            [.., a, b] => format!(
                "give the species that are exchanged: pairs = [\"{}\"]",
                pair_key(&a.name, &b.name)
            ),
            [] => String::new(),
        };
        checker.reject(&table.span, "exchanges diameters, and particles have none", help);
        return None;
    };
    if conditions.diameters? {
        let help = "leave it out: diameters are exchanged";
        checker.reject(&listed.span, "is for species, and particles have diameters", help);
        return None;
    }
    let numbers: HashMap<&str, usize> =
        species.iter().enumerate().map(|(number, one)| (one.name.as_str(), number)).collect();
    let mut pairs = SpeciesPairs::default();
    for name in &listed.value {
        let (a, b) = species_of_pair(&name.value, &name.span, &numbers, checker)?;
        let wrong = if a == b {
            Some(("exchanges particles of one species, which changes nothing", "name two"))
        } else if species[a].mass != species[b].mass {
            Some((
                "exchanges particles of different masses",
                "velocities stay with the places, so that masses have to be equal",
            ))
        } else if a.max(b) >= SpeciesPairs::MOST_SPECIES {
            Some((
                "has a species beyond the first eight",
                "put those that are exchanged first, or give particles diameters",
            ))
        } else {
            None
        };
        if let Some((message, help)) = wrong {
            checker.reject(&name.span, message, help);
            return None;
        }
        pairs.insert(a, b);
    }
    if pairs.is_empty() {
        checker.reject(&listed.span, "names no pair", "for example pairs = [\"AC\", \"BC\"]");
        return None;
    }
    Some(pairs)
}

/// Nothing follows the particle that stays at its place: engines know particles by their ids, in samples, files and checkpoints.
const IDS_JUMP: &str = "follows particles by their ids, and with its species a particle takes over the id of another: ids jump between places";
const INSTEAD: &str = "leave it to a stage without swap, or give the particles diameters, whose exchange leaves ids at their places";

/// Exchanges make the stress jump between steps, so that its correlations are not those of a liquid. With its species a
/// particle takes over the place of another, so that nothing can follow it.
fn refuse_correlations(
    stage: &Table<Stage>,
    of_species: bool,
    checker: &mut Checker<'_>,
) -> Option<()> {
    let observables = stage.correlation.iter().flat_map(|correlation| &correlation.observables);
    let mut right = Some(());
    let elsewhere = "leave it to a stage without swap";
    let mut refuse = |span, message, help| {
        checker.reject(span, message, help);
        right = None;
    };
    for observable in observables.flat_map(|typed| &typed.value) {
        if is_of_stress(observable.value) {
            refuse(
                &observable.span,
                "is made of stresses, which jump where particles are exchanged",
                elsewhere,
            );
        } else if of_species && follows_particles(observable.value) {
            refuse(&observable.span, IDS_JUMP, INSTEAD);
        }
    }
    if let Some(propensity) = stage.propensity.as_ref().filter(|_| of_species) {
        refuse(&propensity.span, IDS_JUMP, INSTEAD);
    }
    right
}
