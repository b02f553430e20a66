//! Places on the GPU for systems that descend side by side, and their launches.
use std::sync::Arc;

use super::DescentArgument;
use super::many_program::{
    Blocks, Configurations, DescentOutcome, DescentTurn, DescentsOfMany, LaunchNotes, ManyKernels,
    lanes_log2, program, shared_bytes, turn,
};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Control, ElementSizes, Particles, System};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::{Pointer, PolicyConstants};
use crate::engine::cuda::device::Gpu;
use crate::engine::cuda::force_field::ForceField;
use crate::engine::cuda::launch::{Grid, Kernels};
use crate::engine::cuda::md_program;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::neighbor_lists::{self, ListShape, expected_capacity};
use crate::engine::minimizer::Descent;
use crate::engine::precision::{Double, Policy};
use crate::engine::skin;
use crate::integrator::fire;
use crate::plan::{Plan, Precision};
use crate::system::{SimulationBox, species_of_particles};

/// Most places, and most memory for particles and lists.
const MOST_SLOTS: usize = 4096;
const MOST_BYTES: usize = 4 << 30;
/// A launch lasts about as long, so that systems that are done soon get their next configuration.
const NANOSECONDS: u64 = 50_000_000;

/// A configuration as the kernel takes it.
pub struct Packed {
    /// Constants of its box.
    pub policy: Double,
    /// By particle and axis.
    pub position: Vec<[f64; 3]>,
    pub image: Vec<[i32; 3]>,
    /// Empty where particles have none.
    pub diameter: Vec<f64>,
}

impl Packed {
    /// Of the nearest images of two places in the box.
    pub fn distance(&self, a: &[f64; 3], b: &[f64; 3]) -> f64 {
        let along = |axis: usize| self.policy.displacement(a[axis], b[axis], axis);
        let apart = self.policy.straightened([0, 1, 2].map(along));
        apart.iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}

/// The system of a block, and what it does first.
pub enum Turn<'a> {
    Begins(&'a Packed),
    /// [`turn::GOES_ON`](super::many_program::turn) or `SEARCHES`.
    Continues(u32),
}

/// Configurations that a launch has given, by entry.
pub struct Given {
    pub position: Vec<[f64; 3]>,
    pub image: Vec<[i32; 3]>,
}

/// Places for a number of systems.
pub struct Slots {
    session: Arc<Session>,
    kernels: Kernels,
    descend: ManyKernels,
    blocks: Blocks,
    arguments: DescentsOfMany,
    plan: Plan,
    count: usize,
    shape: ListShape,
    /// Whether boxes may have a tilt.
    for_tilts: bool,
    particles: ParticleBuffers,
    list: Buffer,
    /// Where everything lies, of each slot.
    systems: Buffer,
    exchange: Exchange,
}

/// What slots hold, one after the other, and what all of them need.
struct ParticleBuffers {
    position: Buffer,
    velocity: Buffer,
    force: Buffer,
    image: Buffer,
    reference: Buffer,
    row_ends: Buffer,
    control: Buffer,
    id: Buffer,
    species: Buffer,
    reach2: Buffer,
    first_of_species: Buffer,
}

impl ParticleBuffers {
    fn new(
        session: &Arc<Session>,
        plan: &Plan,
        slots: usize,
        skin: f64,
    ) -> Result<Self, EngineError> {
        let (particles, species) = (plan.system.particle_count(), &plan.system.species);
        let of_slots = |bytes: usize| Buffer::new(session, slots * bytes);
        let ids: Vec<u32> = (0..particles as u32).collect();
        let mut first_of_species = vec![0u32];
        for of in species {
            first_of_species.push(first_of_species.last().unwrap_or(&0) + of.count as u32);
        }
        let cutoffs = ForceField::<Double>::new(plan).cutoffs();
        let reach2: Vec<f64> = cutoffs.iter().map(|cutoff| (cutoff + skin).powi(2)).collect();
        Ok(ParticleBuffers {
            position: of_slots(24 * particles)?,
            velocity: of_slots(24 * particles)?,
            force: of_slots(24 * particles)?,
            image: of_slots(12 * particles)?,
            reference: of_slots(site_bytes(plan) * particles)?,
            row_ends: of_slots(4 * species.len() * particles)?,
            control: of_slots(size_of::<Control>())?,
            id: Buffer::holding(session, &ids)?,
            species: Buffer::holding(session, &species_of_particles(species))?,
            reach2: Buffer::holding(session, &reach2)?,
            first_of_species: Buffer::holding(session, &first_of_species)?,
        })
    }

