//! The CUDA engine: all particles stay on the GPU; a launch takes many steps.
use std::cell::OnceCell;
use std::sync::Arc;

use super::buffers::{
    Buffers, Capacity, Control, ElementSizes, LONGEST_CHAIN, ListBuffers, MOST_BLOCKS, System,
    status,
};
use super::compile::Program;
use super::constants::DevicePolicy;
use super::correlator::Sampling;
use super::declare::{device_struct, shared_header};
use super::device::Gpu;
use super::launch::{Grid, Kernel, Kernels, kernels, program};
use super::measure::MeasureKernels;
use super::memory::Session;
use super::neighbor_lists::{self, ListShape};
use super::rank::{GpuDomain, RankKernels};
use super::thermostat::{Geometry, Kind, StepKernel, Thermostat, single_lane_pays};
use super::transfer::Transfer;
use super::tuning::{self, Choice};
use crate::engine::domain::Start;
use crate::engine::report::{EngineReport, Execution, LaunchReport, TimeShares, Trial};
use crate::engine::{
    Correlator, Engine, EngineError, ExactState, MemoryLayout, PendingSnapshot, PendingState,
    StageContext, Thermodynamics,
};
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::{SimulationBox, Snapshot, Species};

/// More steps than this are split into several launches.
const LONGEST_LAUNCH: u64 = 100_000;

/// All particles of a system in one precision, on one GPU.
pub struct CudaEngine<P: DevicePolicy> {
    pub(super) policy: P,
    pub(super) plan: Plan,
    pub(super) simulation_box: SimulationBox,
    pub(super) species: Vec<Species>,
    pub(super) session: Arc<Session>,
    pub(super) kernels: Kernels,
    pub(super) measure_kernels: MeasureKernels,
    /// Of a whole system.
    advance_kernels: Option<AdvanceKernels>,
    /// Of a rank.
    pub(super) rank_kernels: Option<RankKernels>,
    pub(super) element_sizes: ElementSizes,
    pub(super) capacity: Capacity,
    /// `None`: the whole system is here.
    pub(super) domain: Option<Box<GpuDomain>>,
    /// Made for the first copy; `None` inside where the GPU has no room for it. Before the buffers: it
    /// waits for copies out of them when it is dropped.
    pub(super) transfer: OnceCell<Option<Transfer>>,
    /// Of time correlations. Before the buffers, as the transfer.
    pub(super) sampling: Option<Sampling>,
    pub(super) buffers: Buffers,
    /// `None` only while others are made.
    pub(super) lists: Option<ListBuffers>,
    pub(super) shape: ListShape,
    pub(super) system: System,
    pub(super) control: Control,

    pub(super) step: u64,
    pub(super) stage: StageContext,
    pub(super) thermostat: ThermostatState,
    /// What was timed at the start of the stage.
    pub(super) trials: Vec<Trial>,
}

device_struct! {
    /// After which steps of a launch something is done within it, and its number the first time.
    pub(super) struct SampleTimes {
        /// ~0: never.
        first: u32,
        every: u32,
        number: u32,
        unused: u32,
    }
}

device_struct! {
    /// Steps of one launch.
    pub(super) struct Launch {
        /// Steps since the start of the run at which the launch begins.
        first_step: u64,
        /// Steps of the launch that were complete at its last interruption, and all of them.
        from: u32,
        steps: u32,
        /// Build the lists first.
        rebuild: u32,
        /// Sites were those of a checkpoint's lists: take the present ones after building.
        restore: u32,
        samples: SampleTimes,
        stress: SampleTimes,
    }
}

shared_header!(pub SHARED = "shared/launch.cuh": SampleTimes, Launch);

kernels! {
    /// The kernels that take steps of a whole system.
    pub struct AdvanceKernels {
        advance(Launch, Thermostat);
        advance_wide(Launch, Thermostat);
        advance_single_lane(Launch, Thermostat);
        advance_langevin(Launch, Thermostat);
        advance_global(Launch, Thermostat);
        advance_andersen(Launch, Thermostat);
        advance_andersen_single_lane(Launch, Thermostat);
    }
}

