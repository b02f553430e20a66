//! The box may change while a system is held: on the CPU, on ranks and on a GPU alike. A Monte Carlo barostat that the host
//! leads shows it.
mod common;

use common::{begin, kob_andersen, pair, plan_of, thermostat_at};
use supercool::arithmetic::random::{CounterRng, Purpose};
use supercool::engine::cuda::device::gpus;
use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, Engine, ExactState};
use supercool::plan::{EngineChoice, Plan, Precision, Thermostat};
use supercool::potential::{PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Species};

fn engine_on(ranks: &Ranks, plan: &Plan, temperature: f64) -> Box<dyn Engine> {
    let state = supercool::initial::create(plan).unwrap();
    let mut engine = engine::create_on(ranks, plan, &state).unwrap();
    engine.draw_velocities(temperature, true).unwrap();
    begin(engine.as_mut(), None);
    engine
}

/// The box with all edges longer by a factor.
fn scaled(simulation_box: &SimulationBox, factor: f64) -> SimulationBox {
    let edges: Vec<f64> = simulation_box.edges().iter().map(|edge| edge * factor).collect();
    SimulationBox::new(&edges)
}

/// Monte Carlo of the volume at a pressure and temperature (Allen & Tildesley, Computer Simulation of Liquids, 2nd ed.,
/// section 4.5): `ln V` moves by up to `width`, and is accepted with the probability
/// `min(1, exp(-[dU + P dV - (N + 1) T ln(V'/V)] / T))`.
struct MonteCarloBarostat {
    pressure: f64,
    temperature: f64,
    width: f64,
    random: CounterRng,
}

impl MonteCarloBarostat {
    /// One trial; returns whether the box has changed.
    fn trial(&mut self, engine: &mut dyn Engine, simulation_box: &mut SimulationBox) -> bool {
        let (before, old) = (engine.thermodynamics().unwrap(), *simulation_box);
        let change = self.width * (2.0 * self.random.uniform() - 1.0);
        let new = scaled(&old, (change / old.dimension() as f64).exp());
        engine.set_box(new).unwrap();
        let after = engine.thermodynamics().unwrap();
        let particles = engine.export().unwrap().position.len() as f64;
        // Energies are of a particle.
        let enthalpy = particles * (after.potential_energy - before.potential_energy)
            + self.pressure * (new.volume() - old.volume());
        let exponent = enthalpy / self.temperature - (particles + 1.0) * change;
        if self.random.uniform().ln() < -exponent {
            *simulation_box = new;
            return true;
        }
        engine.set_box(old).unwrap();
        false
    }
}

/// Everything but the layout in memory.
fn without_memory(engine: &dyn Engine) -> ExactState {
    ExactState { memory: None, ..engine.export().unwrap() }
}

/// Steps under a thermostat, the volume moved between them: states, and what is measured.
fn sampled(engine: &mut dyn Engine, plan: &Plan, trials: u32) -> (ExactState, String) {
    let mut simulation_box = plan.system.simulation_box;
    let mut barostat = MonteCarloBarostat {
        pressure: 4.0,
        temperature: 1.0,
        width: 0.02,
        random: CounterRng::new(11, Purpose::Bussi, 0),
    };
    begin(engine, thermostat_at(Thermostat::Bussi { time: 0.1 }, 1.0));
    let mut changes = 0;
    for _ in 0..trials {
        engine.advance(20).unwrap();
        changes += u32::from(barostat.trial(engine, &mut simulation_box));
    }
    engine.advance(20).unwrap();
    assert!((1..trials).contains(&changes), "{changes} of {trials}");
    (without_memory(engine), format!("{:?}", engine.thermodynamics().unwrap()))
}

#[test]
fn a_barostat_gives_the_same_bits_on_any_ranks() {
    for dimension in [3, 2] {
        let plan = kob_andersen(dimension, 500, Precision::FixedPoint);
        let on = |ranks: &Ranks| sampled(engine_on(ranks, &plan, 1.5).as_mut(), &plan, 12);
        let expected = on(&Ranks::default());
        assert_ne!(expected.0.simulation_box, plan.system.simulation_box);
        for ranks in [2, 4] {
            assert!(on_threads(ranks, |ranks| on(&ranks)) == expected, "{dimension}D, {ranks}");
        }
    }
}

#[test]
fn a_barostat_gives_the_same_bits_on_a_gpu() {
    if let Err(error) = gpus() {
        println!("skipped: {error}");
        return;
    }
    for (dimension, count) in [(3, 500), (3, 4000), (2, 500)] {
        let mut plan = kob_andersen(dimension, count, Precision::FixedPoint);
        let alone = Ranks::default();
        let expected = sampled(engine_on(&alone, &plan, 1.5).as_mut(), &plan, 12);
        plan.run.engine = EngineChoice::Cuda;
        let found = sampled(engine_on(&alone, &plan, 1.5).as_mut(), &plan, 12);
        assert!(found == expected, "{dimension}D, {count}");
    }
}

