//! Files of a run. A stage that observes anything writes
//!
//! - `STAGE.h5` ([`ResultsWriter`]): H5MD 1.1 with thermodynamics, time correlations, structure;
//! - `STAGE.h5md` ([`TrajectoryWriter`]): the trajectory in the layout that MDAnalysis opens bare;
//! - `STAGE.inherent.h5md`, on request: inherent structures, in the same layout;
//! - `STAGE.gsd` ([`GsdWriter`], on request): for OVITO, HOOMD-blue, freud and others.
//!
//! Each holds what reproduces the run ([`RunDescription`]). [`Checkpoint`] files hold the exact
//! state and are separate.
//!
//! The HDF5 files are closed between writes: [`ResultsWriter::flush`] opens the file in SWMR mode
//! (single writer, many readers), appends, and closes it. So any reader can open the file of a
//! running simulation at nearly any time, a reader that opened it with `swmr=True` can follow it
//! through, and a killed process leaves a file that opens, except when it was killed within a
//! write: then it opens with `swmr=True`, and `reopen` repairs it. The cost is a few milliseconds
//! for each flush, so rows and frames are collected in memory in between.
//!
//! Order within a file: `value` grows first, then `time`, `step` last. A row whose `step` is there
//! is complete.
mod checkpoint;
mod classes;
mod description;
mod disk_space;
mod durable;
mod error;
mod exchanges;
mod fixed_part;
mod frames;
mod gsd;
mod h5md;
mod hdf5_file;
mod particles;
mod propensity;
mod results;
mod scalars;
mod series;
mod state;
mod strain;
mod systems;
mod thermodynamics;
mod trajectory;

pub use checkpoint::{
    Checkpoint, Found, RefusedCheckpoint, checkpoint_path, checkpoints_in, latest_valid,
};
pub use description::RunDescription;
pub use disk_space::FullDisk;
pub use durable::is_named;
pub(crate) use durable::{partial_path, publish_bytes};
pub use error::OutputError;
pub use frames::{Changes, FramesFile, Series, Types, masses_of_species};
pub use gsd::GsdWriter;
pub use hdf5_file::check_hdf5;
pub use propensity::PropensityLayout;
pub use results::{ResultsWriter, Rows, StageLayout};
pub use scalars::{ScalarRow, Scalars};
pub use series::{Axis, OfSystems, SeriesLayout, SeriesValues};
pub use state::{put_state, state_from_checkpoint};
pub use strain::StrainLayout;
pub use thermodynamics::ThermodynamicsRow;
pub use trajectory::TrajectoryWriter;
