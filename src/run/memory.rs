//! Memory of this machine, and whether a run on its cores fits into it.
use miette::Diagnostic;
use thiserror::Error;

use crate::config::{bytes, memory};
use crate::engine::domain::Ranks;
use crate::engine::is_on_cpu;
use crate::plan::Plan;

/// More memory is needed than there is.
#[derive(Debug, Error, Diagnostic)]
#[error(
    "{particles} particles need about {} of memory on the CPU; this machine has {}",
    bytes(*need), bytes(*size)
)]
#[diagnostic(help(
    "take fewer particles, a shorter cutoff, smaller blocks of correlations, or ranks on several machines"
))]
pub struct Shortage {
    particles: usize,
    need: f64,
    size: f64,
}

/// By how much the need is overestimated at most.
const CERTAIN: f64 = 1.5;

/// Bytes of memory, as Linux gives them.
pub fn of_this_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// What is missing for a run of `plan`, if the CPU takes its steps.
pub fn shortage(plan: &Plan) -> Option<Shortage> {
    let (need, size) = (memory(plan).total(), of_this_machine()? as f64);
    let particles = plan.particles_of_all();
    (need > size && is_on_cpu(plan.run.engine)).then_some(Shortage { particles, need, size })
}

/// Refuses a run that cannot fit, and warns of one that may not. Of several ranks it is not known how they share machines.
///
/// # Errors
/// With what it needs and what there is.
pub fn check(plan: &Plan, ranks: &Ranks) -> Result<(), Shortage> {
    let of_plan = memory(plan);
    if of_this_machine().is_some_and(|size| of_plan.of_checkpoint() > size as f64) {
        tracing::warn!(
            "checkpoints hold the samples of correlations, {} in all; making one takes up to {} of memory, more than this \
             machine has: take smaller blocks, fewer levels, or fewer particles",
            bytes(of_plan.checkpoint),
            bytes(of_plan.of_checkpoint())
        );
    }
    let Some(shortage) = shortage(plan).filter(|_| ranks.count() == 1) else { return Ok(()) };
    if shortage.need > CERTAIN * shortage.size {
        return Err(shortage);
    }
    tracing::warn!("{shortage}");
    Ok(())
}
