//! Many systems on one GPU: what their kernels read of each, and launches over all of them.
mod boxes;
mod mirror;
mod piston;
mod scale;
mod sharing;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::boxes::BoxConstants;
pub use self::boxes::stay_cubic;
use self::mirror::Mirror;
use self::piston::PistonKernels;
use self::scale::ScaleKernels;
pub use self::scale::Scaled;
pub use self::sharing::Sharing;
use super::advance::Launch;
use super::box_constants;
use super::buffers::{Control, SplitSum, System};
use super::constants::DevicePolicy;
use super::declare::{Const, Pointer, device_struct, shared_header};
use super::force_field::ForceField;
use super::launch::{Grid, Kernel, Kernels, kernels};
use super::md_program;
use super::measure::{Factors, MeasureKernels, PistonDrift, measured};
use super::memory::{Buffer, Session};
use super::program::Program;
use super::samples::SamplingConstant;
use super::swaps::{self, Swaps};
use super::thermostat::{Kind, Thermostat};
use crate::engine::EngineError;
use crate::plan::Plan;

device_struct! {
    /// A system among many.
    pub struct Member {
        pub system: System,
        /// Of the coming launch.
        pub launch: Launch,
        pub thermostat: Thermostat,
        /// Where its samples go, and the sums of its stress.
        pub sampling: SamplingConstant,
        pub stress_sums: Pointer<SplitSum>,
        pub swaps: Swaps,
        /// On its velocities, or on its positions.
        pub factors: Factors,
        /// Of the coming step under a piston.
        pub piston: PistonDrift,
        /// Constants of its box, where it has its own.
        pub box_constants: Pointer<Const<u8>>,
    }
}

shared_header!(pub SHARED = "shared/member.cuh": Member);

kernels! {
    /// The kernels that take steps of many systems (`kernels/md/advance_members.cu`).
    struct AdvanceKernels {
        advance_members();
        advance_members_langevin();
        advance_members_global();
        advance_members_andersen();
        advance_members_single_lane();
        advance_members_langevin_single_lane();
        advance_members_global_single_lane();
        advance_members_andersen_single_lane();
    }
}

impl AdvanceKernels {
    fn all(&self) -> [Kernel<()>; 8] {
        let kinds = [Kind::None, Kind::Langevin, Kind::Bussi, Kind::Andersen];
        std::array::from_fn(|kernel| self.get(kinds[kernel / 2], kernel % 2 == 1))
    }

    fn get(&self, kind: Kind, single_lane: bool) -> Kernel<()> {
        match (kind, single_lane) {
            (Kind::None, false) => self.advance_members,
            (Kind::Langevin, false) => self.advance_members_langevin,
            (Kind::NoseHoover | Kind::Bussi, false) => self.advance_members_global,
            (Kind::Andersen, false) => self.advance_members_andersen,
            (Kind::None, true) => self.advance_members_single_lane,
            (Kind::Langevin, true) => self.advance_members_langevin_single_lane,
            (Kind::NoseHoover | Kind::Bussi, true) => self.advance_members_global_single_lane,
            (Kind::Andersen, true) => self.advance_members_andersen_single_lane,
        }
    }
}

kernels! {
    struct SwapKernels {
        swap_particles();
    }
}

const ALL_SUMS: usize = measured::ALL_SUMS as usize;

/// Systems of a launch: the driver's limit of blocks along y.
const MOST_OF_LAUNCH: usize = 65_535;

/// The program of a plan.
pub fn program<P: DevicePolicy>(policy: &P, plan: &Plan, sharing: Sharing) -> Program {
    let text = include_str!("../../../kernels/md/members.cu");
    let mut checks = AdvanceKernels::checks() + &ScaleKernels::checks();
    if plan.may_swap() {
        checks += &SwapKernels::checks();
    }
    if plan.has_piston() {
        checks += &PistonKernels::checks();
    }
    let by_length = sharing.all_candidates && P::exact_sum(std::iter::empty()).is_some();
    let macros = [
        ("MEMBERS", "1".to_owned()),
        ("TILTED", u32::from(plan.may_tilt()).to_string()),
        ("MEMBER_THREADS", sharing.threads.to_string()),
        ("MEMBER_BLOCKS", sharing.blocks_of_multiprocessor.to_string()),
        ("STAGED_COPIES", sharing.staged_copies.to_string()),
        ("ALL_CANDIDATES", u32::from(sharing.all_candidates).to_string()),
        ("SHORT_ENTRIES", u32::from(sharing.entry_bytes == 2).to_string()),
        ("ENTRY_LOG2", sharing.entry_log2.to_string()),
        ("BY_LENGTH", u32::from(by_length).to_string()),
    ];
    let program = md_program::stepping_program("members.cu", text, policy, plan, checks);
    let program = program.include(&[SHARED]).define(macros);
    if plan.has_barostat() { program.define(boxes::macros(plan)) } else { program }
}

