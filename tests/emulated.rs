//! The CUDA engine on a GPU that the processor emulates (`tests/emulated_gpu`): host side and kernels run, no GPU
//! is needed.
#![cfg(target_os = "linux")]
#[path = "emulated/aging.rs"]
mod aging;
#[path = "emulated/classes.rs"]
mod classes;
mod common;
#[path = "emulated/descents.rs"]
mod descents;
#[path = "emulated/own_potentials.rs"]
mod own_potentials;
#[path = "emulated/pressure.rs"]
mod pressure;
#[path = "emulated/shear.rs"]
mod shear;
#[path = "emulated/strain.rs"]
mod strain;
#[path = "emulated/swaps_of_species.rs"]
mod swaps_of_species;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use common::contents::{assert_same_numbers, numbers};
use common::emulated_gpu::{gpu, job, source};
use common::job::{Ended, Job, kob_andersen};
use supercool_analysis::results::ResultsFile;

fn run_on_the_gpu(job: &Job) {
    let ended = job.succeeds(&["run", "job.toml", "--engine", "cuda"]);
    assert!(ended.stdout.contains("on cuda"), "{ended:?}");
}

#[test]
fn the_doctor_finds_the_gpus_and_compiles_for_them() {
    let Some(gpu) = gpu() else { return };
    let report = job(gpu, "2", "").succeeds(&["doctor"]).stdout;
    for part in ["GPU 0             emulated GPU", "GPU 1", "kernels compile for sm_90 and load"] {
        assert!(report.contains(part), "no {part:?} in\n{report}");
    }
}

