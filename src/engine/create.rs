//! The engine of a plan: which one, and on how many ranks.
use super::{Engine, EngineError, ExactState, cpu, cuda, domain, precision};
use crate::plan::{EngineChoice, Plan, Precision, RunPlan};

/// Whether the CPU takes the steps of a plan.
pub fn is_on_cpu(choice: EngineChoice) -> bool {
    match choice {
        EngineChoice::Cpu => true,
        EngineChoice::Auto => cuda::device::gpus().is_err(),
        EngineChoice::Cuda => false,
    }
}

/// The engine of a plan on some ranks, holding `state`.
///
/// # Errors
/// As [`create`]; and if the box is too small for this number of ranks.
pub fn create_on(
    ranks: &domain::Ranks,
    plan: &Plan,
    state: &ExactState,
) -> Result<Box<dyn Engine>, EngineError> {
    let precision = plan.run.precision;
    match ranks.count() {
        1 => create(plan, state),
        ranks if plan.integrity.is_some() && precision != Precision::FixedPoint => {
            Err(EngineError::RecheckOnRanks { ranks, precision: precision.name() })
        }
        _ => {
            // All ranks take the engine that this one has found.
            let on_cpu = is_on_cpu(plan.run.engine);
            let engine = if on_cpu { EngineChoice::Cpu } else { EngineChoice::Cuda };
            let plan = Plan { run: RunPlan { engine, ..plan.run.clone() }, ..plan.clone() };
            Ok(Box::new(domain::DomainEngine::new(&plan, state, ranks)?))
        }
    }
}

/// The engine of a plan, holding `state`.
///
/// # Errors
/// If the plan asks for an engine that is not there, or the state does not fit the precision.
pub fn create(plan: &Plan, state: &ExactState) -> Result<Box<dyn Engine>, EngineError> {
    if !is_on_cpu(plan.run.engine) {
        return cuda::create(plan, state);
    }
    Ok(match plan.run.precision {
        Precision::Single => Box::new(cpu::CpuEngine::<precision::Single>::new(plan, state)?),
        Precision::DoubleSingle => {
            Box::new(cpu::CpuEngine::<precision::DoubleSingles>::new(plan, state)?)
        }
        Precision::Double => Box::new(cpu::CpuEngine::<precision::Double>::new(plan, state)?),
        Precision::FixedPoint => {
            Box::new(cpu::CpuEngine::<precision::FixedPoint>::new(plan, state)?)
        }
    })
}
