//! Back to where a run has begun: with all velocities turned round, its trajectory is followed the other way.
use std::path::Path;

use miette::miette;

use crate::engine::domain::Ranks;
use crate::engine::{self, StageContext};
use crate::initial;
use crate::plan::{Plan, StagePlan};
use crate::run::{draw_first_velocities, last_state};

/// Particles that do not come back to where they were, with the velocities that they had, to the bit. None in fixed point,
/// whose steps can be taken back exactly (Levesque & Verlet, J. Stat. Phys. 72, 519 (1993)).
///
/// # Errors
/// If the run was not at constant energy throughout, or an engine fails.
pub fn particles_elsewhere(plan: &Plan, directory: &Path, ranks: &Ranks) -> miette::Result<usize> {
    let is_changed =
        |stage: &StagePlan| stage.thermostat.is_some() || stage.set_total_energy.is_some();
    if plan.stages.iter().any(is_changed) {
        return Err(miette!(
            "{}: only a trajectory at constant energy can be taken back",
            directory.display()
        ));
    }
    let mut engine = engine::create_on(ranks, plan, &initial::create(plan)?)?;
    draw_first_velocities(plan, engine.as_mut())?;
    let start = engine.export()?;
    drop(engine);
    let steps = plan.total_steps();
    let mut engine = engine::create_on(ranks, plan, &last_state(directory)?)?;
    let first_step = engine.step();
    engine.begin_stage(&StageContext {
        thermostat: None,
        first_step,
        steps,
        swap: None,
        barostat: None,
        shear: None,
    })?;
    engine.reverse_velocities()?;
    engine.advance(steps)?;
    engine.reverse_velocities()?;
    let back = engine.export()?;
    let is_back = |particle: usize| {
        back.position[particle] == start.position[particle]
            && back.image[particle] == start.image[particle]
            && back.velocity[particle] == start.velocity[particle]
    };
    Ok((0..start.position.len()).filter(|&particle| !is_back(particle)).count())
}
