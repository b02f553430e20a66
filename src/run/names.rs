//! Names that several parts of a run share.

/// Value of a checkpoint: the run that it is of.
pub const RUN: &str = "run";

/// What is added to the names of damaged files.
pub const DAMAGED: &str = ".damaged";
