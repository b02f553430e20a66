//! `[integrity]` and `[limits]`.
use super::checker::Checker;
use crate::config::defaults;
use crate::config::written::{Document, Integrity, Limits, Number, Table, Written};
use crate::plan::{IntegrityPlan, LimitAction, LimitsPlan, Plan};

const MAXIMUM_INTERVAL: u64 = 1_000_000_000_000;

pub fn integrity(
    written: Option<&Table<Integrity>>,
    checker: &mut Checker<'_>,
) -> Option<Option<IntegrityPlan>> {
    let Some(written) = written else { return Some(None) };
    let recheck = checker.integer(&written.recheck, 1..=MAXIMUM_INTERVAL)?;
    let segment = match &written.segment {
        Some(segment) => checker.integer(segment, 1..=recheck)?,
        None => {
            let segment = defaults::INTEGRITY_SEGMENT.min(recheck);
            checker.filled_in(&written.span, "segment", segment);
            segment
        }
    };
    Some(Some(IntegrityPlan { recheck, segment }))
}

pub fn limits(written: Option<&Table<Limits>>, checker: &mut Checker<'_>) -> Option<LimitsPlan> {
    let Some(written) = written else { return Some(LimitsPlan::default()) };
    let action = match &written.action {
        Some(action) => action.value,
        None => {
            checker.filled_in(&written.span, "action", "stop");
            LimitAction::default()
        }
    };
    let mut bound = |number: &Option<Written<Number>>| match number {
        Some(number) => checker.positive(number).map(Some),
        None => Some(None),
    };
    let energy_drift = bound(&written.energy_drift);
    let center_of_mass_velocity = bound(&written.center_of_mass_velocity);
    let temperature = bound(&written.temperature);
    let bond_order = bound(&written.bond_order);
    if let (Some(number), Some(Some(order))) = (&written.bond_order, bond_order)
        && order > 1.0
    {
        checker.reject(&number.span, format!("must be at most 1, not {order:?}"), "0.3 is usual");
    }
    Some(LimitsPlan {
        action,
        energy_drift: energy_drift?,
        center_of_mass_velocity: center_of_mass_velocity?,
        temperature: temperature?,
        bond_order: bond_order?,
    })
}

/// A bound needs samples to be compared with.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let Some(written) = &document.limits else { return };
    let sampled = || plan.stages.iter().filter(|stage| stage.observe.thermodynamics.is_some());
    if let Some(number) = &written.energy_drift
        && sampled().next().is_some()
        && sampled().all(|stage| stage.thermostat.is_some())
    {
        let message = "no stage without a thermostat has samples to compare with it";
        let help = "give one observe.thermodynamics; under a bath the energy is not constant";
        checker.reject(&number.span, message, help);
    }
    let thermodynamics = sampled().next().is_some();
    for number in [&written.energy_drift, &written.center_of_mass_velocity, &written.temperature] {
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
    if let Some(number) = &written.bond_order
        && plan.stages.iter().all(|stage| stage.observe.bond_order.is_none())
    {
        checker.reject(
            &number.span,
            "no stage has samples to compare with it",
            "give a stage observe.bond_order",
        );
    }
}
