//! Levenberg-Marquardt for a few parameters (Press et al., Numerical Recipes, section 15.5).
use super::{Estimate, Points};

/// Parameters of least `chi^2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit<const N: usize> {
    /// The parameters.
    pub parameters: [f64; N],
    /// Their covariance.
    pub covariance: [[f64; N]; N],
    /// Sum of the squares of deviations over errors, per degree of freedom.
    pub reduced_chi_squared: f64,
}

impl<const N: usize> Fit<N> {
    /// One parameter with its error.
    pub fn parameter(&self, index: usize) -> Estimate {
        Estimate { value: self.parameters[index], error: self.covariance[index][index].sqrt() }
    }
}

/// Covariance of the parameters of a fit to points whose noise is correlated: `H J^T R J H`, with
/// `H = (J^T J)^-1`, `J_ki = (df/dp_i) / sigma_k` and the correlation `R_kl = correlation(x_k, x_l)`. That of the fit itself
/// where the errors of the points are not known, or where they do not determine the parameters.
pub fn with_correlated_noise<const N: usize>(
    fit: &Fit<N>,
    points: &Points,
    model: impl Fn(&[f64; N], f64) -> f64,
    correlation: impl Fn(f64, f64) -> f64,
) -> Fit<N> {
    if !points.errors_known {
        return *fit;
    }
    let deviations = |p: &[f64; N]| -> Vec<f64> {
        (0..points.len()).map(|k| (points.y[k] - model(p, points.x[k])) / points.error[k]).collect()
    };
    let columns = derivatives(&fit.parameters, &deviations);
    // How far each parameter moves with each value, in units of its error.
    let moves: [Vec<f64>; N] = std::array::from_fn(|i| {
        (0..points.len())
            .map(|k| (0..N).map(|j| fit.covariance[i][j] * columns[j][k]).sum())
            .collect()
    });
    let covariance = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let row = |k: usize| -> f64 {
                (0..points.len()).map(|l| correlation(points.x[k], points.x[l]) * moves[j][l]).sum()
            };
            (0..points.len()).map(|k| moves[i][k] * row(k)).sum()
        })
    });
    Fit { covariance, ..*fit }
}

const MOST_STEPS: usize = 500;

/// Minimises `chi^2` of `model(parameters, x)` from `start`. Parameters should be of order one
/// (logarithms of what has a scale): derivatives are central differences of step 1e-6.
///
/// `None` without a degree of freedom, without convergence, or if the points do not determine the
/// parameters.
pub fn least_squares<const N: usize>(
    points: &Points,
    model: impl Fn(&[f64; N], f64) -> f64,
    start: [f64; N],
) -> Option<Fit<N>> {
    let degrees = points.len().checked_sub(N).filter(|&degrees| degrees > 0)? as f64;
    let deviations = |p: &[f64; N]| -> Vec<f64> {
        (0..points.len()).map(|k| (points.y[k] - model(p, points.x[k])) / points.error[k]).collect()
    };
    let chi_squared = |p: &[f64; N]| deviations(p).iter().map(|d| d * d).sum::<f64>();
    let mut p = start;
    let mut least = chi_squared(&p);
    let mut damping = 1e-3;
    let magnitude: f64 = (0..points.len()).map(|k| (points.y[k] / points.error[k]).powi(2)).sum();
    for _ in 0..MOST_STEPS {
        if !least.is_finite() {
            return None;
        }
        let (curvature, gradient) = normal_equations(&p, &deviations);
        let newton = solve(&curvature, &gradient);
        // By how much a full step would still lower chi^2, against one that moves by an error.
        let gain = newton.map(|step| (0..N).map(|i| step[i] * gradient[i]).sum::<f64>());
        let unit = if points.errors_known { 1.0 } else { least / degrees };
        if gain.is_some_and(|gain| gain <= 1e-8 * unit + 1e-22 * magnitude) {
            let reduced_chi_squared = least / degrees;
            let scale = if points.errors_known { 1.0 } else { reduced_chi_squared };
            let inverse = inverse(&curvature)?;
            let covariance = inverse.map(|row| row.map(|c| c * scale));
            return Some(Fit { parameters: p, covariance, reduced_chi_squared });
        }
        loop {
            let mut damped = curvature;
            (0..N).for_each(|i| damped[i][i] *= 1.0 + damping);
            let step = solve(&damped, &gradient)?;
            let next: [f64; N] = std::array::from_fn(|i| p[i] + step[i]);
            let value = chi_squared(&next);
            if value < least {
                (p, least) = (next, value);
                damping = (0.1 * damping).max(1e-12);
                break;
            }
            damping *= 10.0;
            if damping > 1e14 {
                return None;
            }
        }
    }
    None
}

