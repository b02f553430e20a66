//! `stage.barostat`.
use super::box_change::{self, samples_positions};
use super::checker::Checker;
use super::stage_checks::StageChecks;
use crate::config::defaults;
use crate::config::document::{Barostat, Document, PlainOr, Stage, Table, ThermostatKind, Written};
use crate::plan::{BarostatKind, BarostatPlan, Coupling, EnsembleKind, Plan, Precision, Ramp};

/// Of its time.
const LEAST_STEPS_OF_PISTON: f64 = 25.0;

pub fn check(
    document: &Table<Barostat>,
    stage: &Stage,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<BarostatPlan> {
    let pressure = match &document.pressure.value {
        PlainOr::Plain(plain) => {
            let typed = Written { value: *plain, span: document.pressure.span.clone() };
            checker.finite(&typed).map(|value| Ramp { from: value, to: value })
        }
        PlainOr::Table(ramp) => {
            let (from, to) = (checker.finite(&ramp.from), checker.finite(&ramp.to));
            from.zip(to).map(|(from, to)| Ramp { from, to })
        }
    };
    let time = checker.positive(&document.time);
    if document.kind.value == BarostatKind::Mtk {
        let is_free = check_stage(document, stage, stage_checks, checker);
        let time = not_too_short(document, time?, stage_checks, checker);
        return piston(document, stage, pressure?, time?, checker).filter(|_| is_free.is_some());
    }
    if let Some(typed) = &document.chain_length {
        checker.reject(&typed.span, "belongs to the barostat \"mtk\"", "leave it out");
    }
    let compressibility = checker.positive_or(
        &document.span,
        "compressibility",
        document.compressibility.as_ref(),
        defaults::COMPRESSIBILITY,
    );
    let coupling = match &document.coupling {
        Some(coupling) => coupling.value,
        None => {
            checker.filled_in(&document.span, "coupling", "isotropic");
            Coupling::default()
        }
    };
    check_stage(document, stage, stage_checks, checker)?;
    let (time, timestep) = (time?, stage_checks.timestep?);
    let every = match &document.every {
        Some(every) => checker.integer(every, 1..=stage_checks.steps.max(1))?,
        None => {
            let every = defaults::trial_interval(time, timestep);
            checker.filled_in(&document.span, "every", every);
            every
        }
    };
    if every > stage_checks.steps {
        let message = format!(
            "a trial comes every {every} steps, two fifths of `time`, and the stage has {}",
            stage_checks.steps
        );
        checker.reject(&document.time.span, message, "a shorter time, or more steps");
        return None;
    }
    Some(BarostatPlan {
        kind: document.kind.value,
        pressure: pressure?,
        time,
        compressibility: compressibility?,
        every,
        coupling,
        chain_length: 0,
    })
}

/// Time of a piston. The time step makes the variance of the volume of an ideal gas smaller by 2 % with the shortest one, and by less as
/// its square.
fn not_too_short(
    document: &Table<Barostat>,
    time: f64,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<f64> {
    let least = LEAST_STEPS_OF_PISTON * stage_checks.timestep?;
    if time < least {
        let message = format!(
            "must not be less than {LEAST_STEPS_OF_PISTON} timesteps, {least:?}, not {time:?}"
        );
        checker.reject(&document.time.span, message, "1.0 is usual");
        return None;
    }
    Some(time)
}

/// A barostat with inertia.
fn piston(
    document: &Table<Barostat>,
    stage: &Stage,
    pressure: Ramp,
    time: f64,
    checker: &mut Checker<'_>,
) -> Option<BarostatPlan> {
    let others = [
        (document.compressibility.as_ref().map(|typed| &typed.span), "compressibility"),
        (document.every.as_ref().map(|typed| &typed.span), "every"),
    ];
    for (span, key) in others {
        if let Some(span) = span {
            let message = format!("{key} belongs to the barostat \"cell-rescaling\"");
            checker.reject(span, message, "leave it out");
        }
    }
    let chain_length = checker.integer_or(
        &document.span,
        "chain_length",
        document.chain_length.as_ref(),
        1..=16,
        defaults::CHAIN_LENGTH as u64,
    )?;
    if let Some(typed) = stage.thermostat.as_ref()
        && typed.kind.value != ThermostatKind::NoseHoover
    {
        let message = "belongs to a stage with the thermostat \"nose-hoover\"";
        let help = "thermostat = { kind = \"nose-hoover\", temperature = 1.0, period = 1.0 }, or kind = \"cell-rescaling\"";
        checker.reject(&document.kind.span, message, help);
        return None;
    }
    Some(BarostatPlan {
        kind: BarostatKind::Mtk,
        pressure,
        time,
        compressibility: 0.0,
        every: 1,
        coupling: document.coupling.as_ref().map(|typed| typed.value).unwrap_or_default(),
        chain_length: chain_length as usize,
    })
}

/// What the stage has beside it.
fn check_stage(
    document: &Table<Barostat>,
    stage: &Stage,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<()> {
    if stage.thermostat.is_none() {
        let help = "give the stage a thermostat, such as { kind = \"bussi\", temperature = 1.0, time = 1.0 }";
        checker.reject(&document.span, "belongs to a stage with a thermostat", help);
        return None;
    }
    if stage_checks.steps == 0 {
        let help = "give steps, in the course of which the box changes";
        checker.reject(&document.span, "acts in a stage without steps", help);
        return None;
    }
    if let Some(span) = box_change::span(stage) {
        let message = "changes the box, which the barostat changes by itself";
        let key = if stage.density.is_some() { "density" } else { "box" };
        checker.reject(span, message, format!("leave out {key} or barostat"));
        return None;
    }
    if let Some(shear) = &stage.shear {
        let message = "shears the box, whose edges the barostat changes";
        checker.reject(&shear.span, message, "leave out shear or barostat");
        return None;
    }
    if let Some(what) = samples_positions(stage) {
        let message = format!("the box changes, and {what} is of one box");
        let help = "observe thermodynamics here, and the rest in a stage after it";
        checker.reject(&document.span, message, help);
        return None;
    }
    Some(())
}

/// What the rest of the plan says of it.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    for typed in document.stage.iter().filter_map(|stage| stage.barostat.as_ref()) {
        if let Some(of) = &plan.ensemble
            && of.kind == EnsembleKind::ReplicaExchange
        {
            let message = "replicas are exchanged at constant volume only, all in the same box";
            let help = "the ensemble \"temperatures\", or the density instead of a barostat";
            checker.reject(&typed.span, message, help);
        }
    }
    let pistons = document.stage.iter().filter_map(|stage| stage.barostat.as_ref());
    for typed in pistons.filter(|typed| typed.kind.value == BarostatKind::Mtk) {
        if plan.run.precision != Precision::FixedPoint {
            let message = "is there in precision \"fixed-point\" only";
            let help = "run.precision = \"fixed-point\", or kind = \"cell-rescaling\"";
            checker.reject(&typed.kind.span, message, help);
        }
    }
    for (number, typed) in document.stage.iter().enumerate() {
        check_own_boxes(plan, number, typed, checker);
    }
}

/// What a stage has that is of one box, where each system of an ensemble has its own.
fn check_own_boxes(plan: &Plan, number: usize, typed: &Table<Stage>, checker: &mut Checker<'_>) {
    let Some(since) = plan.own_boxes_since(number) else { return };
    let of_one_box = samples_positions(typed)
        .or(typed.shear.is_some().then_some("a shear"))
        .or(typed.strain.is_some().then_some("a strain"));
    let Some(what) = of_one_box else { return };
    let message = format!(
        "each system has a box of its own since the stage {since:?}, and {what} is of one box"
    );
    let help = format!(
        "a stage with density = {{ to = ... }} after {since:?} brings all systems to one box"
    );
    checker.reject(&typed.name.span, message, help);
}
