//! A whole system on one GPU: a launch takes many steps.
mod run;
mod samples;
mod tune;
mod undecided;

use std::sync::Arc;

use self::undecided::Undecided;
use crate::engine::barostat::PairSums;
use crate::engine::cuda::advance::{AdvanceKernels, LaunchSamples};
use crate::engine::cuda::buffers::{Capacity, ElementSizes};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::correlator::Sampling;
use crate::engine::cuda::device::Gpu;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::force_field::ForceField;
use crate::engine::cuda::geometry::{Geometry, SMALL_BLOCK, SMALL_BLOCK_TAGGED_GLOBAL};
use crate::engine::cuda::md_program::stepping_program;
use crate::engine::cuda::members::Sharing;
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::neighbor_lists::ListShape;
use crate::engine::cuda::page_locked::PageLocked;
use crate::engine::cuda::particle_buffers::Source;
use crate::engine::cuda::piston::PistonKernels;
use crate::engine::cuda::program::Program;
use crate::engine::cuda::run_device::{Place, RunDevice};
use crate::engine::cuda::stepper::{Fault, Stepper};
use crate::engine::cuda::swaps::SwapKernels;
use crate::engine::cuda::thermostat::Kind;
use crate::engine::cuda::tuning::{self, Choice};
use crate::engine::cuda::volumes::Remade;
use crate::engine::domain::Start;
use crate::engine::precision::{ExactSum, Policy};
use crate::engine::report::{EngineReport, TimeShares, Trial};
use crate::engine::thermostats::scale_velocities;
use crate::engine::{
    Correlator, DeviceArray, Engine, EngineError, ExactState, MemoryLayout, ParticleQuantity,
    PendingSnapshot, PendingState, StageContext, Thermodynamics,
};
use crate::plan::Plan;
use crate::system::{SimulationBox, Snapshot};

/// The whole system is on this GPU.
pub struct SingleRank {
    kernels: SteppingKernels,
    /// Of time correlations.
    sampling: Option<Sampling>,
    /// What was timed at the start of the stage.
    trials: Vec<Trial>,
    /// Of the next launch ([`Launch::tag`]).
    next_tag: u32,
    /// Where particles may exchange something, and the system is alone.
    swap: Option<SwapKernels>,
    /// Where a piston moves the box of a system that is alone.
    pub(in crate::engine::cuda) piston: Option<PistonKernels>,
    /// Over pairs in the present state, where a trial has left them and sums do not depend on the order of their terms.
    pub(in crate::engine::cuda) pair_sums: Option<PairSums>,
    /// A trial to change the volume that was launched last.
    undecided: Option<Undecided>,
    /// Constants as they were before such a trial: kernels read them until a later launch has been waited for, as it is when the engine ends.
    before_trial: Option<PageLocked>,
}

/// Most particles whose sites all blocks take as they come (`kernels/md/tagged.cuh`): with more a barrier takes less time under
/// some thermostat, as measured on an H100.
pub const MOST_TAGGED: usize = 4096;

/// Whether a plan's sites are tagged: they have a word for it, and each block has room for all of them.
fn has_tagged_sites(plan: &Plan) -> bool {
    let system = &plan.system;
    let sizes = ElementSizes::new(
        plan.run.precision,
        system.simulation_box.dimension(),
        plan.potential.diameters.is_some(),
    );
    system.simulation_box.dimension() == 3
        && sizes.site_bytes() == 16
        && system.particle_count() <= MOST_TAGGED
        && !plan.may_swap()
}

/// Bytes of shared memory that a launch adds where sites are tagged: for those of all particles, and behind them a word for the place of each, as
/// `stride_of_class` in `kernels/md/relist.cuh` has them.
pub fn staged_bytes(particles: usize) -> usize {
    let (classes, word) = (8, size_of::<u32>());
    let stride = (particles / classes + 36).next_multiple_of(32) + 4;
    16 * particles + classes * stride * word
}

/// The kernels that take the steps.
enum SteppingKernels {
    Alone(AdvanceKernels),
    /// Those of many systems, of which this is one.
    OfMany,
}

/// More steps than this are split into several launches.
pub(in crate::engine::cuda) const LONGEST_LAUNCH: u64 = 100_000;

