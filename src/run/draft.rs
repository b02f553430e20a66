use std::path::PathBuf;

use super::RunError;
use super::directory::Identity;
use super::stage::StageOutput;
use crate::engine::PendingState;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::output::{Checkpoint, FullDisk, put_state};

/// A checkpoint whose state is still on its way out of the engine.
pub struct Draft {
    pub(super) checkpoint: Checkpoint,
    pub(super) state: PendingState,
    /// Samples that the engine holds for its correlations.
    pub(super) held: Vec<Option<HeldSamples>>,
    pub(super) step: u64,
    pub(super) directory: PathBuf,
    pub(super) identity: Identity,
    pub(super) full_disk: FullDisk,
}

impl Draft {
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Brings the stage's files to the disk, and then the checkpoint, which counts on them.
    pub fn write(self, output: Option<&mut StageOutput>) -> Result<(), RunError> {
        let Draft { mut checkpoint, state, held, step, directory, identity, full_disk } = self;
        let mut output = output;
        if let Some(output) = &mut output {
            output.flush(step)?;
        }
        let state = state.wait().map_err(|error| RunError::of_engine(error, step, &directory))?;
        put_state(&mut checkpoint, &state)?;
        if let Some(output) = output {
            output.save(step, &mut checkpoint, &held)?;
        }
        identity.check()?;
        full_disk.retry_when_full(|| checkpoint.write(&directory, step))?;
        Ok(())
    }
}
