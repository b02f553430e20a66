//! What takes the steps of systems: in a process that is alone, or on a rank.
use crate::engine::cuda::device::{Gpu, gpus};
use crate::engine::domain::Communicator;
use crate::engine::ensemble::parts;
use crate::engine::{EngineError, cpu, is_on_cpu};
use crate::plan::Plan;

/// Threads, or GPUs, that share systems.
pub enum Machine {
    Threads(usize),
    /// At least one.
    Gpus(Vec<Gpu>),
}

impl Machine {
    /// All threads that the plan names, or the process may have; or all GPUs.
    ///
    /// # Errors
    /// If there is no GPU, and the plan asks for one.
    pub fn of_process(plan: &Plan) -> Result<Self, EngineError> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match is_on_cpu(plan.run.engine) {
            true => Ok(Machine::Threads(plan.run.threads.unwrap_or_else(cores))),
            false => Ok(Machine::Gpus(gpus()?)),
        }
    }

    /// Those of a rank among others of its host. Collective.
    ///
    /// # Errors
    /// As [`of_process`](Self::of_process).
    pub fn of_rank(plan: &Plan, communicator: &dyn Communicator) -> Result<Self, EngineError> {
        if is_on_cpu(plan.run.engine) {
            let share = || cpu::threads_of_rank(communicator);
            return Ok(Machine::Threads(plan.run.threads.unwrap_or_else(share)));
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let (before, ranks) = communicator.place_among(&host);
        Ok(Machine::Gpus(of_ranks(gpus()?, before, ranks)))
    }
}

/// Of the GPUs of a host those of one of its ranks: equal parts, or one that several ranks take in turn.
fn of_ranks<G: Clone>(gpus: Vec<G>, rank: usize, ranks: usize) -> Vec<G> {
    match parts(gpus.len(), ranks).get(rank) {
        Some(part) if ranks <= gpus.len() => gpus[part.clone()].to_vec(),
        _ => vec![gpus[rank % gpus.len()].clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::of_ranks;

    #[test]
    fn the_ranks_of_a_host_take_all_its_gpus() {
        let shared = |gpus: usize, ranks: usize| -> Vec<Vec<usize>> {
            (0..ranks).map(|rank| of_ranks((0..gpus).collect(), rank, ranks)).collect()
        };
        assert_eq!(shared(4, 2), [[0, 1], [2, 3]]);
        assert_eq!(shared(3, 2), [vec![0], vec![1, 2]]);
        assert_eq!(shared(2, 5), [[0], [1], [0], [1], [0]]);
        assert_eq!(shared(2, 2), [[0], [1]]);
    }
}
