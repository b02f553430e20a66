//! Ratios of means, which are no means of ratios.
use crate::Result;
use crate::results::{ResultsFile, TimeSeries};
use crate::slow::mean_from;
use crate::statistics::Mean;

/// The time series whose finished value is the ratio of the means of two others.
pub(crate) const NAME: &str = "configurational_temperature";
const NUMERATOR: &str = "squared_force";
const DENOMINATOR: &str = "laplacian";

/// `<squared_force> / <laplacian>` with its error; `None` if the file does not have them.
pub(crate) fn of_configurational_temperature(
    file: &ResultsFile,
    relaxation: Option<f64>,
) -> Result<Option<Mean>> {
    let Some(numerator) = file.observable(NUMERATOR)? else { return Ok(None) };
    let Some(denominator) = file.observable(DENOMINATOR)? else { return Ok(None) };
    Ok(Some(of_means(numerator, &denominator, relaxation)))
}

/// `R = <a> / <b>`. To first order in fluctuations its error is that of the mean of `R + (a - R b) / <b>`, a series with all
/// correlations of both, in time and with each other.
fn of_means(numerator: TimeSeries, denominator: &TimeSeries, relaxation: Option<f64>) -> Mean {
    let pairs = || numerator.value.iter().zip(&denominator.value);
    let [over, under] = pairs().fold([0.0; 2], |[over, under], (a, b)| [over + a, under + b]);
    let ratio = over / under;
    let mean_under = under / pairs().count() as f64;
    let value = pairs().map(|(a, b)| ratio + (a - ratio * b) / mean_under).collect();
    let linear = TimeSeries { name: NAME.to_owned(), value, ..numerator };
    Mean { value: ratio, ..mean_from(&linear, 0, relaxation) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;

    /// Means 600 and 300, with noise that both have and noise of each. The mean of the ratios is above 2 by 0.036, nine errors; without
    /// the correlation of the two the error would be twice as large. The root mean square of 400 values is uncertain
    /// by 4 %, that of errors from few blocks by as much.
    #[test]
    fn a_ratio_of_means_has_its_own_error() {
        let mut normal = Normal::new(7);
        let squares: f64 = (0..400)
            .map(|_| {
                let (mut a, mut b) = (TimeSeries::default(), TimeSeries::default());
                for _ in 0..256 {
                    let common = 60.0 * normal.next();
                    a.value.push(600.0 + 2.0 * common + 40.0 * normal.next());
                    b.value.push(300.0 + common + 40.0 * normal.next());
                }
                let found = of_means(a, &b, None);
                ((found.value - 2.0) / found.error).powi(2)
            })
            .sum();
        let rms = (squares / 400.0).sqrt();
        assert!((0.85..1.15).contains(&rms), "{rms}");
    }

    #[test]
    fn a_proportional_denominator_leaves_no_error() {
        let a = TimeSeries {
            value: (0..64).map(|k| 3.0 + f64::from(k % 5)).collect(),
            ..TimeSeries::default()
        };
        let b = TimeSeries { value: a.value.iter().map(|a| 0.5 * a).collect(), ..a.clone() };
        let found = of_means(a, &b, None);
        assert!(found.value == 2.0 && found.error < 1e-12, "{found:?}");
    }
}
