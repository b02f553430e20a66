//! Whether errors are as large as what they are errors of scatters: over many runs, deviations in units of their errors
//! must have a root mean square of 1.
//!
//! The deviation is that from the exact value, or from the mean of the runs where none is known.
mod langevin_gas;

use std::path::PathBuf;

use miette::{IntoDiagnostic, miette};
use supercool_analysis::results::{Curve, Function, ResultsFile};
use supercool_analysis::slow::relaxation_time;

use self::langevin_gas::LangevinGas;
use super::judge::{Found, Judged, Verdict, mean};
use super::suite::{Calibrated, Exact};
use crate::plan::Plan;

/// What root mean squares of deviations over errors have to lie between.
const CALIBRATED: [f64; 2] = [0.85, 1.15];

/// Number of its own standard errors by which a root mean square may lie outside.
const MOST_SIGMA: f64 = 1.0;

/// Lags of a function that are judged, the longest one with an error among them.
const LAGS: usize = 5;

/// A number of every run.
struct OfRuns {
    name: String,
    exact: Option<f64>,
    found: Vec<Found>,
}

/// Rows of one quantity, of the runs in these directories; suite and case are filled in by the caller.
pub fn judge(
    calibrated: &Calibrated,
    plan: &Plan,
    directories: &[PathBuf],
) -> miette::Result<Vec<Judged>> {
    let (stage, name) = (&calibrated.stage, &calibrated.observable);
    let file = |directory: &PathBuf| directory.join(format!("{stage}.h5"));
    let open = |directory| ResultsFile::open(&file(directory)).into_diagnostic();
    let files = directories.iter().map(open).collect::<miette::Result<Vec<_>>>()?;
    let mut functions = Vec::new();
    let mut means = Vec::new();
    for file in &files {
        let is_it = |function: &Function| {
            function.name == *name
                && calibrated.species.as_ref().is_none_or(|species| *species == function.group)
        };
        if let Some(series) = file.observable(name).into_diagnostic()? {
            let relaxation = relaxation_time(&file.dynamics().into_diagnostic()?);
            means.push(mean(&series, relaxation));
        } else if let Some(function) = file.dynamics().into_diagnostic()?.into_iter().find(is_it) {
            functions.push(function);
        } else {
            return Err(miette!("{}: no {name}", file.path().display()));
        }
    }
    let all = if functions.is_empty() {
        vec![OfRuns {
            name: format!("{stage}, mean {name}"),
            exact: calibrated.value,
            found: means,
        }]
    } else {
        let gas = match calibrated.exact {
            Some(Exact::LangevinGas) => Some(LangevinGas::new(plan, stage)?),
            None => None,
        };
        let mut all = of_functions(&functions, gas.as_ref());
        all.iter_mut().for_each(|one| one.name = format!("{stage}, {}", one.name));
        all
    };
    Ok(all.into_iter().map(|one| one.judged(&calibrated.source)).collect())
}

/// Values of some lags, from the shortest to the longest that has an error in half of the runs.
fn of_functions(functions: &[Function], gas: Option<&LangevinGas>) -> Vec<OfRuns> {
    let first = &functions[0];
    let mut all = Vec::new();
    for (index, curve) in first.curves.iter().enumerate() {
        let at = |lag: usize| -> Vec<Found> {
            let of_run = |function: &Function| {
                let Curve { value, error, .. } = &function.curves[index];
                Found { value: value[lag], error: error[lag] }
            };
            functions.iter().map(of_run).collect()
        };
        let has_errors = |&lag: &usize| {
            let found = at(lag);
            2 * found.iter().filter(|found| found.has_error()).count() >= found.len()
        };
        let lags: Vec<usize> = (0..first.x.len()).filter(has_errors).collect();
        let shell = curve.wavenumber.map_or(String::new(), |q| format!(", q = {q:.2}"));
        for lag in evenly(&lags, LAGS) {
            let time = first.x[lag];
            all.push(OfRuns {
                name: format!("{}, t = {time:.4}{shell}", first.name),
                exact: gas.and_then(|gas| gas.value(&first.name, time, curve.wavenumber)),
                found: at(lag),
            });
        }
    }
    all
}

/// At most `most` of a list, at equal distances, the last one among them.
fn evenly(list: &[usize], most: usize) -> Vec<usize> {
    let count = most.min(list.len());
    (1..=count).map(|k| list[k * list.len() / count - 1]).collect()
}

