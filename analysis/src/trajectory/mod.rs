//! Frames of trajectories, ours and others'.
//!
//! [`open`] looks at the first bytes, not at the name. Readers hold the file's table of contents and
//! read one frame at a time. Sizes that a file claims are compared with its length before memory is
//! taken, so that a damaged file gives a message.
mod frame;
mod gsd;
mod h5md;
mod lammps_dump;
mod text;
mod xyz;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use frame::Frame;
pub use gsd::GsdReader;
pub use h5md::H5mdReader;
pub use lammps_dump::LammpsDumpReader;
pub use xyz::XyzReader;

use crate::{AnalysisError, Result};

/// A file of frames.
pub trait TrajectoryReader: Send {
    /// The file.
    fn path(&self) -> &Path;

    /// Name of the format, for messages.
    fn format(&self) -> &'static str;

    /// Step of every frame, in the order of the file. Formats without steps count frames from 0.
    fn steps(&self) -> &[u64];

    /// Frame `index`, counted from 0.
    fn read(&self, index: usize) -> Result<Frame>;

    /// Number of frames.
    fn len(&self) -> usize {
        self.steps().len()
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
        let steps = self.steps();
        let Some(last) = steps.len().checked_sub(1) else {
            return Err(AnalysisError::content(self.path(), "holds no frames"));
        };
        let index = match step {
            None => last,
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
            })?,
        };
        self.read(index)
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

/// Formats told apart by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Hdf5,
    Gsd,
    LammpsDump,
    Xyz,
}

/// Opens a trajectory: H5MD, GSD, (extended) XYZ or LAMMPS text dump.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn TrajectoryReader>> {
    let path = path.as_ref();
    Ok(match format_of(path)? {
        Format::Hdf5 => Box::new(H5mdReader::open(path)?),
        Format::Gsd => Box::new(GsdReader::open(path)?),
        Format::LammpsDump => Box::new(LammpsDumpReader::open(path)?),
        Format::Xyz => Box::new(XyzReader::open(path)?),
    })
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Hdf5 => "an HDF5 file",
            Format::Gsd => "a GSD file",
            Format::LammpsDump => "a LAMMPS dump",
            Format::Xyz => "an XYZ file",
        }
    }
}

const UNKNOWN: &str = "is of no known format";

/// The format of a file that [`open`] reads.
pub(crate) fn format_of(path: &Path) -> Result<Format> {
    look_at(path)?.map_err(|what| {
        let known = match what {
            UNKNOWN => "; read are H5MD (HDF5), GSD, XYZ with a box, and LAMMPS text dumps",
            _ => "",
        };
        AnalysisError::content(path, format!("{what}{known}"))
    })
}

/// Refuses what is not HDF5, and says what it is.
pub(crate) fn check_is_hdf5(path: &Path) -> Result<()> {
    let what = match look_at(path)? {
        Ok(Format::Hdf5) => return Ok(()),
        Ok(other) => format!("is {}", other.name()),
        Err(what) => what.to_owned(),
    };
    Err(AnalysisError::content(path, format!("{what}; a results file (STAGE.h5) is wanted")))
}

/// The format of a file, or what it is instead.
fn look_at(path: &Path) -> Result<std::result::Result<Format, &'static str>> {
    let mut start = Vec::new();
    if path.is_dir() {
        return Ok(Err("is a folder, not a file"));
    }
    File::open(path)
        .and_then(|file| file.take(4096).read_to_end(&mut start))
        .map_err(AnalysisError::io(path))?;
    // The HDF5 superblock stands at 0, 512, 1024, ...
    let hdf5 = [0, 512, 1024, 2048]
        .iter()
        .any(|&at| start.get(at..).is_some_and(|rest| rest.starts_with(b"\x89HDF\r\n\x1a\n")));
    if hdf5 {
        return Ok(Ok(Format::Hdf5));
    }
    if start.starts_with(&gsd::MAGIC.to_le_bytes()) {
        return Ok(Ok(Format::Gsd));
    }
    let first_line = start.split(|&byte| byte == b'\n').next().unwrap_or(&[]);
    if first_line.starts_with(b"ITEM:") {
        return Ok(Ok(Format::LammpsDump));
    }
    let is_count = std::str::from_utf8(first_line).is_ok_and(|text| {
        !text.trim().is_empty() && text.trim().bytes().all(|b| b.is_ascii_digit())
    });
    if is_count {
        return Ok(Ok(Format::Xyz));
    }
    let what = if start.is_empty() {
        "is empty"
    } else if start.starts_with(b"\x1f\x8b") || start.starts_with(b"\x28\xb5\x2f\xfd") {
        "is compressed: unpack it first"
    } else if start.starts_with(b"\x89SCP\r\n\x1a\n") {
        "is a checkpoint of supercool"
    } else {
        UNKNOWN
    };
    Ok(Err(what))
}
