//! From what was typed to the plan: checks of numbers and names, and the defaults.
//!
//! Every section is checked by itself as far as possible, so that one reading finds several
//! mistakes; then what the sections say of each other.
mod barostat;
mod box_change;
mod checker;
mod conditions;
mod consistency;
mod correlation;
mod decays;
mod diameter_classes;
mod diameters;
mod ensemble;
mod inherent;
mod isoconfigurational;
mod mean_of;
mod neighbors;
mod origins;
mod own_potential;
mod potential;
mod propensity;
mod run;
mod safeguards;
mod sampling;
mod shear;
mod species_pair;
mod stage;
mod stage_checks;
mod strain;
mod structure;
mod swap;
mod system;
mod thermostat;
mod times;
mod unneeded;

use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use self::checker::Checker;
pub use self::checker::MOST_PROBLEMS;
pub use self::ensemble::MAXIMUM_SYSTEMS;
pub use self::run::{MAXIMUM_THREADS, default_directory};
pub use self::system::MAXIMUM_PARTICLES;
use super::FilledDefault;
use super::document::Document;
use super::edit::Edited;
use super::error::{ConfigError, Problem};
use super::like;
use super::reword::{help_of_syntax, reword, unknown_and_known};
use super::spans::{self, Spans};
use crate::plan::{Plan, SystemPlan};
use crate::potential::PotentialPlan;

/// The plan of a text, and the defaults that went into it.
pub fn plan(edited: &Edited, source_name: &str) -> Result<(Plan, Vec<FilledDefault>), ConfigError> {
    let text = edited.text();
    let wrong = |problems| ConfigError::wrong(edited, source_name, problems);
    let (tree, errors) = DeTable::parse_recoverable(text);
    let spans = Spans::new(tree.get_ref());
    if !errors.is_empty() {
        let mut problems: Vec<Problem> =
            errors.iter().map(|error| problem(text, &spans, error)).collect();
        // The first slip of a line brings others with it.
        problems.dedup_by_key(|problem| spans::line(text, problem.span.start));
        return Err(wrong(problems));
    }
    let mut tree = tree;
    let (taken, problems) = like::take(tree.get_mut(), &spans);
    if !problems.is_empty() {
        return Err(wrong(problems));
    }
    let document = read(tree, |error| problem(text, &spans, error)).map_err(&wrong)?;
    let mut checker = Checker::new(&spans, taken);
    let plan = check(&document, source_name, &mut checker);
    let (problems, defaults) = checker.into_parts();
    match plan {
        Some(plan) if problems.is_empty() => Ok((plan, defaults)),
        _ => Err(wrong(problems)),
    }
}

/// The document, or all keys in it that are unknown and the first other mistake.
fn read(
    mut tree: Spanned<DeTable<'_>>,
    problem: impl Fn(&toml::de::Error) -> Problem,
) -> Result<Document, Vec<Problem>> {
    let mut problems = Vec::new();
    loop {
        let error = match Document::deserialize(Deserializer::from(tree.clone())) {
            Ok(document) if problems.is_empty() => return Ok(document),
            Ok(_) => return Err(problems),
            Err(error) => error,
        };
        if let Some((known, span)) = spelled_otherwise(&error)
            && respell(tree.get_mut(), &span, &known)
        {
            continue;
        }
        // A key that is missing may be the one that was mistyped.
        if problems.is_empty() || !error.message().starts_with("missing field") {
            problems.push(problem(&error));
        }
        let is_unknown = error.message().starts_with("unknown field");
        let span = error.span().filter(|_| is_unknown && problems.len() < MOST_PROBLEMS);
        let help = problems.last().and_then(|problem| problem.help.clone()).unwrap_or_default();
        // What was meant is not missing.
        let meant = help.strip_prefix("did you mean `").and_then(|help| help.strip_suffix("`?"));
        if !span.is_some_and(|span| rename(tree.get_mut(), &span, meant)) {
            return Err(problems);
        }
    }
}

/// The known key or word that differs from an unknown one only in `-` and `_`, and its place.
fn spelled_otherwise(error: &toml::de::Error) -> Option<(String, Range<usize>)> {
    let alike = |a: &str, b: &str| a.replace('-', "_") == b.replace('-', "_");
    let (typed, known) = unknown_and_known(error.message())?;
    let known = known.into_iter().find(|known| alike(known, &typed))?;
    Some((known, error.span()?))
}

/// Gives the key or the string at a place this spelling; whether it was there.
fn respell(table: &mut DeTable<'_>, span: &Range<usize>, known: &str) -> bool {
    fn of_value(value: &mut Spanned<DeValue<'_>>, span: &Range<usize>, known: &str) -> bool {
        let place = value.span();
        match value.get_mut() {
            DeValue::Table(table) => respell(table, span, known),
            DeValue::Array(elements) => {
                let mut found = false;
                for element in elements.iter_mut() {
                    found |= of_value(element, span, known);
                }
                found
            }
            DeValue::String(text) if place == *span => {
                *text = known.to_owned().into();
                true
            }
            _ => false,
        }
    }
    let mut found = rename(table, span, Some(known));
    for (_, value) in table.iter_mut() {
        found |= of_value(value, span, known);
    }
    found
}

