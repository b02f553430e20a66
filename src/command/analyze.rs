//! `supercool analyze`.
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, WrapErr};
use supercool_analysis::analyze::results_files;
use supercool_analysis::plot_analysis;

use super::output::{refuse_overwriting, refuse_same};

/// Files whose plans differ in the seed only, or set the same temperature or energy, are averaged as independent runs.
#[derive(Clone, Debug, clap::Args)]
pub struct AnalyzeArguments {
    /// Results files; of the directory of a run or a sweep, all *.h5 with a mean-square displacement, F_s, velocity autocorrelation or
    /// viscosity.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Group runs by their measured mean temperatures, which agree within this fraction, such as 0.03; without it their plans
    /// decide.
    #[arg(long, value_name = "FRACTION")]
    same_temperature: Option<f64>,
    /// Write the table as JSON, with the files of each temperature.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the table as comma-separated values.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write mean, error and scatter over runs of every point, as comma-separated values.
    #[arg(long, value_name = "FILE")]
    averages: Option<PathBuf>,
    /// Draw the averages with the fitted curves, and D and tau over 1/T, .svg, .pdf or .png.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// The table.
pub fn analyze(arguments: &AnalyzeArguments) -> miette::Result<String> {
    let files = results_files(&arguments.files).into_diagnostic()?;
    let outputs = [&arguments.json, &arguments.csv, &arguments.averages, &arguments.plot];
    refuse_same(outputs.into_iter().flatten())?;
    for output in outputs.into_iter().flatten() {
        refuse_overwriting(output, &files)?;
    }
    let analysis =
        supercool_analysis::analyze(&files, arguments.same_temperature).into_diagnostic()?;
    let write = |path: &Option<PathBuf>, text: &dyn Fn() -> String| match path {
        Some(path) => write_file(path, &text()),
        None => Ok(()),
    };
    write(&arguments.json, &|| analysis.json())?;
    write(&arguments.csv, &|| analysis.csv())?;
    write(&arguments.averages, &|| analysis.averages_csv())?;
    if let Some(figure) = &arguments.plot {
        plot_analysis(&analysis, figure).into_diagnostic()?;
    }
    Ok(analysis.text())
}

fn write_file(path: &Path, text: &str) -> miette::Result<()> {
    std::fs::write(path, text).into_diagnostic().wrap_err_with(|| path.display().to_string())
}
