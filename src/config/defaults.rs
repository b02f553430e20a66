//! Values of keys that were not written. The schema and the validation both read these.
use std::f64::consts::PI;
use std::fmt::Display;

use crate::plan::{EngineChoice, Lattice, Precision, TransportChoice};
use crate::system::SimulationBox;

/// A key that was not written, and the value taken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledDefault {
    pub key: String,
    pub value: String,
}

impl FilledDefault {
    pub(super) fn new(key: impl Into<String>, value: impl Display) -> Self {
        FilledDefault { key: key.into(), value: value.to_string() }
    }
}

pub const SEED: u64 = 1;
pub const MASS: f64 = 1.0;
pub const NON_ADDITIVITY: f64 = 0.0;
pub const TRIALS_PER_PARTICLE: f64 = 1.0;
pub const ENGINE: EngineChoice = EngineChoice::Auto;
pub const TRANSPORT: TransportChoice = TransportChoice::Auto;
pub const PRECISION: Precision = Precision::DoubleSingle;
pub const SORT_INTERVAL: u32 = 1;
pub const TUNE: bool = true;
pub const ANDERSEN_EXACT: bool = false;
pub const CHAIN_LENGTH: usize = 3;
/// Of a dense liquid: 0.01 to 0.06 in Lennard-Jones units.
pub const COMPRESSIBILITY: f64 = 0.03;
/// Steps between two trials to change a volume of this relaxation time: two fifths of it.
pub fn trial_interval(time: f64, timestep: f64) -> u64 {
    (0.4 * time / timestep).round().max(1.0) as u64
}
pub const BLOCK_SIZE: usize = 10;
pub const POINTS_PER_DECADE: f64 = 9.0;
pub const CORRELATION_VECTORS_PER_SHELL: usize = 24;
/// Of a correlation.
pub const MOST_DIAMETER_CLASSES: usize = 64;
/// The same of the structure, which has a function for each pair of them.
pub const MOST_DIAMETER_CLASSES_OF_STRUCTURE: usize = 16;
pub const OVERLAP_LENGTH: f64 = 0.3;
pub const VAN_HOVE_MAXIMUM_DISTANCE: f64 = 4.0;
pub const VAN_HOVE_BIN_WIDTH: f64 = 0.05;
pub const REMOVE_DRIFT: bool = false;
pub const BIN_WIDTH: f64 = 0.02;
pub const MAXIMUM_WAVENUMBER: f64 = 15.0;
pub const STRUCTURE_VECTORS_PER_SHELL: usize = 20;
pub const FORCE_TOLERANCE: f64 = 1e-6;
pub const MAXIMUM_ITERATIONS: u64 = 100_000;
pub const CHECKPOINT_MINUTES: f64 = 10.0;
pub const INTEGRITY_SEGMENT: u64 = 10;

/// Distance up to which particles are neighbors, `1.45 (V / N)^(1/D)` to four decimals: between the first two
/// shells of close-packed crystals (1.12 and 1.59 in fcc, 1.07 and 1.86 in the triangular lattice, in these
/// units) and within some per cent of the first minimum of g(r) in dense liquids.
pub fn neighbor_radius(simulation_box: &SimulationBox, count: usize) -> f64 {
    let dimension = simulation_box.dimension() as f64;
    let distance = (simulation_box.volume() / count as f64).powf(dimension.recip());
    (1.45e4 * distance).round() / 1e4
}

/// Distance at which bonds break, `9/7` of that of neighbors to four decimals.
pub fn bond_breaking_radius(radius: f64) -> f64 {
    (9e4 / 7.0 * radius).round() / 1e4
}

/// Distance up to which g_ab(r) is evaluated: half the shortest edge, but no more than the radius of a sphere (in two
/// dimensions a circle) that holds 4,000 particles on average, so that the work grows with N and not with its square.
pub fn pair_distance(simulation_box: &SimulationBox, count: usize) -> f64 {
    let volume = 4000.0 * simulation_box.volume() / count as f64;
    let radius = match simulation_box.dimension() {
        2 => (volume / PI).sqrt(),
        _ => (0.75 * volume / PI).cbrt(),
    };
    radius.min(simulation_box.shortest_edge() / 2.0)
}

/// Lattice of the initial state.
pub fn lattice(dimension: usize) -> Lattice {
    if dimension == 2 { Lattice::Hexagonal } else { Lattice::Fcc }
}