const STAGES: [(&str, &str); 5] = [
    ("andersen", r#"{ kind = "andersen", temperature = { from = 1.5, to = 1.0 }, rate = 20.0 }"#),
    (
        "nose-hoover",
        r#"{ kind = "nose-hoover", temperature = { from = 1.0, to = 1.1 }, period = 0.3 }"#,
    ),
    ("bussi", r#"{ kind = "bussi", temperature = 1.0, time = 0.1 }"#),
    ("langevin", r#"{ kind = "langevin", temperature = 1.0, friction = 2.0 }"#),
    ("nve", ""),
];
const STEPS: u64 = 80;

fn all_thermostats(dimension: usize, count: usize, threads_per_particle: u32) -> String {
    let run = format!("timestep = 0.004\nthreads_per_particle = {threads_per_particle}");
    let mut toml = kob_andersen(dimension, count, "fixed-point", &run);
    for (name, thermostat) in STAGES {
        toml += &format!("[[stage]]\nname = \"{name}\"\nsteps = {STEPS}\n");
        if !thermostat.is_empty() {
            toml += &format!("thermostat = {thermostat}\n");
        }
        if name == "nose-hoover" {
            toml += "timestep = 0.003\n";
        }
        // Launches of 40 steps: of as many the heats of a thermostat are not added at once.
        toml += "observe = { thermodynamics = 40, trajectory = 40 }\n";
    }
    toml
}

/// With few lanes a particle each looks at several classes of candidates, in parts; with many, several lanes share one (`kernels/md/relist.cuh`). Lists
/// are made anew every few steps.
#[test]
fn lists_of_small_systems_hold_all_pairs_with_any_number_of_lanes() {
    let Some(gpu) = gpu() else { return };
    let toml = |lanes: u32| {
        let run = format!("timestep = 0.004\nskin = 0.1\nthreads_per_particle = {lanes}");
        kob_andersen(3, 500, "fixed-point", &run)
            + "[[stage]]\nname = \"nve\"\nsteps = 40\nobserve = { thermodynamics = 20, trajectory = 20 }\n"
    };
    let expected = Job::new(&toml(1));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for lanes in [1, 2, 4, 8, 16, 32] {
        let found = job(gpu, "1", &toml(lanes));
        run_on_the_gpu(&found);
        for file in ["out/nve.h5", "out/nve.h5md"] {
            let [expected, found] = [&expected, &found].map(|job| job.path(file));
            assert_same_numbers(&expected, &found);
        }
    }
}

/// Trajectories and thermodynamics of all stages; lists are rebuilt every 15 steps or so.
fn the_bits_are_those_of_the_cpu(dimension: usize, count: usize) {
    let Some(gpu) = gpu() else { return };
    let expected = Job::new(&all_thermostats(dimension, count, 1));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    // The threads of a block run in their order, and in two random ones.
    for (threads_per_particle, order) in [(1, "0"), (2, "1"), (8, "2")] {
        let found = job(gpu, "1", &all_thermostats(dimension, count, threads_per_particle))
            .with(&[("EMULATED_ORDER", order)]);
        run_on_the_gpu(&found);
        for (stage, _) in STAGES {
            for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
                assert_same_numbers(&expected.path(&file), &found.path(&file));
            }
        }
    }
}

#[test]
fn three_dimensions_give_the_bits_of_the_cpu_with_all_thermostats() {
    the_bits_are_those_of_the_cpu(3, 256);
}

#[test]
fn two_dimensions_give_the_bits_of_the_cpu_with_all_thermostats() {
    the_bits_are_those_of_the_cpu(2, 400);
}

/// Polydisperse spheres in three and disks in two dimensions, with lists that one lane, or several, make and walk; many systems, and
/// two GPUs for one system.
#[test]
fn diameters_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count, threads) in
        [(3, 300, 1), (3, 300, 8), (3, 2048, 2), (2, 300, 1), (2, 300, 4)]
    {
        let toml = polydisperse(dimension, count, threads);
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for file in ["out/melt.h5", "out/melt.h5md", "out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
    }
    let many = polydisperse(3, 300, 1) + "[ensemble]\nkind = \"independent\"\nsystems = 3\n";
    let (expected, found) = (Job::new(&many), job(gpu, "1", &many));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    run_on_the_gpu(&found);
    for file in ["out/melt.h5", "out/nve.h5", "out/nve.h5md"] {
        assert_same_numbers(&expected.path(file), &found.path(file));
    }
}

fn polydisperse(dimension: usize, count: usize, threads_per_particle: u32) -> String {
    let run = format!("timestep = 0.004\nthreads_per_particle = {threads_per_particle}");
    let stages = r#"
[[stage]]
name = "melt"
steps = 60
thermostat = { kind = "langevin", temperature = 1.0, friction = 1.0 }
observe = { thermodynamics = 20, trajectory = 20 }
[[stage]]
name = "nve"
steps = 60
observe = { thermodynamics = 20, trajectory = 20, configurational_temperature = 20 }
"#;
    common::job::polydisperse(dimension, count, "fixed-point", &run) + stages
}

/// A stage that would be long is timed at its start, from whatever state the one before has left; it is stopped after some steps.
#[test]
fn timing_the_choices_changes_no_bit_under_any_thermostat() {
    let Some(gpu) = gpu() else { return };
    for (name, thermostat) in STAGES {
        let mut toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004");
        toml += "[[stage]]\nname = \"melt\"\nsteps = 40\nthermostat = { kind = \"bussi\", temperature = 0.8, time = 0.1 }\n";
        toml += &format!("[[stage]]\nname = \"{name}\"\nsteps = 10_000_000\n");
        if !thermostat.is_empty() {
            toml += &format!("thermostat = {thermostat}\n");
        }
        toml += "observe = { thermodynamics = 5 }\n";
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        // Compiling the kernels takes what it takes: a run that was stopped before its sixth sample goes on.
        let stopped = |job: &Job, engine: &str| {
            let mut run = vec!["run", "job.toml"];
            loop {
                run.extend(["--engine", engine, "--max-walltime", "6s"]);
                let ended = Ended::of(job.start(&run));
                assert_eq!(ended.code, Some(75), "{ended:?}");
                let all = numbers(&job.path(&format!("out/{name}.h5")));
                let samples = ["temperature", "potential_energy", "conserved_energy"]
                    .map(|of| all[&format!("/observables/{of}/value")].1.clone());
                if samples[0].len() > 5 {
                    return samples;
                }
                run = vec!["resume", "out"];
            }
        };
        let expected = stopped(&expected, "cpu");
        let of_gpu = stopped(&found, "cuda");
        for (expected, found) in expected.iter().zip(&of_gpu) {
            let common = expected.len().min(found.len());
            assert!(common > 5, "{name}: {} and {} samples", expected.len(), found.len());
            assert!(expected[..common] == found[..common], "{name}");
        }
        let file = ResultsFile::open(&found.path(&format!("out/{name}.h5"))).unwrap();
        let tuning = file.parameter("tuning").unwrap_or_default();
        assert!(tuning.contains("steps_per_second"), "{name}: no trial in {tuning}");
    }
}

#[test]
fn many_systems_give_the_bits_of_the_cpu() {
    many_systems("1", 2);
}

/// Each of them has one lane a particle there.
#[test]
fn many_systems_on_two_gpus_give_the_bits_of_the_cpu() {
    many_systems("2", 5);
}

/// On a number of GPUs, with as many systems of each of two temperatures.
fn many_systems(gpus: &str, systems: usize) {
    let Some(gpu) = gpu() else { return };
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004")
        + r#"
[ensemble]
kind = "temperatures"
temperatures = [1.2, 0.9]
systems = SYSTEMS
[[stage]]
name = "bussi"
steps = 60
thermostat = { kind = "bussi", temperature = "ensemble", time = 0.1 }
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "nve"
steps = 60
set_total_energy = "mean of bussi"
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "correlated"
steps = 80
[[stage.correlation]]
every = 5
block_size = 4
observables = ["mean-square-displacement", "self-overlap-susceptibility"]
"#;
    let toml = toml.replace("SYSTEMS", &systems.to_string());
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let found = job(gpu, gpus, &toml);
    run_on_the_gpu(&found);
    for file in ["bussi.h5", "bussi.h5md", "nve.h5", "nve.h5md", "correlated.h5"] {
        let file = format!("out/{file}");
        assert_same_numbers(&expected.path(&file), &found.path(&file));
    }
}

/// Runs from the same configurations, and the sums over them.
#[test]
fn propensities_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let relax = r#"
[ensemble]
kind = "independent"
systems = 2
[[stage]]
name = "relax"
steps = 40
thermostat = { kind = "langevin", temperature = 1.2, friction = 2.0 }
observe = { trajectory = 40 }
"#;
    let liquid = kob_andersen(3, 256, "fixed-point", "timestep = 0.004");
    let expected = Job::new(&(liquid.clone() + relax).replace("\"out\"", "\"relaxed\""));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let file = expected.path("relaxed/relax.h5md");
    let toml = liquid.replace("lattice = \"fcc\", ", "")
        + &format!(
            r#"
[ensemble]
kind = "isoconfigurational"
configurations = "{}"
runs = 2
[[stage]]
name = "first"
steps = 60
observe = {{ thermodynamics = 20 }}
[stage.propensity]
times = {{ from = 0.004, to = 0.24, points_per_decade = 3 }}
observables = ["displacement", "self-intermediate-scattering-function", "bond-breaking"]
wavenumber = 7.25
"#,
            file.display()
        );
    expected.write("job.toml", &toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let found = job(gpu, "1", &toml);
    run_on_the_gpu(&found);
    let [expected, found] = [&expected, &found].map(|job| job.path("out/first.h5"));
    assert_same_numbers(&expected, &found);
    assert_eq!(numbers(&found)["/propensity/measured"].1, [6]);
}

/// Steps of the checkpoints of a run.
fn checkpoints(job: &Job) -> Vec<u64> {
    let Ok(files) = std::fs::read_dir(job.path("out")) else { return Vec::new() };
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let step = |name: String| name.strip_prefix("checkpoint-")?.strip_suffix(".scp")?.parse().ok();
    names.filter_map(step).collect()
}

/// Three systems of which everything is sampled that a GPU evaluates.
fn observed_systems() -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004")
        + r#"
[ensemble]
kind = "independent"
systems = 3
[checkpoint]
minutes = 0.002
[[stage]]
name = "melt"
steps = 100
thermostat = { kind = "langevin", temperature = 1.5, friction = 2.0 }
[[stage]]
name = "nve"
steps = 120
observe.structure = { every = 24, bin_width = 0.1, maximum_wavenumber = 8.0 }
observe.bond_order = { every = 15 }
[[stage.correlation]]
every = 4
block_size = 4
wavenumbers = [7.25]
vectors_per_shell = 12
remove_drift = true
bond_radius = 1.3
bond_breaking_radius = 1.4
cage_radius = 1.4
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "velocity-autocorrelation",
               "self-overlap-susceptibility", "self-van-hove-function", "coherent-intermediate-scattering-function",
               "collective-overlap", "bond-breaking", "cage-relative-mean-square-displacement",
               "stress-autocorrelation"]
