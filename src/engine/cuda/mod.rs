//! The CUDA engine: kernels compiled at start for the GPU and for this run.
mod advance;
pub mod arithmetic;
mod box_constants;
mod buffers;
pub mod compile;
pub mod constants;
mod correlator;
mod declare;
pub mod device;
mod engine;
mod export;
mod force_field;
mod geometry;
mod input_buffer;
mod launch;
mod layout;
pub mod library;
mod mailbox;
mod many_systems;
mod md_program;
mod measure;
mod members;
mod memory;
mod minimize;
mod neighbor_lists;
mod page_locked;
mod particle_buffers;
mod piston;
mod piston_of_many;
pub mod program;
mod rank;
mod raw_state;
mod run_device;
mod samples;
mod samples_of_many;
mod shear;
mod single_rank;
pub mod sources;
mod state;
mod stepper;
mod streams;
mod swaps;
mod thermostat;
mod transfer;
mod tuning;
mod uploads;
mod velocities;
mod volumes;
mod volumes_of_many;

use std::sync::Arc;

use self::buffers::ElementSizes;
use self::engine::CudaEngine;
use self::many_systems::ManySystems;
use self::members::Sharing;
use self::program::Program;
use self::rank::MultiRank;
use self::single_rank::SingleRank;
use crate::engine::domain::{Communicator, Part, RankEngine, Start};
use crate::engine::ensemble::Ensemble;
use crate::engine::precision::{Policy, in_precision};
use crate::engine::{Engine, EngineError, ExactState};
use crate::plan::Plan;

/// The CUDA engine of a plan on the first GPU, holding `state`.
///
/// # Errors
/// If there is no GPU, or the state does not fit it or the precision.
pub fn create(plan: &Plan, state: &ExactState) -> Result<Box<dyn Engine>, EngineError> {
    let gpu = device::gpus()?.swap_remove(0);
    Ok(in_precision!(plan.run.precision, |P| Box::new(CudaEngine::<P, SingleRank>::new(
        plan, state, gpu
    )?)))
}

/// Systems of a plan from the number `first` on, on some GPUs, holding their states.
///
/// # Errors
/// As [`create`].
pub fn create_many(
    plan: &Plan,
    first: usize,
    states: &[ExactState],
    gpus: Vec<device::Gpu>,
) -> Result<Box<dyn Ensemble>, EngineError> {
    Ok(in_precision!(plan.run.precision, |P| Box::new(ManySystems::<P>::new(
        plan, first, states, gpus
    )?)))
}

/// The engine of a rank of a plan on a GPU, holding some of the particles of a state. Collective.
///
/// # Errors
/// If a rank has no GPU, or its GPU no room; all ranks fail together.
pub fn create_on_rank(
    plan: &Plan,
    start: &Start,
    part: &Part,
    ranks: Arc<dyn Communicator>,
) -> Result<Box<dyn RankEngine>, EngineError> {
    Ok(in_precision!(plan.run.precision, |P| {
        Box::new(CudaEngine::<P, MultiRank>::on_rank(plan, start, part, ranks)?)
    }))
}

pub use correlator::{
    centers_program, density_program, neighborhoods_program, program as correlation_program,
    structure_program,
};
pub use minimize::{
    CudaMinimizer, FIRE as FIRE_HEADER, ManyMinimizers, many_minimizers_program,
    program as minimizer_program,
};

pub use single_rank::{MOST_TAGGED, staged_bytes};

/// The kernels of a plan, ready to be compiled: as the engine does for its GPU, and as tests do for
/// GPUs that are not there.
pub fn program(plan: &Plan) -> Program {
    in_precision!(plan.run.precision, |P| single_rank::program(
        &policy::<P>(plan),
        plan,
        plan.may_tilt()
    ))
}

/// The same of many systems on a GPU with a number of multiprocessors, each with this many bytes of shared memory.
pub fn members_program(
    plan: &Plan,
    systems: usize,
    multiprocessors: u32,
    shared_bytes: usize,
) -> Program {
    let system = &plan.system;
    let (particles, dimension) = (system.particle_count(), system.simulation_box.dimension());
    let site_bytes =
        ElementSizes::new(plan.run.precision, dimension, plan.potential.diameters.is_some())
            .site_bytes();
    let is_cubic = members::stay_cubic(plan, &system.simulation_box);
    let sharing =
        Sharing::new(systems, particles, multiprocessors, shared_bytes, site_bytes, is_cubic);
    in_precision!(plan.run.precision, |P| members::program(&policy::<P>(plan), plan, sharing))
}

/// The same of a rank among others.
pub fn domain_program(plan: &Plan) -> Program {
    in_precision!(plan.run.precision, |P| rank::program(
        &policy::<P>(plan),
        plan,
        plan.may_tilt(),
        plan.pistons()
    ))
}

fn policy<P: Policy>(plan: &Plan) -> P {
    P::new(&plan.system.simulation_box, plan.run.flight(), &plan.system.species)
}
