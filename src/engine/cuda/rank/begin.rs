//! The engine of a rank: its GPU, its memory, its first lists.
use std::sync::Arc;

use super::gpu_times::GpuTimes;
use super::halo::{Halo, HaloBuffers, HaloCapacity, record_bytes};
use super::kernels::{self, Present, REBUILDING_BLOCK, RankKernels};
use super::multi_rank::MultiRank;
use super::report::Reports;
use super::transport::{Messages, ThroughHost};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::Capacity;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::device::{Gpu, gpus};
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::force_field::ForceField;
use crate::engine::cuda::md_program::stepping_program;
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::neighbor_lists::{self, ListShape};
use crate::engine::cuda::particle_buffers::Source;
use crate::engine::cuda::piston::{self, PistonKernels};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::run_device::RunDevice;
use crate::engine::cuda::tuning;
use crate::engine::domain::{Communicator, Domain, Part, Start};
use crate::engine::skin::{self, Processor};
use crate::plan::{Coupling, Plan};
use crate::system::SimulationBox;

/// Room beyond what is expected, for fluctuations.
const SPARE: f64 = 1.15;
const SPARE_COUNT: f64 = 1024.0;

/// The program of a rank of a plan: text and macros; `for_tilts`: of boxes with a tilt, and of those that these pistons move.
pub fn program<P: DevicePolicy>(
    policy: &P,
    plan: &Plan,
    for_tilts: bool,
    pistons: Option<Coupling>,
) -> Program {
    let text = include_str!("../../../../kernels/domain/engine.cu");
    let mut checks = RankKernels::checks();
    if pistons.is_some() {
        checks += &PistonKernels::checks();
    }
    stepping_program("domain.cu", text, policy, plan, checks)
        .define([
            ("REBUILDING_BLOCK", REBUILDING_BLOCK.to_string()),
            ("TILTED", u32::from(for_tilts).to_string()),
        ])
        .define(piston::macros(pistons))
        .include(&kernels::SHARED)
}

/// The GPU of a rank: ranks of one host take its GPUs in turn.
fn gpu_of(communicator: &dyn Communicator) -> Result<Gpu, EngineError> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let gpus = gpus();
    let (before, _) = communicator.place_among(&host);
    let mut gpus = gpus?;
    let which = before % gpus.len();
    Ok(gpus.swap_remove(which))
}

/// Particles of a domain and of its halo, and most that are sent to one neighbor, of a homogeneous system.
fn expected_capacity(domain: &Domain, simulation_box: &SimulationBox) -> (Capacity, usize) {
    let density = domain.total as f64 / simulation_box.volume();
    let reach = domain.reach2().sqrt();
    let reaches = [domain.grid().widening() * reach, reach, reach];
    let count = domain.grid().count();
    let (mut own, mut with_halo) = (1.0, 1.0);
    for (axis, &edge) in simulation_box.edges().iter().enumerate() {
        let here = edge / f64::from(count[axis]);
        own *= here;
        with_halo *= if count[axis] > 1 { here + 2.0 * reaches[axis] } else { here };
    }
    let spare = |particles: f64| (particles * SPARE + SPARE_COUNT) as usize;
    let ghosts = spare((with_halo - own) * density);
    (Capacity { particles: spare(own * density), ghosts }, ghosts)
}

/// What a halo takes on the GPU before the ranks are joined.
struct HaloMemory {
    kernels: RankKernels,
    piston: Option<PistonKernels>,
    capacity: HaloCapacity,
    buffers: HaloBuffers,
    messages: Messages,
    transport: Box<ThroughHost>,
    reports: Reports,
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// The engine of a rank with some of the particles of a state. Collective.
    ///
    /// # Errors
    /// If a rank has no GPU, or its GPU no room; all ranks fail together.
    pub fn on_rank(
        plan: &Plan,
        start: &Start,
        part: &Part,
        communicator: Arc<dyn Communicator>,
    ) -> Result<Self, EngineError> {
        let simulation_box = &start.simulation_box;
        // The same on all ranks.
        let total = plan.system.particle_count();
        let (takes_tilts, ranks) = (start.takes_tilts, communicator.size());
        let processor = Processor::Gpu;
        let shared = skin::Shared { plan, simulation_box, takes_tilts, ranks, processor };
        let skin = shared.skin();
        let reach = plan.reach(skin);
        let gpu = gpu_of(&*communicator);
        let mut domain = Domain::new(communicator, start, total, reach)?;
        let made = gpu.and_then(|gpu| Self::of_domain(plan, start, part, gpu, skin, &domain));
        let (engine, memory) = domain.all_or_none(start.step, made)?;
        let mut halo = Halo::new(&domain, simulation_box);
        let report = memory.reports.pointer();
        halo.report = domain.all_or_none(start.step, report)?;
        let mut engine = engine.with(MultiRank::new(domain, halo, memory, takes_tilts));
        engine.check_tilt()?;
        let begun = engine.begin_multi_rank();
        engine.or_end_all(begun)?;
        Ok(engine)
    }