"#
}

/// Waits until the last checkpoint is one of these steps, or the job ends.
fn ends_in(steps: std::ops::Range<u64>, job: &Job, process: &mut std::process::Child) {
    while process.try_wait().unwrap().is_none()
        && !checkpoints(job).into_iter().any(|step| steps.contains(&step))
    {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two with a GPU each; stopped, and continued by three, which take the GPUs in turn.
#[cfg(feature = "mpi")]
#[test]
fn ranks_evaluate_the_observables_of_their_systems() {
    let Some(gpu) = gpu() else { return };
    let toml = observed_systems();
    let expected = job(gpu, "2", &toml);
    run_on_the_gpu(&expected);
    let shared = job(gpu, "2", &toml);
    let mut process = shared.start_on(2, &["run", "job.toml", "--engine", "cuda"]);
    ends_in(101..220, &shared, &mut process);
    common::job::signal(process.id(), "USR1");
    let ended = Ended::of(process);
    assert!(ended.code == Some(75) || ended.code == Some(0), "{ended:?}");
    let resumed = shared.execute_on(3, &["resume", "out", "--engine", "cuda"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_same_numbers(&expected.path("out/nve.h5"), &shared.path("out/nve.h5"));
}

/// What is sampled of many systems is evaluated together: of each it is to the bit what it is of the same run alone. The run is
/// killed and resumed on its way. Batches are short on a GPU with little memory.
#[test]
fn observables_of_many_systems_have_the_bits_of_each_alone() {
    let Some(gpu) = gpu() else { return };
    let toml = observed_systems();
    let small = [("EMULATED_FREE_MIB", "40")];
    let all = job(gpu, "2", &toml).with(&small);
    let mut process = all.start(&["run", "job.toml", "--engine", "cuda"]);
    ends_in(101..220, &all, &mut process);
    let _ = process.kill();
    let ended = Ended::of(process);
    assert!(ended.code.is_none_or(|code| code == 0), "{ended:?}");
    all.succeeds(&["resume", "out", "--engine", "cuda"]);
    let all_numbers = numbers(&all.path("out/nve.h5"));
    for system in 0..3 {
        let alone = job(gpu, "1", &toml);
        let number = system.to_string();
        alone.succeeds(&["run", "job.toml", "--engine", "cuda", "--system", &number]);
        let alone = numbers(&alone.path(&format!("out-system-{system}/nve.h5")));
        let mut compared = 0;
        for (name, (shape, bits)) in &alone {
            let is_of_system = name.starts_with("/dynamics/") || name.starts_with("/structure/");
            let Some((_, of_all)) = all_numbers.get(&format!("/systems{name}")) else { continue };
            if is_of_system && ["/value", "/error", "/count"].iter().any(|end| name.ends_with(end))
            {
                let length: usize = shape.iter().product();
                assert_eq!(of_all.len(), 3 * length, "{name}");
                assert!(of_all[system * length..(system + 1) * length] == bits[..], "{name}");
                compared += 1;
            }
        }
        assert!(compared > 40, "{compared} datasets");
    }
}

/// A run that begins on a GPU, is killed, and is resumed on a processor has the files of a run on a processor.
#[test]
fn observables_resumed_on_a_processor_have_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let toml = observed_systems();
    let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let mut process = found.start(&["run", "job.toml", "--engine", "cuda"]);
    ends_in(101..220, &found, &mut process);
    let _ = process.kill();
    Ended::of(process);
    found.succeeds(&["resume", "out", "--engine", "cpu"]);
    assert_same_functions(&expected, &found, "nve", 27);
}

#[test]
fn exchanges_of_replicas_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004")
        + r#"
[ensemble]
kind = "replica-exchange"
temperatures = [1.2, 1.1, 1.0]
exchange_every = 10
[[stage]]
name = "bussi"
steps = 60
thermostat = { kind = "bussi", temperature = "ensemble", time = 0.1 }
[stage.observe]
thermodynamics = 5
trajectory = 20
configurational_temperature = 10
structure = { every = 20, maximum_wavenumber = 8.0, vectors_per_shell = 5 }
[[stage]]
name = "chain"
steps = 30
thermostat = { kind = "nose-hoover", temperature = "ensemble", period = 0.2 }
observe = { thermodynamics = 5, trajectory = 10 }
[[stage]]
name = "nve"
steps = 20
set_total_energy = "mean of chain"
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "correlated"
steps = 80
[[stage.correlation]]
every = 5
block_size = 4
observables = ["mean-square-displacement"]
"#;
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let found = job(gpu, "2", &toml);
    run_on_the_gpu(&found);
    for stage in ["bussi", "chain", "nve"] {
        for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
            assert_same_numbers(&expected.path(&file), &found.path(&file));
        }
    }
    // The systems are no longer the replicas of their numbers.
    assert_same_numbers(&expected.path("out/correlated.h5"), &found.path("out/correlated.h5"));
    let replicas = &numbers(&found.path("out/chain.h5"))["/systems/exchange/replica/value"].1;
    assert!(!replicas.ends_with(&[0, 1, 2]), "{replicas:?}");
    let accepted = &numbers(&found.path("out/bussi.h5"))["/systems/exchange/acceptances"].1;
    assert!(accepted.iter().all(|&count| count > 0), "{accepted:?}");
}

/// The pair loop compares with the cutoff there.
#[test]
fn wide_smoothing_gives_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004")
        .replace("width = 0.005", "width = 1.0")
        + "[[stage]]\nname = \"nve\"\nsteps = 40\nobserve = { thermodynamics = 5, trajectory = 20 }\n";
    assert!(toml.contains("width = 1.0"));
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let found = job(gpu, "1", &toml);
    run_on_the_gpu(&found);
    for file in ["out/nve.h5", "out/nve.h5md"] {
        assert_same_numbers(&expected.path(file), &found.path(file));
    }
}

