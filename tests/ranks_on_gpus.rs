//! Ranks on GPUs, those of this machine and those that the processor emulates: the program itself, started by `mpirun`.
//! Built with the feature `mpi` only.
#![cfg(all(feature = "mpi", target_os = "linux"))]
mod common;
#[path = "ranks_on_gpus/pressure.rs"]
mod pressure;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use common::contents::{assert_same_numbers, numbers};
use common::emulated_gpu::{gpu, job};
use common::job::{Ended, Job, kob_andersen, kob_andersen_2, polydisperse, signal};

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

/// A liquid under all thermostats; lists are rebuilt every 10 steps or so.
fn configuration(dimension: usize, count: usize, precision: &str, transport: &str) -> String {
    let run = format!("timestep = 0.004\nskin = 0.3\nthreads = 1\ntransport = \"{transport}\"");
    kob_andersen(dimension, count, precision, &run) + &stages("")
}

/// Under all thermostats, with `more` lines where there is one.
fn stages(more: &str) -> String {
    let mut toml = String::new();
    for (name, thermostat) in STAGES {
        toml += &format!("[[stage]]\nname = \"{name}\"\nsteps = 40\n");
        if !thermostat.is_empty() {
            toml += &format!("thermostat = {thermostat}\n{more}");
        }
        toml += "observe = { thermodynamics = 5, trajectory = 20 }\n";
    }
    toml
}

/// Has MPI say that it takes addresses of GPUs. It does: those of emulated GPUs are addresses of the host.
fn as_if_cuda_aware(gpu: &Path) -> String {
    static LIBRARY: OnceLock<String> = OnceLock::new();
    let build = || {
        let library = gpu.join("libquery.so");
        let source = gpu.join("query.c");
        std::fs::write(&source, "int MPIX_Query_cuda_support(void) { return 1; }").unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-x", "c"]).arg(&source).arg("-o").arg(&library);
        assert!(command.status().unwrap().success());
        library.to_str().unwrap().to_owned()
    };
    LIBRARY.get_or_init(build).clone()
}

fn assert_same_results(one: &Job, other: &Job) {
    let files = std::fs::read_dir(one.path("out")).unwrap().map(|file| file.unwrap().path());
    let of_stages = |file: &PathBuf| file.extension().is_some_and(|of| of == "h5" || of == "h5md");
    let files: Vec<_> = files.filter(of_stages).collect();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert_same_numbers(&file, &other.path(&format!("out/{name}")));
    }
}

