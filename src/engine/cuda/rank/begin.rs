//! The engine of a rank: its card, its memory, its first lists.
use std::sync::Arc;

use super::rebuild::REBUILDING_BLOCK;
use super::report::Reports;
use super::rim::{Rim, RimBuffers, RimRoom, record_bytes};
use super::transport::{Messages, ThroughHost};
use super::{CardDomain, CardTimes, Present};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::Room;
use crate::engine::cuda::compile::Program;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::device::{Card, cards};
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::launch::program_of;
use crate::engine::cuda::lists::{self, ListShape};
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::tuning;
use crate::engine::domain::{Communicator, Domain, Part, Start};
use crate::engine::skin::{self, Processor};
use crate::plan::Plan;
use crate::system::SimulationBox;

/// Room beyond what is expected, for fluctuations.
const SPARE: f64 = 1.15;
const SPARE_COUNT: f64 = 1024.0;

/// The program of a rank of a plan: text and macros.
pub fn program<P: DevicePolicy>(policy: &P, plan: &Plan) -> Program {
    let text = include_str!("../../../../kernels/domain/engine.cu");
    let mut program = program_of("domain.cu", text, policy, plan);
    program.macros.push(("REBUILDING_BLOCK".to_owned(), REBUILDING_BLOCK.to_string()));
    program
}

/// The card of a rank: ranks of one host take its cards in turn.
fn card_of(communicator: &dyn Communicator) -> Result<Card, EngineError> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let cards = cards();
    let (before, _) = communicator.place_among(&host);
    let mut cards = cards?;
    let which = before % cards.len();
    Ok(cards.swap_remove(which))
}

/// Particles of a domain and of its rim, and most that are lent to one neighbour, of a homogeneous system.
fn expected_room(domain: &Domain, simulation_box: &SimulationBox) -> (Room, usize) {
    let density = domain.total as f64 / simulation_box.volume();
    let reach = domain.reach2().sqrt();
    let count = domain.grid().count();
    let (mut own, mut with_rim) = (1.0, 1.0);
    for (axis, &edge) in simulation_box.edges().iter().enumerate() {
        let here = edge / f64::from(count[axis]);
        own *= here;
        with_rim *= if count[axis] > 1 { here + 2.0 * reach } else { here };
    }
    let spare = |particles: f64| (particles * SPARE + SPARE_COUNT) as usize;
    let ghosts = spare((with_rim - own) * density);
    (Room { particles: spare(own * density), ghosts }, ghosts)
}

/// What a rim takes on the card before the ranks are joined.
struct RimMemory {
    room: RimRoom,
    buffers: RimBuffers,
    messages: Messages,
    transport: Box<ThroughHost>,
    reports: Reports,
}

impl<P: DevicePolicy> CudaEngine<P> {
    /// The engine of a rank with some of the particles of a state. Collective.
    ///
    /// # Errors
    /// If a rank has no card, or its card no room; all ranks fail together.
    pub fn on_rank(
        plan: &Plan,
        start: &Start,
        part: &Part,
        communicator: Arc<dyn Communicator>,
    ) -> Result<Self, EngineError> {
        let simulation_box = &start.simulation_box;
        // The same on all ranks.
        let total = plan.system.particle_count();
        let skin = skin::on_ranks(plan, simulation_box, communicator.size(), Processor::Gpu);
        let reach = plan.potential.largest_cutoff() + skin;
        let card = card_of(&*communicator);
        let mut domain = Domain::new(communicator, simulation_box, total, reach, start.step)?;
        let made = card.and_then(|card| Self::of_domain(plan, start, part, card, skin, &domain));
        let (mut engine, memory) = domain.all_or_none(start.step, made)?;
        let mut rim = Rim::new(&domain, simulation_box);
        let report = memory.reports.pointer();
        rim.report = domain.all_or_none(start.step, report)?;
        engine.domain = Some(Box::new(CardDomain::new(domain, rim, memory)));
        let begun = engine.begin_with_others();
        engine.or_end_all(begun)?;
        Ok(engine)
    }

    /// An engine that holds a part, not yet among others, and the memory of its rim.
    fn of_domain(
        plan: &Plan,
        start: &Start,
        part: &Part,
        card: Card,
        skin: f64,
        domain: &Domain,
    ) -> Result<(Self, RimMemory), EngineError> {
        let simulation_box = start.simulation_box;
        let session = Session::open(card)?;
        let (mut room, lent) = expected_room(domain, &simulation_box);
        room.particles = room.particles.max(part.count() + part.count() / 8);
        let threads = plan.run.threads_per_particle;
        let multiprocessors = session.card.multiprocessors;
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
            room: lists::expected_room(plan, &simulation_box, skin),
            domains: domain.grid().count(),
        };
        let mut engine = Self::empty(plan, start.clone(), session, program, shape, room)?;
        engine.load_part(part)?;
        let tiles = room.particles.div_ceil(32 >> shape.lanes_log2);
        let rim_room = RimRoom { places: room, lent, bins: engine.system.bins as usize, tiles };
        let (session, neighbors) = (&engine.session, domain.neighbors().count());
        // As domains are, so are messages: equally long on all ranks.
        let messages = Messages::new(session, neighbors, lent * record_bytes(engine.widths)[1])?;
        let memory = RimMemory {
            room: rim_room,
            buffers: RimBuffers::new(session, rim_room)?,
            transport: Box::new(ThroughHost::new(session, &messages)?),
            messages,
            reports: Reports::new(session)?,
        };
        Ok((engine, memory))
    }

    fn begin_with_others(&mut self) -> Result<(), EngineError> {
        self.with_others_mut().rim.extent = self.system.count;
        self.connect()?;
        self.migrate()?;
        self.rebuild_with_ghosts()?;
        self.forces_everywhere()?;
        self.verify_now()
    }
}

impl CardDomain {
    fn new(domain: Domain, mut rim: Rim, memory: RimMemory) -> Self {
        let RimMemory { room, buffers, messages, transport, reports } = memory;
        let neighbors = domain.neighbors().count();
        buffers.describe(room, &mut rim);
        CardDomain {
            domain,
            rim,
            buffers,
            room,
            messages,
            transport,
            reports,
            writes_to_peers: false,
            sequence: 0,
            rebuilt_with_peers: 0,
            under_way: None,
            launches: 0,
            present: Present::Forces,
            unnamed: false,
            rim_changed: false,
            lent_to: vec![0; neighbors],
            ghosts_from: vec![0; neighbors],
            half: 0,
            stepping: [0; 2],
            times: CardTimes::default(),
            repeated: 0,
        }
    }
}
