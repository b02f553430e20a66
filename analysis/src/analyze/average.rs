//! Means over independent runs, point by point.
pub(super) use supercool_statistics::{FEWEST_RUNS, student};

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
    /// Standard error of the mean. Of `R >= 4` runs that from their scatter, `scatter (R - 1)^(1/2) / (R (R - 3))^(1/2)`:
    /// the standard error times the standard deviation of Student's distribution. Of two or three runs the larger one of
    /// `scatter / R^(1/2)` and that from their own errors, `(sum_r e_r^2)^(1/2) / R`. Of one run its own. NaN where
    /// there is none: no scatter of four runs, and no error of one of fewer.
    pub error: Vec<f64>,
    /// Standard deviation of the runs, `(sum_r (x_r - mean)^2 / (R - 1))^(1/2)`; NaN for one run.
    pub scatter: Vec<f64>,
    /// Runs that have this point.
    pub runs: Vec<usize>,
    /// Standard error of the mean by the runs' own errors; NaN where one has none.
    own: Vec<f64>,
}

/// Lags within this factor smooth the runs' own errors for weights.
const SMOOTH_OWN: f64 = 4.0;
/// And the scatter of few runs, which is more uncertain, and what is continued.
const SMOOTH_SCATTER: f64 = 10.0;

/// Standard error of a mean over runs by their scatter.
fn error_by_scatter(scatter: f64, runs: usize) -> f64 {
    let plain = scatter / (runs as f64).sqrt();
    if runs >= FEWEST_RUNS { plain * student(runs) } else { plain }
}

fn error_of_mean(own: f64, scatter: f64, runs: usize) -> f64 {
    let by_scatter = error_by_scatter(scatter, runs);
    match runs {
        0 | 1 => own,
        // Zero of what is exact, such as an integral over no time; but not where nothing has happened yet.
        _ if scatter == 0.0 => own,
        2 | 3 if own >= 0.0 => own.max(by_scatter),
        2 | 3 => f64::NAN,
        _ => by_scatter,
    }
}

