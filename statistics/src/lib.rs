//! Means of correlated series with their errors.
#![warn(missing_docs)]

mod halves;
mod scatter;

use statrs::statistics::Statistics;

pub use halves::Halves;
pub use scatter::{FEWEST_RUNS, mean_and_error, student, widening};

/// Mean of a time series and its statistical error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Arithmetic mean.
    pub value: f64,
    /// Standard error of the mean, correlations in time included: [`error_of_mean`].
    pub error: f64,
    /// Samples.
    pub count: usize,
}

/// Independent values below which there is no error: a variance from so few is too uncertain.
pub const FEWEST_INDEPENDENT: usize = 8;
/// Doublings between the blocks that tell the correlation and those that tell the error.
const LEVELS_OF_CORRELATION: usize = 2;
/// Series of fewer correlation times than this have no error: their blocks see no plateau.
const FEWEST_CORRELATION_TIMES: f64 = 3.0;
/// Added to the variance for each correlation time in the series: what the uncertainty of this time is worth.
const UNCERTAINTY_OF_CORRELATION: f64 = 2.0;
/// In units of the correlation time: blocks this long are taken for independent.
const LONG: f64 = 50.0;

/// What is known of the correlation of values, in units of their distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// Decay time of something slow that has a part in the values; zero where there is nothing.
    pub memory: f64,
    /// The longest correlation time (both sides) that they can have; zero where it is not known.
    pub longest: f64,
}

/// Means over blocks of `2^level` successive values of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// How many there are, n.
    pub count: f64,
    /// `s^2 = sum (x_i - mean)^2 / (n (n - 1))`: variance of the mean of all if blocks were independent.
    pub variance_of_mean: f64,
}

/// Standard error of the mean of a correlated series from its blocks of 1, 2, 4, ... values; NaN below eight values, and
/// where the series is shorter than three correlation times.
///
/// Blocks grow as long as eight of them remain (Flyvbjerg & Petersen, J. Chem. Phys. 91, 461 (1989)): slow motion that
/// has a small part in single values, and rules the mean, shows in no shorter ones. Their `n = 8 ... 15` means give
/// `s^2`, which is corrected three times:
///
/// - Blocks that are not much longer than the correlation time are correlated, so that `s^2` is too small. Neighbors
///   among four times as many blocks (their number is less uncertain) tell `x`, the length of a block in units of the
///   decay time of an exponential correlation: means over `x` have a variance `g(x) = 2/x [1 - (1 - e^-x)/x]`. Then
///   `s^2` is multiplied by `(n - 1) g(n x) / (g(x) - g(n x))`. See [`length_of_blocks`].
/// - A series of few correlation times, `k = n x / 2`, knows `x` badly, and where it takes it for too small its error is much
///   too small. `s^2` is multiplied by `1 + 2 / k`.
/// - `(mean - truth) / s` has Student's distribution with `f = n - 1` degrees of freedom, which is wider than the normal
///   one. `s` is multiplied by its standard deviation `[f / (f - 2)]^(1/2)`, by 1.08 to 1.18, so that deviations in units
///   of the error have a mean square of 1.
///
/// The error itself is uncertain by a quarter to a third. Root mean squares of deviations over errors, 3,000 series each, of
/// an exponential correlation: 0.94 to 1.04 for 8 to 200 correlation times (`2 tau`, both sides), 1.19 for six, 1.40 for
/// four, 2.2 for two, where a third of the series has no error; with white noise of the same error added 0.91 to 1.14 from
/// six on, 1.2 below. 0.94 to 1.13 for overlapping windows of a random walk, of which 8 to 100 fit into the series.
/// Stretched correlations need longer series, or [`error_of_mean_knowing`]: 1.4 for the energy of a supercooled liquid over 15
/// of its relaxation times.
pub fn error_of_mean(levels: impl IntoIterator<Item = Blocks>) -> f64 {
    error_of_mean_knowing(levels, Known::default())
}

