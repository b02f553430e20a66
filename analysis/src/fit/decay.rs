//! Relaxation of a self-intermediate scattering function.
use super::line::local_slopes;
use super::{Estimate, Points, least_squares};

/// Where a function falls to a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The time; error NaN if the points have none.
    pub time: Estimate,
    /// Times of the two points around it.
    pub from: f64,
    /// See `from`.
    pub to: f64,
}

/// First time at which `f` falls to `level`, by linear interpolation in `ln t` between the two
/// points around it. `None` if it never does, or has done so at the first point.
///
/// With `level = 1/e` and the self-intermediate scattering function this is the usual `tau_alpha`.
///
/// Its error is that of `f` at the crossing over the slope, `sigma_ln(t) = sigma_f / |df/d ln t|`, where
/// `sigma_f` is interpolated like `f`: neighbours on a logarithmic grid are strongly correlated. If they
/// were independent it would be too large, by up to a factor `2^(1/2)`.
pub fn time_of_decay(time: &[f64], f: &[f64], error: &[f64], level: f64) -> Option<Crossing> {
    let points = Points::new(time, f, error);
    let Points { x, y, error, .. } = &points;
    let k = (0..points.len()).find(|&k| y[k] <= level).filter(|&k| k > 0)?;
    let fraction = (y[k - 1] - level) / (y[k - 1] - y[k]);
    let octave = (x[k] / x[k - 1]).ln();
    let error_of_f = (1.0 - fraction) * error[k - 1] + fraction * error[k];
    let logarithm = x[k - 1].ln() + fraction * octave;
    let relative =
        if points.errors_known { error_of_f * octave / (y[k - 1] - y[k]) } else { f64::NAN };
    Some(Crossing { time: Estimate::exp(logarithm, relative), from: x[k - 1], to: x[k] })
}

/// Kohlrausch, Williams and Watts: `A exp(-(t/tau)^beta)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StretchedExponential {
    /// `A`: height of the plateau.
    pub amplitude: Estimate,
    /// `tau`.
    pub time: Estimate,
    /// `beta`.
    pub exponent: Estimate,
    /// Range of time that was used.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// Per degree of freedom.
    pub reduced_chi_squared: f64,
}

impl StretchedExponential {
    /// The fitted curve.
    pub fn at(&self, t: f64) -> f64 {
        self.amplitude.value * (-(t / self.time.value).powf(self.exponent.value)).exp()
    }
}

/// Least-squares fit over `from <= t <= to` (see [`decay_window`]). `None` below five points or where
/// they do not determine the parameters.
pub fn stretched_exponential(
    time: &[f64],
    f: &[f64],
    error: &[f64],
    from: f64,
    to: f64,
) -> Option<StretchedExponential> {
    let points = Points::new(time, f, error).between(from, to);
    if points.len() < 5 {
        return None;
    }
    let model = |p: &[f64; 3], t: f64| p[0] * (-(p[2].exp() * (t.ln() - p[1])).exp()).exp();
    let amplitude = points.y[0];
    let middle = time_of_decay(time, f, error, (-1.0_f64).exp() * amplitude)
        .map_or(points.x[points.len() / 2], |crossing| crossing.time.value);
    let fit = least_squares(&points, model, [amplitude, middle.ln(), 0.8_f64.ln()])?;
    let exponentiated = |index: usize| {
        let logarithm = fit.parameter(index);
        Estimate::exp(logarithm.value, logarithm.error)
    };
    Some(StretchedExponential {
        amplitude: fit.parameter(0),
        time: exponentiated(1),
        exponent: exponentiated(2),
        from: points.x[0],
        to: points.x[points.len() - 1],
        reduced_chi_squared: fit.reduced_chi_squared,
    })
}

