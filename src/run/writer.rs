//! Writes what a stage measures, on a thread of its own, while the engine takes the next steps.
//!
//! Rows, samples, flushes and checkpoints go through one queue in the order in which they were
//! measured, so that a checkpoint is written when all that it counts on is on the disk, and the engine
//! waits when the disk or the observables are slower than it is. The first error ends the thread; the run
//! meets it at its next word to the writer.
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rayon::prelude::*;

use super::RunError;
use super::draft::Draft;
use super::schedule::Schedule;
use super::stage::StageOutput;
use crate::engine::{
    EngineError, ExchangeCounts, OfSystems, Pending, PendingSnapshot, Strained, Thermodynamics,
};
use crate::observable::Macroscopic;
use crate::observable::dynamics::evaluation::Evaluated;
use crate::system::{SimulationBox, Snapshot};

/// Jobs that wait at most. What an engine evaluates in one part of its steps comes at once, and is averaged during the
/// next one.
const QUEUE: usize = 64;
/// Samples among them: each holds a copy of all particles.
const SAMPLES: usize = 2;
/// Rows that are collected before they are a job of their own.
const ROWS: usize = 1024;

/// The thread that owns a stage's observables and files.
pub struct Writer {
    pub schedule: Schedule,
    /// Rows that go with the next job.
    rows: Vec<Row>,
    /// `None` only while it is dropped.
    queue: Option<SyncSender<Job>>,
    /// Full while as many samples wait as may.
    samples: SyncSender<()>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

/// Thermodynamics of all systems at a step.
pub struct Row {
    pub systems: Vec<Thermodynamics>,
    /// Which replica each system is; empty in stages without exchanges.
    pub replicas: Vec<usize>,
}

/// All systems at a step.
pub struct Sample {
    pub snapshots: Vec<PendingSnapshot>,
    /// Empty where nothing needs it.
    pub macroscopic: Vec<Macroscopic>,
    /// Where it changes: that of all systems, or of each where they have boxes of their own. Else empty.
    pub boxes: Vec<SimulationBox>,
}

struct Job {
    /// Of the run.
    step: u64,
    /// To be appended first.
    rows: Vec<Row>,
    task: Task,
}

enum Task {
    Nothing,
    Sample(Sample),
    /// Of one of the engine's correlations.
    Evaluated(usize, Pending<OfSystems<Evaluated>>),
    /// Since the start of the stage.
    Exchanges(ExchangeCounts),
    /// Of a stage of strain.
    Strained(Strained),
    Flush,
    Checkpoint(Box<Draft>),
    Finish,
}

impl Writer {
    /// `first_step` is that of the stage, `step` the present one of the run.
    pub fn start(
        output: StageOutput,
        first_step: u64,
        step: u64,
        directory: &Path,
    ) -> Result<Self, RunError> {
        let schedule = output.schedule().clone();
        let (queue, jobs) = sync_channel(QUEUE);
        let (samples, waiting) = sync_channel(SAMPLES);
        let directory = directory.to_owned();
        let thread = thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || work(output, &jobs, &waiting, first_step, step, &directory))
            .map_err(|source| RunError::Writer { source })?;
        let queue = Some(queue);
        Ok(Writer { schedule, rows: Vec::new(), queue, samples, thread: Some(thread) })
    }

    pub fn append_thermodynamics(&mut self, row: Row) -> Result<(), RunError> {
        let (step, systems) = (row.systems[0].step, row.systems.len());
        self.rows.push(row);
        if self.rows.len() * systems < ROWS { Ok(()) } else { self.send(step, Task::Nothing) }
    }

    /// All that is due at a step of the run.
    pub fn sample(&mut self, step: u64, sample: Sample) -> Result<(), RunError> {
        match self.samples.send(()) {
            Ok(()) => self.send(step, Task::Sample(sample)),
            // As in `send`.
            Err(_) => self.join(),
        }
    }

    /// What the engine has evaluated for one of its correlations up to a step of the run.
    pub fn evaluated(
        &mut self,
        step: u64,
        correlation: usize,
        evaluated: Pending<OfSystems<Evaluated>>,
    ) -> Result<(), RunError> {
        self.send(step, Task::Evaluated(correlation, evaluated))
    }