/// The same where something is known of the correlation.
///
/// Overlapping windows of a random walk are correlated as long as they overlap, and their correlation ends sooner than an
/// exponential one: with `longest` the decay time is half of that at most.
///
/// Something slow may have a part in the values: the mobility of a supercooled liquid changes as slowly as it relaxes.
/// Neighboring blocks are then more strongly correlated than independent ones because the slow part is large or because
/// the rest is not much faster. [`error_of_mean`] takes the one for the other, and its single exponential is as good as
/// gone over a few blocks. Here `s^2` is also corrected for white noise and a part of known decay time, whose amplitude
/// `a` in units of the noise of these blocks follows from the same neighbors: `(n - 1) s^2` is `1 - 1/n + a [g(x) - g(n x)]`
/// and the difference to pairs `-1/n + a [c(x) - g(n x)]`, `c` the covariance of neighbors. The larger error holds.
/// What noise there is cannot be told from a memory of more than a twelfth to an eighth of the series.
pub fn error_of_mean_knowing(levels: impl IntoIterator<Item = Blocks>, known: Known) -> f64 {
    let fewest = FEWEST_INDEPENDENT as f64;
    let mut levels = levels.into_iter().peekable();
    let mut kept: Vec<Blocks> = Vec::new();
    while let Some(blocks) = levels.next_if(|blocks| blocks.count >= fewest) {
        kept.push(blocks);
    }
    // The level after a shorter one has half as many blocks, at least four.
    let after = levels.next();
    let Some(&blocks) = kept.last() else { return f64::NAN };
    if kept[0].variance_of_mean <= 0.0 {
        return 0.0;
    }
    let n = blocks.count;
    let shorter = kept.len().saturating_sub(1 + LEVELS_OF_CORRELATION);
    let Some(pairs) = kept.get(shorter + 1).copied().or(after) else { return f64::NAN };
    let length = 2.0_f64.powi(shorter as i32) * kept[shorter].count;
    let least = if known.longest > 0.0 { 2.0 * length / known.longest } else { 0.0 };
    let whole = match length_of_blocks(&kept[shorter], &pairs) {
        Some(x) => least.max(x * kept[shorter].count),
        None if least > 0.0 => least,
        None => return f64::NAN,
    };
    let uncertainty = 1.0 + UNCERTAINTY_OF_CORRELATION / (0.5 * whole);
    let single = correction(n, 0.0, 1.0, whole) * uncertainty;
    let whole = length / known.memory;
    let amplitude = amplitude_of_slow(&kept[shorter], &pairs, whole).filter(|_| whole.is_finite());
    let slow = amplitude.map_or(0.0, |a| correction(n, 1.0 / kept[shorter].count, a, whole));
    let freedom = n - 1.0;
    (blocks.variance_of_mean * single.max(slow) * freedom / (freedom - 2.0)).sqrt()
}

/// Variance of the mean of all values over that which `n` blocks would have if they were independent: of noise, whose mean
/// has the variance `noise`, and of an exponential correlation with this amplitude, `whole` decay times long.
fn correction(n: f64, noise: f64, amplitude: f64, whole: f64) -> f64 {
    let mean = variance_of_block(whole);
    let of_blocks = noise * (n - 1.0) + amplitude * (variance_of_block(whole / n) - mean);
    (n - 1.0) * (noise + amplitude * mean) / of_blocks
}

/// Amplitude of what has an exponential correlation, the series `whole` of its decay times long, in units of the white noise
/// of blocks; `None` if these are correlated as strongly as if there were no noise, or more so.
fn amplitude_of_slow(blocks: &Blocks, pairs: &Blocks, whole: f64) -> Option<f64> {
    let n = blocks.count;
    let found = correlation_of_neighbors(blocks, pairs);
    let mean = variance_of_block(whole);
    let single = variance_of_block(whole / n) - mean;
    let neighbors = covariance_of_neighbors(whole / n) - mean;
    let rest = neighbors - found * single;
    (rest > 0.0).then(|| ((found * (n - 1.0) + 1.0) / (n * rest)).max(0.0))
}

/// `(c - V) / (g - V)`: see [`length_of_blocks`].
fn correlation_of_neighbors(blocks: &Blocks, pairs: &Blocks) -> f64 {
    let single = blocks.variance_of_mean * (blocks.count - 1.0);
    let of_pairs = 2.0 * pairs.variance_of_mean * (pairs.count - 1.0);
    (of_pairs - single) / single
}

/// Variance of the mean over `x` decay times of what has variance 1 and an exponential correlation.
fn variance_of_block(x: f64) -> f64 {
    2.0 / x * (1.0 - (1.0 - (-x).exp()) / x)
}

/// Covariance of two such means over neighboring blocks.
fn covariance_of_neighbors(x: f64) -> f64 {
    ((1.0 - (-x).exp()) / x).powi(2)
}

/// Length of blocks in decay times of an exponential correlation, from these blocks and pairs of them; at most [`LONG`],
/// and `None` if the series is shorter than [`FEWEST_CORRELATION_TIMES`].
///
/// With variance `g` of a block, covariance `c` of neighbors and variance `V` of the mean of all, `n` blocks and `m` pairs
/// have `s^2 (n - 1) = g - V` and `2 s_pairs^2 (m - 1) = g + c - 2 V` on average. The second over the first, less 1, is
/// `(c - V) / (g - V)`, which falls with the length.
fn length_of_blocks(blocks: &Blocks, pairs: &Blocks) -> Option<f64> {
    let n = blocks.count;
    let found = correlation_of_neighbors(blocks, pairs);
    let expected = |x: f64| {
        let mean = variance_of_block(n * x);
        (covariance_of_neighbors(x) - mean) / (variance_of_block(x) - mean)
    };
    // A correlation time is twice the decay time: what lies between independent values.
    let (mut short, mut long) = (2.0 * FEWEST_CORRELATION_TIMES / n, LONG);
    if found <= expected(long) {
        return Some(long);
    }
    // What is NaN is not below.
    if found.is_nan() || found >= expected(short) {
        return None;
    }
    // To 1e-6: uncertainties are a million times larger.
    for _ in 0..24 {
        let middle = (short * long).sqrt();
        if expected(middle) > found { short = middle } else { long = middle }
    }
    Some((short * long).sqrt())
}

