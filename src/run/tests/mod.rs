//! Runs with engines that do what no engine on this machine does: lose a GPU, evaluate correlations.
use super::*;

mod engine_correlations;
mod flipped_bit;
mod lost_gpu;
