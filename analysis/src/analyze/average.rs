//! Means over independent runs, point by point.
use crate::fit::Estimate;
use crate::results::Function;

/// A time correlation averaged over independent runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Average {
    /// Species.
    pub species: String,
    /// Name of the function.
    pub name: String,
    /// Times.
    pub time: Vec<f64>,
    /// One curve, or one for each wave number.
    pub curves: Vec<AverageCurve>,
}

/// Points of an average; all of the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct AverageCurve {
    /// Wave number, if there are several curves.
    pub wavenumber: Option<f64>,
    /// Mean over the runs that have this point.
    pub mean: Vec<f64>,
    /// Standard error of the mean from the runs' own errors, `(sum_r e_r^2)^(1/2) / R`; NaN where one
    /// has none.
    pub error: Vec<f64>,
    /// Standard deviation of the runs, `(sum_r (x_r - mean)^2 / (R - 1))^(1/2)`; NaN for one run. The
    /// standard error of the mean by the scatter is this over `R^(1/2)`.
    pub scatter: Vec<f64>,
    /// Runs that have this point.
    pub runs: Vec<usize>,
}

/// Runs whose scatter stands in for errors among points that have some.
const FEWEST_RUNS: usize = 8;

impl AverageCurve {
    /// Errors for the weights of a fit: the runs' own, which may be too small where time origins overlap, or of eight runs
    /// and more that from their scatter, if it is larger; where runs have none, that from the scatter, which where other points
    /// have errors must be of eight runs at least: of fewer it may be small by accident.
    pub fn weights(&self) -> Vec<f64> {
        let some_have = self.error.iter().any(|error| *error > 0.0);
        let weight = |k: usize| {
            let by_scatter = self.scatter[k] / (self.runs[k] as f64).sqrt();
            let many = self.runs[k] >= FEWEST_RUNS;
            match self.error[k] {
                // Zero of what is exact, such as an integral over no time.
                error if error >= 0.0 && many => error.max(by_scatter),
                error if error >= 0.0 => error,
                _ if some_have && !many => f64::NAN,
                _ => by_scatter,
            }
        };
        (0..self.mean.len()).map(weight).collect()
    }
}

/// Mean of the same function of several runs; all have the same times and wave numbers.
pub(super) fn average(functions: &[&Function]) -> Average {
    let first = functions[0];
    let curve = |index: usize| {
        let points = (0..first.x.len()).map(|k| {
            let samples: Vec<[f64; 2]> = functions
                .iter()
                .map(|function| &function.curves[index])
                .map(|curve| [curve.value[k], curve.error.get(k).copied().unwrap_or(f64::NAN)])
                .filter(|sample| sample[0].is_finite())
                .collect();
            let count = samples.len() as f64;
            let mean = samples.iter().map(|[value, _]| value).sum::<f64>() / count;
            let squares: f64 = samples.iter().map(|[value, _]| (value - mean).powi(2)).sum();
            let own: f64 = samples.iter().map(|[_, error]| error * error).sum();
            (mean, own.sqrt() / count, (squares / (count - 1.0)).sqrt(), samples.len())
        });
        let points: Vec<(f64, f64, f64, usize)> = points.collect();
        AverageCurve {
            wavenumber: first.curves[index].wavenumber,
            mean: points.iter().map(|point| point.0).collect(),
            error: points.iter().map(|point| point.1).collect(),
            scatter: points.iter().map(|point| point.2).collect(),
            runs: points.iter().map(|point| point.3).collect(),
        }
    };
    Average {
        species: first.group.clone(),
        name: first.name.clone(),
        time: first.x.clone(),
        curves: (0..first.curves.len()).map(curve).collect(),
    }
}

