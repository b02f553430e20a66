//! A run as a checkpoint and back.
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::description::Provenance;
use super::draft::Draft;
use super::stage::StageOutput;
use super::writer::Writer;
use super::{OutputDirectory, RunError, RunOptions, Simulation, memory};
use crate::engine::{self, ExactState, StageContext};
use crate::output::{Checkpoint, OutputError, latest_valid, state_from_checkpoint};
use crate::plan::Plan;
use crate::run::StageSummary;

/// Place of a run in its plan.
#[derive(Serialize, Deserialize)]
struct Place {
    stage: usize,
    /// Whether the stage has begun: its files are there.
    begun: bool,
    stages: Vec<StageSummary>,
}

/// Whether the stage of a checkpoint had begun.
pub(super) fn is_within_stage(checkpoint: &Checkpoint) -> Result<bool, RunError> {
    Ok(checkpoint.get_json::<Place>("place")?.begun)
}

impl Simulation {
    /// The checkpoint of this moment.
    pub(super) fn draft(&mut self, directory: &OutputDirectory) -> Result<Draft, RunError> {
        let mut checkpoint = Checkpoint::new();
        directory.mark(&mut checkpoint)?;
        let mut plan = self.plan.clone();
        plan.run.engine = self.planned;
        checkpoint.put_json("plan", &plan)?;
        checkpoint.put_json("toml", &self.toml_text)?;
        checkpoint.put_json(
            "place",
            &Place {
                stage: self.stage,
                begun: self.writer.is_some(),
                stages: self.summary.stages.clone(),
            },
        )?;
        checkpoint.put_json("seconds", &self.seconds())?;
        let held = match (&self.writer, self.engine.correlator()) {
            (Some(_), Some(correlator)) => correlator.held()?,
            _ => Vec::new(),
        };
        let state = self.engine.begin_export()?;
        let (step, full_disk) = (self.engine.step(), directory.full_disk().clone());
        let (identity, directory) = (directory.identity(), directory.path().to_owned());
        Ok(Draft { checkpoint, state, held, step, directory, identity, full_disk })
    }

    pub(super) fn restore(
        checkpoint: &Checkpoint,
        path: &Path,
        directory: &OutputDirectory,
        options: &RunOptions,
    ) -> Result<Self, RunError> {
        let mut plan: Plan = checkpoint.get_json("plan")?;
        let toml_text: String = checkpoint.get_json("toml")?;
        let place: Place = checkpoint.get_json("place")?;
        plan.output.directory = directory.path().to_owned();
        let planned = plan.run.engine;
        plan.run.engine = options.engine.unwrap_or(planned);
        memory::check(&plan, &options.ranks)?;
        if place.stage > plan.stages.len() || place.stages.len() != plan.stages.len() {
            let reason = "its place in the plan is none".to_owned();
            return Err(OutputError::CheckpointUnfit { path: path.to_owned(), reason }.into());
        }
        let state = state_from_checkpoint(checkpoint, path)?;
        directory.is_at("setting up the engine".to_owned());
        let mut engine = engine::create_on(&options.ranks, &plan, &state)?;
        let step = state.step;
        drop(state);
        let mut writer = None;
        if place.begun {
            let stage = &plan.stages[place.stage];
            engine.begin_stage(&StageContext {
                thermostat: stage.thermostat,
                first_step: plan.first_step(place.stage),
                steps: stage.steps,
            })?;
            let provenance = Provenance::of(engine.as_ref());
            let mut output = StageOutput::restore(
                &plan,
                &toml_text,
                place.stage,
                directory,
                &provenance,
                checkpoint,
            )?;
            output.hand_over(engine.as_mut())?;
            let first_step = plan.first_step(place.stage);
            writer = Some(Writer::start(output, first_step, step, directory.path())?);
        }
        let seconds = checkpoint.get_json("seconds")?;
        let mut simulation = Simulation::new(plan, planned, toml_text, engine);
        simulation.stage = place.stage;
        simulation.writer = writer;
        simulation.summary.stages = place.stages;
        simulation.summary.seconds = seconds;
        Ok(simulation)
    }
}

/// That of the last checkpoint in a directory.
pub fn last_state(directory: &Path) -> Result<ExactState, RunError> {
    let found = latest_valid(directory)?;
    let (_, path, checkpoint) =
        found.checkpoint.ok_or_else(|| RunError::NoCheckpoint { path: directory.to_owned() })?;
    Ok(state_from_checkpoint(&checkpoint, &path)?)
}
