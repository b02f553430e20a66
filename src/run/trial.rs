//! How fast the steps of each stage are, by a trial that leaves no files.
//!
//! The engine of the plan takes steps of every stage for a moment, and what is due in them is sampled and correlated as in a
//! run, but on the same thread and without files. Stages follow each other without their conditions: no minimum is searched
//! for, no energy is set, the box of a stage that changes it is that of its start.
use std::time::{Duration, Instant};

use super::conditions::{states_in_boxes, taken_over};
use super::stage::StageOutput;
use super::stage::classes::present_diameters;
use super::{RunError, first_temperature, memory, stage_contexts};
use crate::engine::domain::Ranks;
use crate::engine::{self, EngineReport, Ensemble, Replicas, Thermodynamics};
use crate::initial;
use crate::observable::Macroscopic;
use crate::plan::Plan;

/// Share of the time of a stage that is not counted: lists are made anew and threads awake.
const WARMING_UP: f64 = 0.25;
/// Steps between looks at the clock, until the speed is known.
const FIRST_STEPS: u64 = 4;
/// Longest time between looks at the clock, as a share of the time of a stage.
const PART: f64 = 0.05;

/// What was found.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Steps in a second, by stage; `None` for a stage of no steps.
    pub speeds: Vec<Option<f64>>,
    pub engine: EngineReport,
}

/// Has every stage take steps for about this time.
///
/// # Errors
/// As a run of the plan: of the initial state, the engine, or its steps.
pub fn trial(plan: &Plan, time_of_stage: Duration) -> Result<Trial, RunError> {
    let mut plan = plan.clone();
    // Choices that are timed at the start of long stages would take all of this time.
    plan.run.tune = false;
    memory::check(&plan, &Ranks::default())?;
    let states = initial::create_all(&mut plan)?;
    let mut tried = plan.at_stage(0);
    let states = taken_over(states, &tried)?;
    let mut ensemble = engine::create_ensemble_on(&Ranks::default(), &tried, states)?;
    let temperatures = (0..plan.systems()).map(|system| first_temperature(&plan.of_system(system)));
    ensemble.draw_velocities(&temperatures.collect::<Vec<_>>())?;
    let mut ensemble = Replicas::around(ensemble, &tried, None);
    let mut speeds = Vec::new();
    for stage in 0..plan.stages.len() {
        let next = plan.at_stage(stage);
        if next.run.timestep != tried.run.timestep
            || next.run.flight != tried.run.flight
            || next.system.simulation_box != tried.system.simulation_box
        {
            ensemble = changed(ensemble.as_ref(), &next)?;
        }
        tried = next;
        speeds.push(match plan.stages[stage].steps {
            0 => None,
            // How long a descent takes depends on the state, which this one is not.
            _ if plan.stages[stage].strain.is_some() => None,
            _ => Some(speed(ensemble.as_mut(), &tried, stage, time_of_stage)?),
        });
    }
    Ok(Trial { speeds, engine: ensemble.report() })
}

/// An engine with the timestep and the box of a plan, which goes on from the present state.
fn changed(ensemble: &dyn Ensemble, plan: &Plan) -> Result<Box<dyn Ensemble>, RunError> {
    let states = (0..plan.systems()).map(|system| ensemble.export(system));
    let boxes = vec![plan.system.simulation_box; plan.systems()];
    let species = &plan.system.species;
    let states = states_in_boxes(states.collect::<Result<_, _>>()?, &boxes, species)?;
    let mut states = taken_over(states, plan)?;
    let exchanges = ensemble.exchanges().cloned();
    if let Some(exchanges) = &exchanges {
        states = exchanges.by_replica(states);
    }
    let ensemble = engine::create_ensemble_on(&Ranks::default(), plan, states)?;
    Ok(Replicas::around(ensemble, plan, exchanges))
}

