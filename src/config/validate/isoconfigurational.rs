//! `[ensemble]` of kind "isoconfigurational".
use std::path::PathBuf;

use super::checker::Checker;
use super::ensemble::MAXIMUM_SYSTEMS;
use crate::config::document::{Document, Ensemble, Initial, Table};
use crate::initial::systems_in;
use crate::plan::{ConfigurationPlan, EnsembleKind, EnsemblePlan, InitialPlan};

const EXAMPLE: &str = "configurations = \"equilibrated/*.h5md\", for example";

/// What the systems of a document start from.
pub enum Start<'a> {
    /// What `system.initial` says.
    OwnState,
    /// The configurations of an ensemble, of which this is the first; `None` where there is none, which is reported.
    Configurations(Option<&'a ConfigurationPlan>),
}

/// What the systems start from, after the ensemble was checked.
pub fn start<'a>(document: &Document, ensemble: Option<&'a Option<EnsemblePlan>>) -> Start<'a> {
    let kind = document.ensemble.as_ref().map(|table| table.kind.value);
    if kind != Some(EnsembleKind::Isoconfigurational) {
        return Start::OwnState;
    }
    let ensemble = ensemble.and_then(Option::as_ref);
    Start::Configurations(ensemble.and_then(|ensemble| ensemble.configurations.first()))
}

/// Keys that belong to this kind alone, and those that belong to others.
pub fn check_keys(table: &Table<Ensemble>, checker: &mut Checker<'_>) {
    let of_this = [
        table.configurations.as_ref().map(|typed| &typed.span),
        table.runs.as_ref().map(|typed| &typed.span),
    ];
    let of_others = [
        table.systems.as_ref().map(|typed| &typed.span),
        table.temperatures.as_ref().map(|typed| &typed.span),
        table.exchange_every.as_ref().map(|typed| &typed.span),
    ];
    let is_this = table.kind.value == EnsembleKind::Isoconfigurational;
    let (keys, message, help) = match is_this {
        true => (
            &of_others[..],
            "belongs to other ensembles, not to \"isoconfigurational\"",
            "leave it out: configurations and runs say which systems there are",
        ),
        false => (
            &of_this[..],
            "belongs to the ensemble \"isoconfigurational\"",
            "leave it out, or give kind = \"isoconfigurational\"",
        ),
    };
    for &span in keys.iter().flatten() {
        checker.reject(span, message, help);
    }
}

pub fn check(
    table: &Table<Ensemble>,
    document: &Document,
    checker: &mut Checker<'_>,
) -> Option<EnsemblePlan> {
    let runs = match &table.runs {
        Some(runs) => checker.integer(runs, 2..=MAXIMUM_SYSTEMS),
        None => {
            let help = "runs from each configuration: runs = 32, for example";
            checker.missing(&table.span, "runs", help);
            None
        }
    };
    let configurations = configurations(table, checker);
    let initial = &document.system.initial;
    let own_states = [
        initial.lattice.as_ref().map(|typed| &typed.span),
        initial.file.as_ref().map(|typed| &typed.span),
        initial.step.as_ref().map(|typed| &typed.span),
        initial.system.as_ref().map(|typed| &typed.span),
    ];
    for span in own_states.into_iter().flatten() {
        let message = "the systems start from ensemble.configurations";
        checker.reject(span, message, "leave it out: initial = { temperature = 0.5 }");
    }
    Some(EnsemblePlan {
        kind: EnsembleKind::Isoconfigurational,
        samples: runs? as usize,
        temperatures: Vec::new(),
        exchange_every: None,
        temperature_of: Vec::new(),
        configurations: configurations?,
        keys_behind_file: Vec::new(),
    })
}

/// What the first of the systems starts from; that of others follows.
pub fn initial(
    document: &Table<Initial>,
    first: Option<&ConfigurationPlan>,
    checker: &mut Checker<'_>,
) -> Option<InitialPlan> {
    let Some(temperature) = &document.temperature else {
        let help = "of the velocities that each run draws: temperature = 0.5, for example";
        checker.missing(&document.span, "temperature", help);
        return None;
    };
    let temperature = checker.temperature(temperature)?;
    let ConfigurationPlan { path, system } = first?.clone();
    Some(InitialPlan::File { path, step: None, temperature: Some(temperature), system, of: None })
}

/// The systems of all files, in the order of the patterns and of the files' names.
fn configurations(
    table: &Table<Ensemble>,
    checker: &mut Checker<'_>,
) -> Option<Vec<ConfigurationPlan>> {
    let Some(typed) = &table.configurations else {
        checker.missing(&table.span, "configurations", EXAMPLE);
        return None;
    };
    let mut found = Vec::new();
    for pattern in &typed.value.0 {
        match files(pattern) {
            Ok(files) => found.extend(files),
            Err(problem) => {
                let help = "paths are relative to the current directory; * stands for any letters of a name";
                checker.reject(&typed.span, problem, help);
                return None;
            }
        }
    }
    if found.is_empty() {
        checker.reject(&typed.span, "names no files", EXAMPLE);
        return None;
    }
    let mut all = Vec::new();
    for (index, path) in found.iter().enumerate() {
        if found[..index].contains(path) {
            let message = format!("{} is named twice", path.display());
            checker.reject(&typed.span, message, "name each file once");
            return None;
        }
        let systems = match systems_in(path) {
            Ok(systems) => systems,
            Err(problem) => {
                let help = "an H5MD, GSD or extended XYZ file, a LAMMPS data file or dump, or a checkpoint";
                checker.reject(&typed.span, problem.message(), help);
                return None;
            }
        };
        let system = |number| (systems > 1).then_some(number);
        let of_file = (0..systems).map(system);
        all.extend(of_file.map(|system| ConfigurationPlan { path: path.clone(), system }));
    }
    Some(all)
}

/// Those that a pattern stands for, sorted.
fn files(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let wrong = |why: String| format!("{pattern:?} cannot be looked for: {why}");
    let paths = glob::glob(pattern).map_err(|error| wrong(error.to_string()))?;
    let mut files = Vec::new();
    for path in paths {
        let path = path.map_err(|error| wrong(error.to_string()))?;
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(format!("no file matches {pattern:?}")),
        false => Ok(files),
    }
}
