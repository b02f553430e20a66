use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::RunError;
use crate::output::checkpoints_in;
use crate::plan::Plan;

/// The output directory of a run, locked against a second one for as long as this lives.
pub struct OutputDirectory {
    path: PathBuf,
    _lock: File,
}

const LOCK: &str = ".supercool.lock";

impl OutputDirectory {
    /// Makes the directory; refuses one with files of an earlier run, or with `force` removes them.
    pub fn create(plan: &Plan, force: bool) -> Result<Self, RunError> {
        let path = &plan.output.directory;
        fs::create_dir_all(path).map_err(|source| RunError::Directory {
            path: path.clone(),
            what: "made",
            source,
        })?;
        let directory = Self::open(path)?;
        let occupants = directory.occupants(plan)?;
        if let Some(example) = occupants.first()
            && !force
        {
            let example = example.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(RunError::Occupied { path: path.clone(), example });
        }
        for occupant in occupants {
            fs::remove_file(&occupant).map_err(|source| RunError::Directory {
                path: occupant,
                what: "removed",
                source,
            })?;
        }
        Ok(directory)
    }

    /// An existing directory.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let error =
            |what| move |source| RunError::Directory { path: path.to_owned(), what, source };
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(error("written to"))?;
        match lock.try_lock() {
            Ok(()) => Ok(OutputDirectory { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(RunError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(error("locked")(source)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files that a run of this plan would write and that are there already.
    fn occupants(&self, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
        let mut found: Vec<PathBuf> = checkpoints_in(&self.path)
            .map(|checkpoints| checkpoints.into_iter().map(|(_, path)| path).collect())
            .unwrap_or_default();
        for stage in &plan.stages {
            for extension in ["h5", "h5md", "inherent.h5md", "gsd"] {
                let path = self.path.join(format!("{}.{extension}", stage.name));
                if path.symlink_metadata().is_ok() {
                    found.push(path);
                }
            }
        }
        Ok(found)
    }
}
