//! Means of correlated series with their errors.
use statrs::statistics::Statistics;

/// Mean of a time series and its statistical error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Arithmetic mean.
    pub value: f64,
    /// Standard error of the mean, correlations in time included; NaN below four samples.
    pub error: f64,
    /// Samples.
    pub count: usize,
}

/// Fewest blocks that make a block size trustworthy.
const FEWEST_BLOCKS: f64 = 8.0;
/// Fewest blocks that are compared with those of half their size.
const FEWEST_LARGER_BLOCKS: f64 = 4.0;

/// Means over blocks of `2^level` successive values of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// How many there are, n.
    pub count: f64,
    /// `s^2 = sum (x_i - mean)^2 / (n (n - 1))`: variance of the mean of all if blocks were independent.
    pub variance_of_mean: f64,
}

/// Standard error of the mean of a correlated series from its blocks of 1, 2, 4, ... values; NaN below two values.
///
/// `s` of blocks of `B` values reaches a plateau once these are longer than the correlation time (Flyvbjerg & Petersen,
/// J. Chem. Phys. 91, 461 (1989)). Taken is the smallest `B` with `B^3 > 2 n (s_B / s_1)^4`, `n` values in all, where
/// truncation and statistical error of `s_B` balance (Lee et al., Phys. Rev. E 83, 066706 (2011)), among those with at
/// least 8 blocks.
///
/// Where none is large enough (few values, or correlated over much of the series) it is the largest `s_B` among these and
/// of what follows from two of them where only neighbouring blocks are still correlated: with variance `g_0` of blocks and
/// covariance `g_1` of neighbours, `n` blocks and `m` of twice their size,
/// `n V = g_0 + 2 (1 - 1/n) g_1`, `s_B^2 (n - 1) = g_0 - V`, `2 s_2B^2 (m - 1) = g_0 + g_1 - 2 V`. Windows of a random walk
/// that overlap by 8/9, of which 6 fit into the series, have 0.99 of their error by this, and 0.73 without; series whose
/// correlation time is a third of their length two thirds, and 0.4 without.
pub fn error_of_mean(levels: impl IntoIterator<Item = Blocks>) -> f64 {
    let mut levels = levels.into_iter().peekable();
    let Some(values) = levels.peek().copied().filter(|values| values.count >= 2.0) else {
        return f64::NAN;
    };
    let uncorrelated = values.variance_of_mean;
    if uncorrelated <= 0.0 {
        return 0.0;
    }
    let mut largest = uncorrelated;
    let mut size = 1.0_f64;
    while let Some(blocks) = levels.next() {
        if blocks.count < FEWEST_BLOCKS {
            break;
        }
        let variance = blocks.variance_of_mean;
        if size.powi(3) > 2.0 * values.count * (variance / uncorrelated).powi(2) {
            return variance.sqrt();
        }
        largest = largest.max(variance);
        if let Some(larger) = levels.peek() {
            largest = largest.max(with_neighbours(&blocks, larger));
        }
        size *= 2.0;
    }
    largest.sqrt()
}

/// Variance of the mean where blocks are correlated with their neighbours only, from these blocks and those of twice their
/// size: [`error_of_mean`]. Zero if there are too few of them.
fn with_neighbours(blocks: &Blocks, larger: &Blocks) -> f64 {
    if larger.count < FEWEST_LARGER_BLOCKS {
        return 0.0;
    }
    let n = blocks.count;
    let single = blocks.variance_of_mean * (n - 1.0);
    let pairs = 2.0 * larger.variance_of_mean * (larger.count - 1.0);
    n * (single + 2.0 * (1.0 - 1.0 / n) * (pairs - single)) / ((n - 1.0) * (n - 2.0))
}

