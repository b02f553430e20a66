//! The particles of one domain among others on a card; see [`crate::engine::domain`].
//!
//! The host leads: it has particles migrate and ghosts chosen when lists are rebuilt ([`rebuild`]), and takes the
//! steps between ([`steps`]). Messages travel by a [`transport`].
mod connect;
mod peer;
mod rebuild;
mod rim;
mod steps;
mod transport;

use std::cell::OnceCell;
use std::sync::Arc;

use self::rim::{Rim, RimBuffers, RimControl, RimRoom, record_bytes};
use self::transport::{Messages, ThroughHost, Transport};
use super::buffers::{Buffers, Control, Room, System, Widths, status};
use super::compile::Program;
use super::constants::DevicePolicy;
use super::device::{Card, cards};
use super::engine::CudaEngine;
use super::launch::{Kernels, program_of};
use super::lists::{self, ListShape};
use super::memory::Session;
use super::tuning;
use crate::engine::domain::{Communicator, Domain, Part, RankEngine, Start};
use crate::engine::{EngineError, StageContext, cpu};
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::SimulationBox;

/// What a rank's engine knows of the others.
pub struct CardDomain {
    pub domain: Domain,
    rim: Rim,
    buffers: RimBuffers,
    room: RimRoom,
    messages: Messages,
    transport: Box<dyn Transport>,
    /// Kernels write ghosts into the neighbours' memory by themselves.
    writes_to_peers: bool,
    /// Steps that were taken so.
    sequence: u64,
    /// Nanoseconds in them.
    with_peers: i64,
    /// Particles that each neighbour has as ghosts, and ghosts from each.
    lent_to: Vec<u32>,
    ghosts_from: Vec<u32>,
    /// Half of the incoming messages that the last exchange has filled.
    half: u32,
    /// Nanoseconds in steps.
    stepping: i64,
    /// Steps that were taken again with other lists.
    repeated: u64,
}

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
        let (mut engine, room, lent) = made.expect("all ranks have started");
        let rim = Rim::new(&domain, simulation_box);
        let with_others = CardDomain::new(&engine.session, domain, rim, room, lent, engine.widths);
        engine.domain = Some(Box::new(with_others?));
        let begun = engine.begin_with_others();
        engine.or_end_all(begun)?;
        Ok(engine)
    }

    /// An engine that holds a part, not yet among others; room of its rim, and for what is lent.
    fn of_domain(
        plan: &Plan,
        start: &Start,
        part: &Part,
        card: Card,
        skin: f64,
        domain: &Domain,
    ) -> Result<(Self, RimRoom, usize), EngineError> {
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
        Ok((engine, rim_room, lent))
    }

    /// Copies the particles of a part to the card.
    fn load_part(&mut self, part: &Part) -> Result<(), EngineError> {
        let to = &self.buffers.particles[0];
        for axis in 0..self.simulation_box.dimension() {
            let words = |values: &[[u64; 3]]| -> Vec<u64> {
                values.iter().map(|value| value[axis]).collect()
            };
            self.widths.write(&to.position[axis], &words(&part.position))?;
            self.widths.write(&to.velocity[axis], &words(&part.velocity))?;
            let image: Vec<i32> = part.image.iter().map(|image| image[axis]).collect();
            to.image[axis].write(&image)?;
        }
        to.id.write(&part.id)?;
        to.species.write(&part.species)?;
        let site = |position: &[u64; 3]| -> [u64; 3] {
            std::array::from_fn(|axis| {
                let coordinate = P::coordinate_from_bits(position[axis]);
                P::site_to_bits(self.policy.site(coordinate, axis))
            })
        };
        let sites: Vec<[u64; 3]> = part.position.iter().map(site).collect();
        self.widths.write_sites(&self.buffers.sites[0], &sites)?;
        self.write_control()
    }

    fn begin_with_others(&mut self) -> Result<(), EngineError> {
        self.with_others_mut().rim.extent = self.system.count;
        self.connect()?;
        self.migrate()?;
        self.rebuild_with_ghosts()?;
        self.forces_everywhere()?;
        self.verify_now()
    }

    /// Ghosts on this card.
    pub(super) fn ghost_count(&self) -> usize {
        self.domain.as_ref().map_or(0, |with_others| with_others.rim.ghosts as usize)
    }

    fn with_others(&self) -> &CardDomain {
        self.domain.as_ref().expect("a rank among others")
    }

    fn with_others_mut(&mut self) -> &mut CardDomain {
        self.domain.as_mut().expect("a rank among others")
    }

    fn write_control(&mut self) -> Result<(), EngineError> {
        self.control.barrier = [0; 2];
        self.control.status = status::DONE;
        self.control.list_need = 0;
        self.buffers.control.write(&[self.control])
    }

    fn read_control(&mut self) -> Result<(), EngineError> {
        // The host counts them.
        let rebuilds = self.control.rebuilds;
        self.control = self.buffers.control.read::<Control>(1)?[0];
        self.control.rebuilds = rebuilds;
        Ok(())
    }

    /// Makes the barrier ready for a cooperative launch.
    fn clear_barrier(&self) -> Result<(), EngineError> {
        self.buffers.control.clear(size_of_val(&self.control.barrier))
    }

    fn set_rim(&self) -> Result<(), EngineError> {
        self.kernels.set("rim", self.with_others().rim.bytes())
    }

    fn rim_control(&self) -> Result<RimControl, EngineError> {
        Ok(self.with_others().buffers.control.read::<RimControl>(1)?[0])
    }

    /// As [`RimControl::CLEAR`], after what was launched before.
    fn clear_rim_control(&self) -> Result<(), EngineError> {
        let control = &self.with_others().buffers.control;
        let steps = std::mem::offset_of!(RimControl, moved2);
        control.fill(0..steps, 0xFF)?;
        control.fill(steps..size_of::<RimControl>(), 0)
    }

    /// Whether no rank has met an error, outside of steps.
    pub(super) fn verify_now(&mut self) -> Result<(), EngineError> {
        match &mut self.domain {
            Some(with_others) => {
                with_others.domain.verify(0.0).fault.map_or(Ok(()), |(_, error)| Err(error))
            }
            None => Ok(()),
        }
    }

    /// Exchanges the outgoing messages.
    fn exchange(
        &mut self,
        lengths: &transport::Lengths,
        meanwhile: impl FnOnce(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut with_others = self.domain.take().expect("a rank among others");
        let mut meanwhile = Some(meanwhile);
        let exchanged = {
            let CardDomain { domain, messages, transport, .. } = &mut *with_others;
            let mut work = || meanwhile.take().map_or(Ok(()), |work| work(self));
            transport.exchange(domain, messages, lengths, &mut work)
        };
        if let Ok(half) = &exchanged {
            with_others.half = *half;
        }
        self.domain = Some(with_others);
        exchanged.map(drop)
    }
}

