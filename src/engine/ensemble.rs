//! Many systems that take the same steps: the interface of a run, and systems with an engine each.
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::replicas::Exchanges;
use super::{
    Correlator, Engine, EngineError, EngineReport, ExactState, PendingSnapshot, PendingState,
    StageContext, StrainMemory, Strained, Thermodynamics,
};

/// The systems of a run, all at the same step. One that is alone is an ensemble of one. What is given or handed out for each
/// system is in their order.
///
/// # Errors
/// Those of [`Engine`]; of several systems an error says in which one it was met.
pub trait Ensemble: Send {
    /// Number of systems.
    fn systems(&self) -> usize;

    /// Steps since the start of the run.
    fn step(&self) -> u64;

    /// As [`Engine::begin_stage`].
    fn begin_stage(&mut self, stages: &[StageContext]) -> Result<(), EngineError>;

    /// Takes `steps` steps in all systems.
    fn advance(&mut self, steps: u64) -> Result<(), EngineError>;

    /// Energies, pressure and so on of the present states.
    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError>;

    /// As [`Engine::begin_snapshot`].
    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError>;

    /// As [`Engine::begin_export`].
    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError>;

    /// The state of a system to the bit.
    fn export(&self, system: usize) -> Result<ExactState, EngineError>;

    /// Draws Maxwell-Boltzmann velocities with zero total momentum, scaled to the temperature of each system; `None` leaves
    /// them as they are.
    fn draw_velocities(&mut self, temperatures: &[Option<f64>]) -> Result<(), EngineError>;

    /// Multiplies the velocities of each system; a factor of 1 leaves them as they are.
    fn scale_velocities(&mut self, factors: &[f64]) -> Result<(), EngineError>;

    /// Evaluates time correlations of all systems by itself, if it can.
    fn correlator(&mut self) -> Option<&mut dyn Correlator>;

    /// The machine, and how the steps are carried out.
    fn report(&self) -> EngineReport;

    /// Which replicas the systems are, where they are exchanged.
    fn exchanges(&self) -> Option<&Exchanges> {
        None
    }

    /// What the steps of a strain stage have found since the last call; nothing in other stages.
    fn strained(&mut self) -> Strained {
        Strained::default()
    }

    /// What a checkpoint within a strain stage holds besides the states.
    fn strain_memory(&self) -> Option<StrainMemory> {
        None
    }

    /// The engines, if each system has one to itself.
    #[cfg(feature = "fault-injection")]
    fn into_engines(self: Box<Self>) -> Option<Engines> {
        None
    }
}

/// Systems with an engine each.
pub struct Engines {
    engines: Vec<Box<dyn Engine>>,
    workers: Workers,
}

impl Engines {
    /// One system.
    pub fn alone(engine: Box<dyn Engine>) -> Self {
        Engines { engines: vec![engine], workers: Workers::none() }
    }

    /// Systems that workers share; their engines use the thread that calls them.
    pub(super) fn shared(engines: Vec<Box<dyn Engine>>, workers: Workers) -> Self {
        Engines { engines, workers }
    }

    /// Puts another engine around that of a system.
    ///
    /// # Errors
    /// Those of `around`; the ensemble is lost then.
    #[cfg(any(test, feature = "fault-injection"))]
    pub fn wrapped<E>(
        mut self,
        system: usize,
        around: impl FnOnce(Box<dyn Engine>) -> Result<Box<dyn Engine>, E>,
    ) -> Result<Self, E> {
        let engine = self.engines.remove(system);
        self.engines.insert(system, around(engine)?);
        Ok(self)
    }

    /// Has something done by each engine, with its index; what they give is in the order of the systems.
    fn each<T: Send>(
        &mut self,
        work: impl Fn(usize, &mut dyn Engine) -> Result<T, EngineError> + Sync,
    ) -> Result<Vec<T>, EngineError> {
        if let [engine] = &mut self.engines[..] {
            return Ok(vec![work(0, engine.as_mut())?]);
        }
        let work = |system: usize, engine: &mut Box<dyn Engine>| {
            work(system, engine.as_mut()).map_err(|error| error.of_system(system))
        };
        self.workers.share(&mut self.engines, work).into_iter().collect()
    }
}

impl Ensemble for Engines {
    fn systems(&self) -> usize {
        self.engines.len()
    }

    fn step(&self) -> u64 {
        self.engines[0].step()
    }

