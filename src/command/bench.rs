//! `supercool bench`: steps per second of liquids that others measure too.
mod correlations;
mod model;
mod written_as;

use std::time::Instant;

use miette::miette;
use serde::Serialize;

pub use self::model::{Acting, Model, Pressing, State};
use self::written_as::WrittenAs;
use super::choices::{Tune, engine_choice};
use super::say;
use crate::config::{MAXIMUM_PARTICLES, MAXIMUM_SYSTEMS, MAXIMUM_THREADS};
use crate::engine::domain::Ranks;
use crate::engine::report::{EngineReport, RanksReport};
use crate::engine::{self, EngineError, Ensemble, StageContext, Thermodynamics};
use crate::initial;
use crate::plan::{
    BarostatPlan, EngineChoice, Plan, Precision, Ramp, ShearPlan, Thermostat, ThermostatPlan,
    TransportChoice,
};
use crate::run::memory;

/// What is measured.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchArguments {
    /// Liquid.
    #[arg(long, value_enum, default_value_t = Model::KobAndersen)]
    pub model: Model,
    /// Numbers of particles.
    #[arg(long, value_delimiter = ',', value_parser = particles, default_value = "4000,32000")]
    pub particles: Vec<usize>,
    /// Systems in one run: their steps are taken together.
    #[arg(long, value_parser = systems, default_value = "1")]
    pub systems: usize,
    /// Precisions: single, double-single, double, fixed-point.
    #[arg(long, value_delimiter = ',', value_parser = precision,
          default_value = "single,double-single,double,fixed-point")]
    pub precision: Vec<Precision>,
    /// Engine: auto, cpu or cuda.
    #[arg(long, value_parser = engine_choice, default_value = "auto")]
    pub engine: EngineChoice,
    /// The model's potential as it is built in, or the same as a formula or as tables.
    #[arg(long, value_enum, default_value = "built-in")]
    pub potential: WrittenAs,
    /// Truncation of the potential: sharp, shifted or smooth.
    #[arg(long, value_parser = ["sharp", "shifted", "even-quartic", "smooth"], default_value = "shifted")]
    pub truncation: String,
    /// Time step, instead of the model's.
    #[arg(long, value_parser = timestep)]
    pub timestep: Option<f64>,
    /// Threads of the CPU engine (of each rank); all cores if not given.
    #[arg(long, value_parser = threads)]
    pub threads: Option<usize>,
    /// Width added to the cutoff in the neighbor lists.
    #[arg(long, value_parser = skin)]
    pub skin: Option<f64>,
    /// Threads that share a particle's neighbors on a GPU.
    #[arg(long, value_parser = ["1", "2", "4", "8", "16", "32"])]
    pub threads_per_particle: Option<String>,
    /// How messages travel between the GPUs of several ranks: auto, peer-memory, cuda-aware-mpi or host-memory.
    #[arg(long, value_parser = transport, default_value = "auto")]
    pub transport: TransportChoice,
    /// Whether the GPU's choices are timed first.
    #[arg(long, value_enum, default_value = "on")]
    pub tune: Tune,
    /// Thermostats of the measured steps, one after the other, at the model's temperature, instead of the model's own.
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "correlations")]
    pub thermostat: Vec<Acting>,
    /// Rates of shear of the measured steps, one after the other, each under all thermostats; 0 is none.
    #[arg(long, value_parser = rate, value_delimiter = ',', allow_negative_numbers = true, conflicts_with_all = ["correlations", "systems"])]
    pub shear: Vec<f64>,
    /// Barostats of the measured steps, one after the other, each under all thermostats, at the liquid's pressure.
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with_all = ["correlations", "systems", "shear"])]
    pub barostat: Vec<Pressing>,
    /// Steps in a Langevin thermostat at the model's first temperature, instead of the model's number.
    #[arg(long)]
    pub melt_steps: Option<u64>,
    /// Steps of equilibration after that, instead of the model's number.
    #[arg(long)]
    pub equilibration_steps: Option<u64>,
    /// Steps to measure; if not given, as many as take about five seconds.
    #[arg(long)]
    pub steps: Option<u64>,
    /// Measure what time correlations cost instead: MSD, alpha_2, VACF, F_s, overlap and chi_4 over seven decades,
    /// sampled every 10 steps.
    #[arg(long)]
    pub correlations: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl BenchArguments {
    /// Of the measured steps, with their temperatures: at least one.
    fn thermostats(&self) -> Vec<Option<(Thermostat, f64)>> {
        let state = self.model.state();
        match self.thermostat.as_slice() {
            [] => vec![state.thermostat],
            asked => asked.iter().map(|acting| acting.at(&state)).collect(),
        }
    }

    /// Of the measured steps, one after the other.
    fn conditions(&self) -> Vec<Conditions> {
        let rates = if self.shear.is_empty() { &[0.0][..] } else { &self.shear };
        let barostats =
            if self.barostat.is_empty() { &[Pressing::None][..] } else { &self.barostat };
        let thermostats = self.thermostats();
        let mut conditions = Vec::new();
        for &rate in rates {
            for &barostat in barostats {
                let under = |&thermostat| Conditions { thermostat, rate, barostat };
                conditions.extend(thermostats.iter().map(under));
            }
        }
        conditions
    }

    /// # Errors
    /// If a barostat has no temperature.
    fn check_barostats(&self) -> miette::Result<()> {
        let is_lacking = |of: &Conditions| of.barostat != Pressing::None && of.thermostat.is_none();
        match self.conditions().iter().any(is_lacking) {
            true => Err(miette!(
                help = "--thermostat bussi",
                "--barostat cell-rescaling: trials of the volume have the temperature of a thermostat"
            )),
            false => Ok(()),
        }
    }
}

