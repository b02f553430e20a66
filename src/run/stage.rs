//! What a stage measures and writes.
mod arrays;
mod files;

use self::arrays::{load_arrays, save_arrays};
pub(super) use self::files::faults_of_ended;
use self::files::{InFiles, StageFiles};
use super::RunError;
use super::description::Provenance;
use super::directory::{Identity, OutputDirectory};
use super::limits::{self, Limits};
use super::schedule::Schedule;
use crate::engine::{self, Engine, Minimizer, Thermodynamics};
use crate::observable::dynamics::evaluation::Evaluated;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::dynamics::source::for_engines;
use crate::observable::{
    self, AxisName, BondOrder, BondOrientationalOrder, Correlations, Macroscopic, SampleContext,
    Structure,
};
use crate::output::{
    Axis, Checkpoint, OutputError, ScalarRow, Scalars, SeriesLayout, StageLayout, ThermodynamicsRow,
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
    /// Where the files are.
    directory: Option<Identity>,
    files: StageFiles,
}

/// An observable that an engine evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfEngine {
    /// With its index.
    Correlation(usize),
    Structure,
    BondOrder,
}

/// What a checkpoint counts on.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Written {
    /// Of the run.
    step: u64,
    #[serde(flatten)]
    in_files: InFiles,
    bond_order_samples: u64,
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
    ) -> Result<Self, RunError> {
        let mut output = Self::observables(plan, stage)?;
        output.give_up_as(directory);
        let stage = &output.plan;
        let description = provenance.describe(plan, toml_text, &stage.name, directory.run());
        output.directory = Some(directory.identity());
        output.files = StageFiles::create(directory, &description, stage, &output.layout())?;
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
    ) -> Result<Self, RunError> {
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
        output.directory = Some(directory.identity());
        output.give_up_as(directory);
        let stage = &output.plan;
        let description = provenance.describe(plan, toml_text, &stage.name, directory.run());
        output.files = StageFiles::reopen(
            directory,
            &description,
            stage,
            &output.layout(),
            written.step,
            &written.in_files,
        )?;
        Ok(output)
    }

    fn observables(plan: &Plan, stage: usize) -> Result<Self, RunError> {
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
            .collect::<Result<_, _>>()?;
        let structure = match &stage.observe.structure {
            Some(plan) => Some(Structure::new(plan, &context)?),
            None => None,
        };
        let bond_order = match &stage.observe.bond_order {
            Some(plan) => Some(BondOrientationalOrder::new(plan, &context)?),
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
            directory: None,
            files: StageFiles::default(),
        })
    }

    /// Searches for inherent structures end when the directory's run has no more time for them.
    fn give_up_as(&mut self, directory: &OutputDirectory) {
        if let (Some(minimizer), Some(cancel)) = (&mut self.minimizer, directory.cancel()) {
            minimizer.cancel_when(cancel.clone());
        }
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
    pub fn hand_over(&mut self, engine: &mut dyn Engine) -> Result<(), RunError> {
        let Some(correlator) = engine.correlator() else { return Ok(()) };
        let mut offloaded = Vec::new();
        for (index, correlations) in self.correlations.iter_mut().enumerate() {
            if let Some(taken) = correlations.hand_over() {
                offloaded.push(taken);
                self.of_engine.push(OfEngine::Correlation(index));
            }
        }
        // What stays here, for the schedule.
        let mut plan = self.plan.clone();
        if let Some(taken) = self.structure.as_mut().and_then(Structure::hand_over) {
            offloaded.push(taken);
            self.of_engine.push(OfEngine::Structure);
            plan.observe.structure = None;
        }
        let samples = self.bond_order_samples;
        if let Some(taken) = self.bond_order.as_mut().and_then(|order| order.hand_over(samples)) {
            offloaded.push(taken);
            self.of_engine.push(OfEngine::BondOrder);
            plan.observe.bond_order = None;
        }
        let here = self.correlations.iter().enumerate();
        let here =
            here.filter(|(index, _)| !self.of_engine.contains(&OfEngine::Correlation(*index)));
        self.schedule = Schedule::new(&plan, here.map(|(_, correlations)| correlations.plan()));
        correlator.begin(offloaded)?;
        Ok(())
    }

    /// Adds what the engine has evaluated of one of its observables.
    pub fn add_evaluated(
        &mut self,
        observable: usize,
        evaluated: &Evaluated,
    ) -> Result<(), RunError> {
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

    fn append_bond_order(&mut self, step: u64, order: BondOrder) -> Result<(), RunError> {
        let BondOrder { global, local } = order;
        let (time, values) = (step as f64 * self.timestep, vec![global, local]);
        self.files.append_scalars(Scalars::BondOrder, ScalarRow { step, time, values })?;
        if let Some(file) = self.files.results_path() {
            let place = limits::Place { step, stage: &self.plan.name, file };
            self.limits.check_order(place, global)?;
        }
        self.bond_order_samples += 1;
        Ok(())
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    pub fn append_thermodynamics(&mut self, row: &Thermodynamics) -> Result<(), RunError> {
        self.files.append_thermodynamics(&ThermodynamicsRow {
            step: row.step,
            time: row.step as f64 * self.timestep,
            potential_energy: row.potential_energy,
            kinetic_energy: row.kinetic_energy,
            internal_energy: row.total_energy(),
            conserved_energy: row.conserved_energy,
            temperature: row.temperature,
            half_step_temperature: row.half_step_temperature,
            pressure: row.pressure,
            stress: row.stress,
            center_of_mass_velocity: row.center_of_mass_velocity,
        })?;
        Ok(())
    }

    /// Feeds all that is due at a step of the stage.
    pub fn sample(
        &mut self,
        step: u64,
        snapshot: &Snapshot,
        macroscopic: Option<&Macroscopic>,
    ) -> Result<(), RunError> {
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
            self.files.append_frame(snapshot, snapshot.step as f64 * self.timestep)?;
        }
        Ok(())
    }

    /// The inherent structure of a snapshot, if it is due.
    fn minimize(&mut self, step: u64, snapshot: &Snapshot) -> Result<(), RunError> {
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
        let values =
            vec![found.energy, found.pressure, found.residual_force, found.iterations as f64];
        let row = ScalarRow { step: snapshot.step, time, values };
        self.files.append_scalars(Scalars::InherentStructures, row)?;
        self.files.append_inherent(&found.snapshot, time)?;
        Ok(())
    }

    fn update_results(&mut self) {
        for correlations in &self.correlations {
            self.files.update("dynamics", correlations.results());
        }
        if let Some(structure) = &self.structure {
            self.files.update("structure", structure.results());
        }
    }

    /// Brings all that was measured into the files, for readers that follow them, and onto the disk.
    pub fn flush(&mut self, step: u64) -> Result<(), RunError> {
        if let Some(directory) = &self.directory {
            directory.check()?;
        }
        self.update_results();
        Ok(self.files.flush(step)?)
    }

    /// Ends the stage: remaining blocks are correlated, files are marked as complete.
    pub fn finish(mut self, step: u64) -> Result<(), RunError> {
        for correlations in &mut self.correlations {
            correlations.finish();
        }
        self.flush(step)?;
        Ok(self.files.finish(step)?)
    }

    /// Puts observables and counts into a checkpoint; files must be on the disk before, up to `step` of the run. `held`: samples of the
    /// engine's correlations.
    pub fn save(
        &self,
        step: u64,
        checkpoint: &mut Checkpoint,
        held: &[Option<HeldSamples>],
    ) -> Result<(), RunError> {
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
            in_files: self.files.known(),
            bond_order_samples: self.bond_order_samples,
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
        .map(|axis| Axis {
            name: axis.name,
            values: axis.values.clone(),
            vectors_per_shell: match axis.name {
                AxisName::Wavenumber => Some(layout.vectors_per_shell.clone().unwrap_or_default()),
                AxisName::Time | AxisName::Distance => None,
            },
        })
        .collect();
    SeriesLayout {
        path: format!("{group}/{}", layout.path),
        axes,
        unit: layout.unit.to_owned(),
        description: layout.formula.clone(),
        has_change: layout.has_change,
    }
}

/// What a checkpoint holds of an observable is not what the plan has.
fn unfit(error: observable::ObservableError) -> OutputError {
    OutputError::CheckpointContent {
        name: "observables".into(),
        reason: format!("do not fit: {error}"),
    }
}
