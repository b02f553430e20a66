//! The program itself, started by `mpirun`. Built with the feature `mpi` only.
#![cfg(feature = "mpi")]
mod common;

use std::process::{Child, Command};

use common::contents::assert_same_numbers;
use common::job::{Ended, Job, kob_andersen, polydisperse, signal};
use supercool::output::checkpoints_in;

fn configuration(steps: u64) -> String {
    kob_andersen(3, 500, "fixed-point", "timestep = 0.004\nskin = 0.3\nthreads = 1")
        + &format!(
            r#"
[checkpoint]
minutes = 0.001

[[stage]]
name = "run"
steps = {steps}
observe = {{ thermodynamics = 10, trajectory = 100 }}

[[stage.correlation]]
every = 10
block_size = 5
wavenumbers = [7.25]
"#
        )
}

/// Exchanges of diameters, and what is observed of a liquid with them.
fn polydisperse_with_swaps(steps: u64) -> String {
    polydisperse(3, 500, "fixed-point", "timestep = 0.004\nskin = 0.3\nthreads = 1")
        + &format!(
            r#"
[limits]
action = "warn"
crystallinity = 0.001
demixing = 0.5

[integrity]
recheck = 100
segment = 50

[[stage]]
name = "run"
steps = {steps}
thermostat = {{ kind = "nose-hoover", temperature = 1.0, period = 0.3 }}
swap = {{ every = 20, trials_per_particle = 2.0 }}
observe = {{ thermodynamics = 20, trajectory = 50, local_order = {{ every = 50 }}, configurational_temperature = 50 }}
"#
        )
}

fn assert_same_results(one: &Job, other: &Job) {
    for file in ["out/run.h5", "out/run.h5md"] {
        assert_same_numbers(&one.path(file), &other.path(file));
    }
}

#[test]
fn processes_write_what_one_does_and_go_on_with_another_number() {
    write_what_one_does_and_go_on_from(4, &configuration(3000), 2);
}

#[test]
fn processes_with_swaps_write_what_one_does_and_go_on_with_another_number() {
    write_what_one_does_and_go_on_from(4, &polydisperse_with_swaps(1500), 2);
}

/// Stopped on some ranks, and resumed on others.
fn write_what_one_does_and_go_on_from(ranks: usize, toml: &str, later: usize) {
    let alone = Job::new(toml);
    alone.succeeds(&["run", "job.toml", "--quiet"]);

    let job = Job::new(toml);
    let mut process = job.start_on(ranks, &["run", "job.toml", "--quiet"]);
    assert!(job.appears("out/run.h5", &mut process));
    // mpirun hands it on to all ranks.
    signal(process.id(), "USR1");
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert!(ended.stdout.contains("Stopped by SIGUSR1"), "{ended:?}");
    assert_eq!(ended.stdout.matches("Continue with").count(), 1, "only one rank speaks: {ended:?}");

    let ended = job.execute_on(later, &["resume", "out", "--quiet"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.matches("Results are in").count(), 1, "{ended:?}");
    assert_same_results(&alone, &job);
}

#[test]
fn two_processes_exchange_the_diameters_that_one_does() {
    let toml = polydisperse_with_swaps(300);
    let (alone, job) = (Job::new(&toml), Job::new(&toml));
    let alone_ended = alone.succeeds(&["run", "job.toml"]);
    let ended = job.execute_on(2, &["run", "job.toml"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let accepted = |ended: &Ended| {
        let mut lines = ended.stdout.lines();
        lines.find(|line| line.contains("swap trials")).map(str::to_owned)
    };
    assert!(accepted(&ended).is_some() && accepted(&ended) == accepted(&alone_ended), "{ended:?}");
    for alarm in ["limits.crystallinity", "limits.demixing"] {
        for ended in [&ended, &alone_ended] {
            assert_eq!(ended.stderr.matches(alarm).count(), 1, "{ended:?}");
        }
    }
    assert_same_results(&alone, &job);
    let names = ["crystallinity", "demixing", "configurational_temperature"];
    assert!(names.iter().all(|name| job.series("run", name).len() == 7));
}

const SYSTEMS: &str = "[ensemble]\nkind = \"independent\"\nsystems = 3\n";

#[test]
fn processes_share_systems_and_go_on_with_another_number() {
    write_what_one_does_and_go_on_from(2, &(configuration(300) + SYSTEMS), 3);
}

#[test]
fn more_processes_than_systems_are_refused() {
    let job = Job::new(&(configuration(100) + SYSTEMS));
    let ended = job.execute_on(4, &["run", "job.toml", "--quiet"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.stderr.matches("4 ranks for the 3 systems").count(), 1, "{ended:?}");
    assert!(!job.path("out/run.h5").exists(), "nothing is begun");
}

#[test]
fn a_dying_rank_ends_the_job_with_a_message_and_leaves_a_whole_checkpoint() {
    let job = Job::new(&configuration(2_000_000));
    let mut process = job.start_on(4, &["run", "job.toml", "--quiet"]);
    assert!(job.appears("out/run.h5", &mut process));
    let written = || !checkpoints_in(&job.path("out")).unwrap().is_empty();
    while !written() {
        assert!(process.try_wait().unwrap().is_none(), "{:?}", Ended::of(process));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let victim = last_rank(&process);
    assert!(Command::new("kill").args(["-s", "KILL", &victim]).status().unwrap().success());
    let ended = Ended::of(process);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("rank") && ended.stderr.contains("signal 9"), "{ended:?}");

    let resumed = job.execute(&["resume", "out", "--quiet", "--max-walltime", "1s"]);
    assert_eq!(resumed.code, Some(75), "{resumed:?}");
    assert!(!resumed.stderr.contains("is not used"), "{resumed:?}");
}

/// Process of the rank started last by an `mpirun`.
fn last_rank(mpirun: &Child) -> String {
    let id = mpirun.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    children.split_whitespace().last().expect("mpirun has ranks").to_owned()
}

#[test]
fn errors_are_reported_once_and_end_all_ranks() {
    let job = Job::new(&configuration(100));
    let ended = job.execute_on(9, &["run", "job.toml", "--quiet"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches("it has room for 8 at most").count(), 1, "{ended:?}");
    assert!(!job.path("out/run.h5").exists());

    let ended = job.execute_on(2, &["run", "other.toml"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches("other.toml").count(), 1, "{ended:?}");
}

#[test]
fn the_benchmark_measures_all_ranks_together() {
    let job = Job::new("");
    let arguments = ["--particles=2000", "--precision=fixed-point", "--engine=cpu", "--steps=20"];
    let mut all = vec!["bench", "--melt-steps=5", "--equilibration-steps=5"];
    all.extend(arguments);
    let ended = job.execute_on(2, &all);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.matches("fixed-point").count(), 1, "{ended:?}");
    let (_, share) = ended.stdout.split_once("x 2 ranks, ").unwrap_or_else(|| panic!("{ended:?}"));
    let (share, _) = share.split_once(" % of the time in communication").unwrap();
    assert!((0.0..=100.0).contains(&share.parse::<f64>().unwrap()), "{ended:?}");
    assert!(job.succeeds(&["doctor"]).stdout.contains("mpirun"));
}
