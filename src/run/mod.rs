//! Runs a plan: stages one after the other, observables and files at their intervals, checkpoints,
//! signals and time limits.
//!
//! All state of a run is `Simulation`; a checkpoint is its exact image, so that a resumed run gives
//! the bits of one that never stopped. Files are brought to the disk before a checkpoint counts on them.
//! What is measured is correlated and written by another thread (`writer`) while the engine goes on.
mod checkpoint;
mod description;
mod directory;
mod error;
mod interrupt;
mod progress;
mod replay;
mod schedule;
mod stage;
mod summary;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::checkpoint::state_from_checkpoint;
use self::description::Provenance;
pub use self::directory::OutputDirectory;
pub use self::error::RunError;
pub use self::interrupt::{Interrupt, Watch, parse_walltime};
use self::progress::Progress;
pub use self::replay::{ReplayOptions, Replayed, replay};
use self::stage::StageOutput;
pub use self::summary::{StageSummary, Summary};
use self::writer::Writer;
use crate::engine::domain::Ranks;
use crate::engine::{self, Engine, EngineError, StageContext};
use crate::initial;
use crate::observable::Macroscopic;
use crate::output::{checkpoint_path, latest_valid};
use crate::plan::{EngineChoice, InitialPlan, Plan, TotalEnergy};

/// How a run is to be carried out; nothing here changes results.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Remove an earlier run's files from the output directory.
    pub force: bool,
    /// Leave after this time, with a checkpoint.
    pub max_walltime: Option<Duration>,
    /// No progress bar.
    pub quiet: bool,
    /// Instead of the plan's.
    pub engine: Option<EngineChoice>,
    /// The ranks that take the steps.
    pub ranks: Ranks,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    Finished(Box<Summary>),
    /// A signal or the time limit came; the checkpoint to resume from.
    Stopped {
        step: u64,
        checkpoint: PathBuf,
        why: Interrupt,
    },
}

/// Longest time between looks at signals and clocks.
const PATIENCE: Duration = Duration::from_millis(200);
/// Longest time between writes to the results files.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// A run between two steps.
struct Simulation {
    plan: Plan,
    toml_text: String,
    engine: Box<dyn Engine>,
    /// Index of the stage that runs or comes next.
    stage: usize,
    /// Takes what the present stage measures; `None` before its start.
    writer: Option<Writer>,
    summary: Summary,
    started: Instant,
}

/// Runs a plan from its start.
pub fn run(mut plan: Plan, toml_text: &str, options: &RunOptions) -> miette::Result<Outcome> {
    let watch = watch(options)?;
    plan.run.engine = options.engine.unwrap_or(plan.run.engine);
    // Looked at first: it may be one of the files that --force removes, and nothing is removed for a
    // run that cannot start.
    let state = initial::create(&plan)?;
    let directory = OutputDirectory::create(&plan, options.force)?;
    let mut engine = engine::create_on(&options.ranks, &plan, &state)?;
    drop(state);
    match plan.system.initial {
        InitialPlan::Lattice { temperature, .. }
        | InitialPlan::File { temperature: Some(temperature), .. } => {
            engine.draw_velocities(temperature, true)?;
        }
        InitialPlan::File { temperature: None, .. } => {}
    }
    let simulation = Simulation {
        summary: Summary::new(&plan),
        plan,
        toml_text: toml_text.to_owned(),
        engine,
        stage: 0,
        writer: None,
        started: Instant::now(),
    };
    simulation.drive(&directory, &watch, options)
}

/// Goes on from the last good checkpoint of a directory. Says which later ones were refused.
pub fn resume(path: &Path, options: &RunOptions) -> miette::Result<Outcome> {
    let watch = watch(options)?;
    let directory = OutputDirectory::open(path)?;
    let found = latest_valid(path)?;
    for refused in &found.refused {
        tracing::warn!("{} is not used: {}", refused.path.display(), refused.reason);
    }
    let (_, file, content) =
        found.checkpoint.ok_or_else(|| RunError::NoCheckpoint { path: path.to_owned() })?;
    tracing::info!("resuming from {}", file.display());
    let simulation = Simulation::restore(&content, &file, path, options)?;
    simulation.drive(&directory, &watch, options)
}

