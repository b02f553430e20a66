//! Warnings when a stage begins: it is not what it looks like, though nothing is wrong with the configuration.
use std::path::Path;

use supercool_analysis::analyze::VISIBLE_CHANGE;
use supercool_analysis::results::ResultsFile;
use supercool_statistics::Halves;

use super::summary::Set;
use super::{RunError, Simulation, drift, force_jump, relaxation, short_period, stiffness};
use crate::engine::{EngineError, Thermodynamics};
use crate::plan::{CorrelationPlan, Precision, Thermostat, TotalEnergy};
use crate::potential::{PairParameters, Truncation};

/// Share of the kinetic energy that may be motion of the centre of mass: more than a thermostat leaves behind.
const VISIBLE_HEAT: f64 = 0.01;

/// Deviation of the mean temperature of a stage from its thermostat's, relative, beyond what chance explains.
const VISIBLE_OFFSET: f64 = 0.02;

/// Share of a pair's energy by which the smoothing at the cutoff may change it in 32 bits: energies of Lennard-Jones liquids
/// are then within 1e-5 of those of the documented function.
const VISIBLE_SMOOTHING: f64 = 4.5e-4;

/// Rows of a stage that are looked at: a long one is not read for it.
const ENOUGH_SAMPLES: usize = 1 << 16;

impl Simulation {
    /// Says what there is to say; earlier stages have left their files in the directory.
    ///
    /// # Errors
    /// Of the engine.
    pub(super) fn warn(&mut self, directory: &Path) -> Result<(), RunError> {
        if self.stage == 0
            && let Some(of_jump) = force_jump::in_pieces(&self.plan)
        {
            tracing::warn!("{of_jump}");
        }
        if let Some(of_jump) = force_jump::in_minima(&self.plan, &self.plan.stages[self.stage]) {
            tracing::warn!("{of_jump}");
        }
        let stage = &self.plan.stages[self.stage];
        if let Some(of_jump) = force_jump::in_configurational_temperature(&self.plan, stage) {
            tracing::warn!("{of_jump}");
        }
        if let Some(of_timestep) = stiffness::of_stage(&self.plan, self.stage) {
            tracing::warn!("{of_timestep}");
        }
        if let Some(of_period) = short_period::of_stage(&self.plan, self.stage) {
            tracing::warn!("{of_period}");
        }
        if let Some(of_length) = relaxation::of_stage(&self.plan, self.stage, directory) {
            tracing::warn!("{of_length}");
        }
        self.warn_of_mean(directory);
        self.warn_of_motion()?;
        self.warn_of_width()
    }

    /// The share of the kinetic energy that is motion of the centre of mass: the largest of all systems.
    fn motion(&mut self) -> Result<f64, EngineError> {
        let species = &self.plan.system.species;
        let mass: f64 = species.iter().map(|species| species.mass * species.count as f64).sum();
        let mass = mass / self.plan.system.particle_count() as f64;
        let share = |now: &Thermodynamics| {
            let square: f64 = now.center_of_mass_velocity.iter().map(|v| v * v).sum();
            if now.kinetic_energy > 0.0 { 0.5 * mass * square / now.kinetic_energy } else { 0.0 }
        };
        Ok(self.ensemble.thermodynamics()?.iter().map(share).fold(0.0, f64::max))
    }

    /// Says so if the energy that this stage takes over is the mean of a stage that was not in equilibrium with its thermostat.
    fn warn_of_mean(&self, directory: &Path) {
        let Some(TotalEnergy::MeanOf(name)) = &self.plan.stages[self.stage].set_total_energy else {
            return;
        };
        let Some(source) = self.plan.stages.iter().position(|stage| stage.name == *name) else {
            return;
        };
        for set in self.summary.sets() {
            self.warn_of_mean_of(source, name, &set, directory);
        }
    }

    /// The same of systems of one temperature.
    fn warn_of_mean_of(&self, source: usize, name: &str, set: &Set, directory: &Path) {
        let plan = self.plan.of_system(set.systems.start);
        let summary = self.summary.stage(source, set.systems.clone());
        let Some(target) = plan.stages[source].thermostat else { return };
        let at = set.temperature.map_or_else(String::new, |t| format!(", systems of T = {t}"));
        let is_ramp = target.temperature.from != target.temperature.to;
        let (target, found) = (target.temperature.from, summary.temperature());
        let dimension = self.plan.system.simulation_box.dimension();
        let degrees = (dimension * self.plan.system.particle_count()) as f64;
        // Of a sample's temperature in the canonical ensemble; samples may be correlated.
        let scatter = (2.0 / degrees / summary.samples as f64).sqrt();
        if (found / target - 1.0).abs() > VISIBLE_OFFSET + 4.0 * scatter {
            tracing::warn!(
                "stage \"{}\"{at}: set_total_energy = \"mean of {name}\": the mean temperature of that stage is {found:.4}, its \
                 thermostat's {target}: it did not begin in equilibrium, or was too short; the energy is that of another temperature",
                self.plan.stages[self.stage].name
            );
        } else if !is_ramp
            && let Some(Halves { first, second, .. }) =
                halves(&directory.join(format!("{name}.h5")))
                    .filter(|halves| halves.differ(VISIBLE_CHANGE * target))
        {
            let (first, second) = (first.value, second.value);
            tracing::warn!(
                "stage \"{}\"{at}: set_total_energy = \"mean of {name}\": that stage was still relaxing: the mean potential energy of \
                 its first half is {first:.5}, of its second {second:.5}; the energy is that of another temperature; a longer \
                 stage before it helps",
                self.plan.stages[self.stage].name
            );
        }
    }

