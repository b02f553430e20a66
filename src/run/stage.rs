//! What a stage measures and writes.
use std::path::{Path, PathBuf};

use super::description::Provenance;
use super::directory::OutputDirectory;
use super::limits::{self, Limits};
use super::schedule::Schedule;
use crate::engine::{self, Engine, Minimizer, Thermodynamics};
use crate::observable::dynamics::evaluation::Evaluated;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::dynamics::terms::for_engines;
use crate::observable::{
    self, AxisName, BondOrder, BondOrientationalOrder, Correlations, Macroscopic, SampleContext,
    Series, Structure,
};
use crate::output::{
    Axis, Checkpoint, FullDisk, GsdWriter, OutputError, ResultsWriter, Rows, ScalarRow, Scalars,
    SeriesLayout, StageLayout, ThermodynamicsRow, TrajectoryWriter,
};
use crate::plan::{Plan, StagePlan};
use crate::system::{Snapshot, species_of_particles};

/// Observables and files of the stage that runs.
pub struct StageOutput {
    plan: StagePlan,
    schedule: Schedule,
    timestep: f64,
    correlations: Vec<Correlations>,
    /// What the engine evaluates, in its order.
    of_engine: Vec<OfEngine>,
    structure: Option<Structure>,
    bond_order: Option<BondOrientationalOrder>,
    /// Of the bond-orientational order, in the files.
    bond_order_samples: u64,
    minimizer: Option<Box<dyn Minimizer>>,
    limits: Limits,
    results: Option<ResultsWriter>,
    trajectory: Option<TrajectoryWriter>,
    gsd: Option<GsdWriter>,
    inherent: Option<TrajectoryWriter>,
}

/// An observable that an engine evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfEngine {
    /// With its index.
    Correlation(usize),
    Structure,
    BondOrder,
}

/// How many rows and frames a checkpoint counts on.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Written {
    /// Of the run.
    step: u64,
    rows: Rows,
    frames: u64,
    gsd_frames: u64,
    inherent_frames: u64,
    bond_order_samples: u64,
    /// That the stage has taken.
    seconds: f64,
}

struct Paths {
    results: PathBuf,
    trajectory: PathBuf,
    gsd: PathBuf,
    inherent: PathBuf,
}

impl Paths {
    fn new(directory: &Path, stage: &str) -> Self {
        let path = |extension: &str| directory.join(format!("{stage}.{extension}"));
        Paths {
            results: path("h5"),
            trajectory: path("h5md"),
            gsd: path("gsd"),
            inherent: path("inherent.h5md"),
        }
    }
}