/// What steps are taken under.
#[derive(Clone, Copy)]
struct Conditions {
    /// With its temperature.
    thermostat: Option<(Thermostat, f64)>,
    /// Of shear; 0: none.
    rate: f64,
    barostat: Pressing,
}

impl Conditions {
    fn at_rest(thermostat: Option<(Thermostat, f64)>) -> Self {
        Conditions { thermostat, rate: 0.0, barostat: Pressing::None }
    }
}

fn timestep(word: &str) -> Result<f64, String> {
    match word.parse() {
        Ok(timestep) if timestep > 0.0 && timestep < 1.0 => Ok(timestep),
        _ => Err("a time between 0 and 1".to_owned()),
    }
}

fn skin(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(skin) if skin > 0.0 && skin.is_finite() => Ok(skin),
        _ => Err("a length greater than 0".to_owned()),
    }
}

fn rate(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(rate) if rate.abs() <= 1.0 => Ok(rate),
        _ => Err("a strain per time, from -1 to 1".to_owned()),
    }
}

fn threads(word: &str) -> Result<usize, String> {
    number(word, MAXIMUM_THREADS)
}

fn particles(word: &str) -> Result<usize, String> {
    number(word, MAXIMUM_PARTICLES)
}

fn systems(word: &str) -> Result<usize, String> {
    number(word, MAXIMUM_SYSTEMS)
}

fn number(word: &str, most: u64) -> Result<usize, String> {
    match word.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number as usize),
        _ => Err(format!("a number from 1 to {most}")),
    }
}

fn transport(word: &str) -> Result<TransportChoice, String> {
    TransportChoice::ALL
        .into_iter()
        .find(|transport| transport.name() == word)
        .ok_or_else(|| "one of auto, peer-memory, cuda-aware-mpi, host-memory".to_owned())
}