#[test]
fn time_correlations_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let run = "timestep = 0.004\nthreads_per_particle = 4";
    for (lags, count) in [
        ("every = 2\nblock_size = 5", None),
        // 0, 1, ..., 5, 6, 8, 10, 12, 16, 20, ..., 48, 64, 80 samples.
        ("from = 0.008\nto = 0.4\npoints_per_decade = 9\nequal_ratios = true", Some(18)),
    ] {
        let toml = kob_andersen(3, 256, "fixed-point", run)
            + "\n[[stage]]\nname = \"nve\"\nsteps = 200\n[[stage.correlation]]\n"
            + lags
            + r#"
wavenumbers = [7.25]
vectors_per_shell = 12
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "non-gaussian-parameter",
               "mean-quartic-displacement", "self-van-hove-function", "velocity-autocorrelation", "self-overlap",
               "mean-displacement", "stress-autocorrelation"]
"#;
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml"]);
        run_on_the_gpu(&found);
        // Each but that of the stress of A, B and all particles.
        assert_same_functions(&expected, &found, "nve", 8 * 3 + 1);
        let functions = found.results("nve").dynamics().unwrap();
        assert_eq!(functions.iter().filter(|each| each.group == "all-particles").count(), 9);
        let displacement = functions.iter().find(|each| each.name == "mean_square_displacement");
        let lags = displacement.unwrap().x.len();
        assert!(count.is_none_or(|count| lags == count), "{lags} lags");
    }
}

