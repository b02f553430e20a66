//! `stage.thermostat`.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::StageChecks;
use crate::config::defaults;
use crate::config::document::{
    Number, PlainOr, Stage, Table, Temperature, Thermostat, ThermostatKind, Written,
};
use crate::plan::{self, Ramp, ThermostatPlan};

pub fn check(
    document: &Table<Thermostat>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<ThermostatPlan> {
    let is_brownian = document.kind.value == ThermostatKind::Brownian;
    let mut temperature = |typed: &Written<Temperature>| match typed.value {
        Temperature::Number(0.0) if is_brownian => Some(0.0),
        _ => checker.temperature(typed),
    };
    let temperature = match &document.temperature.value {
        PlainOr::Plain(plain) => {
            let typed = Written { value: *plain, span: document.temperature.span.clone() };
            temperature(&typed).map(|value| Ramp { from: value, to: value })
        }
        PlainOr::Table(ramp) => {
            let (from, to) = (temperature(&ramp.from), temperature(&ramp.to));
            from.zip(to).map(|(from, to)| Ramp { from, to })
        }
    };
    foreign_keys(document, checker);
    let kind = match document.kind.value {
        ThermostatKind::Andersen => andersen(document, stage_checks, checker),
        ThermostatKind::NoseHoover => nose_hoover(document, stage_checks, checker),
        ThermostatKind::Bussi => {
            let time = needed(document, "time", document.time.as_ref(), checker);
            time.and_then(|time| {
                let least = stage_checks.timestep.unwrap_or(0.0);
                not_below(document.time.as_ref()?, time, least, "the timestep", checker)
            })
            .map(|time| plan::Thermostat::Bussi { time })
        }
        ThermostatKind::Isokinetic => Some(plan::Thermostat::Isokinetic),
        ThermostatKind::Langevin => langevin(document, stage_checks, checker),
        ThermostatKind::Brownian => {
            needed(document, "friction", document.friction.as_ref(), checker)
                .map(|friction| plan::Thermostat::Brownian { friction })
        }
    };
    Some(ThermostatPlan { kind: kind?, temperature: temperature? })
}

/// Trials by Metropolis' rule need a temperature.
pub fn refuse_trials_at_zero(
    stage: &Stage,
    plan: Option<ThermostatPlan>,
    checker: &mut Checker<'_>,
) {
    let (Some(plan), Some(typed)) = (plan, &stage.thermostat) else { return };
    let trials = [(stage.swap.is_some(), "swap"), (stage.barostat.is_some(), "barostat")];
    let lowest = plan.temperature.from.min(plan.temperature.to);
    if let Some((_, what)) = trials.into_iter().find(|(is_there, _)| *is_there && lowest == 0.0) {
        let message = format!("is zero, where no trial of {what} has a probability");
        checker.reject(&typed.temperature.span, message, format!("leave out {what}, or raise it"));
    }
}

/// Keys of other thermostats.
fn foreign_keys(document: &Table<Thermostat>, checker: &mut Checker<'_>) {
    fn place<T>(typed: Option<&Written<T>>) -> Option<Range<usize>> {
        typed.map(|typed| typed.span.clone())
    }
    let keys = [
        (place(document.rate.as_ref()), &[ThermostatKind::Andersen][..]),
        (place(document.exact.as_ref()), &[ThermostatKind::Andersen]),
        (place(document.period.as_ref()), &[ThermostatKind::NoseHoover]),
        (place(document.chain_length.as_ref()), &[ThermostatKind::NoseHoover]),
        (place(document.time.as_ref()), &[ThermostatKind::Bussi]),
        (place(document.friction.as_ref()), &[ThermostatKind::Langevin, ThermostatKind::Brownian]),
    ];
    let kind = document.kind.value;
    for (span, owners) in keys {
        if let Some(span) = span
            && !owners.contains(&kind)
        {
            let owner = owners[0];
            let message = format!("belongs to the thermostat \"{owner}\", not to \"{kind}\"");
            checker.reject(&span, message, "leave it out");
        }
    }
}

fn needed(
    document: &Table<Thermostat>,
    key: &str,
    number: Option<&Written<Number>>,
    checker: &mut Checker<'_>,
) -> Option<f64> {
    let Some(number) = number else {
        let help = format!("the thermostat \"{}\" needs it", document.kind.value);
        checker.missing(&document.span, key, help);
        return None;
    };
    checker.positive(number)
}

fn not_below(
    number: &Written<Number>,
    value: f64,
    least: f64,
    what: &str,
    checker: &mut Checker<'_>,
) -> Option<f64> {
    if value < least {
        let message = format!("must not be less than {what}, {least:?}, not {value:?}");
        checker.reject(&number.span, message, "");
        return None;
    }
    Some(value)
}

fn andersen(
    document: &Table<Thermostat>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<plan::Thermostat> {
    let exact = match &document.exact {
        Some(exact) => exact.value,
        None => {
            checker.filled_in(&document.span, "exact", defaults::ANDERSEN_EXACT);
            defaults::ANDERSEN_EXACT
        }
    };
    let rate = needed(document, "rate", document.rate.as_ref(), checker)?;
    let span = &document.rate.as_ref()?.span;
    if let Some(timestep) = stage_checks.timestep {
        let interval = 1.0 / (rate * timestep);
        if interval < 1.0 {
            let message = format!("{rate:?} is more than one collision per step");
            let help = format!("at most 1 / timestep = {:?}", 1.0 / timestep);
            checker.reject(span, message, help);
            return None;
        }
        if stage_checks.steps > 0 && interval > stage_checks.steps as f64 {
            let message = format!(
                "{rate:?} is one collision every {interval:.0} steps, and the stage has {}",
                stage_checks.steps
            );
            let least = 1.0 / (timestep * stage_checks.steps as f64);
            checker.reject(
                span,
                message,
                format!("at least {} for one collision", (least * 1e4).ceil() / 1e4),
            );
            return None;
        }
    }
    Some(plan::Thermostat::Andersen { rate, exact })
}

fn nose_hoover(
    document: &Table<Thermostat>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<plan::Thermostat> {
    let chain_length = checker.integer_or(
        &document.span,
        "chain_length",
        document.chain_length.as_ref(),
        1..=16,
        defaults::CHAIN_LENGTH as u64,
    );
    let period = needed(document, "period", document.period.as_ref(), checker)?;
    let least = 10.0 * stage_checks.timestep.unwrap_or(0.0);
    let period = not_below(document.period.as_ref()?, period, least, "ten timesteps", checker)?;
    Some(plan::Thermostat::NoseHoover { period, chain_length: chain_length? as usize })
}

fn langevin(
    document: &Table<Thermostat>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<plan::Thermostat> {
    let friction = needed(document, "friction", document.friction.as_ref(), checker)?;
    if let Some(timestep) = stage_checks.timestep
        && friction * timestep > 1.0
    {
        let message = format!("{friction:?} stops all motion within a step");
        let help = format!("at most 1 / timestep = {:?}", 1.0 / timestep);
        checker.reject(&document.friction.as_ref()?.span, message, help);
        return None;
    }
    Some(plan::Thermostat::Langevin { friction })
}
