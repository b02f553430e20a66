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

/// Fewest blocks that an error is taken from.
const FEWEST_BLOCKS: usize = 16;

/// Mean and standard error by block averaging (Flyvbjerg & Petersen, J. Chem. Phys. 91, 461 (1989)).
///
/// Neighbours are averaged pairwise again and again; at every level the naive error
/// `sqrt(var / (n - 1))`, with `var` the population variance of the `n` blocks, is a lower bound. It
/// grows until blocks are longer than the correlation time. The largest over levels of at least 16
/// blocks is taken (of all levels, if the series is shorter than 32).
pub fn block_average(series: &[f64]) -> Mean {
    let count = series.len();
    let value = if count == 0 { f64::NAN } else { series.iter().sum::<f64>() / count as f64 };
    if count < 4 {
        return Mean { value, error: f64::NAN, count };
    }
    let fewest = if count < 2 * FEWEST_BLOCKS { 4 } else { FEWEST_BLOCKS };
    let mut blocks = series.to_vec();
    let mut error = 0.0_f64;
    while blocks.len() >= fewest {
        let variance = (&blocks).population_variance();
        error = error.max((variance / (blocks.len() - 1) as f64).sqrt());
        blocks = blocks.chunks_exact(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    }
    Mean { value, error, count }
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
        // The largest of ~10 levels exceeds the naive one by at most the error of the coarsest
        // level, 1/sqrt(2*15) = 18 %, twice or so.
        assert!((0.95..1.6).contains(&(mean.error / expected)), "{}", mean.error / expected);
        assert!(mean.value.abs() < 4.0 * expected);
    }

    #[test]
    fn error_of_correlated_samples_counts_the_correlation_time() {
        let (a, count) = (0.95, 1 << 16);
        let mean = block_average(&autoregressive(a, count, 2));
        let expected = ((1.0 + a) / (1.0 - a) / count as f64).sqrt();
        assert!((0.8..1.6).contains(&(mean.error / expected)), "{}", mean.error / expected);
    }

    #[test]
    fn a_constant_has_no_error_and_few_samples_no_estimate() {
        assert_eq!(block_average(&[2.5; 100]).error, 0.0);
        assert!(block_average(&[1.0, 2.0]).error.is_nan());
        assert!(block_average(&[]).value.is_nan());
    }
}
