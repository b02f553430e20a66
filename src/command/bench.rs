//! `supercool bench`: steps per second of a Kob-Andersen liquid.
use std::time::Instant;

use serde::Serialize;

use super::run::Tune;
use crate::engine::{self, Engine, StageContext};
use crate::initial;
use crate::plan::{
    CheckpointPlan, EngineChoice, InitialPlan, Lattice, OutputPlan, Plan, Precision, RunPlan,
    SystemPlan, TemperatureRamp, Thermostat, ThermostatPlan,
};
use crate::potential::{PairParameters, PairPotential, PotentialPlan, Truncation};
use crate::system::{SimulationBox, Species};

/// What is measured.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchArguments {
    /// Numbers of particles.
    #[arg(long, value_delimiter = ',', default_value = "4000,32000")]
    pub particles: Vec<usize>,
    /// Precisions: single, double-single, double, fixed-point.
    #[arg(long, value_delimiter = ',', value_parser = precision,
          default_value = "single,double-single,double,fixed-point")]
    pub precision: Vec<Precision>,
    /// Engine: auto, cpu or cuda.
    #[arg(long, value_parser = engine_choice, default_value = "auto")]
    pub engine: EngineChoice,
    /// Truncation of the potential: shifted or smooth.
    #[arg(long, value_parser = ["shifted", "smooth"], default_value = "shifted")]
    pub truncation: String,
    /// Threads of the CPU engine; all cores if not given.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Width added to the cutoff in the neighbour lists.
    #[arg(long)]
    pub skin: Option<f64>,
    /// Threads that share a particle's neighbours on a GPU.
    #[arg(long, value_parser = ["1", "2", "4", "8", "16", "32"])]
    pub threads_per_particle: Option<String>,
    /// Whether the GPU's choices are timed first.
    #[arg(long, value_enum, default_value = "on")]
    pub tune: Tune,
    /// Steps to measure; if not given, as many as take about five seconds.
    #[arg(long)]
    pub steps: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn engine_choice(word: &str) -> Result<EngineChoice, String> {
    match word {
        "auto" => Ok(EngineChoice::Auto),
        "cpu" => Ok(EngineChoice::Cpu),
        "cuda" => Ok(EngineChoice::Cuda),
        _ => Err("one of auto, cpu, cuda".to_owned()),
    }
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
    pub particles: usize,
    pub precision: &'static str,
    pub truncation: String,
    pub steps: u64,
    pub seconds: f64,
    pub steps_per_second: f64,
    pub particle_steps_per_second: f64,
    pub temperature: f64,
    pub potential_energy: f64,
    pub energy_change: f64,
    pub engine: serde_json::Value,
}

const DENSITY: f64 = 1.2;
const TEMPERATURE: f64 = 0.8;
const TIMESTEP: f64 = 0.004;
const MELT_STEPS: u64 = 1000;
const EQUILIBRATION_STEPS: u64 = 2000;
/// Thermodynamics are evaluated this often, as a run would.
const THERMODYNAMICS_INTERVAL: u64 = 1000;
const WANTED_SECONDS: f64 = 5.0;

/// The Kob-Andersen mixture (Phys. Rev. Lett. 73, 1376 (1994)) of 80 % A and 20 % B.
pub fn kob_andersen(particles: usize, precision: Precision, arguments: &BenchArguments) -> Plan {
    let b = particles / 5;
    let pair = |epsilon: f64, sigma: f64| PairParameters {
        epsilon,
        sigma,
        cutoff: 2.5 * sigma,
        kappa: 0.0,
    };
    let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
    Plan {
        system: SystemPlan {
            simulation_box: SimulationBox::cubic(3, particles, DENSITY),
            species: vec![
                Species { name: "A".into(), count: particles - b, mass: 1.0 },
                Species { name: "B".into(), count: b, mass: 1.0 },
            ],
            seed: 1,
            initial: InitialPlan::Lattice { lattice: Lattice::Fcc, temperature: 2.0 },
        },
        potential: PotentialPlan {
            form: PairPotential::LennardJones,
            truncation: match arguments.truncation.as_str() {
                "smooth" => Truncation::Smooth { width: 0.005 },
                _ => Truncation::Shifted,
            },
            pairs: vec![vec![aa, ab], vec![ab, bb]],
        },
        run: RunPlan {
            engine: arguments.engine,
            precision,
            timestep: TIMESTEP,
            threads: arguments.threads,
            skin: arguments.skin,
            threads_per_particle: arguments
                .threads_per_particle
                .as_ref()
                .and_then(|n| n.parse().ok()),
            tune: arguments.tune == Tune::On,
            sort_interval: 1,
        },
        stages: Vec::new(),
        checkpoint: CheckpointPlan { minutes: f64::INFINITY },
        output: OutputPlan { directory: Default::default() },
    }
}