/// In two dimensions sites have no tags: there passes look for where their samples go after the pair loop, also those that a thermostat
/// ends. Each lane of a particle integrates an axis, or one lane all of them.
#[test]
fn samples_that_passes_look_for_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stages = |threads_per_particle: u32| {
        let run = format!("timestep = 0.004\nthreads_per_particle = {threads_per_particle}");
        let mut toml = kob_andersen(2, 400, "fixed-point", &run);
        for (name, thermostat) in [
            (
                "langevin",
                "thermostat = { kind = \"langevin\", temperature = 1.5, friction = 2.0 }\n",
            ),
            ("nve", ""),
        ] {
            toml += &format!("[[stage]]\nname = \"{name}\"\nsteps = 160\n{thermostat}");
            toml += r#"[[stage.correlation]]
every = 3
block_size = 4
wavenumbers = [7.25]
observables = ["mean-square-displacement", "velocity-autocorrelation", "self-intermediate-scattering-function"]
"#;
        }
        toml
    };
    let expected = Job::new(&stages(1));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for threads_per_particle in [1, 4] {
        let found = job(gpu, "1", &stages(threads_per_particle));
        run_on_the_gpu(&found);
        for stage in ["langevin", "nve"] {
            assert_same_functions(&expected, &found, stage, 3 * 3);
        }
    }
}

