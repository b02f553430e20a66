//! What an observable hands out: averages with their axes, errors and numbers of samples.
pub use supercool_observables::Axis as AxisName;

use super::wavevectors::{RELATIVE_HALF_WIDTH, WaveVectorShell};
use crate::system::SimulationBox;

/// Shape and meaning of one series; fixed from the start of the stage.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLayout {
    /// Group and name, such as `A/mean_square_displacement` or `AB/pair_distribution`.
    pub path: String,
    /// Outermost first; values are row-major.
    pub axes: Vec<Axis>,
    /// Of the wave number axis, where there is one.
    pub shells: Option<Shells>,
    /// Unit of the value in the notation of H5MD; empty for a pure number.
    pub unit: &'static str,
    /// Definition, as text for the file.
    pub formula: String,
    /// Whether it is compared in the course of the stage.
    pub has_change: bool,
    /// Whether it is a fluctuation over time origins.
    pub is_fluctuation: bool,
}

/// Wave vectors in shells.
#[derive(Clone, Debug, PartialEq)]
pub struct Shells {
    /// By shell, one of each `q`, `-q`; components beyond the dimension are 0.
    pub vectors: Vec<Vec<[f64; 3]>>,
    pub dimension: usize,
    /// Vectors are this near to the length that the box has nearest to the wanted wave number, in units of that.
    pub relative_half_width: f64,
}

impl Shells {
    pub fn new(shells: &[WaveVectorShell], simulation_box: &SimulationBox) -> Self {
        Shells {
            vectors: shells.iter().map(|shell| shell.vectors(simulation_box)).collect(),
            dimension: simulation_box.dimension(),
            relative_half_width: RELATIVE_HALF_WIDTH,
        }
    }
}

/// One axis of a series, ascending and without duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub name: AxisName,
    pub values: Vec<f64>,
}

impl SeriesLayout {
    /// Lengths of the axes.
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.values.len()).collect()
    }

    /// Values of the axis called `name`, where there is one.
    pub fn axis(&self, name: AxisName) -> Option<&[f64]> {
        self.axes.iter().find(|axis| axis.name == name).map(|axis| axis.values.as_slice())
    }
}

/// Averages so far, row-major over the axes of the layout with the same path.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub path: String,
    /// NaN where there is no sample yet.
    pub value: Vec<f64>,
    /// Statistical error (one standard deviation of the mean), see
    /// [`BlockAverage`](super::accumulator::BlockAverage); NaN with fewer than eight windows of
    /// time after each other, or samples of structure, and where all of these are the same (except at lag zero).
    pub error: Vec<f64>,
    /// Time origins times particles (averages over particles), time origins (susceptibilities), samples
    /// (pair distribution), or samples times wave vectors (structure factor).
    pub count: Vec<u64>,
    /// Where the layout has it, in the order of the values: the average over the later time origins less that over the first
    /// ones, and its standard error ([`change`](super::accumulator::BlockAverage::change)); NaN below eight origins.
    pub change: Vec<[f64; 2]>,
}

impl Series {
    pub(super) fn empty(path: String) -> Self {
        Series { path, value: Vec::new(), error: Vec::new(), count: Vec::new(), change: Vec::new() }
    }

    pub(super) fn push(&mut self, value: f64, error: f64, count: u64) {
        self.value.push(value);
        self.error.push(error);
        self.count.push(count);
    }
}
