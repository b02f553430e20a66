//! `supercool bench --correlations`: what time correlations cost beside the steps.
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use serde::Serialize;

use super::{BenchArguments, Conditions, WANTED_SECONDS, begin, prepared};
use crate::command::say;
use crate::engine::domain::Ranks;
use crate::engine::{
    EngineError, Ensemble, OfSystems, Pending, PendingSnapshot, Thermodynamics, Workers,
};
use crate::observable::dynamics::evaluation::Evaluated;
use crate::observable::dynamics::evaluator::Evaluator;
use crate::observable::dynamics::source::{Source, for_engines};
use crate::observable::portable::PortableEvaluator;
use crate::observable::{Correlations, Macroscopic, SampleContext};
use crate::plan::{
    BondPlan, CorrelationPlan, DynamicObservable as D, ObservePlan, Plan, Precision, StagePlan,
    VanHovePlan,
};
use crate::system::species_of_particles;

/// Cost of a set of correlations.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Of each system.
    pub particles: usize,
    pub systems: usize,
    pub precision: &'static str,
    pub observables: &'static str,
    pub steps_per_second: f64,
    /// Share of the run time that goes into them.
    pub share: f64,
    /// Per sample.
    pub microseconds: f64,
}

/// Steps between samples, samples in a block, and levels: lags over seven decades.
const EVERY: u64 = 10;
const BLOCK_SIZE: usize = 10;
const LEVELS: usize = 7;
/// Steps that the engine takes at once, of many systems as many as a run takes; and rounds of measurements.
const PART: u64 = 10_000;
const PART_OF_MANY: u64 = 500;
const ROUNDS: usize = 2;

const MOMENTS: [D; 2] = [D::MeanSquareDisplacement, D::NonGaussianParameter];
const OVERLAP: [D; 2] = [D::SelfOverlap, D::SelfOverlapSusceptibility];
const SCATTERING: [D; 2] = [D::SelfIntermediateScatteringFunction, D::SelfScatteringSusceptibility];

/// All that an engine evaluates in the same way.
fn of(evaluator: Evaluator) -> Vec<D> {
    D::ALL.into_iter().filter(|&each| Source::of(each).evaluator == evaluator).collect()
}

/// The first of each list is what the others are compared with. Those `of_stress` need other kernels of the steps.
fn sets(of_stress: bool) -> Vec<(&'static str, Vec<D>)> {
    if of_stress {
        return vec![("none (stress)", Vec::new()), ("stress", of(Evaluator::Stress))];
    }
    let all = [&MOMENTS[..], &[D::VelocityAutocorrelation], &SCATTERING, &OVERLAP].concat();
    vec![
        ("none", Vec::new()),
        ("MSD, alpha_2", MOMENTS.to_vec()),
        ("VACF", vec![D::VelocityAutocorrelation]),
        ("overlap, chi_4", OVERLAP.to_vec()),
        ("F_s, 3 shells", SCATTERING.to_vec()),
        ("all of these", all.clone()),
        ("coherent", of(Evaluator::Densities)),
        ("all and coherent", [all, of(Evaluator::Densities)].concat()),
        ("van Hove", vec![D::SelfVanHoveFunction]),
        ("collective Q", of(Evaluator::Places)),
        ("cage-relative", of(Evaluator::Cages)),
        ("bond breaking", of(Evaluator::Bonds)),
    ]
}

fn correlation(observables: Vec<D>) -> CorrelationPlan {
    CorrelationPlan {
        every: EVERY,
        block_size: BLOCK_SIZE,
        levels: LEVELS,
        level_ratio: None,
        wavenumbers: vec![2.0, 7.25, 10.0],
        vectors_per_shell: 24,
        overlap_length: 0.3,
        remove_drift: false,
        cage_radius: Some(1.4),
        bonds: Some(BondPlan { radius: 1.4, breaking_radius: 1.8 }),
        van_hove: VanHovePlan { maximum_distance: 4.0, bin_width: 0.05 },
        species: vec![0, 1],
        diameter_classes: None,
        origins: Vec::new(),
        observables,
    }
}

/// A stage that has correlations, so that the engine is made for them.
fn stages(of_stress: bool) -> Vec<StagePlan> {
    let observables = if of_stress { of(Evaluator::Stress) } else { D::DEFAULT.to_vec() };
    vec![StagePlan {
        swap: None,
        barostat: None,
        name: "correlations".into(),
        steps: u64::MAX / 2,
        timestep: None,
        minimize: None,
        rescale: None,
        strain: None,
        shear: None,
        thermostat: None,
        set_total_energy: None,
        draw_velocities: false,
        observe: ObservePlan::nothing(),
        correlations: vec![correlation(observables)],
        propensity: None,
    }]
}

