//! Runs a plan: stages one after the other, observables and files at their intervals, checkpoints,
//! signals and time limits.
//!
//! All state of a run is `Simulation`; a checkpoint is its exact image, so that a resumed run gives
//! the bits of one that never stopped. Files are brought to the disk before a checkpoint counts on them.
//! What is measured is correlated and written by another thread (`writer`) while the engine continues.
mod checkpoint;
pub mod conditions;
mod description;
mod directory;
mod draft;
pub mod drift;
mod earlier;
mod error;
#[cfg(any(test, feature = "fault-injection"))]
mod fault;
pub mod force_jump;
mod interrupt;
pub mod limits;
pub mod memory;
mod names;
mod progress;
mod recheck;
pub mod relaxation;
mod replay;
mod schedule;
mod stage;
pub mod stiffness;
mod summary;
#[cfg(test)]
mod tests;
pub mod threads;
pub mod trial;
mod warnings;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

pub use self::checkpoint::{last_state, states_of};
use self::description::Provenance;
pub(crate) use self::description::author;
pub use self::directory::{LOCK, OutputDirectory};
pub use self::error::{RunError, quoted};
use self::interrupt::EndsWaits;
pub use self::interrupt::{Interrupt, Watch, parse_walltime};
use self::limits::Limits;
use self::progress::Progress;
use self::recheck::Recheck;
pub use self::replay::{ReplayError, ReplayOptions, Replayed, frame_spacing, replay};
use self::stage::StageOutput;
use self::stage::classes::{self, present_diameters};
pub use self::summary::{StageSummary, Summary};
use self::writer::{Row, Sample, Writer};
use crate::announce;
use crate::config::Setting;
use crate::engine::domain::Ranks;
use crate::engine::{self, Engine, EngineError, Ensemble, Replicas, StageContext, Thermodynamics};
use crate::initial;
use crate::observable::Macroscopic;
use crate::output::{Checkpoint, FullDisk, OutputError, checkpoint_path, checkpoints_in};
use crate::plan::{EngineChoice, InitialPlan, OnFullDisk, Plan, StagePlan, TotalEnergy};
use crate::system::SimulationBox;

/// How a run is to be carried out; nothing here changes results.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Remove an earlier run's files from the output directory.
    pub force: bool,
    /// Leave after this time, with a checkpoint.
    pub max_walltime: Option<Duration>,
    /// No progress bar, and no lines in its place.
    pub quiet: bool,
    /// Instead of the plan's.
    pub engine: Option<EngineChoice>,
    /// Values that a run goes on with instead of its own.
    pub settings: Vec<Setting>,
    /// The ranks that take the steps.
    pub ranks: Ranks,
    /// Of a program that catches signals itself ([`Watch::told`]); `None`: the run catches them.
    pub stop: Option<Arc<AtomicUsize>>,
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
    /// The same before the files of an earlier run were replaced: nothing was changed.
    NotBegun {
        why: Interrupt,
    },
}

/// Exit code, which a job script reads: the run was stopped and can be resumed.
pub const STOPPED: u8 = 75;

/// Exit code: the run was stopped before it changed anything, and there is nothing to resume.
pub const STOPPED_BEFORE: u8 = 76;

/// Steps that are compared before a run ends that is asked to: a batch system kills it soon.
const MOST_BEHIND: u64 = 1000;

/// Longest time between looks at signals and clocks.
const PATIENCE: Duration = Duration::from_millis(200);

/// A run between two steps.
struct Simulation {
    plan: Plan,
    /// The same with what the engine is made for, which the present stage may have changed.
    plan_of_stage: Plan,
    /// In which the present stage has begun, of each system.
    boxes: Vec<SimulationBox>,
    ranks: Ranks,
    /// The engine that the configuration asks for, where the command line has another one in the plan: checkpoints hold
    /// the configuration's.
    planned: EngineChoice,
    toml_text: String,
    ensemble: Box<dyn Ensemble>,
    /// Index of the stage that runs or comes next.
    stage: usize,
    /// Takes what the present stage measures; `None` before its start.
    writer: Option<Writer>,
    summary: Summary,
    /// Of each system.
    rechecks: Vec<Recheck>,
    limits: Limits,
    started: Instant,
}