/// Systems that have kernels in common.
pub struct Members {
    session: Arc<Session>,
    pub kernels: Arc<Kernels>,
    pub measure: MeasureKernels,
    advance: AdvanceKernels,
    scale: ScaleKernels,
    /// Where particles may exchange something.
    swap: Option<SwapKernels>,
    /// Where pistons move the boxes.
    piston: Option<PistonKernels>,
    pub sharing: Sharing,
    /// What the kernels read.
    members: Mutex<Mirror<Member>>,
    /// Where each system has a box of its own.
    boxes: Option<Mutex<BoxConstants>>,
    /// First system of the next launch, as the kernels have it.
    first: AtomicU32,
    controls: Arc<Buffer>,
    /// Of kernels that measure.
    sums: Buffer,
}

impl Members {
    /// Room for a number of systems of a plan.
    ///
    /// # Errors
    /// If the kernels cannot be compiled, or the GPU has no room.
    pub fn new<P: DevicePolicy>(
        session: &Arc<Session>,
        plan: &Plan,
        policy: &P,
        systems: usize,
        sharing: Sharing,
    ) -> Result<Arc<Self>, EngineError> {
        let force_field = ForceField::new(plan);
        let program = program(policy, plan, sharing);
        let mut members = Mirror::<Member>::new(session, systems, 1)?;
        let (kernels, boxes) = match plan.has_barostat() {
            false => (md_program::load(session, program, policy, &force_field)?, None),
            true => {
                let kernels = md_program::compiled(session, program)?;
                box_constants::set_others(&kernels, &force_field.constants(policy))?;
                let boxes = BoxConstants::new(session, systems, policy, &force_field)?;
                for (system, member) in members.all().iter_mut().enumerate() {
                    member.box_constants = boxes.pointer(system).to_const();
                }
                (kernels, Some(Mutex::new(boxes)))
            }
        };
        kernels.set("members", &members.pointer(0).to_const())?;
        kernels.set("first_member", &0u32)?;
        let sums = systems * size_of::<[SplitSum; ALL_SUMS]>();
        let advance = AdvanceKernels::load(&kernels)?;
        for kernel in advance.all() {
            kernels.allow_shared_memory(kernel, sharing.shared_bytes)?;
        }
        Ok(Arc::new(Members {
            session: session.clone(),
            measure: MeasureKernels::load(&kernels)?,
            advance,
            scale: ScaleKernels::load(&kernels)?,
            swap: match plan.may_swap() {
                true => Some(SwapKernels::load(&kernels)?),
                false => None,
            },
            piston: match plan.has_piston() {
                true => Some(PistonKernels::load(&kernels)?),
                false => None,
            },
            kernels: Arc::new(kernels),
            sharing,
            members: Mutex::new(members),
            boxes,
            first: AtomicU32::new(0),
            controls: Arc::new(Buffer::new(session, systems * size_of::<Control>())?),
            sums: Buffer::new(session, sums)?,
        }))
    }

    /// Number of systems.
    pub fn count(&self) -> usize {
        locked(&self.members).systems()
    }

    /// The part of all `Control`s that belongs to a system.
    pub fn control_of(&self, system: usize) -> Buffer {
        let bytes = size_of::<Control>();
        Buffer::part_of(&self.controls, system * bytes, bytes)
    }

    /// Changes what the kernels read of a system from the next launch on.
    pub fn change(&self, system: usize, change: impl FnOnce(&mut Member)) {
        change(&mut locked(&self.members).of(system)[0]);
    }

    /// Gives a system the constants of its box, as they lie in memory, from the next launch on.
    ///
    /// # Panics
    /// If all systems have one box. So below.
    pub fn set_box(&self, system: usize, constants: &[u8]) {
        locked(self.own_boxes()).set(system, constants);
    }

    /// The constants of the box of a system, as they lie in memory.
    pub fn constants_of_box(&self, system: usize) -> Vec<u8> {
        locked(self.own_boxes()).get(system).to_vec()
    }

    fn own_boxes(&self) -> &Mutex<BoxConstants> {
        self.boxes.as_ref().expect("systems have boxes of their own")
    }

    /// Makes a system the first one of the launches that follow, which see what has changed.
    ///
    /// # Errors
    /// If the GPU is lost. So in what follows.
    pub fn select(&self, system: usize) -> Result<(), EngineError> {
        locked(&self.members).send()?;
        if let Some(boxes) = &self.boxes {
            locked(boxes).send()?;
        }
        let system = system as u32;
        if self.first.swap(system, Ordering::Relaxed) == system {
            return Ok(());
        }
        self.kernels.set("first_member", &system)
    }

    /// The kernel that takes steps.
    pub fn kernel(&self, kind: Kind, single_lane: bool) -> Kernel<()> {
        self.advance.get(kind, single_lane)
    }

