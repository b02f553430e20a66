//! Shear viscosity from a Green-Kubo integral.
use super::{Estimate, Points, least_squares};

/// Points of a larger relative error are not used.
const LARGEST_ERROR: f64 = 0.3;
/// The tail begins between these fractions of the largest value, where it is an exponential to within the errors.
const TAIL: [f64; 2] = [0.5, 0.9];
/// It is one where no point is further from it than this many standard deviations.
const FURTHEST: f64 = 2.0;
/// Of the times of points, at least: what denser ones say is in the steps between these, too.
const DENSEST: f64 = 1.05;
/// Of the times at which fits begin, at least.
const BEGINNINGS: f64 = 1.2;
/// Tried at most: those of any integral that rises within three decades.
const MOST_BEGINNINGS: usize = 40;
/// The plateau is reached where no more than this fraction of it is missing.
const REACHED: f64 = 0.02;

/// The integral has settled where no later point up to this factor in time is further from it than the error of the way.
const SETTLED: f64 = 4.0;
/// It is read off this factor later.
const READ_OFF: f64 = 2.0;
/// Of the square of what it rises by over the last factor two, beyond noise: what may still be missing.
const MISSING: f64 = 0.25;
/// Times are the same within this fraction.
const SAME_TIME: f64 = 1e-4;

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
    /// Of the steps from point to point, per degree of freedom.
    pub reduced_chi_squared: f64,
    /// Whether it was read off where the integral has settled.
    pub read_consistent: bool,
}

impl Plateau {
    /// The fitted curve.
    pub fn at(&self, t: f64) -> f64 {
        self.value.value - self.missing.0 * (-t / self.missing.1).exp()
    }

    /// Whether it does not rest on an extrapolation.
    pub fn is_reached(&self) -> bool {
        self.read_consistent || self.reached >= 1.0 - 2.0 * REACHED
    }
}

/// Plateau of a Green-Kubo integral: where it has settled (`read_consistent`), else by extrapolation (`extrapolated`).
///
/// Root mean squares of deviations over errors, 200 synthetic runs each: 0.85 to 1.1 for stresses that decay within one time, or
/// within two times of which the run has 700 of the longer. A tail that holds 20 to 40 % of the integral, decays ten times more
/// slowly than the rest and of which the run has only 170 to 200 times is not seen in its noise: 1.4 to 1.6.
pub fn plateau(time: &[f64], value: &[f64], error: &[f64]) -> Option<Plateau> {
    read_consistent(time, value, error).or_else(|| extrapolated(time, value, error))
}

/// The integral at the first time from which on, over a factor four of time, no point is further from it than one standard error
/// of the way between them: there the stress autocorrelation has decayed, and later points would only add noise. It is read off
/// a factor two later, as less than that error may be missing at first. `None` where there is no such time.
///
/// The noise of the integral is a random walk (see `extrapolated`). What it still rises by over the last factor two beyond
/// its noise is added to the error in quadrature, by half.
fn read_consistent(time: &[f64], value: &[f64], error: &[f64]) -> Option<Plateau> {
    let points = Points::new(time, value, error);
    if !points.errors_known {
        return None;
    }
    let Points { x, y, error, .. } = &points;
    // Errors of late points are those of few origins, and no smaller than of the ones before.
    let variances = error.iter().scan(0.0_f64, |most, error| {
        *most = most.max(error * error);
        Some(*most)
    });
    let variance: Vec<f64> = variances.collect();
    let way = |from: usize, to: usize| {
        let by_time = 0.5 * variance[from] * (x[to] / x[from] - 1.0);
        (variance[to] - variance[from]).max(by_time)
    };
    let last_within = |limit: f64| x.iter().rposition(|&t| t <= limit * (1.0 + SAME_TIME));
    let has_settled = |k: &usize| {
        let Some(end) = last_within(SETTLED * x[*k]) else { return false };
        let whole = x[x.len() - 1] >= SETTLED * x[*k] * (1.0 - SAME_TIME);
        whole && end > *k && (*k + 1..=end).all(|j| (y[j] - y[*k]).powi(2) <= way(*k, j))
    };
    let first = (0..x.len()).find(has_settled)?;
    let end = last_within(READ_OFF * x[first]).filter(|&end| y[end] > 0.0)?;
    let before = last_within(0.5 * x[end]).unwrap_or(0);
    let risen = ((y[end] - y[before]).powi(2) - way(before, end)).max(0.0);
    let steps = (first..end).map(|k| (y[k + 1] - y[k]).powi(2) / way(k, k + 1));
    Some(Plateau {
        value: Estimate { value: y[end], error: (variance[end] + MISSING * risen).sqrt() },
        missing: (0.0, 1.0),
        from: x[first],
        to: x[end],
        reached: 1.0,
        reduced_chi_squared: steps.sum::<f64>() / (end - first) as f64,
        read_consistent: true,
    })
}

