//! What results files hold, as one HTML page that needs nothing else: text, tables and figures (inline SVG).
mod html;
mod run;
mod stage;

use std::path::Path;

use self::html::page;
use self::stage::Stage;
use crate::plan::stage_steps;
use crate::results::ResultsFile;
use crate::{Result, read_consistent};

/// The page of a results file, of one that is being written too; of the directory of a run that of all its stages, of a sweep
/// that of all its runs.
///
/// # Errors
/// If a file cannot be read, or holds neither a plan nor results.
pub fn report(path: &Path) -> Result<String> {
    match path.is_dir() {
        true => run::report(path),
        false => read_consistent(path, || of_file(path)),
    }
}

fn of_file(path: &Path) -> Result<String> {
    let stage = Stage::read(path)?;
    let title = format!("{}: {}", path.display(), stage.name());
    let body = stage.text()?
        + &stage.picture("h2")
        + &stage.figures("h2")
        + &stage.performance("h2")
        + &stage.configuration()?;
    Ok(page(&title, &body))
}

/// Steps that a stage has taken, and the wall-clock time for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Since the start of the stage.
    pub steps: u64,
    /// In all processes that took part.
    pub seconds: f64,
}

/// How far a stage has come; `None` if the file does not say.
pub fn speed(file: &ResultsFile) -> Option<Speed> {
    let (first, _) = stage_steps(&file.plan()?, &file.parameter("stage")?)?;
    let step = file.number("progress/step")? as u64;
    let seconds = file.number("progress/seconds").filter(|&seconds| seconds > 0.0)?;
    let steps = step.checked_sub(first).filter(|&steps| steps > 0)?;
    Some(Speed { steps, seconds })
}
