use super::covariance::{error_of_sum, of_walk};
use super::line::{influence_on_slope, local_slopes};
use super::{Estimate, Points, line};

/// A diffusion coefficient and how far the displacement was from diffusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusion {
    /// `D = slope / (2 d)`.
    pub coefficient: Estimate,
    /// Of the straight line, at time 0.
    pub intercept: f64,
    /// d ln MSD / d ln t over the same range; 1 when diffusive. D means little below about 0.9.
    pub exponent: f64,
    /// Range of time that was used.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// Of the straight line, per degree of freedom; NaN if there are none.
    pub reduced_chi_squared: f64,
}

impl Diffusion {
    /// Whether the exponent is within 0.1 of one.
    pub fn is_diffusive(&self) -> bool {
        (self.exponent - 1.0).abs() <= DIFFUSIVE
    }
}

/// Largest deviation of d ln MSD / d ln t from 1.
const DIFFUSIVE: f64 = 0.1;
/// A window spans at least this factor in time.
const SHORTEST: f64 = 2.5;

/// Later beginnings of a window that are tried follow each other by this factor.
const BEGINNINGS: f64 = 1.2;
/// A later beginning may change `D` by this number of standard errors of the difference.
const CONSISTENT: f64 = 2.5;

/// Diffusion coefficient from a mean-square displacement (Einstein): weighted line `2 d D t + c`
/// through the [`diffusive_window`], or the end of it. `None` below three points.
///
/// Short times have the smallest errors and would decide `D` though the displacement is not a straight line there yet. So
/// the line begins at the first time after which no later beginning changes `D` by more than two and a half standard errors:
/// that of the difference has the variance `s'^2 - s^2`, as what the longer window has in addition is no noise of the
/// shorter one (J. A. Hausman, Econometrica 46, 1251 (1978)).
pub fn diffusion(time: &[f64], msd: &[f64], error: &[f64], dimension: usize) -> Option<Diffusion> {
    let (from, to) = diffusive_window(time, msd, error)?;
    let between = |from: f64| diffusion_between(time, msd, error, dimension, from, to);
    let widest = between(from)?;
    if !widest.is_diffusive() || !usable(time, msd, error).errors_known {
        return Some(widest);
    }
    let mut windows = vec![widest];
    for &begin in time {
        if begin >= BEGINNINGS * windows[windows.len() - 1].from && SHORTEST * begin <= to {
            windows.extend(between(begin).filter(Diffusion::is_diffusive));
        }
    }
    let [d, s] = [
        |window: &Diffusion| window.coefficient.value,
        |window: &Diffusion| window.coefficient.error,
    ];
    let consistent = |k: &usize| {
        let one = &windows[*k];
        windows[k + 1..].iter().all(|later| {
            let variance = (s(later).powi(2) - s(one).powi(2)).max(0.0);
            (d(later) - d(one)).powi(2) <= CONSISTENT.powi(2) * variance + (1e-9 * d(one)).powi(2)
        })
    };
    (0..windows.len()).find(consistent).map(|k| windows[k])
}

/// As [`diffusion`], over a window that is given.
///
/// Points share their noise: a displacement holds those over all shorter times. For the error they have the
/// correlation of a free random walk, `(3 r^(1/2) - r^(3/2)) / 2` at times of ratio `r <= 1`.
pub fn diffusion_between(
    time: &[f64],
    msd: &[f64],
    error: &[f64],
    dimension: usize,
    from: f64,
    to: f64,
) -> Option<Diffusion> {
    let window = usable(time, msd, error).between(from, to);
    if window.len() < 3 {
        return None;
    }
    let line = line(&window)?;
    let per_dimension = 1.0 / (2 * dimension) as f64;
    let slope_error = match window.errors_known {
        true => error_of_walk(&window),
        false => line.slope.error,
    };
    Some(Diffusion {
        coefficient: Estimate {
            value: line.slope.value * per_dimension,
            error: slope_error * per_dimension,
        },
        intercept: line.intercept.value,
        exponent: exponent(&window)?,
        from: window.x[0],
        to: window.x[window.len() - 1],
        reduced_chi_squared: line.reduced_chi_squared,
    })
}

