//! `supercool report`: what a results file holds, as a page for a browser.
use std::path::PathBuf;

use miette::IntoDiagnostic;

use super::output::refuse_overwriting;

#[derive(Clone, Debug, clap::Args)]
pub struct ReportArguments {
    /// A results file, also of a stage that is running.
    file: PathBuf,
    /// The page; the name of the file with .html if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// Writes the page; what there is to say.
pub fn report(arguments: &ReportArguments) -> miette::Result<String> {
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => arguments.file.with_extension("html"),
    };
    refuse_overwriting(&output, std::slice::from_ref(&arguments.file))?;
    let page = supercool_analysis::report(&arguments.file).into_diagnostic()?;
    std::fs::write(&output, page)
        .map_err(|error| miette::miette!("{}: cannot be written: {error}", output.display()))?;
    Ok(format!("{}\n", output.display()))
}