/// Where the GPUs are.
#[derive(Clone, Copy)]
enum Gpus {
    Emulated(&'static Path),
    /// As many as this.
    Real(usize),
}

/// All there are; said, if there are none or only one.
fn places() -> Vec<Gpus> {
    let real = supercool::engine::cuda::device::gpus().map_or(0, |gpus| gpus.len());
    if real < 2 {
        println!("skipped on real GPUs: there are {real}");
    }
    let emulated = gpu().map(Gpus::Emulated);
    emulated.into_iter().chain((real >= 2).then_some(Gpus::Real(real))).collect()
}

fn job_on(place: Gpus, gpus: usize, toml: &str) -> Job {
    match place {
        Gpus::Emulated(gpu) => job(gpu, &gpus.to_string(), toml),
        Gpus::Real(_) => Job::new(toml),
    }
}

/// On a number of ranks and GPUs, by a transport.
fn run(toml: &str, place: Gpus, ranks: usize, gpus: usize, transport: &str) -> Job {
    let mut job = job_on(place, gpus, toml);
    if let ("cuda-aware-mpi", Gpus::Emulated(gpu)) = (transport, place) {
        job = job.with(&[("LD_PRELOAD", &as_if_cuda_aware(gpu))]);
    }
    let ended = job.execute_on(ranks, &["run", "job.toml", "--engine", "cuda"]);
    assert_eq!(ended.code, Some(0), "{ranks} ranks, {transport}: {ended:?}");
    assert!(ended.stdout.contains("on cuda"), "{ended:?}");
    job
}

/// Of a configuration for a transport, on numbers of ranks and GPUs.
fn the_bits_are_those_of_the_cpu(
    configuration: impl Fn(&str) -> String,
    cases: &[(usize, usize, &str)],
) {
    let expected = Job::new(&configuration("auto"));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for place in places() {
        for &(ranks, gpus, transport) in cases {
            // MPI may not be built for real GPUs; the others always work.
            let there = match place {
                Gpus::Emulated(_) => true,
                Gpus::Real(real) => gpus <= real && transport != "cuda-aware-mpi",
            };
            if there {
                let toml = configuration(transport);
                assert_same_results(&expected, &run(&toml, place, ranks, gpus, transport));
            }
        }
    }
}

#[test]
fn three_dimensions_give_the_bits_of_the_cpu_by_every_transport() {
    let cases = [
        (2, 2, "host-memory"),
        (2, 2, "peer-memory"),
        (2, 2, "cuda-aware-mpi"),
        // More ranks than GPUs: kernels do not wait for each other.
        (4, 2, "auto"),
    ];
    the_bits_are_those_of_the_cpu(|by| configuration(3, 1500, "fixed-point", by), &cases);
}

#[test]
fn two_dimensions_give_the_bits_of_the_cpu() {
    let cases = [(3, 3, "peer-memory"), (2, 2, "auto")];
    the_bits_are_those_of_the_cpu(|by| configuration(2, 1000, "fixed-point", by), &cases);
}

/// Rank 0 takes the trials; steps before and after are led by the host, or taken by the GPUs.
#[test]
fn swaps_give_the_bits_of_the_cpu() {
    let configuration = |dimension: usize, count: usize, transport: &str| {
        let run = format!("timestep = 0.004\nskin = 0.3\nthreads = 1\ntransport = \"{transport}\"");
        polydisperse(dimension, count, "fixed-point", &run)
            + &stages("swap = { every = 7, trials_per_particle = 0.5 }\n")
    };
    let cases = [(2, 2, "host-memory"), (2, 2, "peer-memory"), (4, 4, "auto")];
    the_bits_are_those_of_the_cpu(|by| configuration(3, 1000, by), &cases);
    the_bits_are_those_of_the_cpu(|by| configuration(2, 700, by), &[(3, 3, "auto")]);
    let of_species = |transport: &str| {
        let run = format!("timestep = 0.003\nskin = 0.3\nthreads = 1\ntransport = \"{transport}\"");
        let swap = "swap = { every = 7, trials_per_particle = 0.5, pairs = [\"AC\", \"BC\"] }\n";
        kob_andersen_2(1500, "fixed-point", &run) + &stages(swap)
    };
    the_bits_are_those_of_the_cpu(of_species, &[(2, 2, "host-memory"), (2, 2, "peer-memory")]);
}

/// Flows under all thermostats and none, most through a flip of the box, and rest in what they leave. In a square the first flip is in
/// a step in which particles collide.
fn flows(of_box: &str, dimension: usize, count: usize, transport: &str) -> String {
    let run = format!("timestep = 0.004\nskin = 0.3\nthreads = 1\ntransport = \"{transport}\"");
    let nve = "name = \"nve\"\nsteps = 40\n";
    kob_andersen(dimension, count, "fixed-point", &run).replace("density = 1.2", of_box)
        + &stages("shear = { rate = 3.25 }\n")
            .replace(nve, &format!("{nve}shear = {{ rate = -4.0 }}\n"))
        + "[[stage]]\nname = \"oscillation\"\nsteps = 40\nshear = { amplitude = 0.12, period = 0.16 }\n\
           thermostat = { kind = \"bussi\", temperature = 1.0, time = 0.1 }\nobserve = { thermodynamics = 5, trajectory = 20 }\n"
        + "[[stage]]\nname = \"rest\"\nsteps = 20\nobserve = { thermodynamics = 5, trajectory = 20 }\n"
}

/// Domains along x and y, and along x alone.
#[test]
fn flows_give_the_bits_of_the_cpu() {
    let cases = [(4, 2, "auto")];
    the_bits_are_those_of_the_cpu(|by| flows("density = 1.2", 2, 600, by), &cases);
    let cases = [(2, 2, "peer-memory"), (2, 2, "host-memory")];
    let long = "box = [20.0, 6.0, 5.8]";
    the_bits_are_those_of_the_cpu(|by| flows(long, 3, 800, by), &cases);
}

#[test]
fn pairs_of_floats_repeat_and_conserve_the_energy() {
    let toml = configuration(3, 1500, "double-single", "auto");
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let energies = |job: &Job| -> Vec<f64> {
        let all = numbers(&job.path("out/andersen.h5"));
        let (_, bits) = &all["/observables/potential_energy/value"];
        bits.iter().map(|&bits| f64::from_bits(bits)).collect()
    };
    let expected = energies(&expected);
    assert_eq!(expected.len(), 9);
    for place in places() {
        let [one, other] = [(); 2].map(|()| run(&toml, place, 2, 2, "auto"));
        assert_same_results(&one, &other);
        for (expected, found) in expected.iter().zip(energies(&one)) {
            // Forces are sums of 32-bit floats in another order: 1e-7 of a force of 1e3, growing tenfold or so in 40 steps.
            assert!((expected - found).abs() < 1e-4, "{expected} {found}");
        }
    }
}

/// Without a given skin: the box has room for four domains along an edge with the lists of a CPU, for three with those of
/// GPUs.
#[test]
fn domains_that_are_reported_are_those_of_the_gpus() {
    let toml = kob_andersen(3, 1000, "fixed-point", "timestep = 0.004\nthreads = 1")
        .replace("density = 1.2", "box = [11.34, 11.36, 11.4]")
        + "[[stage]]\nname = \"melt\"\nsteps = 10\nobserve = { thermodynamics = 5 }\n";
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for place in places() {
        let gpus = match place {
            Gpus::Emulated(_) => 4,
            Gpus::Real(real) if real < 4 => continue,
            Gpus::Real(real) => real,
        };
        let job = run(&toml, place, 4, gpus, "auto");
        let tuning = job.results("melt").parameter("tuning").expect("what was chosen");
        let tuning: serde_json::Value = serde_json::from_str(&tuning).unwrap();
        assert_eq!(tuning["domains"], serde_json::json!([1, 2, 2]), "{tuning}");
        assert_eq!(tuning["skin"], 0.3625, "{tuning}");
        assert_same_numbers(&expected.path("out/melt.h5"), &job.path("out/melt.h5"));
    }
}

#[test]
fn a_run_stops_on_all_gpus_and_goes_on_on_one_and_on_the_cpu() {
    let run = "timestep = 0.004\nskin = 0.3\nthreads = 1";
    let toml = |steps: u64| {
        kob_andersen(3, 1500, "fixed-point", run)
            + &format!(
                "[[stage]]\nname = \"nve\"\nsteps = {steps}\nobserve = {{ thermodynamics = 20, trajectory = 200 }}\n"
            )
    };
    for place in places() {
        let (steps, ranks) = match place {
            Gpus::Emulated(_) => (600, 4),
            Gpus::Real(real) => (20_000, real),
        };
        let expected = Job::new(&toml(steps));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        let job = job_on(place, ranks, &toml(steps));
        let mut process = job.start_on(ranks, &["run", "job.toml", "--engine", "cuda"]);
        assert!(job.appears("out/nve.h5", &mut process));
        // Not every build of `mpirun` passes it on: as a batch system does, to all processes.
        let children = format!("/proc/{0}/task/{0}/children", process.id());
        let ranks = std::fs::read_to_string(children).unwrap();
        for rank in ranks.split_whitespace() {
            signal(rank.parse().unwrap(), "USR1");
        }
        let ended = Ended::of(process);
        assert_eq!(ended.code, Some(75), "{ended:?}");
        let ended = job.execute(&["resume", "out", "--engine", "cuda", "--max-walltime", "0.5s"]);
        assert!(matches!(ended.code, Some(0 | 75)), "{ended:?}");
        job.succeeds(&["resume", "out", "--engine", "cpu"]);
        for file in ["out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &job.path(file));
        }
    }
}

#[test]
fn gpus_tell_where_their_time_goes() {
    let bench = "bench --engine cuda --particles 1500 --precision fixed-point --steps 60 --json";
    let few = ["--melt-steps", "10", "--equilibration-steps", "10", "--transport", "peer-memory"];
    let arguments: Vec<&str> = bench.split(' ').chain(few).collect();
    for place in places() {
        let start = Instant::now();
        let ended = job_on(place, 2, "").execute_on(2, &arguments);
        let all = start.elapsed().as_secs_f64();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let measured: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let seconds = measured[0]["engine"]["gpu_seconds"].as_object().unwrap();
        assert_eq!(seconds.len(), 8, "{seconds:?}");
        let seconds = |part: &str| seconds[part].as_f64().unwrap();
        let parts = ["passes", "comparing", "migration", "sorting", "ghosts", "lists", "between"];
        assert!(parts.iter().all(|part| seconds(part) > 0.0), "{ended:?}");
        let sum: f64 = parts.iter().map(|part| seconds(part)).sum();
        assert!(sum < all, "{all}: {ended:?}");
        assert!((0.0..=seconds("passes")).contains(&seconds("waiting_in_passes")), "{ended:?}");
        // Both ranks' time together; the other one cannot have communicated less than not at all.
        let share = measured[0]["engine"]["communication_share"].as_f64().unwrap();
        let here = ["comparing", "migration", "ghosts", "waiting_in_passes"].map(seconds);
        let here = here.into_iter().sum::<f64>() / sum;
        assert!(share > 0.3 * here && share < 1.0, "{share} in all, {here} of rank 0: {ended:?}");
    }
}

/// Ranks look together when lists are no longer good, and make them around the same sites: they rebuild in the steps in which one GPU
/// does. In `double`, as one GPU makes lists of so few particles around present sites in the other precisions.
#[test]
fn ranks_rebuild_as_often_as_one_gpu() {
    let bench = "bench --engine cuda --particles 1500 --precision double --steps 200 --json";
    let few = "--melt-steps 20 --equilibration-steps 20 --skin 0.35 --tune off --model";
    for place in places() {
        // At constant energy, and with a thermostat of the whole system.
        for model in ["kob-andersen", "lj-fluid"] {
            let arguments: Vec<&str> =
                bench.split(' ').chain(few.split(' ')).chain([model]).collect();
            let rebuilds = |gpus| {
                let job = job_on(place, gpus, "");
                let ended = if gpus > 1 {
                    job.execute_on(gpus, &arguments)
                } else {
                    job.execute(&arguments)
                };
                assert_eq!(ended.code, Some(0), "{ended:?}");
                let measured: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
                let found = &measured[0];
                assert_eq!(found["engine"]["ranks"].as_u64().unwrap_or(1), gpus as u64);
                (
                    found["engine"]["list_rebuilds"].as_u64().unwrap(),
                    found["potential_energy"].as_f64().unwrap(),
                )
            };
            let (alone, of_two) = (rebuilds(1), rebuilds(2));
            assert!(alone.0 > 10, "{model}: {alone:?}");
            assert_eq!(of_two.0, alone.0, "{model}");
            // Sums have another order: 1e-15 of a force, growing tenfold in 40 steps or so.
            assert!((of_two.1 - alone.1).abs() < 1e-8, "{model}: {of_two:?} {alone:?}");
        }
    }
}

/// The numbers of a run on two ranks are those of the CPU, and a word of these events is in its log.
fn assert_bits_with_events(toml: &str, stages: &[String], events: &[&str]) {
    let expected = Job::new(toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for place in places() {
        let job = job_on(place, 2, toml).with(&[("RUST_LOG", "supercool=trace")]);
        let ended = job.execute_on(2, &["run", "job.toml", "--engine", "cuda"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for event in events {
            assert!(ended.stderr.contains(event), "never: {event}; {ended:?}");
        }
        for stage in stages {
            for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
                assert_same_numbers(&expected.path(&file), &job.path(&file));
            }
        }
    }
}

/// Domains so long that some particles have no ghosts near them: their forces are summed while the sites of ghosts travel, and a
/// thermostat that scales velocities before the second kick has them kicked later.
#[test]
fn particles_away_from_the_boundary_are_kicked_once() {
    let keys = "timestep = 0.004\nskin = 0.3\nthreads = 1\ntransport = \"host-memory\"";
    let toml = kob_andersen(3, 1000, "fixed-point", keys)
        .replace("density = 1.2", "box = [26.0, 5.8, 5.7]")
        + "[[stage]]\nname = \"bussi\"\nsteps = 20\nobserve = { thermodynamics = 10 }\n\
           thermostat = { kind = \"bussi\", temperature = 1.5, time = 0.1 }\n";
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for place in places() {
        let found = run(&toml, place, 2, 2, "host-memory");
        assert_same_numbers(&expected.path("out/bussi.h5"), &found.path("out/bussi.h5"));
    }
}

/// Velocities that jump: lists end much earlier than those before, and rebuildings that were launched ahead are left out.
#[test]
fn steps_with_lists_that_were_too_old_are_taken_again() {
    // A collision every 50 steps, cold and hot in turn.
    let mut toml = kob_andersen(3, 800, "fixed-point", "timestep = 0.004\nskin = 0.3\nthreads = 1");
    let mut stages = Vec::new();
    for (stage, temperature) in [0.05, 6.0, 0.05, 3.0, 0.05, 6.0].into_iter().enumerate() {
        stages.push(format!("stage{stage}"));
        toml += &format!(
            "[[stage]]\nname = \"stage{stage}\"\nsteps = 100\nobserve = {{ thermodynamics = 100, trajectory = 100 }}\n\
             thermostat = {{ kind = \"andersen\", temperature = {temperature}, rate = 5.0 }}\n"
        );
    }
    // How far a launch goes depends on the machine's speed: mostly, but not always, a rebuilding is launched after
    // the steps that are taken again.
    assert_bits_with_events(
        &toml,
        &stages,
        &["lists were too old", "the rebuilding after is left out"],
    );
}

/// The same under a thermostat of the whole system: the host begins the steps that are taken again, and kernels end them.
#[test]
fn steps_under_a_chain_are_taken_again() {
    let mut toml = kob_andersen(3, 800, "fixed-point", "timestep = 0.004\nskin = 0.3\nthreads = 1");
    let mut stages = Vec::new();
    for cycle in 0..3 {
        for (name, temperature) in [("cold", 0.01), ("hot", 6.0)] {
            stages.push(format!("{name}{cycle}"));
            toml += &format!(
                "[[stage]]\nname = \"{name}{cycle}\"\nsteps = 60\nobserve = {{ thermodynamics = 60, trajectory = 60 }}\n\
                 thermostat = {{ kind = \"nose-hoover\", temperature = {temperature}, period = 0.08 }}\n"
            );
        }
    }
    assert_bits_with_events(&toml, &stages, &["lists were too old"]);
}

/// Launches that end with no more than the drift after a collision, as lists end there, do not collide again.
#[test]
fn a_collision_before_the_end_of_the_lists_is_not_repeated() {
    // A collision every 4 steps.
    let mut toml = kob_andersen(3, 800, "fixed-point", "timestep = 0.004\nskin = 0.3\nthreads = 1");
    toml += "[[stage]]\nname = \"thermostat\"\nsteps = 160\nobserve = { thermodynamics = 1 }\n\
             thermostat = { kind = \"andersen\", temperature = 1.5, rate = 62.5 }\n";
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for place in places() {
        let found = run(&toml, place, 2, 2, "auto");
        assert_same_numbers(&expected.path("out/thermostat.h5"), &found.path("out/thermostat.h5"));
    }
}

#[test]
fn a_transport_that_does_not_work_is_reported() {
    let Some(gpu) = gpu() else { return };
    let toml = configuration(3, 1500, "fixed-point", "cuda-aware-mpi");
    let ended = job_on(Gpus::Emulated(gpu), 2, &toml)
        .execute_on(2, &["run", "job.toml", "--engine", "cuda"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("run.transport"), "{ended:?}");
    assert!(ended.stderr.contains("host-memory"), "{ended:?}");
}
