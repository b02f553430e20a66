//! `[system.diameters]`.
use std::ops::Range;

use super::checker::Checker;
use crate::config::defaults;
use crate::config::document::{DiameterKind, Diameters as Typed, Number, System, Table, Written};
use crate::initial;
use crate::plan::{DiameterDistribution, DiameterPlan, DiameterSampling, InitialPlan};
use crate::potential::Diameters;

/// Deviations from the mean at which a Gaussian has nothing left in 64 bits.
const FARTHEST: f64 = 8.0;

/// How particles get diameters, and how these enter the potential.
pub type Checked = (DiameterPlan, Diameters);

/// `Some(None)`: particles have none.
pub fn check(
    document: &Table<System>,
    initial: Option<&InitialPlan>,
    checker: &mut Checker<'_>,
) -> Option<Option<Checked>> {
    let Some(table) = &document.diameters else { return Some(None) };
    if document.species.value.len() != 1 {
        checker.reject(
            &table.span,
            "belong to a system of one species",
            "particles of all sizes are then of one species: give one, with the number of all particles",
        );
        return None;
    }
    let distribution = distribution(table, checker);
    let sampling = sampling(table, checker);
    let non_additivity = match &table.non_additivity {
        Some(typed) => checker.not_negative(typed),
        None => {
            checker.filled_in(&table.span, "non_additivity", defaults::NON_ADDITIVITY);
            Some(defaults::NON_ADDITIVITY)
        }
    };
    let distribution = distribution?;
    let [smallest, largest] = match distribution.bounds() {
        Some(bounds) => bounds,
        None => bounds_in_file(table, initial?, checker)?,
    };
    let (non_additivity, sampling) = (non_additivity?, sampling?);
    let most = Diameters::most_non_additivity(smallest, largest);
    if let Some(typed) = &table.non_additivity
        && non_additivity >= most
    {
        checker.reject(
            &typed.span,
            "sigma_ij of the smallest and the largest particle would not be above zero",
            format!("below {most:.4} with diameters of {smallest:?} to {largest:?}"),
        );
        return None;
    }
    let diameters = Diameters { non_additivity, smallest, largest };
    Some(Some((DiameterPlan { distribution, sampling }, diameters)))
}

/// A key, where it was typed, and the distributions that it belongs to.
type Key<'a> = (&'a str, Option<&'a Range<usize>>, &'a [DiameterKind]);

fn distribution(table: &Table<Typed>, checker: &mut Checker<'_>) -> Option<DiameterDistribution> {
    let kind = table.distribution.value;
    let keys: [Key<'_>; 8] = {
        use DiameterKind::{Discrete, Gaussian, PowerLaw, Uniform};
        let bounded: &[DiameterKind] = &[PowerLaw, Uniform, Gaussian];
        let drawn: &[DiameterKind] = &[PowerLaw, Uniform, Gaussian, Discrete];
        [
            ("exponent", table.exponent.as_ref().map(|typed| &typed.span), &[PowerLaw]),
            ("minimum", table.minimum.as_ref().map(|typed| &typed.span), bounded),
            ("maximum", table.maximum.as_ref().map(|typed| &typed.span), bounded),
            ("mean", table.mean.as_ref().map(|typed| &typed.span), &[Gaussian]),
            ("deviation", table.deviation.as_ref().map(|typed| &typed.span), &[Gaussian]),
            ("values", table.values.as_ref().map(|typed| &typed.span), &[Discrete]),
            ("weights", table.weights.as_ref().map(|typed| &typed.span), &[Discrete]),
            ("sampling", table.sampling.as_ref().map(|typed| &typed.span), drawn),
        ]
    };
    let mut all_right = true;
    for (key, span, of) in keys {
        if let Some(span) = span
            && !of.contains(&kind)
        {
            let message = format!("{key} does not belong to the distribution \"{}\"", word(kind));
            checker.reject(span, message, "leave it out");
            all_right = false;
        }
    }
    let distribution = match kind {
        DiameterKind::PowerLaw => {
            let exponent = wanted(&table.exponent, "exponent", "3.0", table, checker);
            let exponent = exponent.and_then(|typed| checker.finite(typed));
            let [minimum, maximum] = bounds(table, checker)?;
            DiameterDistribution::PowerLaw { exponent: exponent?, minimum, maximum }
        }
        DiameterKind::Uniform => {
            let [minimum, maximum] = bounds(table, checker)?;
            DiameterDistribution::Uniform { minimum, maximum }
        }
        DiameterKind::Gaussian => gaussian(table, checker)?,
        DiameterKind::Discrete => discrete(table, checker)?,
        DiameterKind::File => DiameterDistribution::File,
    };
    all_right.then_some(distribution)
}

