//! Minima found on a GPU against those found on the processor; elsewhere every test says that it does nothing.
mod common;

use std::time::Instant;

use common::job::{Job, kob_andersen as toml};
use common::{kob_andersen, kob_andersen_potential, liquid, pair, plan_of};
use supercool::engine::cpu::CpuMinimizer;
use supercool::engine::cuda::CudaMinimizer;
use supercool::engine::cuda::device::{Gpu, gpus};
use supercool::engine::{self, InherentStructure, Minimizer};
use supercool::output::{Checkpoint, latest_valid};
use supercool::plan::{EngineChoice, InherentStructuresPlan, Plan, Precision};
use supercool::potential::{PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species};

/// The first GPU, or a word that there is none.
fn gpu() -> Option<Gpu> {
    match gpus() {
        Ok(mut gpus) => Some(gpus.swap_remove(0)),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn settings(force_tolerance: f64, maximum_iterations: u64) -> InherentStructuresPlan {
    InherentStructuresPlan { every: 1, force_tolerance, maximum_iterations, timestep: 0.002 }
}

/// Without the narrow smoothing of the cutoff, which would split basins.
fn force_shifted(dimension: usize, count: usize) -> Plan {
    let mut plan = kob_andersen(dimension, count, Precision::FixedPoint);
    plan.potential = kob_andersen_potential(Truncation::ForceShifted);
    plan
}

/// Largest distance of particles in two minima; over the box, in terms of the nearest images.
fn largest_distance(plan: &Plan, one: &InherentStructure, other: &InherentStructure) -> f64 {
    let simulation_box = &plan.system.simulation_box;
    let distance = |i: usize| {
        let [a, b] = [one, other].map(|of| of.snapshot.unwrapped(i, simulation_box));
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    };
    (0..one.snapshot.position.len()).map(distance).fold(0.0, f64::max)
}

fn on_both(
    plan: &Plan,
    settings: &InherentStructuresPlan,
    gpu: &Gpu,
    start: &Snapshot,
) -> [InherentStructure; 2] {
    let mut processor = CpuMinimizer::new(plan, settings);
    let mut on_gpu = CudaMinimizer::new(plan, settings, gpu.clone());
    [processor.minimize(start).unwrap(), on_gpu.minimize(start).unwrap()]
}

/// Rounding of sums grows along a descent, but not at its start, with turns and steps that grow.
#[test]
fn the_first_iterations_are_those_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count) in [(3, 1000), (2, 900), (3, 40_000)] {
        let plan = force_shifted(dimension, count);
        let start = liquid(&plan, 0.8, if count > 10_000 { 200 } else { 1000 }).snapshot().unwrap();
        for (iterations, tolerance) in [(0, 1e-14), (1, 1e-13), (10, 1e-12), (60, 1e-10)] {
            let found = on_both(&plan, &settings(1e-6, iterations), &gpu, &start);
            let [expected, found] = found;
            let distance = largest_distance(&plan, &expected, &found);
            assert!(distance < tolerance, "{dimension}D, {iterations}: {distance:e}");
            let energies = (expected.energy - found.energy).abs();
            assert!(energies < 100.0 * tolerance, "{dimension}D, {iterations}: {energies:e}");
            let pressures = (expected.pressure - found.pressure).abs();
            assert!(pressures < 1e4 * tolerance, "{dimension}D, {iterations}: {pressures:e}");
            let forces = (expected.residual_force / found.residual_force - 1.0).abs();
            assert!(forces < 1e4 * tolerance, "{dimension}D, {iterations}: {forces:e}");
            assert_eq!((found.iterations, expected.iterations), (iterations, iterations));
            assert_eq!(found.snapshot.step, start.step);
            assert!(found.snapshot.velocity.iter().all(|v| *v == [0.0; 3]));
        }
    }
}

/// A cold solid moves little on its way down: both descents end in one minimum, and to 1e-9 with one energy.
#[test]
fn minima_of_cold_states_are_those_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count) in [(3, 1000), (2, 900), (3, 4000)] {
        let plan = force_shifted(dimension, count);
        let hot = liquid(&plan, 0.8, 1000).snapshot().unwrap();
        let mut processor = CpuMinimizer::new(&plan, &settings(1e-8, 100_000));
        let minimum = processor.minimize(&hot).unwrap();
        let mut start = minimum.snapshot.clone();
        for (i, position) in start.position.iter_mut().enumerate() {
            for (k, x) in position.iter_mut().enumerate().take(dimension) {
                *x += 0.01 * ((7 * i + 3 * k) as f64).sin();
            }
        }
        let [expected, found] = on_both(&plan, &settings(1e-8, 100_000), &gpu, &start);
        assert!(found.residual_force < 1e-8 && found.iterations > 20, "{found:?}");
        assert!(
            (expected.energy - found.energy).abs() < 1e-9,
            "{dimension}D: {} {}",
            expected.energy,
            found.energy
        );
        let distance = largest_distance(&plan, &expected, &found);
        assert!(distance < 1e-5, "{dimension}D: {distance:e}");
    }
}