impl Stepper for SingleRank {
    fn ghosts(&self) -> usize {
        0
    }

    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], Fault>,
    ) -> Result<[ExactSum; COUNT], Fault> {
        here
    }

    fn fails_at_once(&self) -> bool {
        true
    }
}

/// The program of a plan; `for_tilts`: of boxes with a tilt.
pub fn program<P: DevicePolicy>(policy: &P, plan: &Plan, for_tilts: bool) -> Program {
    let text = include_str!("../../../../kernels/md/engine.cu");
    let mut checks = AdvanceKernels::checks();
    if plan.may_swap() {
        checks += &SwapKernels::checks();
    }
    if plan.has_piston() {
        checks += &PistonKernels::checks();
    }
    let tilted = [("TILTED", u32::from(for_tilts).to_string())];
    let program = stepping_program("engine.cu", text, policy, plan, checks).define(tilted);
    if !has_tagged_sites(plan) {
        return program;
    }
    program.define([
        ("STAGED_COPIES", "1".to_owned()),
        ("TAGGED", "1".to_owned()),
        ("RELISTING", u32::from(has_relisting::<P>(plan)).to_string()),
        ("LARGEST_BLOCK", SMALL_BLOCK.to_string()),
        ("LARGEST_BLOCK_SINGLE_LANE", SMALL_BLOCK.to_string()),
        ("SMALL_BLOCK_GLOBAL", SMALL_BLOCK_TAGGED_GLOBAL.to_string()),
    ])
}

/// Whether lists are made anew without sorting the particles (`kernels/md/relist.cuh`).
fn has_relisting<P: Policy>(plan: &Plan) -> bool {
    has_tagged_sites(plan) && P::exact_sum(std::iter::empty()).is_some()
}

impl SingleRank {
    /// Tags for the sites of a launch: none is zero, which untagged sites have, nor has the highest bit, and none near it in time is
    /// the same.
    fn tags(&mut self, steps: u32) -> u32 {
        let of_launch = steps + 2;
        if self.next_tag > (1 << 31) - 1 - of_launch {
            self.next_tag = 1;
        }
        let first = self.next_tag;
        self.next_tag += of_launch;
        first
    }
}

