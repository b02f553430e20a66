//! How much of what particles do the configuration determines.
use supercool_statistics::widening;

use crate::observable::SampleContext;

/// Variances below this, in units of the mean square, are rounding.
const RESOLVED: f64 = 1e-10;

/// Averages over the particles of a species and over configurations. `X` is the observable, `<X>_iso` its mean over runs, the
/// propensity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// `C = <<X>_iso>`.
    pub mean: f64,
    /// `delta = <<X>_iso^2>`, as it is: runs are finite in number, `M`, and it is too large by `(Delta - delta) / (M - 1)`.
    pub square_of_propensity: f64,
    /// `Delta = <<X^2>_iso>`.
    pub square: f64,
    /// `R = (delta' - C^2) / (Delta - C^2)` with `delta' = delta - (Delta - delta) / (M - 1)`: the share of the variance of `X`
    /// that the configuration determines, which no prediction from structure exceeds (Berthier & Jack, Phys. Rev. E 76,
    /// 041509 (2007)). NaN where there is no variance.
    pub predictable_share: f64,
    /// Standard error by a jackknife over configurations; of a single one over the parts that the planes through its middle cut
    /// it into, which are independent if correlations reach less far.
    pub predictable_share_error: f64,
}

/// What values are of.
pub struct Shape<'a> {
    pub context: &'a SampleContext,
    pub runs: usize,
    /// Of the particles of each configuration.
    pub positions: Vec<&'a [[f64; 3]]>,
}

/// In words, what the jackknife leaves out one after the other.
pub fn left_out(configurations: usize, dimension: usize) -> &'static str {
    match (configurations, dimension) {
        (1, 2) => "quadrants of the box",
        (1, _) => "octants of the box",
        _ => "configurations",
    }
}

/// Sums over some particles.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    value: f64,
    squared_value: f64,
    square: f64,
}

impl Sums {
    fn less(self, other: Sums) -> Sums {
        Sums {
            count: self.count - other.count,
            value: self.value - other.value,
            squared_value: self.squared_value - other.squared_value,
            square: self.square - other.square,
        }
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            count: self.count + other.count,
            value: self.value + other.value,
            squared_value: self.squared_value + other.squared_value,
            square: self.square + other.square,
        }
    }

    fn predictable_share(self, runs: usize) -> f64 {
        let [mean, delta, square] =
            [self.value, self.squared_value, self.square].map(|sum| sum / self.count);
        let corrected = delta - (square - delta) / (runs as f64 - 1.0);
        let variance = square - mean * mean;
        if variance > RESOLVED * square { (corrected - mean * mean) / variance } else { f64::NAN }
    }
}

/// Of each species, from means over runs and those of squares, by configuration and particle.
pub fn of_species(shape: &Shape<'_>, value: &[f64], second_moment: &[f64]) -> Vec<Moments> {
    let species = shape.context.species.len();
    let particles = shape.context.species_of.len();
    let blocks = blocks(shape);
    let mut sums = vec![vec![Sums::default(); blocks]; species];
    for (configuration, positions) in shape.positions.iter().enumerate() {
        for particle in 0..particles {
            let index = configuration * particles + particle;
            let block = match shape.positions.len() {
                1 => part_of(shape, positions[particle]),
                _ => configuration,
            };
            let of = &mut sums[usize::from(shape.context.species_of[particle])][block];
            *of = of.plus(Sums {
                count: 1.0,
                value: value[index],
                squared_value: value[index] * value[index],
                square: second_moment[index],
            });
        }
    }
    sums.iter().map(|blocks| moments(blocks, shape.runs)).collect()
}

/// What the jackknife has: configurations, or parts of a single one.
fn blocks(shape: &Shape<'_>) -> usize {
    match shape.positions.len() {
        1 => 1 << shape.context.simulation_box.dimension(),
        several => several,
    }
}

/// In which half of the box a place is along each axis.
fn part_of(shape: &Shape<'_>, place: [f64; 3]) -> usize {
    let edges = shape.context.simulation_box.edges();
    let half = |(k, edge): (usize, &f64)| usize::from(place[k] >= 0.5 * edge) << k;
    edges.iter().enumerate().map(half).sum()
}

fn moments(blocks: &[Sums], runs: usize) -> Moments {
    let all = blocks.iter().fold(Sums::default(), |all, &block| all.plus(block));
    // Those that have no particle of the species tell nothing.
    let filled: Vec<Sums> = blocks.iter().copied().filter(|block| block.count > 0.0).collect();
    let without: Vec<f64> =
        filled.iter().map(|&block| all.less(block).predictable_share(runs)).collect();
    let count = without.len() as f64;
    let mean = without.iter().sum::<f64>() / count;
    let squares: f64 = without.iter().map(|share| (share - mean).powi(2)).sum();
    let plain = ((count - 1.0) / count * squares).sqrt();
    Moments {
        mean: all.value / all.count,
        square_of_propensity: all.squared_value / all.count,
        square: all.square / all.count,
        predictable_share: all.predictable_share(runs),
        predictable_share_error: plain * widening(without.len()),
    }
}