    fn grid(&self, systems: usize, threads: u32) -> Grid {
        let blocks = (self.sharing.blocks, systems as u32);
        let shared_bytes = self.sharing.shared_bytes;
        let grid = Grid::in_two_dimensions(blocks, threads);
        Grid { cooperative: blocks.0 > 1, shared_bytes, ..grid }
    }

    /// Takes steps of one system.
    pub fn launch_one(
        &self,
        system: usize,
        kernel: Kernel<()>,
        threads: u32,
        launch: &Launch,
        thermostat: &Thermostat,
    ) -> Result<(), EngineError> {
        self.change(system, |member| (member.launch, member.thermostat) = (*launch, *thermostat));
        self.select(system)?;
        self.kernels.launch(kernel, self.grid(1, threads), ())
    }

    /// Takes steps of all.
    pub fn launch_all(
        &self,
        kernel: Kernel<()>,
        threads: u32,
        launches: &[(Launch, Thermostat)],
        controls: &[Control],
    ) -> Result<(), EngineError> {
        self.controls.write(controls)?;
        for (member, launch) in locked(&self.members).all().iter_mut().zip(launches) {
            (member.launch, member.thermostat) = *launch;
        }
        let count = self.count();
        for first in (0..count).step_by(MOST_OF_LAUNCH) {
            self.select(first)?;
            let systems = (count - first).min(MOST_OF_LAUNCH);
            self.kernels.launch(kernel, self.grid(systems, threads), ())?;
        }
        Ok(())
    }

    /// Takes the trials of all systems to exchange diameters or species.
    pub fn swap_all(&self, swaps: &[Swaps], controls: &[Control]) -> Result<(), EngineError> {
        self.controls.write(controls)?;
        for (member, swaps) in locked(&self.members).all().iter_mut().zip(swaps) {
            member.swaps = *swaps;
        }
        let count = self.count();
        let kernel = self.swap.expect("the plan has swaps").swap_particles;
        for first in (0..count).step_by(MOST_OF_LAUNCH) {
            self.select(first)?;
            let systems = (count - first).min(MOST_OF_LAUNCH) as u32;
            let grid = Grid::in_two_dimensions((1, systems), swaps::threads::SWAP_THREADS);
            self.kernels.launch(kernel, grid, ())?;
        }
        Ok(())
    }

    /// What the launches have left; waits for them.
    pub fn controls(&self) -> Result<Vec<Control>, EngineError> {
        self.controls.read(self.count())
    }

    /// The sums of [`MeasureKernels`] for each system, over this many particles of each and lanes of their lists.
    pub fn measure_all(
        &self,
        particles: usize,
        lanes: usize,
        timestep: f64,
    ) -> Result<Vec<[SplitSum; ALL_SUMS]>, EngineError> {
        self.sums_of_all(|sums, systems| {
            let after = |count: u32| sums.add(count as usize);
            let measure = &self.measure;
            let kicks = (after(measured::STRESS_SUMS), timestep);
            let pairs = (after(measured::VELOCITY_SUMS),);
            let over = |threads| Grid::over_systems(&self.session.gpu, threads, systems);
            self.kernels.launch(measure.measure_kicks, over(particles), kicks)?;
            self.kernels.launch(measure.measure_velocities, over(particles), (sums,))?;
            self.kernels.launch(measure.measure_pairs, over(lanes), pairs)
        })
    }

    /// The sums of `measure_pairs` for each system, the first of what is returned, over this many lanes of the lists of each.
    pub fn pair_sums_of_all(&self, lanes: usize) -> Result<Vec<[SplitSum; ALL_SUMS]>, EngineError> {
        self.sums_of_all(|sums, systems| {
            let grid = Grid::over_systems(&self.session.gpu, lanes, systems);
            self.kernels.launch(self.measure.measure_pairs, grid, (sums,))
        })
    }

    /// Sums that kernels make, which are launched with the address of those of a first system and a number of systems.
    fn sums_of_all(
        &self,
        launch: impl Fn(Pointer<SplitSum>, u32) -> Result<(), EngineError>,
    ) -> Result<Vec<[SplitSum; ALL_SUMS]>, EngineError> {
        self.sums.clear(self.count() * size_of::<[SplitSum; ALL_SUMS]>())?;
        self.more_sums_of_all(launch)
    }

    /// The same where they are added to those that are there.
    fn more_sums_of_all(
        &self,
        launch: impl Fn(Pointer<SplitSum>, u32) -> Result<(), EngineError>,
    ) -> Result<Vec<[SplitSum; ALL_SUMS]>, EngineError> {
        let count = self.count();
        for first in (0..count).step_by(MOST_OF_LAUNCH) {
            self.select(first)?;
            let systems = (count - first).min(MOST_OF_LAUNCH) as u32;
            launch(self.sums.pointer::<SplitSum>().add(first * ALL_SUMS), systems)?;
        }
        let sums = self.sums.read::<SplitSum>(count * ALL_SUMS)?;
        Ok(sums.as_chunks().0.to_vec())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