fn liquid(plan: &Plan) -> miette::Result<Box<dyn Engine>> {
    let state = initial::create(plan)?;
    let mut engine = engine::create(plan, &state)?;
    engine.draw_velocities(2.0, true)?;
    for (temperature, steps) in [(2.0, MELT_STEPS), (TEMPERATURE, EQUILIBRATION_STEPS)] {
        engine.begin_stage(&StageContext {
            thermostat: Some(ThermostatPlan {
                kind: Thermostat::Langevin { friction: 2.0 },
                temperature: TemperatureRamp { from: temperature, to: temperature },
            }),
            first_step: engine.step(),
            steps,
        });
        engine.advance(steps)?;
    }
    engine.begin_stage(&StageContext {
        thermostat: None,
        first_step: engine.step(),
        steps: u64::MAX,
    });
    Ok(engine)
}

fn timed(engine: &mut dyn Engine, steps: u64) -> miette::Result<f64> {
    let start = Instant::now();
    let mut left = steps;
    while left > 0 {
        let part = left.min(THERMODYNAMICS_INTERVAL);
        engine.advance(part)?;
        engine.thermodynamics()?;
        left -= part;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Measures one system.
pub fn measure(plan: &Plan, arguments: &BenchArguments) -> miette::Result<Measurement> {
    let mut engine = liquid(plan)?;
    let steps = match arguments.steps {
        Some(steps) => steps.max(1),
        None => {
            let trial = 100;
            let seconds = timed(engine.as_mut(), trial)?;
            ((trial as f64 * WANTED_SECONDS / seconds) as u64).max(100)
        }
    };
    let before = engine.thermodynamics()?;
    let seconds = timed(engine.as_mut(), steps)?;
    let after = engine.thermodynamics()?;
    let particles = plan.system.particle_count();
    Ok(Measurement {
        particles,
        precision: plan.run.precision.name(),
        truncation: arguments.truncation.clone(),
        steps,
        seconds,
        steps_per_second: steps as f64 / seconds,
        particle_steps_per_second: steps as f64 / seconds * particles as f64,
        temperature: after.temperature,
        potential_energy: after.potential_energy,
        energy_change: after.total_energy() - before.total_energy(),
        engine: engine.report(),
    })
}

/// Measures and prints all that was asked for.
pub fn run(arguments: &BenchArguments) -> miette::Result<()> {
    let mut measurements = Vec::new();
    if !arguments.json {
        println!(
            "Kob-Andersen, density {DENSITY}, T = {TEMPERATURE}, dt = {TIMESTEP}, truncation {}",
            arguments.truncation
        );
        println!(
            "{:>10} {:>14} {:>9} {:>12} {:>20} {:>8} {:>12}  engine",
            "particles", "precision", "steps", "steps/s", "particle-steps/s", "T", "dE/N"
        );
    }
    for &particles in &arguments.particles {
        for &precision in &arguments.precision {
            let measurement = measure(&kob_andersen(particles, precision, arguments), arguments)?;
            if !arguments.json {
                println!(
                    "{:>10} {:>14} {:>9} {:>12.1} {:>20.3e} {:>8.3} {:>12.2e}  {} {} x {}",
                    measurement.particles,
                    measurement.precision,
                    measurement.steps,
                    measurement.steps_per_second,
                    measurement.particle_steps_per_second,
                    measurement.temperature,
                    measurement.energy_change,
                    measurement.engine["engine"].as_str().unwrap_or("?"),
                    measurement.engine["instructions"].as_str().unwrap_or("?"),
                    measurement.engine["threads"],
                );
            }
            measurements.push(measurement);
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&measurements).expect("numbers make JSON"));
    }
    Ok(())
}
