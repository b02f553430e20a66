//! Minima of the potential energy ([`crate::engine::minimizer`]) on the GPU.
//!
//! The copy of the state lies in an engine of its own, in 64-bit floats; `kernels/minimize/descend.cu` does the
//! iterations and takes their decisions, many a launch. Threads per particle are those of one kind of GPU, so that
//! a minimum depends neither on the GPU nor on the number of its blocks.
//! Runs beside the engine of the run, on the same stream: launches of both take turns.
mod many;
mod many_program;
mod slots;

pub use self::many::{ManyMinimizers, program as many_minimizers_program};
use super::buffers::status;
use super::declare::{Pointer, device_constants, device_struct, shared_header};
use super::device::Gpu;
use super::engine::CudaEngine;
use super::geometry::Geometry;
use super::launch::{Grid, Kernels, kernels};
use super::md_program::{self, md_program};
use super::memory::Buffer;
use super::program::Program;
use super::single_rank::SingleRank;
use super::thermostat::Kind;
use super::tuning::default_lanes_log2;
use crate::engine::minimizer::{CancelToken, Descent, InherentStructure, Minimizer};
use crate::engine::precision::{Double, Policy};
use crate::engine::report::Hardware;
use crate::engine::{Engine, EngineError, ExactState, skin};
use crate::integrator::fire;
use crate::plan::{InherentStructuresPlan, Plan};
use crate::system::{SimulationBox, Snapshot, species_of_particles};

/// A minimiser on a GPU.
pub struct CudaMinimizer {
    descent: Descent,
    gpu: Gpu,
    /// Made for the first configuration.
    on_gpu: Option<OnGpu>,
}

struct OnGpu {
    engine: CudaEngine<Double, SingleRank>,
    kernels: Kernels,
    descend: DescentKernels,
    progress: Buffer,
    fastest2: Buffer,
    of_tile: Buffer,
    of_group: Buffer,
}

device_struct! {
    /// What the descent goes by.
    pub struct DescentArgument {
        /// The descent ends when the force on every particle is smaller.
        force_tolerance: f64,
        /// Of all particles.
        inertia: f64,
        /// Furthest move of a particle in an iteration.
        furthest: f64,
        /// Iterations at which the descent ends in any case, and at which this launch does.
        most: u64,
        pause: u64,
        /// Build the lists first.
        rebuild: u32,
        unused: u32,
    }
}

device_struct! {
    /// Time step and mixing of a descent by FIRE.
    pub struct Fire {
        first_timestep: f64,
        timestep: f64,
        mixing: f64,
        /// Iterations with positive power in a row.
        downhill: u64,
        iterations: u64,
    }
}

device_constants! {
    /// Why a launch ended.
    mod end: u32 {
        /// Not: or to be continued, where the launch has ended.
        NOT_ENDED = 0, as END_NOT;
        DONE = 1, as END_DONE;
        /// A force is NaN.
        NOT_FINITE = 2;
    }
}

device_struct! {
    /// What lasts from launch to launch.
    pub struct Progress {
        fire: Fire,
        /// Time of the last move.
        moved_for: f64,
        /// Largest force on a particle.
        residual_force: f64,
        end: u32,
        unused: u32,
    }
}

device_struct! {
    /// Sums over particles, and the largest squared force.
    struct DescentSums {
        /// F . v
        power: f64,
        force2: f64,
        velocity2: f64,
        largest2: f64,
    }
}

device_constants! {
    /// Tiles whose sums are summed up by themselves.
    mod groups: u32 {
        SUMMED_TILES = 1024;
    }
}

shared_header!(pub FIRE = "shared/fire.cuh": Fire);
shared_header!(SHARED = "shared/descent.cuh":
    DescentArgument, end::Declaration, Progress, DescentSums, groups::Declaration);

kernels! {
    struct DescentKernels {
        descend(DescentArgument, Pointer<Progress>, Pointer<u64>, Pointer<DescentSums>, Pointer<DescentSums>);
    }
}

