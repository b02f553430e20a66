use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource};
use thiserror::Error;

/// One thing that is wrong in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Full path of the key, e.g. `stage["cool"].thermostat.rate`; elements of arrays are called by
    /// their name, or by their number from 1 where they have none. Empty if the text is not TOML.
    pub key: String,
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// Bytes of the text.
    pub span: Range<usize>,
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

    pub(super) fn wrong(text: &str, source_name: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.line, problem.span.start));
        problems.dedup();
        let labels = problems
            .iter()
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
                NamedSource::new(source_name, text.to_owned()).with_language("TOML"),
            ),
            problems,
            labels,
            help: (!help.is_empty()).then(|| help.join("\n")),
        }
    }
}

fn one_per_line(name: &str, problems: &[Problem]) -> String {
    let lines: Vec<String> =
        problems.iter().map(|problem| format!("{name}:{}: {problem}", problem.line)).collect();
    lines.join("\n")
}
