//! What a run gives for one expectation, and whether that is right.
use std::collections::BTreeMap;
use std::path::Path;

use miette::{IntoDiagnostic, miette};
use serde::Serialize;
use supercool_analysis::fit::{Estimate, Points, least_squares};
use supercool_analysis::results::{Function, ResultsFile, TimeSeries};
use supercool_analysis::slow::{mean_from, relaxation_time};
use supercool_analysis::statistics::block_average;

use super::Size;
use super::peer::Beside;
use super::reversal;
use super::suite::{Expected, Statistic};
use super::waiting;
use crate::engine::domain::Ranks;
use crate::plan::Plan;
use crate::run::last_state;

/// Beyond this number of standard errors a difference is a failure: by chance once in some two thousand quantities.
const MOST_SIGMA: f64 = 3.5;

/// What was measured, with its standard error (0 where there is none).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Found {
    pub value: f64,
    pub error: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Holds,
    Fails,
    /// There is nothing to compare it with.
    Measured,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    pub suite: String,
    pub case: String,
    pub quantity: String,
    /// In words: `3.6976(8)`, `at most 1e-5`.
    pub expected: String,
    pub found: Found,
    /// Of a state that is to be a certain one: `found` is 0 if it is, and 1 if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Why nothing was found, where an estimate is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_given: Option<String>,
    /// Difference in units of its standard error; of a tolerance or a bound, as a share of it.
    pub deviation: f64,
    pub unit: &'static str,
    pub verdict: Verdict,
    pub source: String,
}

/// What earlier cases of a suite have given, by case and quantity.
pub type Earlier = BTreeMap<(String, String), Found>;

/// A run that has come to its end.
#[derive(Clone, Copy)]
pub struct Completed<'r> {
    pub plan: &'r Plan,
    pub directory: &'r Path,
    /// What another program makes of its first state.
    pub beside: Option<&'r Beside>,
    pub ranks: &'r Ranks,
}

/// Compares; suite and case are filled in by the caller.
pub fn judge(
    expected: &Expected,
    size: Size,
    run: Completed,
    earlier: &Earlier,
) -> miette::Result<Judged> {
    let quantity = expected.quantity();
    let judged =
        |text: String, found: Found, deviation: f64, unit: &'static str, most: f64| Judged {
            suite: String::new(),
            case: String::new(),
            quantity: quantity.clone(),
            expected: text,
            found,
            hash: None,
            not_given: None,
            deviation,
            unit,
            // A deviation that is NaN is not within anything.
            verdict: if deviation.abs() <= most { Verdict::Holds } else { Verdict::Fails },
            source: expected.source.clone(),
        };
    if let Some(hash) = &expected.hash {
        let wanted = hash.of(size).unwrap_or_default();
        let found = last_state(run.directory)?.hash().to_hex().to_string();
        let differs = f64::from(u8::from(!found.starts_with(wanted) || wanted.is_empty()));
        let hash = Some(found[..wanted.len().clamp(8, 64)].to_owned());
        let judged =
            judged(wanted.to_owned(), Found { value: differs, error: 0.0 }, differs, "", 0.5);
        return Ok(Judged { hash, ..judged });
    }
    let mut found = match (expected.statistic, run.beside) {
        (Statistic::Difference, Some(beside)) => {
            Found { value: beside.difference(&expected.observable)?, error: 0.0 }
        }
        (Statistic::Reversal, _) => {
            let elsewhere = reversal::particles_elsewhere(run.plan, run.directory, run.ranks)?;
            Found { value: elsewhere as f64, error: 0.0 }
        }
        _ => match measure(expected, run.directory)? {
            Measured::Found(found) => found,
            Measured::NotGiven(why) => {
                let nothing = Found { value: f64::NAN, error: f64::NAN };
                let judged = judged(text_of(expected, size), nothing, f64::NAN, "", 0.0);
                return Ok(Judged { not_given: Some(why), ..judged });
            }
        },
    };
    found.value *= expected.factor;
    found.error *= expected.factor.abs();
    if let Some(bound) = expected.at_most.and_then(|bound| bound.of(size)) {
        let share = found.value.abs() / bound;
        let text = match run.beside {
            Some(beside) if expected.statistic == Statistic::Difference => {
                format!("{} within {bound:.1e}", beside.name)
            }
            _ => format!("at most {bound:.1e}"),
        };
        return Ok(judged(text, found, share, "of bound", 1.0));
    }
    if expected.value.is_none() && expected.same_as.is_none() {
        let verdict = Verdict::Measured;
        return Ok(Judged { verdict, ..judged("-".to_owned(), found, 0.0, "", 0.0) });
    }
    let (value, error) = match &expected.same_as {
        Some(case) => {
            let found = earlier.get(&(case.clone(), quantity.clone())).ok_or_else(|| {
                miette!("{quantity}: there is no case {case} before with this quantity")
            })?;
            (found.value, found.error)
        }
        None => {
            let value = expected.value.and_then(|value| value.of(size));
            let value = value.ok_or_else(|| miette!("{quantity}: no value for this size"))?;
            (value, expected.error.unwrap_or(0.0))
        }
    };
    let difference = found.value - value;
    if let Some(tolerance) = expected.tolerance {
        let text = format!("{value} within {tolerance:.1e}");
        return Ok(judged(text, found, difference / tolerance, "of tolerance", 1.0));
    }
    let (shown, of_it) = supercool_analysis::with_error(value, error);
    let text = format!("{shown} +- {of_it}");
    // Equal numbers agree, also where neither has an error.
    let sigma = if difference == 0.0 { 0.0 } else { difference / found.error.hypot(error) };
    Ok(judged(text, found, sigma, "sigma", MOST_SIGMA))
}

