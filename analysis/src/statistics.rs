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

/// Difference between the means of a series' halves, in units of the scatter of single samples. In equilibrium it is below this
/// even where the series goes up and down as slowly as it is long, which block averages do not see: they find the halves of a
/// stage of ten relaxation times five errors apart.
const VISIBLE_RELAXATION: f64 = 2.0;

/// And in units of its standard error.
const SIGNIFICANT: f64 = 4.0;

/// Samples in each half below which errors are too uncertain.
const FEWEST_SAMPLES: usize = 64;

/// Means of the halves of a series that relaxes; `None` if it does not, or if its samples are too few to tell.
///
/// The means differ by more than twice the standard deviation of the second half's samples, and by more than four of their
/// standard errors.
pub fn relaxing_halves(series: &[f64]) -> Option<[f64; 2]> {
    let (first, second) = series.split_at(series.len() / 2);
    if first.len() < FEWEST_SAMPLES {
        return None;
    }
    let scatter = second.population_std_dev();
    let (first, second) = (block_average(first), block_average(second));
    let apart = (first.value - second.value).abs();
    let relaxes = apart > VISIBLE_RELAXATION * scatter
        && apart > SIGNIFICANT * first.error.hypot(second.error);
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