/// Kob-Andersen particles with four lanes each on some multiprocessors, under thermostats of the whole system.
fn give_the_bits_of_the_cpu_under_global_thermostats(
    dimension: usize,
    count: usize,
    multiprocessors: &str,
) {
    let Some(gpu) = gpu() else { return };
    let settings = "timestep = 0.004\nthreads_per_particle = 4";
    let mut toml = kob_andersen(dimension, count, "fixed-point", settings);
    let stages = [
        ("bussi", "thermostat = { kind = \"bussi\", temperature = 1.2, time = 0.2 }"),
        ("chain", "thermostat = { kind = \"nose-hoover\", temperature = 1.2, period = 0.2 }"),
        (
            "flow",
            "thermostat = { kind = \"bussi\", temperature = 1.2, time = 0.2 }\nshear = { rate = 0.1 }",
        ),
    ];
    for (name, thermostat) in stages {
        toml += &format!(
            "\n[[stage]]\nname = \"{name}\"\nsteps = 40\n{thermostat}\n\
             observe = {{ thermodynamics = 10, trajectory = 40 }}\n"
        );
        if name != "flow" {
            toml += "[[stage.correlation]]\nevery = 3\nobservables = [\"mean-square-displacement\", \
                     \"stress-autocorrelation\"]\n";
        }
    }
    let expected = Job::new(&toml);
    let found = job(gpu, "1", &toml).with(&[("EMULATED_MULTIPROCESSORS", multiprocessors)]);
    expected.succeeds(&["run", "job.toml"]);
    run_on_the_gpu(&found);
    for (stage, _) in stages {
        for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
            assert_same_numbers(&expected.path(&file), &found.path(&file));
        }
    }
}

/// On 24 multiprocessors each warp has one tile, and the last warp of a block sums up the velocities that the others leave; not where
/// the stress is a sample.
#[test]
fn velocities_that_the_last_warp_sums_up_give_the_bits_of_the_cpu() {
    give_the_bits_of_the_cpu_under_global_thermostats(3, 2_048, "24");
}

/// On two multiprocessors 31 tiles are 15 of the first block, which finds the factor for both, and 16 of the other.
#[test]
fn a_factor_that_the_first_block_finds_gives_the_bits_of_the_cpu() {
    give_the_bits_of_the_cpu_under_global_thermostats(2, 248, "2");
}

/// Integers are counted: the kernels give what the CPU does, where no distance is a radius to rounding.
#[test]
fn places_and_bonds_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count) in [(3, 256), (2, 400)] {
        let toml = kob_andersen(dimension, count, "fixed-point", "timestep = 0.004")
            + r#"
[[stage]]
name = "melt"
steps = 100
thermostat = { kind = "langevin", temperature = 1.5, friction = 2.0 }

[[stage]]
name = "nve"
steps = 160
[[stage.correlation]]
every = 4
block_size = 4
observables = ["collective-overlap", "bond-breaking", "bond-breaking-susceptibility"]
bond_radius = 1.3
bond_breaking_radius = 1.4
remove_drift = true
"#;
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml"]);
        run_on_the_gpu(&found);
        assert_same_functions(&expected, &found, "nve", 1 + 2 * 3);
        let functions = found.results("nve").dynamics().unwrap();
        let kept = functions.iter().filter(|function| function.name == "bond_breaking");
        for function in kept {
            let value = &function.curves[0].value;
            assert_eq!(value[0], 1.0, "{}", function.group);
            assert!(value.last().is_some_and(|last| (0.3..0.99).contains(last)), "{value:?}");
        }
    }
}

