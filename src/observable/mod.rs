//! What is measured: static structure and time correlations, as sums that any engine can feed.
//!
//! An engine hands over a [`Snapshot`](crate::system::Snapshot) whenever `is_due` says so; nothing here
//! touches files or devices. An engine that samples by itself takes over what the `hand_over` of an observable
//! describes ([`dynamics::evaluation`]) and gives back sums instead; in `fixed-point` [`portable`] makes those of the same bits of
//! snapshots, where no engine does. There samples have 32 bits for every number ([`dynamics::sampled`]), and sums are made in 32-bit floats over fixed chunks of particles,
//! in 64-bit floats beyond. A term of one particle is off by some 1e-7 of its size, a cosine by 2e-7; a particle whose
//! distance is a radius or the edge of a bin to 1e-7 may count on either side. The stress is that of the engine's
//! thermodynamics, to the bit; mean displacements of cages are rounded to 2^-33 of the edge, bonds to 1e-6.
//!
//! - [`dynamics`]: time correlations in the blocking scheme of Colberg & Hoefling 2011, section 2.5
//!   ([`Correlations`]). One file per observable, each a [`Correlation`].
//! - [`structure`]: pair distributions and partial structure factors ([`Structure`]), six-fold
//!   order ([`BondOrientationalOrder`]), and alarms for crystals and demixing ([`LocalOrder`]).
//! - [`hessian`]: energies of particles, and second derivatives of the potential energy.
//! - [`configurational_temperature`]: the temperature that forces and second derivatives tell.
//! - [`diameter_classes`]: particles divided by diameter, for averages as over species.
//! - [`wavevectors`]: shells of lattice vectors; [`accumulator`]: averages with statistical errors of
//!   correlated data; [`series`]: what comes out.
//!
//! Data flow: snapshot -> [`sample::Sample`] (by component, sorted by species; or only what observables
//! of the whole need, such as density modes) -> pairs of samples that are due -> terms ([`dynamics::terms`]): sums
//! over fixed chunks of particles, on all threads, added in order, or products of whole samples -> one
//! value per time origin -> [`accumulator::BlockAverage`]. Results do not depend on the number of
//! threads, and `save` / `restore` carry the complete state, so that a resumed run ends with the same
//! bits.
//!
//! A time correlation is one module, registered in `observables!` of [`dynamics`]; its words, unit, axes and figure are a line
//! in `observables/src/dynamics.rs`.
pub mod accumulator;
pub mod cells;
pub mod configurational_temperature;
mod cosines;
mod density_modes;
pub mod diameter_classes;
pub mod dynamics;
pub mod ensemble;
pub mod hessian;
mod particle_order;
pub mod portable;
pub mod propensity;
pub mod sample;
pub mod series;
pub mod shear_stress;
pub mod structure;
mod vectors;
pub mod wavevectors;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trajectories;

pub use configurational_temperature::ForcesAndCurvature;
pub use dynamics::{Correlation, Correlations, Part};
pub use ensemble::EnsembleSeries;
pub use series::{Axis, AxisName, Series, SeriesLayout, Shells};
pub use shear_stress::Macroscopic;
pub use structure::{
    BondOrder, BondOrientationalOrder, CrystallinityAndDemixing, LocalOrder, Structure,
};

use std::ops::Range;
use std::sync::Arc;

use crate::system::{SimulationBox, Species};

/// What the observables of a stage have to know about the system.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleContext {
    pub simulation_box: SimulationBox,
    /// The box is sheared: density modes are those of wave vectors across the flow, which fit it at any tilt.
    pub in_flow: bool,
    pub species: Vec<Species>,
    /// Species index of every particle, in id order.
    pub species_of: Vec<u8>,
    /// Ids in the order in which samples hold the particles, species after species; by species and id if not given.
    pub order: Option<Arc<[u32]>>,
    pub timestep: f64,
    /// Steps of the stage; samples are taken at 0, `every`, 2 `every`, ... up to and including this.
    pub stage_steps: u64,
}

impl SampleContext {
    /// Places in samples of the particles of every species.
    fn places_of_species(&self) -> Vec<Range<usize>> {
        let place = |end: &mut usize, species: &Species| {
            let start = *end;
            *end += species.count;
            Some(start..*end)
        };
        self.species.iter().scan(0, place).collect()
    }
}

/// Named flat arrays of a saved state; integers in them are exact (below 2^53).
pub type StateArrays = Vec<(String, Vec<f64>)>;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ObservableError {
    #[error("{key}: {value} is not allowed; {expected}")]
    Value { key: &'static str, value: String, expected: &'static str },
    #[error(
        "wave number {wavenumber} is too large for a box of edges {edges:?}: \
         finding its wave vectors would take too long"
    )]
    TooManyWaveVectors { wavenumber: f64, edges: Vec<f64> },
    #[error("species_of: {found} particles of species {species}, expected {expected}")]
    SpeciesMismatch { species: String, expected: usize, found: usize },
    #[error("particles have no diameters to be divided by into classes")]
    NoDiameters,
    #[error(
        "class {class} of diameters,{between}{} has no particle: the diameters of the {particles} particles are {least:.4} to \
         {greatest:.4}",
        if between.is_empty() { "" } else { "," }
    )]
    EmptyClass { class: usize, between: String, particles: usize, least: f64, greatest: f64 },
    #[error(
        "class {class} of diameters has {first} particles in system 0 and {other} in system {system}, and averages over systems \
         are of classes of the same number of particles"
    )]
    UnequalClasses { class: usize, first: usize, other: usize, system: usize },
    #[error("saved state of the observables: {0}")]
    State(String),
}

impl ObservableError {
    fn value(key: &'static str, value: impl ToString, expected: &'static str) -> Self {
        ObservableError::Value { key, value: value.to_string(), expected }
    }
}

/// Unordered pairs of species `(a, b)`, `a <= b`, in the order of all partial quantities.
fn species_pairs(species: usize) -> Vec<(usize, usize)> {
    (0..species).flat_map(|a| (a..species).map(move |b| (a, b))).collect()
}

/// Takes the array called `name` out of a saved state.
fn state_array<'a>(
    arrays: &'a [(String, Vec<f64>)],
    name: &str,
) -> Result<&'a [f64], ObservableError> {
    arrays
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, values)| values.as_slice())
        .ok_or_else(|| ObservableError::State(format!("array '{name}' is missing")))
}
