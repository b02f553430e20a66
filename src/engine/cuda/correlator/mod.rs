//! Time correlations on the GPU: samples that launches leave behind, blocks of them, and sums over particles of their
//! pairs.
//!
//! A launch of many steps stores a sample of all particles in a slot at every step at which one is due. Where a launch takes
//! the steps of many systems, a slot holds a sample of each, and what is due of all of them is evaluated together. Blocks hold
//! slots; which pairs are due is decided by the same scheme as on the CPU
//! ([`BlockingScheme`](crate::observable::dynamics::blocking::BlockingScheme)). When enough samples lie there, the
//! next launch begins; the host finds their pairs while it runs, and has them evaluated after it, in the stream of the
//! steps. Only sums leave the GPU. Where correlations need the stress, a launch sums it up at the steps at which it is
//! due, and a few numbers of each leave the GPU.
mod centers;
mod densities;
mod intervals;
mod needs;
mod neighborhoods;
mod origins;
mod pairs;
mod particles;
mod program;
mod rounds;
mod sampling;
mod slots;
mod stress;
mod structure;

pub use self::centers::program as centers_program;
pub use self::densities::program as density_program;
pub use self::neighborhoods::program as neighborhoods_program;
pub use self::pairs::program;
pub use self::sampling::{DueSamples, Sampling};
pub use self::structure::program as structure_program;
