//! Brownian dynamics: exact displacements of free particles, motion along the forces without noise, the temperature of a liquid, bits.
mod common;

use common::job::{Job, kob_andersen as toml};
use common::{begin, kob_andersen, liquid, pair, plan_of, thermostat_at};
use supercool::engine::cuda::device::gpus;
use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, ExactState};
use supercool::observable::{ForcesAndCurvature, SampleContext};
use supercool::plan::{EngineChoice, Plan, Precision, Thermostat};
use supercool::potential::{PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species, species_of_particles};

const FRICTION: f64 = 8.0;
const BROWNIAN: Thermostat = Thermostat::Brownian { friction: FRICTION };

/// The plan with steps of this length in time.
fn with_timestep(mut plan: Plan, timestep: f64) -> Plan {
    plan.run.timestep = timestep;
    plan.run.flight = Some(BROWNIAN.flight(timestep));
    plan
}

/// A state of another plan as a run with this one takes it over.
fn taken(plan: &Plan, state: ExactState) -> ExactState {
    state.at_timestep(plan.run.flight(), &plan.system.species).unwrap()
}

/// After `n` steps the displacement along an axis has the variance `T dt (2 n - 1) / (m gamma)`: `2 D t`, less half a step at either end. Of
/// 4,000 particles and three axes its relative error is `sqrt(2 / 12000)`, of which four are allowed.
#[test]
fn free_particles_diffuse_with_the_einstein_relation() {
    let potential = PotentialPlan {
        form: PairPotential::GaussianCore,
        truncation: Truncation::Shifted,
        pairs: vec![vec![pair(1e-9, 1.0, 1.0); 2]; 2],
        diameters: None,
    };
    let species = [("A", 1.0), ("B", 4.0)].map(|(name, mass)| Species {
        name: name.into(),
        count: 4000,
        mass,
    });
    let (timestep, temperature, steps) = (0.02, 1.3, 25);
    for precision in [Precision::Double, Precision::FixedPoint] {
        let simulation_box = SimulationBox::cubic(3, 8000, 0.5);
        let plan = plan_of(simulation_box, species.to_vec(), potential.clone(), precision);
        let plan = with_timestep(plan, timestep);
        let state = supercool::initial::create(&plan).unwrap();
        let mut engine = engine::create(&plan, &state).unwrap();
        engine.draw_velocities(temperature, false).unwrap();
        begin(engine.as_mut(), thermostat_at(BROWNIAN, temperature));
        let before = engine.snapshot().unwrap();
        engine.advance(steps).unwrap();
        let after = engine.snapshot().unwrap();
        let unwrapped = |of: &Snapshot, id| simulation_box.unwrapped(of.position[id], of.image[id]);
        for (first, mass) in [(0, 1.0), (4000, 4.0)] {
            let mut square = 0.0;
            for id in first..first + 4000 {
                let (from, to) = (unwrapped(&before, id), unwrapped(&after, id));
                square += (0..3).map(|axis| (to[axis] - from[axis]).powi(2)).sum::<f64>();
            }
            let found = square / 12_000.0;
            let expected = temperature * timestep * (2.0 * steps as f64 - 1.0) / (mass * FRICTION);
            let error = (2.0 / 12_000.0f64).sqrt();
            assert!((found / expected - 1.0).abs() < 4.0 * error, "{mass}: {found} {expected}");
        }
        let kinetic = engine.thermodynamics().unwrap().temperature;
        assert!(
            (kinetic / temperature - 1.0).abs() < 4.0 * (2.0 / 24_000.0f64).sqrt(),
            "{kinetic}"
        );
    }
}

