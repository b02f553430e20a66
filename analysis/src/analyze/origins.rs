//! Relaxation from given time origins (`/aging`): where F_s has fallen to 1/e, and stretched exponentials, for each waiting time.
//!
//! Systems of one run are averaged, and errors made, as those of independent runs are. Files stand by themselves, and whether a stage is in
//! equilibrium is not asked.
use std::path::Path;

use super::groups::{Group, state_points};
use super::runs::{FS, Run, systems_of};
use super::{StatePoint, state_point};
use crate::results::{Aging, ResultsFile};
use crate::{Result, read_consistent};

fn of_relaxation(file: &ResultsFile) -> Result<Vec<Aging>> {
    let mut all = file.aging()?;
    all.retain(|of| of.functions.iter().any(|function| function.name == FS));
    Ok(all)
}

/// Whether a file has an F_s from given time origins.
pub(super) fn are_in(file: &ResultsFile) -> Result<bool> {
    Ok(!of_relaxation(file)?.is_empty())
}

/// What a file gives; nothing where there is no F_s from given time origins.
pub(super) fn points(path: &Path) -> Result<Vec<StatePoint>> {
    read_consistent(path, || {
        if !are_in(&ResultsFile::open_averages(path)?[0])? {
            return Ok(Vec::new());
        }
        let mut waiting_times = Vec::new();
        let mut runs = Vec::new();
        for system in systems_of(path)? {
            let all = of_relaxation(&system)?;
            waiting_times = all.iter().flat_map(|of| of.waiting_time.clone()).collect();
            let functions = all.into_iter().flat_map(|of| of.functions).collect();
            runs.push(Run::of(&system, functions)?);
        }
        let groups = match runs.iter().any(|run| run.any_temperature().is_some()) {
            true => state_points(runs, None)?,
            false => runs.into_iter().map(|run| Group::new(run, Vec::new())).collect(),
        };
        Ok(groups.iter().map(|of| state_point::from_origins(of, &waiting_times)).collect())
    })
}
