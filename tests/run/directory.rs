//! The output directory: locked before anything in it is looked at.
use std::fs::{self, File};
use std::time::Duration;

use crate::common::job::{Ended, Job, kob_andersen};

const LOCK: &str = "out/.supercool.lock";

fn toml() -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + "[[stage]]\nname = \"melt\"\nsteps = 40\nobserve = { thermodynamics = 10, trajectory = 20 }\n"
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
