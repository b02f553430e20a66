//! What an engine is made for and a stage may change: the timestep, the box, and the state itself.
//!
//! The engine is then set up anew, from the state in which the steps before have left the system. A resumed run does so from
//! the same state in the same way, so that it has the same bits.
use std::ops::Range;

use super::stage::minima::Searches;
use super::{OutputDirectory, RunError, Simulation, stage_contexts};
use crate::announce;
use crate::engine::{
    self, CancelToken, EngineError, ExactState, InherentStructure, Replicas, StrainedSystems,
};
use crate::plan::{EngineChoice, InherentStructuresPlan, Plan, Precision, StagePlan};
use crate::system::{SimulationBox, Species};

/// States as a stage of the plan takes them over from the one before.
///
/// # Errors
/// If a velocity does not fit the precision.
pub fn taken_over(states: Vec<ExactState>, plan: &Plan) -> Result<Vec<ExactState>, EngineError> {
    let timestep = plan.run.flight();
    let take = |state: ExactState| {
        if state.timestep == timestep {
            return Ok(state);
        }
        let step = state.step;
        state
            .at_timestep(timestep, &plan.system.species)
            .map_err(|particle| EngineError::velocity_range(step, particle))
    };
    states.into_iter().map(take).collect()
}

/// Whether a stage begins with states other than those in which the steps before have left the systems, at minima or for another
/// timestep, or with engines of another kind, before and after a strain. `before`, `plan`: [`Plan::at_stage`] of the stage before and of this one.
pub fn begins_anew(before: &Plan, plan: &Plan, stage: usize) -> bool {
    plan.run.timestep != before.run.timestep
        || plan.run.flight != before.run.flight
        || plan.stages[stage].minimize.is_some()
        || plan.stages[stage].strain.is_some()
        || stage.checked_sub(1).is_some_and(|before| plan.stages[before].strain.is_some())
}

/// The states with which such a stage begins; where it draws velocities, these are still to be drawn.
///
/// # Errors
/// If a descent is given up, there is no GPU for it, or a velocity does not fit the precision.
pub fn states_of_stage(
    mut states: Vec<ExactState>,
    plan: &Plan,
    stage: usize,
    cancel: Option<&CancelToken>,
) -> Result<Vec<ExactState>, EngineError> {
    let stage = &plan.stages[stage];
    if let Some(of) = &stage.minimize {
        let what = format!("stage \"{}\": minimizing the potential energy", stage.name);
        let descend = || minima_below(states, &of.descent, (&stage.name, plan), cancel);
        states = announce::while_slow(what, descend)?;
    }
    taken_over(states, plan)
}

/// The plan of a stage whose box goes to the mean density of an earlier one, with that box.
///
/// # Errors
/// If that stage has no samples.
pub fn with_mean_density(
    mut plan: Plan,
    stage: usize,
    mean_density_of: impl FnOnce(&str) -> Option<f64>,
) -> Result<Plan, RunError> {
    let Some(rescale) = plan.stages.get(stage).and_then(|stage| stage.rescale) else {
        return Ok(plan);
    };
    let Some(of) = rescale.to_mean_of else { return Ok(plan) };
    let name = &plan.stages[of].name;
    let density = mean_density_of(name).ok_or_else(|| RunError::NoDensitySamples {
        stage: plan.stages[stage].name.clone(),
        of: name.clone(),
    })?;
    let particles = plan.system.particle_count();
    plan.stages[stage].rescale = Some(rescale.to_density(density, particles));
    Ok(plan)
}

/// Boxes with other edges, where they are due `step` steps after the start of a stage. `from`: of each system, as the stage began.
pub fn rescaled(
    stage: &StagePlan,
    step: u64,
    from: &[SimulationBox],
) -> Option<Vec<SimulationBox>> {
    let rescale = stage.rescale?;
    if !step.is_multiple_of(rescale.every) && step != stage.steps {
        return None;
    }
    Some(from.iter().map(|from| rescale.at(from, step, stage.steps)).collect())
}

/// The plan of a stage in a box in which a barostat has left the system.
pub fn in_box_of_barostat(mut plan: Plan, stage: usize, simulation_box: SimulationBox) -> Plan {
    let half = simulation_box.shortest_edge() / 2.0;
    if let Some(StagePlan { name, observe, .. }) = plan.stages.get_mut(stage)
        && let Some(structure) = &mut observe.structure
        && structure.maximum_distance > half
    {
        tracing::warn!(
            "stage \"{name}\": observe.structure.maximum_distance is {half:.6}, half the shortest edge of the box that the barostat has left, \
             and not {}",
            structure.maximum_distance
        );
        structure.maximum_distance = half;
    }
    plan.system.simulation_box = simulation_box;
    plan
}

/// States in these boxes, where every particle has the same place as a fraction of the edges.
///
/// # Errors
/// If a velocity does not fit the precision.
pub fn states_in_boxes(
    states: Vec<ExactState>,
    boxes: &[SimulationBox],
    species: &[Species],
) -> Result<Vec<ExactState>, EngineError> {
    let in_box = |(state, simulation_box): (ExactState, &SimulationBox)| {
        state
            .in_box(*simulation_box, species)
            .map_err(|particle| EngineError::velocity_range(state.step, particle))
    };
    states.into_iter().zip(boxes).map(in_box).collect()
}

/// Steps from the start of a stage to the first change of its box after `step`.
pub fn next_rescaling(stage: &StagePlan, step: u64) -> u64 {
    stage.rescale.map_or(u64::MAX, |rescale| (step / rescale.every + 1) * rescale.every)
}

