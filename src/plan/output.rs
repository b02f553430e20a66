//! Files of a run, and its checks of the hardware.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputPlan {
    pub directory: PathBuf,
    /// Longest time between writes to the results files, in seconds.
    #[serde(default = "default_flush_seconds")]
    pub flush_seconds: f64,
    #[serde(default)]
    pub on_full_disk: OnFullDisk,
}

impl Default for OutputPlan {
    fn default() -> Self {
        OutputPlan {
            directory: PathBuf::new(),
            flush_seconds: FLUSH_SECONDS,
            on_full_disk: OnFullDisk::Stop,
        }
    }
}

/// Longest time between writes to the results files by default.
pub const FLUSH_SECONDS: f64 = 5.0;

fn default_flush_seconds() -> f64 {
    FLUSH_SECONDS
}

/// What a run does when the disk (or the quota) is full.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OnFullDisk {
    /// It ends with an error.
    #[default]
    Stop,
    /// It waits for room.
    Wait,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointPlan {
    /// Wall-clock minutes between checkpoints; they are also written at every stage's end.
    pub minutes: f64,
}

/// Steps that are computed twice, against silent errors of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrityPlan {
    /// Interval of the repetitions, in steps of the stage.
    pub recheck: u64,
    /// Steps that are repeated.
    pub segment: u64,
}