/// Signals and the clock, from the very start: a signal on the way to the first step waits for it.
fn watch(options: &RunOptions) -> Result<interrupt::Watch, RunError> {
    interrupt::Watch::new(options.max_walltime).map_err(|source| RunError::Signals { source })
}

impl Simulation {
    fn drive(
        mut self,
        directory: &OutputDirectory,
        interrupts: &interrupt::Watch,
        options: &RunOptions,
    ) -> miette::Result<Outcome> {
        self.go(directory, interrupts, options).or_else(|report| {
            let error = report.downcast::<EngineError>()?;
            // What was measured before stays readable.
            let step = self.engine.step();
            if let Some(mut writer) = self.writer.take() {
                writer.flush(step)?;
                writer.close()?;
            }
            Err(RunError::of_engine(error, step, directory.path()))
        })
    }

    fn go(
        &mut self,
        directory: &OutputDirectory,
        interrupts: &interrupt::Watch,
        options: &RunOptions,
    ) -> miette::Result<Outcome> {
        let mut progress = Progress::new(&self.plan, self.engine.step(), options.quiet);
        let every = Duration::try_from_secs_f64(60.0 * self.plan.checkpoint.minutes)
            .unwrap_or(Duration::MAX);
        let mut last_checkpoint = Instant::now();
        while self.stage < self.plan.stages.len() {
            self.enter_stage(directory)?;
            let stage_end = self.plan.first_step(self.stage) + self.plan.stages[self.stage].steps;
            let mut last_flush = Instant::now();
            while self.engine.step() < stage_end {
                let before = self.engine.step();
                let steps = self.next_event().min(stage_end) - before;
                let files_due =
                    || last_checkpoint.elapsed() >= every || last_flush.elapsed() >= FLUSH_INTERVAL;
                self.advance_in_parts(steps, interrupts, files_due, &mut progress)?;
                // Told to stop before the first of these steps, this one was sampled already.
                if self.engine.step() > before {
                    self.observe(&progress)?;
                }
                if let Some(why) = interrupts.pending() {
                    self.save(directory)?;
                    if let Some(writer) = self.writer.take() {
                        writer.close()?;
                    }
                    progress.abandon();
                    let step = self.engine.step();
                    let checkpoint = checkpoint_path(directory.path(), step);
                    return Ok(Outcome::Stopped { step, checkpoint, why });
                }
                if last_checkpoint.elapsed() >= every {
                    self.save(directory)?;
                    last_checkpoint = Instant::now();
                    last_flush = Instant::now();
                } else if last_flush.elapsed() >= FLUSH_INTERVAL {
                    let step = self.engine.step();
                    self.writer().flush(step)?;
                    last_flush = Instant::now();
                }
            }
            self.leave_stage()?;
            self.save(directory)?;
            last_checkpoint = Instant::now();
        }
        progress.finish();
        self.summary.seconds = self.seconds();
        self.summary.engine = self.engine.report();
        Ok(Outcome::Finished(Box::new(self.summary.clone())))
    }

    /// Starts the present stage, unless a checkpoint has put us into its middle.
    fn enter_stage(&mut self, directory: &OutputDirectory) -> miette::Result<()> {
        if self.writer.is_some() {
            return Ok(());
        }
        let stage = &self.plan.stages[self.stage];
        let first_step = self.plan.first_step(self.stage);
        self.engine.begin_stage(&StageContext {
            thermostat: stage.thermostat,
            first_step,
            steps: stage.steps,
        });
        if let Some(target) = &stage.set_total_energy {
            let energy = match target {
                TotalEnergy::Value(energy) => *energy,
                TotalEnergy::MeanOf(name) => {
                    self.summary.mean_total_energy(name).ok_or_else(|| {
                        RunError::NoEnergySamples { stage: stage.name.clone(), of: name.clone() }
                    })?
                }
            };
            let now = self.engine.thermodynamics()?;
            let kinetic = energy - now.potential_energy;
            if kinetic <= 0.0 || now.kinetic_energy <= 0.0 {
                return Err(RunError::EnergyOutOfReach {
                    stage: stage.name.clone(),
                    energy,
                    potential: now.potential_energy,
                }
                .into());
            }
            self.engine.scale_velocities((kinetic / now.kinetic_energy).sqrt())?;
        }
        let mut output = StageOutput::create(
            &self.plan,
            &self.toml_text,
            self.stage,
            directory.path(),
            &Provenance::of(self.engine.as_ref()),
        )?;
        output.hand_over(self.engine.as_mut())?;
        let step = self.engine.step();
        self.writer = Some(Writer::start(output, first_step, step, directory.path())?);
        self.summary.begin(self.stage);
        self.sample_due()
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("a stage is running")
    }

