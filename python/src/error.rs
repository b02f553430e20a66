//! Errors of supercool as exceptions.
use miette::Diagnostic;
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyException};
use supercool::config;

create_exception!(
    supercool,
    Error,
    PyException,
    "What supercool cannot do, with what to do about it."
);
create_exception!(
    supercool,
    ConfigError,
    Error,
    "What is wrong in a configuration: `problems` is a list of (key, line, message, help)."
);

/// The exception of an error, as the command would print it: what is wrong, why, and what would be right.
pub fn raise(report: miette::Report) -> PyErr {
    let text = text_of(report.as_ref());
    match report.downcast_ref::<config::ConfigError>() {
        Some(error) => of_configuration(text, error),
        None => Error::new_err(text),
    }
}

fn of_configuration(text: String, error: &config::ConfigError) -> PyErr {
    let exception = ConfigError::new_err(text);
    let problems: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| {
            let config::Problem { key, line, message, help, .. } = problem;
            (key.clone(), *line, message.clone(), help.clone())
        })
        .collect();
    let set = Python::attach(|py| exception.value(py).setattr("problems", problems));
    set.err().unwrap_or(exception)
}

fn text_of(error: &dyn Diagnostic) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!("\nbecause: {error}");
        source = error.source();
    }
    if let Some(help) = error.help() {
        text += &format!("\nhelp: {help}");
    }
    text
}