/// Steps in a second of a stage. It is left after this time, or at its end.
fn speed(
    ensemble: &mut dyn Ensemble,
    plan: &Plan,
    stage: usize,
    time: Duration,
) -> Result<f64, RunError> {
    let (first, steps) = (ensemble.step(), plan.stages[stage].steps);
    let mut contexts = stage_contexts(plan, stage);
    contexts.iter_mut().for_each(|context| context.first_step = first);
    ensemble.begin_stage(&contexts)?;
    let diameters = present_diameters(ensemble, plan, stage)?;
    let mut output = StageOutput::without_files(plan, stage, &diameters)?;
    output.hand_over(ensemble)?;
    let started = Instant::now();
    sample(ensemble, &mut output, first)?;
    // Steps and time at the end of the warming up.
    let mut warm: Option<(u64, Duration)> = None;
    let mut part = FIRST_STEPS;
    loop {
        let step = ensemble.step() - first;
        let due = output.schedule().next_event(step).min(steps);
        let before = started.elapsed();
        let taken = part.min(due - step);
        ensemble.advance(taken)?;
        pass_on_evaluated(ensemble, &mut output)?;
        let step = ensemble.step() - first;
        if step == due {
            sample(ensemble, &mut output, first)?;
        }
        let now = started.elapsed();
        let of_steps = (now - before).as_secs_f64().max(1e-9) / taken as f64;
        part = ((PART * time.as_secs_f64() / of_steps) as u64).clamp(1, 2 * part);
        if step == steps || now >= time {
            ensemble.correlator().map_or(Ok(()), |correlator| correlator.flush())?;
            pass_on_evaluated(ensemble, &mut output)?;
            let (warm_step, warm_time) = warm.unwrap_or((0, Duration::ZERO));
            let seconds = (started.elapsed() - warm_time).as_secs_f64().max(1e-9);
            return Ok((step - warm_step) as f64 / seconds);
        }
        if warm.is_none() && now >= time.mul_f64(WARMING_UP) {
            warm = Some((step, now));
        }
    }
}

/// Samples what is due at the present step.
fn sample(
    ensemble: &mut dyn Ensemble,
    output: &mut StageOutput,
    first: u64,
) -> Result<(), RunError> {
    let step = ensemble.step() - first;
    let schedule = output.schedule();
    let wants_snapshot = schedule.wants_snapshot(step);
    let mut macroscopic = Vec::new();
    if schedule.wants_thermodynamics(step) || schedule.wants_stress(step) {
        let of_row =
            |row: &Thermodynamics| Macroscopic { stress: row.stress, temperature: row.temperature };
        macroscopic = ensemble.thermodynamics()?.iter().map(of_row).collect();
    }
    if wants_snapshot {
        let snapshots = ensemble.begin_snapshots()?.into_iter().map(engine::Pending::wait);
        let snapshots = snapshots.collect::<Result<Vec<_>, _>>()?;
        output.sample(step, &snapshots, &macroscopic)?;
    }
    Ok(())
}

/// Gives the observables what the engine has evaluated.
fn pass_on_evaluated(
    ensemble: &mut dyn Ensemble,
    output: &mut StageOutput,
) -> Result<(), RunError> {
    let Some(correlator) = ensemble.correlator() else { return Ok(()) };
    for (observable, evaluated) in correlator.evaluated() {
        output.add_evaluated(observable, evaluated.wait()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn plan(name: &str) -> Plan {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(name);
        config::load(&path).unwrap().plan
    }

    #[test]
    fn every_stage_that_has_steps_has_a_speed() {
        let mut plan = plan("kob_andersen.toml");
        plan.stages[0].steps = 0;
        plan.stages[1].timestep = Some(0.5 * plan.run.timestep);
        let found = trial(&plan, Duration::from_millis(20)).unwrap();
        assert_eq!(found.speeds.len(), plan.stages.len());
        assert_eq!(found.speeds[0], None);
        for speed in &found.speeds[1..] {
            assert!(speed.is_some_and(|speed| speed.is_finite() && speed > 0.0), "{found:?}");
        }
    }
}
