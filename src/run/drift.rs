//! Motion of the centre of mass that a Langevin thermostat brings into displacements.
use serde_json::json;
use supercool_analysis::drift::Drift;
use supercool_analysis::significant;

use crate::observable::dynamics::blocking::BlockingScheme;
use crate::plan::{CorrelationPlan, Plan, StagePlan};

/// Way of the centre of mass in a stage, in units of the smallest sigma, that is seen in displacements.
pub(super) const VISIBLE_MOTION: f64 = 0.01;

/// What there is to say of a stage; `None` where displacements do not contain the motion, or it is too small to be seen.
pub fn of_thermostat(plan: &Plan, stage: &StagePlan) -> Option<String> {
    let drift = Drift::of(&json!({"system": plan.system, "stages": [stage]}), &stage.name)?;
    let contains = |one: &&CorrelationPlan| !one.remove_drift && contains_motion(one);
    let lags = stage.correlations.iter().filter(contains);
    let lag = lags.map(|one| longest_lag(one, stage.steps)).max()?;
    let time = lag as f64 * plan.run.timestep;
    let gained = drift.mean_square_displacement(time);
    let coefficient = drift.diffusion_coefficient();
    let visible = VISIBLE_MOTION * plan.potential.smallest_length();
    (gained > visible * visible).then(|| {
        let [coefficient, gained, time] = [coefficient, gained, time].map(|x| significant(x, 3));
        format!(
            "stage \"{}\": the langevin thermostat moves the centre of mass, and displacements contain that: it adds 2 d D_cm t \
             with D_cm = T / (M gamma) = {coefficient} to the mean-square displacement, {gained} at its longest lag, t = \
             {time}; remove_drift = true in [[stage.correlation]] takes displacements relative to the centre of mass",
            stage.name
        )
    })
}

/// Whether motion of the centre of mass, where it is not removed, is in something that is correlated.
pub fn contains_motion(correlation: &CorrelationPlan) -> bool {
    let moved = |name: &str| supercool_analysis::drift::is_moved(name);
    correlation.observables.iter().any(|observable| moved(observable.group_name()))
}

/// In steps.
fn longest_lag(correlation: &CorrelationPlan, steps: u64) -> u64 {
    let scheme = BlockingScheme::<()>::new(correlation.blocks());
    let lags = scheme.lags().into_iter().map(|lag| lag.saturating_mul(correlation.every));
    lags.take_while(|&lag| lag <= steps).last().unwrap_or(0)
}
