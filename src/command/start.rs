//! Files that configurations start from, and what is wrong with them, at its line.
use miette::Diagnostic;

use crate::config::{ConfigError, Loaded};
use crate::initial::{self, InitialError};
use crate::plan::InitialPlan;
use crate::run::RunError;

/// Reads the file that a run would start from, if it is one.
///
/// # Errors
/// As those of the run.
pub fn check_initial_file(loaded: &Loaded) -> miette::Result<()> {
    if let InitialPlan::File { .. } = loaded.plan.system.initial {
        initial::create_all(&mut loaded.plan.clone())
            .map_err(|error| initial_at_its_line(&error, loaded))?;
    }
    Ok(())
}

/// The same error, with the line of the configuration where it is one of the initial state.
pub fn at_its_line(error: RunError, loaded: &Loaded) -> miette::Report {
    match error {
        RunError::Initial(error) => initial_at_its_line(&error, loaded).into(),
        error => error.into(),
    }
}

fn initial_at_its_line(error: &InitialError, loaded: &Loaded) -> ConfigError {
    let help = error.help().map(|help| help.to_string());
    loaded.wrong(error.key(), error.message(), help)
}
