//! Diffusion coefficient from the velocity autocorrelation.
use super::Estimate;
use super::covariance::error_of_sum;

/// Noise takes over where the mean of `(C / error)^2` over a factor two of time is below this.
const NOISE: f64 = 2.0;
/// Where no noise is seen, the function has decayed if its root mean square over the second half of the lags is below
/// this, in units of `C(0)`.
const DECAYED: f64 = 0.01;
/// `C` at the first lag, in units of `C(0)`, above which the lags resolve its decay.
const RESOLVED: f64 = 0.5;
/// Spacings of lags are the same within this fraction.
const SAME_SPACING: f64 = 1e-6;

/// A diffusion coefficient from a velocity autocorrelation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GreenKubo {
    /// `D`.
    pub coefficient: Estimate,
    /// Upper limit of the integral.
    pub to: f64,
}

/// Why there is no coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoGreenKubo {
    /// Fewer than three equally spaced lags from zero on.
    TooFew,
    /// The decay is over before the second lag.
    NotResolved,
    /// The function has not decayed where equally spaced lags end: at this time.
    NotDecayed(f64),
}

/// Green-Kubo integral `D = (1/d) int_0^t C(t') dt'` of `C(t) = <v(0) . v(t)>` in `d` dimensions by the trapezoidal
/// rule, which for an even function that is smooth and decays is exact except for terms that fall exponentially with the
/// number of lags in its decay. It goes over the lags that are equally spaced from zero on (the finest level
/// of a blocking scheme), up to twice the time at which noise takes over: from which on, over a factor two of time, `C`
/// is no larger than its errors. What is missing is then less than the error.
///
/// Points share their noise. Its correlation is taken as that of a Gaussian process at long lags,
/// `rho(s) = int C(u) C(u + s) du / int C(u)^2 du` (Bartlett, J. R. Stat. Soc. Suppl. 8, 27 (1946)).
///
/// # Errors
/// If the lags do not hold the decay.
pub fn green_kubo(
    time: &[f64],
    value: &[f64],
    error: &[f64],
    dimension: usize,
) -> Result<GreenKubo, NoGreenKubo> {
    let count = equally_spaced(time, value);
    if count < 3 {
        return Err(NoGreenKubo::TooFew);
    }
    let (time, value) = (&time[..count], &value[..count]);
    if value[1] < RESOLVED * value[0] {
        return Err(NoGreenKubo::NotResolved);
    }
    let end = match end_of_signal(value, error) {
        Some(end) => end,
        None => {
            let late = &value[count / 2..];
            let mean_square = late.iter().map(|c| c * c).sum::<f64>() / late.len() as f64;
            if mean_square.sqrt() > DECAYED * value[0] {
                return Err(NoGreenKubo::NotDecayed(time[count - 1]));
            }
            count - 1
        }
    };
    green_kubo_to(time, value, error, dimension, time[end]).ok_or(NoGreenKubo::TooFew)
}

/// As [`green_kubo`], up to a time that is given.
pub fn green_kubo_to(
    time: &[f64],
    value: &[f64],
    error: &[f64],
    dimension: usize,
    to: f64,
) -> Option<GreenKubo> {
    let spacing = time.get(1)? - time[0];
    let end = (to / spacing).round() as usize;
    if end < 2 || equally_spaced(time, value) <= end {
        return None;
    }
    let weight = |k: usize| {
        let half = if k == 0 || k == end { 0.5 } else { 1.0 };
        half * spacing / dimension as f64
    };
    let integral = (0..=end).map(|k| weight(k) * value[k]).sum();
    let errors: Option<Vec<f64>> =
        (0..=end).map(|k| error.get(k).copied().filter(|error| error.is_finite())).collect();
    let error = errors.map_or(f64::NAN, |errors| {
        let rho = correlation_of_noise(&value[..=end]);
        let parts: Vec<f64> = (0..=end).map(|k| weight(k) * errors[k]).collect();
        error_of_sum(&parts, |i, j| rho[i.abs_diff(j)])
    });
    Some(GreenKubo { coefficient: Estimate { value: integral, error }, to: time[end] })
}

/// Number of finite points from time zero on with the spacing of the first two.
fn equally_spaced(time: &[f64], value: &[f64]) -> usize {
    let (Some(&[zero, first]), true) = (time.first_chunk::<2>(), value.len() == time.len()) else {
        return 0;
    };
    if zero != 0.0 || !(first > 0.0) {
        return 0;
    }
    let expected = |k: usize| k as f64 * first;
    let same = |k: usize| (time[k] - expected(k)).abs() <= SAME_SPACING * expected(k);
    (0..time.len()).take_while(|&k| same(k) && value[k].is_finite()).count()
}

/// The end of the first factor two of time over which there is only noise.
fn end_of_signal(value: &[f64], error: &[f64]) -> Option<usize> {
    let ratio2 = |k: usize| (value[k] / error.get(k).copied().unwrap_or(f64::NAN)).powi(2);
    let is_noise = |k: &usize| {
        let window = *k..=2 * k;
        let count = window.clone().count() as f64;
        window.map(ratio2).sum::<f64>() / count < NOISE
    };
    (2..=(value.len() - 1) / 2).find(is_noise).map(|first| 2 * first)
}

