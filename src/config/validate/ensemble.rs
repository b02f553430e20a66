//! `[ensemble]`.
mod exchange;

use super::checker::{Checker, EnsembleTemperature};
use super::isoconfigurational;
use super::system::MAXIMUM_PARTICLES;
use crate::config::document::{Document, Ensemble, PlainOr, Table, Temperature};
use crate::plan::{EnsembleKind, EnsemblePlan, Plan, TemperatureKey};

/// Systems of a run at most: each has its files' datasets.
pub const MAXIMUM_SYSTEMS: u64 = 1 << 16;

const EXAMPLE: &str = "temperatures = [1.0, 0.8, 0.6], for example";

/// From now on the checker knows what `temperature = "ensemble"` stands for.
pub fn check(document: &Document, checker: &mut Checker<'_>) -> Option<Option<EnsemblePlan>> {
    let Some(table) = &document.ensemble else { return Some(None) };
    checker.ensemble = EnsembleTemperature::Unknown;
    let kind = table.kind.value;
    isoconfigurational::check_keys(table, checker);
    if kind == EnsembleKind::Isoconfigurational {
        checker.ensemble = EnsembleTemperature::None;
        return isoconfigurational::check(table, document, checker).map(Some);
    }
    let temperatures = temperatures(table, checker);
    let samples = match (&table.systems, kind) {
        (Some(systems), _) => checker.integer(systems, 1..=MAXIMUM_SYSTEMS),
        (None, EnsembleKind::Temperatures | EnsembleKind::ReplicaExchange) => {
            checker.filled_in(&table.span, "systems", 1);
            Some(1)
        }
        (None, _) => {
            checker.missing(&table.span, "systems", "systems = 64, for example");
            None
        }
    };
    let exchange_every = exchange::interval(table, checker);
    let (temperatures, samples) = (temperatures?, samples? as usize);
    checker.ensemble = match temperatures.iter().copied().reduce(f64::max) {
        Some(highest) => EnsembleTemperature::Highest(highest),
        None => EnsembleTemperature::None,
    };
    let temperature_of = places(document);
    let keys_behind_file = Vec::new();
    Some(Some(EnsemblePlan {
        kind,
        samples,
        temperatures,
        exchange_every: exchange_every?,
        temperature_of,
        configurations: Vec::new(),
        keys_behind_file,
    }))
}

fn temperatures(table: &Table<Ensemble>, checker: &mut Checker<'_>) -> Option<Vec<f64>> {
    match (&table.temperatures, table.kind.value) {
        (None, EnsembleKind::Temperatures | EnsembleKind::ReplicaExchange) => {
            checker.missing(&table.span, "temperatures", EXAMPLE);
            None
        }
        (None, _) => Some(Vec::new()),
        (Some(typed), EnsembleKind::Independent | EnsembleKind::Isoconfigurational) => {
            let message = "belongs to the ensemble \"temperatures\", not to \"independent\"";
            checker.reject(&typed.span, message, "leave it out, or give kind = \"temperatures\"");
            None
        }
        (Some(typed), EnsembleKind::Temperatures | EnsembleKind::ReplicaExchange) => {
            if typed.value.is_empty() {
                checker.reject(&typed.span, "must hold temperatures", EXAMPLE);
                return None;
            }
            let checked: Vec<Option<f64>> =
                typed.value.iter().map(|number| checker.positive(number)).collect();
            let checked: Vec<f64> = checked.into_iter().collect::<Option<_>>()?;
            for (index, number) in typed.value.iter().enumerate() {
                if checked[..index].contains(&checked[index]) {
                    let message = format!("the temperature {:?} is given twice", checked[index]);
                    checker.reject(&number.span, message, "systems = 2 gives two of each");
                    return None;
                }
            }
            let is_ladder = table.kind.value != EnsembleKind::ReplicaExchange
                || exchange::is_ladder(typed, &checked, checker);
            is_ladder.then_some(checked)
        }
    }
}

/// Where `temperature = "ensemble"` stands.
fn places(document: &Document) -> Vec<TemperatureKey> {
    let is_ensemble = |typed: &Temperature| *typed == Temperature::Ensemble;
    let initial = document.system.initial.temperature.as_ref();
    let initial = initial.filter(|typed| is_ensemble(&typed.value));
    let mut places: Vec<_> = initial.map(|_| TemperatureKey::Initial).into_iter().collect();
    for (stage, table) in document.stage.iter().enumerate() {
        let Some(thermostat) = &table.thermostat else { continue };
        let (from, to) = match &thermostat.temperature.value {
            PlainOr::Plain(plain) => (plain, plain),
            PlainOr::Table(ramp) => (&ramp.from.value, &ramp.to.value),
        };
        places.extend(is_ensemble(from).then_some(TemperatureKey::From(stage)));
        places.extend(is_ensemble(to).then_some(TemperatureKey::To(stage)));
    }
    places
}

/// What the other tables say of it.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let (Some(ensemble), Some(table)) = (&plan.ensemble, &document.ensemble) else { return };
    let systems = ensemble.systems() as u64;
    let particles = systems * plan.system.particle_count() as u64;
    if systems > MAXIMUM_SYSTEMS || particles > MAXIMUM_PARTICLES {
        let message = format!("{systems} systems have {particles} particles together");
        let help =
            format!("at most {MAXIMUM_SYSTEMS} systems and {MAXIMUM_PARTICLES} particles in all");
        let place = table.systems.as_ref().or(table.runs.as_ref());
        checker.reject(place.map_or(&table.span, |typed| &typed.span), message, help);
    }
    if let Some(typed) = &table.temperatures
        && ensemble.kind == EnsembleKind::Temperatures
        && ensemble.temperature_of.is_empty()
    {
        let message = "no temperature of the run is \"ensemble\", which stands for these";
        let help = "give a thermostat, or system.initial, temperature = \"ensemble\"";
        checker.reject(&typed.span, message, help);
    }
    exchange::check_plan(plan, document, checker);
    for (stage, typed) in plan.stages.iter().zip(&document.stage) {
        if let Some(observe) = &typed.observe
            && let Some(gsd) = &observe.gsd
            && stage.observe.gsd
        {
            let message = "a GSD file holds one system";
            checker.reject(&gsd.span, message, "leave it out: the H5MD file holds all systems");
        }
    }
}