/// Where paths part what is found is a minimum all the same.
#[test]
fn minima_of_liquids_are_minima() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count, smooth) in [(3, 1000, true), (2, 900, true), (3, 20_000, false)] {
        let mut plan = force_shifted(dimension, count);
        if smooth {
            plan.potential = kob_andersen_potential(Truncation::Smooth { width: 0.005 });
        }
        let start = liquid(&plan, 0.8, 500).snapshot().unwrap();
        let tolerance = 1e-6;
        let mut minimizer = CudaMinimizer::new(&plan, &settings(tolerance, 100_000), gpu.clone());
        minimizer.minimize(&start).unwrap();
        // Without what the first one takes for kernels and memory.
        let begin = Instant::now();
        let found = minimizer.minimize(&start).unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        println!("{dimension}D, {count}: {} iterations in {seconds:.3} s", found.iterations);
        assert!(found.residual_force < tolerance, "{:e}", found.residual_force);
        // As the processor sees it: forces of one rounding more, and the energy of the same sum.
        let seen = CpuMinimizer::new(&plan, &settings(tolerance + 1e-10, 0))
            .minimize(&found.snapshot)
            .unwrap();
        assert!(seen.residual_force < tolerance + 1e-10, "{:e}", seen.residual_force);
        assert!((seen.energy - found.energy).abs() < 1e-11, "{} {}", seen.energy, found.energy);
        let before = CpuMinimizer::new(&plan, &settings(1.0, 0)).minimize(&start).unwrap();
        assert!(found.energy < before.energy - 0.1, "it went down");
        assert!(found.iterations > 50);
    }
}

#[test]
fn a_minimum_depends_on_the_state_only() {
    let Some(gpu) = gpu() else { return };
    // Sums of one and of two stages.
    for count in [500, 30_000] {
        let plan = force_shifted(3, count);
        let start = liquid(&plan, 0.8, 100).snapshot().unwrap();
        let other = liquid(&plan, 1.5, 100).snapshot().unwrap();
        let most = if count > 10_000 { 200 } else { 100_000 };
        let with = |change: &dyn Fn(&mut Plan), multiprocessors: u32, before: bool| {
            let mut plan = plan.clone();
            change(&mut plan);
            let fewer = Gpu { multiprocessors, ..gpu.clone() };
            let mut minimizer = CudaMinimizer::new(&plan, &settings(1e-6, most), fewer);
            if before {
                minimizer.minimize(&other).unwrap();
            }
            minimizer.minimize(&start).unwrap()
        };
        let all = gpu.multiprocessors;
        let expected = with(&|_| {}, all, false);
        assert_eq!(expected, with(&|_| {}, all, true), "what was minimised before");
        assert_eq!(expected, with(&|_| {}, all / 2, false), "fewer blocks");
        assert_eq!(expected, with(&|_| {}, 7, false), "blocks of more threads");
        let choices = |plan: &mut Plan| {
            plan.run.skin = Some(0.2);
            plan.run.threads_per_particle = Some(2);
            plan.run.precision = Precision::Single;
        };
        assert_eq!(expected, with(&choices, all, false), "choices of the run");
    }
}

/// A gas falls into dense clusters: lists become longer than was expected.
#[test]
fn lists_grow_on_the_way_down() {
    let Some(gpu) = gpu() else { return };
    let potential = PotentialPlan {
        form: PairPotential::LennardJones,
        truncation: Truncation::ForceShifted,
        pairs: vec![vec![pair(1.0, 1.0, 2.5)]],
        diameters: None,
    };
    let count = 4000;
    let species = vec![Species { name: "A".into(), count, mass: 1.0 }];
    let simulation_box = SimulationBox::cubic(3, count, 0.05);
    let plan = plan_of(simulation_box, species, potential, Precision::Double);
    let start = liquid(&plan, 1.5, 500).snapshot().unwrap();
    let mut minimizer = CudaMinimizer::new(&plan, &settings(1e-6, 100_000), gpu);
    let found = minimizer.minimize(&start).unwrap();
    let seen = CpuMinimizer::new(&plan, &settings(1.0, 0)).minimize(&found.snapshot).unwrap();
    assert!(found.residual_force < 1e-6, "{:e}", found.residual_force);
    assert!((seen.energy - found.energy).abs() < 1e-11, "{} {}", seen.energy, found.energy);
}

