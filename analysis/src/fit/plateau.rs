//! Shear viscosity from a Green-Kubo integral.
use super::covariance::error_of_sum;
use super::{Estimate, Points, least_squares};

/// Points of a larger relative error are not used.
const LARGEST_ERROR: f64 = 0.3;
/// The tail begins between these fractions of the largest value, where it is an exponential to within the errors.
const TAIL: [f64; 2] = [0.5, 0.9];
/// `chi^2` per degree of freedom up to which it is.
const EXPONENTIAL: f64 = 1.0;
/// The plateau is reached where no more than this fraction of it is missing.
const REACHED: f64 = 0.02;

/// Plateau of a running integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Value at infinite time.
    pub value: Estimate,
    /// Height `b` and time `tau` of what is missing, `b exp(-t/tau)`; zero height if the points begin on the
    /// plateau.
    pub missing: (f64, f64),
    /// Range of time that was used.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// Fraction of the plateau that the curve has come to at `to`.
    pub reached: f64,
    /// Per degree of freedom.
    pub reduced_chi_squared: f64,
}

impl Plateau {
    /// The fitted curve.
    pub fn at(&self, t: f64) -> f64 {
        self.value.value - self.missing.0 * (-t / self.missing.1).exp()
    }

    /// Whether it does not rest on an extrapolation.
    pub fn is_reached(&self) -> bool {
        self.reached >= 1.0 - 2.0 * REACHED
    }
}

/// Plateau of a Green-Kubo integral `eta(t)` by the tail `eta(t) = eta - b exp(-t/tau)`.
///
/// After the time decomposition method of Zhang, Otani & Maginn, J. Chem. Theory Comput. 11, 3537 (2015): the
/// integral is fitted by its exponential approach to the plateau, weighted by the errors, which grow with time,
/// and cut off where noise takes over (here: a relative error above 30 %). Short times, of which errors are
/// tiny, are left out, so that of their two exponentials one is enough: the fit begins at half of the largest
/// value, or later, up to 90 % of it, where `chi^2` is first below one. Where nothing significant
/// is missing at its beginning, the plateau is the weighted mean.
///
/// Points of a running integral share their noise. For the error of the plateau it is taken as a random walk: two
/// points have the variance of the earlier as covariance. `None` below three points.
pub fn plateau(time: &[f64], value: &[f64], error: &[f64]) -> Option<Plateau> {
    let points = Points::new(time, value, error).filtered(|_, y, _| y > 0.0);
    let known = points.errors_known;
    let noisy = (0..points.len()).find(|&k| known && points.error[k] > LARGEST_ERROR * points.y[k]);
    let end = noisy.map_or(f64::INFINITY, |k| points.x[k].next_down());
    let points = points.between(0.0, end);
    let largest = points.y.iter().copied().fold(0.0, f64::max);
    let [first, last] = TAIL.map(|part| points.y.iter().position(|&y| y >= part * largest));
    let (first, last) = (first?, last?);
    let tail_from = |k: usize| points.between(points.x[k], f64::INFINITY);
    let tails = (first..=if known { last } else { first }).map(tail_from);
    let mut best: Option<Plateau> = None;
    for found in tails.filter_map(|tail| approach(&tail, largest)) {
        if best.is_none_or(|best| found.reduced_chi_squared < best.reduced_chi_squared) {
            best = Some(found);
        }
        if found.reduced_chi_squared <= EXPONENTIAL {
            break;
        }
    }
    let mut plateau = match best {
        Some(best) => best,
        None => mean(&tail_from(first))?,
    };
    plateau.reached = plateau.at(plateau.to) / plateau.value.value;
    Some(plateau)
}

/// Exponential approach to a plateau, if it is significant.
fn approach(tail: &Points, largest: f64) -> Option<Plateau> {
    let (from, to) = (*tail.x.first()?, *tail.x.last()?);
    // Missing at the beginning, in units of the largest value; the time in logarithms, as the plateau.
    let model =
        |p: &[f64; 3], t: f64| p[0].exp() - p[1] * largest * (-(t - from) / p[2].exp()).exp();
    let missing = (1.0 - tail.y[0] / largest).max(0.05);
    let fit = (0..10)
        .map(|k| from * (to / from).powf(f64::from(k) / 10.0))
        .filter_map(|tau| least_squares(tail, model, [largest.ln(), missing, tau.ln()]))
        .filter(|fit| (0.1 * from..3.0 * to).contains(&fit.parameters[2].exp()))
        .min_by(|a, b| a.reduced_chi_squared.total_cmp(&b.reduced_chi_squared))?;
    let (missing, tau) = (fit.parameter(1), fit.parameters[2].exp());
    if !(missing.value > 2.0 * missing.error) {
        return None;
    }
    // Change of the plateau with each point.
    let value = fit.parameters[0].exp();
    let influence = |k: usize| {
        let x = (tail.x[k] - from) / tau;
        let decay = largest * (-x).exp();
        let slope = [value, -decay, -missing.value * decay * x];
        let weighted: f64 = (0..3).map(|i| fit.covariance[0][i] * slope[i]).sum();
        value * weighted / tail.error[k].powi(2)
    };
    let error = match tail.errors_known {
        true => error_of_walk(tail, influence),
        false => value * fit.parameter(0).error,
    };
    Some(Plateau {
        value: Estimate { value, error },
        missing: (missing.value * largest * (from / tau).exp(), tau),
        from,
        to,
        reached: 0.0,
        reduced_chi_squared: fit.reduced_chi_squared,
    })
}

