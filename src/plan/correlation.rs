//! Time correlations and what they need.
use serde::{Deserialize, Serialize};

use super::{DiameterClassesPlan, DynamicObservable};
use crate::observable::dynamics::blocking::Blocks;

/// One blocking scheme (Colberg & Hoefling 2011, section 2.5) and what is correlated in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelationPlan {
    /// Finest interval between samples, in steps.
    pub every: u64,
    /// Samples in a block.
    pub block_size: usize,
    pub levels: usize,
    /// The interval grows by this factor from level to level, a divisor of the size of a block; by the size if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_ratio: Option<usize>,
    /// Wave numbers wanted of functions of q; the nearest shells that the box holds are taken.
    pub wavenumbers: Vec<f64>,
    /// Largest number of wave vectors in a shell.
    pub vectors_per_shell: usize,
    /// Length a of the overlap functions.
    pub overlap_length: f64,
    /// Positions and velocities relative to the centre of mass of all particles.
    pub remove_drift: bool,
    /// Distance of neighbors at the time origin, for cage-relative displacements.
    pub cage_radius: Option<f64>,
    /// Where bonds are broken, for bond breaking.
    pub bonds: Option<BondPlan>,
    /// Bins of the van Hove functions.
    pub van_hove: VanHovePlan,
    /// Species (by index) that averages over single species and pairs are made for.
    pub species: Vec<usize>,
    /// In place of the species: classes of particles by diameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter_classes: Option<DiameterClassesPlan>,
    pub observables: Vec<DynamicObservable>,
    /// Time origins, in steps since the start of the stage, ascending: functions are those from each of them. Empty: averages over all
    /// samples as origins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<u64>,
}

impl CorrelationPlan {
    /// Samples that are held at most.
    pub fn samples_held(&self) -> usize {
        match self.origins.len() {
            0 => self.block_size * self.levels,
            origins => origins + 1,
        }
    }

    pub fn blocks(&self) -> Blocks {
        let (size, levels) = (self.block_size, self.levels);
        Blocks { size, levels, ratio: self.level_ratio.unwrap_or(size) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BondPlan {
    /// Bonds lead to particles closer than this at the time origin.
    pub radius: f64,
    /// They are broken when the particles are this far apart.
    pub breaking_radius: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VanHovePlan {
    /// Largest displacement.
    pub maximum_distance: f64,
    pub bin_width: f64,
}