    /// The next step at which something is measured.
    fn next_event(&mut self) -> u64 {
        let first = self.plan.first_step(self.stage);
        let step = self.engine.step() - first;
        first + self.writer().schedule.next_event(step)
    }

    /// Advances, with looks at the clock and at signals in between; less far if files are due.
    fn advance_in_parts(
        &mut self,
        steps: u64,
        interrupts: &interrupt::Watch,
        files_due: impl Fn() -> bool,
        progress: &mut Progress,
    ) -> miette::Result<()> {
        let target = self.engine.step() + steps;
        let first = self.engine.step();
        while self.engine.step() < target
            && interrupts.pending().is_none()
            && (self.engine.step() == first || !files_due())
        {
            let part = progress.steps_in(PATIENCE).min(target - self.engine.step());
            let start = Instant::now();
            self.engine.advance(part)?;
            self.pass_on_evaluated()?;
            self.writer().check()?;
            progress.took(part, start.elapsed());
            progress.at(self.engine.step(), self.stage);
        }
        Ok(())
    }

    /// Gives the writer what the engine has evaluated.
    fn pass_on_evaluated(&mut self) -> miette::Result<()> {
        let step = self.engine.step();
        let (Some(correlator), Some(writer)) = (self.engine.correlator(), &mut self.writer) else {
            return Ok(());
        };
        for (correlation, evaluated) in correlator.evaluated() {
            writer.evaluated(step, correlation, evaluated)?;
        }
        Ok(())
    }

    /// Measures what is due at the present step.
    fn observe(&mut self, progress: &Progress) -> miette::Result<()> {
        self.sample_due()?;
        if let Some(row) = self.summary.last_row() {
            progress.state(row.temperature, row.total_energy());
        }
        Ok(())
    }

    fn sample_due(&mut self) -> miette::Result<()> {
        let writer = self.writer.as_mut().expect("a stage is running");
        let step = self.engine.step();
        let step_in_stage = step - self.plan.first_step(self.stage);
        let (wants_row, wants_stress) = (
            writer.schedule.wants_thermodynamics(step_in_stage),
            writer.schedule.wants_stress(step_in_stage),
        );
        let mut macroscopic = None;
        if wants_row || wants_stress {
            let row = self.engine.thermodynamics()?;
            macroscopic = Some(Macroscopic { stress: row.stress, temperature: row.temperature });
            if wants_row {
                self.summary.add(self.stage, &row);
                writer.append_thermodynamics(&row)?;
            }
        }
        if writer.schedule.wants_snapshot(step_in_stage) {
            writer.sample(step, self.engine.begin_snapshot()?, macroscopic)?;
        }
        Ok(())
    }

    /// Time that the run has taken, in this process and in those that it was resumed from.
    fn seconds(&self) -> f64 {
        self.summary.seconds + self.started.elapsed().as_secs_f64()
    }

    fn leave_stage(&mut self) -> miette::Result<()> {
        if let Some(correlator) = self.engine.correlator() {
            correlator.finish()?;
        }
        self.pass_on_evaluated()?;
        if let Some(writer) = self.writer.take() {
            writer.finish(self.engine.step())?;
        }
        self.stage += 1;
        Ok(())
    }

    /// Has the files brought to the disk and a checkpoint written; between stages it is there at once.
    fn save(&mut self, directory: &OutputDirectory) -> miette::Result<()> {
        if self.writer.is_some()
            && let Some(correlator) = self.engine.correlator()
        {
            correlator.flush()?;
        }
        self.pass_on_evaluated()?;
        let draft = self.draft(directory.path())?;
        match &mut self.writer {
            Some(writer) => writer.checkpoint(draft),
            None => draft.write(None),
        }
    }
}