/// All that the results file of a stage holds, with at least this number of correlation functions.
fn assert_same_functions(expected: &Job, found: &Job, stage: &str, least: usize) {
    let file = format!("out/{stage}.h5");
    assert_same_numbers(&expected.path(&file), &found.path(&file));
    let found = numbers(&found.path(&file));
    let is_function = |name: &&String| name.starts_with("/dynamics/") && name.ends_with("/value");
    let functions = found.keys().filter(is_function).count();
    assert!(functions >= least, "{functions} functions");
}

/// A gas that condenses: lists grow within launches, while the samples of the launch before wait for their evaluation. Batches are
/// short on a GPU with little memory.
#[test]
fn samples_keep_their_places_when_lists_grow() {
    let Some(gpu) = gpu() else { return };
    let toml = r#"
[system]
dimension = 3
density = 0.08
seed = 11
species = [{ name = "A", count = 256 }]
initial = { lattice = "fcc", temperature = 1.0 }
[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
[potential.pairs]
AA = { epsilon = 1.0, sigma = 1.0 }
[output]
directory = "out"
[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.005
skin = 0.4
threads = 1
threads_per_particle = 1
tune = false
[[stage]]
name = "condense"
steps = 3000
thermostat = { kind = "langevin", temperature = 0.35, friction = 0.5 }
[[stage.correlation]]
every = 1
block_size = 10
levels = 3
remove_drift = true
observables = ["mean-square-displacement", "velocity-autocorrelation"]
"#;
    let (expected, found) = (
        Job::new(toml),
        job(gpu, "1", toml).with(&[("RUST_LOG", "supercool=debug"), ("EMULATED_FREE_MIB", "2")]),
    );
    expected.succeeds(&["run", "job.toml"]);
    let ended = found.succeeds(&["run", "job.toml", "--engine", "cuda"]);
    assert!(ended.stderr.contains("lists are full"), "they did not grow: {ended:?}");
    assert_same_functions(&expected, &found, "condense", 2);
}

/// Potentials without a core, and precisions that hold any force: no lane reads beyond the particles, whose number
/// does not fill the last warp.
#[test]
fn where_no_pair_is_too_close_the_particles_end_with_the_last() {
    let Some(gpu) = gpu() else { return };
    let mut toml = kob_andersen(2, 400, "double", "timestep = 0.004\nthreads_per_particle = 1");
    toml += "[[stage]]\nname = \"nve\"\nsteps = 20\nobserve = { thermodynamics = 20 }\n";
    let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
    expected.succeeds(&["run", "job.toml"]);
    run_on_the_gpu(&found);
    let energies = |job: &Job| {
        let bits = numbers(&job.path("out/nve.h5")).remove("/observables/potential_energy/value");
        bits.expect("energies").1.into_iter().map(f64::from_bits).collect::<Vec<f64>>()
    };
    let (expected, found) = (energies(&expected), energies(&found));
    assert!(expected.len() == found.len() && !found.is_empty());
    for (expected, found) in expected.iter().zip(&found) {
        assert!((expected - found).abs() < 1e-10 * expected.abs(), "{found} for {expected}");
    }
}

/// Runs a case of `check.cpp`: whether it ended well, and what it said.
fn check(gpu: &Path, case: &str) -> (bool, String) {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let program = gpu.join("check");
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-O0", "-pthread"]).arg(source("check.cpp"));
        let output = command.arg("-o").arg(&program).arg("-ldl").output().expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    });
    let mut command = Command::new(program);
    let output = command.arg(gpu).arg(case).env_remove("EMULATED_ORDER").output().expect("starts");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn warps_blocks_gpus_and_processes_meet() {
    let Some(gpu) = gpu() else { return };
    for case in ["lanes", "GPUs", "processes"] {
        let (success, said) = check(gpu, case);
        assert!(success, "{case}: {said}");
    }
}

#[test]
fn faulty_kernels_are_reported_with_their_place() {
    let Some(gpu) = gpu() else { return };
    for (case, parts) in [
        ("beyond", ["block (0, 0, 0), thread 40", "0 bytes after an allocation of 160 bytes"]),
        ("stuck", ["no thread can continue", "40 threads, the first of them 0: __syncthreads"]),
        ("absent", ["__shfl_xor_sync: lane 0 asks for the value of lane 16", "kernel absent"]),
        ("alone", ["it has waited for other blocks for 1 seconds", "waiting in a loop"]),
    ] {
        let (success, said) = check(gpu, case);
        assert!(!success, "{case} went well");
        for part in parts {
            assert!(said.contains(part), "{case}: no {part:?} in\n{said}");
        }
    }
}

/// Engines that are set up anew within a run: of one system, and of two that share launches.
#[test]
fn minima_boxes_and_timesteps_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stages = r#"
[[stage]]
name = "melt"
steps = 40
thermostat = { kind = "andersen", temperature = 1.5, rate = 20.0 }

[[stage]]
name = "quench"
minimize = { force_tolerance = 1e-2, temperature = 1.0 }
observe = { thermodynamics = 1 }

[[stage]]
name = "compress"
steps = 40
timestep = 0.003
density = { to = 1.22, every = 15 }
thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.3 }
observe = { thermodynamics = 10 }

