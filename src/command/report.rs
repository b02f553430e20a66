//! `supercool report`: what results files hold, as a page for a browser.
use std::path::{Path, PathBuf};

use miette::IntoDiagnostic;

use super::output::refuse_overwriting;

#[derive(Clone, Debug, clap::Args)]
pub struct ReportArguments {
    /// A results file, also of a stage that is running; the directory of a run, for all its stages, or of a sweep, for all its runs.
    file: PathBuf,
    /// The page; NAME.html for NAME.h5, NAME.h5md.html for NAME.h5md, DIRECTORY/report.html for DIRECTORY if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// Writes the page; what there is to say.
pub fn report(arguments: &ReportArguments) -> miette::Result<String> {
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => page_of(&arguments.file),
    };
    refuse_overwriting(&output, std::slice::from_ref(&arguments.file))?;
    let page = supercool_analysis::report(&arguments.file).into_diagnostic()?;
    std::fs::write(&output, page)
        .map_err(|error| miette::miette!("{}: cannot be written: {error}", output.display()))?;
    Ok(format!("{}\n", output.display()))
}

/// A stage's results and trajectories differ in their endings only, so all but the results keep theirs.
fn page_of(file: &Path) -> PathBuf {
    if file.is_dir() {
        return file.join("report.html");
    }
    match file.extension() {
        Some(ending) if ending != "h5" => {
            let mut name = file.as_os_str().to_owned();
            name.push(".html");
            name.into()
        }
        _ => file.with_extension("html"),
    }
}