/// `J^T J` and `J^T d` for deviations `d`.
fn normal_equations<const N: usize>(
    p: &[f64; N],
    deviations: &impl Fn(&[f64; N]) -> Vec<f64>,
) -> ([[f64; N]; N], [f64; N]) {
    let here = deviations(p);
    let columns = derivatives(p, deviations);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    (
        std::array::from_fn(|i| std::array::from_fn(|j| dot(&columns[i], &columns[j]))),
        std::array::from_fn(|i| dot(&columns[i], &here)),
    )
}

/// Of the model over the errors with each parameter, by central differences.
fn derivatives<const N: usize>(
    p: &[f64; N],
    deviations: &impl Fn(&[f64; N]) -> Vec<f64>,
) -> [Vec<f64>; N] {
    std::array::from_fn(|i| {
        let h = 1e-6 * p[i].abs().max(1.0);
        let at = |h: f64| {
            let mut moved = *p;
            moved[i] += h;
            deviations(&moved)
        };
        at(-h).iter().zip(at(h)).map(|(below, above)| (below - above) / (2.0 * h)).collect()
    })
}

/// Solves `a x = b` for a symmetric positive matrix by Cholesky, scaled to unit diagonal.
fn solve<const N: usize>(a: &[[f64; N]; N], b: &[f64; N]) -> Option<[f64; N]> {
    let scale: [f64; N] = std::array::from_fn(|i| a[i][i].sqrt().recip());
    let mut l = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = a[i][j] * scale[i] * scale[j] - inner;
            if i != j {
                l[i][j] = rest / l[j][j];
            } else if rest > 1e-13 {
                l[i][i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    let mut x: [f64; N] = std::array::from_fn(|i| b[i] * scale[i]);
    for i in 0..N {
        x[i] = (x[i] - (0..i).map(|k| l[i][k] * x[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..N).rev() {
        x[i] = (x[i] - (i + 1..N).map(|k| l[k][i] * x[k]).sum::<f64>()) / l[i][i];
    }
    let x: [f64; N] = std::array::from_fn(|i| x[i] * scale[i]);
    x.iter().all(|x| x.is_finite()).then_some(x)
}

fn inverse<const N: usize>(a: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut rows = [[0.0; N]; N];
    for i in 0..N {
        rows[i] = solve(a, &std::array::from_fn(|j| if i == j { 1.0 } else { 0.0 }))?;
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    #[test]
    fn a_linear_model_gives_the_closed_form() {
        let x = [1.0, 2.0, 3.5, 4.0, 7.0];
        let points = Points::new(&x, &[1.1, 1.9, 3.7, 4.2, 6.0], &[0.1, 0.2, 0.1, 0.3, 0.5]);
        for points in [points.clone(), Points { errors_known: false, ..points }] {
            let expected = line(&points).unwrap();
            let fit =
                least_squares(&points, |p: &[f64; 2], x| p[0] + p[1] * x, [9.0, -9.0]).unwrap();
            for (found, expected) in
                [(fit.parameter(0), expected.intercept), (fit.parameter(1), expected.slope)]
            {
                assert!((found.value - expected.value).abs() < 1e-7, "{found:?} {expected:?}");
                assert!((found.error / expected.error - 1.0).abs() < 1e-6);
            }
            assert!((fit.reduced_chi_squared / expected.reduced_chi_squared - 1.0).abs() < 1e-9);
        }
    }

    /// Exact data of a model that is far from linear, from a start decades away.
    #[test]
    fn a_gaussian_peak_is_found_from_afar() {
        let x: Vec<f64> = (1..=80).map(|k| 0.1 * f64::from(k)).collect();
        let model = |p: &[f64; 3], x: f64| p[0].exp() * (-(x - p[1]).powi(2) * p[2].exp()).exp();
        let expected = [1.3, 4.2, 0.7];
        let y: Vec<f64> = x.iter().map(|&x| model(&expected, x)).collect();
        let fit = least_squares(&Points::new(&x, &y, &[]), model, [0.0, 3.0, -1.0]).unwrap();
        for (found, expected) in fit.parameters.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
    }

    #[test]
    fn what_the_points_do_not_determine_is_no_fit() {
        let points = Points::new(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.1, 4.0], &[0.1; 4]);
        assert_eq!(least_squares(&points, |p: &[f64; 2], x| (p[0] + p[1]) * x, [1.0, 1.0]), None);
        let cubic = |p: &[f64; 4], x: f64| p[0] + x * (p[1] + x * (p[2] + x * p[3]));
        assert_eq!(least_squares(&points, cubic, [1.0; 4]), None);
        let two = |p: &[f64; 2], x: f64| p[0] + p[1] * x;
        assert_eq!(least_squares(&points, two, [f64::NAN, 1.0]), None);
    }
}