/// Without noise particles move by `F dt / (m gamma)` in each step but the first, which is half as long, and the energy falls.
#[test]
fn at_temperature_zero_particles_follow_the_forces() {
    let plan = with_timestep(kob_andersen(3, 500, Precision::Double), 1e-4);
    let start = liquid(&kob_andersen(3, 500, Precision::Double), 1.0, 100).export().unwrap();
    let mut engine = engine::create(&plan, &taken(&plan, start)).unwrap();
    engine.draw_velocities(0.0, false).unwrap();
    begin(engine.as_mut(), thermostat_at(BROWNIAN, 0.0));
    let mut energy = engine.thermodynamics().unwrap().potential_energy;
    engine.advance(1).unwrap();
    for _ in 0..20 {
        let (before, forces) = (engine.snapshot().unwrap(), engine.forces().unwrap());
        engine.advance(1).unwrap();
        let after = engine.snapshot().unwrap();
        let largest = forces.iter().flatten().fold(0.0f64, |most, force| most.max(force.abs()));
        for (id, force) in forces.iter().enumerate() {
            for axis in 0..3 {
                let unwrapped = |of: &Snapshot| {
                    plan.system.simulation_box.unwrapped(of.position[id], of.image[id])[axis]
                };
                let moved = (unwrapped(&after) - unwrapped(&before)) * FRICTION / 1e-4;
                assert!((moved - force[axis]).abs() < 1e-9 * largest, "{moved} {force:?}");
            }
        }
        let next = engine.thermodynamics().unwrap().potential_energy;
        assert!(next < energy);
        energy = next;
    }
}

/// Mean square force over mean Laplacian: four errors, by tenths of the samples.
#[test]
fn a_liquid_has_the_temperature_of_the_noise() {
    let simulation_box = SimulationBox::cubic(3, 500, 0.85);
    let potential = PotentialPlan {
        form: PairPotential::LennardJones,
        truncation: Truncation::EvenQuartic,
        pairs: vec![vec![pair(1.0, 1.0, 2.5)]],
        diameters: None,
    };
    let species = vec![Species { name: "A".into(), count: 500, mass: 1.0 }];
    let plan = plan_of(simulation_box, species, potential, Precision::Double);
    let (temperature, start) = (1.5, liquid(&plan, 1.5, 400).export().unwrap());
    let plan = with_timestep(plan, FRICTION * 0.5 * 0.006 * 0.006);
    let mut engine = engine::create(&plan, &taken(&plan, start)).unwrap();
    begin(engine.as_mut(), thermostat_at(BROWNIAN, temperature));
    engine.advance(400).unwrap();
    let context = SampleContext {
        in_flow: false,
        simulation_box,
        species: plan.system.species.clone(),
        species_of: species_of_particles(&plan.system.species),
        order: None,
        timestep: plan.run.timestep,
        stage_steps: 1,
    };
    let mut kinetic = 0.0;
    let of_sample = |_| {
        engine.advance(40).unwrap();
        kinetic += engine.thermodynamics().unwrap().half_step_temperature / 80.0;
        ForcesAndCurvature::of(&plan.potential, &context, &engine.snapshot().unwrap())
    };
    let all: Vec<ForcesAndCurvature> = (0..80).map(of_sample).collect();
    let ratio = |of: &[ForcesAndCurvature]| {
        let squares: f64 = of.iter().map(|of| of.squared_force).sum();
        squares / of.iter().map(|of| of.laplacian).sum::<f64>()
    };
    let blocks: Vec<f64> = all.chunks(8).map(ratio).collect();
    let mean = blocks.iter().sum::<f64>() / 10.0;
    let error = (blocks.iter().map(|block| (block - mean).powi(2)).sum::<f64>() / 90.0).sqrt();
    let found = ratio(&all);
    println!("configurations {found} +- {error}, velocities {kinetic}");
    assert!(error < 0.03 && (found - temperature).abs() < 4.0 * error, "{found} +- {error}");
    // Independent velocities in each sample: the relative error is sqrt(2 / (3 500 80)).
    assert!((kinetic / temperature - 1.0).abs() < 4.0 * (2.0 / 120_000.0f64).sqrt(), "{kinetic}");
}

