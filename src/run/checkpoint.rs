//! A run as a checkpoint and back.
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::conditions::{in_box_of_barostat, taken_over, with_mean_density};
use super::description::Provenance;
use super::draft::Draft;
use super::stage::arrays::{load_arrays, save_arrays};
use super::stage::classes::diameters_of;
use super::stage::{StageOutput, part_of_system};
use super::writer::Writer;
use super::{OutputDirectory, RunError, RunOptions, Simulation, memory, stage_contexts};
use crate::config;
use crate::engine::{
    self, ExactState, ExchangeCounts, Exchanges, Replicas, StrainMemory, StrainedSystems,
};
use crate::output::{Checkpoint, OutputError, latest_valid, state_from_checkpoint};
use crate::plan::Plan;
use crate::run::{StageSummary, Summary};
use crate::system::SimulationBox;

/// Place of a run in its plan.
#[derive(Serialize, Deserialize)]
struct Place {
    stage: usize,
    /// Whether the stage has begun: its files are there.
    begun: bool,
    /// Of the first system.
    stages: Vec<StageSummary>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_systems: Vec<Vec<StageSummary>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    exchanges: BTreeMap<usize, ExchangeCounts>,
    /// In which the stage has begun, where a barostat may have changed it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    simulation_box: Option<SimulationBox>,
    /// The same of the other systems, where each has a box of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_boxes: Vec<SimulationBox>,
}

/// What replicas remember; the states beside it are of the systems.
const EXCHANGES: &str = "exchanges";

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
                stages: self.summary.systems[0].clone(),
                other_systems: self.summary.systems[1..].to_vec(),
                exchanges: self.summary.exchanges.clone(),
                simulation_box: self
                    .plan
                    .has_barostat()
                    .then_some(self.plan_of_stage.system.simulation_box),
                other_boxes: match self.plan.has_barostat() {
                    true => self.boxes.get(1..).unwrap_or_default().to_vec(),
                    false => Vec::new(),
                },
            },
        )?;
        if let Some(exchanges) = self.ensemble.exchanges() {
            checkpoint.put_json(EXCHANGES, exchanges)?;
        }
        for (system, arrays) in self.ensemble.strain_memory().into_iter().flatten().enumerate() {
            save_arrays(&mut checkpoint, &strain_of_system(system), (json!(null), arrays))?;
        }
        checkpoint.put_json("seconds", &self.seconds())?;
        let held = match (&self.writer, self.ensemble.correlator()) {
            (Some(_), Some(correlator)) => correlator.held()?,
            _ => Vec::new(),
        };
        let states = self.ensemble.begin_exports()?;
        let (step, full_disk) = (self.ensemble.step(), directory.full_disk().clone());
        let (identity, directory) = (directory.identity(), directory.path().to_owned());
        let is_ensemble = self.plan.ensemble.is_some();
        Ok(Draft { checkpoint, states, is_ensemble, held, step, directory, identity, full_disk })
    }

    pub(super) fn restore(
        checkpoint: &Checkpoint,
        path: &Path,
        directory: &OutputDirectory,
        options: &RunOptions,
    ) -> Result<Self, RunError> {
        let (plan, text) = (checkpoint.get_json("plan")?, checkpoint.get_json("toml")?);
        let (mut plan, toml_text): (Plan, String) =
            config::resumed_with(plan, text, &options.settings)?;
        let place: Place = checkpoint.get_json("place")?;
        plan.output.directory = directory.path().to_owned();
        let planned = plan.run.engine;
        plan.run.engine = options.engine.unwrap_or(planned);
        memory::check(&plan, &options.ranks)?;
        let mut summaries = vec![place.stages];
        summaries.extend(place.other_systems);
        let fits = |stages: &Vec<StageSummary>| stages.len() == plan.stages.len();
        if place.stage > plan.stages.len()
            || summaries.len() != plan.systems()
            || ![0, plan.systems() - 1].contains(&place.other_boxes.len())
            || !summaries.iter().all(fits)
        {
            let reason = "its place in the plan is none".to_owned();
            return Err(OutputError::CheckpointUnfit { path: path.to_owned(), reason }.into());
        }
        let exchanges = exchanges_of(checkpoint, &plan, path)?;
        let mut states = states_in(checkpoint, &plan, path)?;
        directory.is_at("setting up the engine".to_owned());
        let step = states[0].step;
        let diameters = diameters_of(&states);
        if let Some(exchanges) = &exchanges {
            states = exchanges.by_replica(states);
        }
        let mut plan_of_stage = match plan.stages.len() {
            0 => plan.clone(),
            stages => plan.at_stage(place.stage.min(stages - 1)),
        };
        if let Some(simulation_box) = place.simulation_box {
            plan_of_stage = in_box_of_barostat(plan_of_stage, place.stage, simulation_box);
        }
        let mut summary = Summary::new(&plan);
        summary.systems = summaries;
        let mean_density_of = |name: &str| summary.mean_density(name);
        let plan_of_stage = with_mean_density(plan_of_stage, place.stage, mean_density_of)?;
        let boxes = std::iter::once(plan_of_stage.system.simulation_box);
        let boxes = match place.other_boxes.is_empty() {
            true => vec![plan_of_stage.system.simulation_box; plan.systems()],
            false => boxes.chain(place.other_boxes).collect(),
        };
        let is_strained = place.begun && plan_of_stage.stages[place.stage].strain.is_some();
        let states = if is_strained { states } else { taken_over(states, &plan_of_stage)? };
        // Within a stage that changes the box, it is that of the state.
        let mut of_engine = plan_of_stage.clone();
        of_engine.system.simulation_box = states[0].simulation_box;
        let mut ensemble = if is_strained {
            let memory = strain_memory_in(checkpoint, plan.systems())?;
            let (stage, cancel) = (place.stage, directory.cancel());
            let strained =
                StrainedSystems::new(&plan_of_stage, stage, states, Some(&memory), cancel);
            Box::new(strained?)
        } else {
            let ensemble = engine::create_ensemble_on(&options.ranks, &of_engine, states)?;
            Replicas::around(ensemble, &plan, exchanges)
        };
        let mut writer = None;
        if place.begun {
            ensemble.begin_stage(&stage_contexts(&plan, place.stage))?;
            let provenance = Provenance::of(ensemble.as_ref());
            let mut output = StageOutput::restore(
                &plan_of_stage,
                &toml_text,
                place.stage,
                directory,
                &provenance,
                checkpoint,
                &diameters,
            )?;
            output.hand_over(ensemble.as_mut())?;
            let first_step = plan.first_step(place.stage);
            writer = Some(Writer::start(output, first_step, step, directory.path())?);
        }
        let seconds = checkpoint.get_json("seconds")?;
        let mut simulation = Simulation::new(plan, planned, toml_text, ensemble);
        (simulation.plan_of_stage, simulation.boxes) = (plan_of_stage, boxes);
        simulation.ranks = options.ranks.clone();
        simulation.stage = place.stage;
        simulation.writer = writer;
        simulation.summary.systems = summary.systems;
        simulation.summary.exchanges = place.exchanges;
        simulation.summary.seconds = seconds;
        Ok(simulation)
    }
}

