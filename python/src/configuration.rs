//! Configurations: files, texts, and tables that Python made.
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supercool::config::{self, Loaded};
use supercool::plan::EngineChoice;

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
