//! TOML text to a validated [`crate::plan::Plan`].
//!
//! Two layers. [`document`] is what was typed: one type per table, unknown keys rejected, the place
//! of every value kept, the documentation of every key beside its type; the JSON schema for editors
//! and the key reference are generated from it ([`schema`], [`key_reference`]). `validate` checks
//! every number and name against the rest, fills in the defaults and makes the plan. Errors of both
//! layers are [`Problem`]s: key, line, what is wrong, what would be right; as many as can be found in
//! one reading are reported together.
mod defaults;
pub mod document;
mod edit;
mod error;
mod estimate;
mod like;
mod reference;
mod reword;
mod spans;
mod sweep;
mod validate;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use defaults::{COMPRESSIBILITY, FilledDefault, trial_interval};
use edit::{Edited, Origin};
pub use edit::{Setting, resumed_with};
pub use error::{ConfigError, Problem};
pub use estimate::{Memory, bytes, memory, stage_files};
pub use reference::{key_reference, schema};
pub use sweep::{Runs, Sweep, SweepRun, runs_of, same_run};
use toml::de::DeTable;
pub use validate::{MAXIMUM_PARTICLES, MAXIMUM_SYSTEMS, MAXIMUM_THREADS};

use self::spans::Spans;
use crate::plan::Plan;

/// Longest configuration file that is read, in bytes.
const LARGEST_FILE: u64 = 4 << 20;

/// A configuration file that was read and found right.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub plan: Plan,
    /// The file, with the changes of the command line.
    pub text: String,
    pub path: PathBuf,
    edited: Edited,
    /// Keys that were not written, and the values taken for them.
    pub defaults: Vec<FilledDefault>,
}

impl Loaded {
    fn of(edited: Edited, path: &Path) -> Result<Self, ConfigError> {
        let (plan, defaults) = validate::plan(&edited, &path.display().to_string())?;
        Ok(Loaded { plan, text: edited.text().to_owned(), path: path.to_owned(), edited, defaults })
    }

    /// Says, at its line of the file, that what a key gives has turned out to be wrong.
    pub fn wrong(&self, key: &str, message: String, help: Option<String>) -> ConfigError {
        let (tree, _) = DeTable::parse_recoverable(&self.text);
        let span = Spans::new(tree.get_ref()).place_of(key).unwrap_or(0..0);
        let problem = Problem::new(key, span, message, help);
        ConfigError::wrong(&self.edited, &self.path.display().to_string(), vec![problem])
    }
}

/// Reads and validates a configuration file.
pub fn load(path: &Path) -> Result<Loaded, ConfigError> {
    load_with(path, &[])
}

/// The same with these values in it.
///
/// # Errors
/// Those of the file, and of settings that have no place in it.
pub fn load_with(path: &Path, settings: &[Setting]) -> Result<Loaded, ConfigError> {
    load_text(&read(path)?, path, settings)
}

/// The run or runs of a file. `output` is the directory to take instead of its own.
///
/// # Errors
/// As of [`runs_of`].
pub fn load_runs(
    path: &Path,
    settings: &[Setting],
    output: Option<&Path>,
) -> Result<Runs, ConfigError> {
    runs_of(&read(path)?, path, settings, output)
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |reason| ConfigError::Unreadable { path: path.display().to_string(), reason };
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(unreadable(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("longer than {} MiB: not a configuration file", LARGEST_FILE >> 20),
        )));
    }
    Ok(text)
}

/// The same of a text that has been read.
///
/// # Errors
/// As of [`load_with`].
pub fn load_text(text: &str, path: &Path, settings: &[Setting]) -> Result<Loaded, ConfigError> {
    let source_name = path.display().to_string();
    Loaded::of(with_settings(text, settings, &source_name)?, path)
}

/// Validates the text of a configuration file. `source_name` is its name in error messages, and its
/// stem names the results directory if the text does not.
pub fn parse(text: &str, source_name: &str) -> Result<Plan, ConfigError> {
    validate::plan(&Edited::new(text), source_name).map(|(plan, _)| plan)
}

/// The text with all settings that have a place in it. Where it is not TOML, it is left as it is.
fn with_settings(
    text: &str,
    settings: &[Setting],
    source_name: &str,
) -> Result<Edited, ConfigError> {
    let mut edited = Edited::new(text);
    if !DeTable::parse_recoverable(text).1.is_empty() {
        return Ok(edited);
    }
    let mut problems = Vec::new();
    for setting in settings {
        if let Err(wrong) = setting.apply(&mut edited) {
            let mut problem = Problem::new("", 0..0, wrong.message, Some(wrong.help));
            match setting.origin() {
                Origin::Option(words) => problem.option = Some(words.clone()),
                Origin::File(span) => problem.span = span.clone(),
            }
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        Ok(edited)
    } else {
        Err(ConfigError::wrong(&Edited::new(text), source_name, problems))
    }
}
