//! Results files of directories: of a run, or of a sweep with a directory for each run.
use std::path::{Path, PathBuf};

use crate::{AnalysisError, Result};

/// The files `*.h5` in a directory; where there are none, those in the directories in it. In the order of their names.
///
/// # Errors
/// If the directory cannot be read.
pub fn h5_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let files = h5_here(directory)?;
    if !files.is_empty() {
        return Ok(files);
    }
    let mut all = Vec::new();
    for inner in entries(directory)?.into_iter().filter(|path| path.is_dir()) {
        all.extend(h5_here(&inner)?);
    }
    Ok(all)
}

/// The files that are named, and in the place of directories those of [`h5_in`].
///
/// # Errors
/// If a directory holds none.
pub fn with_directories(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let files = h5_in(path)?;
        if files.is_empty() {
            return Err(AnalysisError::content(path, "no results file *.h5 here"));
        }
        all.extend(files);
    }
    Ok(all)
}

fn h5_here(directory: &Path) -> Result<Vec<PathBuf>> {
    let is_results = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "h5");
    Ok(entries(directory)?.into_iter().filter(|path| is_results(path) && path.is_file()).collect())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(AnalysisError::io(directory))? {
        all.push(entry.map_err(AnalysisError::io(directory))?.path());
    }
    all.sort();
    Ok(all)
}
