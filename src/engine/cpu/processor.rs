//! The processor as an engine uses it: its threads, and the instructions that the loops are compiled for.
use std::sync::Arc;

use super::instruction_set::InstructionSet;
use crate::engine::EngineError;
use crate::engine::report::ProcessorReport;

/// The widest instructions of this processor that the loops are compiled for.
pub fn instruction_set() -> &'static str {
    InstructionSet::detect().name()
}

/// The processor's name as the system gives it, else its architecture.
pub fn processor() -> String {
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    model.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Threads and instruction set of an engine.
#[derive(Clone)]
pub struct Processor {
    /// `None`: those of the caller.
    pool: Option<Arc<rayon::ThreadPool>>,
    set: InstructionSet,
}

impl Processor {
    /// With a number of threads; 0: as many as there are cores.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, EngineError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("cpu-engine-{index}"))
            .build()?;
        Ok(Processor { pool: Some(Arc::new(pool)), set: InstructionSet::detect() })
    }

    /// With the threads of whoever calls the engine: of one of many systems, the thread that has it.
    pub fn of_caller() -> Self {
        Processor { pool: None, set: InstructionSet::detect() }
    }

    /// Runs work on the threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    pub fn instruction_set(&self) -> InstructionSet {
        self.set
    }

    pub fn report(&self) -> ProcessorReport {
        ProcessorReport {
            processor: processor(),
            threads: self.pool.as_ref().map_or(1, |pool| pool.current_num_threads()),
            instructions: self.set.name(),
        }
    }
}