/// Error of a sum of points times their influence, the noise being a random walk.
fn error_of_walk(points: &Points, influence: impl Fn(usize) -> f64) -> f64 {
    let influence: Vec<f64> = (0..points.len()).map(influence).collect();
    error_of_sum(&influence, |i, j| points.error[i.min(j)].powi(2))
}

fn mean(points: &Points) -> Option<Plateau> {
    let weight = |k: usize| points.error[k].powi(-2);
    let sum = |of: &dyn Fn(usize) -> f64| (0..points.len()).map(|k| weight(k) * of(k)).sum::<f64>();
    let total = sum(&|_| 1.0);
    let value = sum(&|k| points.y[k]) / total;
    let degrees = points.len().checked_sub(1).filter(|_| points.len() >= 3)? as f64;
    let reduced_chi_squared = sum(&|k| (points.y[k] - value).powi(2)) / degrees;
    let error = match points.errors_known {
        true => error_of_walk(points, |k| weight(k) / total),
        false => (reduced_chi_squared / total).sqrt(),
    };
    value.is_finite().then_some(Plateau {
        value: Estimate { value, error },
        missing: (0.0, 1.0),
        from: points.x[0],
        to: points.x[points.len() - 1],
        reached: 1.0,
        reduced_chi_squared,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::*;
    use crate::correlation::tests::Normal;

    fn log_times() -> Vec<f64> {
        (0..41).map(|k| 1e-2 * 10_f64.powf(f64::from(k) / 10.0)).collect()
    }

    fn two_steps(t: f64) -> f64 {
        2.0 * (1.0 - 0.6 * (-t / 0.1).exp() - 0.4 * (-t / 3.0).exp())
    }

    #[test]
    fn an_exponential_approach_gives_its_plateau() {
        let time = log_times();
        let value: Vec<f64> = time.iter().map(|&t| two_steps(t)).collect();
        let error: Vec<f64> = time.iter().map(|t| 0.01 * t.sqrt()).collect();
        let found = plateau(&time, &value, &error).unwrap();
        assert!((found.value.value - 2.0).abs() < 0.02, "{found:?}");
        assert!(found.is_reached() && (found.missing.1 / 3.0 - 1.0).abs() < 0.2, "{found:?}");
        // Somewhat more than that of the point at which 2 % are missing, 0.03 at t = 9.
        assert!((0.03..0.05).contains(&found.value.error), "{found:?}");
    }

    #[test]
    fn what_still_rises_is_said_to_be_extrapolated() {
        let time = &log_times()[..27];
        let value: Vec<f64> = time.iter().map(|&t| two_steps(t)).collect();
        let found = plateau(time, &value, &[1e-3; 27]).unwrap();
        assert!(!found.is_reached(), "{found:?}");
    }

    #[test]
    fn points_on_the_plateau_give_their_mean() {
        let time = [1.0, 2.0, 4.0, 8.0];
        let found = plateau(&time, &[2.0; 4], &[0.1, 0.1, 0.2, 0.4]).unwrap();
        assert!((found.value.value - 2.0).abs() < 1e-9 && found.is_reached(), "{found:?}");
        // All share the noise of the first, of variance 0.01.
        assert!((0.1..0.15).contains(&found.value.error), "{found:?}");
        assert_eq!(plateau(&time[..2], &[2.0; 2], &[0.1; 2]), None);
        assert_eq!(plateau(&time, &[-1.0; 4], &[0.1; 4]), None);
    }

    /// Noise is a random walk, of which `chi^2` knows nothing. What is left of the short times shifts the plateau
    /// by a fifth of its error.
    #[test]
    fn errors_of_the_plateau_are_those_of_repeated_measurements() {
        let time = log_times();
        let error: Vec<f64> = time.iter().map(|t| 0.01 * t.sqrt()).collect();
        let (mut pulls, mut normal) = (Pulls::default(), Normal::new(23));
        for _ in 0..300 {
            let (mut walk, mut before) = (0.0, 0.0);
            let noisy: Vec<f64> = time
                .iter()
                .map(|&t| {
                    walk += 0.01 * (t - before).sqrt() * normal.next();
                    before = t;
                    two_steps(t) + walk
                })
                .collect();
            pulls.add(plateau(&time, &noisy, &error).unwrap().value, 2.0);
        }
        let variance = pulls.mean_square();
        assert!((0.8..1.5).contains(&variance), "{variance}");
    }
}
