//! Weighted least squares of a few parameters, by Levenberg and Marquardt's method.
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt, TerminationReason};
use nalgebra::{DMatrix, DVector, Dyn, Owned};

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

/// Of two successive `chi` or parameters, relative to them, where a fit ends.
const TOLERANCE: f64 = 1e-12;
/// Evaluations of the model for each parameter after which a fit is given up.
const PATIENCE: usize = 500;
/// Least part of a parameter's derivatives that those of the parameters before it do not have, too.
const INDEPENDENT: f64 = 3e-7;

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
    let problem = Problem { points, model: &model, parameters: start };
    let method = LevenbergMarquardt::new().with_patience(PATIENCE);
    let method = method.with_ftol(TOLERANCE).with_xtol(TOLERANCE).with_gtol(TOLERANCE);
    let (problem, report) = method.minimize(problem);
    let at_rounding = matches!(report.termination, TerminationReason::NoImprovementPossible(_));
    if !report.termination.was_successful() && !at_rounding {
        return None;
    }
    let reduced_chi_squared = 2.0 * report.objective_function / degrees;
    let scale = if points.errors_known { 1.0 } else { reduced_chi_squared };
    let covariance = inverse_of_square(problem.derivatives())? * scale;
    let parameters = problem.parameters;
    Some(Fit { parameters, covariance: to_array(&covariance), reduced_chi_squared })
}

/// Covariance of the parameters of a fit to points whose noise is correlated: `H J^T R J H`, with
/// `H = (J^T J)^-1`, `J_ki = (df/dp_i) / sigma_k` and the correlation `R_kl`. That of the fit itself where the errors of the
/// points are not known.
///
/// Noise of one trajectory is common to neighbors, that of averages over many may be each point's own:
/// `R = (1 - w) correlation(x_k, x_l) + w delta_kl`. The points tell `w`: what is common to them is fitted away, and `chi^2`
/// is `n - tr(H J^T R J)` on average. Where it is larger than that of independent noise, that is scaled by it.
pub fn with_correlated_noise<const N: usize>(
    fit: &Fit<N>,
    points: &Points,
    model: impl Fn(&[f64; N], f64) -> f64,
    correlation: impl Fn(f64, f64) -> f64,
) -> Fit<N> {
    if !points.errors_known {
        return *fit;
    }
    let problem = Problem { points, model: &model, parameters: fit.parameters };
    let count = points.len();
    let inverse = DMatrix::from_fn(N, N, |i, j| fit.covariance[i][j]);
    let derivatives = problem.derivatives();
    let common = DMatrix::from_fn(count, count, |k, l| correlation(points.x[k], points.x[l]));
    let square = derivatives.transpose() * common * &derivatives;
    let of_common = count as f64 - (&inverse * &square).trace();
    let of_independent = (count - N) as f64;
    let chi_squared = fit.reduced_chi_squared * of_independent;
    let share = ((chi_squared - of_common) / (of_independent - of_common)).clamp(0.0, 1.0);
    let independent = share * fit.reduced_chi_squared.max(1.0);
    let covariance = &inverse * square * &inverse * (1.0 - share) + inverse * independent;
    Fit { covariance: to_array(&covariance), ..*fit }
}

/// Deviations `(y_k - f(x_k)) / sigma_k` with their derivatives.
struct Problem<'a, F, const N: usize> {
    points: &'a Points,
    model: &'a F,
    parameters: [f64; N],
}

impl<F: Fn(&[f64; N], f64) -> f64, const N: usize> Problem<'_, F, N> {
    fn deviations(&self, parameters: &[f64; N]) -> DVector<f64> {
        let Points { x, y, error, .. } = self.points;
        let deviation = |k: usize, _| (y[k] - (self.model)(parameters, x[k])) / error[k];
        DVector::from_fn(x.len(), deviation)
    }

    /// A column for each parameter, by central differences.
    fn derivatives(&self) -> DMatrix<f64> {
        let columns: [DVector<f64>; N] = std::array::from_fn(|i| {
            let h = 1e-6 * self.parameters[i].abs().max(1.0);
            let at = |h: f64| {
                let mut moved = self.parameters;
                moved[i] += h;
                self.deviations(&moved)
            };
            (at(h) - at(-h)) / (2.0 * h)
        });
        DMatrix::from_columns(&columns)
    }
}

impl<F: Fn(&[f64; N], f64) -> f64, const N: usize> LeastSquaresProblem<f64, Dyn, Dyn>
    for Problem<'_, F, N>
{
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.parameters.copy_from_slice(parameters.as_slice());
    }

    fn params(&self) -> DVector<f64> {
        DVector::from_column_slice(&self.parameters)
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        Some(self.deviations(&self.parameters))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        Some(self.derivatives())
    }
}

/// `(J^T J)^-1` by `J = Q R` of columns of length one; `None` if they are not independent.
fn inverse_of_square(mut jacobian: DMatrix<f64>) -> Option<DMatrix<f64>> {
    let lengths: Vec<f64> = jacobian.column_iter().map(|column| column.norm()).collect();
    for (mut column, length) in jacobian.column_iter_mut().zip(&lengths) {
        column /= *length;
    }
    let upper = jacobian.qr().r();
    if !upper.diagonal().iter().all(|part| part.abs() > INDEPENDENT) {
        return None;
    }
    let mut inverse = upper.try_inverse()?;
    for (mut row, length) in inverse.row_iter_mut().zip(&lengths) {
        row /= *length;
    }
    Some(&inverse * inverse.transpose())
}

fn to_array<const N: usize>(matrix: &DMatrix<f64>) -> [[f64; N]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix[(i, j)]))
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
