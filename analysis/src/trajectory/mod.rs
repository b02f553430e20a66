//! Frames of trajectories, ours and others'.
//!
//! [`open`] looks at the first bytes, not at the name. Readers hold the file's table of contents and
//! read one frame at a time. Sizes that a file claims are compared with its length before memory is
//! taken, so that a damaged file gives a message.
mod frame;
mod gsd;
mod h5md;
mod lammps_data;
mod lammps_dump;
mod text;
mod xyz;

use std::path::Path;

pub use frame::Frame;
pub use gsd::GsdReader;
pub use h5md::H5mdReader;
pub use lammps_data::{LammpsDataReader, sphere_volume};
pub use lammps_dump::LammpsDumpReader;
pub use xyz::XyzReader;

pub use crate::format::Format;
use crate::format::format_of;
use crate::{AnalysisError, Result};

/// A file of frames.
pub trait TrajectoryReader: Send {
    /// The file.
    fn path(&self) -> &Path;

    /// Name of the format, for messages.
    fn format(&self) -> &'static str;

    /// Step of every frame, in the order of the file. Formats without steps count frames from 0.
    fn steps(&self) -> &[u64];

    /// Whether frames were counted, as the file does not say their steps.
    fn counts_frames(&self) -> bool {
        false
    }

    /// Whether programs that write this format keep particles in one order in all frames, also where they write no
    /// ids.
    fn keeps_order(&self) -> bool {
        true
    }

    /// Name of the system of units, if the file has one. All quantities are handed on in the file's units.
    fn units(&self) -> Option<&str> {
        None
    }

    /// Names of what the file holds besides, which no frame has.
    ///
    /// # Errors
    /// If the file must be read for it, and cannot be.
    fn passed_over(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Systems that the file holds, of which one is read.
    fn systems(&self) -> usize {
        1
    }

    /// Frame `index`, counted from 0, in a box without a tilt.
    ///
    /// # Errors
    /// Also if the box has a tilt: [`read_tilted`](Self::read_tilted) is for those who know of it.
    fn read(&self, index: usize) -> Result<Frame> {
        let frame = self.read_tilted(index)?;
        if frame.tilt == 0.0 {
            return Ok(frame);
        }
        let what =
            format!("step {}: triclinic box; only orthogonal boxes are read here", frame.step);
        Err(AnalysisError::content(self.path(), what))
    }

    /// Frame `index`, counted from 0, in a box that may have a tilt of x along y.
    fn read_tilted(&self, index: usize) -> Result<Frame>;

    /// Whether the box has a tilt in some frame: all are read, unless the file says it of itself.
    ///
    /// # Errors
    /// If a frame cannot be read.
    fn may_tilt(&self) -> Result<bool> {
        for index in 0..self.len() {
            if self.read_tilted(index)?.tilt != 0.0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Number of frames.
    fn len(&self) -> usize {
        self.steps().len()
    }

    /// Whether `m v^2` is an energy and `v` a length over a time in the units of the file, as in reduced units. In those
    /// of LAMMPS for molecules and metals there are factors between them.
    fn units_are_coherent(&self) -> bool {
        !matches!(self.units(), Some("real" | "metal" | "electron"))
    }

    /// True of a file without frames.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frame of a step, or the last frame.
    ///
    /// # Errors
    /// If there is no such frame, with the range of those there are.
    fn read_step(&self, step: Option<u64>) -> Result<Frame> {
        self.read(self.index_of(step)?)
    }

    /// The same in a box that may have a tilt of x along y.
    ///
    /// # Errors
    /// If there is no such frame.
    fn read_step_tilted(&self, step: Option<u64>) -> Result<Frame> {
        self.read_tilted(self.index_of(step)?)
    }

    /// Place of the frame of a step, or of the last frame.
    ///
    /// # Errors
    /// If there is no such frame, with the range of those there are.
    fn index_of(&self, step: Option<u64>) -> Result<usize> {
        let steps = self.steps();
        let Some(last) = steps.len().checked_sub(1) else {
            return Err(AnalysisError::content(self.path(), "holds no frames"));
        };
        match step {
            None => Ok(last),
            Some(step) => steps.iter().position(|&each| each == step).ok_or_else(|| {
                let nearest = steps.iter().min_by_key(|&&each| each.abs_diff(step)).unwrap_or(&0);
                AnalysisError::content(
                    self.path(),
                    format!(
                        "no frame of step {step}; {} frames, steps {} to {}, nearest {nearest}",
                        steps.len(),
                        steps[0],
                        steps[last]
                    ),
                )
            }),
        }
    }

    /// Error for an index past the end.
    #[doc(hidden)]
    fn check_index(&self, index: usize) -> Result<()> {
        if index < self.len() {
            return Ok(());
        }
        let what = format!("no frame {index}; there are {}", self.len());
        Err(AnalysisError::content(self.path(), what))
    }
}

/// Opens the trajectory of one of many systems, counted from 0.
///
/// # Errors
/// If the file does not hold it; only H5MD files of supercool hold many.
pub fn open_system(path: impl AsRef<Path>, system: usize) -> Result<Box<dyn TrajectoryReader>> {
    let path = path.as_ref();
    let reader = open(path)?;
    let systems = reader.systems();
    if systems == 1 {
        return Err(AnalysisError::content(path, "holds one system, which has no number"));
    }
    if system >= systems {
        let what =
            format!("holds {systems} systems, 0 to {}, and none of number {system}", systems - 1);
        return Err(AnalysisError::content(path, what));
    }
    Ok(Box::new(H5mdReader::open_group(path, &format!("system-{system}"))?))
}

/// Opens a trajectory: of many systems the first one. H5MD, GSD, (extended) XYZ, LAMMPS text dump or data file.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn TrajectoryReader>> {
    let path = path.as_ref();
    open_as(path, format_of(path)?)
}

/// Opens a trajectory of this format, whatever the file's first bytes are.
///
/// # Errors
/// If it is of another format.
pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Box<dyn TrajectoryReader>> {
    let path = path.as_ref();
    Ok(match format {
        Format::Hdf5 => Box::new(H5mdReader::open(path)?),
        Format::Gsd => Box::new(GsdReader::open(path)?),
        Format::LammpsData => Box::new(LammpsDataReader::open(path)?),
        Format::LammpsDump => Box::new(LammpsDumpReader::open(path)?),
        Format::Xyz => Box::new(XyzReader::open(path)?),
    })
}