/// Range of time at the end over which `d ln MSD / d ln t` (a line in logarithms through all points
/// within a factor `e^0.6`) stays within 0.1, and its error but no more than another 0.1, of 1.
///
/// If that is less than three points or a factor 2.5 in time, or if over all of it the exponent is not
/// within 0.1 of 1, nothing is diffusive yet: the last decade, whose exponent says so. Points of an
/// error above 30 % are left out. `None` below three points.
pub fn diffusive_window(time: &[f64], msd: &[f64], error: &[f64]) -> Option<(f64, f64)> {
    let points = usable(time, msd, error);
    let last = *points.x.last()?;
    let slopes = local_slopes(&logarithm(&points));
    let diffusive = |slope: &Estimate| {
        let noise = if slope.error.is_finite() { slope.error.min(DIFFUSIVE) } else { 0.0 };
        (slope.value - 1.0).abs() <= DIFFUSIVE + noise
    };
    let first = slopes.iter().rposition(|slope| !diffusive(slope)).map_or(0, |k| k + 1);
    let window = points.between(points.x.get(first).copied().unwrap_or(f64::INFINITY), last);
    let long = window.len() >= 3 && last >= SHORTEST * window.x[0];
    if long && exponent(&window).is_some_and(|exponent| (exponent - 1.0).abs() <= DIFFUSIVE) {
        return Some((window.x[0], last));
    }
    (points.len() >= 3).then_some((0.1 * last, last))
}

/// Points with an error of 30 % at most, whose relative errors do not fall with time: long times have fewer
/// and more overlapping origins, and a smaller error from these few is an accident, which must not
/// decide the weights.
fn usable(time: &[f64], msd: &[f64], error: &[f64]) -> Points {
    let points = Points::new(time, msd, error).filtered(|_, msd, _| msd > 0.0);
    if !points.errors_known {
        return points.relative_if_unknown();
    }
    let mut points = points.filtered(|_, msd, error| error <= 0.3 * msd);
    let mut relative = 0.0_f64;
    for (error, msd) in points.error.iter_mut().zip(&points.y) {
        relative = relative.max(*error / msd);
        *error = relative * msd;
    }
    points
}

/// Error of the slope of a line through mean-square displacements.
fn error_of_walk(points: &Points) -> f64 {
    let Points { x, error, .. } = points;
    let parts: Vec<f64> =
        influence_on_slope(points).iter().zip(error).map(|(slope, error)| slope * error).collect();
    error_of_sum(&parts, |i, j| of_walk(x[i], x[j]))
}

/// Logarithm of the values, over the same arguments.
fn logarithm(points: &Points) -> Points {
    Points {
        x: points.x.clone(),
        y: points.y.iter().map(|y| y.ln()).collect(),
        error: points.y.iter().zip(&points.error).map(|(y, error)| error / y).collect(),
        errors_known: points.errors_known,
    }
}

