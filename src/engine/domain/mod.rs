//! Domain decomposition: one system on several ranks, each of which holds the particles of its part of the box.
//!
//! The method is that of Glaser et al., Comput. Phys. Commun. 192, 97 (2015), sections 4 and 5. A rank holds the
//! particles of its domain and, as *ghosts*, those of its neighbors within cutoff and skin of it. When neighbor
//! lists are rebuilt, particles that have left a domain *migrate* to its neighbors and ghosts are chosen anew; every
//! other step brings only the positions of ghosts, from all neighbors at once, while forces of particles without
//! ghosts near them are summed. Lists are full: each rank sums all forces on its own particles, and none travel. A
//! pair's force has the same bits seen from both of its particles, so that in fixed point, where the order of sums
//! does not matter, the trajectory is that of one rank to the bit.
//!
//! Lists are made around the sites at which particles are expected in the middle of the lists' life, and so are the domains' particles
//! and ghosts chosen: a particle belongs to the domain in which it is expected, wherever it is. Its own rank finds that out, and all
//! agree.
//!
//! Inside a step nobody waits for more than its neighbors. Displacements, errors and heat are compared every few
//! steps ([`schedule`]); only thermostats that act on the total kinetic energy combine it in each step.
//!
//! An engine that implements [`RankEngine`] becomes one of ranks: it takes and hands over particles as [`Part`]s, keeps
//! those of others in its memory as it likes, and asks its [`Domain`] who owns what, which ghosts go where and what all
//! agree on.
//!
//! Rank 0 ([`Ranks`], [`DomainEngine`]) holds the run: it gives orders to the others, collects their particles and is the
//! only one to write. Above it nothing knows of ranks. The others [`serve`].
mod communicator;
mod create;
mod decomposition;
mod engine;
mod grid;
#[cfg(feature = "mpi")]
mod mpi;
mod part;
mod rank_engine;
mod ranks;
mod schedule;
mod volumes;

pub use self::communicator::{Communicator, GpuMessage, Message, Threads};
pub(super) use self::decomposition::Domain;
pub use self::engine::DomainEngine;
pub use self::grid::DomainGrid;
#[cfg(feature = "mpi")]
pub use self::mpi::{Mpi, library as mpi_library};
pub use self::part::Part;
pub use self::rank_engine::{RankEngine, Start};
pub(super) use self::ranks::Order;
pub use self::ranks::{Ranks, on_threads, serve};
pub(super) use self::schedule::LONGEST;