/// States that follow each other in the same box.
fn in_one_box(states: &[ExactState]) -> Vec<Range<usize>> {
    let groups = states.chunk_by(|a, b| a.simulation_box == b.simulation_box);
    let mut start = 0;
    let of_group = |group: &[ExactState]| {
        let range = start..start + group.len();
        start = range.end;
        range
    };
    groups.map(of_group).collect()
}

/// The minima below these states, with velocities of zero.
///
/// # Errors
/// If a descent is given up, or there is no GPU for it.
fn minima_below(
    states: Vec<ExactState>,
    settings: &InherentStructuresPlan,
    (stage, plan): (&str, &Plan),
    cancel: Option<&CancelToken>,
) -> Result<Vec<ExactState>, EngineError> {
    let mut of_descent = plan.clone();
    if plan.run.precision == Precision::FixedPoint {
        // Sums of 64-bit floats differ between processor and GPU in their last bits.
        of_descent.run.engine = EngineChoice::Cpu;
    }
    let mut searches = Searches::new(&of_descent, settings)?;
    if let Some(cancel) = cancel {
        searches.cancel_when(cancel.clone());
    }
    let species = &plan.system.species;
    let snapshots: Vec<_> = states.iter().map(|state| state.to_snapshot(species)).collect();
    let number = |system: usize| plan.ensemble.as_ref().map(|_| system);
    let systems: Vec<_> =
        snapshots.iter().enumerate().map(|(system, of)| (number(system), of)).collect();
    let place = (stage, "minimize.maximum_iterations");
    let mut found = Vec::with_capacity(states.len());
    for of_box in in_one_box(&states) {
        searches.set_box(states[of_box.start].simulation_box);
        found.extend(searches.minima(place, &systems[of_box])?);
    }
    let minimum = |(state, found): (&ExactState, &InherentStructure)| {
        ExactState::from_snapshot(
            &found.snapshot,
            state.species_of.clone(),
            state.simulation_box,
            state.timestep,
            state.precision,
            species,
        )
        .map_err(|particle| EngineError::velocity_range(state.step, particle))
    };
    states.iter().zip(&found).map(minimum).collect()
}

impl Simulation {
    /// Has the engine with the timestep of the present stage, and in the state that it begins with.
    pub(super) fn change_conditions(
        &mut self,
        directory: &OutputDirectory,
    ) -> Result<(), RunError> {
        let plan = self.plan_of(self.stage)?;
        if begins_anew(&self.plan_of_stage, &plan, self.stage) {
            let states = states_of_stage(self.states()?, &plan, self.stage, directory.cancel())?;
            self.set_up(&plan, states, directory.cancel())?;
        }
        if let Some(temperatures) = plan.drawn_temperatures(self.stage) {
            self.ensemble.draw_velocities(&temperatures)?;
        }
        self.boxes = match self.plan.begins_in_own_boxes(self.stage) {
            true => self.states()?.iter().map(|state| state.simulation_box).collect(),
            false => vec![plan.system.simulation_box; self.plan.systems()],
        };
        self.plan_of_stage = plan;
        Ok(())
    }

    /// [`Plan::at_stage`], with the box in which a barostat has left the system.
    fn plan_of(&self, stage: usize) -> Result<Plan, RunError> {
        let mut plan = self.plan.at_stage(stage);
        if self.plan.has_barostat_before(stage) {
            plan = in_box_of_barostat(plan, stage, self.ensemble.export(0)?.simulation_box);
        }
        with_mean_density(plan, stage, |name| self.summary.mean_density(name))
    }

    /// Gives the box other edges, where they are due.
    pub(super) fn rescale(&mut self) -> Result<(), RunError> {
        let step = self.ensemble.step() - self.plan.first_step(self.stage);
        let stage = &self.plan_of_stage.stages[self.stage];
        let Some(boxes) = rescaled(stage, step, &self.boxes) else { return Ok(()) };
        let mut plan = self.plan_of_stage.clone();
        plan.system.simulation_box = boxes[0];
        let states = states_in_boxes(self.states()?, &boxes, &plan.system.species)?;
        self.set_up(&plan, states, None)?;
        // In its middle: thermostats keep their memory.
        self.ensemble.begin_stage(&stage_contexts(&self.plan, self.stage))?;
        Ok(())
    }

    /// First step after `step` of the stage at which the box changes.
    pub(super) fn next_rescaling(&self, step: u64) -> u64 {
        next_rescaling(&self.plan.stages[self.stage], step)
    }

    fn states(&self) -> Result<Vec<ExactState>, EngineError> {
        (0..self.plan.systems()).map(|system| self.ensemble.export(system)).collect()
    }

    /// A new engine, with these states.
    fn set_up(
        &mut self,
        plan: &Plan,
        mut states: Vec<ExactState>,
        cancel: Option<&CancelToken>,
    ) -> Result<(), RunError> {
        let exchanges = self.ensemble.exchanges().cloned();
        if let Some(exchanges) = &exchanges {
            states = exchanges.by_replica(states);
        }
        let of_stage = &plan.stages[self.stage];
        if of_stage.strain.is_some() {
            let what = format!("stage \"{}\": minimizing the potential energy", of_stage.name);
            let create = || StrainedSystems::new(plan, self.stage, states, None, cancel);
            self.ensemble = Box::new(announce::while_slow(what, create)?);
            return Ok(());
        }
        let what = format!("stage \"{}\": setting up the engine", of_stage.name);
        let create = || engine::create_ensemble_on(&self.ranks, plan, states);
        let ensemble = announce::while_slow(what, create)?;
        self.ensemble = Replicas::around(ensemble, plan, exchanges);
        Ok(())
    }
}
