//! Writers of frames that were read from other files: for `supercool convert`.
mod gsd;
mod h5md;
mod lammps;
mod lammps_data;
mod lammps_dump;
mod text;
mod xyz;

use std::fs;
use std::path::{Path, PathBuf};

use supercool_analysis::Frame;
use supercool_analysis::trajectory::Format;

use super::OutputError;
use super::durable::{partial_path, publish};
pub use lammps::Types;
pub use lammps_data::masses_of_species;

/// Name of the program in files that it has converted; those of runs are of `supercool`, which goes on with them.
const CREATOR: &str = "convert of supercool";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What all frames of a file have in common.
#[derive(Clone, Debug)]
pub struct Series {
    /// Names of the species in all frames.
    pub species_names: Vec<String>,
    /// Types of LAMMPS for them.
    pub types: Types,
    /// Whether positions are unwrapped; frames have no images then.
    pub unwrapped: bool,
    /// Whether the steps only count frames.
    pub counts_frames: bool,
    /// Whether boxes may have a tilt of x along y.
    pub tilted: bool,
    /// Name of the units.
    pub units: Option<String>,
    /// What changes from frame to frame.
    pub changes: Changes,
    /// Name of the author, which H5MD demands.
    pub author: String,
}

/// Which numbers of particles change from frame to frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub species: bool,
    pub id: bool,
    pub mass: bool,
    pub diameter: bool,
}

/// Writes one format. Frames have the species of the series, in its order.
trait FrameWriter {
    fn append(&mut self, frame: &Frame) -> Result<(), OutputError>;

    /// Hands what is left to the operating system.
    fn finish(&mut self) -> Result<(), OutputError>;
}

/// A file of frames, which has its name when it is complete. Until then it is beside it, as `NAME.partial`.
pub struct FramesFile {
    path: PathBuf,
    partial: PathBuf,
    /// `None` when it is complete.
    writer: Option<Box<dyn FrameWriter>>,
}

impl FramesFile {
    /// A file for frames like the first one. Takes the place of an existing file when it is complete.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(
        path: &Path,
        format: Format,
        series: Series,
        first: &Frame,
    ) -> Result<Self, OutputError> {
        let partial = partial_path(path);
        let stale = fs::remove_file(&partial);
        if let Err(error) = stale
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(OutputError::io(&partial, "remove", error));
        }
        let writer: Box<dyn FrameWriter> = match format {
            Format::Hdf5 => Box::new(h5md::H5mdFrames::create(&partial, series, first)?),
            Format::Gsd => Box::new(gsd::GsdFrames::create(&partial, series)?),
            Format::Xyz => Box::new(xyz::XyzFrames::create(&partial, series)?),
            Format::LammpsDump => Box::new(lammps_dump::DumpFrames::create(&partial, series)?),
            Format::LammpsData => Box::new(lammps_data::DataFrames::create(&partial, series)?),
        };
        Ok(FramesFile { path: path.to_owned(), partial, writer: Some(writer) })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, frame: &Frame) -> Result<(), OutputError> {
        self.writer.as_mut().expect("it is not complete").append(frame)
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let mut writer = self.writer.take().expect("it is not complete");
        let written = writer.finish().and_then(|()| {
            drop(writer);
            publish(&self.partial, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&self.partial);
        }
        written
    }
}

impl Drop for FramesFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.partial);
        }
    }
}
