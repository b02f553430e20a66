//! `[integrity]` and `[limits]`.
use super::checker::Checker;
use crate::config::defaults;
use crate::config::document::{Document, Integrity, Limits, Number, Table, Written};
use crate::plan::{IntegrityPlan, LimitAction, LimitsPlan, ObservePlan, Plan};

const MAXIMUM_INTERVAL: u64 = 1_000_000_000_000;

pub fn integrity(
    document: Option<&Table<Integrity>>,
    checker: &mut Checker<'_>,
) -> Option<Option<IntegrityPlan>> {
    let Some(document) = document else { return Some(None) };
    let recheck = checker.integer(&document.recheck, 1..=MAXIMUM_INTERVAL)?;
    let segment = match &document.segment {
        Some(segment) => checker.integer(segment, 1..=recheck)?,
        None => {
            let segment = defaults::INTEGRITY_SEGMENT.min(recheck);
            checker.filled_in(&document.span, "segment", segment);
            segment
        }
    };
    Some(Some(IntegrityPlan { recheck, segment }))
}

pub fn limits(document: Option<&Table<Limits>>, checker: &mut Checker<'_>) -> Option<LimitsPlan> {
    let Some(document) = document else { return Some(LimitsPlan::default()) };
    let action = match &document.action {
        Some(action) => action.value,
        None => {
            checker.filled_in(&document.span, "action", "stop");
            LimitAction::default()
        }
    };
    let mut bound = |number: &Option<Written<Number>>| match number {
        Some(number) => checker.positive(number).map(Some),
        None => Some(None),
    };
    let energy_drift = bound(&document.energy_drift);
    let center_of_mass_velocity = bound(&document.center_of_mass_velocity);
    let temperature = bound(&document.temperature);
    let bond_order = bound(&document.bond_order);
    let crystallinity = bound(&document.crystallinity);
    let demixing = bound(&document.demixing);
    for (typed, found, usual) in [
        (&document.bond_order, bond_order, "0.3 is usual"),
        (&document.crystallinity, crystallinity, "0.1 is usual, in two dimensions 0.8"),
    ] {
        if let (Some(number), Some(Some(order))) = (typed, found)
            && order > 1.0
        {
            checker.reject(&number.span, format!("must be at most 1, not {order:?}"), usual);
        }
    }
    Some(LimitsPlan {
        action,
        energy_drift: energy_drift?,
        center_of_mass_velocity: center_of_mass_velocity?,
        temperature: temperature?,
        bond_order: bond_order?,
        crystallinity: crystallinity?,
        demixing: demixing?,
    })
}

/// A bound needs samples to be compared with.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let Some(document) = &document.limits else { return };
    let sampled = || plan.stages.iter().filter(|stage| stage.observe.thermodynamics.is_some());
    if let Some(number) = &document.energy_drift
        && sampled().next().is_some()
        && sampled().all(|stage| stage.thermostat.is_some())
    {
        let message = "no stage without a thermostat has samples to compare with it";
        let help = "give one observe.thermodynamics; under a thermostat the energy is not constant";
        checker.reject(&number.span, message, help);
    }
    let thermodynamics = sampled().next().is_some();
    for number in [&document.energy_drift, &document.center_of_mass_velocity, &document.temperature]
    {
        if let Some(number) = number
            && !thermodynamics
        {
            checker.reject(
                &number.span,
                "no stage has samples to compare with it",
                "give a stage observe.thermodynamics",
            );
        }
    }
    let observed = |is: fn(&ObservePlan) -> bool| plan.stages.iter().any(|it| is(&it.observe));
    let bond_order = observed(|observe| observe.bond_order.is_some());
    let local_order = observed(|observe| observe.local_order.is_some());
    for (number, is_observed, help) in [
        (&document.bond_order, bond_order, "give a stage observe.bond_order"),
        (&document.crystallinity, local_order, "give a stage observe.local_order"),
        (&document.demixing, local_order, "give a stage observe.local_order"),
    ] {
        if let (Some(number), false) = (number, is_observed) {
            checker.reject(&number.span, "no stage has samples to compare with it", help);
        }
    }
    let can_demix = plan.system.diameters.is_some() || plan.system.species.len() > 1;
    if let (Some(number), false) = (&document.demixing, can_demix) {
        let message = "all particles are the same: nothing demixes";
        checker.reject(&number.span, message, "leave it out");
    }
}