/// Delete-one jackknife: standard errors `((R-1)/R sum_r (p_r - mean p)^2)^(1/2)` of parameters `p`, where
/// `of(r)` are those without run `r` (Efron, SIAM 1982, section 3). `None` if one of them is.
pub(super) fn jackknife<const N: usize>(
    runs: usize,
    of: impl Fn(usize) -> Option<[f64; N]>,
) -> Option<[f64; N]> {
    let samples = (0..runs).map(of).collect::<Option<Vec<_>>>()?;
    let count = runs as f64;
    let error = |i: usize| {
        let mean = samples.iter().map(|p| p[i]).sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|p| (p[i] - mean).powi(2)).sum();
        ((count - 1.0) / count * squares).sqrt()
    };
    (runs > 1).then(|| std::array::from_fn(error))
}

/// Mean temperature of runs; its error is the larger of that by the runs' errors and by their scatter.
pub(super) fn mean_temperature(temperatures: &[Estimate]) -> Option<Estimate> {
    let count = temperatures.len() as f64;
    let value = temperatures.iter().map(|t| t.value).sum::<f64>() / count;
    let own = temperatures.iter().map(|t| t.error * t.error).sum::<f64>().sqrt() / count;
    let squares: f64 = temperatures.iter().map(|t| (t.value - value).powi(2)).sum();
    // f64::max passes over NaN.
    let error = own.max((squares / (count * (count - 1.0))).sqrt());
    (!temperatures.is_empty()).then_some(Estimate { value, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Curve;

    #[test]
    fn mean_error_and_scatter_of_three_runs() {
        let run = |value: [f64; 2]| Function {
            x: vec![1.0, 2.0],
            curves: vec![Curve { value: value.to_vec(), error: vec![0.3; 2], ..Curve::default() }],
            ..Function::default()
        };
        let runs = [run([1.0, 5.0]), run([2.0, f64::NAN]), run([3.0, 7.0])];
        let curve = average(&runs.iter().collect::<Vec<_>>()).curves.remove(0);
        assert_eq!((curve.mean, curve.runs), (vec![2.0, 6.0], vec![3, 2]));
        assert!((curve.error[0] - 0.3 / 3_f64.sqrt()).abs() < 1e-15);
        assert!((curve.error[1] - 0.3 / 2_f64.sqrt()).abs() < 1e-15);
        assert!((curve.scatter[0] - 1.0).abs() < 1e-15);
        assert!((curve.scatter[1] - 2_f64.sqrt()).abs() < 1e-15);
    }

    /// Lags of few origins have no errors of their own.
    #[test]
    fn points_without_errors_count_where_many_runs_have_them() {
        let run = |number: usize| Function {
            x: vec![1.0, 2.0],
            curves: vec![Curve {
                value: vec![1.0, number as f64],
                error: vec![0.3, f64::NAN],
                ..Curve::default()
            }],
            ..Function::default()
        };
        let weights = |runs: usize| {
            let runs: Vec<Function> = (0..runs).map(run).collect();
            average(&runs.iter().collect::<Vec<_>>()).curves[0].weights()
        };
        assert!(weights(7)[1].is_nan());
        // The variance of 0, ..., 7 is 6.
        let found = weights(8);
        assert!((found[0] - 0.3 / 8_f64.sqrt()).abs() < 1e-15, "{found:?}");
        assert!((found[1] - (6.0_f64 / 8.0).sqrt()).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn an_exact_value_has_an_error_of_zero() {
        let integral = Function {
            x: vec![0.0, 1.0, 2.0],
            curves: vec![Curve {
                value: vec![0.0, 1.0, 2.0],
                error: vec![0.0, 0.3, 0.3],
                ..Curve::default()
            }],
            ..Function::default()
        };
        assert_eq!(average(&[&integral]).curves[0].weights(), [0.0, 0.3, 0.3]);
    }

    #[test]
    fn the_jackknife_of_a_mean_is_its_standard_error() {
        let x = [1.0, 4.0, 2.0, 7.0, 3.5];
        let mean: f64 = x.iter().sum::<f64>() / 5.0;
        let expected = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20.0).sqrt();
        let without = |r: usize| Some([(x.iter().sum::<f64>() - x[r]) / 4.0]);
        assert!((jackknife(5, without).unwrap()[0] - expected).abs() < 1e-14);
        assert_eq!(jackknife(1, without), None);
        assert_eq!(jackknife(2, |r| (r == 0).then_some([1.0])), None);
    }
}