fn exponent(points: &Points) -> Option<f64> {
    let logarithm = logarithm(points);
    let x = points.x.iter().map(|x| x.ln()).collect();
    // Equal weights: what matters is the shape over the whole window.
    let error = vec![1.0; points.len()];
    Some(line(&Points { x, error, ..logarithm })?.slope.value)
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::super::synthetic::{OrnsteinUhlenbeck, displacements, log_times};
    use super::*;
    use crate::correlation::tests::Normal;

    /// Ballistic, caged, diffusive: 1/MSD = 1/(3 T t^2) + 1/(c + 2 d D t).
    fn caged(t: f64, d: f64, dimension: f64) -> f64 {
        1.0 / (1.0 / (1.5 * t * t) + 1.0 / (0.05 + 2.0 * dimension * d * t))
    }

    #[test]
    fn diffusion_of_an_exact_einstein_relation_is_exact() {
        let time = log_times();
        for dimension in [2, 3] {
            let slope = 2.0 * dimension as f64 * 0.025;
            let msd: Vec<f64> = time.iter().map(|t| slope * t + 0.3).collect();
            let found = diffusion(&time, &msd, &[], dimension).unwrap();
            assert!((found.coefficient.value - 0.025).abs() < 1e-12);
            assert!(found.coefficient.error < 1e-12);
            assert!(found.is_diffusive(), "{found:?}");
            // 1 - 0.3/(0.3 + slope t) >= 0.9 from t = 2.7/slope on.
            assert!((0.6..1.4).contains(&(found.from * slope / 2.7)), "{found:?}");
        }
    }

    #[test]
    fn subdiffusion_shows_in_the_exponent() {
        let time = log_times();
        let msd: Vec<f64> = time.iter().map(|t| t.powf(0.5)).collect();
        let found = diffusion(&time, &msd, &[], 3).unwrap();
        assert!((found.exponent - 0.5).abs() < 1e-12 && !found.is_diffusive());
        // A slope that grows through 0.9 only at the very end has no diffusive window.
        let msd: Vec<f64> = time.iter().map(|t| 1.0 + t / 3e3).collect();
        assert!(!diffusion(&time, &msd, &[], 3).unwrap().is_diffusive());
    }

    /// Errors of the displacements come of few blocks and fluctuate, most so those of the longest times, which must not add to the scatter of D more than they take away. The
    /// rms of 120 values is uncertain by 6 %.
    #[test]
    fn errors_of_d_are_those_of_repeated_runs() {
        const TAU: f64 = 0.5;
        const RUNS: usize = 120;
        let (walk, mut normal) = (OrnsteinUhlenbeck::new(TAU), Normal::new(29));
        let runs: Vec<[Vec<f64>; 4]> =
            (0..RUNS).map(|_| displacements(&walk.run(1000, 300, &mut normal))).collect();
        for fewest in [8.0, 30.0] {
            let (mut pulls, mut scatter) = (Pulls::default(), [0.0; 2]);
            for [time, msd, error, origins] in &runs {
                let known = |(&error, &n): (&f64, &f64)| if n < fewest { f64::NAN } else { error };
                let error: Vec<f64> = error.iter().zip(origins).map(known).collect();
                let to = |to: f64| diffusion_between(time, msd, &error, 1, 3.0, to).unwrap();
                pulls.add(to(f64::INFINITY).coefficient, TAU);
                for (sum, to) in scatter.iter_mut().zip([to(f64::INFINITY), to(50.0)]) {
                    *sum += (to.coefficient.value / TAU - 1.0).powi(2) / RUNS as f64;
                }
            }
            let scatter = scatter.map(f64::sqrt);
            pulls.are_calibrated(&format!("{fewest} origins"));
            assert!(scatter[0] < 1.4 * scatter[1], "{fewest} origins: {scatter:?}");
        }
    }

    /// A last point off by 20 % with an error of a thousandth of that: of two origins that happen to agree.
    #[test]
    fn an_error_that_is_small_by_accident_does_not_decide_d() {
        let time = log_times();
        let mut msd: Vec<f64> = time.iter().map(|t| 0.3 + 0.15 * t).collect();
        let mut error: Vec<f64> =
            time.iter().zip(&msd).map(|(t, msd)| msd * 1e-3 * (1.0 + t.sqrt())).collect();
        msd[60] *= 1.2;
        error[60] *= 1e-3;
        let found = diffusion(&time, &msd, &error, 3).unwrap().coefficient;
        assert!((found.value - 0.025).abs() < found.error, "{found:?}");
    }

    /// Velocities that decay within 0.08, less a part of the other sign that does within 0.25, as in dense liquids: the exponent
    /// is near one long before the line is straight. Without noise, but with errors, `D` is found within these.
    #[test]
    fn short_times_that_bend_do_not_decide_d() {
        let time: Vec<f64> = (0..40).map(|k| 0.02 * 10_f64.powf(f64::from(k) / 15.0)).collect();
        let integral = |t: f64, tau: f64| tau * t - tau * tau * (1.0 - (-t / tau).exp());
        let of = |t: &f64| 9.0 * (1.2 * integral(*t, 0.08) - 0.2 * integral(*t, 0.25));
        let d = 1.5 * (1.2 * 0.08 - 0.2 * 0.25);
        let msd: Vec<f64> = time.iter().map(of).collect();
        for relative in [1e-4, 1e-3, 5e-3] {
            let error: Vec<f64> =
                time.iter().zip(&msd).map(|(t, msd)| relative * msd * (1.0 + t).sqrt()).collect();
            let found = diffusion(&time, &msd, &error, 3).unwrap();
            let off = (found.coefficient.value - d) / found.coefficient.error;
            assert!(off.abs() < 2.0 && found.is_diffusive(), "{relative}: {off}, {found:?}");
            let (from, to) = diffusive_window(&time, &msd, &error).unwrap();
            let widest = diffusion_between(&time, &msd, &error, 3, from, to).unwrap().coefficient;
            assert!(relative > 1e-3 || widest.value - d > 4.0 * widest.error, "{widest:?}");
        }
    }

    /// Independent noise: errors that are too large, by a factor of one and a half.
    #[test]
    fn errors_of_d_hold_for_independent_noise_too() {
        let time = log_times();
        for dimension in [2, 3] {
            let (mut pulls, mut normal) = (Pulls::default(), Normal::new(3));
            let truth: Vec<f64> = time.iter().map(|&t| caged(t, 2e-3, dimension as f64)).collect();
            // Errors grow as fewer origins are left.
            let error: Vec<f64> = truth
                .iter()
                .zip(&time)
                .map(|(msd, t)| msd * (0.002 + 1e-3 * t.sqrt() / 10.0))
                .collect();
            for _ in 0..300 {
                let msd: Vec<f64> =
                    truth.iter().zip(&error).map(|(msd, e)| msd + e * normal.next()).collect();
                let found = diffusion(&time, &msd, &error, dimension).unwrap();
                assert!(found.is_diffusive() && found.from > 10.0, "{found:?}");
                pulls.add(found.coefficient, 2e-3);
            }
            let variance = pulls.mean_square();
            assert!((0.05..0.6).contains(&variance), "{variance}");
        }
    }

    #[test]
    fn too_few_points_give_no_d() {
        assert_eq!(diffusion(&[1.0, 2.0], &[1.0, 2.0], &[], 3), None);
        assert_eq!(diffusion(&[], &[], &[], 3), None);
    }
}