/// A box that becomes oblong, which is another program on a GPU.
#[test]
fn an_oblong_box_has_the_same_bits_on_all_engines() {
    let mut plan = kob_andersen(3, 1000, Precision::FixedPoint);
    let run = |ranks: &Ranks, plan: &Plan| {
        let mut engine = engine_on(ranks, plan, 1.0);
        engine.advance(50).unwrap();
        let [x, y, z] = plan.system.simulation_box.padded_edges();
        engine.set_box(SimulationBox::new(&[1.05 * x, y, 0.98 * z])).unwrap();
        engine.advance(50).unwrap();
        (without_memory(engine.as_ref()), engine.forces().unwrap())
    };
    let expected = run(&Ranks::default(), &plan);
    assert!(on_threads(2, |ranks| run(&ranks, &plan)) == expected);
    if let Err(error) = gpus() {
        println!("only on the CPU: {error}");
        return;
    }
    plan.run.engine = EngineChoice::Cuda;
    assert!(run(&Ranks::default(), &plan) == expected);
}

#[test]
fn a_box_that_comes_back_has_the_same_positions_and_velocities() {
    for precision in
        [Precision::FixedPoint, Precision::Double, Precision::DoubleSingle, Precision::Single]
    {
        let plan = kob_andersen(3, 500, precision);
        let mut engine = engine_on(&Ranks::default(), &plan, 1.0);
        engine.advance(30).unwrap();
        let (before, exact) = (engine.snapshot().unwrap(), engine.export().unwrap());
        engine.set_box(scaled(&plan.system.simulation_box, 1.07)).unwrap();
        let between = engine.snapshot().unwrap();
        engine.set_box(plan.system.simulation_box).unwrap();
        let after = engine.snapshot().unwrap();
        // Rounding of a coordinate, twice.
        let unit = if precision == Precision::Single { 1e-5 } else { 1e-12 };
        for id in 0..500 {
            for axis in 0..3 {
                let [before, between, after] = [&before, &between, &after]
                    .map(|at| (at.position[id][axis], at.velocity[id][axis]));
                assert!((between.0 - 1.07 * before.0).abs() < unit, "{precision:?}");
                assert!((after.0 - before.0).abs() < unit, "{precision:?}");
                assert!((between.1 - before.1).abs() < unit, "{precision:?}");
                assert!((after.1 - before.1).abs() < unit, "{precision:?}");
            }
        }
        if precision == Precision::FixedPoint {
            assert_eq!(engine.export().unwrap().position, exact.position);
        }
        assert_eq!(engine.step(), 30);
    }
}

/// `P = -dU/dV + N T / V` in a microcanonical system, by a difference of energies.
#[test]
fn the_pressure_is_the_change_of_the_energy_with_the_volume() {
    let mut plan = kob_andersen(3, 500, Precision::Double);
    plan.potential.truncation = Truncation::ForceShifted;
    let mut engine = engine_on(&Ranks::default(), &plan, 1.0);
    engine.advance(100).unwrap();
    let measured = engine.thermodynamics().unwrap();
    let here = plan.system.simulation_box;
    const STEP: f64 = 1e-5;
    let mut energy_at = |factor: f64| {
        engine.set_box(scaled(&here, factor)).unwrap();
        500.0 * engine.thermodynamics().unwrap().potential_energy
    };
    let difference = energy_at(1.0 + STEP) - energy_at(1.0 - STEP);
    let volume = |factor: f64| scaled(&here, factor).volume();
    let of_pairs = -difference / (volume(1.0 + STEP) - volume(1.0 - STEP));
    let of_motion = 2.0 * 500.0 * measured.kinetic_energy / (3.0 * here.volume());
    // The next term of the difference is of the order of the square of the step, times U''' of some thousand.
    let found = of_pairs + of_motion;
    assert!((found / measured.pressure - 1.0).abs() < 1e-6, "{found}, {}", measured.pressure);
}

/// Volumes of an ideal gas have a gamma distribution: mean `(N + 1) T / P`, variance `(N + 1) (T / P)^2`.
#[test]
fn volumes_of_an_ideal_gas_have_their_mean_and_variance() {
    const COUNT: usize = 32;
    const TRIALS: usize = 6000;
    let species = vec![Species { name: "A".into(), count: COUNT, mass: 1.0 }];
    // Spheres so small that none meet.
    let potential = PotentialPlan {
        diameters: None,
        form: PairPotential::HarmonicSpheres,
        truncation: Truncation::Sharp,
        pairs: vec![vec![pair(1e-12, 1e-3, 1.0)]],
    };
    let mut plan = plan_of(SimulationBox::new(&[4.0; 3]), species, potential, Precision::Double);
    plan.run.skin = Some(0.1);
    let mut engine = engine_on(&Ranks::default(), &plan, 1.0);
    let mut simulation_box = plan.system.simulation_box;
    let mut barostat = MonteCarloBarostat {
        pressure: 0.5,
        temperature: 1.0,
        width: 0.6,
        random: CounterRng::new(3, Purpose::Bussi, 0),
    };
    let mut volumes = Vec::new();
    for trial in 0..TRIALS {
        barostat.trial(engine.as_mut(), &mut simulation_box);
        if trial >= 200 {
            volumes.push(simulation_box.volume());
        }
    }
    let n = volumes.len() as f64;
    let mean = volumes.iter().sum::<f64>() / n;
    let variance = volumes.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    let (expected, width) = ((COUNT + 1) as f64 * 2.0, ((COUNT + 1) as f64).sqrt() * 2.0);
    // Trials of this width forget the volume in less than ten.
    let independent = n / 10.0;
    assert!((mean - expected).abs() < 4.0 * width / independent.sqrt(), "{mean}");
    let ratio = variance / width.powi(2);
    assert!((ratio - 1.0).abs() < 4.0 * (2.0 / independent).sqrt(), "{ratio}");
}
