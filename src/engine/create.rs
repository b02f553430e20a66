//! The engine of a plan: which one, and on how many ranks.
use super::cpu::{CpuEngine, Processor};
use super::ensemble::{Engines, Ensemble, Workers};
use super::shares::{Machine, SharedSystems};
use super::{Engine, EngineError, ExactState, cuda, domain, precision};
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
        _ => Ok(Box::new(domain::DomainEngine::new(&as_found_here(plan), state, ranks)?)),
    }
}

/// The plan with the engine that this rank has found, which all others take, too.
fn as_found_here(plan: &Plan) -> Plan {
    let on_cpu = is_on_cpu(plan.run.engine);
    let engine = if on_cpu { EngineChoice::Cpu } else { EngineChoice::Cuda };
    Plan { run: RunPlan { engine, ..plan.run.clone() }, ..plan.clone() }
}

/// The engine of a plan, holding `state`.
///
/// # Errors
/// If the plan asks for an engine that is not there, or the state does not fit the precision.
pub fn create(plan: &Plan, state: &ExactState) -> Result<Box<dyn Engine>, EngineError> {
    if !is_on_cpu(plan.run.engine) {
        return cuda::create(plan, state);
    }
    on_processor(Processor::new(plan.run.threads.unwrap_or(0))?, plan, state)
}

fn on_processor(
    processor: Processor,
    plan: &Plan,
    state: &ExactState,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(match plan.run.precision {
        Precision::Single => Box::new(CpuEngine::<precision::Single>::on(processor, plan, state)?),
        Precision::DoubleSingle => {
            Box::new(CpuEngine::<precision::DoubleSingles>::on(processor, plan, state)?)
        }
        Precision::Double => Box::new(CpuEngine::<precision::Double>::on(processor, plan, state)?),
        Precision::FixedPoint => {
            Box::new(CpuEngine::<precision::FixedPoint>::on(processor, plan, state)?)
        }
    })
}

/// The systems of a plan on some ranks, holding their states.
///
/// # Errors
/// As [`create_on`]; and if there are fewer systems than ranks.
pub fn create_ensemble_on(
    ranks: &domain::Ranks,
    plan: &Plan,
    states: Vec<ExactState>,
) -> Result<Box<dyn Ensemble>, EngineError> {
    assert_eq!(states.len(), plan.systems(), "a state for each system");
    if let [state] = &states[..] {
        return Ok(Box::new(Engines::alone(create_on(ranks, &plan.of_system(0), state)?)));
    }
    if ranks.count() > 1 {
        return Ok(Box::new(SharedSystems::new(&as_found_here(plan), states, ranks)?));
    }
    create_systems(plan, 0, states, Machine::of_process(plan)?)
}

/// Systems of a plan from the number `first` on, holding these states. Outside they count from 0.
pub(super) fn create_systems(
    plan: &Plan,
    first: usize,
    mut states: Vec<ExactState>,
    machine: Machine,
) -> Result<Box<dyn Ensemble>, EngineError> {
    let threads = match machine {
        Machine::Gpus(gpus) => return cuda::create_many(plan, first, &states, gpus),
        Machine::Threads(threads) => threads,
    };
    let workers = Workers::new(threads.min(states.len()))?;
    let create = |system: usize, state: &mut ExactState| {
        on_processor(Processor::of_caller(), &plan.of_system(first + system), state)
            .map_err(|error| error.of_system(system))
    };
    let engines = workers.share(&mut states, create).into_iter().collect::<Result<_, _>>()?;
    Ok(Box::new(Engines::shared(engines, workers)))
}
