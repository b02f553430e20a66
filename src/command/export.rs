//! `supercool export`: propensities in a format that other programs read.
use std::path::PathBuf;

use miette::{IntoDiagnostic, miette};

use super::output::refuse_overwriting;

#[derive(Clone, Debug, clap::Args)]
pub struct ExportArguments {
    /// A results file with propensities, also of a stage that is running.
    file: PathBuf,
    /// Time of the propensities, within half a step; the last if not given.
    #[arg(short, long)]
    time: Option<f64>,
    /// The extended XYZ file; NAME.propensity.xyz for NAME.h5 if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// Writes the file; what there is to say.
pub fn export(arguments: &ExportArguments) -> miette::Result<String> {
    let ExportArguments { file, time, output } = arguments;
    if let Some(time) = time
        && !(*time > 0.0 && time.is_finite())
    {
        return Err(miette!("--time {time}: must be a positive number"));
    }
    let output = output.clone().unwrap_or_else(|| file.with_extension("propensity.xyz"));
    refuse_overwriting(&output, std::slice::from_ref(file))?;
    supercool_analysis::export_propensities(file, *time, &output).into_diagnostic()?;
    Ok(format!("{}\n", output.display()))
}
