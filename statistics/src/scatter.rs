//! Means over independent runs, with errors from their scatter.

/// Runs whose scatter gives an error of which deviations have a mean square: of fewer, Student's distribution has no variance.
pub const FEWEST_RUNS: usize = 4;

/// Quantile 0.841 of Student's distribution with one and with two degrees of freedom: of two and of three runs, the mean lies
/// within this times `scatter / R^(1/2)` as often as within one standard deviation of a normal distribution.
const OF_TWO: f64 = 1.837;
const OF_THREE: f64 = 1.321;

/// Standard error of a mean over runs by their scatter alone, in units of `scatter / R^(1/2)`: root of the variance of
/// Student's distribution with `R - 1` degrees of freedom, so that deviations over errors have a mean square of 1.
pub fn student(runs: usize) -> f64 {
    let runs = runs as f64;
    ((runs - 1.0) / (runs - 3.0)).sqrt()
}

/// The same for any number of runs: of two and three, which have no such variance, what makes the error as wide as a
/// confidence interval of 68 %. NaN for one.
pub fn widening(runs: usize) -> f64 {
    match runs {
        0 | 1 => f64::NAN,
        2 => OF_TWO,
        3 => OF_THREE,
        _ => student(runs),
    }
}

/// Mean of independent values, and its standard error by their scatter: `scatter R^(-1/2)` times the [`widening`]. NaN for a
/// single value.
pub fn mean_and_error(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (count, sum) = values.clone().fold((0, 0.0), |(count, sum), x| (count + 1, sum + x));
    let mean = sum / f64::from(count);
    let squares: f64 = values.map(|x| (x - mean).powi(2)).sum();
    let plain = (squares / (f64::from(count) * (f64::from(count) - 1.0))).sqrt();
    (mean, plain * widening(count as usize))
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, StudentsT};

    use super::*;

    #[test]
    fn intervals_of_two_and_three_runs_hold_68_per_cent() {
        for (runs, wide) in [(2, OF_TWO), (3, OF_THREE)] {
            let student = StudentsT::new(0.0, 1.0, f64::from(runs - 1)).unwrap();
            assert!((student.cdf(wide) - student.cdf(-wide) - 0.6827).abs() < 2e-4, "{runs}");
        }
    }

    #[test]
    fn errors_come_from_the_scatter() {
        let (mean, error) = mean_and_error([0.0, 1.0, 2.0, 3.0].into_iter());
        assert_eq!(mean, 1.5);
        assert!((error - (5.0 / 3.0 / 4.0 * 3.0_f64).sqrt()).abs() < 1e-14, "{error}");
        assert!(mean_and_error([2.0].into_iter()).1.is_nan());
        let (_, of_two) = mean_and_error([0.0, 2.0].into_iter());
        assert!((of_two - OF_TWO).abs() < 1e-14, "{of_two}");
    }
}