/// Plateau of a Green-Kubo integral `eta(t)` by the tail `eta(t) = eta - b exp(-t/tau)`.
///
/// After the time decomposition method of Zhang, Otani & Maginn, J. Chem. Theory Comput. 11, 3537 (2015): the
/// integral is fitted by its exponential approach to the plateau and cut off where noise takes over (here: a relative
/// error above 30 %). Short times are left out, so that of their two exponentials one is enough: the fit begins at half
/// of the largest value, or later, up to 90 % of it, from where on all points are within two standard deviations of it (if they are from nowhere on, where `chi^2` is smallest).
/// Where nothing significant is missing at its beginning, the plateau is the value there.
///
/// Points of a running integral share their noise, which is a random walk: the later of two points has that of the
/// earlier and what came between, independent of it. So the steps between points (at least 5 % apart in time) are
/// fitted, with the differences of the squares of the errors as variances. How slow the slowest decay is cannot be seen
/// below the noise, and hardly any `chi^2` tells: the largest change of the plateau with a later beginning is added to
/// its error (in quadrature). `None` below three points.
fn extrapolated(time: &[f64], value: &[f64], error: &[f64]) -> Option<Plateau> {
    let points = Points::new(time, value, error).filtered(|_, y, _| y > 0.0);
    let known = points.errors_known;
    let noisy = (0..points.len()).find(|&k| known && points.error[k] > LARGEST_ERROR * points.y[k]);
    let end = noisy.map_or(f64::INFINITY, |k| points.x[k].next_down());
    let points = points.between(0.0, end);
    let kept = spaced(&points.x, DENSEST);
    let points = points.filtered(|x, _, _| kept.contains(&x));
    let largest = points.y.iter().copied().fold(0.0, f64::max);
    let [first, last] = TAIL.map(|part| points.y.iter().position(|&y| y >= part * largest));
    let (first, last) = (first?, last?);
    let fits: Vec<(Plateau, bool)> =
        spaced(&points.x[first..=if known { last } else { first }], BEGINNINGS)
            .into_iter()
            .take(MOST_BEGINNINGS)
            .map(|from| points.between(from, f64::INFINITY))
            .filter_map(|tail| {
                let steps = steps(&tail);
                let found = approach(&tail, &steps, largest).or_else(|| constant(&tail, &steps))?;
                Some((found, is_followed(&tail, &steps, &found)))
            })
            .collect();
    let chosen = fits.iter().position(|(_, is_followed)| *is_followed);
    let best = || {
        let of = |k: &usize| fits[*k].0.reduced_chi_squared;
        (0..fits.len()).min_by(|a, b| of(a).total_cmp(&of(b)))
    };
    let chosen = chosen.or_else(best)?;
    let mut plateau = fits[chosen].0;
    let change = |(later, _): &(Plateau, bool)| (later.value.value - plateau.value.value).abs();
    let change = fits[chosen..].iter().map(change).fold(0.0, f64::max);
    plateau.value.error = plateau.value.error.hypot(change);
    plateau.reached = plateau.at(plateau.to) / plateau.value.value;
    Some(plateau)
}

/// Those of ascending times that are by a factor later than the one before, from the first one on.
fn spaced(times: &[f64], factor: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    for &time in times {
        if kept.last().is_none_or(|before| time >= factor * before) {
            kept.push(time);
        }
    }
    kept
}