const STAGES: &str = r#"
[[stage]]
name = "cool"
steps = 2000
thermostat = { kind = "langevin", temperature = { from = 1.5, to = 0.5 }, friction = 2.0 }

[[stage]]
name = "production"
steps = 1000
[stage.observe]
thermodynamics = 50
trajectory = 250
"#;

#[test]
fn a_run_writes_them_and_has_the_same_bits_with_and_without() {
    if gpu().is_none() {
        return;
    }
    for precision in ["fixed-point", "double-single"] {
        let text = toml(3, 1000, precision, "timestep = 0.004\ntune = false") + STAGES;
        let text = text.replace("engine = \"cpu\"", "engine = \"cuda\"");
        assert!(text.contains("\"cuda\""));
        let inherent = "inherent_structures = { every = 100 }\n";
        let [plain, with] = [Job::new(&text), Job::new(&(text.clone() + inherent))];
        let end = |job: &Job| {
            job.succeeds(&["run", "job.toml"]);
            let (_, _, checkpoint) = latest_valid(&job.path("out")).unwrap().checkpoint.unwrap();
            let bits = |state: &Checkpoint, name| state.get_u64(name).unwrap();
            (bits(&checkpoint, "position"), bits(&checkpoint, "velocity"))
        };
        assert_eq!(end(&plain), end(&with), "{precision}");
        let energy = with.series("production", "inherent_structure_energy");
        assert_eq!(energy.len(), 11);
        let potential = with.series("production", "potential_energy");
        assert!(energy.iter().all(|&e| e < potential[0] - 0.5), "{energy:?} {potential:?}");
        let residual = with.series("production", "inherent_structure_residual_force");
        assert!(residual.iter().all(|&force| force < 1e-6), "{residual:?}");
        assert!(with.path("out/production.inherent.h5md").exists());
    }
}

/// Liquids that differ by small displacements.
fn liquids(plan: &Plan, count: usize) -> Vec<Snapshot> {
    let first = liquid(plan, 0.8, 1000).snapshot().unwrap();
    let displaced = |number: usize| {
        let mut start = first.clone();
        for (i, position) in start.position.iter_mut().enumerate() {
            for (k, x) in
                position.iter_mut().enumerate().take(plan.system.simulation_box.dimension())
            {
                *x += 0.03 * ((7 * i + 3 * k + 11 * number) as f64).sin();
            }
        }
        start
    };
    (0..count).map(displaced).collect()
}

/// Of blocks that have a system each, with kernels for a number of systems.
fn side_by_side(
    plan: &Plan,
    settings: &InherentStructuresPlan,
    systems: usize,
    starts: &[Snapshot],
) -> Vec<InherentStructure> {
    let mut plan = plan.clone();
    plan.run.engine = EngineChoice::Cuda;
    let mut minimizers = engine::minimizers(&plan, settings, systems).unwrap();
    let starts: Vec<&Snapshot> = starts.iter().collect();
    engine::minima(minimizers.as_mut(), plan.system.simulation_box, &starts).unwrap()
}