[[stage]]
name = "stretch"
steps = 20
box = { to = [5.97, 5.92, 5.94], every = 8 }
thermostat = { kind = "bussi", temperature = 1.0, time = 0.3 }
observe = { thermodynamics = 10 }

[[stage]]
name = "dense"
steps = 43
observe = { thermodynamics = 20, trajectory = 20 }
[[stage.correlation]]
every = 10
block_size = 3
wavenumbers = [7.25]
"#;
    let liquid = kob_andersen(3, 256, "fixed-point", "timestep = 0.004") + stages;
    for ensemble in ["", "\n[ensemble]\nkind = \"independent\"\nsystems = 2\n"] {
        let toml = liquid.clone() + ensemble;
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for file in ["out/quench.h5", "out/compress.h5", "out/stretch.h5", "out/dense.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
        // Time correlations are sums of floats; what is counted is the same.
        let [expected, found] = [&expected, &found].map(|job| numbers(&job.path("out/dense.h5")));
        assert!(expected.keys().eq(found.keys()));
        for (name, (_, bits)) in &expected {
            let is_exact = name.starts_with("/observables") || name.ends_with("count");
            assert!(!is_exact || *bits == found[name].1, "{name}");
        }
    }
}

/// Exchanges of diameters under two thermostats, in a system alone and in several; blocks of a large one share its trials.
#[test]
fn swaps_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let swaps = |every: u32, trials: f64| {
        format!(
            "swap = {{ every = {every}, trials_per_particle = {trials} }}\n[[stage]]\nname = \"nve\""
        )
    };
    let small = |dimension| {
        polydisperse(dimension, 300, 2)
            .replacen("[[stage]]\nname = \"nve\"", &swaps(20, 0.5), 1)
            .replacen("trajectory = 20", "trajectory = 20, local_order = { every = 20 }", 1)
    };
    let many = small(3) + "[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    // Two blocks have 4,096 particles each.
    let large = polydisperse(3, 8200, 1)
        .replacen("[[stage]]\nname = \"nve\"", &swaps(2, 0.02), 1)
        .replace("steps = 60", "steps = 4")
        .replace("= 20", "= 2");
    for toml in [small(3), small(2), many, large] {
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        let ended = expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        assert!(ended.stdout.contains("swap trials were accepted"), "{ended:?}");
        run_on_the_gpu(&found);
        for file in ["out/melt.h5", "out/melt.h5md", "out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
    }
}