/// The choice of a state that this engine has run.
fn choice_of(memory: &MemoryLayout) -> Option<Choice> {
    let lanes_log2 = memory.threads_per_particle?.ilog2();
    Some(Choice { skin: memory.skin, lanes_log2 })
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Of a system that is alone.
    fn geometry_of_steps(&self, kind: Kind) -> Geometry {
        match has_tagged_sites(&self.plan) {
            true => {
                let particles = self.particle_count() as u32;
                Geometry::with_tagged_sites(kind, self.shares(), self.most_blocks(), particles)
            }
            false => Geometry::of_one_system(kind, self.shares(), self.most_blocks()),
        }
    }

    /// # Errors
    /// If the state does not fit the plan or the GPU, or the kernels cannot be compiled.
    pub fn new(plan: &Plan, state: &ExactState, gpu: Gpu) -> Result<Self, EngineError> {
        let session = Session::open(gpu)?;
        let layout = state.memory.as_ref();
        let shape = tuning::first_shape(
            plan,
            &state.simulation_box,
            layout.and_then(choice_of),
            session.gpu.multiprocessors,
        );
        let for_tilts = state.simulation_box.is_tilted();
        let shape = ListShape { by_species: has_relisting::<P>(plan), for_tilts, ..shape };
        let device = |session, policy: &P, force_field: &ForceField<P>| {
            RunDevice::new(session, program(policy, plan, for_tilts), policy, force_field)
        };
        Self::on(plan, state, session, shape, device)
    }

    /// One of many systems.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(in crate::engine::cuda) fn of_many(
        plan: &Plan,
        state: &ExactState,
        session: Arc<Session>,
        place: Place,
    ) -> Result<Self, EngineError> {
        let restored = state.memory.as_ref().and_then(choice_of);
        let sharing = place.members.sharing;
        let shape = tuning::shape_of_many(plan, &state.simulation_box, restored, sharing);
        let device = |session, policy: &P, force_field: &ForceField<P>| {
            let device = RunDevice::of_member(session, place)?;
            if plan.has_barostat() {
                device.set_constants(policy, force_field)?;
            }
            Ok(device)
        };
        Self::on(plan, state, session, shape, device)
    }

    fn on(
        plan: &Plan,
        state: &ExactState,
        session: Arc<Session>,
        shape: ListShape,
        device: impl FnOnce(Arc<Session>, &P, &ForceField<P>) -> Result<RunDevice, EngineError>,
    ) -> Result<Self, EngineError> {
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        state.check_diameters(plan)?;
        assert_eq!(state.precision, P::PRECISION, "the state is converted before");
        let layout = state.memory.as_ref();
        let start = Start::of_state(plan, state);
        let capacity = Capacity { particles: expected, ghosts: 0 };
        let engine = CudaEngine::empty(plan, start, session, device, shape, capacity)?;
        let kernels = match engine.device.place() {
            None => SteppingKernels::Alone(engine.stepping_kernels()?),
            Some(_) => SteppingKernels::OfMany,
        };
        let (swap, piston) = (engine.swap_kernels()?, engine.piston_kernels()?);
        let stepper = SingleRank {
            kernels,
            sampling: None,
            trials: Vec::new(),
            next_tag: 1,
            swap,
            piston,
            pair_sums: None,
            undecided: None,
            before_trial: None,
        };
        let mut engine = engine.with(stepper);
        let same = Choice { skin: shape.skin, lanes_log2: shape.lanes_log2 };
        let layout = layout.filter(|memory| choice_of(memory) == Some(same));
        engine.load(state, layout)?;
        Ok(engine)
    }

    /// Takes another state of the system, in the box that it has; `for_tilts`: with kernels and lists of boxes with a tilt.
    pub(in crate::engine::cuda) fn replace(
        &mut self,
        state: &ExactState,
        layout: Option<&MemoryLayout>,
        for_tilts: bool,
    ) -> Result<(), EngineError> {
        let simulation_box = state.simulation_box;
        let is_alone = self.device.place().is_none();
        let program_for = |engine: &Self, for_tilts| {
            is_alone.then(|| program(engine.state.policy(), &engine.plan, for_tilts))
        };
        let before = program_for(self, self.is_for_tilts());
        self.plan.system.simulation_box = simulation_box;
        self.state.set_box(simulation_box);
        let program = program_for(self, for_tilts);
        let (policy, force_field) = (self.state.policy(), &self.force_field);
        match program.filter(|program| before.as_ref() != Some(program)) {
            None => self.device.set_constants(policy, force_field)?,
            Some(program) => {
                // Its shape or size is part of the code.
                self.device.wait()?;
                self.device.load(program, policy, force_field)?;
                self.device.set_masses(self.state.species())?;
                let kernels = self.stepping_kernels()?;
                self.stepper.kernels = SteppingKernels::Alone(kernels);
                self.stepper.swap = self.swap_kernels()?;
                self.stepper.piston = self.piston_kernels()?;
            }
        }
        let rebuilds = self.state.control.rebuilds;
        self.neighbor_list.set_box(simulation_box, for_tilts)?;
        self.set_system()?;
        self.load(state, layout)?;
        self.state.control.rebuilds = layout.map_or(rebuilds + 1, |memory| memory.rebuilds);
        Ok(())
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
        // Sites for the lists: those at their last building, else the present ones.
        let sites = layout.map(|memory| memory.reference.as_slice());
        self.state.load(&Source::of_state(state, &order), sites)?;
        if let Some(memory) = layout {
            self.state.control.lists_made_at = memory.tilt;
            self.state.control.lists_made_in = memory.made_in;
        }
        self.run(0, true, true, LaunchSamples::NONE)?;
        self.state.control.rebuilds = layout.map_or(1, |memory| memory.rebuilds);
        Ok(())
    }
}

impl<P: DevicePolicy, S> CudaEngine<P, S> {
    fn swap_kernels(&self) -> Result<Option<SwapKernels>, EngineError> {
        match (self.plan.may_swap(), self.device.place()) {
            (true, None) => SwapKernels::load(self.device.kernels()).map(Some),
            _ => Ok(None),
        }
    }

    fn piston_kernels(&self) -> Result<Option<PistonKernels>, EngineError> {
        match (self.plan.has_piston(), self.device.place()) {
            (true, None) => PistonKernels::load(self.device.kernels()).map(Some),
            _ => Ok(None),
        }
    }

