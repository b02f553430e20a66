//! The moduli of a stage that is sheared back and forth.
//!
//! With the strain `g sin(omega t)` the stress of the linear response is `s_xy = g [G' sin(omega t) + G'' cos(omega t)]`. Both are
//! fitted to each whole period, by least squares beside a constant; the mean over periods has their scatter for an error. Beyond
//! the linear response they are those of the first harmonic.
use std::f64::consts::TAU;

use nalgebra::{Matrix3, Vector3};

use crate::Result;
use crate::fit::Estimate;
use crate::results::{ResultsFile, TimeSeries};

/// Of a stage under oscillatory shear.
#[derive(Clone, Debug, PartialEq)]
pub struct Oscillation {
    /// Of the strain.
    pub amplitude: f64,
    /// In time.
    pub period: f64,
    /// Whole ones of the stage.
    pub periods: usize,
    /// `None` where a period has fewer than [`FEWEST_SAMPLES`], or the stage no whole one. Errors are NaN of fewer than
    /// [`FEWEST_PERIODS`].
    pub moduli: Option<Moduli>,
}

/// Storage and loss modulus, in units of the stress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moduli {
    /// `G'`.
    pub storage: Estimate,
    /// `G''`.
    pub loss: Estimate,
    /// Those of the first and the last half of the periods differ by more than three errors: the stage does not begin in the steady
    /// oscillation.
    pub is_drifting: bool,
}

/// Of a period.
pub const FEWEST_SAMPLES: usize = 5;
/// With errors.
pub const FEWEST_PERIODS: usize = 4;

impl Oscillation {
    /// `None` where the stage has no oscillation, or no samples.
    pub fn of(file: &ResultsFile) -> Result<Option<Oscillation>> {
        let (Some([amplitude, period]), Some(stress)) =
            (strain(file), file.observable("shear_stress")?)
        else {
            return Ok(None);
        };
        Ok((!stress.value.is_empty()).then(|| of_series(&stress, amplitude, period)))
    }
}

/// Amplitude and period.
fn strain(file: &ResultsFile) -> Option<[f64; 2]> {
    let shear = &file.stage_plan()?["shear"];
    Some([shear["amplitude"].as_f64()?, shear["period"].as_f64()?])
}

fn of_series(stress: &TimeSeries, amplitude: f64, period: f64) -> Oscillation {
    let start = stress.time[0];
    let at = |time: f64| (time - start) / period;
    // A sample at the end of a period counts as one of the next.
    let index = |time: f64| (at(time) + 1e-9) as usize;
    let periods = index(stress.time[stress.time.len() - 1]);
    let samples: Vec<(f64, f64)> =
        stress.time.iter().zip(&stress.value).map(|(&time, &value)| (time, value)).collect();
    let fits: Option<Vec<[f64; 2]>> = samples
        .chunk_by(|one, other| index(one.0) == index(other.0))
        .take(periods)
        .map(|of_period| fit(of_period.iter().map(|&(time, value)| (at(time), value / amplitude))))
        .collect();
    let moduli = fits.filter(|fits| !fits.is_empty()).map(|fits| {
        let [storage, loss] = [0, 1].map(|part| mean(fits.iter().map(|fit| fit[part])));
        let (first, second) = fits.split_at(fits.len() / 2);
        let differs = |part: usize| {
            let [first, second] =
                [first, second].map(|half| mean(half.iter().map(|fit| fit[part])));
            (first.value - second.value).abs() > 3.0 * first.error.hypot(second.error)
        };
        Moduli { storage, loss, is_drifting: differs(0) || differs(1) }
    });
    Oscillation { amplitude, period, periods, moduli }
}

/// Amplitudes of sine and cosine, of samples at phases in turns.
fn fit(samples: impl Iterator<Item = (f64, f64)>) -> Option<[f64; 2]> {
    let (mut matrix, mut right, mut count) = (Matrix3::zeros(), Vector3::zeros(), 0);
    for (phase, value) in samples {
        let (sine, cosine) = (TAU * phase).sin_cos();
        let row = Vector3::new(1.0, sine, cosine);
        matrix += row * row.transpose();
        right += row * value;
        count += 1;
    }
    let found = matrix.cholesky().filter(|_| count >= FEWEST_SAMPLES)?.solve(&right);
    Some([found[1], found[2]])
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> Estimate {
    let count = values.clone().count() as f64;
    let value = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|of| (of - value).powi(2)).sum();
    let error = (squares / (count * (count - 1.0))).sqrt();
    Estimate { value, error: if count < FEWEST_PERIODS as f64 { f64::NAN } else { error } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;

    fn series(periods: f64, stress: impl Fn(f64) -> f64) -> TimeSeries {
        let mut normal = Normal::new(9);
        let time: Vec<f64> =
            (0..(periods * 20.0) as usize + 1).map(|k| 3.0 + 0.1 * k as f64).collect();
        let value = time.iter().map(|time| stress(time - 3.0) + 0.2 * normal.next()).collect();
        TimeSeries { time, value, ..TimeSeries::default() }
    }

    #[test]
    fn moduli_of_a_noisy_response_are_found_within_their_errors_and_a_start_is_flagged() {
        let omega = TAU / 2.0;
        let response = |t: f64| 0.7 + 0.05 * (20.0 * (omega * t).sin() + 4.0 * (omega * t).cos());
        let found = of_series(&series(200.5, response), 0.05, 2.0);
        assert_eq!(found.periods, 200);
        let moduli = found.moduli.unwrap();
        // Of 20 samples with noise of 0.2 each period has sqrt(2/20) 0.2 / 0.05.
        let expected = 0.2 / 0.05 * (0.1f64).sqrt() / 200f64.sqrt();
        for (of, value) in [(moduli.storage, 20.0), (moduli.loss, 4.0)] {
            assert!((of.error / expected - 1.0).abs() < 0.2, "{of:?} {expected}");
            assert!((of.value - value).abs() < 4.0 * of.error, "{of:?}");
        }
        assert!(!moduli.is_drifting);
        let softening = |t: f64| response(t) * (-t / 100.0).exp();
        assert!(of_series(&series(200.0, softening), 0.05, 2.0).moduli.unwrap().is_drifting);
        assert!(of_series(&series(3.0, response), 0.05, 2.0).moduli.unwrap().loss.error.is_nan());
        assert_eq!(of_series(&series(0.9, response), 0.05, 2.0).moduli, None);
        assert_eq!(of_series(&series(9.0, response), 0.05, 0.4).moduli, None);
    }
}
