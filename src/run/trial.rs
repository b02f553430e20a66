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
/// Parts of the time whose speeds are compared.
const QUARTERS: u32 = 4;

/// What was found.
#[derive(Clone, Debug)]
pub struct Trial {
    /// By stage; `None` for a stage of no steps.
    pub speeds: Vec<Option<Speed>>,
    pub engine: EngineReport,
}

/// Steps in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    pub mean: f64,
    /// In quarters of the time, the slowest and the fastest; the mean where there were too few steps.
    pub slowest: f64,
    pub fastest: f64,
}

/// Steps that were taken at these times.
#[derive(Default)]
struct Marks(Vec<(u64, Duration)>);

impl Marks {
    fn speed(&self) -> Speed {
        let rate = |part: &[(u64, Duration)]| {
            let [(first, start), .., (last, end)] = part else { return f64::NAN };
            (last - first) as f64 / (*end - *start).as_secs_f64().max(1e-9)
        };
        let marks = &self.0;
        let mean = rate(marks);
        let (Some(&(_, start)), Some(&(_, end))) = (marks.first(), marks.last()) else {
            return Speed { mean, slowest: mean, fastest: mean };
        };
        let at = |quarter: u32| {
            marks.partition_point(|&(_, time)| time < start + (end - start) * quarter / QUARTERS)
        };
        let bounds: Vec<usize> = (0..=QUARTERS).map(at).collect();
        if bounds.windows(2).any(|pair| pair[0] + 1 >= pair[1]) {
            return Speed { mean, slowest: mean, fastest: mean };
        }
        let rates = bounds.windows(2).map(|pair| rate(&marks[pair[0]..=pair[1]]));
        let (slowest, fastest) = rates.fold((f64::INFINITY, 0.0), |(low, high), rate| {
            (f64::min(low, rate), f64::max(high, rate))
        });
        Speed { mean, slowest, fastest }
    }
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
) -> Result<Speed, RunError> {
    let (first, steps) = (ensemble.step(), plan.stages[stage].steps);
    let mut contexts = stage_contexts(plan, stage);
    contexts.iter_mut().for_each(|context| context.first_step = first);
    ensemble.begin_stage(&contexts)?;
    let diameters = present_diameters(ensemble, plan, stage)?;
    let mut output = StageOutput::without_files(plan, stage, &diameters)?;
    output.hand_over(ensemble)?;
    let started = Instant::now();
    sample(ensemble, &mut output, first)?;
    // From the end of the warming up on; all of it where the stage is too short for that.
    let (mut marks, mut is_warm) = (Marks(vec![(0, Duration::ZERO)]), false);
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
            marks.0.push((step, started.elapsed()));
            return Ok(marks.speed());
        }
        if !is_warm && now >= time.mul_f64(WARMING_UP) {
            (marks, is_warm) = (Marks::default(), true);
        }
        marks.0.push((step, now));
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
            let is_speed = |of: Speed| of.mean.is_finite() && of.slowest > 0.0;
            assert!(speed.is_some_and(is_speed), "{found:?}");
            let Speed { mean, slowest, fastest } = speed.unwrap();
            assert!(slowest <= mean && mean <= fastest, "{found:?}");
        }
    }

    #[test]
    fn speeds_of_quarters_differ_where_steps_become_slower() {
        let at = |step: u64, milliseconds: u64| (step, Duration::from_millis(milliseconds));
        // 1000 steps in a second, and half of that in the second half.
        let first = (0..=20).map(|n| at(10 * n, 10 * n));
        let marks = Marks(first.chain((1..=10).map(|n| at(200 + 10 * n, 200 + 20 * n))).collect());
        let Speed { mean, slowest, fastest } = marks.speed();
        assert!((mean - 750.0).abs() < 1e-6 && (slowest - 500.0).abs() < 1e-6, "{slowest} {mean}");
        assert!((fastest - 1000.0).abs() < 1e-6, "{fastest}");
        let few = Marks(vec![at(0, 0), at(10, 10), at(15, 20)]).speed();
        assert_eq!(few, Speed { mean: 750.0, slowest: 750.0, fastest: 750.0 });
    }
}
