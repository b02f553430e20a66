//! Files and directories that are taken away from a run, or from its way.
use std::fs;
use std::time::Duration;

use crate::common::job::{Ended, Job, kob_andersen, signal};

const RUN: &str = "timestep = 0.004\nthreads = 1\nskin = 0.3";

fn toml(count: usize, steps: u64, observe: &str) -> String {
    kob_andersen(3, count, "fixed-point", RUN)
        .replace("directory = \"out\"", "directory = \"out\"\nflush_seconds = 0.05")
        + &format!("[[stage]]\nname = \"melt\"\nsteps = {steps}\nobserve = {{ {observe} }}\n")
}

/// Files are opened by their names: another run's may bear them by then.
#[test]
fn a_run_whose_directory_was_replaced_ends_and_leaves_the_other_alone() {
    let job = Job::new(&toml(256, 100_000_000, "thermodynamics = 10"));
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    assert!(job.appears("out/melt.h5", &mut process));
    fs::rename(job.path("out"), job.path("old")).unwrap();
    job.write(
        "other.toml",
        &toml(256, 200, "thermodynamics = 10").replace("seed = 11", "seed = 12"),
    );
    let other = job.execute(&["run", "other.toml", "--quiet"]);
    let ended = Ended::of(process);
    assert_eq!((ended.code, other.code), (Some(1), Some(0)), "{ended:?} {other:?}");
    assert!(ended.stderr.contains("is not the directory of this run any more"), "{ended:?}");
    let undisturbed =
        Job::new(&toml(256, 200, "thermodynamics = 10").replace("seed = 11", "seed = 12"));
    undisturbed.succeeds(&["run", "job.toml", "--quiet"]);
    let energies = |job: &Job| job.series("melt", "potential_energy");
    assert_eq!(energies(&job), energies(&undisturbed));
    let first = job.path("old/melt.h5");
    assert!(
        !supercool_analysis::results::ResultsFile::open(&first)
            .unwrap()
            .observables()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_lock_that_was_removed_lets_no_two_runs_work_for_long() {
    let job = Job::new(&toml(256, 100_000_000, "thermodynamics = 10"));
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    assert!(job.appears("out/melt.h5", &mut process));
    fs::remove_file(job.path("out/.supercool.lock")).unwrap();
    let second = job.start(&["resume", "out", "--quiet"]);
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("another run has begun in it"), "{ended:?}");
    signal(second.id(), "TERM");
    let second = Ended::of(second);
    assert_eq!(second.code, Some(75), "{second:?}");
}

/// A frame's file that is gone is an error when the next one is written, not a finished run without it.
#[test]
fn a_trajectory_that_was_removed_is_missed() {
    for file in ["out/melt.gsd", "out/melt.h5md", "out/melt.h5"] {
        let job =
            Job::new(&toml(256, 100_000_000, "thermodynamics = 10, trajectory = 100, gsd = true"));
        let mut process = job.start(&["run", "job.toml", "--quiet"]);
        assert!(job.appears("out/melt.gsd", &mut process));
        std::thread::sleep(Duration::from_millis(100));
        fs::remove_file(job.path(file)).unwrap();
        let ended = Ended::of(process);
        assert_eq!(ended.code, Some(1), "{file}: {ended:?}");
        assert!(ended.stderr.contains(file), "{file}: {ended:?}");
    }
}

/// Files are only brought back to a checkpoint when all that it counts on are there.
#[test]
fn a_missing_file_leaves_the_others_as_they_were() {
    let stopped =
        Job::new(&toml(256, 100_000_000, "thermodynamics = 10, trajectory = 100, gsd = true"));
    let mut process = stopped.start(&["run", "job.toml", "--quiet"]);
    assert!(stopped.appears("out/melt.gsd", &mut process));
    std::thread::sleep(Duration::from_millis(300));
    signal(process.id(), "TERM");
    assert_eq!(Ended::of(process).code, Some(75));
    let mut process = stopped.start(&["resume", "out", "--quiet"]);
    std::thread::sleep(Duration::from_millis(700));
    process.kill().unwrap();
    process.wait().unwrap();
    let sizes = |job: &Job| {
        ["h5", "h5md"].map(|kind| fs::read(job.path(&format!("out/melt.{kind}"))).unwrap())
    };
    let before = sizes(&stopped);
    fs::rename(stopped.path("out/melt.gsd"), stopped.path("kept.gsd")).unwrap();
    stopped.fails(&["resume", "out"], &["melt.gsd", "it is missing", "as they were"]);
    assert!(sizes(&stopped) == before, "changed by a resume that was refused");
    fs::rename(stopped.path("kept.gsd"), stopped.path("out/melt.gsd")).unwrap();
    let process = stopped.start(&["resume", "out", "--quiet"]);
    signal(process.id(), "TERM");
    assert_eq!(Ended::of(process).code, Some(75));
}

/// Files of stages that have ended are not needed to continue: what became of them is reported.
#[test]
fn files_of_ended_stages_that_are_gone_or_damaged_are_reported() {
    let first = toml(256, 100, "thermodynamics = 10, trajectory = 50, gsd = true");
    let second = "[[stage]]\nname = \"anneal\"\nsteps = 100\nobserve = { thermodynamics = 10 }\n";
    let job = Job::new(&format!("{first}\n{second}"));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let ended = job.succeeds(&["resume", "out"]);
    assert!(!ended.stderr.contains("has ended"), "{ended:?}");
    fs::remove_file(job.path("out/melt.gsd")).unwrap();
    let whole = fs::read(job.path("out/melt.h5md")).unwrap();
    fs::write(job.path("out/melt.h5md"), &whole[..1000]).unwrap();
    fs::copy(job.path("out/anneal.h5"), job.path("out/melt.h5")).unwrap();
    let other = Job::new(&format!("{first}\n{second}"));
    other.succeeds(&["run", "job.toml", "--quiet"]);
    fs::copy(other.path("out/anneal.h5"), job.path("out/anneal.h5")).unwrap();
    let ended = job.succeeds(&["resume", "out"]);
    for part in [
        "melt.gsd: it is missing",
        "melt.h5md: it was cut off",
        "anneal.h5: it is of another run",
        "stage \"anneal\" has ended and is not run again",
    ] {
        assert!(ended.stderr.contains(part), "no {part:?} in {ended:?}");
    }
    assert_eq!(fs::read(job.path("out/melt.h5md")).unwrap().len(), 1000);
}

#[test]
fn a_checkpoint_that_cannot_be_read_is_passed_over() {
    let job = Job::new(&toml(256, 400, "thermodynamics = 10"));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    fs::remove_file(job.path("out/checkpoint-400.scp")).unwrap();
    std::os::unix::fs::symlink("nowhere", job.path("out/checkpoint-400.scp")).unwrap();
    let ended = job.succeeds(&["resume", "out"]);
    for part in
        ["checkpoint-400.scp: the checkpoint cannot be read", "checkpoint-0.scp is used instead"]
    {
        assert!(ended.stderr.contains(part), "no {part:?} in {ended:?}");
    }
}

/// Ctrl-C before the first step of a run that would replace another one keeps what is there.
#[test]
fn a_signal_at_the_start_removes_nothing() {
    let job = Job::new(&toml(256, 20, "thermodynamics = 10"));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    job.write("large.toml", &toml(200_000, 20, "thermodynamics = 10"));
    let process = job.start(&["run", "large.toml", "--force", "--quiet"]);
    signal(process.id(), "INT");
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(76), "{ended:?}");
    // Where the machine has much else to do, the signal comes while the engine is set up.
    let said = ended.stdout.contains("Stopped by SIGINT before the files of the earlier run")
        || ended.stderr.contains("nothing was changed");
    assert!(said, "{ended:?}");
    assert_eq!(job.series("melt", "potential_energy").len(), 3);
    assert!(job.path("out/checkpoint-20.scp").exists());
}
