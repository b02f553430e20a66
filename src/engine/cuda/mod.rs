//! The CUDA engine: kernels compiled at start for the card and for this run.
pub mod arithmetic;
mod buffers;
pub mod compile;
pub mod constants;
mod copied;
mod correlator;
pub mod device;
mod engine;
mod export;
mod launch;
pub mod library;
mod lists;
mod memory;
mod minimize;
mod rank;
pub mod sources;
mod streams;
mod thermo;
mod thermostat;
mod transfer;
mod tuning;

use std::sync::Arc;

use crate::engine::domain::{Communicator, Part, RankEngine, Start};
use crate::engine::precision::Policy as _;
use crate::engine::{Engine, EngineError, ExactState, precision};
use crate::plan::{Plan, Precision};

/// Does something with the policy of a plan's precision.
macro_rules! in_precision {
    ($plan:expr, |$policy:ident| $work:expr) => {{
        let plan: &Plan = $plan;
        let system = &plan.system;
        let (simulation_box, timestep) = (&system.simulation_box, plan.run.timestep);
        match plan.run.precision {
            Precision::Single => {
                let $policy = precision::Single::new(simulation_box, timestep, &system.species);
                $work
            }
            Precision::DoubleSingle => {
                let $policy =
                    precision::DoubleSingles::new(simulation_box, timestep, &system.species);
                $work
            }
            Precision::Double => {
                let $policy = precision::Double::new(simulation_box, timestep, &system.species);
                $work
            }
            Precision::FixedPoint => {
                let $policy = precision::FixedPoint::new(simulation_box, timestep, &system.species);
                $work
            }
        }
    }};
}

/// The CUDA engine of a plan on the first card, holding `state`.
///
/// # Errors
/// If there is no card, or the state does not fit it or the precision.
pub fn create(plan: &Plan, state: &ExactState) -> Result<Box<dyn Engine>, EngineError> {
    use self::engine::CudaEngine;
    let card = device::cards()?.swap_remove(0);
    Ok(match plan.run.precision {
        Precision::Single => Box::new(CudaEngine::<precision::Single>::new(plan, state, card)?),
        Precision::DoubleSingle => {
            Box::new(CudaEngine::<precision::DoubleSingles>::new(plan, state, card)?)
        }
        Precision::Double => Box::new(CudaEngine::<precision::Double>::new(plan, state, card)?),
        Precision::FixedPoint => {
            Box::new(CudaEngine::<precision::FixedPoint>::new(plan, state, card)?)
        }
    })
}

/// The engine of a rank of a plan on a card, holding some of the particles of a state. Collective.
///
/// # Errors
/// If a rank has no card, or its card no room; all ranks fail together.
pub fn create_on_rank(
    plan: &Plan,
    start: &Start,
    part: &Part,
    ranks: Arc<dyn Communicator>,
) -> Result<Box<dyn RankEngine>, EngineError> {
    use self::engine::CudaEngine;
    use precision::{Double, DoubleSingles, FixedPoint, Single};
    Ok(match plan.run.precision {
        Precision::Single => Box::new(CudaEngine::<Single>::on_rank(plan, start, part, ranks)?),
        Precision::DoubleSingle => {
            Box::new(CudaEngine::<DoubleSingles>::on_rank(plan, start, part, ranks)?)
        }
        Precision::Double => Box::new(CudaEngine::<Double>::on_rank(plan, start, part, ranks)?),
        Precision::FixedPoint => {
            Box::new(CudaEngine::<FixedPoint>::on_rank(plan, start, part, ranks)?)
        }
    })
}

pub use correlator::{
    centers_program, density_program, neighborhoods_program, program as correlation_program,
    structure_program,
};
pub use minimize::{CudaMinimizer, program as minimizer_program};

/// The kernels of a plan, ready to be compiled: as the engine does for its card, and as tests do for
/// cards that are not there.
pub fn program(plan: &Plan) -> compile::Program {
    in_precision!(plan, |policy| launch::program(&policy, plan))
}

/// The same of a rank among others.
pub fn domain_program(plan: &Plan) -> compile::Program {
    in_precision!(plan, |policy| rank::program(&policy, plan))
}