impl AdvanceKernels {
    fn get(&self, kernel: StepKernel) -> Kernel<(Launch, Thermostat)> {
        match kernel {
            StepKernel::Plain => self.advance,
            StepKernel::Wide => self.advance_wide,
            StepKernel::SingleLane => self.advance_single_lane,
            StepKernel::Langevin => self.advance_langevin,
            StepKernel::Global => self.advance_global,
            StepKernel::Andersen => self.advance_andersen,
            StepKernel::AndersenSingleLane => self.advance_andersen_single_lane,
        }
    }
}

impl SampleTimes {
    pub const NONE: SampleTimes = SampleTimes { first: u32::MAX, every: 1, number: 0, unused: 0 };

    /// `first` lies in the launch.
    pub fn new(first: u64, every: u64, number: u32) -> Self {
        // A launch has fewer than 2^32 steps.
        let every = every.min(u64::from(u32::MAX)) as u32;
        SampleTimes { first: first as u32, every, number, unused: 0 }
    }
}

/// When a launch takes samples of the particles, and sums up the stress.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchSamples {
    pub particles: SampleTimes,
    pub stress: SampleTimes,
}

impl LaunchSamples {
    pub const NONE: LaunchSamples =
        LaunchSamples { particles: SampleTimes::NONE, stress: SampleTimes::NONE };
}

/// The choice of a state that this engine has run.
fn choice_of(memory: &MemoryLayout) -> Option<Choice> {
    let lanes_log2 = memory.threads_per_particle?.ilog2();
    Some(Choice { skin: memory.skin, lanes_log2 })
}

impl<P: DevicePolicy> CudaEngine<P> {
    /// # Errors
    /// If the state does not fit the plan or the GPU, or the kernels cannot be compiled.
    pub fn new(plan: &Plan, state: &ExactState, gpu: Gpu) -> Result<Self, EngineError> {
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        assert_eq!(state.precision, P::PRECISION, "the state is converted before");
        let session = Session::open(gpu)?;
        let layout = state.memory.as_ref();
        let shape = tuning::first_shape(
            plan,
            &state.simulation_box,
            layout.and_then(choice_of),
            session.gpu.multiprocessors,
        );
        let start = Start {
            step: state.step,
            simulation_box: state.simulation_box,
            thermostat: state.thermostat.clone(),
        };
        let capacity = Capacity { particles: expected, ghosts: 0 };
        let mut engine = Self::empty(plan, start, session, program, shape, capacity)?;
        engine.advance_kernels = Some(AdvanceKernels::load(&engine.kernels)?);
        let same = Choice { skin: shape.skin, lanes_log2: shape.lanes_log2 };
        let layout = layout.filter(|memory| choice_of(memory) == Some(same));
        engine.load(state, layout)?;
        Ok(engine)
    }