/// Runs a plan from its start.
pub fn run(mut plan: Plan, toml_text: &str, options: &RunOptions) -> Result<Outcome, RunError> {
    let started = Instant::now();
    let watch = watch(options)?;
    let ends_waits = end_waits_of_setup(&watch)?;
    let planned = plan.run.engine;
    plan.run.engine = options.engine.unwrap_or(planned);
    memory::check(&plan, &options.ranks)?;
    if let Some(excess) = threads::excess(&plan) {
        tracing::warn!("{excess}");
    }
    // The initial state may be a file of an earlier run that a killed process has left aside.
    OutputDirectory::put_in_order(&plan.output.directory)?;
    watch.is_at(match &plan.system.initial {
        InitialPlan::File { path, .. } => format!("reading {}", path.display()),
        InitialPlan::Lattice { .. } => "creating the initial state".to_owned(),
    });
    let create = || initial::create_all(&mut plan);
    let states = announce::while_slow("creating the initial state", create)?;
    classes::check_all(&plan, &states)?;
    let mut directory = OutputDirectory::create(&plan, options.force)?;
    directory.on_full_disk(full_disk(&plan, &watch));
    directory.watched_by(&watch);
    watch.is_at("setting up the engine");
    let create = || engine::create_ensemble_on(&options.ranks, &plan, states);
    let mut ensemble = announce::while_slow("setting up the engine", create)?;
    let temperatures = (0..plan.systems()).map(|system| first_temperature(&plan.of_system(system)));
    ensemble.draw_velocities(&temperatures.collect::<Vec<_>>())?;
    #[cfg(feature = "fault-injection")]
    let ensemble: Box<dyn Ensemble> = {
        let engines = ensemble.into_engines().expect("defects are of engines with one system");
        let around = |engine| fault::Faulty::from_environment(engine, &plan);
        Box::new(engines.wrapped(0, around)?)
    };
    let ensemble = Replicas::around(ensemble, &plan, None);
    // Not before: the initial state may be one of the files that --force removes, and nothing is removed for a run that
    // cannot start.
    if let (true, Some(why)) = (directory.replaces(), watch.pending()) {
        return Ok(Outcome::NotBegun { why });
    }
    drop(ends_waits);
    directory.begin()?;
    let mut simulation = Simulation::new(plan, planned, toml_text.to_owned(), ensemble);
    simulation.ranks = options.ranks.clone();
    simulation.summary.setup_seconds = started.elapsed().as_secs_f64();
    // A run that is killed before this leaves the earlier one, and from here on can be resumed.
    let saved = simulation.save(&directory);
    directory.or_put_back(saved)?;
    directory.has_begun();
    simulation.drive(&directory, &watch, options)
}

/// The temperature that first velocities are drawn at; `None` where they stand in the file that the positions are from.
fn first_temperature(plan: &Plan) -> Option<f64> {
    match plan.system.initial {
        InitialPlan::Lattice { temperature, .. } => Some(temperature),
        InitialPlan::File { temperature, .. } => temperature,
    }
}

/// Those of the plan's first temperature, if it has one.
pub fn draw_first_velocities(plan: &Plan, engine: &mut dyn Engine) -> Result<(), EngineError> {
    first_temperature(plan).map_or(Ok(()), |temperature| engine.draw_velocities(temperature, true))
}

/// What the engines of all systems know of a stage.
fn stage_contexts(plan: &Plan, stage: usize) -> Vec<StageContext> {
    let StagePlan { steps, swap, barostat, shear, .. } = plan.stages[stage];
    let first_step = plan.first_step(stage);
    let of_system = |system| {
        let thermostat = plan.thermostat_of(system, stage);
        StageContext { thermostat, first_step, steps, swap, barostat, shear }
    };
    (0..plan.systems()).map(of_system).collect()
}

