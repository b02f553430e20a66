//! The CUDA engine: all particles stay on the GPU; a launch takes many steps.
use std::cell::OnceCell;
use std::sync::Arc;

use super::buffers::{
    Buffers, Capacity, Control, ElementSizes, LONGEST_CHAIN, ListBuffers, MOST_BLOCKS, System,
    status,
};
use super::constants::DevicePolicy;
use super::launch::Kernels;
use super::md_program;
use super::measure::MeasureKernels;
use super::memory::Session;
use super::neighbor_lists::{self, ListShape};
use super::program::Program;
use super::stepper::Stepper;
use super::thermostat::{Geometry, Kind, single_lane_pays};
use super::transfer::Transfer;
use super::tuning;
use crate::arithmetic::random::Purpose;
use crate::engine::domain::Start;
use crate::engine::report::{EngineReport, Execution, LaunchReport};
use crate::engine::thermostats::draw_velocities;
use crate::engine::{EngineError, StageContext};
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::{SimulationBox, Species};

/// Particles on one GPU, in one precision: all of a system ([`SingleRank`](super::single_rank::SingleRank)), or those of a
/// rank's domain ([`MultiRank`](super::rank::MultiRank)).
pub struct CudaEngine<P: DevicePolicy, S> {
    pub(super) policy: P,
    pub(super) plan: Plan,
    pub(super) simulation_box: SimulationBox,
    pub(super) species: Vec<Species>,
    pub(super) session: Arc<Session>,
    pub(super) kernels: Kernels,
    pub(super) measure_kernels: MeasureKernels,
    pub(super) element_sizes: ElementSizes,
    pub(super) capacity: Capacity,
    /// Who takes the steps. Before the buffers, which what it holds may copy from.
    pub(super) stepper: S,
    /// Made for the first copy; `None` inside where the GPU has no room for it. Before the buffers: it
    /// waits for copies out of them when it is dropped.
    pub(super) transfer: OnceCell<Option<Transfer>>,
    pub(super) buffers: Buffers,
    /// `None` only while others are made.
    pub(super) lists: Option<ListBuffers>,
    pub(super) shape: ListShape,
    pub(super) system: System,
    pub(super) control: Control,

    pub(super) step: u64,
    pub(super) stage: StageContext,
    pub(super) thermostat: ThermostatState,
}

impl<P: DevicePolicy> CudaEngine<P, ()> {
    /// An engine with memory and kernels for particles that are still to be loaded, and without anyone to take steps; as many
    /// particles as it has room for.
    pub(super) fn empty(
        plan: &Plan,
        start: Start,
        session: Arc<Session>,
        program: fn(&P, &Plan) -> Program,
        shape: ListShape,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let simulation_box = start.simulation_box;
        let species = plan.system.species.clone();
        let policy = P::new(&simulation_box, plan.run.timestep, &species);
        let element_sizes = ElementSizes::new(P::PRECISION, simulation_box.dimension());
        let places = capacity.particles + capacity.ghosts;
        tuning::check_memory(&session, places, species.len(), element_sizes, shape)?;
        let kernels = md_program::load(&session, program(&policy, plan), &policy, plan)?;
        let masses: Vec<f64> = species.iter().map(|species| species.mass).collect();
        let buffers = Buffers::new(&session, capacity, element_sizes, &masses)?;
        let mut system = System::default();
        system.count = capacity.particles as u32;
        buffers.describe(&mut system);
        let lists = neighbor_lists::allocate::<P>(
            &session,
            plan,
            &simulation_box,
            shape,
            capacity.particles,
            &mut system,
        )?;
        kernels.set("system", &system)?;
        Ok(CudaEngine {
            policy,
            plan: plan.clone(),
            simulation_box,
            species,
            session,
            measure_kernels: MeasureKernels::load(&kernels)?,
            kernels,
            element_sizes,
            capacity,
            stepper: (),
            buffers,
            lists: Some(lists),
            shape,
            system,
            control: Control::default(),
            transfer: OnceCell::new(),
            step: start.step,
            stage: StageContext::none(start.step),
            thermostat: start.thermostat,
        })
    }

    /// The same with somebody to take its steps.
    pub(super) fn with<S>(self, stepper: S) -> CudaEngine<P, S> {
        CudaEngine {
            policy: self.policy,
            plan: self.plan,
            simulation_box: self.simulation_box,
            species: self.species,
            session: self.session,
            kernels: self.kernels,
            measure_kernels: self.measure_kernels,
            element_sizes: self.element_sizes,
            capacity: self.capacity,
            stepper,
            transfer: self.transfer,
            buffers: self.buffers,
            lists: self.lists,
            shape: self.shape,
            system: self.system,
            control: self.control,
            step: self.step,
            stage: self.stage,
            thermostat: self.thermostat,
        }
    }
}

impl<P: DevicePolicy, S> CudaEngine<P, S> {
    /// Particles of the whole system.
    pub(super) fn particle_count(&self) -> usize {
        self.plan.system.particle_count()
    }

    /// Particles on this GPU.
    pub(super) fn own_count(&self) -> usize {
        self.system.count as usize
    }

