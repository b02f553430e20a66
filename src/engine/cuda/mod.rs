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
pub mod sources;
mod thermo;
mod thermostat;
mod transfer;
mod tuning;

use crate::engine::{Engine, EngineError, ExactState, precision};
use crate::plan::{Plan, Precision};

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

pub use correlator::{
    centers_program, density_program, neighborhoods_program, program as correlation_program,
    structure_program,
};
pub use minimize::{CudaMinimizer, program as minimizer_program};

/// The kernels of a plan, ready to be compiled: as the engine does for its card, and as tests do for
/// cards that are not there.
pub fn program(plan: &Plan) -> compile::Program {
    fn of<P: constants::DevicePolicy>(plan: &Plan) -> compile::Program {
        let system = &plan.system;
        launch::program(&P::new(&system.simulation_box, plan.run.timestep, &system.species), plan)
    }
    match plan.run.precision {
        Precision::Single => of::<precision::Single>(plan),
        Precision::DoubleSingle => of::<precision::DoubleSingles>(plan),
        Precision::Double => of::<precision::Double>(plan),
        Precision::FixedPoint => of::<precision::FixedPoint>(plan),
    }
}