/// Goes on from the last good checkpoint of a directory. Says which later ones were refused, and sets them aside.
pub fn resume(path: &Path, options: &RunOptions) -> Result<Outcome, RunError> {
    let watch = watch(options)?;
    let no_checkpoint = || RunError::NoCheckpoint { path: path.to_owned() };
    if path.is_file() {
        return Err(RunError::NotADirectory { path: path.to_owned() });
    }
    if !OutputDirectory::may_be_of_run(path) {
        return Err(no_checkpoint());
    }
    let mut directory = OutputDirectory::open(path)?;
    // Not before: a run that had the lock has written others and removed these.
    let checkpoints = checkpoints_in(path)?;
    if checkpoints.is_empty() {
        return Err(no_checkpoint());
    }
    let ends_waits = end_waits_of_restoring(&watch, &checkpoints[0].1)?;
    let mut refused: Vec<PathBuf> = Vec::new();
    let mut why = None;
    // Where a file of the stage is missing or damaged, the others are not to be begun anew from before the stage.
    let mut within_stage = false;
    for (_, file) in checkpoints {
        match restore(&file, &mut directory, &watch, options, within_stage) {
            Ok(simulation) => {
                tracing::info!("resuming from {}", file.display());
                if !refused.is_empty() {
                    tracing::warn!("{} is used instead", file.display());
                }
                for file in refused {
                    set_aside(&file);
                }
                simulation.look_at_ended_stages(&directory);
                drop(ends_waits);
                return simulation.drive(&directory, &watch, options);
            }
            Err(error) if error.refuses_checkpoint() => {
                tracing::warn!("{} is not used: {error}", file.display());
                within_stage |= error.is_of_files();
                refused.push(file);
                why.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(why.map_or_else(no_checkpoint, |why| RunError::all_refused(path, &why)))
}

/// The run that a checkpoint holds, if it is one of this directory's.
fn restore(
    file: &Path,
    directory: &mut OutputDirectory,
    watch: &Watch,
    options: &RunOptions,
    within_stage: bool,
) -> Result<Simulation, RunError> {
    watch.is_at(format!("reading {}", file.display()));
    let checkpoint = Checkpoint::read(file)?;
    if within_stage && !checkpoint::is_within_stage(&checkpoint)? {
        return Err(RunError::BeforeStage);
    }
    directory.check_owner(&checkpoint, file)?;
    directory.on_full_disk(full_disk(&checkpoint.get_json("plan")?, watch));
    directory.watched_by(watch);
    Simulation::restore(&checkpoint, file, directory, options)
}

/// Takes a file that cannot be used out of the way of those that come.
fn set_aside(file: &Path) {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".refused");
    if let Err(error) = std::fs::rename(file, file.with_file_name(name)) {
        tracing::warn!("{} cannot be renamed: {error}", file.display());
    }
}

/// What writers do when the disk is full; a signal or the end of the time ends the waiting.
fn full_disk(plan: &Plan, watch: &Watch) -> FullDisk {
    match plan.output.on_full_disk {
        OnFullDisk::Stop => FullDisk::Stop,
        OnFullDisk::Wait => {
            let watch = watch.clone();
            FullDisk::Wait(Arc::new(move || watch.pending().is_some()))
        }
    }
}

/// Signals and the clock, from the very start: a signal on the way to the first step waits for it.
fn watch(options: &RunOptions) -> Result<interrupt::Watch, RunError> {
    match &options.stop {
        Some(stop) => Ok(Watch::told(Arc::clone(stop), options.max_walltime)),
        None => Watch::new(options.max_walltime).map_err(|source| RunError::Signals { source }),
    }
}

/// Before a run has begun, nothing is written.
fn end_waits_of_setup(watch: &Watch) -> Result<EndsWaits, RunError> {
    let ends = watch.end_waits(|why, at| {
        tracing::warn!("stopped by {why} while {at}, which did not end; nothing was changed");
        STOPPED_BEFORE
    });
    ends.map_err(|source| RunError::Signals { source })
}

/// Nor before it continues, except under other names.
fn end_waits_of_restoring(watch: &Watch, checkpoint: &Path) -> Result<EndsWaits, RunError> {
    let checkpoint = checkpoint.to_owned();
    let ends = watch.end_waits(move |why, at| {
        tracing::warn!(
            "stopped by {why} while {at}, which did not end; no step was taken, the last checkpoint is {}",
            checkpoint.display()
        );
        STOPPED
    });
    ends.map_err(|source| RunError::Signals { source })
}

impl Simulation {
    /// Before the first step of `plan`.
    fn new(
        plan: Plan,
        planned: EngineChoice,
        toml_text: String,
        ensemble: Box<dyn Ensemble>,
    ) -> Self {
        let recheck = |system: usize| {
            let number = plan.ensemble.as_ref().map(|_| system);
            Some(Recheck::new(plan.integrity?, number))
        };
        Simulation {
            summary: Summary::new(&plan),
            plan_of_stage: plan.clone(),
            boxes: vec![plan.system.simulation_box; plan.systems()],
            ranks: Ranks::default(),
            rechecks: (0..plan.systems()).filter_map(recheck).collect(),
            limits: Limits::new(plan.limits),
            plan,
            planned,
            toml_text,
            ensemble,
            stage: 0,
            writer: None,
            started: Instant::now(),
        }
    }

    /// Reports files of stages that have ended which are not as the run left them. It continues without them.
    fn look_at_ended_stages(&self, directory: &OutputDirectory) {
        for stage in &self.plan.stages[..self.stage] {
            for fault in stage::faults_of_ended(directory, stage) {
                tracing::warn!(
                    "{fault}; stage \"{}\" has ended and is not run again: put its file back, if there is a copy",
                    stage.name
                );
            }
        }
    }

    fn drive(
        mut self,
        directory: &OutputDirectory,
        interrupts: &interrupt::Watch,
        options: &RunOptions,
    ) -> Result<Outcome, RunError> {
        let error = match self.go(directory, interrupts, options) {
            Ok(outcome) => return Ok(outcome),
            Err(error) => error,
        };
        // What was measured before stays readable.
        let step = self.ensemble.step();
        if let Some(mut writer) = self.writer.take()
            && let Err(error) = writer.flush(step).and_then(|()| writer.close())
        {
            tracing::debug!("after an error: {error}");
        }
        let full = matches!(error, RunError::Output(OutputError::DiskFull { .. }));
        if full
            && self.plan.output.on_full_disk == OnFullDisk::Wait
            && interrupts.pending().is_some()
        {
            return self.left(directory, interrupts, error);
        }
        match error {
            RunError::Engine(EngineError::GivenUp) => self.left(directory, interrupts, error),
            RunError::Engine(error @ EngineError::GpuLost { .. }) => {
                Err(RunError::of_engine(error, step, directory.path()))
            }
            RunError::Engine(error) => match self.plan.stages.get(self.stage) {
                Some(stage) => Err(RunError::in_stage(error, &stage.name, directory.path())),
                None => Err(error.into()),
            },
            error => Err(error),
        }
    }

    /// The end of a run that could not write a checkpoint of its last step in time.
    fn left(
        &self,
        directory: &OutputDirectory,
        interrupts: &Watch,
        error: RunError,
    ) -> Result<Outcome, RunError> {
        let checkpoints = checkpoints_in(directory.path())?;
        let (Some((step, checkpoint)), Some(why)) =
            (checkpoints.into_iter().next(), interrupts.pending())
        else {
            return Err(error);
        };
        tracing::warn!(
            "{error}: there is no checkpoint of step {}; the steps after step {step} are taken again",
            self.ensemble.step()
        );
        Ok(Outcome::Stopped { step, checkpoint, why })
    }

    fn go(
        &mut self,
        directory: &OutputDirectory,
        interrupts: &interrupt::Watch,
        options: &RunOptions,
    ) -> Result<Outcome, RunError> {
        let mut progress = Progress::new(&self.plan, self.ensemble.step(), options.quiet);
        let every = Duration::try_from_secs_f64(60.0 * self.plan.checkpoint.minutes)
            .unwrap_or(Duration::MAX);
        let flush_interval =
            Duration::try_from_secs_f64(self.plan.output.flush_seconds).unwrap_or(Duration::MAX);
        let mut last_checkpoint = Instant::now();
        self.summary.was_complete = self.stage == self.plan.stages.len();
        while self.stage < self.plan.stages.len() {
            self.enter_stage(directory)?;
            progress.begin(self.plan.stages[self.stage].strain.is_some());
            let stage_end = self.plan.first_step(self.stage) + self.plan.stages[self.stage].steps;
            let mut last_flush = Instant::now();
            while self.ensemble.step() < stage_end {
                let before = self.ensemble.step();
                let steps = self.next_event().min(stage_end) - before;
                let files_due =
                    || last_checkpoint.elapsed() >= every || last_flush.elapsed() >= flush_interval;
                self.advance_in_parts(steps, interrupts, files_due, &mut progress)?;
                // Told to stop before the first of these steps, this one was sampled already.
                if self.ensemble.step() > before {
                    self.observe(&progress)?;
                    self.rescale()?;
                    self.recheck(directory)?;
                }
                let is_time = last_checkpoint.elapsed() >= every;
                let interrupt = interrupts.pending();
                // No checkpoint holds steps that are still to be compared, unless there is no time for it.
                let step = self.ensemble.step();
                let behind: u64 = self.rechecks.iter().map(|recheck| recheck.behind(step)).sum();
                if interrupt.is_some() && behind > MOST_BEHIND {
                    Recheck::leave_out(&mut self.rechecks, step);
                } else if is_time || interrupt.is_some() {
                    for recheck in &mut self.rechecks {
                        recheck.catch_up(self.ensemble.as_ref(), &self.plan_of_stage, directory)?;
                    }
                }
                if let Some(why) = interrupt {
                    self.save(directory)?;
                    if let Some(writer) = self.writer.take() {
                        writer.close()?;
                    }
                    progress.abandon();
                    let step = self.ensemble.step();
                    let checkpoint = checkpoint_path(directory.path(), step);
                    return Ok(Outcome::Stopped { step, checkpoint, why });
                }
                if is_time {
                    self.save(directory)?;
                    last_checkpoint = Instant::now();
                    last_flush = Instant::now();
                } else if last_flush.elapsed() >= flush_interval {
                    self.evaluate_samples()?;
                    let step = self.ensemble.step();
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
        self.summary.engine = Some(self.ensemble.report());
        Ok(Outcome::Finished(Box::new(self.summary.clone())))
    }

    /// Starts the present stage, unless a checkpoint has put us into its middle.
    fn enter_stage(&mut self, directory: &OutputDirectory) -> Result<(), RunError> {
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
    fn set_total_energy(&mut self) -> Result<(), RunError> {
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

    /// The number of a system, where there are many.
    fn number(&self, system: usize) -> Option<usize> {
        self.plan.ensemble.as_ref().map(|_| system)
    }

    /// Keeps or compares the states of steps that are repeated.
    fn recheck(&mut self, directory: &OutputDirectory) -> Result<(), RunError> {
        if self.rechecks.is_empty() {
            return Ok(());
        }
        let contexts = stage_contexts(&self.plan, self.stage);
        for (recheck, stage) in self.rechecks.iter_mut().zip(&contexts) {
            recheck.at(self.ensemble.as_ref(), stage, &self.plan_of_stage, directory)?;
        }
        Ok(())
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("a stage is running")
    }

    /// The next step at which something is measured, or a state is kept.
    fn next_event(&mut self) -> u64 {
        let (first_step, steps) =
            (self.plan.first_step(self.stage), self.plan.stages[self.stage].steps);
        let step = self.ensemble.step() - first_step;
        // Those of all systems do the same.
        let recheck = self.rechecks.first().map_or(u64::MAX, |r| r.next_event(step, steps));
        let rescaling = self.next_rescaling(step);
        first_step + self.writer().schedule.next_event(step).min(recheck).min(rescaling)
    }

    /// Advances, with looks at the clock and at signals in between; less far if files are due.
    fn advance_in_parts(
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
    fn pass_on_evaluated(&mut self) -> Result<(), RunError> {
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
    fn pass_on_exchanges(&mut self) -> Result<(), RunError> {
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
    fn evaluate_samples(&mut self) -> Result<(), RunError> {
        if self.writer.is_some() {
            self.ensemble.correlator().map_or(Ok(()), |correlator| correlator.flush())?;
        }
        self.pass_on_evaluated()?;
        self.pass_on_exchanges()
    }

    /// Measures what is due at the present step.
    fn observe(&mut self, progress: &Progress) -> Result<(), RunError> {
        self.sample_due()?;
        if let Some([temperature, total_energy]) = self.summary.last_row() {
            progress.state(temperature, total_energy);
        }
        Ok(())
    }

    fn sample_due(&mut self) -> Result<(), RunError> {
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
    fn check_rows(&mut self, step: u64, rows: &[Thermodynamics]) -> Result<(), RunError> {
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

    /// Time that the run has taken, in this process and in those that it was resumed from.
    fn seconds(&self) -> f64 {
        self.summary.seconds + self.started.elapsed().as_secs_f64()
    }

    fn leave_stage(&mut self) -> Result<(), RunError> {
        self.ensemble.correlator().map_or(Ok(()), |correlator| correlator.finish())?;
        self.pass_on_evaluated()?;
        self.pass_on_exchanges()?;
        if let Some(writer) = self.writer.take() {
            writer.finish(self.ensemble.step())?;
        }
        self.stage += 1;
        Ok(())
    }

    /// Has the files brought to the disk and a checkpoint written; between stages it is there at once.
    fn save(&mut self, directory: &OutputDirectory) -> Result<(), RunError> {
        self.evaluate_samples()?;
        let draft = self.draft(directory)?;
        match &mut self.writer {
            Some(writer) => writer.checkpoint(draft),
            None => draft.write(None),
        }
    }
}