impl CardDomain {
    fn new(
        session: &Arc<Session>,
        domain: Domain,
        mut rim: Rim,
        room: RimRoom,
        lent: usize,
        widths: Widths,
    ) -> Result<Self, EngineError> {
        let neighbors = domain.neighbors().count();
        let buffers = RimBuffers::new(session, room)?;
        buffers.describe(&mut rim);
        // The same on all ranks.
        let [segment] = domain.largest([(lent * record_bytes(widths)[1]) as u64]);
        let messages = Messages::new(session, neighbors, segment as usize)?;
        let transport = Box::new(ThroughHost::new(session, &messages)?);
        Ok(CardDomain {
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
        })
    }
}

impl CardDomain {
    /// Adds how the ranks work together.
    pub fn report(&self, report: &mut serde_json::Value) {
        report["transport"] = self.transport.name().into();
        report["steps_with_peers"] = self.sequence.into();
        report["steps_repeated"] = self.repeated.into();
        report["ghosts"] = self.rim.ghosts.into();
    }
}

impl<P: DevicePolicy> RankEngine for CudaEngine<P> {
    fn part(&self) -> Part {
        self.read_part().unwrap_or_default()
    }

    fn part_forces(&self) -> Vec<[f64; 3]> {
        self.read_part_forces().unwrap_or_default()
    }

    fn thermostat(&self) -> &ThermostatState {
        &self.thermostat
    }

    fn nanoseconds(&self) -> [i64; 2] {
        let with_others = self.with_others();
        // Of the first block's time in steps with peers it has waited for ghosts so long.
        let control = self.buffers.control.read::<Control>(1);
        let cycles = control.map_or([0; 4], |control| control[0].cycles);
        let [all, waited, ..] = cycles.map(|cycles| cycles as f64);
        let waited = with_others.with_peers as f64 * (waited / all.max(1.0));
        [with_others.stepping, with_others.domain.waited() + waited as i64]
    }
}

impl<P: DevicePolicy> CudaEngine<P> {
    fn read_part(&self) -> Result<Part, EngineError> {
        let count = self.own_count();
        let particles = &self.buffers.particles[self.control.copy as usize];
        let mut part = Part {
            id: particles.id.read(count)?,
            species: particles.species.read(count)?,
            position: vec![[0; 3]; count],
            velocity: vec![[0; 3]; count],
            image: vec![[0; 3]; count],
        };
        for axis in 0..self.simulation_box.dimension() {
            let position = self.widths.read(&particles.position[axis], count)?;
            let velocity = self.widths.read(&particles.velocity[axis], count)?;
            let image = particles.image[axis].read::<i32>(count)?;
            for i in 0..count {
                part.position[i][axis] = position[i];
                part.velocity[i][axis] = velocity[i];
                part.image[i][axis] = image[i];
            }
        }
        Ok(part)
    }

    fn read_part_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        let count = self.own_count();
        let mut forces = vec![[0.0; 3]; count];
        for (axis, buffer) in self.buffers.force.iter().enumerate() {
            for (force, bits) in forces.iter_mut().zip(self.widths.read(buffer, count)?) {
                force[axis] = self.policy.force_to_f64(P::force_from_bits(bits), axis);
            }
        }
        Ok(forces)
    }
}