    /// An engine with memory and kernels for particles that are still to be loaded; as many as it has room for.
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
        let kernels = Kernels::load_program(&session, program(&policy, plan), &policy, plan)?;
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
            advance_kernels: None,
            rank_kernels: None,
            kernels,
            element_sizes,
            capacity,
            domain: None,
            buffers,
            lists: Some(lists),
            shape,
            system,
            control: Control::default(),
            transfer: OnceCell::new(),
            sampling: None,
            step: start.step,
            stage: StageContext::none(start.step),
            thermostat: start.thermostat,
            trials: Vec::new(),
        })
    }

    /// Particles of the whole system.
    pub(super) fn particle_count(&self) -> usize {
        self.plan.system.particle_count()
    }

    /// Particles on this GPU.
    pub(super) fn own_count(&self) -> usize {
        self.system.count as usize
    }

    /// Copies a state to the GPU and computes its forces.
    pub(super) fn load(
        &mut self,
        state: &ExactState,
        layout: Option<&MemoryLayout>,
    ) -> Result<(), EngineError> {
        let order: Vec<u32> = match layout {
            Some(memory) => memory.order.clone(),
            None => (0..state.position.len() as u32).collect(),
        };
        let to = &self.buffers.particles[0];
        let gather = |values: &[[u64; 3]], axis: usize| -> Vec<u64> {
            order.iter().map(|&id| values[id as usize][axis]).collect()
        };
        for axis in 0..self.simulation_box.dimension() {
            self.element_sizes.write(&to.position[axis], &gather(&state.position, axis))?;
            self.element_sizes.write(&to.velocity[axis], &gather(&state.velocity, axis))?;
            let image: Vec<i32> = order.iter().map(|&id| state.image[id as usize][axis]).collect();
            to.image[axis].write(&image)?;
        }
        to.id.write(&order)?;
        let species: Vec<u8> = order.iter().map(|&id| state.species_of[id as usize]).collect();
        to.species.write(&species)?;
        // Sites for the lists: those at their last building, else the present ones.
        let site = |position: &[u64; 3]| -> [u64; 3] {
            std::array::from_fn(|axis| {
                let coordinate = P::coordinate_from_bits(position[axis]);
                P::site_to_bits(self.policy.site(coordinate, axis))
            })
        };
        let sites: Vec<[u64; 3]> = match layout {
            Some(memory) => memory.reference.clone(),
            None => state.position.iter().map(site).collect(),
        };
        self.element_sizes.write_sites(&self.buffers.sites[0], &sites)?;
        self.control = Control::default();
        self.run(0, true, true, LaunchSamples::NONE)?;
        self.control.rebuilds = layout.map_or(1, |memory| memory.rebuilds);
        Ok(())
    }

    /// Computes forces and takes steps under the stage's thermostat; lists that are too short are
    /// made anew.
    pub(super) fn run(
        &mut self,
        steps: u64,
        rebuild: bool,
        restore: bool,
        samples: LaunchSamples,
    ) -> Result<(), EngineError> {
        let (kind, thermostat) = Thermostat::new(
            &self.stage,
            self.plan.system.random_key(),
            self.plan.run.timestep,
            self.degrees_of_freedom(),
            &self.species,
        );
        // The kernel of a chain takes the half step before a first step that does not come.
        let kind = if steps == 0 { Kind::None } else { kind };
        let mut launch = Launch {
            first_step: self.step,
            from: 0,
            steps: steps as u32,
            rebuild: rebuild.into(),
            restore: restore.into(),
            samples: samples.particles,
            stress: samples.stress,
        };
        loop {
            self.launch_steps(kind, &launch, &thermostat)?;
            match self.control.status {
                status::DONE => break,
                status::LISTS_FULL => {
                    self.grow_lists()?;
                    launch.rebuild = 1;
                    launch.from = self.control.steps_done;
                }
                _ => {
                    self.step += u64::from(self.control.steps_done);
                    return Err(self.error());
                }
            }
        }
        self.step += steps;
        Ok(())
    }

    fn launch_steps(
        &mut self,
        kind: Kind,
        launch: &Launch,
        thermostat: &Thermostat,
    ) -> Result<(), EngineError> {
        self.lend_thermostat()?;
        let Geometry { kernel, blocks, threads } = self.geometry(kind);
        let kernels = self.advance_kernels.as_ref().expect("the whole system is here");
        let grid = Grid::cooperative(blocks, threads);
        self.kernels.launch(kernels.get(kernel), grid, (*launch, *thermostat))?;
        self.evaluate_waiting()?;
        self.control = self.buffers.control.read::<Control>(1)?[0];
        self.take_thermostat();
        let control = &self.control;
        if kind == Kind::Langevin && control.status == status::DONE {
            // The second half of the last step.
            self.thermostat.heat += control.sums[control.turn as usize & 3][0].value();
        }
        Ok(())
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

    pub(super) fn degrees_of_freedom(&self) -> u64 {
        self.stage.degrees_of_freedom(self.simulation_box.dimension(), self.particle_count())
    }
}

