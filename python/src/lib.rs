//! `supercool._native`: what the Python package is made of in Rust. Python code in `python/supercool` gives it its shape:
//! arrays, classes, defaults. Texts and numbers go between the two, and nested results as JSON.
mod configuration;
mod convert;
mod correlate;
mod course;
mod device_array;
mod error;
mod evaluate;
mod log;
mod run;
mod samples;
mod simulation;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use supercool::command::plot::PlotArguments;
use supercool::command::{self, init};
use supercool_analysis::Quantity;
use supercool_analysis::analyze::{Average, AverageCurve, StatePoint};
use supercool_analysis::observables::Scale;

use crate::error::{ConfigError, Error, raise};

/// The command, with its words after `supercool`. Gives the exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    let words = std::iter::once(OsString::from("supercool")).chain(words);
    let code = py.detach(|| {
        command::main_with(words).unwrap_or_else(|report| {
            // As Rust prints what a program's `main` fails with.
            eprintln!("Error: {report:?}");
            ExitCode::FAILURE
        })
    });
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}

/// Name and text of each configuration to start from.
#[pyfunction]
fn presets(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let presets = PyDict::new(py);
    for preset in init::PRESETS {
        presets.set_item(preset.name, preset.text)?;
    }
    Ok(presets)
}

/// Fits of results files as JSON: that of `supercool analyze --json`; and averages over the runs of each state point, with NaN as null.
#[pyfunction]
#[pyo3(signature = (files, same_temperature=None))]
fn analyze(
    py: Python<'_>,
    files: Vec<PathBuf>,
    same_temperature: Option<f64>,
) -> PyResult<(String, String)> {
    py.detach(|| {
        let files = supercool_analysis::analyze::results_files(&files)?;
        let analysis = supercool_analysis::analyze(&files, same_temperature)?;
        Ok((analysis.json(), averages(&analysis).to_string()))
    })
    .map_err(|error: supercool_analysis::AnalysisError| Error::new_err(error.to_string()))
}

fn averages(analysis: &supercool_analysis::Analysis) -> serde_json::Value {
    let of_point = |point: &StatePoint| -> serde_json::Value {
        let of_average = |average: &Average| {
            let curve = |curve: &AverageCurve| {
                json!({
                    "wavenumber": curve.wavenumber,
                    "value": curve.mean,
                    "error": curve.error,
                    "scatter": curve.scatter,
                    "runs": curve.runs,
                })
            };
            json!({
                "name": format!("{}/{}", average.species, average.name),
                "time": average.time,
                "curves": average.curves.iter().map(curve).collect::<Vec<_>>(),
            })
        };
        point.averages.iter().map(of_average).collect()
    };
    analysis.state_points.iter().map(of_point).collect()
}

/// What `supercool check` prints.
#[pyfunction]
fn check(py: Python<'_>, name: PathBuf, text: Option<String>) -> PyResult<String> {
    log::to_python();
    py.detach(|| command::check::check(&configuration::load(name, text)?)).map_err(raise)
}

/// Draws a figure, as the command does with these words behind `plot`. Wrong words are a ValueError.
#[pyfunction]
fn plot(py: Python<'_>, words: Vec<OsString>) -> PyResult<()> {
    let arguments = PlotArguments::of_words(&words).map_err(PyValueError::new_err)?;
    py.detach(|| command::plot::plot(&arguments)).map_err(raise)?;
    Ok(())
}

/// Whether the figure of a quantity of a results file has a logarithmic vertical axis.
#[pyfunction]
fn has_logarithmic_axis(name: &str) -> bool {
    let quantity = name.parse::<Quantity>().ok();
    let figure = quantity.and_then(|quantity| quantity.descriptor().figure);
    figure.is_some_and(|figure| figure.scale == Scale::Logarithmic)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<Error>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add_class::<run::Stop>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<device_array::DeviceArray>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(analyze, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(plot, module)?)?;
    module.add_function(wrap_pyfunction!(has_logarithmic_axis, module)?)?;
    module.add_function(wrap_pyfunction!(configuration::toml_of, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(correlate::correlate, module)?)?;
    module.add_function(wrap_pyfunction!(correlate::trajectory, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::json_of, module)?)?;
    module.add_function(wrap_pyfunction!(run::run_configuration, module)?)?;
    module.add_function(wrap_pyfunction!(run::resume_directory, module)?)
}