fn precision(word: &str) -> Result<Precision, String> {
    Precision::ALL
        .into_iter()
        .find(|precision| precision.name() == word)
        .ok_or_else(|| "one of single, double-single, double, fixed-point".to_owned())
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    pub model: &'static str,
    /// Of each system.
    pub particles: usize,
    pub systems: usize,
    pub precision: &'static str,
    pub truncation: String,
    pub thermostat: Acting,
    pub shear_rate: f64,
    pub barostat: Pressing,
    pub timestep: f64,
    pub steps: u64,
    pub seconds: f64,
    /// Of each system.
    pub steps_per_second: f64,
    /// Of all systems.
    pub particle_steps_per_second: f64,
    /// Mean over the systems; so in what follows.
    pub temperature: f64,
    pub potential_energy: f64,
    /// Of what the model's dynamics conserves, per particle.
    pub energy_change: f64,
    /// Memory on the GPU, where the engine has one and reports it.
    pub device_bytes_per_particle: Option<f64>,
    pub engine: EngineReport,
}

/// Thermodynamics are evaluated this often, as a run would.
const THERMODYNAMICS_INTERVAL: u64 = 1000;
const WANTED_SECONDS: f64 = 5.0;

/// Values of the pressure that are averaged, and steps between them.
const PRESSURES: u32 = 20;
const PRESSURE_INTERVAL: u64 = 50;

/// Systems in the model's state, ready to be measured.
fn prepared(
    plan: &Plan,
    arguments: &BenchArguments,
    ranks: &Ranks,
) -> miette::Result<Box<dyn Ensemble>> {
    let model = arguments.model.state();
    let states = (0..plan.systems()).map(|system| initial::create(&plan.of_system(system)));
    let states = states.collect::<Result<_, _>>()?;
    let mut ensemble = engine::create_ensemble_on(ranks, plan, states)?;
    ensemble.draw_velocities(&vec![Some(model.start); plan.systems()])?;
    let langevin = |temperature| (Thermostat::Langevin { friction: 2.0 }, temperature);
    let melt = arguments.melt_steps.unwrap_or(model.melt_steps);
    let equilibration = arguments.equilibration_steps.unwrap_or(model.equilibration_steps);
    for (equilibration_temperature, steps) in [
        (Some(langevin(model.start)), melt),
        (model.equilibration_temperature.map(langevin), equilibration),
    ] {
        if steps > 0 {
            begin(ensemble.as_mut(), Conditions::at_rest(equilibration_temperature), None, steps)?;
            ensemble.advance(steps)?;
        }
    }
    Ok(ensemble)
}

/// The mean over some steps at constant energy, if one of the conditions wants it.
fn pressure(ensemble: &mut dyn Ensemble, conditions: &[Conditions]) -> Result<f64, EngineError> {
    if conditions.iter().all(|of| of.barostat == Pressing::None) {
        return Ok(0.0);
    }
    begin(ensemble, Conditions::at_rest(None), None, u64::MAX / 2)?;
    let mut sum = 0.0;
    for _ in 0..PRESSURES {
        ensemble.advance(PRESSURE_INTERVAL)?;
        sum += ensemble.thermodynamics()?[0].pressure;
    }
    Ok(sum / f64::from(PRESSURES))
}

/// Begins a stage; `barostat`: that of the conditions.
fn begin(
    ensemble: &mut dyn Ensemble,
    Conditions { thermostat, rate, .. }: Conditions,
    barostat: Option<BarostatPlan>,
    steps: u64,
) -> Result<(), EngineError> {
    let thermostat = thermostat.map(|(kind, temperature)| ThermostatPlan {
        kind,
        temperature: Ramp { from: temperature, to: temperature },
    });
    let stage = StageContext {
        thermostat,
        first_step: ensemble.step(),
        steps,
        swap: None,
        barostat,
        shear: (rate != 0.0).then_some(ShearPlan::Steady { rate }),
    };
    ensemble.begin_stage(&vec![stage; ensemble.systems()])
}

