//! Classes of the particles of all systems by diameter.
use std::sync::Arc;

use crate::engine::{Ensemble, ExactState, PendingSnapshot};
use crate::observable::diameter_classes::DiameterClasses;
use crate::plan::Plan;
use crate::run::RunError;

/// Diameters of the particles of each system, in id order.
pub type Diameters = Vec<Arc<[f64]>>;

/// Those of states.
pub fn diameters_of(states: &[ExactState]) -> Diameters {
    states.iter().map(|state| state.diameter.clone()).collect()
}

/// The present ones of an ensemble; none where the stage has no classes.
///
/// # Errors
/// If the GPU is lost.
pub fn present_diameters(
    ensemble: &mut dyn Ensemble,
    plan: &Plan,
    stage: usize,
) -> Result<Diameters, RunError> {
    if plan.stages[stage].diameter_classes().is_none() {
        return Ok(Vec::new());
    }
    let snapshots = ensemble.begin_snapshots()?;
    let diameter = |snapshot: PendingSnapshot| Ok(snapshot.wait()?.diameter);
    snapshots.into_iter().map(diameter).collect()
}

/// The classes of a stage in each system; empty where it has none.
///
/// # Errors
/// If there are no diameters, a class is empty, or systems have different numbers of particles in a class.
pub fn classes_of(
    plan: &Plan,
    stage: usize,
    diameters: &[Arc<[f64]>],
) -> Result<Vec<DiameterClasses>, RunError> {
    let stage = &plan.stages[stage];
    let Some(wanted) = stage.diameter_classes() else { return Ok(Vec::new()) };
    DiameterClasses::of_systems(wanted, diameters).map_err(|(system, error)| {
        let (stage, system) = (stage.name.clone(), plan.ensemble.as_ref().map(|_| system));
        RunError::Classes { stage, system, error }
    })
}

/// The same before a run, for all stages that have classes.
///
/// # Errors
/// As of [`classes_of`].
pub fn check_all(plan: &Plan, states: &[ExactState]) -> Result<(), RunError> {
    let diameters = diameters_of(states);
    (0..plan.stages.len()).try_for_each(|stage| classes_of(plan, stage, &diameters).map(drop))
}
