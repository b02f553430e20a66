//! At which steps the frames of a trajectory are, and what is sampled at them.
use std::sync::Arc;

use supercool_analysis::TrajectoryReader;

use super::ReplayError;
use crate::observable::dynamics::frames::{FrameTimes, OriginGrid};
use crate::observable::dynamics::source::{Held, Source};
use crate::plan::{DynamicObservable, ObservePlan, StagePlan};
use crate::run::stage::StoredFrames;

/// The shortest interval in steps at which frames follow the first one to the end of the file. There may be further frames
/// in between, as of a trajectory at logarithmic times.
///
/// # Errors
/// If there is no such interval, or there are fewer than two frames.
pub fn frame_spacing(reader: &dyn TrajectoryReader) -> Result<u64, ReplayError> {
    let (path, steps) = (reader.path().to_owned(), reader.steps());
    let [first, second, ..] = *steps else {
        return Err(ReplayError::TooFewFrames { path, frames: steps.len() });
    };
    let last = steps[steps.len() - 1];
    let irregular = |frame: usize| {
        let (step, before) = (steps[frame], steps[frame - 1]);
        ReplayError::Irregular { path, frame, step, before, first, second }
    };
    if let Some(back) = steps.windows(2).position(|pair| pair[1] <= pair[0]) {
        return Err(irregular(back + 1));
    }
    let holds = |interval: u64| {
        // The last steps may hold no multiple, if they are few.
        ((last - first).is_multiple_of(interval) || interval <= (last - first) / 2)
            && (first..=last)
                .step_by(interval as usize)
                .all(|step| steps.binary_search(&step).is_ok())
    };
    let spacing = steps[1..].iter().map(|step| step - first).find(|&interval| holds(interval));
    match spacing {
        // Of two frames, or of a last one that follows no others.
        Some(spacing) if spacing < last - first || steps.len() == 2 => Ok(spacing),
        _ => {
            let unequal = steps.windows(2).position(|pair| pair[1] - pair[0] != second - first);
            Err(irregular(unequal.unwrap_or(0) + 1))
        }
    }
}

/// The frames of a trajectory as samples.
pub(super) fn stored_frames(steps: &[u64], per_count: u64, spacing: Option<u64>) -> StoredFrames {
    let since_first: Vec<u64> = steps.iter().map(|step| (step - steps[0]) * per_count).collect();
    let last = since_first[since_first.len() - 1];
    let are_all = |spacing: u64| last / spacing + 1 == since_first.len() as u64;
    let times = (!spacing.is_some_and(are_all))
        .then(|| Arc::new(FrameTimes::new(since_first.clone(), spacing)));
    StoredFrames { steps: since_first, interval: spacing, times }
}

/// Given time origins need frames, and some behind them; so do inherent structures at given times.
pub(super) fn check_given_times(
    stage: &StagePlan,
    timestep: f64,
    frames: &StoredFrames,
) -> Result<(), ReplayError> {
    let is_missing = |step: &&u64| frames.steps.binary_search(step).is_err();
    if let Some(&step) = stage.observe.inherent_at.iter().find(is_missing) {
        return Err(ReplayError::NoFrame {
            stage: stage.name.clone(),
            key: "observe.inherent_structures.times",
            time: step as f64 * timestep,
            step,
            why: "has no frame",
        });
    }
    for plan in &stage.correlations {
        let Some(grid) = OriginGrid::of(plan, stage.steps) else { continue };
        let times = grid.times(Some(&frames.steps));
        for &origin in &grid.origins {
            let error = |why| ReplayError::NoFrame {
                stage: stage.name.clone(),
                key: "correlation.origins",
                time: origin as f64 * timestep,
                step: origin,
                why,
            };
            if is_missing(&&origin) {
                return Err(error("has no frame"));
            }
            let is_later = |&&lag: &&u64| lag > 0 && times.steps().contains(&(origin + lag));
            if grid.lags.iter().find(is_later).is_none() {
                return Err(error("has no frame at any lag behind it"));
            }
        }
    }
    Ok(())
}

/// What is no correlation is sampled at equal intervals.
pub(super) fn check_only_correlations(
    stage: &StagePlan,
    irregular: ReplayError,
) -> Result<(), ReplayError> {
    let ObservePlan { structure, bond_order, configurational_temperature, .. } = &stage.observe;
    let has_others = structure.is_some()
        || bond_order.is_some()
        || stage.observe.inherent_every().is_some()
        || configurational_temperature.is_some();
    if has_others { Err(irregular) } else { Ok(()) }
}

/// `any`: correlations take frames at any times.
pub(super) fn check_intervals(
    stage: &StagePlan,
    spacing: Option<u64>,
    any: bool,
) -> Result<(), ReplayError> {
    let Some(spacing) = spacing else { return Ok(()) };
    let correlations = stage.correlations.iter().filter(|_| !any);
    let correlations = correlations.map(|plan| ("correlation.every", plan.every));
    let structure =
        stage.observe.structure.iter().map(|plan| ("observe.structure.every", plan.every));
    let order =
        stage.observe.bond_order.iter().map(|plan| ("observe.bond_order.every", plan.every));
    let local_order =
        stage.observe.local_order.iter().map(|plan| ("observe.local_order.every", plan.every));
    let inherent = stage.observe.inherent_every();
    let inherent = inherent.map(|every| ("observe.inherent_structures.every", every));
    let configurational = stage.observe.configurational_temperature.into_iter();
    let configurational =
        configurational.map(|every| ("observe.configurational_temperature", every));
    let others = structure.chain(order).chain(local_order).chain(inherent).chain(configurational);
    for (key, every) in correlations.chain(others) {
        if every % spacing != 0 {
            let stage = stage.name.clone();
            return Err(ReplayError::Interval { stage, key, every, spacing });
        }
    }
    Ok(())
}

/// Intervals in steps at which velocities are correlated; where frames at equal intervals do not have them, those of all frames.
pub(super) fn velocities_due(stage: &StagePlan, spacing: Option<u64>) -> Vec<u64> {
    let of_velocity =
        |&observable: &DynamicObservable| Source::of(observable).samples == Held::Velocities;
    let correlations = stage.correlations.iter();
    correlations
        .filter(|plan| plan.observables.iter().any(of_velocity))
        .map(|plan| match spacing {
            Some(spacing) if plan.every.is_multiple_of(spacing) && plan.origins.is_empty() => {
                plan.every
            }
            _ => 1,
        })
        .collect()
}
