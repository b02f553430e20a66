//! Where stages begin and end.
use super::description::Provenance;
use super::directory::OutputDirectory;
use super::error::RunError;
use super::limits::Limits;
use super::stage::StageOutput;
use super::stage::classes::present_diameters;
use super::writer::Writer;
use super::{Simulation, stage_contexts};
use crate::announce;
use crate::plan::TotalEnergy;

impl Simulation {
    /// Starts the present stage, unless a checkpoint has put us into its middle.
    pub(super) fn enter_stage(&mut self, directory: &OutputDirectory) -> Result<(), RunError> {
        if self.writer.is_some() {
            return self.recheck(directory);
        }
        self.change_conditions(directory)?;
        let contexts = stage_contexts(&self.plan, self.stage);
        let stage = &self.plan.stages[self.stage];
        let what = format!("stage \"{}\": setting up the engine", stage.name);
        announce::while_slow(what, || self.ensemble.begin_stage(&contexts))?;
        self.set_total_energy()?;
        self.warn(directory.path())?;
        let ensemble = self.ensemble.as_mut();
        let diameters = present_diameters(ensemble, &self.plan_of_stage, self.stage)?;
        let mut output = StageOutput::create(
            &self.plan_of_stage,
            &self.toml_text,
            self.stage,
            directory,
            &Provenance::of(self.ensemble.as_ref()),
            &diameters,
        )?;
        output.hand_over(self.ensemble.as_mut())?;
        let step = self.ensemble.step();
        let first_step = self.plan.first_step(self.stage);
        self.writer = Some(Writer::start(output, first_step, step, directory.path())?);
        self.summary.begin(self.stage);
        self.limits = Limits::new(self.plan.limits);
        self.sample_due()?;
        self.recheck(directory)
    }

    /// Scales the velocities of each system to the energy that the stage starts with, if it gives one.
    pub(super) fn set_total_energy(&mut self) -> Result<(), RunError> {
        let stage = &self.plan.stages[self.stage];
        let Some(target) = &stage.set_total_energy else { return Ok(()) };
        let energies = match target {
            TotalEnergy::Value(energy) => vec![*energy; self.ensemble.systems()],
            TotalEnergy::MeanOf(name) => {
                self.summary.mean_total_energies(name).ok_or_else(|| RunError::NoEnergySamples {
                    stage: stage.name.clone(),
                    of: name.clone(),
                })?
            }
        };
        let mut factors = Vec::with_capacity(energies.len());
        for (system, now) in self.ensemble.thermodynamics()?.iter().enumerate() {
            let energy = energies[system];
            let kinetic = energy - now.potential_energy;
            if kinetic <= 0.0 || now.kinetic_energy <= 0.0 {
                return Err(RunError::EnergyOutOfReach {
                    stage: stage.name.clone(),
                    energy,
                    potential: now.potential_energy,
                    system: self.number(system),
                });
            }
            factors.push((kinetic / now.kinetic_energy).sqrt());
        }
        Ok(self.ensemble.scale_velocities(&factors)?)
    }

    /// Keeps or compares the states of steps that are repeated.
    pub(super) fn recheck(&mut self, directory: &OutputDirectory) -> Result<(), RunError> {
        if self.rechecks.is_empty() {
            return Ok(());
        }
        let contexts = stage_contexts(&self.plan, self.stage);
        for (recheck, stage) in self.rechecks.iter_mut().zip(&contexts) {
            recheck.at(self.ensemble.as_ref(), stage, &self.plan_of_stage, directory)?;
        }
        Ok(())
    }

    pub(super) fn leave_stage(&mut self) -> Result<(), RunError> {
        self.ensemble.correlator().map_or(Ok(()), |correlator| correlator.finish())?;
        self.pass_on_evaluated()?;
        self.pass_on_exchanges()?;
        if let Some(writer) = self.writer.take() {
            writer.finish(self.ensemble.step())?;
        }
        self.stage += 1;
        Ok(())
    }
}
