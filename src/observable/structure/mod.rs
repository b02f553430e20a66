//! Static structure of single configurations, averaged over samples.
mod averages;
mod bond_harmonics;
pub mod bond_orientational_order;
pub mod local_order;
pub mod pair_distribution;
pub mod structure_factor;

pub use averages::Structure;
pub use bond_orientational_order::{BondOrder, BondOrientationalOrder};
pub use local_order::{CrystallinityAndDemixing, LocalOrder};