fn timed(ensemble: &mut dyn Ensemble, steps: u64) -> miette::Result<f64> {
    let start = Instant::now();
    let mut left = steps;
    while left > 0 {
        let part = left.min(THERMODYNAMICS_INTERVAL);
        ensemble.advance(part)?;
        ensemble.thermodynamics()?;
        left -= part;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Measures systems of one size, under all conditions that were asked for.
pub fn measure(
    plan: &Plan,
    arguments: &BenchArguments,
    ranks: &Ranks,
) -> miette::Result<Vec<Measurement>> {
    let mut ensemble = prepared(plan, arguments, ranks)?;
    let all = arguments.conditions();
    let pressure = pressure(ensemble.as_mut(), &all)?;
    let mut measurements = Vec::new();
    for conditions in all {
        let barostat = conditions.barostat.at(pressure, plan.run.timestep);
        begin(ensemble.as_mut(), conditions, barostat, u64::MAX / 2)?;
        measurements.push(measure_under(ensemble.as_mut(), conditions, plan, arguments)?);
    }
    Ok(measurements)
}

fn measure_under(
    ensemble: &mut dyn Ensemble,
    Conditions { thermostat, rate, barostat }: Conditions,
    plan: &Plan,
    arguments: &BenchArguments,
) -> miette::Result<Measurement> {
    let steps = match arguments.steps {
        Some(steps) => steps.max(1),
        None => {
            let trial = 100;
            let seconds = timed(ensemble, trial)?;
            ((trial as f64 * WANTED_SECONDS / seconds) as u64).max(100)
        }
    };
    let before = ensemble.thermodynamics()?;
    let seconds = timed(ensemble, steps)?;
    let after = ensemble.thermodynamics()?;
    let (particles, systems) = (plan.system.particle_count(), plan.systems());
    let mean = |values: &[Thermodynamics], of: fn(&Thermodynamics) -> f64| {
        values.iter().map(of).sum::<f64>() / systems as f64
    };
    let conserved = |values| mean(values, |now| now.conserved_energy);
    let report = ensemble.report();
    Ok(Measurement {
        model: arguments.model.name(),
        particles,
        systems,
        precision: plan.run.precision.name(),
        truncation: arguments.model.truncation(arguments).to_owned(),
        thermostat: Acting::of(thermostat),
        shear_rate: rate,
        barostat,
        timestep: plan.run.timestep,
        steps,
        seconds,
        steps_per_second: steps as f64 / seconds,
        particle_steps_per_second: steps as f64 / seconds * (particles * systems) as f64,
        temperature: mean(&after, |now| now.temperature),
        potential_energy: mean(&after, |now| now.potential_energy),
        energy_change: conserved(&after) - conserved(&before),
        device_bytes_per_particle: report
            .execution
            .launch
            .map(|launch| launch.device_bytes as f64 / (particles * systems) as f64),
        engine: report,
    })
}

/// Measures and prints what time correlations cost.
fn run_correlations(arguments: &BenchArguments, ranks: &Ranks) -> miette::Result<()> {
    let mut costs = Vec::new();
    if !arguments.json {
        correlations::heading()?;
    }
    for &particles in &arguments.particles {
        for &precision in &arguments.precision {
            let plan = arguments.model.plan(particles, precision, arguments);
            let measured = correlations::measure(&plan, arguments, ranks)?;
            if !arguments.json {
                measured.iter().try_for_each(|cost| say(correlations::line(cost)))?;
            }
            costs.extend(measured);
        }
    }
    if arguments.json {
        say(serde_json::to_string_pretty(&costs).expect("numbers make JSON") + "\n")?;
    }
    Ok(())
}

/// Refuses a box with less than twice the reach of the pairs along its edges.
fn check_box(plan: &Plan) -> miette::Result<()> {
    let particles = plan.system.particle_count();
    let cutoff = plan.potential.largest_cutoff();
    let reach = plan.reach(plan.run.skin.unwrap_or(0.0));
    let edge = plan.system.simulation_box.shortest_edge();
    if reach <= edge / 2.0 {
        return Ok(());
    }
    let density = particles as f64 / plan.system.simulation_box.volume();
    // Less what rounding may add to a whole number.
    let least = (density * (2.0 * reach).powi(3) - 1e-6).ceil();
    let skin = plan.run.skin.map_or(String::new(), |skin| format!(" and skin {skin}"));
    Err(miette!(
        help = format!("at least {least} particles, or a smaller --skin"),
        "--particles {particles}: cutoff {cutoff}{skin} reach beyond half the edge of the box, {:.3}",
        edge / 2.0
    ))
}

/// Measures and prints all that was asked for.
pub fn run(arguments: &BenchArguments, ranks: &Ranks) -> miette::Result<()> {
    arguments.check_barostats()?;
    for &particles in &arguments.particles {
        for &precision in &arguments.precision {
            let plan = arguments.model.plan(particles, precision, arguments);
            check_box(&plan)?;
            memory::check(&plan, ranks)?;
        }
    }
    if arguments.correlations {
        return run_correlations(arguments, ranks);
    }
    let mut measurements = Vec::new();
    if !arguments.json {
        let state = arguments.model.state();
        say(format!(
            "{}: density {:.4}, dt = {}, cutoff {} sigma, truncation {}, {}\n\
             {:>10} {:>14} {:>9} {:>12} {:>20} {:>8} {:>12} {:>12}  engine\n",
            arguments.model.name(),
            state.density,
            arguments.timestep.unwrap_or(state.timestep),
            state.cutoff,
            arguments.model.truncation(arguments),
            match arguments.conditions().as_slice() {
                [Conditions { thermostat: None, rate: 0.0, .. }] => "constant energy",
                [Conditions { thermostat: Some(_), rate: 0.0, barostat: Pressing::None }] =>
                    "constant temperature",
                _ => "by conditions",
            },
            "particles",
            "precision",
            "steps",
            "steps/s",
            "particle-steps/s",
            "T",
            "dE/N",
            "GPU bytes/N"
        ))?;
    }
    for &particles in &arguments.particles {
        for &precision in &arguments.precision {
            let plan = arguments.model.plan(particles, precision, arguments);
            let measured = measure(&plan, arguments, ranks)?;
            if !arguments.json {
                measured.iter().try_for_each(|measurement| say(line(measurement)))?;
            }
            measurements.extend(measured);
        }
    }
    if arguments.json {
        say(serde_json::to_string_pretty(&measurements).expect("numbers make JSON") + "\n")?;
    }
    Ok(())
}

fn line(measurement: &Measurement) -> String {
    let memory = measurement.device_bytes_per_particle;
    let engine = &measurement.engine;
    let ranks = match (&engine.hardware.ranks, engine.execution.communication_share) {
        (Some(RanksReport { ranks, .. }), Some(share)) => {
            format!(" x {ranks} ranks, {:.1} % of the time in communication", 100.0 * share)
        }
        _ => String::new(),
    };
    let systems = match measurement.systems {
        1 => String::new(),
        systems => format!(", {systems} systems"),
    };
    let thermostat = match measurement.thermostat {
        Acting::None => "",
        Acting::Andersen => ", Andersen",
        Acting::Langevin => ", Langevin",
        Acting::Bussi => ", Bussi",
        Acting::Isokinetic => ", isokinetic",
        Acting::NoseHoover => ", Nose-Hoover",
    };
    let shear = match measurement.shear_rate {
        0.0 => String::new(),
        rate => format!(", shear {rate}"),
    };
    let barostat = match measurement.barostat {
        Pressing::None => "",
        Pressing::CellRescaling => ", cell rescaling",
    };
    format!(
        "{:>10} {:>14} {:>9} {:>12.1} {:>20.3e} {:>8.3} {:>12.2e} {:>12}  {} {} x {}{ranks}{thermostat}{barostat}{shear}{systems}\n",
        measurement.particles,
        measurement.precision,
        measurement.steps,
        measurement.steps_per_second,
        measurement.particle_steps_per_second,
        measurement.temperature,
        measurement.energy_change,
        memory.map_or("-".to_owned(), |bytes| format!("{bytes:.0}")),
        engine.hardware.engine,
        engine.hardware.instructions(),
        engine.threads(),
    )
}