/// Mean and standard error ([`error_of_mean`]) of a series.
pub fn block_average(series: &[f64]) -> Mean {
    block_average_knowing(series, Known::default())
}

/// The same where something is known of the correlation: [`error_of_mean_knowing`].
pub fn block_average_knowing(series: &[f64], known: Known) -> Mean {
    let count = series.len();
    let value = if count == 0 { f64::NAN } else { series.iter().sum::<f64>() / count as f64 };
    let mut blocks = series.to_vec();
    let mut levels = Vec::new();
    while blocks.len() > 1 {
        let variance_of_mean = (&blocks).variance() / blocks.len() as f64;
        levels.push(Blocks { count: blocks.len() as f64, variance_of_mean });
        blocks = blocks.chunks_exact(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    }
    Mean { value, error: error_of_mean_knowing(levels, known), count }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Gaussian random numbers (polar method over a 64-bit congruential generator).
    struct Normal(u64);

    impl Normal {
        fn new(seed: u64) -> Self {
            Normal(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
        }

        fn uniform(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn next(&mut self) -> f64 {
            loop {
                let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
                let s = x * x + y * y;
                if s > 0.0 && s < 1.0 {
                    return x * (-2.0 * s.ln() / s).sqrt();
                }
            }
        }
    }

    /// x' = a x + sqrt(1 - a^2) g has unit variance and correlation time (1+a)/(1-a) samples.
    pub(crate) fn autoregressive(a: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut normal = Normal::new(seed);
        let mut x = normal.next();
        (0..count)
            .map(|_| {
                x = a * x + (1.0 - a * a).sqrt() * normal.next();
                x
            })
            .collect()
    }

    /// Root mean square of deviations from zero over errors, the share of series with an error, and the root mean square
    /// of errors over that of deviations.
    fn scores(series: impl Iterator<Item = Vec<f64>>) -> [f64; 3] {
        scores_knowing(series, Known::default())
    }

    fn scores_knowing(series: impl Iterator<Item = Vec<f64>>, known: Known) -> [f64; 3] {
        let (mut all, mut count, mut squares, mut errors, mut deviations) = (0, 0, 0.0, 0.0, 0.0);
        for series in series {
            let mean = block_average_knowing(&series, known);
            all += 1;
            deviations += mean.value * mean.value;
            if mean.error.is_finite() {
                count += 1;
                squares += (mean.value / mean.error).powi(2);
                errors += mean.error * mean.error;
            }
        }
        let (all, count) = (f64::from(all), f64::from(count));
        [(squares / count).sqrt(), count / all, (errors / count / (deviations / all)).sqrt()]
    }

    /// Of 1000 series a root mean square of 1 is known to 2.2 % (3 % for Student's distribution); three times, and what
    /// remains of the corrections: [`error_of_mean`].
    const CALIBRATED: std::ops::Range<f64> = 0.85..1.15;

    #[test]
    fn errors_of_correlated_series_are_those_of_repeated_series() {
        // Independent; twelve to 400 correlation times of 16 values.
        for (a, count) in [(0.0, 64), (0.0, 1000)]
            .into_iter()
            .chain([12, 16, 24, 40, 100, 400].map(|times| ((-0.125_f64).exp(), 16 * times)))
        {
            let series = (0..1000).map(|seed| autoregressive(a, count, 1000 + seed));
            let [z, share, ratio] = scores(series);
            assert!(CALIBRATED.contains(&z) && share > 0.99, "{a}, {count}: {z}, {share}");
            // Student's factor, and the uncertainty of the correlation time.
            assert!((1.0..1.5).contains(&ratio), "{a}, {count}: {ratio}");
        }
    }

    #[test]
    fn slow_motion_that_hardly_shows_in_single_values_is_in_the_error() {
        // White noise of ten times the amplitude: of the mean's variance half is that of the slow part.
        for times in [12, 24, 100] {
            let series = (0..1000).map(|seed| {
                let mut normal = Normal::new(seed + 7000);
                let slow = autoregressive((-0.02_f64).exp(), 100 * times, seed);
                slow.into_iter().map(|x| x + 10.0 * normal.next()).collect()
            });
            let [z, share, _] = scores(series);
            assert!(CALIBRATED.contains(&z) && share > 0.99, "{times}: {z}, {share}");
        }
    }

    #[test]
    fn what_is_known_to_be_slow_is_in_the_error_where_noise_hides_it() {
        // White noise of five times the amplitude, 16 decay times of 25 values: hardly seen among neighbors.
        let series = || {
            (0..2000).map(|seed| {
                let mut normal = Normal::new(seed + 7000);
                let slow = autoregressive((-0.04_f64).exp(), 400, seed);
                slow.into_iter().map(|x| x + 5.0 * normal.next()).collect()
            })
        };
        let slow = Known { memory: 25.0, ..Known::default() };
        let [unknown, _, _] = scores(series());
        let [known, share, _] = scores_knowing(series(), slow);
        assert!(unknown > known + 0.06, "{unknown}, {known}");
        assert!(CALIBRATED.contains(&known) && share > 0.99, "{known}, {share}");
        // Where there is nothing slow, and where nothing else is.
        let white = (0..1000).map(|seed| autoregressive(0.0, 400, seed));
        let [z, share, _] = scores_knowing(white, slow);
        assert!(CALIBRATED.contains(&z) && share > 0.99, "{z}, {share}");
        let alone = (0..1000).map(|seed| autoregressive((-0.04_f64).exp(), 800, seed));
        let [z, share, _] = scores_knowing(alone, slow);
        assert!(CALIBRATED.contains(&z) && share > 0.99, "{z}, {share}");
    }

    /// Squares of displacements over windows of a random walk, less their mean, each from the next origin, as of the longest
    /// lags of a correlation; `windows` after each other.
    fn squares_of_windows(window: usize, windows: usize, dimension: usize, seed: u64) -> Vec<f64> {
        let origins = (windows - 1) * window + 1;
        let mut normal = Normal::new(seed);
        let mut squares = vec![-((dimension * window) as f64); origins];
        for _ in 0..dimension {
            let mut walk = vec![0.0];
            for step in 0..origins + window {
                walk.push(walk[step] + normal.next());
            }
            for (origin, square) in squares.iter_mut().enumerate() {
                *square += (walk[origin + window] - walk[origin]).powi(2);
            }
        }
        squares
    }

    #[test]
    fn errors_of_overlapping_windows_are_those_of_repeated_series() {
        for (window, windows) in [(9, 8), (9, 14), (9, 40), (5, 8), (3, 8), (2, 8), (1, 8), (1, 60)]
        {
            let series = (0..1000).map(|seed| squares_of_windows(window, windows, 10, seed));
            let [z, share, _] = scores(series);
            let range = CALIBRATED.start..CALIBRATED.end + 0.05;
            assert!(range.contains(&z) && share > 0.85, "{window}, {windows}: {z}, {share}");
        }
    }

    /// Of many particles, whose squares are next to normal. The mean square of the errors is nearer to the truth.
    #[test]
    fn windows_that_overlap_have_smaller_errors_where_that_is_known() {
        for (window, windows) in [(6, 8), (6, 10), (3, 20)] {
            let series =
                || (0..1000).map(|seed| squares_of_windows(window, windows, 100, seed + 300));
            let [unknown, _, large] = scores(series());
            let longest = 2.0 / 3.0 * window as f64;
            let [z, share, ratio] = scores_knowing(series(), Known { longest, memory: 0.0 });
            assert!(CALIBRATED.contains(&z) && share > 0.99, "{window}, {windows}: {z}, {share}");
            assert!(z > unknown && ratio < large, "{window}, {windows}: {z} {unknown}");
        }
        // Where they are independent, it changes little.
        let white = (0..1000).map(|seed| autoregressive(0.0, 64, seed));
        let [z, _, _] = scores_knowing(white, Known { longest: 4.0, memory: 0.0 });
        assert!(CALIBRATED.contains(&z), "{z}");
    }

    #[test]
    fn series_of_few_correlation_times_have_large_errors_or_none() {
        for (times, most) in [(8, 1.15), (6, 1.3), (4, 1.5)] {
            let series = (0..1000).map(|seed| autoregressive((-0.05_f64).exp(), 40 * times, seed));
            let [z, share, _] = scores(series);
            assert!(z < most && share < 1.0, "{times}: {z}, {share}");
        }
        // A straight line is all trend.
        let line: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(block_average(&line).error.is_nan());
    }

    #[test]
    fn a_constant_has_no_error_and_few_samples_no_estimate() {
        assert_eq!(block_average(&[2.5; 100]).error, 0.0);
        assert!(block_average(&[1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0]).error.is_nan());
        assert!(block_average(&[1.0, 3.0, 2.0, 2.0, 1.0, 3.0, 3.0, 1.0]).error > 0.0);
        assert!(block_average(&[]).value.is_nan());
    }
}
