//! Time correlations that a GPU evaluates, against those of the same samples on the host; without a GPU every test
//! says that it does nothing.
mod around;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod densities;
mod files;
mod particles;
mod stress;
mod structure;
