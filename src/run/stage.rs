//! What a stage measures and writes.
pub(super) mod arrays;
pub(super) mod classes;
mod files;
pub(super) mod minima;
mod observables;
mod propensities;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use self::files::faults_of_ended;
use self::files::{InFiles, StageFiles};
use self::minima::Searches;
pub(super) use self::observables::StoredFrames;
use self::observables::{Observables, sample_context};
use self::propensities::StagePropensities;
use super::RunError;
use super::description::Provenance;
use super::directory::{Identity, OutputDirectory};
use super::limits::{self, Limits};
use super::schedule::Schedule;
use super::writer::Row;
use crate::engine::{
    Ensemble, ExchangeCounts, InherentStructure, OfSystems, Strained, Thermodynamics, Workers,
};
use crate::observable::diameter_classes::DiameterClass;
use crate::observable::dynamics::evaluation::Evaluated;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::{
    BondOrder, CrystallinityAndDemixing, ForcesAndCurvature, LocalOrder, Macroscopic, SampleContext,
};
use crate::output::{
    Checkpoint, PropensityLayout, ScalarRow, Scalars, StageLayout, StrainLayout, ThermodynamicsRow,
};
use crate::plan::{BoxCourse, EnsemblePlan, Plan, Precision, StagePlan};
use crate::potential::PotentialPlan;
use crate::system::{SimulationBox, Snapshot};

/// Observables of all systems, and the files, of the stage that runs.
pub struct StageOutput {
    plan: StagePlan,
    /// `None`: one system.
    ensemble: Option<EnsemblePlan>,
    /// Whether replicas are exchanged.
    is_exchanging: bool,
    schedule: Schedule,
    /// Snapshots have what the sums of a GPU are made of.
    has_portable_sums: bool,
    /// Timestep, and time at step 0 if all steps had this length.
    timestep: f64,
    offset: f64,
    /// Of the run.
    first_step: u64,
    systems: Vec<Observables>,
    /// By diameter, of all systems.
    classes: Vec<DiameterClass>,
    /// Who samples them.
    workers: Workers,
    /// Of the bond-orientational order, in the files.
    bond_order_samples: u64,
    /// By step, what was evaluated of some systems before others.
    bond_orders: BTreeMap<u64, Vec<Option<BondOrder>>>,
    local_order: Option<LocalOrder>,
    /// Of runs from the same configurations.
    propensities: Option<StagePropensities>,
    propensity_layout: Option<PropensityLayout>,
    searches: Option<Searches>,
    potential: PotentialPlan,
    context: SampleContext,
    course: BoxCourse,
    limits: Limits,
    /// Where the files are.
    directory: Option<Identity>,
    files: StageFiles,
}