/// Exponential approach to a plateau, if it is significant.
fn approach(tail: &Points, steps: &Points, largest: f64) -> Option<Plateau> {
    let (from, to) = (*tail.x.first()?, *tail.x.last()?);
    // Missing at the beginning, in units of the largest value; the time in logarithms, as the plateau.
    let curve =
        |p: &[f64; 3], t: f64| p[0].exp() - p[1] * largest * (-(t - from) / p[2].exp()).exp();
    let model = |p: &[f64; 3], number: f64| {
        let k = number as usize - 1;
        curve(p, tail.x[k]) - if k > 0 { curve(p, tail.x[k - 1]) } else { 0.0 }
    };
    let missing = (1.0 - tail.y[0] / largest).max(0.05);
    let fit = (0..10)
        .map(|k| from * (to / from).powf(f64::from(k) / 10.0))
        .filter_map(|tau| least_squares(steps, model, [largest.ln(), missing, tau.ln()]))
        .filter(|fit| (0.1 * from..3.0 * to).contains(&fit.parameters[2].exp()))
        .min_by(|a, b| a.reduced_chi_squared.total_cmp(&b.reduced_chi_squared))?;
    let (missing, tau) = (fit.parameter(1), fit.parameters[2].exp());
    if !(missing.value > 2.0 * missing.error) {
        return None;
    }
    let value = fit.parameters[0].exp();
    Some(Plateau {
        value: Estimate { value, error: value * fit.parameter(0).error },
        missing: (missing.value * largest * (from / tau).exp(), tau),
        from,
        to,
        reached: 0.0,
        reduced_chi_squared: fit.reduced_chi_squared,
        read_consistent: false,
    })
}

/// The first point, if nothing is missing there: the noise of all others is its own and more. Without errors the mean.
fn constant(tail: &Points, steps: &Points) -> Option<Plateau> {
    let degrees = tail.len().checked_sub(1).filter(|&degrees| degrees >= 2)? as f64;
    let (value, error, reduced_chi_squared) = if tail.errors_known {
        let squares = (1..tail.len()).map(|k| (steps.y[k] / steps.error[k]).powi(2));
        (tail.y[0], steps.error[0], squares.sum::<f64>() / degrees)
    } else {
        let mean = tail.y.iter().sum::<f64>() / tail.len() as f64;
        let squares: f64 = tail.y.iter().map(|y| (y - mean).powi(2)).sum();
        (mean, (squares / degrees / tail.len() as f64).sqrt(), 1.0)
    };
    value.is_finite().then_some(Plateau {
        value: Estimate { value, error },
        missing: (0.0, 1.0),
        from: tail.x[0],
        to: tail.x[tail.len() - 1],
        reached: 1.0,
        reduced_chi_squared,
        read_consistent: false,
    })
}

/// The first value and the steps from each to the next, by number from 1 on. Errors fluctuate: a step has at least half of
/// the variance that it has by the square root of time.
fn steps(points: &Points) -> Points {
    let Points { x, y, error, errors_known } = points;
    let (mut variance, least) = match errors_known {
        true => (error[0].powi(2), 0.5),
        false => (x[0], 1.0),
    };
    let mut steps = Points {
        x: (1..=x.len()).map(|k| k as f64).collect(),
        y: vec![y[0]],
        error: vec![variance.sqrt()],
        errors_known: *errors_known,
    };
    for k in 1..x.len() {
        let by_time = least * variance * (x[k] / x[k - 1] - 1.0);
        let grown = if *errors_known { error[k].powi(2) - variance } else { 0.0 };
        let step = by_time.max(grown);
        variance += step;
        steps.y.push(y[k] - y[k - 1]);
        steps.error.push(step.sqrt());
    }
    steps
}

