use std::path::PathBuf;

use super::RunError;
use super::directory::Identity;
use super::stage::{StageOutput, part_of_system};
use crate::engine::PendingState;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::output::{Checkpoint, FullDisk, put_state};

/// A checkpoint whose states are still on their way out of the engine.
pub struct Draft {
    pub(super) checkpoint: Checkpoint,
    /// Of each system.
    pub(super) states: Vec<PendingState>,
    /// Whether there are many systems, or one that is an ensemble of one.
    pub(super) is_ensemble: bool,
    /// Samples that the engines hold for their correlations, by system.
    pub(super) held: Vec<Vec<Option<HeldSamples>>>,
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
        let Draft {
            mut checkpoint,
            states,
            is_ensemble,
            held,
            step,
            directory,
            identity,
            full_disk,
        } = self;
        let mut output = output;
        if let Some(output) = &mut output {
            output.flush(step)?;
        }
        for (system, state) in states.into_iter().enumerate() {
            let state =
                state.wait().map_err(|error| RunError::of_engine(error, step, &directory))?;
            if is_ensemble {
                let mut part = Checkpoint::new();
                put_state(&mut part, &state)?;
                checkpoint.put_part(&part_of_system(system), part);
            } else {
                put_state(&mut checkpoint, &state)?;
            }
        }
        if let Some(output) = output {
            output.save(step, &mut checkpoint, &held)?;
        }
        identity.check()?;
        full_disk.retry_when_full(|| checkpoint.write(&directory, step))?;
        Ok(())
    }
}