/// Of one system.
fn correlations(plan: &Plan, observables: Vec<D>) -> miette::Result<Vec<Correlations>> {
    let system = &plan.system;
    let context = SampleContext {
        in_flow: false,
        simulation_box: system.simulation_box,
        species: system.species.clone(),
        species_of: species_of_particles(&system.species),
        order: None,
        timestep: plan.run.timestep,
        stage_steps: EVERY * (BLOCK_SIZE as u64).pow(LEVELS as u32),
    };
    let is_coherent = |one: &D| Source::of(*one).evaluator == Evaluator::Densities;
    let (coherent, rest): (Vec<D>, Vec<D>) = observables.into_iter().partition(is_coherent);
    let species: Vec<usize> = (0..system.species.len()).collect();
    let rest = CorrelationPlan { species: species.clone(), ..correlation(rest) };
    // A hundred vectors in all.
    let coherent = CorrelationPlan {
        wavenumbers: vec![2.0, 4.0, 7.25, 10.0],
        vectors_per_shell: 25,
        species,
        ..correlation(coherent)
    };
    [rest, coherent]
        .iter()
        .flat_map(for_engines)
        .collect::<Vec<_>>()
        .iter()
        .map(|plan| Correlations::new(plan, &context))
        .collect::<Result<_, _>>()
        .map_err(|error| miette::miette!("{error}"))
}

/// Takes steps as a run does: another thread averages. Returns the seconds until the last step and what the engine
/// evaluates of it, or those that the averages take if these are more. `all`: the correlations of each system; `precision` as in `fixed-point`
/// the sums of an engine are made here where it makes none.
fn timed(
    ensemble: &mut dyn Ensemble,
    mut all: Vec<Vec<Correlations>>,
    precision: Precision,
    steps: u64,
) -> miette::Result<f64> {
    begin(ensemble, Conditions::at_rest(None), None, u64::MAX / 2)?;
    let (start_step, ensemble_size) = (ensemble.step(), ensemble.systems());
    // Those that the engine evaluates, which are the same of each system.
    let mut of_engine = Vec::new();
    let workers = Workers::for_systems(all.len().max(1), rayon::current_num_threads())?;
    if let Some(correlator) = ensemble.correlator() {
        let mut taken = vec![Vec::new(); all.len()];
        for (of_system, taken) in all.iter_mut().zip(&mut taken) {
            of_engine.clear();
            for (index, one) in of_system.iter_mut().enumerate() {
                if let Some(offloaded) = one.hand_over() {
                    taken.push(offloaded);
                    of_engine.push(index);
                }
            }
        }
        taken.resize(ensemble_size, Vec::new());
        correlator.begin(taken)?;
    }
    // By system, with the numbers of their correlations.
    let mut portable: Vec<Vec<(usize, PortableEvaluator)>> = Vec::new();
    if ensemble.correlator().is_none() && precision == Precision::FixedPoint {
        portable.extend(all.iter_mut().map(|of_system| {
            let taken = |(index, one): (usize, &mut Correlations)| {
                Some((index, PortableEvaluator::new(one.hand_over()?)))
            };
            of_system.iter_mut().enumerate().filter_map(taken).collect()
        }));
    }
    let here = all.first().is_some_and(|of_system| of_engine.len() < of_system.len());
    let start = Instant::now();
    std::thread::scope(|scope| -> miette::Result<f64> {
        type Job = (usize, Pending<OfSystems<Evaluated>>);
        let (sender, jobs) = sync_channel::<Job>(64);
        type Sample = (u64, usize, PendingSnapshot, Option<Macroscopic>);
        let (snapshots, samples) = sync_channel::<Sample>(2 * all.len().max(1));
        let needs_stress = here && all.iter().flatten().any(Correlations::needs_stress);
        // Seconds of work.
        let averaging = scope.spawn(move || -> Result<f64, EngineError> {
            let mut busy = 0.0;
            for (index, evaluated) in jobs {
                let evaluated = evaluated.wait()?;
                let start = Instant::now();
                let mut by_system = vec![None; all.len()];
                for (system, evaluated) in evaluated {
                    by_system[system] = Some(evaluated);
                }
                workers.share(&mut all, |system, of_system| {
                    if let Some(evaluated) = &by_system[system] {
                        of_system[of_engine[index]].add_evaluated(evaluated);
                    }
                });
                busy += start.elapsed().as_secs_f64();
            }
            for (step, system, snapshot, macroscopic) in samples {
                let snapshot = snapshot.wait()?;
                let evaluators = portable.get_mut(system).into_iter().flatten();
                for (index, evaluator) in evaluators.filter(|(_, of)| of.is_due(step)) {
                    let evaluated = evaluator.sample(&snapshot, macroscopic.as_ref());
                    all[system][*index].add_evaluated(&evaluated);
                }
                for one in all[system].iter_mut().filter(|one| one.is_due(step)) {
                    one.sample(&snapshot, macroscopic.as_ref());
                }
            }
            Ok(busy)
        });
        let mut sender = Some(sender);
        if here {
            // One or the other: the thread takes snapshots once nobody sends pairs.
            sender = None;
        }
        let mut left = steps;
        while left > 0 {
            if here {
                let step = ensemble.step() - start_step;
                let macroscopic = match needs_stress {
                    true => ensemble.thermodynamics()?.into_iter().map(macroscopic).collect(),
                    false => vec![None; ensemble.systems()],
                };
                let sampled = ensemble.begin_snapshots()?.into_iter().zip(macroscopic);
                for (system, (snapshot, macroscopic)) in sampled.enumerate() {
                    let _ = snapshots.send((step, system, snapshot, macroscopic));
                }
            }
            let at_once = if ensemble_size > 1 { PART_OF_MANY } else { PART };
            let part = left.min(if here { EVERY } else { at_once });
            ensemble.advance(part)?;
            left -= part;
            let Some(sender) = &sender else { continue };
            let Some(correlator) = ensemble.correlator() else { continue };
            if left == 0 {
                correlator.flush()?;
            }
            for evaluated in correlator.evaluated() {
                let _ = sender.send(evaluated);
            }
        }
        // Waits for the engine.
        ensemble.thermodynamics()?;
        let seconds = start.elapsed().as_secs_f64();
        drop((sender, snapshots));
        let busy = averaging.join().expect("the thread has not panicked")?;
        // The slower of the two in a long run.
        Ok(seconds.max(busy))
    })
}