    fn begin_stage(&mut self, stages: &[StageContext]) -> Result<(), EngineError> {
        self.each(|system, engine| engine.begin_stage(&stages[system])).map(drop)
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.each(|_, engine| engine.advance(steps)).map(drop)
    }

    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        self.each(|_, engine| engine.thermodynamics())
    }

    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError> {
        self.each(|_, engine| engine.begin_snapshot())
    }

    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError> {
        self.each(|_, engine| engine.begin_export())
    }

    fn export(&self, system: usize) -> Result<ExactState, EngineError> {
        self.engines[system].export()
    }

    fn draw_velocities(&mut self, temperatures: &[Option<f64>]) -> Result<(), EngineError> {
        let draw = |system: usize, engine: &mut dyn Engine| match temperatures[system] {
            Some(temperature) => engine.draw_velocities(temperature, true),
            None => Ok(()),
        };
        self.each(draw).map(drop)
    }

    fn scale_velocities(&mut self, factors: &[f64]) -> Result<(), EngineError> {
        let scale = |system: usize, engine: &mut dyn Engine| match factors[system] {
            1.0 => Ok(()),
            factor => engine.scale_velocities(factor),
        };
        self.each(scale).map(drop)
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        match &mut self.engines[..] {
            [engine] => engine.correlator(),
            _ => None,
        }
    }

    fn report(&self) -> EngineReport {
        let mut report = self.engines[0].report();
        if !self.workers.0.is_empty() {
            report.hardware.set_threads(self.workers.0.len());
        }
        report
    }

    #[cfg(feature = "fault-injection")]
    fn into_engines(self: Box<Self>) -> Option<Engines> {
        Some(*self)
    }
}

/// Equal parts of a number of items, none of them empty, for this many owners at most.
pub(super) fn parts(items: usize, owners: usize) -> Vec<Range<usize>> {
    let count = owners.min(items);
    (0..count).map(|part| part * items / count..(part + 1) * items / count).collect()
}

/// Threads that share systems: each worker takes the next one that nobody has, so that systems that take longer keep nobody
/// waiting. The loops of a system stay on the threads of the worker that has it. A parallel loop over systems in the pool of these
/// loops would not do: a thread that waits for one takes up another system meanwhile, on top of the first, and so on until
/// its stack is full.
pub struct Workers(Vec<rayon::ThreadPool>);

impl Workers {
    /// The calling thread.
    pub fn none() -> Self {
        Workers(Vec::new())
    }

    /// Workers of one thread each.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, EngineError> {
        Workers::with_threads(threads.max(1), 1)
    }

    /// As many workers as there are systems or threads, with equal parts of the threads; the calling thread for one system.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_systems(systems: usize, threads: usize) -> Result<Self, EngineError> {
        let workers = systems.min(threads).max(1);
        match systems {
            1 => Ok(Workers::none()),
            _ => Workers::with_threads(workers, (threads / workers).max(1)),
        }
    }

    fn with_threads(workers: usize, threads: usize) -> Result<Self, EngineError> {
        let pool = |worker| {
            let name = move |_| format!("system-{worker}");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(name);
            Ok(pool.build()?)
        };
        Ok(Workers((0..workers).map(pool).collect::<Result<_, EngineError>>()?))
    }

    /// Has something done with each item, with its index.
    pub fn share<S: Send, T: Send>(
        &self,
        items: &mut [S],
        work: impl Fn(usize, &mut S) -> T + Sync,
    ) -> Vec<T> {
        let [first, others @ ..] = &self.0[..] else {
            return items.iter_mut().enumerate().map(|(index, item)| work(index, item)).collect();
        };
        let count = items.len();
        let waiting: Vec<_> = items.iter_mut().map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        let take = || -> Vec<(usize, T)> {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = waiting.get(index) else { return done };
                // Nobody else takes this index.
                let mut item = item.lock().unwrap_or_else(PoisonError::into_inner);
                done.push((index, work(index, &mut item)));
            }
        };
        let mut done: Vec<(usize, T)> = Vec::with_capacity(count);
        std::thread::scope(|scope| {
            let others = &others[..others.len().min(count.saturating_sub(1))];
            let threads: Vec<_> =
                others.iter().map(|pool| scope.spawn(|| pool.install(take))).collect();
            done.extend(first.install(take));
            for thread in threads {
                match thread.join() {
                    Ok(of_thread) => done.extend(of_thread),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_taken_once_and_answers_are_in_order() {
        for threads in [0, 1, 3] {
            let workers =
                if threads == 0 { Workers::none() } else { Workers::new(threads).unwrap() };
            let mut items: Vec<usize> = (0..20).collect();
            let answers = workers.share(&mut items, |index, item| {
                *item += 1;
                10 * index
            });
            assert_eq!(items, (1..21).collect::<Vec<_>>());
            assert_eq!(answers, (0..20).map(|index| 10 * index).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_system_is_in_one_part() {
        for (systems, owners) in [(1, 1), (7, 2), (3, 8), (1000, 8), (8, 8)] {
            let parts = parts(systems, owners);
            assert_eq!(parts.len(), owners.min(systems));
            assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, systems));
            assert!(parts.windows(2).all(|two| two[0].end == two[1].start));
            let sizes: Vec<usize> = parts.iter().map(Range::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
    }
}
