//! Files that configurations start from, and what is wrong with them, at its line.
use miette::{Diagnostic, Report};

use crate::config::Loaded;
use crate::initial::{self, InitialError};
use crate::plan::InitialPlan;

/// Reads the file that a run would start from, if it is one.
///
/// # Errors
/// As those of the run.
pub fn check_initial_file(loaded: &Loaded) -> miette::Result<()> {
    if let InitialPlan::File { .. } = loaded.plan.system.initial {
        initial::create(&loaded.plan).map_err(|error| at_its_line(error.into(), loaded))?;
    }
    Ok(())
}

/// The same error, with the line of the configuration where it is one of the initial state.
pub fn at_its_line(report: Report, loaded: &Loaded) -> Report {
    let error = match report.downcast::<InitialError>() {
        Ok(error) => error,
        Err(report) => return report,
    };
    let said = error.to_string();
    let message = said.strip_prefix(&format!("{}: ", error.key())).unwrap_or(&said).to_owned();
    let help = error.help().map(|help| help.to_string());
    loaded.wrong(error.key(), message, help).into()
}
