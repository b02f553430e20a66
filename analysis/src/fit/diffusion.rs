use super::line::local_slopes;
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

/// Diffusion coefficient from a mean-square displacement (Einstein): weighted line `2 d D t + c`
/// through the [`diffusive_window`]. `None` below three points.
pub fn diffusion(time: &[f64], msd: &[f64], error: &[f64], dimension: usize) -> Option<Diffusion> {
    let (from, to) = diffusive_window(time, msd, error)?;
    diffusion_between(time, msd, error, dimension, from, to)
}

/// As [`diffusion`], over a window that is given.
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
    Some(Diffusion {
        coefficient: Estimate {
            value: line.slope.value * per_dimension,
            error: line.slope.error * per_dimension,
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

fn usable(time: &[f64], msd: &[f64], error: &[f64]) -> Points {
    let points = Points::new(time, msd, error).filtered(|_, msd, _| msd > 0.0);
    if !points.errors_known {
        return points.relative_if_unknown();
    }
    points.filtered(|_, msd, error| error <= 0.3 * msd)
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
    use super::*;
    use crate::correlation::tests::Normal;

    fn log_times() -> Vec<f64> {
        (0..61).map(|k| 1e-2 * 10_f64.powf(f64::from(k) / 10.0)).collect()
    }

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

    #[test]
    fn errors_of_d_are_those_of_repeated_measurements() {
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
            pulls.have_unit_variance("D");
        }
    }

    #[test]
    fn too_few_points_give_no_d() {
        assert_eq!(diffusion(&[1.0, 2.0], &[1.0, 2.0], &[], 3), None);
        assert_eq!(diffusion(&[], &[], &[], 3), None);
    }
}
