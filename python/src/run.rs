//! Runs with files.
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use miette::miette;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use supercool::command::ranks::check_alone;
use supercool::command::start::at_its_line;
use supercool::run::{self, Outcome, RunOptions, Summary, parse_walltime};

use crate::error::{Error, raise};
use crate::{configuration, log};

/// Between looks at signals.
const PATIENCE: Duration = Duration::from_millis(50);
/// Of a run's thread: as that of the command's.
const STACK: usize = 8 << 20;
/// SIGINT: the reason of a stop where Python raises an exception meanwhile.
const INTERRUPTED: usize = 2;

/// By which handlers of signals tell a run to stop.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Stop(Arc<AtomicUsize>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Stop::default()
    }

    /// The run writes a checkpoint and ends.
    fn signal(&self, number: usize) {
        self.0.store(number, Ordering::Relaxed);
    }
}

/// Runs a configuration; gives how it ended as JSON.
#[pyfunction]
#[pyo3(name = "run", signature = (name, text, stop, *, initial=None, output=None, engine=None, force=false, max_walltime=None, quiet=true))]
#[allow(clippy::too_many_arguments, reason = "they are those of the Python function")]
pub fn run_configuration(
    py: Python<'_>,
    name: PathBuf,
    text: Option<String>,
    stop: &Stop,
    initial: Option<PathBuf>,
    output: Option<PathBuf>,
    engine: Option<&str>,
    force: bool,
    max_walltime: Option<&str>,
    quiet: bool,
) -> PyResult<String> {
    check_alone().map_err(raise)?;
    let options = RunOptions { force, ..options(stop, engine, max_walltime, quiet)? };
    let mut loaded = configuration::load_for(py, name, text)?;
    if let Some(file) = initial {
        configuration::start_from(py, &mut loaded.plan, file)?;
    }
    if let Some(directory) = output {
        loaded.plan.output.directory = directory;
    }
    let directory = loaded.plan.output.directory.clone();
    let outcome = while_python_listens(py, stop, move || {
        run::run(loaded.plan.clone(), &loaded.text, &options)
            .map_err(|error| at_its_line(error, &loaded))
    })?;
    Ok(told(&directory, &outcome).to_string())
}

/// Continues a run; gives how it ended as JSON.
#[pyfunction]
#[pyo3(name = "resume", signature = (directory, stop, *, engine=None, max_walltime=None, quiet=true))]
pub fn resume_directory(
    py: Python<'_>,
    directory: PathBuf,
    stop: &Stop,
    engine: Option<&str>,
    max_walltime: Option<&str>,
    quiet: bool,
) -> PyResult<String> {
    check_alone().map_err(raise)?;
    let options = options(stop, engine, max_walltime, quiet)?;
    let of = directory.clone();
    let outcome = while_python_listens(py, stop, move || Ok(run::resume(&of, &options)?))?;
    Ok(told(&directory, &outcome).to_string())
}

fn options(
    stop: &Stop,
    engine: Option<&str>,
    max_walltime: Option<&str>,
    quiet: bool,
) -> PyResult<RunOptions> {
    Ok(RunOptions {
        engine: configuration::engine(engine)?,
        max_walltime: max_walltime
            .map(parse_walltime)
            .transpose()
            .map_err(PyValueError::new_err)?,
        quiet,
        stop: Some(Arc::clone(&stop.0)),
        ..RunOptions::default()
    })
}

/// Does `work` in a thread of its own, while this one lets Python handle signals. Where a handler raises an exception, the run
/// stops, and the exception is raised after it.
fn while_python_listens(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> miette::Result<Outcome> + Send + 'static,
) -> PyResult<Outcome> {
    log::to_python();
    let (working, ended) = channel();
    // Only what is `Sync` may be lent to a closure that is detached.
    let ended = Mutex::new(ended);
    let work = move || {
        let _ = working.send(work());
    };
    let thread = thread::Builder::new().name("run".to_owned()).stack_size(STACK).spawn(work);
    let thread =
        thread.map_err(|error| raise(miette!("the run's thread cannot be started: {error}")))?;
    let mut raised = None;
    let result = loop {
        match py
            .detach(|| ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE))
        {
            Ok(result) => break Some(result),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            stop.signal(INTERRUPTED);
            raised.get_or_insert(error);
        }
    };
    if let Err(panic) = py.detach(|| thread.join()) {
        resume_unwind(panic);
    }
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Some(result)) => result.map_err(raise),
        (None, None) => Err(Error::new_err("the run ended without a result")),
    }
}

fn told(directory: &std::path::Path, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Finished(summary) => json!({
            "outcome": "finished",
            "path": directory.display().to_string(),
            "step": summary.steps,
            "particles": summary.particles,
            "seconds": summary.seconds,
            "setup_seconds": summary.setup_seconds,
            "was_complete": summary.was_complete,
            "engine": summary.engine,
            "summary": stages(summary),
        }),
        Outcome::Stopped { step, checkpoint, why } => json!({
            "outcome": "stopped",
            "path": directory.display().to_string(),
            "step": step,
            "checkpoint": checkpoint.display().to_string(),
            "why": why.to_string(),
        }),
        Outcome::NotBegun { why } => json!({
            "outcome": "not begun",
            "path": directory.display().to_string(),
            "why": why.to_string(),
        }),
    }
}

/// Means of each stage; of many systems, of those of each temperature.
fn stages(summary: &Summary) -> Vec<Value> {
    let mut stages = Vec::new();
    for stage in 0..summary.systems[0].len() {
        for set in summary.sets() {
            let of = summary.stage(stage, set.systems);
            let mut row = json!({ "name": of.name, "steps": of.steps, "samples": of.samples });
            if let Some(temperature) = set.temperature {
                row["ensemble_temperature"] = temperature.into();
            }
            if of.samples > 0 {
                row["temperature"] = of.temperature().into();
                row["potential_energy"] = of.potential_energy().into();
                row["pressure"] = of.pressure().into();
                row["total_energy"] = of.total_energy().into();
                row["drift"] = of.drift().into();
            }
            stages.push(row);
        }
    }
    stages
}