    /// Where those of a slot lie.
    fn describe(&self, slot: usize, plan: &Plan, system: &mut System) {
        let (particles, species) = (plan.system.particle_count(), plan.system.species.len());
        system.particles[0] = Particles {
            position: axes(&self.position, slot, 8 * particles),
            velocity: axes(&self.velocity, slot, 8 * particles),
            image: axes(&self.image, slot, 4 * particles),
            id: self.id.pointer(),
            species: self.species.pointer(),
        };
        system.force = axes(&self.force, slot, 8 * particles);
        system.reference = part(&self.reference, slot, site_bytes(plan) * particles);
        system.row_ends = part(&self.row_ends, slot, 4 * species * particles);
        system.control = part(&self.control, slot, size_of::<Control>());
        system.reach2 = self.reach2.pointer();
        system.count = particles as u32;
    }
}

/// Bytes of a particle's site in memory.
fn site_bytes(plan: &Plan) -> usize {
    let diameters = plan.potential.diameters.is_some();
    ElementSizes::new(Precision::Double, plan.system.simulation_box.dimension(), diameters)
        .site_bytes()
}

/// Bytes of a particle in a slot, besides lists, and in what comes and goes.
const BYTES_OF_PARTICLE: usize = 220;

/// One of consecutive parts of a buffer.
fn part<T>(buffer: &Buffer, number: usize, bytes: usize) -> Pointer<T> {
    Pointer::at(buffer.address() + (number * bytes) as u64)
}

fn axes<T>(buffer: &Buffer, slot: usize, bytes: usize) -> [Pointer<T>; 3] {
    [0, 1, 2].map(|axis| part(buffer, 3 * slot + axis, bytes))
}

/// What a launch takes and gives, of all its blocks in one copy.
struct Exchange {
    turns: Buffer,
    boxes: Buffer,
    position: Buffer,
    image: Buffer,
    diameter: Buffer,
    found_position: Buffer,
    found_image: Buffer,
    outcomes: Buffer,
    notes: Buffer,
}

impl Exchange {
    fn new(
        session: &Arc<Session>,
        plan: &Plan,
        slots: usize,
        box_bytes: usize,
    ) -> Result<Self, EngineError> {
        let particles = plan.system.particle_count();
        let diameter_bytes = plan.potential.diameters.map_or(0, |_| 8);
        let of_slots = |bytes: usize| Buffer::new(session, slots * bytes);
        Ok(Exchange {
            turns: of_slots(size_of::<DescentTurn>())?,
            boxes: of_slots(box_bytes)?,
            position: of_slots(24 * particles)?,
            image: of_slots(12 * particles)?,
            diameter: of_slots(diameter_bytes * particles)?,
            found_position: of_slots(24 * particles)?,
            found_image: of_slots(12 * particles)?,
            outcomes: of_slots(size_of::<DescentOutcome>())?,
            notes: Buffer::new(session, size_of::<LaunchNotes>())?,
        })
    }

    fn configurations(&self) -> Configurations {
        Configurations {
            position: self.position.pointer::<f64>().to_const(),
            image: self.image.pointer::<i32>().to_const(),
            diameter: self.diameter.pointer::<f64>().to_const(),
            found_position: self.found_position.pointer(),
            found_image: self.found_image.pointer(),
        }
    }