    /// An engine that holds a part, not yet among others, and the memory of its halo.
    fn of_domain(
        plan: &Plan,
        start: &Start,
        part: &Part,
        gpu: Gpu,
        skin: f64,
        domain: &Domain,
    ) -> Result<(CudaEngine<P, ()>, HaloMemory), EngineError> {
        let simulation_box = start.simulation_box;
        let session = Session::open(gpu)?;
        let (mut capacity, sent) = expected_capacity(domain, &simulation_box);
        capacity.particles = capacity.particles.max(part.count() + part.count() / 8);
        let threads = plan.run.threads_per_particle;
        let multiprocessors = session.gpu.multiprocessors;
        let shape = ListShape {
            skin,
            lanes_log2: threads.map_or_else(
                || {
                    tuning::default_lanes_log2(
                        domain.total / domain.grid().total(),
                        multiprocessors,
                    )
                },
                u32::ilog2,
            ),
            capacity: neighbor_lists::expected_capacity(plan, &simulation_box, skin),
            domains: domain.grid().count(),
            by_species: false,
            for_tilts: start.takes_tilts,
            entry_bytes: 4,
        };
        let device = |session, policy: &P, force_field: &ForceField<P>| {
            let program = program(policy, plan, start.takes_tilts, start.pistons);
            RunDevice::new(session, program, policy, force_field)
        };
        let mut engine = CudaEngine::empty(plan, start.clone(), session, device, shape, capacity)?;
        let kernels = RankKernels::load(engine.device.kernels())?;
        let piston = start.pistons.map(|_| PistonKernels::load(engine.device.kernels()));
        engine.state.load(&Source::of_part(part), None)?;
        engine.state.write_control()?;
        engine.set_system()?;
        let tiles = engine.neighbor_list.tiles(capacity.particles);
        let bins = engine.neighbor_list.bins();
        let halo_capacity = HaloCapacity { places: capacity, sent, bins, tiles };
        let (session, neighbors) = (engine.device.session(), domain.neighbors().count());
        // As domains are, so are messages: equally long on all ranks.
        let messages = Messages::new(
            session,
            neighbors,
            sent * record_bytes(engine.state.element_sizes())[1],
        )?;
        let memory = HaloMemory {
            kernels,
            piston: piston.transpose()?,
            capacity: halo_capacity,
            buffers: HaloBuffers::new(session, engine.state.element_sizes(), halo_capacity)?,
            transport: Box::new(ThroughHost::new(session, &messages)?),
            messages,
            reports: Reports::new(session)?,
        };
        Ok((engine, memory))
    }

    fn begin_multi_rank(&mut self) -> Result<(), EngineError> {
        self.stepper.halo.extent = self.state.count() as u32;
        self.connect()?;
        self.migrate(0.0)?;
        self.rebuild_with_ghosts(0.0)?;
        self.forces_everywhere()?;
        self.verify_now()
    }
}

impl MultiRank {
    fn new(domain: Domain, mut halo: Halo, memory: HaloMemory, takes_tilts: bool) -> Self {
        let HaloMemory { kernels, piston, capacity, buffers, messages, transport, reports } =
            memory;
        let neighbors = domain.neighbors().count();
        buffers.describe(capacity, &mut halo);
        MultiRank {
            kernels,
            piston,
            domain,
            halo,
            buffers,
            capacity,
            messages,
            transport,
            reports,
            writes_to_peers: false,
            sequence: 0,
            rebuilt_with_peers: 0,
            under_way: None,
            launches: 0,
            heats: 0,
            present: Present::Forces,
            takes_tilts,
            unnamed: false,
            halo_changed: false,
            send_to: vec![0; neighbors],
            ghosts_from: vec![0; neighbors],
            half: 0,
            stepping: [0; 2],
            times: GpuTimes::default(),
            repeated: 0,
        }
    }
}
