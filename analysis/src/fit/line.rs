use super::{Estimate, Points};

/// Straight line `y = slope x + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Slope.
    pub slope: Estimate,
    /// Value at 0.
    pub intercept: Estimate,
    /// Sum of the squares of deviations over errors, per degree of freedom; NaN if there are none.
    pub reduced_chi_squared: f64,
}

/// Weighted least squares, in closed form. `None` below two distinct points.
pub fn line(points: &Points) -> Option<Line> {
    let Points { x, y, error, errors_known } = points;
    let weight = |k: usize| error[k].powi(-2);
    let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(|k| weight(k) * f(k)).sum::<f64>();
    let total = sum(&|_| 1.0);
    let (mean_x, mean_y) = (sum(&|k| x[k]) / total, sum(&|k| y[k]) / total);
    let sxx = sum(&|k| (x[k] - mean_x).powi(2));
    let sxy = sum(&|k| (x[k] - mean_x) * (y[k] - mean_y));
    let slope = sxy / sxx;
    if !slope.is_finite() {
        return None;
    }
    let intercept = mean_y - slope * mean_x;
    let degrees = x.len().saturating_sub(2);
    let chi_squared = sum(&|k| (y[k] - intercept - slope * x[k]).powi(2));
    let reduced_chi_squared = if degrees > 0 { chi_squared / degrees as f64 } else { f64::NAN };
    let scale = if *errors_known { 1.0 } else { reduced_chi_squared };
    let slope_error = (scale / sxx).sqrt();
    let intercept_error = (scale * (1.0 / total + mean_x * mean_x / sxx)).sqrt();
    Some(Line {
        slope: Estimate { value: slope, error: slope_error },
        intercept: Estimate { value: intercept, error: intercept_error },
        reduced_chi_squared,
    })
}

/// Change of the slope of [`line()`] with each value: `w_k (x_k - <x>) / sum_j w_j (x_j - <x>)^2`, `w = 1 / sigma^2`,
/// `<x>` the mean with these weights.
pub(super) fn influence_on_slope(points: &Points) -> Vec<f64> {
    let Points { x, error, .. } = points;
    let weight: Vec<f64> = error.iter().map(|error| error.powi(-2)).collect();
    let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(|k| weight[k] * f(k)).sum::<f64>();
    let mean_x = sum(&|k| x[k]) / sum(&|_| 1.0);
    let sxx = sum(&|k| (x[k] - mean_x).powi(2));
    (0..x.len()).map(|k| weight[k] * (x[k] - mean_x) / sxx).collect()
}

/// Slope of `y` over `ln x` around every point, with its error: a line through all points within a
/// factor `e^0.6`, the neighbors in any case. NaN where there are fewer than two.
pub(super) fn local_slopes(points: &Points) -> Vec<Estimate> {
    const HALF_WIDTH: f64 = 0.6;
    let logarithm: Vec<f64> = points.x.iter().map(|x| x.ln()).collect();
    let around = |k: usize| {
        let near =
            |j: usize| j.abs_diff(k) <= 1 || (logarithm[j] - logarithm[k]).abs() < HALF_WIDTH;
        let chosen: Vec<usize> = (0..points.len()).filter(|&j| near(j)).collect();
        let pick = |from: &[f64]| chosen.iter().map(|&j| from[j]).collect();
        let nearby = Points {
            x: pick(&logarithm),
            y: pick(&points.y),
            error: pick(&points.error),
            errors_known: points.errors_known,
        };
        line(&nearby).map_or(Estimate { value: f64::NAN, error: f64::NAN }, |line| line.slope)
    };
    (0..points.len()).map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::*;
    use crate::correlation::tests::Normal;

    #[test]
    fn errors_of_slope_and_intercept_are_those_of_repeated_measurements() {
        let x: Vec<f64> = (1..=12).map(f64::from).collect();
        let error: Vec<f64> = x.iter().map(|x| 0.05 * x).collect();
        for known in [true, false] {
            let (mut slope, mut intercept) = (Pulls::default(), Pulls::default());
            let mut normal = Normal::new(7);
            for _ in 0..400 {
                let y: Vec<f64> =
                    x.iter().zip(&error).map(|(x, e)| 2.0 - 0.5 * x + e * normal.next()).collect();
                let points = Points::new(&x, &y, &error);
                let found = line(&Points { errors_known: known, ..points }).unwrap();
                slope.add(found.slope, -0.5);
                intercept.add(found.intercept, 2.0);
            }
            if known {
                slope.have_unit_variance("slope");
                intercept.have_unit_variance("intercept");
            } else {
                // Student's t with 10 degrees of freedom: variance 10/8.
                assert!((1.0..1.5).contains(&slope.mean_square()), "{}", slope.mean_square());
            }
        }
    }

    #[test]
    fn a_line_needs_two_points() {
        assert_eq!(line(&Points::new(&[1.0], &[1.0], &[1.0])), None);
        assert_eq!(line(&Points::new(&[], &[], &[])), None);
    }
}
