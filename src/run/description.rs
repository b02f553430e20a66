//! Who runs, on what, and with which choices: what files say of a run besides its plan.
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::engine::{EngineReport, Ensemble};
use crate::output::RunDescription;
use crate::plan::Plan;

/// What a run's files say of the machine.
pub struct Provenance {
    author: &'static str,
    hardware: Value,
    tuning: Value,
}

impl Provenance {
    pub fn of(ensemble: &dyn Ensemble) -> Self {
        let EngineReport { hardware, execution, .. } = ensemble.report();
        // The precision stands in the files by itself.
        Provenance { author: author(), hardware: json!(hardware), tuning: json!(execution) }
    }

    /// Of what is evaluated on a file of another run.
    pub fn of_trajectory(path: &Path, format: &str, frames: usize) -> Self {
        let trajectory = path.display().to_string();
        let tuning = json!({ "trajectory": trajectory, "format": format, "frames": frames });
        Provenance { author: author(), hardware: json!({}), tuning }
    }

    pub fn describe<'a>(
        &'a self,
        plan: &'a Plan,
        toml_text: &'a str,
        stage: &'a str,
        run: &'a str,
    ) -> RunDescription<'a> {
        RunDescription {
            toml_text,
            plan,
            stage,
            run,
            version: env!("CARGO_PKG_VERSION"),
            author: self.author,
            hardware: &self.hardware,
            tuning: &self.tuning,
        }
    }
}

/// The name that git knows, else that of the account; H5MD demands one. Git is asked once.
pub(crate) fn author() -> &'static str {
    static AUTHOR: OnceLock<String> = OnceLock::new();
    AUTHOR.get_or_init(|| {
        let variable = |name: &str| std::env::var(name).ok();
        [of_git(), variable("USER"), variable("LOGNAME")]
            .into_iter()
            .flatten()
            .map(|name| name.replace('\0', "").trim().to_owned())
            .find(|name| !name.is_empty())
            .unwrap_or_else(|| "unknown".to_owned())
    })
}

fn of_git() -> Option<String> {
    let output = Command::new("git")
        .args(["config", "--get", "user.name"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
