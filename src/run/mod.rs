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
pub mod short_period;
mod stage;
mod stages;
mod steps;
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
pub(crate) use self::description::author;
pub use self::directory::{LOCK, OutputDirectory};
pub use self::error::{RunError, quoted};
use self::interrupt::EndsWaits;
pub use self::interrupt::{Interrupt, Watch, parse_walltime};
use self::limits::Limits;
use self::progress::Progress;
use self::recheck::Recheck;
pub use self::replay::{ReplayError, ReplayOptions, Replayed, frame_spacing, replay};
use self::stage::classes;
pub use self::summary::{StageSummary, Summary};
use self::writer::Writer;
use crate::announce;
use crate::config::Setting;
use crate::engine::domain::Ranks;
use crate::engine::{self, Engine, EngineError, Ensemble, Replicas, StageContext};
use crate::initial;
use crate::output::{Checkpoint, FullDisk, OutputError, checkpoint_path, checkpoints_in};
use crate::plan::{EngineChoice, InitialPlan, OnFullDisk, Plan, StagePlan};
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

    /// The number of a system, where there are many.
    fn number(&self, system: usize) -> Option<usize> {
        self.plan.ensemble.as_ref().map(|_| system)
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("a stage is running")
    }

    /// Time that the run has taken, in this process and in those that it was resumed from.
    fn seconds(&self) -> f64 {
        self.summary.seconds + self.started.elapsed().as_secs_f64()
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
