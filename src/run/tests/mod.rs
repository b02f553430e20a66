//! Runs with engines that do what no engine on this machine does: lose a GPU, evaluate correlations.
use super::*;
use crate::engine::Engines;

mod engine_correlations;
mod flipped_bit;
mod lost_gpu;