impl StageOutput {
    /// Starts a stage's observables and files. Files that a crashed run left from this stage, which no
    /// checkpoint counts on, are replaced.
    pub fn create(
        plan: &Plan,
        toml_text: &str,
        stage: usize,
        directory: &OutputDirectory,
        provenance: &Provenance,
    ) -> miette::Result<Self> {
        let mut output = Self::observables(plan, stage)?;
        let paths = Paths::new(directory.path(), &output.plan.name);
        for path in [&paths.results, &paths.trajectory, &paths.gsd, &paths.inherent] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(super::RunError::Directory {
                        path: path.clone(),
                        what: "replaced",
                        source: error,
                    }
                    .into());
                }
                _ => {}
            }
        }
        let stage = output.plan.clone();
        let description = provenance.describe(plan, toml_text, &stage.name);
        let layout = output.layout();
        let room = directory.full_disk();
        if layout.has_results() {
            let create = || ResultsWriter::create(&paths.results, &description, &layout);
            output.results = Some(room.patiently(create)?);
        }
        if stage.observe.trajectory.is_some() {
            let create = || TrajectoryWriter::create(&paths.trajectory, &description);
            output.trajectory = Some(room.patiently(create)?);
            if stage.observe.gsd {
                output.gsd = Some(room.patiently(|| GsdWriter::create(&paths.gsd, &description))?);
            }
        }
        if stage.observe.inherent_structures.is_some() {
            let create = || TrajectoryWriter::create(&paths.inherent, &description);
            output.inherent = Some(room.patiently(create)?);
        }
        output.on_full_disk(room);
        Ok(output)
    }

    /// Goes on with a stage's observables and files as a checkpoint knows them.
    pub fn restore(
        plan: &Plan,
        toml_text: &str,
        stage: usize,
        directory: &OutputDirectory,
        provenance: &Provenance,
        checkpoint: &Checkpoint,
    ) -> miette::Result<Self> {
        let mut output = Self::observables(plan, stage)?;
        for (index, correlations) in output.correlations.iter_mut().enumerate() {
            let (state, arrays) = load_arrays(checkpoint, &format!("correlation-{index}"))?;
            correlations.restore(&state, &arrays).map_err(unfit)?;
        }
        if let Some(structure) = &mut output.structure {
            let (state, arrays) = load_arrays(checkpoint, "structure")?;
            structure.restore(&state, &arrays).map_err(unfit)?;
        }
        let written: Written = checkpoint.get_json("written")?;
        output.bond_order_samples = written.bond_order_samples;
        let step = written.step;
        let stage = output.plan.clone();
        let paths = Paths::new(directory.path(), &stage.name);
        let layout = output.layout();
        if layout.has_results() {
            let mut results =
                ResultsWriter::reopen(&paths.results, plan, &layout, written.rows, step)?;
            results.go_on_from(written.seconds);
            output.results = Some(results);
        }
        if stage.observe.trajectory.is_some() {
            output.trajectory =
                Some(TrajectoryWriter::reopen(&paths.trajectory, plan, written.frames)?);
            if stage.observe.gsd {
                let description = provenance.describe(plan, toml_text, &stage.name);
                output.gsd = Some(GsdWriter::reopen(&paths.gsd, &description, written.gsd_frames)?);
            }
        }
        if stage.observe.inherent_structures.is_some() {
            let frames = written.inherent_frames;
            output.inherent = Some(TrajectoryWriter::reopen(&paths.inherent, plan, frames)?);
        }
        output.on_full_disk(directory.full_disk());
        Ok(output)
    }

    fn on_full_disk(&mut self, full_disk: &FullDisk) {
        if let Some(results) = &mut self.results {
            results.on_full_disk(full_disk);
        }
        for trajectory in self.trajectory.iter_mut().chain(&mut self.inherent) {
            trajectory.on_full_disk(full_disk);
        }
        if let Some(gsd) = &mut self.gsd {
            gsd.on_full_disk(full_disk);
        }
    }

    fn observables(plan: &Plan, stage: usize) -> miette::Result<Self> {
        let stage = plan.stages[stage].clone();
        let context = SampleContext {
            simulation_box: plan.system.simulation_box,
            species: plan.system.species.clone(),
            species_of: species_of_particles(&plan.system.species),
            timestep: plan.run.timestep,
            stage_steps: stage.steps,
        };
        let correlations = stage
            .correlations
            .iter()
            .flat_map(for_engines)
            .map(|plan| Correlations::new(&plan, &context))
            .collect::<Result<_, _>>()
            .map_err(observable_error)?;
        let structure = match &stage.observe.structure {
            Some(plan) => Some(Structure::new(plan, &context).map_err(observable_error)?),
            None => None,
        };
        let bond_order = match &stage.observe.bond_order {
            Some(plan) => {
                Some(BondOrientationalOrder::new(plan, &context).map_err(observable_error)?)
            }
            None => None,
        };
        let minimizer = match &stage.observe.inherent_structures {
            Some(settings) => Some(engine::minimizer(plan, settings)?),
            None => None,
        };
        Ok(StageOutput {
            minimizer,
            schedule: Schedule::new(&stage, stage.correlations.iter()),
            plan: stage,
            limits: Limits::new(plan.limits),
            timestep: plan.run.timestep,
            correlations,
            of_engine: Vec::new(),
            structure,
            bond_order,
            bond_order_samples: 0,
            results: None,
            trajectory: None,
            gsd: None,
            inherent: None,
        })
    }

    fn layout(&self) -> StageLayout {
        let mut series: Vec<SeriesLayout> = Vec::new();
        for correlations in &self.correlations {
            series.extend(correlations.layouts().iter().map(|layout| in_file("dynamics", layout)));
        }
        if let Some(structure) = &self.structure {
            series.extend(structure.layouts().iter().map(|layout| in_file("structure", layout)));
        }
        let mut scalars = Vec::new();
        if self.bond_order.is_some() {
            scalars.push(Scalars::BondOrder);
        }
        if self.minimizer.is_some() {
            scalars.push(Scalars::InherentStructures);
        }
        StageLayout { thermodynamics: self.plan.observe.thermodynamics.is_some(), scalars, series }
    }

    /// Leaves to the engine what it evaluates by itself.
    pub fn hand_over(&mut self, engine: &mut dyn Engine) -> miette::Result<()> {
        let Some(correlator) = engine.correlator() else { return Ok(()) };
        let mut handed_over = Vec::new();
        for (index, correlations) in self.correlations.iter_mut().enumerate() {
            if let Some(taken) = correlations.hand_over() {
                handed_over.push(taken);
                self.of_engine.push(OfEngine::Correlation(index));
            }
        }
        // What stays here, for the schedule.
        let mut plan = self.plan.clone();
        if let Some(taken) = self.structure.as_mut().and_then(Structure::hand_over) {
            handed_over.push(taken);
            self.of_engine.push(OfEngine::Structure);
            plan.observe.structure = None;
        }
        let samples = self.bond_order_samples;
        if let Some(taken) = self.bond_order.as_mut().and_then(|order| order.hand_over(samples)) {
            handed_over.push(taken);
            self.of_engine.push(OfEngine::BondOrder);
            plan.observe.bond_order = None;
        }
        let here = self.correlations.iter().enumerate();
        let here =
            here.filter(|(index, _)| !self.of_engine.contains(&OfEngine::Correlation(*index)));
        self.schedule = Schedule::new(&plan, here.map(|(_, correlations)| correlations.plan()));
        correlator.begin(handed_over)?;
        Ok(())
    }

    /// Adds what the engine has evaluated of one of its observables.
    pub fn add_evaluated(
        &mut self,
        observable: usize,
        evaluated: &Evaluated,
    ) -> miette::Result<()> {
        match (self.of_engine[observable], evaluated) {
            (OfEngine::Correlation(index), evaluated) => {
                self.correlations[index].add_evaluated(evaluated);
            }
            (OfEngine::Structure, Evaluated::Structure(samples)) => {
                let structure = self.structure.as_mut().expect("it was handed over");
                samples.iter().for_each(|sample| structure.add_evaluated(sample));
            }
            (OfEngine::BondOrder, Evaluated::BondOrder(samples)) => {
                for sample in samples {
                    self.append_bond_order(sample.step, sample.order)?;
                }
            }
            (of, other) => unreachable!("{of:?} is evaluated as {other:?}"),
        }
        Ok(())
    }

    fn append_bond_order(&mut self, step: u64, order: BondOrder) -> miette::Result<()> {
        let BondOrder { global, local } = order;
        let (time, values) = (step as f64 * self.timestep, vec![global, local]);
        if let Some(results) = &mut self.results {
            results.append(Scalars::BondOrder, ScalarRow { step, time, values })?;
            let place = limits::Place { step, stage: &self.plan.name, file: results.path() };
            self.limits.check_order(place, global)?;
        }
        self.bond_order_samples += 1;
        Ok(())
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    pub fn append_thermodynamics(&mut self, row: &Thermodynamics) -> miette::Result<()> {
        if let Some(results) = &mut self.results {
            results.append_thermodynamics(&ThermodynamicsRow {
                step: row.step,
                time: row.step as f64 * self.timestep,
                potential_energy: row.potential_energy,
                kinetic_energy: row.kinetic_energy,
                internal_energy: row.total_energy(),
                conserved_energy: row.conserved_energy,
                temperature: row.temperature,
                pressure: row.pressure,
                stress: row.stress,
                center_of_mass_velocity: row.center_of_mass_velocity,
            })?;
        }
        Ok(())
    }

    /// Feeds all that is due at a step of the stage.
    pub fn sample(
        &mut self,
        step: u64,
        snapshot: &Snapshot,
        macroscopic: Option<&Macroscopic>,
    ) -> miette::Result<()> {
        for correlations in &mut self.correlations {
            if correlations.is_due(step) {
                correlations.sample(snapshot, macroscopic);
            }
        }
        if let Some(structure) = &mut self.structure
            && structure.is_due(step)
        {
            structure.sample(snapshot);
        }
        let bond_order = self.bond_order.as_ref().filter(|order| order.is_due(step));
        if let Some(order) = bond_order.map(|order| order.evaluate(snapshot)) {
            self.append_bond_order(snapshot.step, order)?;
        }
        self.minimize(step, snapshot)?;
        if self.schedule.wants_frame(step) {
            if let Some(trajectory) = &mut self.trajectory {
                trajectory.append(snapshot, snapshot.step as f64 * self.timestep)?;
            }
            if let Some(gsd) = &mut self.gsd {
                gsd.append(snapshot)?;
            }
        }
        Ok(())
    }

    /// The inherent structure of a snapshot, if it is due.
    fn minimize(&mut self, step: u64, snapshot: &Snapshot) -> miette::Result<()> {
        let (Some(minimizer), Some(settings)) =
            (&mut self.minimizer, &self.plan.observe.inherent_structures)
        else {
            return Ok(());
        };
        if !step.is_multiple_of(settings.every) {
            return Ok(());
        }
        let found = minimizer.minimize(snapshot)?;
        if found.residual_force >= settings.force_tolerance {
            tracing::warn!(
                "stage \"{}\", step {}: forces of up to {:.1e} are left in the inherent structure after {} \
                 iterations (observe.inherent_structures.maximum_iterations)",
                self.plan.name,
                snapshot.step,
                found.residual_force,
                found.iterations
            );
        }
        let time = snapshot.step as f64 * self.timestep;
        if let Some(results) = &mut self.results {
            let values = vec![found.energy, found.residual_force, found.iterations as f64];
            let row = ScalarRow { step: snapshot.step, time, values };
            results.append(Scalars::InherentStructures, row)?;
        }
        if let Some(inherent) = &mut self.inherent {
            inherent.append(&found.snapshot, time)?;
        }
        Ok(())
    }

    fn update_results(&mut self) {
        let Some(results) = &mut self.results else { return };
        let mut update = |group: &str, series: Series| {
            let path = format!("{group}/{}", series.path);
            results.update_series(&path, &series.value, &series.error, &series.count);
        };
        for correlations in &self.correlations {
            for series in correlations.results() {
                update("dynamics", series);
            }
        }
        if let Some(structure) = &self.structure {
            for series in structure.results() {
                update("structure", series);
            }
        }
    }

    /// Brings all that was measured into the files, for readers that follow them.
    pub fn flush(&mut self, step: u64) -> miette::Result<()> {
        self.update_results();
        if let Some(results) = &mut self.results {
            results.flush(step)?;
        }
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.flush()?;
        }
        if let Some(inherent) = &mut self.inherent {
            inherent.flush()?;
        }
        Ok(())
    }

    /// The same, and onto the disk.
    pub fn sync(&mut self, step: u64) -> miette::Result<()> {
        self.update_results();
        if let Some(results) = &mut self.results {
            results.sync(step)?;
        }
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.sync()?;
        }
        if let Some(gsd) = &mut self.gsd {
            gsd.sync()?;
        }
        if let Some(inherent) = &mut self.inherent {
            inherent.sync()?;
        }
        Ok(())
    }

    /// Ends the stage: remaining blocks are correlated, files are marked as complete.
    pub fn finish(mut self, step: u64) -> miette::Result<()> {
        for correlations in &mut self.correlations {
            correlations.finish();
        }
        self.sync(step)?;
        if let Some(results) = self.results.take() {
            results.finish(step)?;
        }
        Ok(())
    }

    /// Puts observables and counts into a checkpoint; files must be on the disk before, up to `step` of the run. `held`: samples of the
    /// engine's correlations.
    pub fn save(
        &self,
        step: u64,
        checkpoint: &mut Checkpoint,
        held: &[Option<HeldSamples>],
    ) -> miette::Result<()> {
        for (index, correlations) in self.correlations.iter().enumerate() {
            let of = OfEngine::Correlation(index);
            let of_engine = self.of_engine.iter().position(|&of_engine| of_engine == of);
            let saved = correlations.save(of_engine.and_then(|of_engine| held[of_engine].as_ref()));
            save_arrays(checkpoint, &format!("correlation-{index}"), saved)?;
        }
        if let Some(structure) = &self.structure {
            save_arrays(checkpoint, "structure", structure.save())?;
        }
        let written = Written {
            step,
            rows: self.results.as_ref().map_or(Rows::default(), ResultsWriter::rows),
            frames: self.trajectory.as_ref().map_or(0, TrajectoryWriter::frames),
            gsd_frames: self.gsd.as_ref().map_or(0, GsdWriter::frames),
            inherent_frames: self.inherent.as_ref().map_or(0, TrajectoryWriter::frames),
            bond_order_samples: self.bond_order_samples,
            seconds: self.results.as_ref().map_or(0.0, ResultsWriter::seconds),
        };
        checkpoint.put_json("written", &written)?;
        Ok(())
    }
}

