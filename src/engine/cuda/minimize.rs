//! Minima of the potential energy ([`crate::engine::minimizer`]) on the GPU.
//!
//! The copy of the state lies in an engine of its own, in 64-bit floats; `kernels/minimize/descend.cu` does the
//! iterations and takes their decisions, many a launch. Threads per particle are those of one kind of GPU, so that
//! a minimum depends neither on the GPU nor on the number of its blocks.
//! Runs beside the engine of the run, on the same stream: launches of both take turns.
use std::ffi::c_void;

use super::buffers::{Control, status};
use super::compile::Program;
use super::device::Gpu;
use super::engine::CudaEngine;
use super::launch::{Kernels, program_of};
use super::memory::{Buffer, Plain};
use super::thermostat::{Geometry, Kind};
use super::tuning::default_lanes_log2;
use crate::engine::minimizer::{CancelToken, Descent, InherentStructure, Minimizer};
use crate::engine::precision::{Double, Policy};
use crate::engine::{Engine, EngineError, ExactState};
use crate::integrator::fire;
use crate::plan::{InherentStructuresPlan, Plan};
use crate::system::Snapshot;

/// A minimiser on a GPU.
pub struct CudaMinimizer {
    descent: Descent,
    gpu: Gpu,
    /// Made for the first configuration.
    on_gpu: Option<OnGpu>,
}

struct OnGpu {
    engine: CudaEngine<Double>,
    kernels: Kernels,
    progress: Buffer,
    fastest2: Buffer,
    of_tile: Buffer,
    of_group: Buffer,
}

/// Mirrors `Descent` in `kernels/minimize/descend.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DescentArgument {
    force_tolerance: f64,
    inertia: f64,
    furthest: f64,
    most: u64,
    pause: u64,
    rebuild: u32,
    unused: u32,
}

/// Mirrors `Progress`, with `Fire` of `kernels/minimize/fire.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    first_timestep: f64,
    timestep: f64,
    mixing: f64,
    downhill: u64,
    iterations: u64,
    moved_for: f64,
    residual_force: f64,
    end: u32,
    unused: u32,
}

// SAFETY: integers and floats, `unused` fills the only gap.
unsafe impl Plain for Progress {}

/// Values of `End`.
const NOT_ENDED: u32 = 0;
const DONE: u32 = 1;

/// Bytes of `Sums`.
const SUMS_BYTES: usize = 32;
/// Mirrors `SUMMED_TILES`.
const SUMMED_TILES: usize = 1024;
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
    let policy = Double::new(&system.simulation_box, plan.run.timestep, &system.species);
    let text = include_str!("../../../kernels/minimize/descend.cu");
    program_of("descend.cu", text, &policy, plan)
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
                on_gpu.engine.step = state.step;
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
}

impl OnGpu {
    fn new(descent: &Descent, state: &ExactState, gpu: &Gpu) -> Result<Self, EngineError> {
        let plan = &descent.plan;
        let engine = CudaEngine::<Double>::new(plan, state, gpu.clone())?;
        let session = engine.session.clone();
        let kernels = Kernels::load_program(&session, program_over(plan), &engine.policy, plan)?;
        let tiles = engine.particle_count().div_ceil(32 >> engine.shape.lanes_log2);
        Ok(OnGpu {
            kernels,
            progress: Buffer::new(&session, size_of::<Progress>())?,
            fastest2: Buffer::new(&session, 16)?,
            of_tile: Buffer::new(&session, tiles * SUMS_BYTES)?,
            of_group: Buffer::new(&session, tiles.div_ceil(SUMMED_TILES) * SUMS_BYTES)?,
            engine,
        })
    }

    /// Brings the particles that the engine holds to a minimum.
    fn descend(&mut self, descent: &Descent) -> Result<InherentStructure, EngineError> {
        let settings = &descent.settings;
        let start = Progress {
            first_timestep: settings.timestep,
            timestep: settings.timestep,
            mixing: fire::MIXING,
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
            match self.engine.control.status {
                status::DONE if progress.end == NOT_ENDED => {
                    argument.pause = progress.iterations + part;
                }
                status::DONE => break progress,
                status::LISTS_FULL => {
                    self.engine.grow_lists()?;
                    argument.rebuild = 1;
                }
                _ => return Err(self.engine.error()),
            }
        };
        if progress.end != DONE {
            let forces = self.engine.forces()?;
            let wild = |force: &[f64; 3]| !force.iter().map(|f| f * f).sum::<f64>().is_finite();
            let particle = forces.iter().position(wild).unwrap_or(0) as u32;
            let step = self.engine.step;
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
        snapshot.velocity.fill([0.0; 3]);
        let Progress { residual_force, iterations, .. } = progress;
        Ok(InherentStructure { snapshot, energy, pressure, residual_force, iterations })
    }

    fn launch(&mut self, descent: &DescentArgument) -> Result<Progress, EngineError> {
        let engine = &mut self.engine;
        engine.control.barrier = [0; 2];
        engine.control.status = status::DONE;
        engine.control.list_need = 0;
        engine.buffers.control.write(&[engine.control])?;
        self.kernels.set("system", engine.system.bytes())?;
        let kernel = self.kernels.kernel("descend")?;
        let Geometry { blocks, threads, .. } = engine.geometry(Kind::None);
        let pointers = [&self.progress, &self.fastest2, &self.of_tile, &self.of_group]
            .map(|buffer| buffer.pointer());
        let mut arguments = vec![(&raw const *descent).cast::<c_void>()];
        arguments.extend(pointers.iter().map(|pointer| (&raw const *pointer).cast::<c_void>()));
        // SAFETY: the arguments are those of the kernel; the buffers have room for all tiles.
        unsafe { self.kernels.launch(kernel, blocks, threads, true, &arguments)? };
        engine.control = engine.buffers.control.read::<Control>(1)?[0];
        Ok(self.progress.read::<Progress>(1)?[0])
    }
}
