//! Reads, averages, fits and plots results and trajectories of molecular dynamics.
//!
//! Knows files and numbers, nothing of engines. Reduced units, those of the file.
//!
//! - [`trajectory`]: frames of H5MD, GSD, extended XYZ, LAMMPS dump and data files behind one trait.
//! - [`results`]: thermodynamics, time correlations and structure of a results file.
//! - [`correlation`], [`structure`]: plain evaluation over stored frames, the independent check of
//!   what a simulation computes while it runs.
//! - [`statistics`], [`fit`]: means with errors; diffusion coefficient, relaxation time, their dependence
//!   on temperature.
//! - [`mod@analyze`]: averages over runs and all fits, as tables.
//! - [`export`]: propensities as extended XYZ, and data sets for learning.
//! - [`mod@plot`], [`mod@info`], [`mod@report`]: what a file holds, as a figure, as text and as a page.
#![warn(missing_docs)]

pub mod analyze;
pub mod correlation;
pub mod directories;
pub mod drift;
mod error;
mod exchange;
pub mod export;
pub mod fit;
pub mod flow;
mod format;
mod global_heap;
mod hdf5_file;
pub mod info;
mod numbers;
pub mod oscillation;
mod overview;
pub mod plan;
pub mod plot;
mod ratio;
mod read_consistent;
mod readable;
pub mod report;
pub mod response;
pub mod results;
pub mod slow;
pub mod structure;
pub mod trajectory;

pub use analyze::{Analysis, analyze};
pub use error::{AnalysisError, Result, cut_off};
pub use exchange::Exchanges;
pub use info::info;
pub use numbers::{significant, with_error};
pub use plot::{FigureOptions, Quantity, plot, plot_analysis};
pub use read_consistent::read_consistent;
pub use readable::check_readable;
pub use report::report;
pub use supercool_observables as observables;
pub use supercool_statistics as statistics;
pub use trajectory::{Frame, TrajectoryReader, open, open_as, open_system};