    /// Gives the GPU what the thermostat remembers, for a launch.
    ///
    /// # Errors
    /// If its chain is too long.
    pub(super) fn lend_thermostat(&mut self) -> Result<(), EngineError> {
        let memory = &self.thermostat;
        let length = memory.chain_position.len();
        if length > LONGEST_CHAIN {
            return Err(EngineError::Cuda {
                what: "hold the thermostat".into(),
                message: format!("chain_length is at most {LONGEST_CHAIN} with this engine"),
            });
        }
        let control = &mut self.control;
        control.barrier = [0; 2];
        control.status = status::DONE;
        control.list_need = 0;
        control.sums = Default::default();
        control.heat = memory.heat;
        control.chain_position[..length].copy_from_slice(&memory.chain_position);
        control.chain_velocity[..length].copy_from_slice(&memory.chain_velocity);
        self.buffers.control.write(&[*control])
    }

    /// Takes it back.
    pub(super) fn take_thermostat(&mut self) {
        let (control, memory) = (&self.control, &mut self.thermostat);
        memory.heat = control.heat;
        let length = memory.chain_position.len();
        memory.chain_position.copy_from_slice(&control.chain_position[..length]);
        memory.chain_velocity.copy_from_slice(&control.chain_velocity[..length]);
    }

    pub(super) fn geometry(&self, kind: Kind) -> Geometry {
        let tiles = self.own_count().div_ceil(32 >> self.shape.lanes_log2) as u32;
        let blocks = self.session.gpu.multiprocessors.min(MOST_BLOCKS as u32);
        let alone = self.shape.lanes_log2 == 0 && single_lane_pays(P::PRECISION);
        Geometry::new(kind, tiles, blocks, alone)
    }

    pub(super) fn grow_lists(&mut self) -> Result<(), EngineError> {
        tracing::debug!("lists are full at step {}: they grow", self.step);
        let need = self.control.list_need as usize;
        let shape = ListShape { capacity: need + need / 8, ..self.shape };
        self.set_shape(shape)
    }

    /// Takes other lists; the next launch must build them.
    pub(super) fn set_shape(&mut self, shape: ListShape) -> Result<(), EngineError> {
        tracing::debug!("neighbor lists: {shape:?}");
        self.shape = shape;
        // The memory of the old ones may be needed.
        self.lists = None;
        let lists = neighbor_lists::allocate::<P>(
            &self.session,
            &self.plan,
            &self.simulation_box,
            shape,
            self.capacity.particles,
            &mut self.system,
        )?;
        self.lists = Some(lists);
        self.kernels.set("system", &self.system)
    }

    /// Mean length of the lists, with what fills up their segments.
    fn mean_entries(&self) -> f64 {
        let species = self.species.len();
        let count = self.own_count();
        let ends = self.buffers.row_ends.read::<u32>(count * species).unwrap_or_default();
        let rows: u64 = ends.chunks(species).map(|ends| u64::from(ends[species - 1])).sum();
        ((rows * 4) << self.shape.lanes_log2) as f64 / count.max(1) as f64
    }

    /// Takes a number of particles as those on this GPU.
    pub(super) fn set_count(&mut self, count: u32) -> Result<(), EngineError> {
        self.system.count = count;
        self.kernels.set("system", &self.system)
    }

    /// The state of control as the host has it, for kernels between launches.
    pub(super) fn write_control(&mut self) -> Result<(), EngineError> {
        self.control.barrier = [0; 2];
        self.control.status = status::DONE;
        self.control.list_need = 0;
        self.buffers.control.write(&[self.control])
    }

    pub(super) fn enter_stage(&mut self, stage: &StageContext) {
        self.stage = stage.clone();
        self.stage.prepare(&mut self.thermostat, self.step);
    }

    pub(super) fn degrees_of_freedom(&self) -> u64 {
        self.stage.degrees_of_freedom(self.simulation_box.dimension(), self.particle_count())
    }
}

impl<P: DevicePolicy, S: Stepper> CudaEngine<P, S> {
    pub(super) fn draw_first_velocities(
        &mut self,
        temperature: f64,
        exactly: bool,
    ) -> Result<(), EngineError> {
        draw_velocities(self, temperature, exactly, Purpose::InitialVelocity)
    }

    /// What both kinds of engines report; `resources`: registers and bytes of local memory of the kernel that takes the
    /// steps.
    pub(super) fn common_report(&self, resources: (i32, i32)) -> EngineReport {
        let Geometry { blocks, threads, .. } = self.geometry(Kind::None);
        let (registers, local_bytes) = resources;
        let launch = LaunchReport {
            threads: blocks * threads,
            blocks,
            threads_per_block: threads,
            threads_per_particle: 1 << self.shape.lanes_log2,
            registers,
            local_bytes,
            device_bytes: tuning::device_bytes(
                self.own_count(),
                self.species.len(),
                self.element_sizes,
                self.shape,
            ),
        };
        let execution = Execution {
            launch: Some(launch),
            skin: self.shape.skin,
            sort_interval: 1,
            list_entries_per_particle: self.mean_entries(),
            list_capacity: Some(self.shape.capacity),
            list_rebuilds: self.control.rebuilds,
            effective_timestep: self.policy.effective_timestep(),
            ..Execution::default()
        };
        let hardware = self.session.gpu.hardware();
        EngineReport { hardware, precision: P::PRECISION, execution }
    }
}
