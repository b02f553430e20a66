//! The output directory: locked before anything in it is looked at, and never without a run once it had one.
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Ended, Job, kob_andersen};

const LOCK: &str = "out/.supercool.lock";

fn toml() -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + "[[stage]]\nname = \"melt\"\nsteps = 40\nobserve = { thermodynamics = 10, trajectory = 20 }\n"
}

/// The files of the run, without the lock.
fn files(job: &Job) -> Vec<PathBuf> {
    let entries = fs::read_dir(job.path("out")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| *path != job.path(LOCK)).collect();
    files.sort();
    files
}

/// The run that has the lock writes its last checkpoint and removes the one before while it is waited for.
#[test]
fn resume_looks_for_checkpoints_when_it_has_the_lock() {
    let job = Job::new(&toml());
    job.succeeds(&["run", "job.toml"]);
    let (last, first) = (job.path("out/checkpoint-40.scp"), job.path("out/checkpoint-0.scp"));
    assert!(first.exists());
    fs::rename(&last, job.path("later")).unwrap();
    let lock = File::options().write(true).open(job.path(LOCK)).unwrap();
    lock.lock().unwrap();
    let process = job.start(&["resume", "out"]);
    std::thread::sleep(Duration::from_millis(500));
    fs::rename(job.path("later"), &last).unwrap();
    fs::remove_file(&first).unwrap();
    lock.unlock().unwrap();
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("was complete"), "{ended:?}");
}

#[test]
fn a_directory_of_no_run_is_not_locked() {
    let job = Job::new(&toml());
    fs::create_dir(job.path("out")).unwrap();
    for name in ["out", "missing"] {
        job.fails(&["resume", name], &[name, "no checkpoint to resume from"]);
    }
    assert!(!job.path(LOCK).exists());
}

/// As `run --force` leaves it that is killed before the new run's first checkpoint.
fn move_aside(job: &Job) {
    let aside = job.path("out/earlier.supercool");
    let files = files(job);
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join(".run"), fs::read_to_string(job.path(LOCK)).unwrap().trim()).unwrap();
    for file in files {
        fs::rename(&file, aside.join(file.file_name().unwrap())).unwrap();
    }
    fs::write(job.path(LOCK), "of the new run\n").unwrap();
}

#[test]
fn an_earlier_run_comes_back_whose_successor_was_killed_before_its_first_checkpoint() {
    let whole = Job::new(&toml());
    whole.succeeds(&["run", "job.toml"]);
    let job = Job::new(&toml());
    job.succeeds(&["run", "job.toml"]);
    let before = files(&job);
    move_aside(&job);
    let ended = job.succeeds(&["resume", "out"]);
    assert!(ended.stdout.contains("was complete"), "{ended:?}");
    assert!(ended.stderr.contains("the earlier one's files are back"), "{ended:?}");
    assert_eq!(files(&job), before);
    for file in ["out/melt.h5", "out/melt.h5md"] {
        assert_same_numbers(&whole.path(file), &job.path(file));
    }
    // Another run finds it, too, also one that begins from one of its files.
    move_aside(&job);
    job.fails(&["run", "job.toml"], &["out", "holds the files of an earlier run"]);
    move_aside(&job);
    let start = "initial = { file = \"out/melt.h5md\", temperature = 1.5 }";
    let lattice = "initial = { lattice = \"fcc\", temperature = 1.5 }";
    let text = toml();
    assert!(text.contains(lattice));
    job.write("next.toml", &text.replace(lattice, start).replace("\"out\"", "\"next\""));
    job.fails(&["run", "next.toml"], &["out/melt.h5md"]);
    job.write("again.toml", &text.replace(lattice, start));
    job.fails(&["run", "again.toml", "--force"], &["would remove the initial state"]);
    job.succeeds(&["run", "next.toml"]);
}

#[test]
fn a_run_that_is_replaced_is_gone_once_the_new_one_can_be_resumed() {
    let job = Job::new(&toml());
    job.succeeds(&["run", "job.toml"]);
    job.write("shorter.toml", &toml().replace("steps = 40", "steps = 20"));
    job.succeeds(&["run", "shorter.toml", "--force"]);
    let names = ["checkpoint-0.scp", "checkpoint-20.scp", "melt.h5", "melt.h5md"];
    assert_eq!(files(&job), names.map(|name| job.path("out").join(name)));
    assert_eq!(job.series("melt", "temperature").len(), 3);
    let ended = job.succeeds(&["resume", "out"]);
    assert!(ended.stdout.contains("was complete") && ended.stderr.is_empty(), "{ended:?}");
}

/// `correlate` has no checkpoints: the earlier results are there until the new ones are.
#[test]
fn results_of_a_trajectory_come_back_if_the_new_ones_cannot_be_had() {
    let correlations =
        "[[stage.correlation]]\nevery = 20\nobservables = [\"mean-square-displacement\"]\n";
    let job = Job::new(&(toml().replace("steps = 40", "steps = 200") + correlations));
    job.succeeds(&["run", "job.toml"]);
    let command = ["correlate", "out/melt.h5md", "job.toml", "--output", "again"];
    job.succeeds(&command);
    let again = job.path("again/melt.h5");
    let before = fs::read(&again).unwrap();
    // As a process leaves it that is killed within.
    fs::create_dir(job.path("again/earlier.supercool")).unwrap();
    fs::write(job.path("again/earlier.supercool/.run"), "before").unwrap();
    fs::rename(&again, job.path("again/earlier.supercool/melt.h5")).unwrap();
    fs::write(&again, "half of the new ones").unwrap();
    job.fails(&command, &["again", "holds the files of an earlier run"]);
    assert!(fs::read(&again).unwrap() == before);
    job.succeeds(&[&command[..], &["--force"]].concat());
    assert!(!job.path("again/earlier.supercool").exists());
}