fn macroscopic(Thermodynamics { stress, temperature, .. }: Thermodynamics) -> Option<Macroscopic> {
    Some(Macroscopic { stress, temperature })
}

/// Measures all sets, one after the other in every round; takes the fastest round of each.
pub fn measure(
    plan: &Plan,
    arguments: &BenchArguments,
    ranks: &Ranks,
) -> miette::Result<Vec<Cost>> {
    // Chosen once, so that all sets are measured with the same choice.
    let mut plan = Plan { stages: stages(false), ..plan.clone() };
    if plan.run.tune {
        let chosen = prepared(&plan, arguments, ranks)?.report().execution;
        plan.run.skin = Some(chosen.skin);
        plan.run.threads_per_particle = chosen.launch.map(|launch| launch.threads_per_particle);
        plan.run.tune = false;
    }
    let mut costs = Vec::new();
    for of_stress in [false, true] {
        plan.stages = stages(of_stress);
        costs.extend(measure_sets(&plan, arguments, sets(of_stress), ranks)?);
    }
    Ok(costs)
}

fn measure_sets(
    plan: &Plan,
    arguments: &BenchArguments,
    sets: Vec<(&'static str, Vec<D>)>,
    ranks: &Ranks,
) -> miette::Result<Vec<Cost>> {
    let mut ensemble = prepared(plan, arguments, ranks)?;
    let systems = plan.systems();
    let steps = match arguments.steps {
        Some(steps) if systems > 1 => steps,
        Some(steps) => steps.max(PART),
        None => {
            let trial = 1000;
            let seconds = timed(ensemble.as_mut(), Vec::new(), plan.run.precision, trial)?;
            (trial as f64 * WANTED_SECONDS / 2.0 / seconds) as u64
        }
    };
    let mut best = vec![f64::INFINITY; sets.len()];
    for _ in 0..ROUNDS {
        for ((_, observables), best) in sets.iter().zip(&mut best) {
            let evaluating = if observables.is_empty() { 0 } else { systems };
            let of_system = |_| correlations(plan, observables.clone());
            let all = (0..evaluating).map(of_system).collect::<miette::Result<_>>()?;
            *best = best.min(timed(ensemble.as_mut(), all, plan.run.precision, steps)?);
        }
    }
    let cost = |(&(name, _), &seconds): (&(&'static str, Vec<D>), &f64)| Cost {
        particles: plan.system.particle_count(),
        systems,
        precision: plan.run.precision.name(),
        observables: name,
        steps_per_second: steps as f64 / seconds,
        share: 1.0 - best[0] / seconds,
        microseconds: (seconds - best[0]) / (steps / EVERY) as f64 * 1e6,
    };
    Ok(sets.iter().zip(&best).map(cost).collect())
}

pub fn heading() -> miette::Result<()> {
    say(format!(
        "a sample every {EVERY} steps, {LEVELS} levels of {BLOCK_SIZE}: lags over seven decades\n\
         {:>10} {:>14} {:>16} {:>12} {:>9} {:>12}\n",
        "particles", "precision", "correlations", "steps/s", "share", "us/sample"
    ))
}

pub fn line(cost: &Cost) -> String {
    format!(
        "{:>10} {:>14} {:>16} {:>12.1} {:>8.2}% {:>12.2}\n",
        cost.particles,
        cost.precision,
        cost.observables,
        cost.steps_per_second,
        100.0 * cost.share,
        cost.microseconds
    )
}
