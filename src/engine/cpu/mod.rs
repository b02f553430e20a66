//! The CPU engine: the default without a GPU, and the oracle for its kernels.
//!
//! Particles lie in memory along a Hilbert curve through the cells, in chunks that are the grain of
//! parallel work; each chunk owns its particles and their full Verlet lists. A step is two parallel
//! passes: kick, drift and displacement check; then (after a rebuild of the lists where a particle has
//! moved by half the skin from the site that its list was made around) forces and the second kick. No sum
//! depends on the number of threads.
mod bodies;
mod called;
mod chunk;
mod engine;
mod expected_sites;
mod export;
mod faults;
mod force_field;
mod force_term;
mod forces;
mod gather;
mod instruction_set;
mod kernels;
mod migration;
mod minimize;
mod neighbor_lists;
mod neighbors;
mod piston;
mod processor;
mod rank;
mod shear;
mod single_rank;
mod state;
mod stepper;
mod sums;
mod swaps;
mod thermostats;
mod tilted;
mod volumes;

pub use self::engine::CpuEngine;
pub use self::minimize::CpuMinimizer;
pub use self::processor::{Processor, instruction_set, processor};
pub use self::rank::{create_on_rank, threads_of_rank};
pub use self::swaps::take_trials;
