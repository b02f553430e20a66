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
mod error;
mod estimate;
mod reference;
mod reword;
mod spans;
mod validate;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use defaults::FilledDefault;
pub use error::{ConfigError, Problem};
pub use estimate::{Memory, bytes, memory, stage_files};
pub use reference::{key_reference, schema};
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
    /// The file, as it was.
    pub text: String,
    pub path: PathBuf,
    /// Keys that were not written, and the values taken for them.
    pub defaults: Vec<FilledDefault>,
}

impl Loaded {
    /// Says, at its line of the file, that what a key gives has turned out to be wrong.
    pub fn wrong(&self, key: &str, message: String, help: Option<String>) -> ConfigError {
        let (tree, _) = DeTable::parse_recoverable(&self.text);
        let span = Spans::new(tree.get_ref()).place_of(key).unwrap_or(0..0);
        let line = spans::line(&self.text, span.start);
        let problem = Problem { key: key.to_owned(), line, message, help, span };
        ConfigError::wrong(&self.text, &self.path.display().to_string(), vec![problem])
    }
}

/// Reads and validates a configuration file.
pub fn load(path: &Path) -> Result<Loaded, ConfigError> {
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
    let (plan, defaults) = validate::plan(&text, &path.display().to_string())?;
    Ok(Loaded { plan, text, path: path.to_owned(), defaults })
}

/// Validates the text of a configuration file. `source_name` is its name in error messages, and its
/// stem names the results directory if the text does not.
pub fn parse(text: &str, source_name: &str) -> Result<Plan, ConfigError> {
    validate::plan(text, source_name).map(|(plan, _)| plan)
}