    /// Says so if the smoothing at the cutoff is too wide for 32 bits or, at constant energy, pairs cross it within a step.
    fn warn_of_width(&mut self) -> Result<(), RunError> {
        let Truncation::Smooth { width } = self.plan.potential.truncation else { return Ok(()) };
        if self.plan.run.precision != Precision::Double && self.stage == 0 {
            // The shorter the cutoff, the larger is the share.
            let shortest = |pair: &&PairParameters| pair.cutoff / pair.width_unit();
            let pairs = self.plan.potential.pairs.iter().flatten();
            let pairs = pairs.filter(|pair| !self.plan.potential.form.is_zero(pair));
            let most = pairs.min_by(|a, b| shortest(a).total_cmp(&shortest(b)));
            let change = most.and_then(|pair| self.plan.potential.change_by_smoothing(pair));
            if let Some(change) = change.filter(|change| change.relative > VISIBLE_SMOOTHING) {
                tracing::warn!(
                    "potential.truncation: where pair forces are in 32 bits, a smoothing of width {width} is not quite the \
                     documented one: the energy of a pair {change}; a smaller width, or precision = \"double\", is nearer"
                );
            }
        }
        if self.plan.stages[self.stage].thermostat.is_some() {
            return Ok(());
        }
        let temperatures = self.ensemble.thermodynamics()?;
        let temperature = temperatures.iter().map(|row| row.temperature).fold(0.0, f64::max);
        let masses = self.plan.system.species.iter().map(|species| species.mass);
        let lightest = masses.fold(f64::INFINITY, f64::min);
        let way = self.plan_of_stage.run.timestep * (2.0 * temperature / lightest).sqrt();
        let pairs = self.plan.potential.pairs.iter().flatten();
        let unit = pairs.map(PairParameters::width_unit).fold(0.0, f64::max);
        if way > width * unit {
            tracing::warn!(
                "stage \"{}\": pairs move by {way:.4} in a step, further than the width of the smoothing at the cutoff, \
                 {:.4}: energy is conserved less well than with \"shifted\"; give a larger width, or a shorter timestep",
                self.plan.stages[self.stage].name,
                width * unit
            );
        }
        Ok(())
    }

    /// Says so if the centre of mass moves where displacements are correlated that contain it.
    fn warn_of_motion(&mut self) -> Result<(), RunError> {
        let stage = &self.plan.stages[self.stage];
        let keeps_momentum = match stage.thermostat.map(|thermostat| thermostat.kind) {
            None
            | Some(
                Thermostat::NoseHoover { .. } | Thermostat::Bussi { .. } | Thermostat::Isokinetic,
            ) => true,
            Some(
                Thermostat::Andersen { .. }
                | Thermostat::Langevin { .. }
                | Thermostat::Brownian { .. },
            ) => false,
        };
        let moving = self.motion()?;
        if keeps_momentum && moving > VISIBLE_HEAT {
            tracing::warn!(
                "stage \"{}\": {:.1} % of the kinetic energy are motion of the centre of mass, which temperature, pressure, \
                 viscosity and thermostats take for heat; an andersen thermostat before this stage removes it",
                self.plan.stages[self.stage].name,
                100.0 * moving
            );
        }
        let stage = &self.plan.stages[self.stage];
        if let Some(of_thermostat) = drift::of_thermostat(&self.plan_of_stage, stage) {
            tracing::warn!("{of_thermostat}");
        }
        let contains = |one: &CorrelationPlan| !one.remove_drift && drift::contains_motion(one);
        if !keeps_momentum || !stage.correlations.iter().any(contains) {
            return Ok(());
        }
        let (name, time) =
            (stage.name.clone(), stage.steps as f64 * self.plan_of_stage.run.timestep);
        let speed = |row: &Thermodynamics| {
            row.center_of_mass_velocity.iter().map(|v| v * v).sum::<f64>().sqrt()
        };
        let way = self.ensemble.thermodynamics()?.iter().map(speed).fold(0.0, f64::max) * time;
        if way > drift::VISIBLE_MOTION * self.plan.potential.smallest_length() {
            tracing::warn!(
                "stage \"{name}\": the centre of mass moves, by {way:.3} in this stage, and nothing stops it (Langevin thermostats \
                 set it in motion, initial files may bring it); displacements contain that: give remove_drift = true \
                 in [[stage.correlation]], or an andersen thermostat before this stage"
            );
        }
        Ok(())
    }
}

/// Potential energies of the halves of a stage; `None` also where it cannot be read.
fn halves(path: &Path) -> Option<Halves> {
    let read = |file: ResultsFile| file.sampled("potential_energy", ENOUGH_SAMPLES);
    let series = ResultsFile::open(path).and_then(read).ok()??;
    // The first sample is the end of the stage before.
    Halves::of(series.value.get(1..)?)
}