/// Range of time of the final decay, `None` if `f` does not fall to 1/2.
///
/// From the inflection of the plateau, where `-df/d ln t` is least before the final decay; without a
/// plateau from `f <= 0.7` on. To the last point before `f` falls to 0.02 or to twice its error.
pub fn decay_window(time: &[f64], f: &[f64], error: &[f64]) -> Option<(f64, f64)> {
    let points = Points::new(time, f, error);
    let Points { x, y, error, errors_known } = &points;
    let rate: Vec<f64> = local_slopes(&points).iter().map(|slope| -slope.value).collect();
    let below = |level: f64| (0..points.len()).find(|&k| y[k] <= level);
    let half = below(0.5).filter(|&k| k > 0)?;
    let tenth = below(0.1).unwrap_or(points.len()).max(half + 1);
    let steepest = (half..tenth).max_by(|&a, &b| rate[a].total_cmp(&rate[b]))?;
    let mut flattest = steepest;
    let mut plateau = false;
    for k in (0..steepest).rev() {
        if rate[k] < rate[flattest] {
            flattest = k;
        } else if rate[k] > rate[flattest] + 0.1 * rate[steepest] {
            plateau = true;
            break;
        }
    }
    let first = if plateau { flattest } else { below(0.7)? };
    let noise = |k: usize| if *errors_known { 2.0 * error[k] } else { 0.0 };
    let end = (half..points.len()).find(|&k| y[k] <= noise(k).max(0.02)).unwrap_or(points.len());
    (first < end).then(|| (x[first], x[end - 1]))
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::*;
    use crate::correlation::tests::Normal;

    const LEVEL: f64 = 1.0 / std::f64::consts::E;

    fn log_times() -> Vec<f64> {
        (0..61).map(|k| 1e-2 * 10_f64.powf(f64::from(k) / 10.0)).collect()
    }

    /// A fast decay from 1 to `a` around t = 0.1, then a stretched exponential.
    fn two_steps(t: f64, a: f64, tau: f64, beta: f64) -> f64 {
        (a + (1.0 - a) * (-(t / 0.1).powi(2)).exp()) * (-(t / tau).powf(beta)).exp()
    }

    #[test]
    fn relaxation_time_of_a_function_linear_in_the_logarithm_is_exact() {
        let time = log_times();
        let f: Vec<f64> = time.iter().map(|t| 0.5 - 0.1 * t.ln()).collect();
        let expected = ((0.5 - LEVEL) / 0.1).exp();
        let found = time_of_decay(&time, &f, &[0.002; 61], LEVEL).unwrap();
        assert!((found.time.value / expected - 1.0).abs() < 1e-12);
        assert!((found.time.error / expected - 0.02).abs() < 1e-12);
        assert!(found.from <= expected && expected <= found.to);
    }

    #[test]
    fn what_never_decays_has_no_relaxation_time() {
        assert_eq!(time_of_decay(&log_times(), &[0.9; 61], &[], 0.5), None);
        assert_eq!(time_of_decay(&[], &[], &[], 0.5), None);
        assert_eq!(decay_window(&log_times(), &[0.9; 61], &[0.1; 61]), None);
        assert_eq!(decay_window(&[], &[], &[]), None);
    }

    #[test]
    fn noise_of_what_has_decayed_before_the_first_point_is_no_relaxation_time() {
        let time = log_times();
        let noise: Vec<f64> = (0..61).map(|k| 0.3 + 0.1 * f64::from(k % 2)).collect();
        assert_eq!(time_of_decay(&time, &noise, &[0.1; 61], LEVEL), None);
    }

    /// Noise common to neighbours: unit variance. Independent noise: an error too large by less than
    /// `2^(1/2)`.
    #[test]
    fn errors_of_the_relaxation_time_are_those_of_repeated_measurements() {
        let time = log_times();
        let truth: Vec<f64> = time.iter().map(|t| 0.5 - 0.1 * t.ln()).collect();
        let expected = ((0.5 - LEVEL) / 0.1).exp();
        let (mut common, mut independent, mut normal) =
            (Pulls::default(), Pulls::default(), Normal::new(5));
        for _ in 0..400 {
            let shift = normal.next();
            let noisy: [Vec<f64>; 2] = [
                truth.iter().map(|f| f + 0.001 * shift).collect(),
                truth.iter().map(|f| f + 0.001 * normal.next()).collect(),
            ];
            let found = noisy.map(|f| time_of_decay(&time, &f, &[0.001; 61], LEVEL).unwrap().time);
            common.add(found[0], expected);
            independent.add(found[1], expected);
        }
        common.have_unit_variance("tau");
        let variance = independent.mean_square();
        assert!((0.4..1.1).contains(&variance), "{variance}");
    }

    #[test]
    fn the_window_begins_on_the_plateau_and_ends_with_the_decay() {
        let time = log_times();
        let f: Vec<f64> = time.iter().map(|&t| two_steps(t, 0.7, 1e3, 0.7)).collect();
        let (from, to) = decay_window(&time, &f, &[1e-3; 61]).unwrap();
        // Between the end of the fast decay and the beginning of the slow one.
        assert!((0.2..5.0).contains(&from), "{from}");
        assert!(two_steps(to, 0.7, 1e3, 0.7) > 0.02 && to > 4e3, "{to}");
        let f: Vec<f64> = time.iter().map(|&t| (-t / 10.0_f64).exp()).collect();
        let (from, _) = decay_window(&time, &f, &[1e-3; 61]).unwrap();
        assert!((3.56..4.6).contains(&from), "without a plateau from 0.7 on: {from}");
    }

    #[test]
    fn errors_of_a_stretched_exponential_are_those_of_repeated_measurements() {
        let time = log_times();
        let [a, tau, beta] = [0.72, 800.0, 0.63];
        let [mut amplitudes, mut times, mut exponents] = [(); 3].map(|()| Pulls::default());
        let mut normal = Normal::new(11);
        let truth: Vec<f64> = time.iter().map(|&t| two_steps(t, a, tau, beta)).collect();
        let error: Vec<f64> = time.iter().map(|t| 1e-3 + 1e-5 * t.sqrt()).collect();
        for _ in 0..300 {
            let f: Vec<f64> =
                truth.iter().zip(&error).map(|(f, e)| f + e * normal.next()).collect();
            let (from, to) = decay_window(&time, &f, &error).unwrap();
            assert!((0.2..20.0).contains(&from), "{from}");
            let found = stretched_exponential(&time, &f, &error, from, to).unwrap();
            amplitudes.add(found.amplitude, a);
            times.add(found.time, tau);
            exponents.add(found.exponent, beta);
        }
        amplitudes.have_unit_variance("A");
        times.have_unit_variance("tau");
        exponents.have_unit_variance("beta");
    }
}
