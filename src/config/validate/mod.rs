//! From what was typed to the plan: checks of numbers and names, and the defaults.
//!
//! Every section is checked by itself as far as possible, so that one reading finds several
//! mistakes; then what the sections say of each other.
mod checker;
mod consistency;
mod correlation;
mod ensemble;
mod inherent;
mod isoconfigurational;
mod neighbors;
mod potential;
mod propensity;
mod run;
mod safeguards;
mod sampling;
mod stage;
mod stage_checks;
mod system;
mod thermostat;
mod unneeded;

use serde::Deserialize;
use std::ops::Range;
use toml::de::{DeTable, Deserializer};

use self::checker::Checker;
pub use self::ensemble::MAXIMUM_SYSTEMS;
pub use self::run::MAXIMUM_THREADS;
pub use self::system::MAXIMUM_PARTICLES;
use super::FilledDefault;
use super::document::Document;
use super::error::{ConfigError, Problem};
use super::reword::{help_of_syntax, reword};
use super::spans::{self, Spans};
use crate::plan::Plan;

/// The plan of a text, and the defaults that went into it.
pub fn plan(text: &str, source_name: &str) -> Result<(Plan, Vec<FilledDefault>), ConfigError> {
    let wrong = |problems| ConfigError::wrong(text, source_name, problems);
    let (tree, errors) = DeTable::parse_recoverable(text);
    let spans = Spans::new(tree.get_ref());
    if !errors.is_empty() {
        let mut problems: Vec<Problem> =
            errors.iter().map(|error| problem(text, &spans, error)).collect();
        // The first slip of a line brings others with it.
        problems.dedup_by_key(|problem| problem.line);
        return Err(wrong(problems));
    }
    let document = Document::deserialize(Deserializer::from(tree))
        .map_err(|error| wrong(vec![problem(text, &spans, &error)]))?;
    let mut checker = Checker::new(text, &spans);
    let plan = check(&document, source_name, &mut checker);
    let (problems, defaults) = checker.into_parts();
    match plan {
        Some(plan) if problems.is_empty() => Ok((plan, defaults)),
        _ => Err(wrong(problems)),
    }
}

fn check(document: &Document, source_name: &str, checker: &mut Checker<'_>) -> Option<Plan> {
    let ensemble = ensemble::check(document, checker);
    let start = isoconfigurational::start(document, ensemble.as_ref());
    let system = system::check(&document.system, start, checker);
    let potential = potential::check(&document.potential, &document.system, checker);
    let run = run::check(&document.run, checker);
    let checkpoint = run::checkpoint(document.checkpoint.as_ref(), checker);
    let output = run::output(document.output.as_ref(), source_name, checker);
    let integrity = safeguards::integrity(document.integrity.as_ref(), checker);
    let limits = safeguards::limits(document.limits.as_ref(), checker);
    if let (Some(system), Some(potential)) = (&system, &potential) {
        consistency::check_box(system, potential, run.as_ref(), document, checker);
    }
    let timestep =
        consistency::timestep(system.as_ref(), potential.as_ref(), run.as_ref(), document, checker);
    let stages = stage::check_all(&document.stage, system.as_ref(), timestep, checker);
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
    safeguards::check_plan(&plan, document, checker);
    ensemble::check_plan(&plan, document, checker);
    propensity::check_plan(&plan, document, checker);
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
    Problem { key, line: spans::line(text, span.start), message: reworded.message, help, span }
}
