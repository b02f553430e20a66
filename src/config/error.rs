use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource};
use thiserror::Error;

use super::edit::{Edited, Place};

/// One thing that is wrong in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Full path of the key, e.g. `stage["cool"].thermostat.rate`; elements of arrays are called by
    /// their name, or by their number from 1 where they have none. Empty if the text is not TOML.
    pub key: String,
    /// The words of the command line that are wrong, if they are not those of the file.
    pub option: Option<String>,
    /// Line of the file, from 1; 0 of an option.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// Bytes of the file.
    pub span: Range<usize>,
}

impl Problem {
    /// With its bytes in an edited text, from where [`ConfigError::wrong`] finds its place.
    pub(super) fn new(
        key: impl Into<String>,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        Problem { key: key.into(), option: None, line: 0, message: message.into(), help, span }
    }

    fn find_place(&mut self, edited: &Edited) {
        if self.option.is_some() {
            return;
        }
        match edited.place(&self.span) {
            Place::Option(words) => (self.option, self.span) = (Some(words), 0..0),
            Place::File { line, span } => (self.line, self.span) = (line, span),
        }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Why a configuration file gives no plan.
#[derive(Debug, Error, Diagnostic)]
pub enum ConfigError {
    #[error("{path}: {reason}")]
    #[diagnostic(help("name a TOML file; `supercool init` writes one to start from"))]
    Unreadable { path: String, reason: std::io::Error },
    #[error("{}", one_per_line(source_code.name(), problems))]
    Wrong {
        #[source_code]
        source_code: Arc<NamedSource<String>>,
        /// In the order of the file; never empty.
        problems: Vec<Problem>,
        #[label(collection)]
        labels: Vec<LabeledSpan>,
        #[help]
        help: Option<String>,
    },
}

impl ConfigError {
    /// What is wrong in the text; empty if it could not be read.
    pub fn problems(&self) -> &[Problem] {
        match self {
            ConfigError::Unreadable { .. } => &[],
            ConfigError::Wrong { problems, .. } => problems,
        }
    }

    /// The bytes of the problems are those of the edited text.
    pub(super) fn wrong(edited: &Edited, source_name: &str, mut problems: Vec<Problem>) -> Self {
        problems.iter_mut().for_each(|problem| problem.find_place(edited));
        ConfigError::at_places(edited.original(), source_name, problems)
    }

    /// The bytes of the problems are those of the file.
    pub(super) fn at_places(original: &str, source_name: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.line, problem.span.start));
        problems.dedup();
        let labels = problems
            .iter()
            .filter(|problem| problem.option.is_none())
            .map(|problem| {
                let label = if problem.key.is_empty() { "here" } else { &problem.key };
                LabeledSpan::at(problem.span.clone(), label)
            })
            .collect();
        let help: Vec<String> = problems
            .iter()
            .filter_map(|problem| {
                let help = problem.help.as_ref()?;
                Some(if problems.len() == 1 {
                    help.clone()
                } else {
                    format!("{}: {help}", problem.key)
                })
            })
            .collect();
        ConfigError::Wrong {
            source_code: Arc::new(
                NamedSource::new(source_name, original.to_owned()).with_language("TOML"),
            ),
            problems,
            labels,
            help: (!help.is_empty()).then(|| help.join("\n")),
        }
    }
}

fn one_per_line(name: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| match &problem.option {
        Some(words) => format!("{words}: {problem}"),
        None => format!("{name}:{}: {problem}", problem.line),
    };
    let lines: Vec<String> = problems.iter().map(line).collect();
    lines.join("\n")
}