/// `rho` at multiples of the spacing.
fn correlation_of_noise(value: &[f64]) -> Vec<f64> {
    let last = value.len() as i64 - 1;
    let at = |k: i64| value.get(k.unsigned_abs() as usize).copied().unwrap_or(0.0);
    let product = |shift: i64| (-last..=last).map(|k| at(k) * at(k + shift)).sum::<f64>();
    let square = product(0);
    (0..=last).map(|shift| product(shift) / square).collect()
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::*;
    use crate::correlation::tests::Normal;

    /// That of a damped oscillation with a back flow, even and smooth; its integral over all positive times.
    fn smooth(t: f64) -> f64 {
        3.0 * (-t * t / 0.02).exp() - 0.5 * (-t * t / 0.3).exp()
    }

    fn integral() -> f64 {
        let half_root = 0.5 * std::f64::consts::PI.sqrt();
        half_root * (3.0 * 0.02_f64.sqrt() - 0.5 * 0.3_f64.sqrt())
    }

    #[test]
    fn the_integral_of_a_smooth_decay_is_exact() {
        for spacing in [0.01, 0.04] {
            let mut time: Vec<f64> =
                (0..(4.0 / spacing) as u32).map(|k| f64::from(k) * spacing).collect();
            // The next level of a blocking scheme is not integrated over.
            time.extend([5.0, 9.0, 13.0]);
            let value: Vec<f64> = time.iter().map(|&t| smooth(t)).collect();
            for dimension in [2, 3] {
                let found = green_kubo(&time, &value, &[], dimension).unwrap();
                let expected = integral() / dimension as f64;
                assert!((found.coefficient.value - expected).abs() < 1e-7, "{spacing} {found:?}");
                assert!(found.to <= 4.0 && found.coefficient.error.is_nan(), "{found:?}");
            }
        }
    }

    #[test]
    fn lags_that_do_not_hold_the_decay_are_reported() {
        let times = |spacing: f64, count: u32| -> Vec<f64> {
            (0..count).map(|k| f64::from(k) * spacing).collect()
        };
        let of = |time: &[f64]| {
            let value: Vec<f64> = time.iter().map(|t| (-t).exp()).collect();
            green_kubo(time, &value, &[], 3)
        };
        assert_eq!(of(&times(0.1, 2)), Err(NoGreenKubo::TooFew));
        assert_eq!(of(&[0.1, 0.2, 0.3]), Err(NoGreenKubo::TooFew), "no lag zero");
        assert_eq!(of(&times(1.0, 30)), Err(NoGreenKubo::NotResolved));
        assert!(
            matches!(of(&times(0.1, 20)), Err(NoGreenKubo::NotDecayed(t)) if (t - 1.9).abs() < 1e-9)
        );
        assert!(of(&times(0.1, 100)).is_ok());
    }

    /// Ornstein-Uhlenbeck processes of unit variance and time: `C = exp(-t)`, `D = 1`.
    #[test]
    fn errors_are_those_of_repeated_measurements() {
        const LAGS: usize = 100;
        const SAMPLES: usize = 4000;
        let spacing = 0.1_f64;
        let (keep, mut normal) = ((-spacing).exp(), Normal::new(5));
        let mut measure = || -> Vec<f64> {
            let mut v = normal.next();
            let velocity: Vec<f64> = (0..SAMPLES)
                .map(|_| {
                    v = keep * v + (1.0 - keep * keep).sqrt() * normal.next();
                    v
                })
                .collect();
            let origins = SAMPLES - LAGS;
            let product = |lag: usize| {
                (0..origins).map(|k| velocity[k] * velocity[k + lag]).sum::<f64>() / origins as f64
            };
            (0..LAGS).map(product).collect()
        };
        let measured: Vec<Vec<f64>> = (0..150).map(|_| measure()).collect();
        let error = |lag: usize| {
            let square = |c: &Vec<f64>| (c[lag] - (-spacing * lag as f64).exp()).powi(2);
            (measured.iter().map(square).sum::<f64>() / measured.len() as f64).sqrt()
        };
        let errors: Vec<f64> = (0..LAGS).map(error).collect();
        let time: Vec<f64> = (0..LAGS).map(|lag| spacing * lag as f64).collect();
        let mut pulls = Pulls::default();
        for value in &measured {
            // To four decay times: 2 % are missing.
            let found = green_kubo_to(&time, value, &errors, 1, 4.0).unwrap();
            pulls.add(found.coefficient, 1.0 - (-4.0_f64).exp());
        }
        let variance = pulls.mean_square();
        assert!((0.6..1.5).contains(&variance), "{variance}");
        // Noise takes over somewhere after the decay.
        let found = measured.iter().filter_map(|c| green_kubo(&time, c, &errors, 1).ok());
        let ends: Vec<f64> = found.map(|found| found.to).collect();
        assert!(ends.len() > 140 && ends.iter().all(|&to| to > 1.6), "{ends:?}");
    }
}
