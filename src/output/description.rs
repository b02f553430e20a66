use serde_json::Value;

use crate::plan::Plan;

/// What every file says of its run, enough to repeat it.
#[derive(Clone, Copy, Debug)]
pub struct RunDescription<'a> {
    /// The TOML file as the user wrote it.
    pub toml_text: &'a str,
    /// The same with every default filled in.
    pub plan: &'a Plan,
    /// Name of the stage that the file belongs to.
    pub stage: &'a str,
    /// Name of the run, which its checkpoints have, too.
    pub run: &'a str,
    /// Version of supercool.
    pub version: &'a str,
    /// Who ran it (`h5md/author`).
    pub author: &'a str,
    /// Processor or GPU, threads, ranks.
    pub hardware: &'a Value,
    /// Choices made by timing at start: skin, sort interval, kernel variant.
    pub tuning: &'a Value,
}

impl RunDescription<'_> {
    /// The plan as JSON text.
    pub(super) fn plan_json(&self) -> String {
        serde_json::to_string_pretty(self.plan).expect("a plan is plain data")
    }
}