/// Part of a checkpoint that holds what is of one of many systems.
pub(super) fn part_of_system(system: usize) -> String {
    format!("system-{system}")
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
    /// Starts a stage's observables and files, with the `diameters` of the particles of each system where it has classes of them. Files that a crashed run left from this stage, which no
    /// checkpoint counts on, are replaced.
    pub fn create(
        plan: &Plan,
        toml_text: &str,
        stage: usize,
        directory: &OutputDirectory,
        provenance: &Provenance,
        diameters: &[Arc<[f64]>],
    ) -> Result<Self, RunError> {
        Self::create_of(plan, toml_text, stage, directory, provenance, (None, diameters))
    }

    /// The same of samples of a trajectory, which may be at any times.
    pub fn create_of(
        plan: &Plan,
        toml_text: &str,
        stage: usize,
        directory: &OutputDirectory,
        provenance: &Provenance,
        (frames, diameters): (Option<&StoredFrames>, &[Arc<[f64]>]),
    ) -> Result<Self, RunError> {
        let mut output = Self::observables(plan, stage, frames, diameters)?;
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
        diameters: &[Arc<[f64]>],
    ) -> Result<Self, RunError> {
        let mut output = Self::observables(plan, stage, None, diameters)?;
        match &output.ensemble {
            None => output.systems[0].restore(checkpoint)?,
            Some(_) => {
                for (system, observables) in output.systems.iter_mut().enumerate() {
                    observables.restore(&checkpoint.part(&part_of_system(system)))?;
                }
            }
        }
        if let Some(propensities) = &mut output.propensities {
            propensities.restore(checkpoint)?;
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
        // A file that was damaged begins anew.
        if let Some(propensities) = &output.propensities {
            propensities.tell_positions(&mut output.files);
        }
        Ok(output)
    }

    /// The observables of a stage, which go to no files.
    pub fn without_files(
        plan: &Plan,
        stage: usize,
        diameters: &[Arc<[f64]>],
    ) -> Result<Self, RunError> {
        Self::observables(plan, stage, None, diameters)
    }

    fn observables(
        plan: &Plan,
        stage: usize,
        frames: Option<&StoredFrames>,
        diameters: &[Arc<[f64]>],
    ) -> Result<Self, RunError> {
        let classes = classes::classes_of(plan, stage, diameters)?;
        let is_exchanging = plan.exchanges_in(stage);
        let first_step = plan.first_step(stage);
        let first_time = plan.time(stage, first_step);
        // Nothing where no stage has a timestep of its own.
        let offset = match plan.stages[stage].timestep {
            Some(timestep) => first_time - first_step as f64 * timestep,
            None => 0.0,
        };
        let stage = plan.stages[stage].clone();
        let systems = (0..plan.systems())
            .map(|system| Observables::new(plan, &stage, frames, classes.get(system)));
        let systems = systems.collect::<Result<_, _>>()?;
        let searches = match &stage.observe.inherent_structures {
            Some(settings) => Some(Searches::new(plan, settings)?),
            None => None,
        };
        let local_order = match &stage.observe.local_order {
            Some(settings) => Some(LocalOrder::new(settings, &sample_context(plan, &stage))?),
            None => None,
        };
        Ok(StageOutput {
            first_step,
            local_order,
            searches,
            potential: plan.potential.clone(),
            context: observables::sample_context(plan, &stage),
            course: BoxCourse::new(plan, &stage.name),
            propensity_layout: PropensityLayout::of(plan, &stage),
            propensities: StagePropensities::new(plan, &stage)?,
            schedule: Schedule::new(&stage, stage.correlations.iter()),
            // Minima of strained systems are of 64-bit floats.
            has_portable_sums: plan.run.precision == Precision::FixedPoint
                && stage.strain.is_none(),
            plan: stage,
            is_exchanging,
            ensemble: plan.ensemble.clone(),
            limits: Limits::new(plan.limits),
            timestep: plan.run.timestep,
            offset,
            workers: Workers::for_systems(plan.systems(), rayon::current_num_threads())?,
            systems,
            classes: DiameterClass::over_systems(&classes),
            bond_order_samples: 0,
            bond_orders: BTreeMap::new(),
            directory: None,
            files: StageFiles::default(),
        })
    }

    /// Searches for inherent structures end when the directory's run has no more time for them.
    fn give_up_as(&mut self, directory: &OutputDirectory) {
        let Some(cancel) = directory.cancel() else { return };
        if let Some(searches) = &mut self.searches {
            searches.cancel_when(cancel.clone());
        }
        if let Some(propensities) = &mut self.propensities {
            propensities.cancel_when(cancel.clone());
        }
    }

    fn layout(&self) -> StageLayout {
        let mut scalars = Vec::new();
        if self.systems[0].has_bond_order() {
            scalars.push(Scalars::BondOrder);
        }
        if self.plan.observe.configurational_temperature.is_some() {
            scalars.push(Scalars::ConfigurationalTemperature);
        }
        if self.local_order.is_some() {
            scalars.push(Scalars::LocalOrder);
        }
        if self.searches.is_some() {
            scalars.push(Scalars::InherentStructures);
        }
        let thermodynamics = self.plan.observe.thermodynamics.is_some();
        let propensity = self.propensity_layout.clone();
        let (exchanges, series) = (self.is_exchanging, self.systems[0].layouts());
        let classes = self.classes.clone();
        let dimension = self.context.simulation_box.dimension();
        let strain = self.plan.strain.as_ref();
        let strain = strain.map(|strain| StrainLayout { mode: strain.mode, dimension });
        StageLayout { thermodynamics, exchanges, scalars, series, classes, propensity, strain }
    }

    /// Leaves to the engines what they evaluate by themselves. Where they do not, in `fixed-point`, it is evaluated here with the same bits.
    pub fn hand_over(&mut self, ensemble: &mut dyn Ensemble) -> Result<(), RunError> {
        let Some(correlator) = ensemble.correlator() else {
            if self.has_portable_sums {
                let samples = self.bond_order_samples;
                self.systems.iter_mut().for_each(|of| of.evaluate_portably(samples));
            }
            return Ok(());
        };
        let mut offloaded = Vec::new();
        for observables in &mut self.systems {
            let of_system;
            (of_system, self.schedule) = observables.hand_over(&self.plan, self.bond_order_samples);
            offloaded.push(of_system);
        }
        Ok(correlator.begin(offloaded)?)
    }

    /// Adds what the engine has evaluated of one of its observables.
    pub fn add_evaluated(
        &mut self,
        observable: usize,
        evaluated: OfSystems<Evaluated>,
    ) -> Result<(), RunError> {
        let mut by_system = vec![None; self.systems.len()];
        for (system, evaluated) in evaluated {
            by_system[system] = Some(evaluated);
        }
        let orders = self.workers.share(&mut self.systems, |system, observables| {
            let evaluated = by_system[system].as_ref();
            evaluated.map(|evaluated| observables.add_evaluated(observable, evaluated))
        });
        for (system, orders) in orders.into_iter().enumerate() {
            for (step, order) in orders.into_iter().flatten() {
                let systems = self.systems.len();
                let of_step = self.bond_orders.entry(step).or_insert_with(|| vec![None; systems]);
                of_step[system] = Some(order);
                if let Some(all) = of_step.iter().copied().collect::<Option<Vec<_>>>() {
                    self.bond_orders.remove(&step);
                    self.append_bond_orders(step, &all)?;
                }
            }
        }
        Ok(())
    }

    /// The number of a system, where there are many.
    fn number(&self, system: usize) -> Option<usize> {
        self.ensemble.as_ref().map(|_| system)
    }

    /// Time since the start of the run.
    fn time(&self, step: u64) -> f64 {
        step as f64 * self.timestep + self.offset
    }

    fn append_bond_orders(&mut self, step: u64, orders: &[BondOrder]) -> Result<(), RunError> {
        let time = self.time(step);
        let row =
            |order: &BondOrder| ScalarRow { step, time, values: vec![order.global, order.local] };
        self.files.append_scalars(Scalars::BondOrder, orders.iter().map(row).collect())?;
        for (system, order) in orders.iter().enumerate() {
            let system = self.number(system);
            if let Some(file) = self.files.results_path() {
                let place =
                    limits::Place { step, stage: &self.plan.name, file: Some(file), system };
                self.limits.check_order(place, order.global)?;
            }
        }
        self.bond_order_samples += 1;
        Ok(())
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Adds the row of each system.
    pub fn append_thermodynamics(&mut self, row: &Row) -> Result<(), RunError> {
        let of_systems = row.systems.iter().map(|row| ThermodynamicsRow {
            step: row.step,
            time: self.time(row.step),
            potential_energy: row.potential_energy,
            kinetic_energy: row.kinetic_energy,
            internal_energy: row.total_energy(),
            conserved_energy: row.conserved_energy,
            temperature: row.temperature,
            half_step_temperature: row.half_step_temperature,
            pressure: row.pressure,
            virial: row.virial,
            stress: row.stress,
            center_of_mass_velocity: row.center_of_mass_velocity,
            density: row.density(),
            enthalpy: self.enthalpy(row),
            edges: row.simulation_box.padded_edges(),
            shear_strain: self.shear_strain(row),
        });
        self.files.append_thermodynamics(&of_systems.collect::<Vec<_>>(), &row.replicas)?;
        Ok(())
    }

    /// The box of the frames that come, or of each system where they have boxes of their own.
    pub fn set_boxes(&mut self, boxes: &[SimulationBox]) {
        self.files.set_boxes(boxes);
    }

    /// Of a flow, since the start of the stage.
    fn shear_strain(&self, row: &Thermodynamics) -> f64 {
        let Some(shear) = self.plan.shear else { return 0.0 };
        let steps = row.step - self.first_step;
        shear.strain_after(&row.simulation_box, self.timestep, steps)
    }

    /// Per particle, with the pressure of the barostat.
    fn enthalpy(&self, row: &Thermodynamics) -> f64 {
        let Some(barostat) = self.plan.barostat else { return f64::NAN };
        let pressure = barostat.pressure.at(row.step - self.first_step, self.plan.steps);
        row.total_energy() + pressure / row.density()
    }

    /// Exchanges of replicas since the start of the stage.
    pub fn set_exchanges(&mut self, counts: ExchangeCounts) {
        self.files.set_exchanges(counts);
    }

    /// What a stage of strain has found, up to a step of the run.
    pub fn append_strained(&mut self, found: Strained, step: u64) -> Result<(), RunError> {
        Ok(self.files.append_strained(found, step)?)
    }

    /// Feeds all that is due at a step of the stage, with the snapshot of each system.
    pub fn sample(
        &mut self,
        step: u64,
        snapshots: &[Snapshot],
        macroscopic: &[Macroscopic],
    ) -> Result<(), RunError> {
        let sample = |system: usize, observables: &mut Observables| {
            observables.sample(step, &snapshots[system], macroscopic.get(system))
        };
        let orders = self.workers.share(&mut self.systems, sample);
        // Of all or of none.
        if let Some(orders) = orders.into_iter().collect::<Option<Vec<_>>>() {
            self.append_bond_orders(snapshots[0].step, &orders)?;
        }
        self.sample_local_order(step, snapshots)?;
        if let Some(propensities) = &mut self.propensities {
            propensities.sample(step, snapshots, &mut self.files)?;
        }
        self.measure_forces_and_curvature(step, snapshots)?;
        self.minimize(step, snapshots)?;
        if self.schedule.wants_frame(step) {
            if let Some(strain) = &self.plan.strain {
                self.files.set_boxes(&[strain.box_after(step, &self.context.simulation_box)]);
            }
            self.files.append_frame(snapshots, self.time(snapshots[0].step))?;
        }
        Ok(())
    }

    /// What the configurational temperature is made of, if it is due.
    fn measure_forces_and_curvature(
        &mut self,
        step: u64,
        snapshots: &[Snapshot],
    ) -> Result<(), RunError> {
        let every = self.plan.observe.configurational_temperature;
        if !every.is_some_and(|every| step.is_multiple_of(every)) {
            return Ok(());
        }
        let (potential, context) = (&self.potential, &self.context);
        let of_system = |system: usize, _: &mut Observables| {
            ForcesAndCurvature::of(potential, context, &snapshots[system])
        };
        let of_systems = self.workers.share(&mut self.systems, of_system);
        let step = snapshots[0].step;
        let time = self.time(step);
        let row = |of: ForcesAndCurvature| {
            let values = vec![of.configurational_temperature(), of.squared_force, of.laplacian];
            ScalarRow { step, time, values }
        };
        let rows = of_systems.into_iter().map(row).collect();
        Ok(self.files.append_scalars(Scalars::ConfigurationalTemperature, rows)?)
    }

    /// Crystallinity and demixing of snapshots, if they are due.
    fn sample_local_order(&mut self, step: u64, snapshots: &[Snapshot]) -> Result<(), RunError> {
        let Some(local_order) = self.local_order.as_ref().filter(|order| order.is_due(step)) else {
            return Ok(());
        };
        let simulation_box = self.course.at(snapshots[0].step);
        let orders: Vec<_> =
            snapshots.iter().map(|it| local_order.evaluate(it, &simulation_box)).collect();
        let step = snapshots[0].step;
        let time = self.time(step);
        let row = |order: &CrystallinityAndDemixing| {
            let values = vec![order.crystallinity, order.demixing.unwrap_or(f64::NAN)];
            ScalarRow { step, time, values }
        };
        self.files.append_scalars(Scalars::LocalOrder, orders.iter().map(row).collect())?;
        for (system, order) in orders.iter().enumerate() {
            let system = self.number(system);
            if let Some(file) = self.files.results_path() {
                let place =
                    limits::Place { step, stage: &self.plan.name, file: Some(file), system };
                self.limits.check_local_order(place, order)?;
            }
        }
        Ok(())
    }

    /// The inherent structures of snapshots, if they are due.
    fn minimize(&mut self, step: u64, snapshots: &[Snapshot]) -> Result<(), RunError> {
        let Some(searches) = &mut self.searches else { return Ok(()) };
        if !self.plan.observe.wants_minima(step) {
            return Ok(());
        }
        let step = snapshots[0].step;
        searches.set_box(self.course.at(step));
        let place = (&self.plan.name[..], "observe.inherent_structures.maximum_iterations");
        let number = |system| self.ensemble.as_ref().map(|_| system);
        let systems: Vec<_> =
            snapshots.iter().enumerate().map(|(system, of)| (number(system), of)).collect();
        let found = searches.minima(place, &systems)?;
        let time = self.time(step);
        let row = |found: &InherentStructure| {
            let values =
                vec![found.energy, found.pressure, found.residual_force, found.iterations as f64];
            ScalarRow { step, time, values }
        };
        let rows = found.iter().map(row).collect();
        self.files.append_scalars(Scalars::InherentStructures, rows)?;
        let minima: Vec<Snapshot> = found.into_iter().map(|found| found.snapshot).collect();
        self.files.append_inherent(&minima, time)?;
        Ok(())
    }

    fn update_results(&mut self) {
        if !self.plan.has_results() {
            return;
        }
        let results = self.workers.share(&mut self.systems, |_, observables| observables.results());
        let Some(ensemble) = &self.ensemble else {
            for (group, series) in results.into_iter().flatten() {
                self.files.update(group, series);
            }
            return;
        };
        let groups: Vec<Vec<_>> = (0..ensemble.groups())
            .map(|group| ensemble.group(group))
            .map(|group| Observables::over_systems(&self.systems[group.clone()], &results[group]))
            .collect();
        self.files.update_systems(&groups, &results);
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
        self.workers.share(&mut self.systems, |_, observables| observables.finish());
        self.flush(step)?;
        Ok(self.files.finish(step)?)
    }

    /// Puts observables and counts into a checkpoint; files must be on the disk before, up to `step` of the run. `held`: samples of the
    /// engines' correlations, by system.
    pub fn save(
        &self,
        step: u64,
        checkpoint: &mut Checkpoint,
        held: &[Vec<Option<HeldSamples>>],
    ) -> Result<(), RunError> {
        let held = |system: usize| held.get(system).map_or(&[][..], Vec::as_slice);
        match &self.ensemble {
            None => self.systems[0].save(checkpoint, held(0))?,
            Some(_) => {
                for (system, observables) in self.systems.iter().enumerate() {
                    let mut part = Checkpoint::new();
                    observables.save(&mut part, held(system))?;
                    checkpoint.put_part(&part_of_system(system), part);
                }
            }
        }
        if let Some(propensities) = &self.propensities {
            propensities.save(checkpoint)?;
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