    /// Hands over turns, each of a slot, with the constants of its box.
    fn write(&self, turns: &[(usize, &Double, Turn)]) -> Result<(), EngineError> {
        let (mut all, mut boxes) = (Vec::with_capacity(turns.len()), Vec::new());
        let (mut position, mut image, mut diameter) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = 0;
        for (slot, policy, turn) in turns {
            let slot = *slot as u32;
            boxes.extend(policy.constants().bytes());
            let (how, entry) = match turn {
                Turn::Continues(how) => (*how, 0),
                Turn::Begins(packed) => {
                    position.extend_from_slice(&packed.position);
                    image.extend_from_slice(&packed.image);
                    diameter.extend_from_slice(&packed.diameter);
                    entries += 1;
                    (turn::BEGINS, entries - 1)
                }
            };
            let tilt = policy.slope().tilt;
            all.push(DescentTurn { slot, how, entry, unused: 0, tilt });
        }
        self.turns.write(&all)?;
        self.boxes.write(&boxes)?;
        if entries == 0 {
            return Ok(());
        }
        self.position.write(&position)?;
        self.image.write(&image)?;
        self.diameter.write(&diameter)
    }
}

impl Slots {
    /// For this many systems, or as many as there is room for; `for_tilts`: in boxes that may have a tilt.
    ///
    /// # Errors
    /// If the kernel cannot be compiled, or the GPU has no room. So in what follows.
    pub fn new(
        descent: &Descent,
        systems: usize,
        gpu: &Gpu,
        for_tilts: bool,
    ) -> Result<Self, EngineError> {
        let plan = &descent.plan;
        let session = Session::open(gpu.clone())?;
        let blocks = Blocks::new(systems, gpu.multiprocessors);
        let shape = shape(plan, for_tilts);
        let particles = plan.system.particle_count();
        let of_lists = neighbor_lists::bytes(particles, plan.system.species.len(), shape);
        let room = MOST_BYTES / (BYTES_OF_PARTICLE * particles + of_lists);
        let count = systems.min(MOST_SLOTS).min(room.max(1));
        let policy =
            Double::new(&plan.system.simulation_box, plan.run.flight(), &plan.system.species);
        let kernels = md_program::compiled(&session, program(plan, blocks, for_tilts))?;
        ForceField::<Double>::new(plan).set_constants(&kernels, &policy)?;
        let descend = ManyKernels::load(&kernels)?;
        kernels.allow_shared_memory(descend.descend_many, shared_bytes(plan))?;
        let particles = ParticleBuffers::new(&session, plan, count, shape.skin)?;
        let box_bytes = policy.constants().bytes().len();
        let mut slots = Slots {
            arguments: arguments(descent, &particles),
            blocks,
            descend,
            kernels,
            plan: plan.clone(),
            count,
            shape,
            for_tilts,
            particles,
            list: Buffer::new(&session, 0)?,
            systems: Buffer::new(&session, count * size_of::<System>())?,
            exchange: Exchange::new(&session, plan, count, box_bytes)?,
            session,
        };
        slots.set_lists()?;
        Ok(slots)
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there may be a tilted box.
    pub fn takes(&self, simulation_box: &SimulationBox) -> bool {
        self.for_tilts || !simulation_box.is_tilted()
    }

    /// Makes room for lists of `need` entries and some more, which all systems under way must then search for.
    pub fn lengthen_lists(&mut self, need: usize) -> Result<(), EngineError> {
        tracing::debug!("lists of a descent are full: they grow");
        self.shape.capacity = need + need / 8;
        self.set_lists()
    }

    fn set_lists(&mut self) -> Result<(), EngineError> {
        let (plan, shape) = (&self.plan, self.shape);
        let (particles, species) = (plan.system.particle_count(), plan.system.species.len());
        let (rows, _) = neighbor_lists::size(particles, species, shape);
        let bytes = neighbor_lists::bytes(particles, species, shape);
        // The memory of the old ones may be needed.
        self.list = Buffer::new(&self.session, 0)?;
        self.list = Buffer::new(&self.session, self.count * bytes)?;
        let diameters = plan.potential.diameters.as_ref();
        let system = |slot: usize| {
            let mut system = System {
                list: part(&self.list, slot, bytes),
                rows: rows as u32,
                lanes_log2: shape.lanes_log2,
                limit2: (skin::SHARE * shape.skin).powi(2),
                unit_cutoff: plan.potential.pairs[0][0].cutoff,
                skin: shape.skin,
                widest_partner: diameters.map_or(0.0, |of| of.widest_partner()),
                ..System::default()
            };
            self.particles.describe(slot, plan, &mut system);
            system
        };
        let systems: Vec<System> = (0..self.count).map(system).collect();
        self.systems.write(&systems)
    }

    /// Lets systems descend, each in its slot; what has become of all slots.
    pub fn launch(
        &self,
        turns: &[(usize, &Double, Turn)],
    ) -> Result<Vec<DescentOutcome>, EngineError> {
        let exchange = &self.exchange;
        exchange.write(turns)?;
        exchange.notes.write(&[LaunchNotes::default()])?;
        let grid = Grid {
            shared_bytes: shared_bytes(&self.plan),
            ..Grid::of(turns.len() as u32, self.blocks.threads)
        };
        let arguments = (
            self.arguments,
            exchange.turns.pointer::<DescentTurn>().to_const(),
            self.systems.pointer::<System>().to_const(),
            exchange.boxes.pointer::<PolicyConstants>().to_const(),
            exchange.configurations(),
            exchange.outcomes.pointer::<DescentOutcome>(),
            exchange.notes.pointer::<LaunchNotes>(),
        );
        self.kernels.launch(self.descend.descend_many, grid, arguments)?;
        exchange.outcomes.read(self.count)
    }

    /// The first configurations that the last launch has given.
    pub fn given(&self, entries: usize) -> Result<Given, EngineError> {
        let particles = entries * self.plan.system.particle_count();
        Ok(Given {
            position: self.exchange.found_position.read(particles)?,
            image: self.exchange.found_image.read(particles)?,
        })
    }
}

/// Of the lists.
fn shape(plan: &Plan, for_tilts: bool) -> ListShape {
    let skin = skin::of_descents_on_a_gpu(plan, for_tilts);
    ListShape {
        skin,
        lanes_log2: lanes_log2(plan.system.particle_count()),
        capacity: expected_capacity(plan, &plan.system.simulation_box, skin),
        domains: [1; 3],
        by_species: false,
        entry_bytes: 2,
        for_tilts,
    }
}

fn arguments(descent: &Descent, particles: &ParticleBuffers) -> DescentsOfMany {
    let settings = &descent.settings;
    DescentsOfMany {
        descent: DescentArgument {
            force_tolerance: settings.force_tolerance,
            inertia: descent.inertia,
            furthest: descent.furthest,
            most: settings.maximum_iterations,
            ..DescentArgument::default()
        },
        timestep: settings.timestep,
        mixing: fire::MIXING,
        first_of_species: particles.first_of_species.pointer::<u32>().to_const(),
        nanoseconds: NANOSECONDS,
    }
}