impl<P: DevicePolicy> Engine for CudaEngine<P> {
    fn step(&self) -> u64 {
        self.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.stage = stage.clone();
        self.stage.prepare(&mut self.thermostat, self.step);
        self.trials.clear();
        // The memory of the last stage's blocks.
        self.sampling = None;
        if let Some(multi_rank) = &mut self.domain {
            multi_rank.begin_times();
        }
        let may_be_long = tuning::may_be_long(stage.steps, self.particle_count());
        let alone = self.domain.is_none();
        if self.plan.run.tune && alone && may_be_long && self.step == stage.first_step {
            self.tune()?;
        }
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        if self.domain.is_some() {
            return self.advance_multi_rank(steps);
        }
        let mut left = steps;
        while left > 0 {
            let most = left.min(LONGEST_LAUNCH);
            let (part, samples) = self.prepare_samples(most)?;
            self.run(part, false, false, samples)?;
            left -= part;
            self.count_samples()?;
        }
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        let measured = self.measure();
        self.or_end_all(measured)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.read_snapshot()
    }

    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        self.begin_frame()
    }

    fn begin_export(&mut self) -> Result<PendingState, EngineError> {
        self.begin_state()
    }

    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.read_forces()
    }

    fn export(&self) -> Result<ExactState, EngineError> {
        self.read_state()
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        let purpose = crate::arithmetic::random::Purpose::InitialVelocity;
        let drawn = self.draw_boltzmann_velocities(temperature, exactly, purpose);
        self.or_end_all(drawn)?;
        self.verify_changes()
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        let scaled = self.scale_measured(factor);
        self.thermostat.heat += self.or_end_all(scaled)?;
        self.verify_changes()
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        let reversed = self.reverse_all();
        self.or_end_all(reversed)
    }

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        assert!(self.sampling.is_none(), "samples are of one box");
        let state = self.read_state()?.in_box(simulation_box, &self.species);
        let state = state.map_err(|particle| EngineError::velocity_range(self.step, particle))?;
        let before = program(&self.policy, &self.plan);
        self.plan.system.simulation_box = simulation_box;
        self.simulation_box = simulation_box;
        self.policy = P::new(&simulation_box, self.plan.run.timestep, &self.species);
        let program = program(&self.policy, &self.plan);
        if program == before {
            self.kernels.set_run_constants(&self.policy, &self.plan)?;
        } else {
            // Its shape or size is part of the code.
            self.session.wait()?;
            self.kernels = Kernels::load_program(&self.session, program, &self.policy, &self.plan)?;
            self.measure_kernels = MeasureKernels::load(&self.kernels)?;
            self.advance_kernels = Some(AdvanceKernels::load(&self.kernels)?);
        }
        let rebuilds = self.control.rebuilds;
        self.set_shape(self.shape)?;
        self.load(&state, None)?;
        self.control.rebuilds = rebuilds + 1;
        Ok(())
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        Some(self)
    }

    fn report(&self) -> EngineReport {
        let Geometry { kernel, blocks, threads } = self.geometry(Kind::None);
        let (registers, local) = match &self.advance_kernels {
            Some(kernels) => self.kernels.resources(kernels.get(kernel)),
            None => self.resources_on_rank(kernel),
        };
        let launch = LaunchReport {
            threads: blocks * threads,
            blocks,
            threads_per_block: threads,
            threads_per_particle: 1 << self.shape.lanes_log2,
            registers,
            local_bytes: local,
            device_bytes: tuning::device_bytes(
                self.own_count(),
                self.species.len(),
                self.element_sizes,
                self.shape,
            ),
        };
        let mut execution = Execution {
            launch: Some(launch),
            skin: self.shape.skin,
            trials: Some(self.trials.clone()),
            sort_interval: 1,
            list_entries_per_particle: self.mean_entries(),
            list_capacity: Some(self.shape.capacity),
            list_rebuilds: self.control.rebuilds,
            effective_timestep: self.policy.effective_timestep(),
            ..Execution::default()
        };
        match &self.domain {
            Some(multi_rank) => multi_rank.add_to(&mut execution, self.waiting_in_passes()),
            None => execution.time = Some(TimeShares::of(self.control.cycles)),
        }
        let hardware = self.session.gpu.hardware();
        EngineReport { hardware, precision: P::PRECISION, execution }
    }
}
