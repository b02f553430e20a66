//! The kernel of descents side by side (`kernels/minimize/descend_many.cu`), and what host and kernel share.
use super::{DescentArgument, FIRE, Progress, SHARED as DESCENT};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::System;
use crate::engine::cuda::declare::{
    Const, Pointer, PolicyConstants, device_constants, device_struct, shared_header,
};
use crate::engine::cuda::device::Gpu;
use crate::engine::cuda::launch::kernels;
use crate::engine::cuda::md_program::md_program;
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::program::Program;
use crate::engine::precision::{Double, Policy};
use crate::plan::Plan;

device_struct! {
    /// What all descents go by.
    pub struct DescentsOfMany {
        pub descent: DescentArgument,
        /// First time step and mixing.
        pub timestep: f64,
        pub mixing: f64,
        /// First id of each species, and the number of particles.
        pub first_of_species: Pointer<Const<u32>>,
        /// Time after which a launch pauses.
        pub nanoseconds: u64,
    }
}

device_constants! {
    /// What a block does first.
    pub mod turn: u32 {
        /// Takes a configuration.
        BEGINS = 0, as TURN_BEGINS;
        /// Goes on with the lists that are there, or searches for them anew at the sites of the last search.
        GOES_ON = 1, as TURN_GOES_ON;
        SEARCHES = 2, as TURN_SEARCHES;
    }
}

device_struct! {
    /// The system of a block.
    pub struct DescentTurn {
        pub slot: u32,
        pub how: u32,
        /// Of the configuration that it takes.
        pub entry: u32,
        pub unused: u32,
        /// Of its box.
        pub tilt: f64,
    }
}

device_struct! {
    /// Configurations that come and go, by entry, particle and axis.
    pub struct Configurations {
        pub position: Pointer<Const<f64>>,
        pub image: Pointer<Const<i32>>,
        pub diameter: Pointer<Const<f64>>,
        pub found_position: Pointer<f64>,
        pub found_image: Pointer<i32>,
    }
}

device_constants! {
    /// The energy, and six components of the virial.
    mod energy_sums: i32 {
        ENERGY_SUMS = 7;
    }
}
pub const ENERGY_SUMS: usize = energy_sums::ENERGY_SUMS as usize;

device_struct! {
    /// How a block has left its system.
    pub struct DescentOutcome {
        pub progress: Progress,
        /// In a minimum: `2 U`, and `r_a F_b` summed over all pairs in both orders for ab = xx, yy, zz, xy, xz, yz.
        pub energy: [f64; ENERGY_SUMS],
        pub status: u32,
        pub list_need: u32,
        /// Id of the particle that an error is about.
        pub culprit: u32,
        /// Of the configuration that it has given, unless the descent is to go on.
        pub entry: u32,
    }
}

device_struct! {
    /// Of a launch: when it has begun, and how many configurations were given.
    pub struct LaunchNotes {
        begin: u64,
        given: u32,
        unused: u32,
    }
}

shared_header!(SHARED = "shared/descents_of_many.cuh": DescentsOfMany, turn::Declaration, DescentTurn,
    Configurations, energy_sums::Declaration, DescentOutcome, LaunchNotes);

kernels! {
    pub struct ManyKernels {
        descend_many(DescentsOfMany, Pointer<Const<DescentTurn>>, Pointer<Const<System>>,
            Pointer<Const<PolicyConstants>>, Configurations, Pointer<DescentOutcome>, Pointer<LaunchNotes>);
    }
}

/// Most particles of systems that have a block each.
pub const MOST_PARTICLES: usize = 4096;
/// Shared memory of a block beside sites and sums.
const SHARED_BYTES: usize = 4 << 10;
/// Threads of a block, and blocks that a multiprocessor has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub threads: u32,
    pub of_multiprocessor: u32,
}

impl Blocks {
    /// Where several systems share a multiprocessor, the passes of one fill the barriers of another.
    pub fn new(systems: usize, multiprocessors: u32) -> Self {
        match systems > multiprocessors as usize {
            true => Blocks { threads: 256, of_multiprocessor: 3 },
            false => Blocks { threads: 512, of_multiprocessor: 1 },
        }
    }
}

/// log2 of the threads of a particle: the fewer particles, the more, whatever the GPU and the number of systems.
pub fn lanes_log2(particles: usize) -> u32 {
    (1024 / particles.max(1)).clamp(1, 8).ilog2()
}

/// Words of a site in shared memory: an odd number, so that those of a warp lie in different banks.
fn staged_stride(plan: &Plan) -> usize {
    let diameter = usize::from(plan.potential.diameters.is_some());
    (plan.system.simulation_box.dimension() + diameter) | 1
}

fn tiles(particles: usize) -> usize {
    particles.div_ceil(32 >> lanes_log2(particles))
}

/// Shared memory for the sites, and for the sums of tiles.
pub fn shared_bytes(plan: &Plan) -> usize {
    let particles = plan.system.particle_count();
    8 * (particles * staged_stride(plan) + tiles(particles) * ENERGY_SUMS)
}

/// Whether systems of a plan have room for a block each.
pub fn is_room(plan: &Plan, gpu: &Gpu) -> Result<bool, EngineError> {
    let room = Session::open(gpu.clone())?.shared_memory()?;
    let particles = plan.system.particle_count();
    Ok(particles <= MOST_PARTICLES && shared_bytes(plan) + SHARED_BYTES <= room)
}

/// The kernel of descents side by side; `for_tilts`: in boxes that may have a tilt.
pub fn program(plan: &Plan, blocks: Blocks, for_tilts: bool) -> Program {
    let system = &plan.system;
    let policy = Double::new(&system.simulation_box, plan.run.flight(), &system.species);
    let text = include_str!("../../../../kernels/minimize/descend_many.cu");
    md_program("descend_many.cu", text, &policy, plan)
        .include(&[FIRE, DESCENT, SHARED])
        .define([
            ("OWN_BOXES", "1".to_owned()),
            ("TILTED", u32::from(for_tilts).to_string()),
            ("CUBIC", "0".to_owned()),
            ("SATURATING", "0".to_owned()),
            ("STAGED_COPIES", "1".to_owned()),
            ("STAGED_STRIDE", staged_stride(plan).to_string()),
            ("SHORT_ENTRIES", "1".to_owned()),
            ("DESCENT_THREADS", blocks.threads.to_string()),
            ("DESCENT_BLOCKS", blocks.of_multiprocessor.to_string()),
        ])
        .checked(&[ManyKernels::checks()])
}