impl AverageCurve {
    /// Errors for the weights of a fit.
    ///
    /// Errors of blocks, and the scatter of a few runs still more, fluctuate from lag to lag. A fit with these as weights
    /// follows lags that scatter little by accident, which a jackknife with the same weights does not see: errors of `D` and
    /// of amplitudes were 10 to 20 % too small. So the runs' own errors, smoothed by power laws, give how errors change with
    /// the lag, and the scatter gives their size: all are multiplied by the geometric mean over lags of the error by scatter
    /// over the own one, of two and three runs only where it is above one. At later lags, where runs have no errors of their
    /// own, it is the scatter of four runs and more, smoothed, but not less than the last power law continued.
    pub fn weights(&self, time: &[f64]) -> Vec<f64> {
        let all = || 0..self.mean.len();
        let is_many = |k: usize| self.runs[k] >= FEWEST_RUNS;
        let known = |k: usize, error: f64| match time[k] > 0.0 && self.error[k] > 0.0 && error > 0.0
        {
            true => error,
            false => f64::NAN,
        };
        let of_runs: Vec<f64> = all().map(|k| known(k, self.own[k])).collect();
        let by_scatter: Vec<f64> =
            all().map(|k| known(k, error_by_scatter(self.scatter[k], self.runs[k]))).collect();
        let factor = |many: bool| {
            let of = all().filter(|&k| is_many(k) == many);
            let logarithms: Vec<f64> =
                of.map(|k| (by_scatter[k] / of_runs[k]).ln()).filter(|x| x.is_finite()).collect();
            (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
        };
        let (few, many) = (factor(false).max(1.0), factor(true));
        let last = all().rfind(|&k| of_runs[k].is_finite());
        let weight = |k: usize| {
            if of_runs[k].is_finite() {
                let factor = if is_many(k) { many } else { few };
                return factor * power_law(time, &of_runs, k, SMOOTH_OWN, time[k]);
            }
            if !is_many(k) || by_scatter[k].is_nan() {
                return self.error[k];
            }
            let scatter = power_law(time, &by_scatter, k, SMOOTH_SCATTER, time[k]);
            let continued = last
                .filter(|&last| last < k)
                .map(|last| many * power_law(time, &of_runs, last, SMOOTH_SCATTER, time[k]));
            continued.map_or(scatter, |least| scatter.max(least))
        };
        all().map(weight).collect()
    }
}

/// A power law of time through the values within a factor of the time `centre`: a line in logarithms.
fn power_law(time: &[f64], value: &[f64], centre: usize, within: f64, at: f64) -> f64 {
    let near = |j: &usize| {
        value[*j].is_finite() && (within.recip()..=within).contains(&(time[*j] / time[centre]))
    };
    let near: Vec<[f64; 2]> = (0..time.len())
        .filter(near)
        .map(|j| [(time[j] / time[centre]).ln(), value[j].ln()])
        .collect();
    let count = near.len() as f64;
    let mean = |of: &dyn Fn(&[f64; 2]) -> f64| near.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p[0]), mean(&|p| p[1]));
    let (xx, xy) = (mean(&|p| (p[0] - x).powi(2)), mean(&|p| (p[0] - x) * (p[1] - y)));
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    (y + slope * ((at / time[centre]).ln() - x)).exp()
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
            let scatter = (squares / (count - 1.0)).sqrt();
            let own = own.sqrt() / count;
            let error = error_of_mean(own, scatter, samples.len());
            (mean, error, scatter, samples.len(), own)
        });
        let points: Vec<(f64, f64, f64, usize, f64)> = points.collect();
        AverageCurve {
            wavenumber: first.curves[index].wavenumber,
            mean: points.iter().map(|point| point.0).collect(),
            error: points.iter().map(|point| point.1).collect(),
            scatter: points.iter().map(|point| point.2).collect(),
            runs: points.iter().map(|point| point.3).collect(),
            own: points.iter().map(|point| point.4).collect(),
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

/// Mean temperature of runs, with the error of an [`AverageCurve`].
pub(super) fn mean_temperature(temperatures: &[Estimate]) -> Option<Estimate> {
    let count = temperatures.len() as f64;
    let value = temperatures.iter().map(|t| t.value).sum::<f64>() / count;
    let own = temperatures.iter().map(|t| t.error * t.error).sum::<f64>().sqrt() / count;
    let squares: f64 = temperatures.iter().map(|t| (t.value - value).powi(2)).sum();
    let error = error_of_mean(own, (squares / (count - 1.0)).sqrt(), temperatures.len());
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
        // Three and two runs: the scatter, which is larger than their errors.
        assert!((curve.scatter[0] - 1.0).abs() < 1e-15);
        assert!((curve.scatter[1] - 2_f64.sqrt()).abs() < 1e-15);
        assert!((curve.error[0] - 1.0 / 3_f64.sqrt()).abs() < 1e-15);
        assert!((curve.error[1] - 1.0).abs() < 1e-15);
    }

    /// Of runs with errors and without.
    fn averaged(runs: usize, error: [f64; 2]) -> AverageCurve {
        let run = |number: usize| Function {
            x: vec![1.0, 8.0],
            curves: vec![Curve {
                value: vec![number as f64, 2.0 * number as f64],
                error: error.to_vec(),
                ..Curve::default()
            }],
            ..Function::default()
        };
        let runs: Vec<Function> = (0..runs).map(run).collect();
        average(&runs.iter().collect::<Vec<_>>()).curves.remove(0)
    }

    #[test]
    fn the_scatter_of_four_runs_is_an_error_whatever_they_say_of_their_own() {
        assert!(averaged(3, [9.0, f64::NAN]).error[1].is_nan());
        assert!((averaged(3, [9.0, f64::NAN]).error[0] - 9.0 / 3_f64.sqrt()).abs() < 1e-14);
        // The variance of 0, 1, 2, 3 is 5/3; Student's of three degrees of freedom 3.
        let expected = (5.0 / 3.0 / 4.0 * 3.0_f64).sqrt();
        for own in [9.0, 1e-3] {
            let curve = averaged(4, [own, f64::NAN]);
            assert!((curve.error[0] - expected).abs() < 1e-14, "{curve:?}");
            assert!((curve.error[1] - 2.0 * expected).abs() < 1e-14, "{curve:?}");
        }
        // No hit in any of them is no knowledge.
        assert!(error_of_mean(f64::NAN, 0.0, 5).is_nan());
    }

    /// Own errors grow as `t^(1/2)`, with noise of 10 %, and are three times too small.
    #[test]
    fn weights_change_with_the_lag_as_own_errors_do_and_are_as_large_as_the_scatter() {
        let time: Vec<f64> = (0..40).map(|k| 1.2_f64.powi(k)).collect();
        let mut normal = crate::correlation::tests::Normal::new(4);
        for runs in [1, 3, 8] {
            let functions: Vec<Function> = (0..runs)
                .map(|_| {
                    let value = time.iter().map(|t| 3.0 * t.sqrt() * normal.next()).collect();
                    let error =
                        time.iter().map(|t| (0.1 * normal.next()).exp() * t.sqrt()).collect();
                    let curves = vec![Curve { value, error, ..Curve::default() }];
                    Function { x: time.clone(), curves, ..Function::default() }
                })
                .collect();
            let curve = average(&functions.iter().collect::<Vec<_>>()).curves.remove(0);
            let weights = curve.weights(&time);
            let size = |k: usize| weights[k] / (time[k] / runs as f64).sqrt();
            let sizes: Vec<f64> = (0..time.len()).map(size).collect();
            // The logarithm of a scatter of seven degrees of freedom is 0.08 too low on average, of two 0.29.
            let expected = match runs {
                1 => 1.0,
                3 => 3.0 * (-0.29_f64).exp(),
                _ => 3.0 * student(runs) * (-0.08_f64).exp(),
            };
            // Noise of 0.1 of each of 15 lags is 0.05 where they lie on one side; the factor of 40 lags has an error of
            // 0.6 / (40 (R - 1))^(1/2).
            let all =
                if runs == 1 { 0.0 } else { 0.6 / (time.len() as f64 * (runs - 1) as f64).sqrt() };
            for size in &sizes {
                assert!((size / expected).ln().abs() < 3.0 * all + 0.12, "{runs}: {sizes:?}");
            }
        }
    }

    /// Beyond lags with own errors, which grow as `t^(1/2)`, four runs agree within a hundredth of that.
    #[test]
    fn what_agrees_by_accident_has_no_more_weight_than_earlier_lags() {
        let time: Vec<f64> = (0..12).map(|k| 2_f64.powi(k)).collect();
        let run = |r: f64| Function {
            x: time.clone(),
            curves: vec![Curve {
                value: time
                    .iter()
                    .map(|t| r * if *t > 100.0 { 0.01 } else { 1.0 } * t.sqrt())
                    .collect(),
                error: time.iter().map(|t| if *t > 100.0 { f64::NAN } else { t.sqrt() }).collect(),
                ..Curve::default()
            }],
            ..Function::default()
        };
        let runs = [-1.0, 0.0, 1.0, 2.0].map(run);
        let curve = average(&runs.each_ref()).curves.remove(0);
        for (weight, t) in curve.weights(&time).iter().zip(&time) {
            let expected = (5.0 / 3.0 / 4.0 * 3.0 * t).sqrt();
            assert!((weight / expected - 1.0).abs() < 1e-12, "{t}: {weight} {expected}");
        }
    }

    #[test]
    fn powers_of_time_are_left_as_they_are() {
        let time = [0.0, 1.0, 1.5, 3.0, 10.0, 60.0];
        let value: Vec<f64> = time.iter().map(|t: &f64| 0.2 * t.powf(1.5)).collect();
        let found = (0..6).map(|k| power_law(&time, &value, k, 4.0, time[k])).collect::<Vec<_>>();
        assert!(found[0].is_nan());
        assert!(found[1..].iter().zip(&value[1..]).all(|(a, b)| (a / b - 1.0).abs() < 1e-12));
    }

    /// Runs that say too little or too much of their errors; the rms of 4,000 values is uncertain by 1 %, more so of four runs,
    /// where Student's distribution has wide tails.
    #[test]
    fn errors_of_means_are_those_of_repeated_averages() {
        let mut normal = crate::correlation::tests::Normal::new(3);
        for (runs, own, range) in [
            (1, 1.0, 0.95..1.05),
            (2, 1.0, 0.75..1.0),
            (3, 1.0, 0.75..1.0),
            (4, 0.1, 0.85..1.15),
            (6, 0.1, 0.85..1.15),
            (6, 10.0, 0.85..1.15),
            (48, 0.1, 0.95..1.05),
        ] {
            let squares: f64 = (0..4000)
                .map(|_| {
                    let values: Vec<f64> = (0..runs).map(|_| normal.next()).collect();
                    let count = runs as f64;
                    let mean = values.iter().sum::<f64>() / count;
                    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                    let scatter = (squares / (count - 1.0)).sqrt();
                    (mean / error_of_mean(own / count.sqrt(), scatter, runs)).powi(2)
                })
                .sum();
            let rms = (squares / 4000.0).sqrt();
            assert!(range.contains(&rms), "{runs} runs: {rms}");
        }
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
        let curve = average(&[&integral]).curves.remove(0);
        assert_eq!(curve.weights(&integral.x), [0.0, 0.3, 0.3]);
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
