//! Several cases at once, each in a process of its own, and on a GPU of its own where there are GPUs.
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use miette::miette;
use rustix::process::{Pid, Signal, kill_process};

use crate::engine::cuda::device::gpus;
use crate::run::Watch;
use crate::run::{STOPPED, STOPPED_BEFORE};

/// The configuration of a case, in its directory.
pub const CASE: &str = "case.toml";

/// How often children and signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// A case that is to be run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Suite and name.
    pub name: String,
    /// Of the run, with its configuration.
    pub directory: PathBuf,
    /// From a checkpoint that is there.
    pub goes_on: bool,
    /// About how long it takes in relation to others.
    pub cost: f64,
}

/// What all jobs share.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// How many run at once.
    pub at_once: usize,
    pub watch: Watch,
    pub quiet: bool,
}

/// Values of `CUDA_VISIBLE_DEVICES`, one for each place of a job; none where there is no GPU.
///
/// # Errors
/// If there are fewer GPUs than jobs.
fn places(at_once: usize) -> miette::Result<Vec<Option<OsString>>> {
    let Ok(found) = gpus() else { return Ok(vec![None; at_once]) };
    if found.len() < at_once {
        return Err(miette!(
            "--jobs {at_once}: every case takes a GPU of its own, so at most --jobs {} here",
            found.len()
        ));
    }
    // The driver numbers those that the variable shows.
    let shown = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let shown: Vec<&str> = shown.as_deref().map_or(Vec::new(), |list| list.split(',').collect());
    let name = |gpu: usize| match shown.get(gpu) {
        Some(name) => OsString::from(name.trim()),
        None => OsString::from(gpu.to_string()),
    };
    Ok((0..at_once).map(|gpu| Some(name(gpu))).collect())
}

/// Runs jobs, the longest first; false if some were stopped before their ends, by a signal or the time limit.
///
/// # Errors
/// If a job fails; those that have begun are ended with checkpoints, and no other is begun.
pub fn carry_out(mut jobs: Vec<Job>, conditions: &Conditions) -> miette::Result<bool> {
    let places = places(conditions.at_once)?;
    jobs.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let queue = Mutex::new(jobs);
    let ending = AtomicBool::new(false);
    let next = || {
        let mut jobs = queue.lock().expect("no thread has panicked");
        if ending.load(Ordering::Relaxed) { None } else { jobs.pop() }
    };
    let of_place = |gpu: Option<OsString>| {
        let mut finished = true;
        while let Some(job) = next() {
            match run(&job, gpu.as_ref(), conditions, &ending) {
                Ok(true) => {}
                Ok(false) => {
                    ending.store(true, Ordering::Relaxed);
                    finished = false;
                }
                Err(error) => {
                    ending.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(finished)
    };
    let ended: Vec<miette::Result<bool>> = thread::scope(|scope| {
        let of_place = &of_place;
        let threads: Vec<_> =
            places.into_iter().map(|gpu| scope.spawn(move || of_place(gpu))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let mut finished = queue.into_inner().expect("no thread has panicked").is_empty();
    for of_place in ended {
        finished &= of_place?;
    }
    Ok(finished)
}

/// Runs one; false if it was stopped.
fn run(
    job: &Job,
    gpu: Option<&OsString>,
    conditions: &Conditions,
    ending: &AtomicBool,
) -> miette::Result<bool> {
    if conditions.watch.pending().is_some() {
        return Ok(false);
    }
    let error = |error: std::io::Error| miette!("{}: {error}", job.name);
    let mut command = Command::new(std::env::current_exe().map_err(error)?);
    if job.goes_on {
        command.arg("resume").arg(&job.directory);
    } else {
        let configuration = job.directory.join(CASE);
        command.arg("run").arg(configuration).arg("--force").arg("--output").arg(&job.directory);
    }
    if let Some(gpu) = gpu {
        command.env("CUDA_VISIBLE_DEVICES", gpu);
    }
    // Bars of several runs would write over each other.
    command.arg("--quiet").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(error)?;
    if !conditions.quiet {
        let on = gpu.map_or(String::new(), |gpu| format!(" on GPU {}", gpu.display()));
        eprintln!("{} has begun{on}", job.name);
    }
    let mut asked = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(error)? {
            break status;
        }
        let is_to_end = ending.load(Ordering::Relaxed) || conditions.watch.pending().is_some();
        if is_to_end && !asked {
            asked = true;
            ask_to_stop(&child);
        }
        thread::sleep(PATIENCE);
    };
    if !conditions.quiet {
        eprintln!("{}: {status}", job.name);
    }
    match status.code() {
        Some(0) => Ok(true),
        Some(code) if [STOPPED, STOPPED_BEFORE].map(i32::from).contains(&code) => Ok(false),
        // It was asked before it listened.
        None if asked && status.signal() == Some(Signal::TERM.as_raw()) => Ok(false),
        _ => Err(miette!("{} has failed ({status}), in {}", job.name, job.directory.display())),
    }
}

/// With a checkpoint.
fn ask_to_stop(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::TERM);
    }
}
