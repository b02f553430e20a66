//! `kind = "replica-exchange"`.
use super::super::checker::Checker;
use crate::config::document::{Document, Ensemble, Number, Table, Written};
use crate::plan::{EnsembleKind, Plan};

/// Steps between exchanges at most: more than a stage has.
const MAXIMUM_INTERVAL: u64 = 1_000_000_000_000;

const LADDER: &str = "temperatures = [1.0, 0.9, 0.8], for example";

/// Steps between exchanges, where there are any.
pub fn interval(table: &Table<Ensemble>, checker: &mut Checker<'_>) -> Option<Option<u64>> {
    match (&table.exchange_every, table.kind.value) {
        (Some(every), EnsembleKind::ReplicaExchange) => {
            checker.integer(every, 1..=MAXIMUM_INTERVAL).map(Some)
        }
        (None, EnsembleKind::ReplicaExchange) => {
            checker.missing(&table.span, "exchange_every", "exchange_every = 500, for example");
            None
        }
        (Some(every), _) => {
            let message = "belongs to the ensemble \"replica-exchange\"";
            checker.reject(
                &every.span,
                message,
                "leave it out, or give kind = \"replica-exchange\"",
            );
            None
        }
        (None, _) => Some(None),
    }
}

/// Whether temperatures, which all differ, make a ladder: those that follow each other are exchanged.
pub fn is_ladder(
    typed: &Written<Vec<Written<Number>>>,
    temperatures: &[f64],
    checker: &mut Checker<'_>,
) -> bool {
    if temperatures.len() < 2 {
        checker.reject(&typed.span, "one temperature has none to be exchanged with", LADDER);
        return false;
    }
    let falls = |two: &[f64]| two[1] < two[0];
    let turn = temperatures.windows(2).position(|two| falls(two) != falls(&temperatures[..2]));
    let Some(turn) = turn else { return true };
    let message =
        "the temperatures are not in order, and those that follow each other are exchanged";
    checker.reject(
        &typed.value[turn + 1].span,
        message,
        "sort them, from the highest to the lowest",
    );
    false
}

/// What the stages and other tables say of it.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let Some(table) = &document.ensemble else { return };
    let (Some(every), Some(typed)) = (
        plan.ensemble.as_ref().and_then(|ensemble| ensemble.exchange_every),
        &table.exchange_every,
    ) else {
        return;
    };
    let exchanging: Vec<usize> =
        (0..plan.stages.len()).filter(|&stage| plan.exchanges_in(stage)).collect();
    let longest = exchanging.iter().map(|&stage| plan.stages[stage].steps).max();
    match longest {
        None => {
            let message = "no stage exchanges replicas";
            let help = "give a stage a thermostat with temperature = \"ensemble\"";
            checker.reject(&typed.span, message, help);
        }
        Some(longest) if every > longest => {
            let message = format!(
                "must be at most {longest}, not {every}: no stage that exchanges replicas is longer"
            );
            checker.reject(&typed.span, message, "exchange_every = 500 is usual");
        }
        Some(_) => {}
    }
    for stage in exchanging {
        for correlation in &document.stage[stage].correlation {
            let message = "replicas are exchanged in this stage: what is correlated over time would not be of one system";
            let help = format!(
                "measure it in a later stage at constant energy, which starts from these states: \
                 set_total_energy = \"mean of {}\"",
                plan.stages[stage].name
            );
            checker.reject(&correlation.span, message, help);
        }
    }
    if let Some(integrity) = &document.integrity {
        let message = "steps are not repeated where replicas are exchanged";
        checker.reject(&integrity.span, message, "leave the table out");
    }
}