impl OfRuns {
    fn judged(self, source: &str) -> Judged {
        let count = self.found.iter().filter(|found| found.has_error()).count();
        let [low, high] = CALIBRATED;
        let found = self.score();
        // How far it lies outside.
        let outside = (found.value - high).max(0.0) + (found.value - low).min(0.0);
        let deviation = outside / found.error;
        let verdict = match 2 * count >= self.found.len() {
            false => Verdict::Measured,
            true if deviation.abs() <= MOST_SIGMA => Verdict::Holds,
            true => Verdict::Fails,
        };
        Judged {
            suite: String::new(),
            case: String::new(),
            quantity: format!("{}: {count} of {} errors", self.name, self.found.len()),
            expected: format!("{low} to {high}"),
            found,
            hash: None,
            not_given: None,
            deviation,
            unit: "sigma outside",
            verdict,
            source: source.to_owned(),
        }
    }

    /// Root mean square of deviations over errors, with its own standard error: of `n` values with Student's distribution
    /// with seven degrees of freedom or more, whose kurtosis is at most 5, it is known to `[(5 - 1) / (4 n)]^(1/2)` of itself.
    fn score(&self) -> Found {
        let runs = self.found.len() as f64;
        let mean = self.found.iter().map(|found| found.value).sum::<f64>() / runs;
        // The mean of the runs follows each of them.
        let (reference, factor) = match self.exact {
            Some(exact) => (exact, 1.0),
            None => (mean, runs / (runs - 1.0)),
        };
        let squares: Vec<f64> = self
            .found
            .iter()
            .filter(|found| found.has_error())
            .map(|found| factor * ((found.value - reference) / found.error).powi(2))
            .collect();
        let count = squares.len() as f64;
        let value = (squares.iter().sum::<f64>() / count).sqrt();
        Found { value, error: value / count.sqrt() }
    }
}

impl Found {
    fn has_error(&self) -> bool {
        self.error > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_runs(found: &[(f64, f64)], exact: Option<f64>) -> OfRuns {
        let found = found.iter().map(|&(value, error)| Found { value, error }).collect();
        OfRuns { name: "mean energy".to_owned(), exact, found }
    }

    #[test]
    fn errors_must_be_those_of_the_scatter() {
        let with_error = |error: f64| [1.0, -1.0].map(|value| (value, error)).repeat(50);
        for (error, verdict) in
            [(1.0, Verdict::Holds), (0.75, Verdict::Fails), (1.4, Verdict::Fails)]
        {
            let judged = of_runs(&with_error(error), Some(0.0)).judged("here");
            assert_eq!(judged.verdict, verdict, "{error}");
            assert!((judged.found.value - 1.0 / error).abs() < 1e-12);
            assert!((judged.found.error - 0.1 / error).abs() < 1e-12);
        }
        // From the mean of the runs, which has a hundredth of the variance of one.
        let judged = of_runs(&with_error(1.0), None).judged("here");
        assert!((judged.found.value - (100.0_f64 / 99.0).sqrt()).abs() < 1e-12);
        // Off by as much as it scatters.
        let judged = of_runs(&with_error(1.0), Some(1.0)).judged("here");
        assert!((judged.found.value - 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn runs_without_an_error_are_left_out_and_few_with_one_are_not_judged() {
        let none = (7.0, f64::NAN);
        let judged = of_runs(&[(1.0, 1.0), (-1.0, 1.0), none], Some(0.0)).judged("here");
        assert_eq!((judged.verdict, judged.found.value), (Verdict::Holds, 1.0));
        assert!(judged.quantity.ends_with("2 of 3 errors"), "{}", judged.quantity);
        let judged = of_runs(&[(1.0, 1.0), (0.0, 0.0), none], Some(0.0)).judged("here");
        assert_eq!(judged.verdict, Verdict::Measured);
    }

    #[test]
    fn the_longest_lag_with_errors_is_among_those_judged() {
        let list: Vec<usize> = (3..30).collect();
        assert_eq!(evenly(&list, 3), [11, 20, 29]);
        assert_eq!(evenly(&[4, 7], 5), [4, 7]);
        assert!(evenly(&[], 5).is_empty());
    }
}