/// Whether no point is further from a curve than the walk from the first one explains.
fn is_followed(tail: &Points, steps: &Points, plateau: &Plateau) -> bool {
    let residual = |k: usize| tail.y[k] - plateau.at(tail.x[k]);
    let mut variance = 0.0;
    (1..tail.len()).all(|k| {
        variance += steps.error[k].powi(2);
        (residual(k) - residual(0)).powi(2) <= FURTHEST.powi(2) * variance
    })
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::*;
    use crate::correlation::tests::Normal;
    use crate::statistics::block_average;

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
        assert!(found.is_reached() && found.from > 6.0 && found.to < 40.0, "{found:?}");
        // That of the point at t = 20 to 25.
        assert!((0.04..0.06).contains(&found.value.error), "{found:?}");
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

    /// Noise is a random walk, whose errors are too large by a fifth. The rms of 400 values is uncertain by 4 %.
    #[test]
    fn errors_of_the_plateau_are_those_of_repeated_measurements() {
        let time = log_times();
        let error: Vec<f64> = time.iter().map(|t| 0.01 * t.sqrt()).collect();
        let (mut pulls, mut normal) = (Pulls::default(), Normal::new(23));
        for _ in 0..400 {
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
        let rms = pulls.mean_square().sqrt();
        assert!((0.75..1.0).contains(&rms), "{rms}");
    }

    /// A stress of two Ornstein-Uhlenbeck processes: variance and time of each.
    fn stress(parts: &[[f64; 2]], samples: usize, interval: f64, normal: &mut Normal) -> Vec<f64> {
        let mut sum = vec![0.0; samples];
        for [variance, tau] in parts {
            let keep = (-interval / tau).exp();
            let mut x = normal.next();
            for sum in &mut sum {
                *sum += variance.sqrt() * x;
                x = keep * x + (1.0 - keep * keep).sqrt() * normal.next();
            }
        }
        sum
    }

    /// Running integrals of five components with their errors: times, means, errors, with all samples as origins.
    fn integrals(components: &[Vec<f64>], interval: f64) -> [Vec<f64>; 3] {
        let integral = |s: &Vec<f64>| -> Vec<f64> {
            let steps = s.windows(2).scan(0.0, |sum, s| {
                *sum += 0.5 * interval * (s[0] + s[1]);
                Some(*sum)
            });
            std::iter::once(0.0).chain(steps).collect()
        };
        let integrals: Vec<Vec<f64>> = components.iter().map(integral).collect();
        let samples = components[0].len();
        let mut columns = [const { Vec::new() }; 3];
        for lag in [1, 10, 100].iter().flat_map(|step| (1..10).map(move |m| m * step)) {
            let of_origin = |k: usize| {
                let both = components.iter().zip(&integrals);
                let of = |(s, sum): (&Vec<f64>, &Vec<f64>)| {
                    0.5 * (s[k] + s[k + lag]) * (sum[k + lag] - sum[k])
                };
                both.map(of).sum::<f64>() / components.len() as f64
            };
            let mean = block_average(&(0..samples - lag).map(of_origin).collect::<Vec<f64>>());
            let point = [lag as f64 * interval, mean.value, mean.error];
            columns.iter_mut().zip(point).for_each(|(column, x)| column.push(x));
        }
        columns
    }

    /// Runs of 200 and 2,000 decay times, whose lags continue to where there is only noise. The rms of 100 values is uncertain by 7 %.
    #[test]
    fn errors_of_viscosities_are_those_of_repeated_runs() {
        let interval = 0.1_f64;
        // The sum over samples of exp(-t) by the trapezoidal rule.
        let expected = 0.5 * interval / (0.5 * interval).tanh();
        let mut normal = Normal::new(31);
        for samples in [2_000, 10_000] {
            let mut pulls = Pulls::default();
            for _ in 0..100 {
                let components: Vec<Vec<f64>> =
                    (0..5).map(|_| stress(&[[1.0, 1.0]], samples, interval, &mut normal)).collect();
                let [time, value, error] = integrals(&components, interval);
                let Some(found) = plateau(&time, &value, &error).filter(|one| one.read_consistent)
                else {
                    continue;
                };
                pulls.add(found.value, expected);
            }
            pulls.are_calibrated(&format!("{samples} samples"));
        }
    }
}
