//! The steps of a stage: how far to go, what is measured where, and what goes to the writer.
use std::time::Instant;

use super::error::RunError;
use super::progress::Progress;
use super::writer::{Row, Sample};
use super::{PATIENCE, Simulation, interrupt, limits};
use crate::engine::Thermodynamics;
use crate::observable::Macroscopic;
use crate::plan::StagePlan;

impl Simulation {
    /// The next step at which something is measured, or a state is kept.
    pub(super) fn next_event(&mut self) -> u64 {
        let (first_step, steps) =
            (self.plan.first_step(self.stage), self.plan.stages[self.stage].steps);
        let step = self.ensemble.step() - first_step;
        // Those of all systems do the same.
        let recheck = self.rechecks.first().map_or(u64::MAX, |r| r.next_event(step, steps));
        let rescaling = self.next_rescaling(step);
        first_step + self.writer().schedule.next_event(step).min(recheck).min(rescaling)
    }

    /// Advances, with looks at the clock and at signals in between; less far if files are due.
    pub(super) fn advance_in_parts(
        &mut self,
        steps: u64,
        interrupts: &interrupt::Watch,
        files_due: impl Fn() -> bool,
        progress: &mut Progress,
    ) -> Result<(), RunError> {
        let target = self.ensemble.step() + steps;
        let first = self.ensemble.step();
        while self.ensemble.step() < target
            && interrupts.pending().is_none()
            && (self.ensemble.step() == first || !files_due())
        {
            let part = progress.steps_in(PATIENCE).min(target - self.ensemble.step());
            let start = Instant::now();
            self.ensemble.advance(part)?;
            self.pass_on_evaluated()?;
            self.writer().check()?;
            progress.took(part, start.elapsed());
            progress.at(self.ensemble.step(), self.stage);
        }
        Ok(())
    }

    /// Gives the writer what the engine has evaluated.
    pub(super) fn pass_on_evaluated(&mut self) -> Result<(), RunError> {
        let step = self.ensemble.step();
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if self.plan.stages[self.stage].strain.is_some() {
            writer.strained(step, self.ensemble.strained())?;
        }
        let Some(correlator) = self.ensemble.correlator() else { return Ok(()) };
        let mut evaluated = correlator.evaluated().into_iter();
        evaluated.try_for_each(|(correlation, of)| writer.evaluated(step, correlation, of))
    }

    /// Gives the writer and the summary the exchanges of the present stage.
    pub(super) fn pass_on_exchanges(&mut self) -> Result<(), RunError> {
        let (Some(writer), Some(exchanges)) = (&mut self.writer, self.ensemble.exchanges()) else {
            return Ok(());
        };
        if !self.plan.exchanges_in(self.stage) {
            return Ok(());
        }
        self.summary.exchanges.insert(self.stage, exchanges.counts.clone());
        writer.set_exchanges(self.ensemble.step(), exchanges.counts.clone())
    }

    /// Has the engine evaluate what it has sampled so far.
    pub(super) fn evaluate_samples(&mut self) -> Result<(), RunError> {
        if self.writer.is_some() {
            self.ensemble.correlator().map_or(Ok(()), |correlator| correlator.flush())?;
        }
        self.pass_on_evaluated()?;
        self.pass_on_exchanges()
    }

    /// Measures what is due at the present step.
    pub(super) fn observe(&mut self, progress: &Progress) -> Result<(), RunError> {
        self.sample_due()?;
        if let Some([temperature, total_energy]) = self.summary.last_row() {
            progress.state(temperature, total_energy);
        }
        Ok(())
    }

    pub(super) fn sample_due(&mut self) -> Result<(), RunError> {
        let writer = self.writer.as_mut().expect("a stage is running");
        let step = self.ensemble.step();
        let step_in_stage = step - self.plan.first_step(self.stage);
        let (wants_row, wants_stress) = (
            writer.schedule.wants_thermodynamics(step_in_stage),
            writer.schedule.wants_stress(step_in_stage),
        );
        let wants_snapshot = writer.schedule.wants_snapshot(step_in_stage);
        let StagePlan { barostat, rescale, .. } = &self.plan.stages[self.stage];
        let has_own_boxes = self.plan.has_own_boxes(self.stage);
        let tells_boxes = barostat.is_some() || rescale.is_some() || has_own_boxes;
        let (mut macroscopic, mut boxes) = (Vec::new(), Vec::new());
        if wants_row || wants_stress || (wants_snapshot && tells_boxes) {
            let rows = self.ensemble.thermodynamics()?;
            let of_row = |row: &Thermodynamics| Macroscopic {
                stress: row.stress,
                temperature: row.temperature,
            };
            macroscopic = rows.iter().map(of_row).collect();
            if tells_boxes {
                let count = if has_own_boxes { rows.len() } else { 1 };
                boxes = rows[..count].iter().map(|row| row.simulation_box).collect();
            }
            if wants_row {
                self.summary.add(self.stage, &rows);
                let exchanges = self.ensemble.exchanges();
                let exchanges = exchanges.filter(|_| self.plan.exchanges_in(self.stage));
                let replicas = exchanges.map_or_else(Vec::new, |of| of.replica_of.clone());
                writer.append_thermodynamics(Row { systems: rows.clone(), replicas })?;
                self.check_rows(step, &rows)?;
            }
        }
        let writer = self.writer.as_mut().expect("a stage is running");
        if wants_snapshot {
            let snapshots = self.ensemble.begin_snapshots()?;
            let sample = Sample { snapshots, macroscopic, boxes };
            writer.sample(step, sample)?;
        }
        Ok(())
    }

    /// Compares the rows of all systems with the bounds.
    pub(super) fn check_rows(
        &mut self,
        step: u64,
        rows: &[Thermodynamics],
    ) -> Result<(), RunError> {
        let stage = &self.plan.stages[self.stage];
        let file = self.plan.output.directory.join(format!("{}.h5", stage.name));
        let alone = stage.conserves_energy();
        for (system, row) in rows.iter().enumerate() {
            let drift = alone.then(|| self.summary.systems[system][self.stage].drift());
            let number = self.plan.ensemble.as_ref().map(|_| system);
            let place =
                limits::Place { step, stage: &stage.name, file: Some(&file), system: number };
            self.limits.check_row(place, row, drift)?;
        }
        Ok(())
    }
}