    /// The kernels that take steps of the whole system alone.
    fn stepping_kernels(&self) -> Result<AdvanceKernels, EngineError> {
        let kernels = AdvanceKernels::load(self.device.kernels())?;
        if has_tagged_sites(&self.plan) {
            for kernel in kernels.all() {
                self.device
                    .kernels()
                    .allow_shared_memory(kernel, staged_bytes(self.particle_count()))?;
            }
        }
        Ok(kernels)
    }
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Enters a stage with the present choices.
    pub(in crate::engine::cuda) fn enter_stage_untuned(&mut self, stage: &StageContext) {
        self.enter_stage(stage);
        self.stepper.pair_sums = None;
        self.stepper.trials.clear();
        // The memory of the last stage's blocks.
        self.stepper.sampling = None;
    }
}

impl<P: DevicePolicy> Engine for CudaEngine<P, SingleRank> {
    fn step(&self) -> u64 {
        self.state.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.enter_stage_untuned(stage);
        self.enter_flow()?;
        self.enter_barostat()?;
        let may_be_long = tuning::may_be_long(stage.steps, self.particle_count());
        if self.plan.run.tune && may_be_long && self.state.step == stage.first_step {
            self.tune()?;
        }
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let mut left = steps;
        let (mut rebuild, mut has_old_forces) = (false, false);
        while left > 0 {
            let to_trials = self.stage.steps_to_trials(self.state.step);
            let (part, samples) = self.prepare_samples(left.min(LONGEST_LAUNCH).min(to_trials))?;
            let sums = if self.has_piston() {
                self.run_with_piston(part, rebuild)?;
                None
            } else if self.ends_with_volume_trial(part) {
                self.run_to_trial(part, rebuild, samples)?
            } else {
                self.run(part, rebuild, false, samples)?;
                None
            };
            left -= part;
            self.count_samples()?;
            let (key, count) = (self.plan.system.random_key(), self.state.count());
            let trials = self.stage.swap_trials(key, self.state.step, count);
            rebuild = trials.is_some();
            if let Some(trials) = trials {
                let kernels = self.stepper.swap.expect("the plan has swaps");
                self.swap(&kernels, &trials)?;
            }
            has_old_forces = rebuild;
            if self.stage.barostat.is_some() {
                if left > 0
                    && !rebuild
                    && let Some(sums) = sums
                    && self.begin_undecided_trial(sums)?
                {
                    continue;
                }
                Remade { rebuild, has_old_forces } = self.take_volume_trial(rebuild, sums)?;
            }
        }
        if !has_old_forces && let Some(mailbox) = self.device.mailbox() {
            // Who is next may launch anything.
            mailbox.forget_ahead();
        }
        match has_old_forces {
            true => self.run(0, rebuild, false, LaunchSamples::NONE),
            false => Ok(()),
        }
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.measure_with(self.stepper.pair_sums)
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

    fn device_array(&self, quantity: ParticleQuantity) -> Result<Option<DeviceArray>, EngineError> {
        self.array_on_device(quantity).map(Some)
    }

    fn export(&self) -> Result<ExactState, EngineError> {
        self.read_state()
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.draw_first_velocities(temperature, exactly)
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        scale_velocities(self, factor)
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        self.reverse_all()
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.state.simulation_box()
    }

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        assert!(self.stepper.sampling.is_none(), "samples are of one box");
        let state = self.read_state()?.in_box(simulation_box, self.state.species());
        let step = self.state.step;
        let state = state.map_err(|particle| EngineError::velocity_range(step, particle))?;
        self.replace(&state, None, simulation_box.is_tilted())
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        Some(self)
    }

    fn report(&self) -> EngineReport {
        let (grid, resources) = match &self.stepper.kernels {
            SteppingKernels::Alone(kernels) => {
                let Geometry { kernel, blocks, threads } = self.geometry_of_steps(Kind::None);
                ((blocks, threads), self.device.kernels().resources(kernels.get(kernel)))
            }
            SteppingKernels::OfMany => {
                let Place { members, .. } = self.device.place().expect("one of many");
                let kernel = members.kernel(Kind::None, self.has_single_lanes());
                let Sharing { blocks, .. } = members.sharing;
                let threads = members.sharing.threads_for(self.tiles());
                ((blocks, threads), members.kernels.resources(kernel))
            }
        };
        let mut report = self.common_report(grid, resources);
        report.execution.trials = Some(self.stepper.trials.clone());
        report.execution.time = Some(TimeShares::of(self.state.control.cycles));
        report
    }
}
