//! When a correlation takes samples: `every`, `block_size` and `levels`, or `from`, `to`,
//! `points_per_decade` and `equal_ratios`.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::{StageChecks, interval};
use crate::config::defaults;
use crate::config::document::{Correlation, Number, Table, Written};

const MAXIMUM_BLOCK_SIZE: u64 = 1000;

/// A blocking scheme.
pub struct Sampling {
    pub every: u64,
    pub block_size: usize,
    pub levels: usize,
    /// As [`CorrelationPlan::level_ratio`](crate::plan::CorrelationPlan::level_ratio).
    pub level_ratio: Option<usize>,
}

pub fn check(
    document: &Table<Correlation>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Sampling> {
    let Some(from) = &document.from else {
        for (typed, key) in
            [(&document.to, "to"), (&document.points_per_decade, "points_per_decade")]
        {
            if let Some(typed) = typed {
                let help = "add from, the shortest lag in time, instead of every";
                checker.reject(&typed.span, format!("{key} without from"), help);
                return None;
            }
        }
        if let Some(typed) = document.equal_ratios.as_ref().filter(|typed| typed.value) {
            let help = "add from, the shortest lag in time, instead of every";
            checker.reject(&typed.span, "equal_ratios without from", help);
            return None;
        }
        return in_steps(document, stage_checks, checker);
    };
    for (typed, instead) in [
        (&document.every, "from"),
        (&document.block_size, "points_per_decade"),
        (&document.levels, "to"),
    ] {
        if let Some(typed) = typed {
            let help = format!("leave it out, {instead} says it, or leave out from");
            checker.reject(&typed.span, "does not go together with from", help);
            return None;
        }
    }
    in_time(document, from, stage_checks, checker)
}

fn in_steps(
    document: &Table<Correlation>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Sampling> {
    let span = &document.span;
    let every = match &document.every {
        Some(every) => interval(every, stage_checks, checker),
        None => {
            let help = "the finest interval in steps: every = 10, or the shortest lag in time: from = 0.04";
            checker.missing(span, "every", help);
            None
        }
    };
    let block_size = checker.integer_or(
        span,
        "block_size",
        document.block_size.as_ref(),
        2..=MAXIMUM_BLOCK_SIZE,
        defaults::BLOCK_SIZE as u64,
    );
    let (every, block_size) = (every?, block_size?);
    let place = document.every.as_ref().map_or(span, |every| &every.span);
    let levels = levels(document, place, every, [block_size; 2], stage_checks, checker)?;
    Some(Sampling { every, block_size: block_size as usize, levels, level_ratio: None })
}

/// Blocks of the fewest samples that give this number of lags in every decade; as many levels as the longest
/// lag needs. At equal ratios the interval doubles from level to level, and lags of a level are the later half of a block.
fn in_time(
    document: &Table<Correlation>,
    from: &Written<Number>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Sampling> {
    let shortest = checker.positive(from);
    let longest = match &document.to {
        Some(to) => Some(Some(checker.positive(to)?)),
        None => Some(None),
    };
    let points = match &document.points_per_decade {
        Some(points) => checker.positive(points).filter(|value| {
            let fits = (1.0..=300.0).contains(value);
            if !fits {
                checker.reject(&points.span, format!("must be 1 to 300, not {value:?}"), "");
            }
            fits
        }),
        None => {
            checker.filled_in(&document.span, "points_per_decade", defaults::POINTS_PER_DECADE);
            Some(defaults::POINTS_PER_DECADE)
        }
    };
    let (shortest, longest, points) = (shortest?, longest?, points?);
    let (timestep, steps) = (stage_checks.timestep?, stage_checks.steps);
    if steps == 0 {
        return None;
    }
    let every = in_whole_steps(from, shortest, timestep, steps, checker)?;
    let ratio = document.equal_ratios.as_ref().is_some_and(|typed| typed.value).then_some(OCTAVE);
    let block_size = match ratio {
        Some(ratio) => ratio * lags_per_octave(points),
        None => (2..=MAXIMUM_BLOCK_SIZE).find(|&size| lags_per_decade(size) >= points)?,
    };
    let sizes = [block_size, ratio.unwrap_or(block_size)];
    let most = levels(document, &from.span, every, sizes, stage_checks, checker)?;
    let sampling = |levels: usize| Sampling {
        every,
        block_size: block_size as usize,
        levels,
        level_ratio: ratio.map(|ratio| ratio as usize),
    };
    let Some(longest) = longest else {
        checker.filled_in(&document.span, "to", "as long as the stage allows");
        return Some(sampling(most));
    };
    let to = document.to.as_ref().map_or(&document.span, |to| &to.span);
    if longest < shortest {
        checker.reject(to, format!("{longest:?} is shorter than from, {shortest:?}"), "");
        return None;
    }
    let length = steps as f64 * timestep;
    if longest > length * (1.0 + 1e-9) {
        let message = format!("{longest:?} is longer than the stage");
        checker.reject(to, message, format!("at most {length:.6}, or more steps"));
        return None;
    }
    let longest_of = |levels: &usize| {
        let interval = (sizes[1] as f64).powi(*levels as i32 - 1) * every as f64 * timestep;
        (block_size - 1) as f64 * interval
    };
    let levels = (1..most).find(|levels| longest_of(levels) >= longest * (1.0 - 1e-9));
    Some(sampling(levels.unwrap_or(most)))
}

/// Mean number of lags `m l^n`, `m = 1, ..., l - 1`, in a factor of ten.
fn lags_per_decade(block_size: u64) -> f64 {
    (block_size - 1) as f64 / (block_size as f64).log10()
}

/// The factor by which the interval grows where lags are at about equal ratios.
const OCTAVE: u64 = 2;

/// Lags in a factor of two that give this number in a factor of ten; two, so that no lag is twice the one before.
fn lags_per_octave(points_per_decade: f64) -> u64 {
    ((points_per_decade * 2_f64.log10()).ceil() as u64).max(2)
}

fn in_whole_steps(
    from: &Written<Number>,
    shortest: f64,
    timestep: f64,
    steps: u64,
    checker: &mut Checker<'_>,
) -> Option<u64> {
    let wanted = shortest / timestep;
    if wanted > steps as f64 * (1.0 + 1e-9) {
        let length = steps as f64 * timestep;
        checker.reject(
            &from.span,
            format!("{shortest:?} is longer than the stage, {length:.6}"),
            "",
        );
        return None;
    }
    let every = wanted.round().max(1.0) as u64;
    if (wanted - every as f64).abs() > 1e-6 * wanted {
        let message = format!("{shortest:?} is not a multiple of the timestep, {timestep:?}");
        let nearest = every as f64 * timestep;
        checker.reject(&from.span, message, format!("for example {nearest:.6}, {every} steps"));
        return None;
    }
    Some(every)
}

fn levels(
    document: &Table<Correlation>,
    span: &Range<usize>,
    every: u64,
    [block_size, ratio]: [u64; 2],
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<usize> {
    let steps = stage_checks.steps;
    if steps == 0 {
        return None;
    }
    let first_block = every.saturating_mul(block_size - 1);
    if first_block > steps {
        let place = document.block_size.as_ref().map_or(span, |size| &size.span);
        let message = format!(
            "{block_size} samples every {every} steps take {first_block} steps, and the stage has {steps}"
        );
        checker.reject(place, message, "take fewer samples, a shorter interval, or more steps");
        return None;
    }
    let most = most_levels(every, ratio, steps);
    let Some(levels) = &document.levels else {
        checker.filled_in(&document.span, "levels", most);
        return Some(most);
    };
    let value = checker.integer(levels, 1..=64)? as usize;
    if value > most {
        let message =
            format!("the interval of level {value} would be longer than the stage, {steps} steps");
        checker.reject(&levels.span, message, format!("at most {most}"));
        return None;
    }
    Some(value)
}

/// Largest number of levels of which the coarsest interval, `every * ratio^(levels - 1)`, is
/// not longer than the stage.
fn most_levels(every: u64, ratio: u64, steps: u64) -> usize {
    let intervals = std::iter::successors(Some(every), |interval| interval.checked_mul(ratio));
    intervals.take_while(|&interval| interval <= steps).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_ten_samples_give_nine_lags_in_a_decade() {
        assert_eq!(lags_per_decade(10), 9.0);
        assert!(lags_per_decade(9) < 9.0 && lags_per_decade(11) > 9.0);
    }

    #[test]
    fn octaves_have_as_many_lags_as_decades_ask_for() {
        for (points, lags) in [(1.0, 2), (6.6, 2), (6.7, 3), (9.9, 3), (10.0, 4), (300.0, 91)] {
            assert_eq!(lags_per_octave(points), lags, "{points}");
        }
    }

    #[test]
    fn coarsest_interval_of_the_most_levels_is_the_last_that_fits() {
        assert_eq!(most_levels(10, 10, 99), 1);
        assert_eq!(most_levels(10, 10, 100), 2);
        assert_eq!(most_levels(1, 2, u64::MAX), 64);
        assert_eq!(most_levels(11, 10, 10), 0);
    }
}
