//! The CUDA engine: all particles stay on the GPU; a launch takes many steps.
use std::sync::Arc;

use super::buffers::{Capacity, ElementSizes, MOST_BLOCKS, SplitSum, System};
use super::constants::DevicePolicy;
use super::declare::Pointer;
use super::force_field::ForceField;
use super::geometry::{Geometry, Lanes, single_lane_pays};
use super::launch::{Arguments, Kernel};
use super::mailbox::Letter;
use super::memory::Session;
use super::neighbor_lists::{ListShape, ListedSystem, NeighborList};
use super::run_device::RunDevice;
use super::state::State;
use super::stepper::Stepper;
use super::thermostat::Kind;
use super::tuning;
use crate::arithmetic::random::Purpose;
use crate::engine::domain::Start;
use crate::engine::report::{EngineReport, Execution, LaunchReport};
use crate::engine::thermostats::draw_velocities;
use crate::engine::{EngineError, StageContext};
use crate::integrator::ThermostatState;
use crate::plan::Plan;

/// Particles on one GPU, in one precision: all of a system ([`SingleRank`](super::single_rank::SingleRank)), or those of a
/// rank's domain ([`MultiRank`](super::rank::MultiRank)).
pub struct CudaEngine<P: DevicePolicy, S> {
    pub(super) plan: Plan,
    pub(super) device: RunDevice,
    pub(super) force_field: ForceField<P>,
    /// Who takes the steps. Before the state, which what it holds may copy from.
    pub(super) stepper: S,
    pub(super) state: State<P>,
    pub(super) neighbor_list: NeighborList,
    pub(super) stage: StageContext,
    /// What the thermostat remembers.
    pub(super) thermostat: ThermostatState,
}

impl<P: DevicePolicy> CudaEngine<P, ()> {
    /// An engine with memory and kernels for particles that are still to be loaded, and without anyone to take steps; as many
    /// particles as it has room for.
    pub(super) fn empty(
        plan: &Plan,
        start: Start,
        session: Arc<Session>,
        device: impl FnOnce(Arc<Session>, &P, &ForceField<P>) -> Result<RunDevice, EngineError>,
        shape: ListShape,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let simulation_box = &start.simulation_box;
        let species = plan.system.species.len();
        let element_sizes = ElementSizes::of::<P>(plan);
        tuning::check_memory(&session, capacity.places(), species, element_sizes, shape)?;
        let force_field = ForceField::new(plan);
        let policy = P::new(simulation_box, plan.run.flight(), &plan.system.species);
        let device = device(session.clone(), &policy, &force_field)?;
        let state =
            State::new(&session, plan, &start, capacity, device.control_buffer(), device.blocks())?;
        let listed = ListedSystem::new::<P>(plan, simulation_box, force_field.cutoffs());
        let neighbor_list = NeighborList::new(&session, listed, shape, capacity)?;
        let engine = CudaEngine {
            plan: plan.clone(),
            device,
            force_field,
            stepper: (),
            state,
            neighbor_list,
            stage: StageContext::none(start.step),
            thermostat: start.thermostat,
        };
        engine.set_system()?;
        engine.device.set_masses(engine.state.species())?;
        Ok(engine)
    }