#[test]
fn ranks_and_restarts_have_the_same_bits() {
    let made = kob_andersen(3, 800, Precision::FixedPoint);
    let start = liquid(&made, 1.0, 100).export().unwrap();
    let mut plan = with_timestep(made, 2e-4);
    plan.run.skin = Some(0.3);
    let start = ExactState { memory: None, ..taken(&plan, start) };
    let run_with = |plan: &Plan, ranks: &Ranks, state: &ExactState, steps: u64| {
        let mut engine = engine::create_on(ranks, plan, state).unwrap();
        let stage = engine::StageContext {
            thermostat: thermostat_at(BROWNIAN, 1.0),
            steps: 1000,
            ..engine::StageContext::none(start.step)
        };
        engine.begin_stage(&stage).unwrap();
        engine.advance(steps).unwrap();
        engine.export().unwrap()
    };
    let run = |ranks: &Ranks, state: &ExactState, steps: u64| run_with(&plan, ranks, state, steps);
    let expected = run(&Ranks::default(), &start, 300).hash();
    let middle = run(&Ranks::default(), &start, 130);
    assert_eq!(run(&Ranks::default(), &middle, 170).hash(), expected);
    let middle = ExactState { memory: None, ..middle };
    on_threads(3, |all| assert_eq!(run(&all, &middle, 170).hash(), expected));
    match gpus() {
        Err(error) => println!("no GPU: {error}"),
        Ok(_) => {
            let mut on_gpu = plan.clone();
            on_gpu.run.engine = EngineChoice::Cuda;
            let found = run_with(&on_gpu, &Ranks::default(), &start, 300);
            assert_eq!(found.hash(), expected);
            let found = run_with(&on_gpu, &Ranks::default(), &middle, 170);
            assert_eq!(found.hash(), expected);
        }
    }
}

const STAGE: &str = r#"[[stage]]
name = "NAME"
steps = 60
timestep = 2e-4
thermostat = { kind = "brownian", temperature = T, friction = 10.0 }
observe = { thermodynamics = 10 }
"#;

fn stage(name: &str, temperature: &str) -> String {
    STAGE.replace("NAME", name).replace("= T,", &format!("= {temperature},"))
}

/// Times are those of the steps; stages with inertia before and after it; the velocities are of the noise.
#[test]
fn a_run_counts_the_time_of_its_steps_and_goes_on_with_inertia() {
    let head = toml(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1");
    let nve = "[[stage]]\nname = \"nve\"\nsteps = 50\nobserve = { thermodynamics = 10 }\n";
    let job = Job::new(&(head.clone() + &stage("brownian", "1.0") + nve));
    let check = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(check.contains("60 steps of 0.0002, time 0.012"), "{check}");
    assert!(check.contains("temperature 1, brownian with friction 10"), "{check}");
    job.succeeds(&["run", "job.toml"]);
    let temperature = job.results("brownian").observable("half_step_temperature").unwrap().unwrap();
    assert!((temperature.time[6] - 0.012).abs() < 1e-12, "{:?}", temperature.time);
    let mean = temperature.value[1..].iter().sum::<f64>() / 6.0;
    // Of 6 samples of 768 degrees of freedom: 2.1 %.
    assert!((mean - 1.0).abs() < 0.085, "{mean}");
    let kinetic = job.series("nve", "temperature");
    assert!((kinetic[0] - 1.0).abs() < 0.25, "{kinetic:?}");
    let energy = job.series("nve", "internal_energy");
    assert!((energy[5] - energy[0]).abs() < 0.01, "{energy:?}");

    let zero = Job::new(&(head.clone() + &stage("overdamped", "0.0")));
    zero.succeeds(&["run", "job.toml"]);
    let energy = zero.series("overdamped", "potential_energy");
    assert!(energy.windows(2).all(|pair| pair[1] < pair[0]), "{energy:?}");

    for (text, expected) in [
        (stage("zero", "0.0").replace("brownian", "langevin"), "must be greater than 0, not 0.0"),
        (
            stage("npt", "0.0")
                + "barostat = { kind = \"cell-rescaling\", pressure = 1.0, time = 1.0 }\n",
            "no trial of barostat",
        ),
        (stage("rest", "0.0") + nve, "velocities are zero"),
        (
            stage("none", "1.0").replace(", friction = 10.0", ""),
            "the thermostat \"brownian\" needs it",
        ),
        (
            stage("long", "1.0").replace("2e-4", "1.0"),
            "fly for sqrt(2 dt / gamma) = 0.4472, is too long",
        ),
    ] {
        Job::new(&(head.clone() + &text)).fails(&["check", "job.toml"], &[expected]);
    }
}