/// An observable's layout as the results file has it.
fn in_file(group: &str, layout: &observable::SeriesLayout) -> SeriesLayout {
    let axes = layout
        .axes
        .iter()
        .map(|axis| match axis.name {
            AxisName::Time => Axis::time(axis.values.clone()),
            AxisName::Distance => Axis::distance(axis.values.clone()),
            AxisName::Wavenumber => {
                let vectors = layout.vectors_per_shell.clone().unwrap_or_default();
                Axis::wavenumber(axis.values.clone(), vectors)
            }
        })
        .collect();
    SeriesLayout {
        path: format!("{group}/{}", layout.path),
        axes,
        unit: layout.unit.to_owned(),
        description: layout.formula.clone(),
    }
}

type Arrays = Vec<(String, Vec<f64>)>;

fn save_arrays(
    checkpoint: &mut Checkpoint,
    name: &str,
    (state, arrays): (serde_json::Value, Arrays),
) -> miette::Result<()> {
    checkpoint.put_json(name, &state)?;
    let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    checkpoint.put_json(&format!("{name}/arrays"), &names)?;
    for (array, values) in &arrays {
        checkpoint.put_f64(&format!("{name}/{array}"), values);
    }
    Ok(())
}

fn load_arrays(checkpoint: &Checkpoint, name: &str) -> miette::Result<(serde_json::Value, Arrays)> {
    let names: Vec<String> = checkpoint.get_json(&format!("{name}/arrays"))?;
    let arrays = names
        .into_iter()
        .map(|array| {
            let values = checkpoint.get_f64(&format!("{name}/{array}"))?;
            Ok((array, values))
        })
        .collect::<miette::Result<_>>()?;
    Ok((checkpoint.get_json(name)?, arrays))
}

fn observable_error(error: observable::ObservableError) -> miette::Report {
    miette::miette!("{error}")
}

/// What a checkpoint holds of an observable is not what the plan has.
fn unfit(error: observable::ObservableError) -> OutputError {
    OutputError::CheckpointContent {
        name: "observables".into(),
        reason: format!("do not fit: {error}"),
    }
}
