//! Whether displacements and F_s changed in the course of a stage: averages over later time origins against those over the
//! first ones.
use super::average::{FEWEST_RUNS, student};
use super::runs::{FS, MSD, Run};
use crate::numbers::short;
use crate::results::Curve;

/// A change counts beyond this number of its standard errors, which take blocks for independent. The same formula flags
/// three of 368 parts, of 7 to 44 relaxation times, of runs of the Kob-Andersen liquid in equilibrium.
const SIGNIFICANT: f64 = 6.0;
/// The same of the mean over several runs, whose error is that of their scatter.
const SIGNIFICANT_TOGETHER: f64 = 3.5;
/// Changes of a displacement below this share of it matter to nobody.
const VISIBLE_SHARE: f64 = 0.05;
/// The same of F_s, which is 1 at first.
const VISIBLE: f64 = 0.02;
/// Lags after each other at which a change must be seen.
const LAGS: usize = 3;

/// What changed, if anything did: in one of the runs, or on average over four and more.
pub(super) fn change(runs: &[Run]) -> Option<String> {
    let functions = runs[0].functions.iter().enumerate();
    let mut all = functions.filter(|(_, function)| [MSD, FS].contains(&function.name.as_str()));
    all.find_map(|(index, first)| {
        let visible = |value: f64| match first.name == MSD {
            true => VISIBLE_SHARE * value,
            false => VISIBLE,
        };
        (0..first.curves.len()).find_map(|curve| {
            let curves = || runs.iter().map(|run| &run.functions[index].curves[curve]);
            let name = || {
                let name = if first.name == MSD { "mean square displacement" } else { "F_s" };
                let wavenumber = first.curves[curve].wavenumber;
                let at = wavenumber.map(|q| format!(" at q = {}", short(q))).unwrap_or_default();
                format!("{} of {}{at}", name, first.group)
            };
            let said = |[lag, value, change]: [f64; 3]| {
                format!(
                    "{} changes by {} of {} at t = {} from the first to the later time origins",
                    name(),
                    short(change),
                    short(value),
                    short(first.x[lag as usize])
                )
            };
            let alone = Run::watched_alone(runs).iter().zip(curves()).find_map(|(run, curve)| {
                let of = |lag: usize| of_run(curve, lag);
                Some(format!(
                    "{}: {}",
                    run.file.display(),
                    said(seen(first.x.len(), SIGNIFICANT, of, visible)?)
                ))
            });
            alone.or_else(|| {
                let of = |lag: usize| of_all(curves(), lag);
                Some(format!(
                    "{}, on average over the runs",
                    said(seen(first.x.len(), SIGNIFICANT_TOGETHER, of, visible)?)
                ))
            })
        })
    })
}

/// Value, change and error at a lag of one run; `None` where it is not known.
fn of_run(curve: &Curve, lag: usize) -> Option<[f64; 3]> {
    let &[change, error] = curve.change.get(lag)?;
    (error > 0.0 && change.is_finite()).then(|| [curve.value[lag], change, error])
}

/// Means over the runs, with the error of their scatter.
fn of_all<'a>(curves: impl Iterator<Item = &'a Curve>, lag: usize) -> Option<[f64; 3]> {
    let all: Vec<[f64; 3]> = curves.filter_map(|curve| of_run(curve, lag)).collect();
    let count = all.len() as f64;
    let mean = |column: usize| all.iter().map(|one| one[column]).sum::<f64>() / count;
    let (value, change) = (mean(0), mean(1));
    let squares: f64 = all.iter().map(|one| (one[1] - change).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    (all.len() >= FEWEST_RUNS).then(|| [value, change, error * student(all.len())])
}

/// Lag, value and change where it is largest in units of its error, of the first lags after each other that all changed the
/// same way.
fn seen(
    lags: usize,
    significant: f64,
    of: impl Fn(usize) -> Option<[f64; 3]>,
    visible: impl Fn(f64) -> f64,
) -> Option<[f64; 3]> {
    let significance = |lag: usize| {
        let [value, change, error] = of(lag)?;
        let counts = change.abs() > (significant * error).max(visible(value));
        counts.then_some((change / error, [lag as f64, value, change]))
    };
    let all: Vec<Option<(f64, [f64; 3])>> = (0..lags).map(significance).collect();
    all.windows(LAGS).find_map(|window| {
        let found = window.iter().copied().collect::<Option<Vec<_>>>()?;
        let same = found.iter().all(|(sigma, _)| (*sigma > 0.0) == (found[0].0 > 0.0));
        let largest = found.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
        same.then_some(largest.1)
    })
}
