//! The engine of a rank: its card, its memory, its first lists.
use std::cell::OnceCell;
use std::sync::Arc;

use super::CardDomain;
use super::rim::{Rim, RimBuffers, RimRoom, record_bytes};
use super::transport::{Messages, ThroughHost};
use crate::engine::cuda::buffers::{Buffers, Control, Room, System, Widths};
use crate::engine::cuda::compile::Program;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::device::{Card, cards};
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::launch::{Kernels, program_of};
use crate::engine::cuda::lists::{self, ListShape};
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::tuning;
use crate::engine::domain::{Communicator, Domain, Part, Start};
use crate::engine::{EngineError, StageContext, cpu};
use crate::plan::Plan;
use crate::system::SimulationBox;

/// Room beyond what is expected, for fluctuations.
const SPARE: f64 = 1.15;
const SPARE_COUNT: f64 = 1024.0;

/// The program of a rank of a plan: text and macros.
pub fn program<P: DevicePolicy>(policy: &P, plan: &Plan) -> Program {
    let text = include_str!("../../../../kernels/domain/engine.cu");
    program_of("domain.cu", text, policy, plan)
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
        let skin = cpu::skin(plan);
        let reach = plan.potential.largest_cutoff() + skin;
        let total = plan.system.particle_count();
        let card = card_of(&*communicator);
        let mut domain = Domain::new(communicator, simulation_box, total, reach, start.step)?;
        let made = card.and_then(|card| Self::of_domain(plan, start, part, card, skin, &domain));
        let made = match made {
            Ok(made) => Some(made),
            Err(error) => {
                domain.note_fault(start.step, error);
                None
            }
        };
        if let Some((_, error)) = domain.verify(0.0).fault {
            return Err(error);
        }
        let (mut engine, memory) = made.expect("all ranks have started");
        let rim = Rim::new(&domain, simulation_box);
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
        let species = plan.system.species.clone();
        let policy = P::new(&simulation_box, plan.run.timestep, &species);
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
        };
        let widths = Widths::new(P::PRECISION, simulation_box.dimension());
        let all = room.particles + room.ghosts;
        tuning::check_memory(&session, all, species.len(), widths, shape)?;
        let kernels = Kernels::load_program(&session, program(&policy, plan), &policy, plan)?;
        let masses: Vec<f64> = species.iter().map(|species| species.mass).collect();
        let buffers = Buffers::new(&session, room, widths, &masses)?;
        let mut system = System::default();
        system.count = part.count() as u32;
        buffers.describe(&mut system);
        let lists = lists::allocate::<P>(
            &session,
            plan,
            &simulation_box,
            shape,
            room.particles,
            &mut system,
        )?;
        kernels.set("system", system.bytes())?;
        let tiles = room.particles.div_ceil(32 >> shape.lanes_log2);
        let rim_room = RimRoom { places: room, lent, bins: system.bins as usize, tiles };
        let neighbors = domain.neighbors().count();
        // As domains are, so are messages: equally long on all ranks.
        let messages = Messages::new(&session, neighbors, lent * record_bytes(widths)[1])?;
        let memory = RimMemory {
            room: rim_room,
            buffers: RimBuffers::new(&session, rim_room)?,
            transport: Box::new(ThroughHost::new(&session, &messages)?),
            messages,
        };
        let mut engine = CudaEngine {
            policy,
            plan: plan.clone(),
            simulation_box,
            species,
            session,
            kernels,
            widths,
            room,
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
            thermostat: start.thermostat.clone(),
            trials: Vec::new(),
        };
        engine.load_part(part)?;
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
        let RimMemory { room, buffers, messages, transport } = memory;
        let neighbors = domain.neighbors().count();
        buffers.describe(&mut rim);
        CardDomain {
            domain,
            rim,
            buffers,
            room,
            messages,
            transport,
            writes_to_peers: false,
            sequence: 0,
            with_peers: 0,
            lent_to: vec![0; neighbors],
            ghosts_from: vec![0; neighbors],
            half: 0,
            stepping: 0,
            repeated: 0,
        }
    }
}
