//! Configurations: files, texts, and tables that Python made.
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supercool::config::{self, Loaded};
use supercool::plan::{EngineChoice, InitialPlan, Plan};

use crate::error::{Error, raise};

/// The configuration in the file `name`, or in `text`, which messages then call by this name and results by its stem.
///
/// # Errors
/// With all that is wrong in it.
pub fn load(name: PathBuf, text: Option<String>) -> miette::Result<Loaded> {
    Ok(match text {
        None => config::load(&name)?,
        Some(text) => config::load_text(&text, &name, &[])?,
    })
}

/// The same for Python.
pub fn load_for(py: Python<'_>, name: PathBuf, text: Option<String>) -> PyResult<Loaded> {
    py.detach(|| load(name, text)).map_err(raise)
}

/// Lets a plan start from the one frame of a file. Velocities are drawn where the file has none, and for many systems, at the
/// temperature of the plan's own initial state.
///
/// # Errors
/// If the file cannot be read, or the ensemble has configurations of its own.
pub fn start_from(py: Python<'_>, plan: &mut Plan, path: PathBuf) -> PyResult<()> {
    if plan.ensemble.as_ref().is_some_and(|ensemble| !ensemble.configurations.is_empty()) {
        return Err(PyValueError::new_err(
            "initial: an isoconfigurational ensemble starts from its ensemble.configurations",
        ));
    }
    let has_velocities = py
        .detach(|| Ok(supercool_analysis::open(&path)?.read_step(None)?.velocity.is_some()))
        .map_err(|error: supercool_analysis::AnalysisError| Error::new_err(error.to_string()))?;
    let temperature = match plan.system.initial {
        InitialPlan::Lattice { temperature, .. } => Some(temperature),
        InitialPlan::File { temperature, .. } => temperature,
    };
    let temperature = temperature.filter(|_| !has_velocities || plan.ensemble.is_some());
    plan.system.initial =
        InitialPlan::File { path, step: None, temperature, system: None, of: None };
    Ok(())
}

/// A table, given as JSON, as TOML.
#[pyfunction]
pub fn toml_of(json: &str) -> PyResult<String> {
    let table: serde_json::Value = serde_json::from_str(json)
        .map_err(|error| Error::new_err(format!("the configuration: {error}")))?;
    toml::to_string(&table).map_err(|error| {
        Error::new_err(format!(
            "the configuration cannot be written as TOML: {error}\nhelp: tables, lists, texts, numbers, True and False can; a key \
             that is not given is left out, not None"
        ))
    })
}

/// An engine by the word of `run.engine`.
pub fn engine(word: Option<&str>) -> PyResult<Option<EngineChoice>> {
    match word {
        None => Ok(None),
        Some("auto") => Ok(Some(EngineChoice::Auto)),
        Some("cpu") => Ok(Some(EngineChoice::Cpu)),
        Some("cuda") => Ok(Some(EngineChoice::Cuda)),
        Some(word) => Err(PyValueError::new_err(format!(
            "engine = {word:?}: there is \"auto\", \"cpu\" and \"cuda\""
        ))),
    }
}