fn word(kind: DiameterKind) -> &'static str {
    match kind {
        DiameterKind::PowerLaw => "power-law",
        DiameterKind::Uniform => "uniform",
        DiameterKind::Gaussian => "gaussian",
        DiameterKind::Discrete => "discrete",
        DiameterKind::File => "file",
    }
}

fn wanted<'a, T>(
    typed: &'a Option<T>,
    key: &str,
    example: &str,
    table: &Table<Typed>,
    checker: &mut Checker<'_>,
) -> Option<&'a T> {
    if typed.is_none() {
        let kind = word(table.distribution.value);
        let help = format!("the distribution \"{kind}\" needs it, for example {key} = {example}");
        checker.missing(&table.span, key, help);
    }
    typed.as_ref()
}

fn bounds(table: &Table<Typed>, checker: &mut Checker<'_>) -> Option<[f64; 2]> {
    let minimum = wanted(&table.minimum, "minimum", "0.73", table, checker);
    let maximum = wanted(&table.maximum, "maximum", "1.62", table, checker);
    let [lower, upper] =
        [minimum, maximum].map(|typed| typed.and_then(|typed| checker.positive(typed)));
    let (lower, upper) = (lower?, upper?);
    if lower >= upper {
        let message = format!("must be below maximum, {upper:?}, not {lower:?}");
        checker.reject(&minimum?.span, message, "");
        return None;
    }
    Some([lower, upper])
}

fn gaussian(table: &Table<Typed>, checker: &mut Checker<'_>) -> Option<DiameterDistribution> {
    let mean = wanted(&table.mean, "mean", "1.0", table, checker);
    let deviation = wanted(&table.deviation, "deviation", "0.1", table, checker);
    let value = mean.and_then(|typed| checker.finite(typed));
    let deviation = deviation.and_then(|typed| checker.positive(typed));
    let [minimum, maximum] = bounds(table, checker)?;
    let (centre, deviation) = (value?, deviation?);
    let nearest = centre.clamp(minimum, maximum);
    if (nearest - centre).abs() > FARTHEST * deviation {
        let message = format!("the bounds lie further than {FARTHEST} deviations from the mean");
        checker.reject(&mean?.span, message, "the mean is usually between minimum and maximum");
        return None;
    }
    Some(DiameterDistribution::Gaussian { mean: centre, deviation, minimum, maximum })
}

fn discrete(table: &Table<Typed>, checker: &mut Checker<'_>) -> Option<DiameterDistribution> {
    let typed = wanted(&table.values, "values", "[1.0, 1.4]", table, checker)?;
    let mut numbers = |typed: &Written<Vec<Written<Number>>>| -> Option<Vec<f64>> {
        let all: Vec<_> = typed.value.iter().map(|number| checker.positive(number)).collect();
        all.into_iter().collect()
    };
    let values = numbers(typed)?;
    let weights = match &table.weights {
        Some(typed) => numbers(typed)?,
        None => vec![1.0; values.len()],
    };
    if values.is_empty() {
        checker.reject(&typed.span, "holds no diameter", "values = [1.0, 1.4], for example");
        return None;
    }
    if weights.len() != values.len() {
        let span = table.weights.as_ref().map_or(&typed.span, |typed| &typed.span);
        let message = format!("{} weights for {} values", weights.len(), values.len());
        checker.reject(span, message, "give a weight for each value");
        return None;
    }
    Some(DiameterDistribution::Discrete { values, weights })
}

fn sampling(table: &Table<Typed>, checker: &mut Checker<'_>) -> Option<DiameterSampling> {
    let Some(typed) = &table.sampling else {
        if table.distribution.value != DiameterKind::File {
            checker.filled_in(&table.span, "sampling", "quantiles");
        }
        return Some(DiameterSampling::Quantiles);
    };
    Some(typed.value)
}

fn bounds_in_file(
    table: &Table<Typed>,
    initial: &InitialPlan,
    checker: &mut Checker<'_>,
) -> Option<[f64; 2]> {
    let InitialPlan::File { path, step, system, .. } = initial else {
        checker.reject(
            &table.distribution.span,
            "there is no file",
            "give system.initial.file, or a distribution to draw diameters from",
        );
        return None;
    };
    match initial::diameters_in(path, *step, system.unwrap_or(0)) {
        Ok(diameters) => {
            let least = diameters.iter().copied().fold(f64::INFINITY, f64::min);
            Some([least, diameters.iter().copied().fold(0.0, f64::max)])
        }
        Err(error) => {
            checker.reject(
                &table.distribution.span,
                error.message(),
                "give a file with diameters, or a distribution to draw them from",
            );
            None
        }
    }
}