    /// The same with somebody to take its steps.
    pub(super) fn with<S>(self, stepper: S) -> CudaEngine<P, S> {
        CudaEngine {
            plan: self.plan,
            device: self.device,
            force_field: self.force_field,
            stepper,
            state: self.state,
            neighbor_list: self.neighbor_list,
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

    /// Where everything lies.
    pub(super) fn system(&self) -> System {
        let mut system = System::default();
        self.state.describe(&mut system);
        self.neighbor_list.describe(&mut system);
        system
    }

    /// Tells the kernels where everything lies, after something has moved.
    pub(super) fn set_system(&self) -> Result<(), EngineError> {
        self.device.set_system(&self.system())
    }

    pub(super) fn geometry(&self, kind: Kind) -> Geometry {
        Geometry::new(kind, self.shares(), self.most_blocks())
    }

    /// Most blocks of a kernel that takes steps.
    pub(super) fn most_blocks(&self) -> u32 {
        self.device.multiprocessors().min(MOST_BLOCKS as u32)
    }

    /// How the work on the particles is shared out.
    pub(super) fn shares(&self) -> Lanes {
        let may_be_single = self.has_single_lanes();
        Lanes { tiles: self.tiles(), log2: self.lanes_log2(), may_be_single }
    }

    /// Tiles, the particles of a warp each.
    pub(super) fn tiles(&self) -> u32 {
        self.neighbor_list.tiles(self.state.count()) as u32
    }

    /// Threads that work on the lists.
    pub(super) fn lanes(&self) -> usize {
        self.neighbor_list.lanes(self.state.count())
    }

    /// Binary logarithm of the number of lanes that work on a particle.
    pub(super) fn lanes_log2(&self) -> u32 {
        self.neighbor_list.shape().lanes_log2
    }

    /// Whether kernels for one lane a particle may take the steps.
    pub(super) fn has_single_lanes(&self) -> bool {
        self.lanes_log2() == 0 && single_lane_pays(P::PRECISION)
    }

    /// Launches an ordinary kernel over all particles.
    pub(super) fn over_particles<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        self.device.launch_over(self.state.count(), kernel, arguments)
    }

    /// The same over the lanes of all particles' lists.
    pub(super) fn over_lanes<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        self.device.launch_over(self.lanes(), kernel, arguments)
    }

    /// Has sums over pairs added to those from an address on.
    pub(super) fn sum_pairs(&self, sums: Pointer<SplitSum>) -> Result<(), EngineError> {
        let kernel = self.device.measure().measure_pairs;
        self.device.launch_over(self.threads_over_pairs(), kernel, (sums,))
    }

    /// The same, and a letter with what is there then.
    pub(super) fn sum_pairs_and_post(
        &self,
        sums: Pointer<SplitSum>,
        letter: Letter,
    ) -> Result<(), EngineError> {
        let kernel = self.device.measure().measure_pairs_and_post;
        self.device.launch_over(self.threads_over_pairs(), kernel, (sums, letter))
    }

    /// More than lanes where particles are few.
    pub(super) fn threads_over_pairs(&self) -> usize {
        let parts = if self.lanes_log2() < 2 { 1 } else { 2 };
        parts * self.lanes()
    }

    /// Makes room for the longest list that was wanted; the next launch must build them.
    pub(super) fn lengthen_lists(&mut self) -> Result<(), EngineError> {
        tracing::debug!("lists are full at step {}: they grow", self.state.step);
        self.neighbor_list.lengthen(self.state.control.list_need as usize)?;
        self.set_system()
    }

    pub(super) fn enter_stage(&mut self, stage: &StageContext) {
        self.stage = stage.clone();
        self.stage.prepare(&mut self.thermostat, self.state.step);
    }

    pub(super) fn degrees_of_freedom(&self) -> u64 {
        self.stage.degrees_of_freedom(self.state.dimension(), self.particle_count())
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

    /// What all kinds of engines report; of the kernel that takes the steps blocks and their threads, and `resources`:
    /// registers and bytes of local memory.
    pub(super) fn common_report(
        &self,
        (blocks, threads): (u32, u32),
        resources: (i32, i32),
    ) -> EngineReport {
        let (registers, local_bytes) = resources;
        let (count, shape) = (self.state.count(), self.neighbor_list.shape());
        let launch = LaunchReport {
            threads: blocks * threads,
            blocks,
            threads_per_block: threads,
            threads_per_particle: 1 << shape.lanes_log2,
            registers,
            local_bytes,
            device_bytes: tuning::device_bytes(
                count,
                self.state.species().len(),
                self.state.element_sizes(),
                shape,
            ),
        };
        let execution = Execution {
            launch: Some(launch),
            skin: shape.skin,
            sort_interval: 1,
            list_entries_per_particle: self.neighbor_list.mean_entries(count),
            list_capacity: Some(shape.capacity),
            list_rebuilds: self.state.control.rebuilds,
            effective_timestep: self.state.policy().effective_timestep(),
            ..Execution::default()
        };
        let hardware = self.device.session().gpu.hardware();
        EngineReport { hardware, precision: P::PRECISION, execution }
    }
}