/// What is expected, before anything is known of what was found.
fn text_of(expected: &Expected, size: Size) -> String {
    match (expected.value.and_then(|value| value.of(size)), &expected.same_as) {
        (Some(value), _) => value.to_string(),
        (None, Some(case)) => format!("that of {case}"),
        (None, None) => "-".to_owned(),
    }
}

/// What a file gives.
enum Measured {
    Found(Found),
    /// An estimate that `analyze` does not give, and why.
    NotGiven(String),
}

fn measure(expected: &Expected, directory: &Path) -> miette::Result<Measured> {
    let path = directory.join(format!("{}.h5", expected.stage));
    if expected.statistic == Statistic::Fit {
        let analysis = supercool_analysis::analyze(&[&path], None).into_diagnostic()?;
        let row = analysis.rows().find(|row| {
            row.quantity == expected.observable
                && expected.species.as_ref().is_none_or(|species| *species == row.species)
        });
        let row = row
            .ok_or_else(|| miette!("{}: no estimate of {}", path.display(), expected.quantity()))?;
        if !row.is_given() {
            return Ok(Measured::NotGiven(row.said()));
        }
        let Estimate { value, error } = row.estimate;
        return Ok(Measured::Found(Found { value, error }));
    }
    if expected.statistic == Statistic::LongWavelengthLimit {
        let functions = ResultsFile::open(&path).and_then(|file| file.structure());
        let function = functions.into_diagnostic()?.into_iter().find(|function| {
            function.name == expected.observable
                && expected.species.as_ref().is_none_or(|species| *species == function.group)
        });
        let function =
            function.ok_or_else(|| miette!("{}: no {}", path.display(), expected.observable))?;
        return long_wavelength_limit(&function).map(Measured::Found).ok_or_else(|| {
            let what = expected.quantity();
            miette!("{}: {what} needs four shells or more below q = 2", path.display())
        });
    }
    let file = ResultsFile::open(&path).into_diagnostic()?;
    if expected.statistic == Statistic::WaitingTimes {
        let species = expected.species.as_deref().unwrap_or_default();
        let value = waiting::deviation(&file, &expected.observable, species)?;
        return Ok(Measured::Found(Found { value, error: 0.0 }));
    }
    let relaxation = relaxation_time(&file.dynamics().into_diagnostic()?);
    let all = file.observables().into_diagnostic()?;
    let series = all.into_iter().find(|series| series.name == expected.observable);
    let series = series
        .filter(|series| !series.value.is_empty())
        .ok_or_else(|| miette!("{}: no samples of {}", path.display(), expected.observable))?;
    Ok(Measured::Found(evaluate(expected.statistic, &series, relaxation)))
}

fn evaluate(statistic: Statistic, series: &TimeSeries, relaxation: Option<f64>) -> Found {
    let exact = |value| Found { value, error: 0.0 };
    // The first sample of a stage is the end of the one before.
    let samples = &series.value[1.min(series.value.len() - 1)..];
    match statistic {
        Statistic::First => exact(series.value[0]),
        Statistic::LargestModulus => {
            let width = series.shape.iter().product::<usize>().max(1);
            let modulus = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            exact(series.value.chunks(width).map(modulus).fold(0.0, f64::max))
        }
        Statistic::Drift => exact(drift(samples)),
        Statistic::Variance => {
            let mean = block_average(samples).value;
            let squares: Vec<f64> = samples.iter().map(|x| (x - mean).powi(2)).collect();
            let variance = block_average(&squares);
            Found { value: variance.value, error: variance.error }
        }
        Statistic::Mean
        | Statistic::Fit
        | Statistic::LongWavelengthLimit
        | Statistic::Hash
        | Statistic::Difference
        | Statistic::Reversal
        | Statistic::WaitingTimes => mean(series, relaxation),
    }
}