    /// Exchanges of replicas since the start of the stage, up to a step of the run.
    pub fn set_exchanges(&mut self, step: u64, counts: ExchangeCounts) -> Result<(), RunError> {
        self.send(step, Task::Exchanges(counts))
    }

    /// What a stage of strain has found, up to a step of the run.
    pub fn strained(&mut self, step: u64, found: Strained) -> Result<(), RunError> {
        self.send(step, Task::Strained(found))
    }

    /// Brings all that was measured into the files, for readers that follow them, and onto the disk.
    pub fn flush(&mut self, step: u64) -> Result<(), RunError> {
        self.send(step, Task::Flush)
    }

    /// The same onto the disk, and the checkpoint after it.
    pub fn checkpoint(&mut self, draft: Draft) -> Result<(), RunError> {
        self.send(draft.step(), Task::Checkpoint(Box::new(draft)))
    }

    /// Ends the stage; waits until everything is on the disk.
    pub fn finish(mut self, step: u64) -> Result<(), RunError> {
        self.send(step, Task::Finish)?;
        self.close()
    }

    /// Waits until all jobs are done.
    pub fn close(mut self) -> Result<(), RunError> {
        self.queue = None;
        self.join()
    }

    /// # Errors
    /// That of the thread, if it has met one.
    pub fn check(&mut self) -> Result<(), RunError> {
        let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        if ended { self.join() } else { Ok(()) }
    }

    fn send(&mut self, step: u64, task: Task) -> Result<(), RunError> {
        let job = Job { step, rows: std::mem::take(&mut self.rows), task };
        let queue = self.queue.as_ref().expect("it is not closed");
        match queue.send(job) {
            Ok(()) => Ok(()),
            // Nobody takes jobs any more: the thread has met an error.
            Err(_) => self.join(),
        }
    }

    fn join(&mut self) -> Result<(), RunError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(RunError::WriterHasEnded),
        }
    }
}

impl Drop for Writer {
    /// The process must not end within a write.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(
    mut output: StageOutput,
    jobs: &Receiver<Job>,
    waiting: &Receiver<()>,
    first_step: u64,
    mut reached: u64,
    directory: &Path,
) -> Result<(), RunError> {
    for Job { step, rows, task } in jobs {
        rows.iter().try_for_each(|row| output.append_thermodynamics(row))?;
        match task {
            Task::Nothing => {}
            Task::Sample(sample) => match wait_for_all(sample.snapshots) {
                Ok(snapshots) => {
                    // Room for another one while this one is looked at.
                    let _ = waiting.recv();
                    if !sample.boxes.is_empty() {
                        output.set_boxes(&sample.boxes);
                    }
                    let sampled = output.sample(step - first_step, &snapshots, &sample.macroscopic);
                    or_keep_readable(sampled, &mut output, step)?;
                }
                Err(error) => {
                    output.flush(reached)?;
                    return Err(RunError::of_engine(error, reached, directory));
                }
            },
            Task::Evaluated(correlation, evaluated) => match evaluated.wait() {
                Ok(evaluated) => {
                    let added = output.add_evaluated(correlation, evaluated);
                    or_keep_readable(added, &mut output, step)?;
                }
                Err(error) => {
                    output.flush(reached)?;
                    return Err(RunError::of_engine(error, reached, directory));
                }
            },
            Task::Exchanges(counts) => output.set_exchanges(counts),
            Task::Strained(found) => output.append_strained(found, step)?,
            Task::Flush => output.flush(step)?,
            Task::Checkpoint(draft) => draft.write(Some(&mut output))?,
            Task::Finish => return output.finish(step),
        }
        reached = step;
    }
    Ok(())
}

/// The snapshots of all systems, converted by several threads where there are many.
fn wait_for_all(snapshots: Vec<PendingSnapshot>) -> Result<Vec<Snapshot>, EngineError> {
    match snapshots.len() {
        1 => snapshots.into_iter().map(Pending::wait).collect(),
        _ => snapshots.into_par_iter().map(Pending::wait).collect(),
    }
}

/// After an error that is not one of the files, a bound that was passed above all, what was measured up to there stays
/// readable.
fn or_keep_readable(
    result: Result<(), RunError>,
    output: &mut StageOutput,
    step: u64,
) -> Result<(), RunError> {
    if let Err(error) = &result
        && !matches!(error, RunError::Output(_))
    {
        output.flush(step)?;
    }
    result
}
