//! What a page says of several results files: the stages of a run, or the runs of a sweep.
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::html::{block, details, page, table, text, without_prologue};
use super::stage::Stage;
use crate::analyze::{SetState, analyze, results_files};
use crate::directories::h5_in;
use crate::numbers::with_error;
use crate::plan::stage_steps;
use crate::plot::{svg_of, svg_of_analysis};
use crate::{AnalysisError, FigureOptions, Result, read_consistent};

/// Means in the table of stages.
const MEANS: [(&str, &str); 3] =
    [("temperature", "T"), ("potential_energy", "U/N"), ("pressure", "P")];

/// The page of all results files in a directory.
pub(super) fn report(directory: &Path) -> Result<String> {
    let files = h5_in(directory)?;
    if files.is_empty() {
        return Err(AnalysisError::content(directory, "no results file *.h5 here"));
    }
    // Those of one run lie here; those of a sweep in directories of their own.
    let is_run = files.iter().all(|file| file.parent() == Some(directory));
    let mut stages = Vec::new();
    for file in files {
        let row = read_consistent(&file, || row(&file))?;
        stages.push((row, file));
    }
    stages.sort_by_key(|(row, _)| if is_run { row.first } else { 0 });
    let files: Vec<PathBuf> = stages.iter().map(|(_, file)| file.clone()).collect();
    let mut body = format!("<h2>{}</h2>\n", if is_run { "Stages" } else { "Runs" });
    let head = ["", "steps", "set"].into_iter().chain(MEANS.map(|(_, symbol)| symbol));
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).collect()];
    for (row, file) in &stages {
        let inner = file.strip_prefix(directory).unwrap_or(file).with_extension("");
        rows.push([vec![inner.display().to_string()], row.cells.clone()].concat());
    }
    body += &table(&rows);
    body += &fits(directory)?;
    match is_run {
        true => {
            for file in &files {
                body += &read_consistent(file, || section(file))?;
            }
            if let Some(last) = files.last() {
                body += &read_consistent(last, || Stage::read(last)?.configuration())?;
            }
        }
        false => {
            let overlaid = svg_of(&files, &[], &FigureOptions::default())?;
            if let Ok(svg) = overlaid {
                let _ = writeln!(body, "<h2>All runs</h2>\n{}", without_prologue(&svg));
            }
        }
    }
    Ok(page(&directory.display().to_string(), &body))
}

/// A line of the table.
struct Row {
    /// First step of the stage.
    first: u64,
    cells: Vec<String>,
}

fn row(path: &Path) -> Result<Row> {
    let stage = Stage::read(path)?;
    let (file, name) = (stage.file(), stage.name());
    let plan = file.plan().unwrap_or_default();
    let (first, planned) = stage_steps(&plan, &name).unwrap_or_default();
    let done = file.number("progress/step").map(|step| (step as u64).saturating_sub(first));
    let steps = match done {
        Some(done) if done < planned => format!("{done} of {planned}"),
        _ => planned.to_string(),
    };
    let set = SetState::of(&plan, &name);
    let is_ramp = set.as_ref().is_some_and(SetState::is_ramp);
    let mut cells = vec![steps, set.map_or(String::new(), |set| set.text())];
    for (wanted, _) in MEANS {
        let mut series = stage.overviews[0].series.iter();
        // Over a ramp there are no means.
        let series = series.find(|each| each.name == wanted && !is_ramp);
        cells.push(series.map_or(String::new(), |each| {
            let (value, error) = with_error(each.mean.value, each.mean.error);
            format!("{value} +- {error}")
        }));
    }
    Ok(Row { first, cells })
}

/// What `analyze` finds in the directory, and its figure; why, where it finds nothing.
fn fits(directory: &Path) -> Result<String> {
    let directories = [directory.to_owned()];
    let found = results_files(&directories).and_then(|files| analyze(&files, None));
    let mut all = String::from("<h2>Fits</h2>\n");
    match found {
        Ok(analysis) => {
            all += &block(&analysis.text());
            if let Some(svg) = svg_of_analysis(&analysis) {
                let _ = writeln!(all, "{}", without_prologue(&svg));
            }
        }
        Err(error) => {
            let _ = writeln!(all, "<p>{}</p>", text(&error.to_string()));
        }
    }
    Ok(all)
}

/// A stage of a run.
fn section(path: &Path) -> Result<String> {
    let stage = Stage::read(path)?;
    let mut all = format!("<h2>Stage {}</h2>\n", text(&stage.name()));
    all += &stage.picture("h3");
    all += &stage.figures("h3");
    all += &details("In numbers", &(stage.text()? + &stage.performance("h3")));
    Ok(all)
}