/// Which replicas the systems of a checkpoint are, where they are exchanged.
fn exchanges_of(
    checkpoint: &Checkpoint,
    plan: &Plan,
    path: &Path,
) -> Result<Option<Exchanges>, RunError> {
    let Some(ensemble) = plan.ensemble.as_ref().filter(|of| of.exchange_every.is_some()) else {
        return Ok(None);
    };
    let exchanges: Exchanges = checkpoint.get_json(EXCHANGES)?;
    if exchanges.fits(ensemble.systems(), ensemble.groups()) {
        return Ok(Some(exchanges));
    }
    let reason = "its replicas are not those of the plan".to_owned();
    Err(OutputError::CheckpointUnfit { path: path.to_owned(), reason }.into())
}

/// Name of what a stage of strain remembers of a system.
fn strain_of_system(system: usize) -> String {
    format!("strain/{system}")
}

/// What a stage of strain remembers of all systems.
fn strain_memory_in(checkpoint: &Checkpoint, systems: usize) -> Result<StrainMemory, OutputError> {
    let of_system = |system| Ok(load_arrays(checkpoint, &strain_of_system(system))?.1);
    (0..systems).map(of_system).collect()
}

/// Those of all systems.
fn states_in(
    checkpoint: &Checkpoint,
    plan: &Plan,
    path: &Path,
) -> Result<Vec<ExactState>, OutputError> {
    let of_system = |system| state_from_checkpoint(&checkpoint.part(&part_of_system(system)), path);
    match plan.ensemble {
        None => Ok(vec![state_from_checkpoint(checkpoint, path)?]),
        Some(_) => (0..plan.systems()).map(of_system).collect(),
    }
}

/// The states of all systems in a checkpoint, or in the last good one of a directory.
pub fn states_of(path: &Path) -> Result<Vec<ExactState>, RunError> {
    let (path, checkpoint) = if path.is_dir() {
        let none = || RunError::NoCheckpoint { path: path.to_owned() };
        let (_, found, checkpoint) = latest_valid(path)?.checkpoint.ok_or_else(none)?;
        (found, checkpoint)
    } else {
        (path.to_owned(), Checkpoint::read(path)?)
    };
    let plan: Plan = checkpoint.get_json("plan")?;
    Ok(states_in(&checkpoint, &plan, &path)?)
}

/// That of the last checkpoint in a directory.
pub fn last_state(directory: &Path) -> Result<ExactState, RunError> {
    let found = latest_valid(directory)?;
    let (_, path, checkpoint) =
        found.checkpoint.ok_or_else(|| RunError::NoCheckpoint { path: directory.to_owned() })?;
    Ok(state_from_checkpoint(&checkpoint, &path)?)
}
