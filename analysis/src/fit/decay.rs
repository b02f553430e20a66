//! Relaxation of a self-intermediate scattering function.
use super::covariance::of_walk;
use super::least_squares::with_correlated_noise;
use super::line::local_slopes;
use super::{Estimate, Points, least_squares, time_of_decay};

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

/// Least-squares fit over `from <= t <= to` (see [`final_decay`]). `None` below five points or where
/// they do not determine the parameters.
///
/// Points share their noise, as those of a displacement do, and have its correlation for the errors: that of a random
/// walk, less where the points scatter as independent ones do (`with_correlated_noise`). In 28 runs (Kob-Andersen, 1,000 particles, T = 0.7, 56 relaxation times) the point where F_s is 0.4 had the
/// correlations 0.46, 0.86 and 0.90 with those at a tenth, a third and 3.3 times of its time; the walk has 0.46, 0.77, 0.74.
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
    let fit = with_correlated_noise(&fit, &points, model, of_walk);
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
    // Noise of the decay itself may look like a plateau.
    let mut flattest = half;
    let mut plateau = false;
    for k in (0..half).rev() {
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

/// As [`decay_window`], but begun where no later beginning changes the parameters of the [`stretched_exponential`] by more
/// than two and a half standard errors of the difference (see [`diffusion`](super::diffusion())): early points have the smallest errors
/// and would decide them though what comes before the final decay is not over there. The last beginning that is tried is
/// 0.35 of the time at which `f` falls to 1/e of what it begins with: later ones leave the amplitude open.
///
/// Root mean squares of deviations of synthetic curves over errors, with walks' noise, independent noise and both: 0.85 to 1.15
/// (the choice of the window included).
pub fn final_decay(time: &[f64], f: &[f64], error: &[f64]) -> Option<(f64, f64)> {
    let (from, to) = decay_window(time, f, error)?;
    let points = Points::new(time, f, error).between(from, to);
    let Some(widest) = stretched_exponential(time, f, error, from, to) else {
        return Some((from, to));
    };
    if !points.errors_known {
        return Some((from, to));
    }
    let Some(decay) = time_of_decay(time, f, error, (-1.0_f64).exp() * points.y[0]) else {
        return Some((from, to));
    };
    let latest = LATEST * decay.time.value;
    let later = points.x.iter().filter(|&&begin| begin > from && begin <= latest);
    let mut fits = vec![widest];
    fits.extend(later.filter_map(|&begin| stretched_exponential(time, f, error, begin, to)));
    let parameters = |fit: &StretchedExponential| [fit.amplitude, fit.time, fit.exponent];
    let consistent = |k: &usize| {
        fits[k + 1..].iter().all(|later| {
            parameters(later).iter().zip(parameters(&fits[*k])).all(|(later, one)| {
                let variance = (later.error.powi(2) - one.error.powi(2)).max(0.0);
                (later.value - one.value).powi(2)
                    <= CONSISTENT.powi(2) * variance + (1e-6 * one.value).powi(2)
            })
        })
    };
    let first = (0..fits.len()).find(consistent)?;
    Some((fits[first].from, to))
}

/// The last beginning of a final decay that is tried, over the time at which it has fallen to 1/e.
const LATEST: f64 = 0.35;
/// A later beginning may change the parameters by this number of standard errors of the difference.
const CONSISTENT: f64 = 2.5;

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::super::synthetic::{Walk, log_times, two_steps};
    use super::*;
    use crate::correlation::tests::Normal;

    #[test]
    fn what_never_decays_has_no_window() {
        assert_eq!(decay_window(&log_times(), &[0.9; 61], &[0.1; 61]), None);
        assert_eq!(decay_window(&[], &[], &[]), None);
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

    /// With the window that the data choose, for noise that is common to neighbors as a walk's, each point's own, and both.
    /// The rms of 400 values is uncertain by 4 %.
    #[test]
    fn errors_of_a_stretched_exponential_are_those_of_repeated_measurements() {
        let time = log_times();
        let walk = Walk::new(&time);
        for (a, tau, beta, error) in [(0.72, 800.0, 0.63, 0.003), (0.85, 50.0, 0.8, 0.005)] {
            let truth: Vec<f64> = time.iter().map(|&t| two_steps(t, a, tau, beta)).collect();
            let errors = vec![error; time.len()];
            for own in [0.0, 0.3, 1.0_f64] {
                let mut normal = Normal::new(7);
                let mut pulls = [(); 3].map(|()| Pulls::default());
                for _ in 0..400 {
                    let common = walk.next(&mut normal);
                    let noise = |common: f64, normal: &mut Normal| {
                        (1.0 - own).sqrt() * common + own.sqrt() * normal.next()
                    };
                    let f: Vec<f64> = truth
                        .iter()
                        .zip(common)
                        .map(|(f, common)| f + error * noise(common, &mut normal))
                        .collect();
                    let (from, to) = final_decay(&time, &f, &errors).unwrap();
                    let found = stretched_exponential(&time, &f, &errors, from, to).unwrap();
                    let parameters = [found.amplitude, found.time, found.exponent];
                    for ((pulls, found), truth) in
                        pulls.iter_mut().zip(parameters).zip([a, tau, beta])
                    {
                        pulls.add(found, truth);
                    }
                }
                for (pulls, name) in pulls.iter().zip(["A", "tau", "beta"]) {
                    pulls.are_calibrated(&format!("{name}, {own} of the noise each point's own"));
                }
            }
        }
    }

    /// Without a plateau between them, what comes before the final decay reaches far into it, with the smallest errors.
    #[test]
    fn what_comes_before_the_final_decay_is_left_out_of_it() {
        let time = log_times();
        let of = |t: f64| (0.7 + 0.3 * (-t / 0.5).exp()) * (-(t / 8.0).powf(0.85)).exp();
        let walk = Walk::new(&time);
        let mut normal = Normal::new(2);
        let error: Vec<f64> = time.iter().map(|t| 5e-3 * (t / 8.0).min(1.0)).collect();
        let (mut sum, mut worst) = (0.0, 0.0_f64);
        for _ in 0..100 {
            let noise = walk.next(&mut normal);
            let f: Vec<f64> = time
                .iter()
                .zip(&error)
                .zip(noise)
                .map(|((&t, e), noise)| of(t) + e * noise)
                .collect();
            let (early, _) = decay_window(&time, &f, &error).unwrap();
            let (from, to) = final_decay(&time, &f, &error).unwrap();
            assert!(early <= from && from < 4.0, "from {early} to {from}");
            let fit = |from| stretched_exponential(&time, &f, &error, from, to).unwrap();
            worst = worst.max(0.7 / fit(early).amplitude.value);
            let exponent = fit(from).exponent;
            sum += ((exponent.value - 0.85) / exponent.error).powi(2) / 100.0;
        }
        assert!(worst < 0.98, "the early window does as well: {worst}");
        // Beginnings are left out until two and a half errors show: that much remains.
        assert!(sum < 3.0, "<pull^2> of beta {sum}");
    }
}