/// Gives the key at a place this name where it is free, else removes it, wherever it was taken; whether it was there.
fn rename(table: &mut DeTable<'_>, span: &Range<usize>, meant: Option<&str>) -> bool {
    let found = table.keys().find(|key| key.span() == *span).cloned();
    let value = found.as_ref().and_then(|key| table.remove(&**key.get_ref()));
    let mut removed = value.is_some();
    if let (Some(value), Some(meant)) = (value, meant)
        && !table.contains_key(meant)
    {
        table.insert(Spanned::new(span.clone(), meant.to_owned().into()), value);
    }
    for (_, value) in table.iter_mut() {
        removed |= match value.get_mut() {
            DeValue::Table(inner) => rename(inner, span, meant),
            DeValue::Array(elements) => {
                let mut removed = false;
                for element in elements.iter_mut() {
                    if let DeValue::Table(inner) = element.get_mut() {
                        removed |= rename(inner, span, meant);
                    }
                }
                removed
            }
            _ => false,
        };
    }
    removed
}

fn check(document: &Document, source_name: &str, checker: &mut Checker<'_>) -> Option<Plan> {
    if let Some(sweep) = &document.sweep {
        let help = "supercool run and check take such a file; leave [sweep] out here";
        checker.reject(&sweep.span, "makes several runs, and one is wanted", help);
        return None;
    }
    let ensemble = ensemble::check(document, checker);
    let start = isoconfigurational::start(document, ensemble.as_ref());
    let mut system = system::check(&document.system, start, checker);
    let mut potential = potential::check(&document.potential, &document.system, checker);
    let initial = system.as_ref().map(|system| &system.initial);
    match diameters::check(&document.system, initial, checker) {
        Some(None) => {}
        Some(Some((plan, in_potential))) => {
            system = system.map(|system| SystemPlan { diameters: Some(plan), ..system });
            potential = potential
                .map(|potential| PotentialPlan { diameters: Some(in_potential), ..potential });
        }
        None => system = None,
    }
    let run = run::check(&document.run, checker);
    let checkpoint = run::checkpoint(document.checkpoint.as_ref(), checker);
    let output = run::output(document.output.as_ref(), source_name, checker);
    let integrity = safeguards::integrity(document.integrity.as_ref(), checker);
    let limits = safeguards::limits(document.limits.as_ref(), checker);
    if let (Some(system), Some(potential)) = (&system, &potential) {
        consistency::check_box(system, potential, run.as_ref(), document, checker);
    }
    let (timestep, of_stages) = consistency::timesteps(
        system.as_ref(),
        potential.as_ref(),
        run.as_ref(),
        document,
        checker,
    );
    let timesteps = stage::Timesteps { of_run: timestep, of_stages };
    let stages = stage::check_all(&document.stage, system.as_ref(), &timesteps, checker);
    let plan = Plan {
        system: system?,
        potential: potential?,
        run: run?,
        stages: stages?,
        checkpoint: checkpoint?,
        output: output?,
        integrity: integrity?,
        limits: limits?,
        ensemble: ensemble?,
    };
    consistency::check_plan(&plan, timestep, document, checker);
    inherent::check_plan(&plan, document, checker);
    box_change::check_plan(&plan, document, checker);
    conditions::check_plan(&plan, document, checker);
    barostat::check_plan(&plan, document, checker);
    strain::check_plan(&plan, document, checker);
    shear::check_plan(&plan, document, checker);
    safeguards::check_plan(&plan, document, checker);
    ensemble::check_plan(&plan, document, checker);
    propensity::check_plan(&plan, document, checker);
    diameter_classes::check_plan(&plan, document, checker);
    origins::check_plan(&plan, document, checker);
    Some(plan)
}

/// An error of the parser or the deserializer, with its key.
fn problem(text: &str, spans: &Spans, error: &toml::de::Error) -> Problem {
    let span: Range<usize> = error.span().unwrap_or(0..0);
    let mut key = spans.key_path(&span).to_owned();
    let mut reworded = reword(error.message());
    if error.message() == "duplicate key" {
        // What is given twice is not in the tree twice.
        key = text.get(span.clone()).unwrap_or_default().trim().to_owned();
        reworded.message = "is given twice".to_owned();
        if key == "stage" {
            let help = "stages begin with [[stage]], in two brackets, each before its [[stage.correlation]]";
            reworded.help = Some(help.to_owned());
        }
    }
    let help = reworded.help.or_else(|| help_of_syntax(error.message(), text, &span));
    if let Some(missing) = reworded.missing {
        if !key.is_empty() {
            key.push('.');
        }
        key.push_str(&missing);
    }
    Problem::new(key, span, reworded.message, help)
}
