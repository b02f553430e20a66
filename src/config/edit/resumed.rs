//! What may be changed of a run that goes on.
use std::path::Path;

use super::{Origin, Setting};
use crate::config::error::{ConfigError, Problem};
use crate::config::{Edited, load_text};
use crate::plan::Plan;

/// Keys without an effect on numbers, by their beginnings.
const CHANGEABLE: [&str; 5] =
    ["limits", "checkpoint.minutes", "output.flush_seconds", "output.on_full_disk", "run.threads"];

/// Plan and text of a run that goes on with other values.
///
/// # Errors
/// If one of them would change results: a run that goes on has the bits of one that never stopped.
pub fn resumed_with(
    mut plan: Plan,
    text: String,
    settings: &[Setting],
) -> Result<(Plan, String), ConfigError> {
    if settings.is_empty() {
        return Ok((plan, text));
    }
    let name = "the run's configuration";
    let problems: Vec<Problem> = settings.iter().filter_map(refused).collect();
    if !problems.is_empty() {
        return Err(ConfigError::wrong(&Edited::new(&text), name, problems));
    }
    let loaded = load_text(&text, Path::new(name), settings)?;
    plan.limits = loaded.plan.limits;
    plan.checkpoint = loaded.plan.checkpoint;
    plan.output.flush_seconds = loaded.plan.output.flush_seconds;
    plan.output.on_full_disk = loaded.plan.output.on_full_disk;
    plan.run.threads = loaded.plan.run.threads;
    Ok((plan, loaded.text))
}

impl Setting {
    /// Whether a run that goes on may have it.
    pub fn fits_a_resumed_run(&self) -> bool {
        let key = self.key();
        let is_within = |beginning: &str| {
            key.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        CHANGEABLE.iter().any(|beginning| is_within(beginning))
    }
}

fn refused(setting: &Setting) -> Option<Problem> {
    if setting.fits_a_resumed_run() {
        return None;
    }
    let message = "cannot be changed: a run that goes on has the bits of one that never stopped";
    let help = format!(
        "resume takes {}; for the rest begin a new run from the last checkpoint, by system.initial.file",
        CHANGEABLE.join(", ")
    );
    let mut problem = Problem::new(setting.key(), 0..0, message, Some(help));
    if let Origin::Option(words) = setting.origin() {
        problem.option = Some(words.clone());
    }
    Some(problem)
}