/// Mean and standard error ([`error_of_mean`]) of a series.
pub fn block_average(series: &[f64]) -> Mean {
    let count = series.len();
    let value = if count == 0 { f64::NAN } else { series.iter().sum::<f64>() / count as f64 };
    if count < 4 {
        return Mean { value, error: f64::NAN, count };
    }
    let mut blocks = series.to_vec();
    let mut levels = Vec::new();
    while blocks.len() > 1 {
        let variance_of_mean = (&blocks).variance() / blocks.len() as f64;
        levels.push(Blocks { count: blocks.len() as f64, variance_of_mean });
        blocks = blocks.chunks_exact(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    }
    Mean { value, error: error_of_mean(levels), count }
}

/// Difference between the means of a series' halves, in units of the scatter of single samples. In equilibrium it is below this
/// even where the series goes up and down as slowly as it is long, of which blocks see a part only.
const VISIBLE_RELAXATION: f64 = 2.0;

/// And in units of its standard error, if both halves have that of the second: the first one's holds what relaxes.
const SIGNIFICANT: f64 = 2.0;

/// Samples in each half below which errors are too uncertain.
const FEWEST_SAMPLES: usize = 64;

/// Means of the halves of a series that relaxes; `None` if it does not, or if its samples are too few to tell.
///
/// The means differ by more than twice the standard deviation of the second half's samples, and by more than two standard
/// errors.
pub fn relaxing_halves(series: &[f64]) -> Option<[f64; 2]> {
    let (first, second) = series.split_at(series.len() / 2);
    if first.len() < FEWEST_SAMPLES {
        return None;
    }
    let scatter = second.population_std_dev();
    let (first, second) = (block_average(first), block_average(second));
    let apart = (first.value - second.value).abs();
    let relaxes =
        apart > VISIBLE_RELAXATION * scatter && apart > SIGNIFICANT * 2_f64.sqrt() * second.error;
    relaxes.then_some([first.value, second.value])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;

    /// x' = a x + sqrt(1 - a^2) g has unit variance and correlation time (1+a)/(1-a) samples.
    fn autoregressive(a: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut normal = Normal::new(seed);
        let mut x = normal.next();
        (0..count)
            .map(|_| {
                x = a * x + (1.0 - a * a).sqrt() * normal.next();
                x
            })
            .collect()
    }

    #[test]
    fn error_of_independent_samples_is_sigma_over_sqrt_n() {
        let mean = block_average(&autoregressive(0.0, 1 << 14, 1));
        let expected = 1.0 / f64::from(1 << 14).sqrt();
        // Of blocks of 32 or 64 values, of which there are 256 and more: 4 %, four times.
        assert!((0.84..1.16).contains(&(mean.error / expected)), "{}", mean.error / expected);
        assert!(mean.value.abs() < 4.0 * expected);
    }

    #[test]
    fn error_of_correlated_samples_counts_the_correlation_time() {
        let (a, count) = (0.95, 1 << 16);
        let mean = block_average(&autoregressive(a, count, 2));
        let expected = ((1.0 + a) / (1.0 - a) / count as f64).sqrt();
        // 256 blocks or so: 4 %, four times, and what truncation leaves.
        assert!((0.8..1.2).contains(&(mean.error / expected)), "{}", mean.error / expected);
    }

    /// Squares of displacements over windows of a random walk, each from the next origin, as of the longest lags of a
    /// correlation; 6 windows after each other.
    #[test]
    fn error_of_few_overlapping_windows_is_that_of_repeated_series() {
        let (origins, window, dimension, repeats) = (58, 9, 10, 1000);
        let mut normal = Normal::new(3);
        let found: Vec<Mean> = (0..repeats)
            .map(|_| {
                let mut squares = vec![0.0; origins];
                for _ in 0..dimension {
                    let mut walk = vec![0.0];
                    for step in 0..origins + window {
                        walk.push(walk[step] + normal.next());
                    }
                    for (origin, square) in squares.iter_mut().enumerate() {
                        *square += (walk[origin + window] - walk[origin]).powi(2);
                    }
                }
                block_average(&squares)
            })
            .collect();
        let expected = (dimension * window) as f64;
        let mean = |of: &dyn Fn(&Mean) -> f64| found.iter().map(of).sum::<f64>() / repeats as f64;
        let scatter = mean(&|mean| (mean.value - expected).powi(2)).sqrt();
        let error = mean(&|mean| mean.error.powi(2)).sqrt();
        assert!((0.9..1.1).contains(&(error / scatter)), "{error} for {scatter}");
        let beyond = mean(&|mean| f64::from((mean.value - expected).abs() > 3.5 * mean.error));
        assert!(beyond < 0.04, "{beyond} beyond 3.5 errors");
    }

    #[test]
    fn a_constant_has_no_error_and_few_samples_no_estimate() {
        assert_eq!(block_average(&[2.5; 100]).error, 0.0);
        assert!(block_average(&[1.0, 2.0]).error.is_nan());
        assert!(block_average(&[]).value.is_nan());
    }

    #[test]
    fn what_decays_relaxes_and_what_fluctuates_slowly_does_not() {
        let mut alarms = 0;
        for seed in 0..200 {
            // As long as ten correlation times: one in 300 by chance.
            let series = autoregressive(0.99, 2000, seed);
            alarms += usize::from(relaxing_halves(&series).is_some());
            let decays =
                series.iter().zip(0..).map(|(x, k)| x + 20.0 * (-f64::from(k) / 600.0).exp());
            let decays: Vec<f64> = decays.collect();
            let [first, second] = relaxing_halves(&decays).expect("it relaxes");
            assert!(first > second);
        }
        assert!(alarms < 4, "{alarms}");
        assert_eq!(relaxing_halves(&[1.0, 0.0]), None);
    }
}