/// Multiprocessors for which the threads per particle are chosen: those of an H200.
const MULTIPROCESSORS: u32 = 132;
/// A launch takes about a quarter of a second: particles times iterations.
const LAUNCH: u64 = 200_000_000;
const MOST_ITERATIONS_OF_LAUNCH: u64 = 20_000;

/// The plan for the engine of the copy.
fn plan_on_gpu(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let lanes_log2 = default_lanes_log2(plan.system.particle_count(), MULTIPROCESSORS);
    plan.run.threads_per_particle = Some(1 << lanes_log2);
    plan.run.tune = false;
    // Nothing is sampled.
    plan.stages.clear();
    plan
}

/// The kernels of a descent for a plan, ready to be compiled.
pub fn program(plan: &Plan) -> Program {
    program_over(&plan_on_gpu(plan))
}

fn program_over(plan: &Plan) -> Program {
    let system = &plan.system;
    let policy = Double::new(&system.simulation_box, plan.run.flight(), &system.species);
    let text = include_str!("../../../kernels/minimize/descend.cu");
    let for_tilts = system.simulation_box.is_tilted();
    md_program("descend.cu", text, &policy, plan)
        .define([("TILTED", u32::from(for_tilts).to_string())])
        .include(&[FIRE, SHARED])
        .checked(&[DescentKernels::checks()])
}

impl CudaMinimizer {
    pub fn new(plan: &Plan, settings: &InherentStructuresPlan, gpu: Gpu) -> Self {
        CudaMinimizer { descent: Descent::new(&plan_on_gpu(plan), settings), gpu, on_gpu: None }
    }
}

impl Minimizer for CudaMinimizer {
    fn minimize(&mut self, snapshot: &Snapshot) -> Result<InherentStructure, EngineError> {
        let state = self.descent.at_rest(snapshot)?;
        let on_gpu = match &mut self.on_gpu {
            Some(on_gpu) => {
                on_gpu.engine.state.step = state.step;
                on_gpu.engine.load(&state, None)?;
                on_gpu
            }
            empty => empty.insert(OnGpu::new(&self.descent, &state, &self.gpu)?),
        };
        on_gpu.descend(&self.descent)
    }

    fn cancel_when(&mut self, cancel: CancelToken) {
        self.descent.cancel = Some(cancel);
    }

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        if self.descent.plan.system.simulation_box == simulation_box {
            return Ok(());
        }
        let plan = &mut self.descent.plan;
        plan.system.simulation_box = simulation_box;
        match &mut self.on_gpu {
            // With lists that are as wide as those of an engine made for this box.
            Some(on_gpu) if on_gpu.skin() == skin::on_one_gpu(plan) => on_gpu.set_box(plan),
            on_gpu => {
                *on_gpu = None;
                Ok(())
            }
        }
    }

    fn hardware(&self) -> Hardware {
        self.gpu.hardware()
    }
}

impl OnGpu {
    fn new(descent: &Descent, state: &ExactState, gpu: &Gpu) -> Result<Self, EngineError> {
        let plan = &descent.plan;
        let engine = CudaEngine::<Double, SingleRank>::new(plan, state, gpu.clone())?;
        let session = engine.device.session().clone();
        let (policy, force_field) = (engine.state.policy(), &engine.force_field);
        let kernels = md_program::load(&session, program_over(plan), policy, force_field)?;
        let tiles = engine.neighbor_list.tiles(engine.particle_count());
        Ok(OnGpu {
            descend: DescentKernels::load(&kernels)?,
            kernels,
            progress: Buffer::new(&session, size_of::<Progress>())?,
            fastest2: Buffer::new(&session, 16)?,
            of_tile: Buffer::new(&session, tiles * size_of::<DescentSums>())?,
            of_group: Buffer::new(
                &session,
                tiles.div_ceil(groups::SUMMED_TILES as usize) * size_of::<DescentSums>(),
            )?,
            engine,
        })
    }

