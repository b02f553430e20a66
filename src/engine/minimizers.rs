//! Minima of many systems at once: each asks for one descent after another, without waiting for the others.
//!
//! On the processor threads share the systems, each of which has a descent by itself. On a GPU small systems descend side by
//! side in the same launches ([`cuda::ManyMinimizers`]); larger ones take turns, each with all of it. A minimum depends neither on
//! the number of systems, from two on, nor on which others are found at the time.
use std::sync::{Mutex, PoisonError};

use super::minimizer::{gpu_of, minimizer};
use super::report::Hardware;
use super::{CancelToken, EngineError, InherentStructure, Minimizer, Workers, cpu, cuda};
use crate::plan::{InherentStructuresPlan, Plan};
use crate::system::{SimulationBox, Snapshot};

/// Threads whose descents take turns on a GPU: while one is there, the others prepare and read theirs.
const ON_A_GPU: usize = 4;

/// The descents of a system: each may depend on what those before have found.
pub trait Descents: Send {
    /// The next configuration that is to be brought to a minimum, and its box; `None` when there are no more.
    fn next(&mut self) -> Option<(&Snapshot, SimulationBox)>;

    /// Takes the minimum below it.
    fn found(&mut self, minimum: InherentStructure);
}

/// Finds minima of the potential energy of many systems.
pub trait Minimizers: Send {
    /// Carries out all descents of these systems.
    ///
    /// # Errors
    /// As [`Minimizer::minimize`], of the first system that has met one, of several with its number; the descents of the others may be left then.
    fn descend(&mut self, systems: &mut [&mut dyn Descents]) -> Result<(), EngineError>;

    /// Descents end with an error as soon as this says so.
    fn cancel_when(&mut self, cancel: CancelToken);

    /// What it runs on.
    fn hardware(&self) -> Hardware;
}

/// The minimisers for a number of systems of a plan: on the GPU where its engine runs there.
///
/// # Errors
/// If the plan asks for an engine that is not there, or threads cannot be started.
pub fn minimizers(
    plan: &Plan,
    settings: &InherentStructuresPlan,
    systems: usize,
) -> Result<Box<dyn Minimizers>, EngineError> {
    if systems == 1 {
        return Ok(Box::new(InTurns::alone(minimizer(plan, settings)?)));
    }
    let gpu = gpu_of(plan)?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = plan.run.threads.unwrap_or_else(cores).min(systems);
    Ok(match gpu {
        Some(gpu) if cuda::ManyMinimizers::take(plan, &gpu)? => {
            let workers = Workers::new(threads)?;
            Box::new(cuda::ManyMinimizers::new(plan, settings, systems, gpu, workers))
        }
        Some(gpu) => Box::new(InTurns::of(ON_A_GPU.min(systems), || {
            Box::new(cuda::CudaMinimizer::new(plan, settings, gpu.clone()))
        })?),
        None => Box::new(InTurns::of(threads, || {
            Box::new(cpu::CpuMinimizer::of_caller(plan, settings))
        })?),
    })
}

/// The minima below configurations of systems in one box.
///
/// # Errors
/// As [`Minimizers::descend`].
pub fn minima(
    minimizers: &mut dyn Minimizers,
    simulation_box: SimulationBox,
    snapshots: &[&Snapshot],
) -> Result<Vec<InherentStructure>, EngineError> {
    let mut descents: Vec<Once> =
        snapshots.iter().map(|snapshot| Once::new(snapshot, simulation_box)).collect();
    let mut systems: Vec<&mut dyn Descents> =
        descents.iter_mut().map(|descent| descent as &mut dyn Descents).collect();
    minimizers.descend(&mut systems)?;
    let found = descents.into_iter().map(|descent| descent.found);
    Ok(found.map(|found| found.expect("of every system")).collect())
}

/// One descent.
struct Once<'a> {
    start: Option<&'a Snapshot>,
    simulation_box: SimulationBox,
    found: Option<InherentStructure>,
}

impl<'a> Once<'a> {
    fn new(start: &'a Snapshot, simulation_box: SimulationBox) -> Self {
        Once { start: Some(start), simulation_box, found: None }
    }
}

impl Descents for Once<'_> {
    fn next(&mut self) -> Option<(&Snapshot, SimulationBox)> {
        Some((self.start.take()?, self.simulation_box))
    }

    fn found(&mut self, minimum: InherentStructure) {
        self.found = Some(minimum);
    }
}

/// An error of a system, which says of which one where there are many.
pub(super) fn of_system(error: EngineError, number: usize, systems: usize) -> EngineError {
    match error {
        EngineError::GivenUp => EngineError::GivenUp,
        error if systems == 1 => error,
        error => error.of_system(number),
    }
}

/// Threads that share the systems, with a minimiser each.
struct InTurns {
    workers: Workers,
    /// Those that no worker has.
    free: Mutex<Vec<Box<dyn Minimizer>>>,
    threads: Option<usize>,
}

impl InTurns {
    /// One, which has all threads.
    fn alone(minimizer: Box<dyn Minimizer>) -> Self {
        InTurns { workers: Workers::none(), free: Mutex::new(vec![minimizer]), threads: None }
    }

    fn of(threads: usize, minimizer: impl Fn() -> Box<dyn Minimizer>) -> Result<Self, EngineError> {
        let free = Mutex::new((0..threads).map(|_| minimizer()).collect());
        Ok(InTurns { workers: Workers::new(threads)?, free, threads: Some(threads) })
    }
}

/// Has something done with a minimiser that nobody else has. A minimum does not depend on which one it is.
fn with_one<T>(
    all: &Mutex<Vec<Box<dyn Minimizer>>>,
    work: impl FnOnce(&mut dyn Minimizer) -> T,
) -> T {
    let free = || all.lock().unwrap_or_else(PoisonError::into_inner);
    let mut minimizer = free().pop().expect("there is one for each worker");
    let done = work(minimizer.as_mut());
    free().push(minimizer);
    done
}

/// All descents of a system.
fn descend_alone(
    minimizer: &mut dyn Minimizer,
    system: &mut dyn Descents,
) -> Result<(), EngineError> {
    while let Some((snapshot, simulation_box)) = system.next() {
        minimizer.set_box(simulation_box)?;
        let minimum = minimizer.minimize(snapshot)?;
        system.found(minimum);
    }
    Ok(())
}

impl Minimizers for InTurns {
    fn descend(&mut self, systems: &mut [&mut dyn Descents]) -> Result<(), EngineError> {
        let (free, count) = (&self.free, systems.len());
        let descend = |number: usize, system: &mut &mut dyn Descents| {
            with_one(free, |minimizer| descend_alone(minimizer, *system))
                .map_err(|error| of_system(error, number, count))
        };
        self.workers.share(systems, descend).into_iter().collect()
    }

    fn cancel_when(&mut self, cancel: CancelToken) {
        let free = self.free.get_mut().unwrap_or_else(PoisonError::into_inner);
        free.iter_mut().for_each(|minimizer| minimizer.cancel_when(cancel.clone()));
    }

    fn hardware(&self) -> Hardware {
        let mut hardware = with_one(&self.free, |minimizer| minimizer.hardware());
        if let Some(threads) = self.threads {
            hardware.set_threads(threads);
        }
        hardware
    }
}