/// Mean over a series but its first sample, which is the end of the stage before.
pub fn mean(series: &TimeSeries, relaxation: Option<f64>) -> Found {
    let mean = mean_from(series, 1.min(series.value.len() - 1), relaxation);
    Found { value: mean.value, error: mean.error }
}

/// Value at q = 0 of a parabola in q^2 through the shells below q = 2, for unit diameters before S(q) rises.
fn long_wavelength_limit(function: &Function) -> Option<Found> {
    let curve = function.curves.first()?;
    let squares: Vec<f64> = function.x.iter().map(|q| q * q).collect();
    let points = Points::new(&squares, &curve.value, &curve.error).between(0.0, 4.0);
    let parabola = |p: &[f64; 3], x: f64| p[0] + p[1] * x + p[2] * x * x;
    let Estimate { value, error } = least_squares(&points, parabola, [1.0, 0.0, 0.0])?.parameter(0);
    Some(Found { value, error })
}

/// Slope of the straight line of least squares times the number of samples, over the modulus of the mean.
fn drift(samples: &[f64]) -> f64 {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, sample) in samples.iter().enumerate() {
        let x = index as f64 - middle;
        products += x * (sample - mean);
        squares += x * x;
    }
    products / squares * count / mean.abs()
}

#[cfg(test)]
mod tests {
    use supercool_analysis::results::Curve;

    use super::*;

    #[test]
    fn a_straight_line_goes_as_far_as_its_ends_are_apart() {
        let line: Vec<f64> = (0..1001).map(|k| -5.0 + 1e-6 * f64::from(k)).collect();
        let found = drift(&line);
        assert!((found - 1.001e-3 / 4.9995).abs() < 1e-9, "{found}");
    }

    #[test]
    fn the_long_wavelength_limit_is_a_parabola_through_small_wave_numbers() {
        let x: Vec<f64> = (1..20).map(|k| 0.25 * f64::from(k)).collect();
        let value = x
            .iter()
            .map(|q| if *q < 2.1 { 0.67 - 0.1 * q * q + 0.01 * q.powi(4) } else { 3.0 })
            .collect();
        let error = vec![0.01; x.len()];
        let curve = Curve { value, error, ..Curve::default() };
        let function = Function {
            group: "AA".to_owned(),
            name: "structure_factor".to_owned(),
            argument: "wavenumber".to_owned(),
            x,
            curves: vec![curve],
        };
        let found = long_wavelength_limit(&function).unwrap();
        assert!((found.value - 0.67).abs() < 1e-9, "{found:?}");
        // sqrt of (X^T X)^-1, X the columns 1, q^2, q^4 over the errors.
        assert!((found.error - 0.007_297_7).abs() < 1e-7, "{found:?}");
        let curves = function.curves.clone();
        let few = Function { x: vec![0.5, 1.0, 1.5], curves, ..function };
        assert_eq!(long_wavelength_limit(&few), None);
    }

    #[test]
    fn a_d_that_is_not_given_is_no_number() {
        let folder = tempfile::tempdir().unwrap();
        let file = hdf5::File::create(folder.path().join("cold.h5")).unwrap();
        let group = file.create_group("dynamics/A/mean_square_displacement").unwrap();
        let time: Vec<f64> = (0..30).map(|k| 0.1 * 1.3_f64.powi(k)).collect();
        let value: Vec<f64> = time.iter().map(|t| t.powf(0.4)).collect();
        for (name, values) in [("time", time), ("value", value)] {
            let array = ndarray::Array1::from(values);
            group.new_dataset_builder().with_data(&array).create(name).unwrap();
        }
        drop((group, file));
        let expected: Expected = toml::from_str(
            "stage = 'cold'\nobservable = 'D'\nstatistic = 'fit'\nvalue = 1.0\nerror = 0.1\nsource = ''",
        )
        .unwrap();
        let Measured::NotGiven(why) = measure(&expected, folder.path()).unwrap() else {
            panic!("a number")
        };
        assert!(why.starts_with("not-diffusive; MSD ~ t^0.40"), "{why}");
    }

    #[test]
    fn the_first_sample_is_that_of_the_stage_before() {
        let series = TimeSeries { value: vec![100.0, 1.0, 2.0, 1.0, 2.0], ..TimeSeries::default() };
        assert_eq!(evaluate(Statistic::First, &series, None).value, 100.0);
        assert_eq!(evaluate(Statistic::Mean, &series, None).value, 1.5);
        assert_eq!(evaluate(Statistic::Variance, &series, None).value, 0.25);
        let vectors =
            TimeSeries { value: vec![3.0, 4.0, 0.0, 0.0], shape: vec![2], ..TimeSeries::default() };
        assert_eq!(evaluate(Statistic::LargestModulus, &vectors, None).value, 5.0);
    }
}