#[test]
fn systems_descend_side_by_side_as_each_would_beside_others() {
    if gpu().is_none() {
        return;
    }
    for (dimension, count) in [(3, 1000), (2, 900), (3, 200)] {
        let plan = force_shifted(dimension, count);
        let starts = liquids(&plan, 64);
        let tolerance = 1e-6;
        let begin = Instant::now();
        let all = side_by_side(&plan, &settings(tolerance, 100_000), 64, &starts);
        let seconds = begin.elapsed().as_secs_f64();
        let iterations: u64 = all.iter().map(|found| found.iterations).sum();
        println!(
            "{dimension}D, {count}: {iterations} iterations of 64 systems in {seconds:.3} s, with compiling"
        );
        // Beside others, in smaller blocks, and in fewer places than systems.
        for (systems, some) in [(64, 40..43), (300, 0..64), (2, 0..10)] {
            let settings = settings(tolerance, 100_000);
            let found = side_by_side(&plan, &settings, systems, &starts[some.clone()]);
            assert_eq!(found, all[some], "{dimension}D, {count}, for {systems} systems");
        }
        for (start, found) in starts.iter().zip(&all).step_by(9) {
            assert!(found.residual_force < tolerance, "{:e}", found.residual_force);
            let seen = CpuMinimizer::new(&plan, &settings(tolerance + 1e-10, 0))
                .minimize(&found.snapshot)
                .unwrap();
            assert!(seen.residual_force < tolerance + 1e-10, "{:e}", seen.residual_force);
            assert!((seen.energy - found.energy).abs() < 1e-11, "{} {}", seen.energy, found.energy);
            assert!((seen.pressure - found.pressure).abs() < 1e-9);
            for (seen, found) in seen.stress.as_flattened().iter().zip(found.stress.as_flattened())
            {
                assert!((seen - found).abs() < 1e-9, "{seen} {found}");
            }
            let before = CpuMinimizer::new(&plan, &settings(1.0, 0)).minimize(start).unwrap();
            assert!(found.energy < before.energy - 0.05, "it went down");
        }
        for (iterations, bound) in [(0, 1e-14), (1, 1e-13), (10, 1e-12), (60, 1e-10)] {
            let settings = settings(tolerance, iterations);
            let found = &side_by_side(&plan, &settings, 2, &starts[..2])[1];
            let expected = CpuMinimizer::new(&plan, &settings).minimize(&starts[1]).unwrap();
            let distance = largest_distance(&plan, &expected, found);
            assert!(distance < bound, "{dimension}D, {count}, {iterations}: {distance:e}");
            assert_eq!(found.iterations, iterations);
        }
    }
}

/// In a tilted box, alone and beside others: the first iterations are those of the processor, and what is found is a minimum.
#[test]
fn tilted_boxes_have_the_descents_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count) in [(3, 1000), (2, 900)] {
        let plan = force_shifted(dimension, count);
        let mut starts = liquids(&plan, 2);
        let mut tilted = plan.clone();
        tilted.system.simulation_box = plan.system.simulation_box.with_tilt(-0.3);
        for position in starts.iter_mut().flat_map(|start| &mut start.position) {
            position[0] += tilted.system.simulation_box.slope() * position[1];
        }
        for (iterations, bound) in [(0, 1e-13), (1, 1e-13), (10, 1e-12), (60, 1e-10)] {
            let settings = settings(1e-6, iterations);
            let beside = side_by_side(&tilted, &settings, 2, &starts);
            let [expected, alone] = on_both(&tilted, &settings, &gpu, &starts[1]);
            for found in [&alone, &beside[1]] {
                let distance = largest_distance(&tilted, &expected, found);
                assert!(distance < bound, "{dimension}D, {iterations}: {distance:e}");
                assert_eq!(found.iterations, iterations);
                let stresses = found.stress.as_flattened().iter();
                for (found, expected) in stresses.zip(expected.stress.as_flattened()) {
                    let difference = (found - expected).abs();
                    assert!(difference < 1e5 * bound, "{dimension}D, {iterations}: {difference:e}");
                }
            }
        }
        let tolerance = 1e-6;
        for found in side_by_side(&tilted, &settings(tolerance, 100_000), 2, &starts) {
            let seen = CpuMinimizer::new(&tilted, &settings(tolerance + 1e-10, 0))
                .minimize(&found.snapshot)
                .unwrap();
            assert!(seen.residual_force < tolerance + 1e-10, "{:e}", seen.residual_force);
            assert!((seen.energy - found.energy).abs() < 1e-11, "{} {}", seen.energy, found.energy);
        }
    }
}

#[test]
fn a_system_that_fails_among_others_is_named() {
    if gpu().is_none() {
        return;
    }
    let plan = force_shifted(3, 500);
    let mut starts = liquids(&plan, 5);
    starts[3].position[17] = starts[3].position[20];
    let mut on_gpu = plan.clone();
    on_gpu.run.engine = EngineChoice::Cuda;
    let mut minimizers = engine::minimizers(&on_gpu, &settings(1e-6, 100_000), 5).unwrap();
    let all: Vec<&Snapshot> = starts.iter().collect();
    let simulation_box = plan.system.simulation_box;
    let error = engine::minima(minimizers.as_mut(), simulation_box, &all).unwrap_err().to_string();
    for part in ["system 3", "17", "20"] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
    starts[3].position[17] = [f64::NAN; 3];
    let all: Vec<&Snapshot> = starts.iter().collect();
    let error = engine::minima(minimizers.as_mut(), simulation_box, &all).unwrap_err().to_string();
    assert!(error.contains("system 3") && error.contains("the position of particle 17"), "{error}");
}