    /// Brings the particles that the engine holds to a minimum.
    fn descend(&mut self, descent: &Descent) -> Result<InherentStructure, EngineError> {
        let settings = &descent.settings;
        let start = Progress {
            fire: Fire {
                first_timestep: settings.timestep,
                timestep: settings.timestep,
                mixing: fire::MIXING,
                ..Fire::default()
            },
            ..Progress::default()
        };
        self.progress.write(&[start])?;
        self.fastest2.write(&[0u64; 2])?;
        let part = LAUNCH / self.engine.particle_count() as u64;
        let part = part.clamp(10, MOST_ITERATIONS_OF_LAUNCH);
        let mut argument = DescentArgument {
            force_tolerance: settings.force_tolerance,
            inertia: descent.inertia,
            furthest: descent.furthest,
            most: settings.maximum_iterations,
            pause: part,
            rebuild: 0,
            unused: 0,
        };
        let progress = loop {
            descent.go_on()?;
            let progress = self.launch(&argument)?;
            argument.rebuild = 0;
            match self.engine.state.control.status {
                status::DONE if progress.end == end::NOT_ENDED => {
                    argument.pause = progress.fire.iterations + part;
                }
                status::DONE => break progress,
                status::LISTS_FULL => {
                    self.engine.lengthen_lists()?;
                    argument.rebuild = 1;
                }
                _ => return Err(self.engine.error()),
            }
        };
        if progress.end != end::DONE {
            let forces = self.engine.forces()?;
            let wild = |force: &[f64; 3]| !force.iter().map(|f| f * f).sum::<f64>().is_finite();
            let particle = forces.iter().position(wild).unwrap_or(0) as u32;
            let step = self.engine.state.step;
            return Err(EngineError::OutOfRange { step, quantity: "the force", particle });
        }
        let measured = self.engine.measure()?;
        let energy = measured.potential_energy;
        // Less that of the velocities of the descent.
        let system = &descent.plan.system;
        let simulation_box = &system.simulation_box;
        let density = system.particle_count() as f64 / simulation_box.volume();
        let motion = 2.0 * measured.kinetic_energy / simulation_box.dimension() as f64;
        let pressure = measured.pressure - density * motion;
        let mut snapshot = self.engine.read_snapshot()?;
        let mut stress = measured.stress;
        let species_of = species_of_particles(&system.species);
        for (velocity, species) in snapshot.velocity.iter().zip(species_of) {
            let share = system.species[usize::from(species)].mass / simulation_box.volume();
            for (row, v) in stress.iter_mut().zip(velocity) {
                row.iter_mut().zip(velocity).for_each(|(number, w)| *number += share * v * w);
            }
        }
        snapshot.velocity.fill([0.0; 3]);
        let Progress { residual_force, fire: Fire { iterations, .. }, .. } = progress;
        Ok(InherentStructure { snapshot, energy, pressure, stress, residual_force, iterations })
    }

    /// Of the neighbor lists.
    fn skin(&self) -> f64 {
        self.engine.neighbor_list.shape().skin
    }

    /// Has the particles that come in another box.
    fn set_box(&mut self, plan: &Plan) -> Result<(), EngineError> {
        let before = program_over(&self.engine.plan);
        self.engine.set_box(plan.system.simulation_box)?;
        let (policy, force_field) = (self.engine.state.policy(), &self.engine.force_field);
        let program = program_over(plan);
        if program == before {
            return md_program::set_constants(&self.kernels, policy, force_field);
        }
        let session = self.engine.device.session().clone();
        self.kernels = md_program::load(&session, program, policy, force_field)?;
        self.descend = DescentKernels::load(&self.kernels)?;
        Ok(())
    }

    fn launch(&mut self, descent: &DescentArgument) -> Result<Progress, EngineError> {
        let engine = &mut self.engine;
        engine.state.write_control()?;
        self.kernels.set("system", &engine.system())?;
        let Geometry { blocks, threads, .. } = engine.geometry(Kind::None);
        let arguments = (
            *descent,
            self.progress.pointer(),
            self.fastest2.pointer(),
            self.of_tile.pointer(),
            self.of_group.pointer(),
        );
        self.kernels.launch(self.descend.descend, Grid::cooperative(blocks, threads), arguments)?;
        engine.state.control = engine.state.read_control()?;
        Ok(self.progress.read::<Progress>(1)?[0])
    }
}
