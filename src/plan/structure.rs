//! Averages over single states: structure, order, minima.
use serde::{Deserialize, Serialize};

use super::DiameterClassesPlan;

/// Pair distribution g_ab(r) and partial structure factors S_ab(q), averaged over samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StructurePlan {
    pub every: u64,
    /// Largest distance of g_ab(r), at most half the shortest edge.
    pub maximum_distance: f64,
    pub bin_width: f64,
    /// Largest wave number of S_ab(q).
    pub maximum_wavenumber: f64,
    /// Largest number of wave vectors in a shell.
    pub vectors_per_shell: usize,
    /// In place of the species: classes of particles by diameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter_classes: Option<DiameterClassesPlan>,
}

/// Six-fold bond-orientational order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BondOrderPlan {
    pub every: u64,
    /// Bonds lead to particles closer than this.
    pub radius: f64,
}

/// Crystallinity and demixing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalOrderPlan {
    pub every: u64,
    /// Neighbors are particles closer than this.
    pub radius: f64,
}

/// Minima of the potential energy below the states of a run, by FIRE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InherentStructuresPlan {
    pub every: u64,
    /// Largest force on a particle in a minimum.
    pub force_tolerance: f64,
    pub maximum_iterations: u64,
    /// First time step of the descent.
    pub timestep: f64,
}
