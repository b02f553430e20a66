//! Threads that a run asks for, beside those of this machine.
use std::fmt;

use crate::engine::is_on_cpu;
use crate::plan::Plan;

/// More threads are asked for than run at once: the steps are the same, and slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    asked: usize,
    available: usize,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess { asked, available } = self;
        write!(
            f,
            "run.threads = {asked}, but this process has {available} cores: threads that wait for each other's core are \
             slower than one thread a core; leave the key out, or give {available} or fewer"
        )
    }
}

/// The threads of a plan beyond the cores that this process may use; `None` where there are none, or it is not known, or
/// a GPU takes the steps.
pub fn excess(plan: &Plan) -> Option<Excess> {
    let excess = beyond(plan.run.threads?, std::thread::available_parallelism().ok()?.get());
    excess.filter(|_| is_on_cpu(plan.run.engine))
}

fn beyond(asked: usize, available: usize) -> Option<Excess> {
    (asked > available).then_some(Excess { asked, available })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_threads_than_cores_are_reported() {
        assert_eq!(beyond(2, 2), None);
        assert_eq!(beyond(1, 2), None);
        let text = beyond(64, 2).expect("62 threads have no core").to_string();
        assert!(text.contains("run.threads = 64") && text.contains("2 cores"), "{text}");
    }
}
