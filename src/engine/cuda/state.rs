//! The particles on a GPU: the box that they lie in, and the few numbers that kernels and host share about their arrays.
use std::cell::OnceCell;
use std::sync::Arc;

use super::buffers::{Capacity, Control, ElementSizes, System, status};
use super::constants::DevicePolicy;
use super::declare::Pointer;
use super::memory::{Buffer, Session};
use super::particle_buffers::{Buffers, ParticleBuffers, Source, pointers, words_of};
use super::transfer::{Copied, Piece, Transfer};
use crate::arithmetic::Real;
use crate::engine::EngineError;
use crate::engine::domain::{Part, Start};
use crate::engine::state::straightened;
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::{SimulationBox, Species, species_of_particles};

/// Particles on a GPU, in one precision, and their box.
pub struct State<P> {
    session: Arc<Session>,
    policy: P,
    simulation_box: SimulationBox,
    timestep: f64,
    species: Vec<Species>,
    element_sizes: ElementSizes,
    count: u32,
    /// Steps since the start of the run.
    pub step: u64,
    /// What kernels and host share, as it was after the last launch that the host has waited for.
    pub control: Control,
    /// Made for the first copy; `None` inside where the GPU has no room for it. Before the buffers: it
    /// waits for copies out of them when it is dropped.
    transfer: OnceCell<Option<Transfer>>,
    buffers: Buffers,
    control_buffer: Buffer,
    /// Blocks that take steps.
    blocks: usize,
}

impl<P: DevicePolicy> State<P> {
    /// Memory for particles that are still to be loaded; as many particles as there is room for. `control_buffer` is that of
    /// [`control`](Self::control); `blocks` take the steps.
    ///
    /// # Errors
    /// If the GPU has no room.
    pub fn new(
        session: &Arc<Session>,
        plan: &Plan,
        start: &Start,
        capacity: Capacity,
        control_buffer: Buffer,
        blocks: usize,
    ) -> Result<Self, EngineError> {
        let simulation_box = start.simulation_box;
        let (species, timestep) = (plan.system.species.clone(), plan.run.flight());
        let element_sizes = ElementSizes::of::<P>(plan);
        Ok(State {
            session: session.clone(),
            policy: P::new(&simulation_box, timestep, &species),
            simulation_box,
            timestep,
            buffers: Buffers::new(
                session,
                capacity,
                element_sizes,
                &species,
                &words_of::<P>(&start.diameter),
                blocks,
            )?,

            blocks,
            species,
            element_sizes,
            count: capacity.particles as u32,
            step: start.step,
            control: Control::default(),
            transfer: OnceCell::new(),
            control_buffer,
        })
    }

    /// Numbers of the precision in the present box.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    pub fn simulation_box(&self) -> &SimulationBox {
        &self.simulation_box
    }

    pub fn dimension(&self) -> usize {
        self.simulation_box.dimension()
    }

    /// Takes another box. Positions are those of the old one until others are [loaded](Self::load).
    pub fn set_box(&mut self, simulation_box: SimulationBox) {
        self.simulation_box = simulation_box;
        self.policy = P::new(&simulation_box, self.timestep, &self.species);
    }

    /// The nominal timestep.
    pub fn timestep(&self) -> f64 {
        self.timestep
    }

    pub fn species(&self) -> &[Species] {
        &self.species
    }

    /// Of all particles of the system.
    pub fn total_mass(&self) -> f64 {
        self.species.iter().map(|s| s.mass * s.count as f64).sum()
    }

    /// By id, as they stand in sites; `None` where particles have none.
    pub fn diameters(&self) -> Option<&Buffer> {
        self.buffers.diameter.as_ref()
    }

    pub fn element_sizes(&self) -> ElementSizes {
        self.element_sizes
    }

    /// Particles on this GPU.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Takes a number of particles as those on this GPU.
    pub fn set_count(&mut self, count: u32) {
        self.count = count;
    }

    /// Moves everything into larger memory.
    ///
    /// # Errors
    /// If the GPU has no room.
    pub fn grow(&mut self, capacity: Capacity) -> Result<(), EngineError> {
        let sizes = self.element_sizes;
        let diameters = match self.diameters() {
            Some(buffer) => sizes.read_diameters(buffer)?,
            None => Vec::new(),
        };
        let buffers =
            Buffers::new(&self.session, capacity, sizes, &self.species, &diameters, self.blocks)?;
        for (buffer, from) in buffers.all().zip(self.buffers.all()) {
            buffer.take_from(from)?;
        }
        self.buffers = buffers;
        Ok(())
    }

    /// Fills in where things lie.
    pub fn describe(&self, system: &mut System) {
        let Buffers { particles, sites, force, mass, diameter, block_sums } = &self.buffers;
        system.particles = [particles[0].pointers(), particles[1].pointers()];
        system.sites = [sites[0].pointer(), sites[1].pointer()];
        system.force = pointers(force);
        system.mass = mass.pointer();
        system.diameter = diameter.as_ref().map_or(Pointer::NULL, Buffer::pointer);
        system.block_sums = block_sums.pointer();
        system.control = self.control_buffer.pointer();
        system.count = self.count;
        let [x, y, _] = self.simulation_box.padded_edges();
        system.aspect = x / y;
    }

    /// The copy of the particles that is valid.
    pub fn particles(&self) -> &ParticleBuffers {
        &self.buffers.particles[self.control.copy as usize]
    }

    /// The copy of the sites that is valid.
    pub fn sites(&self) -> &Buffer {
        &self.buffers.sites[self.control.site_copy as usize]
    }

    /// Both copies of the sites.
    pub fn both_sites(&self) -> &[Buffer; 2] {
        &self.buffers.sites
    }

    /// What the kernels have left of what they share with the host; waits for them.
    ///
    /// # Errors
    /// If the GPU is lost. So in what follows.
    pub fn read_control(&self) -> Result<Control, EngineError> {
        Ok(self.control_buffer.read::<Control>(1)?[0])
    }

    /// Gives it to the GPU as the host has it, ready for the next launch.
    pub fn write_control(&mut self) -> Result<(), EngineError> {
        self.control.clear();
        self.control_buffer.write(&[self.control])
    }

    /// The same with what the thermostat remembers.
    pub fn lend_thermostat(&mut self, memory: &ThermostatState) -> Result<(), EngineError> {
        self.control.lend(memory)?;
        self.write_control()
    }

    /// Gives the GPU other values between launches, without taking them over.
    pub fn overwrite_control(&self, control: Control) -> Result<(), EngineError> {
        self.control_buffer.write(&[control])
    }

    /// Makes the barrier ready for the next cooperative launch.
    pub fn clear_barrier(&self) -> Result<(), EngineError> {
        self.control_buffer.clear(size_of_val(&self.control.barrier))
    }

    /// Copies particles to the GPU, and their sites, which are those of their positions if not given.
    pub fn load(&mut self, from: &Source, sites: Option<&[[u64; 3]]>) -> Result<(), EngineError> {
        let to = &self.buffers.particles[0];
        for axis in 0..self.simulation_box.dimension() {
            let words = |values| -> Vec<u64> {
                from.in_order(values).map(|value: [u64; 3]| value[axis]).collect()
            };
            self.element_sizes.write(&to.position[axis], &words(from.position))?;
            self.element_sizes.write(&to.velocity[axis], &words(from.velocity))?;
            let image: Vec<i32> = from.in_order(from.image).map(|image| image[axis]).collect();
            to.image[axis].write(&image)?;
        }
        to.id.write(from.id)?;
        to.species.write(&from.in_order(from.species).collect::<Vec<u8>>())?;
        let site = |position: [u64; 3]| -> [u64; 3] {
            std::array::from_fn(|axis| {
                let coordinate = P::coordinate_from_bits(position[axis]);
                P::site_to_bits(self.policy.site(coordinate, axis))
            })
        };
        let of_positions: Vec<[u64; 3]>;
        let sites = match sites {
            Some(sites) => sites,
            None => {
                of_positions = from.in_order(from.position).map(site).collect();
                &of_positions
            }
        };
        let diameters: Vec<u64> = match self.diameters() {
            None => Vec::new(),
            Some(buffer) => {
                if !from.diameter.is_empty() {
                    self.element_sizes.write_diameters(buffer, &words_of::<P>(from.diameter))?;
                }
                let all = self.element_sizes.read_diameters(buffer)?;
                from.id.iter().map(|&id| all[id as usize]).collect()
            }
        };
        self.element_sizes.write_sites(&self.buffers.sites[0], sites, &diameters)?;
        self.count = from.id.len() as u32;
        let tilt = self.simulation_box.tilt();
        self.control = Control {
            tilt,
            lists_made_at: tilt,
            lists_made_in: [self.step; 2],
            ..Control::default()
        };
        Ok(())
    }

    /// Takes over what a launch has left; the box has another tilt where it flows.
    pub fn take_control(&mut self, control: Control) {
        self.control = control;
        self.take_tilt(control.tilt);
    }

    /// The box has this tilt, skewed coordinates being as they are.
    pub fn take_tilt(&mut self, tilt: f64) {
        self.control.tilt = tilt;
        if tilt != self.simulation_box.tilt() {
            self.simulation_box = self.simulation_box.with_tilt(tilt);
            self.policy.set_tilt(tilt);
        }
    }

    /// The particles, in the order of memory.
    pub fn part(&self) -> Result<Part, EngineError> {
        let count = self.count();
        let particles = self.particles();
        let mut part = Part {
            id: particles.id.read(count)?,
            species: particles.species.read(count)?,
            position: vec![[0; 3]; count],
            velocity: vec![[0; 3]; count],
            image: vec![[0; 3]; count],
        };
        for axis in 0..self.dimension() {
            let position = self.element_sizes.read(&particles.position[axis], count)?;
            let velocity = self.element_sizes.read(&particles.velocity[axis], count)?;
            let image = particles.image[axis].read::<i32>(count)?;
            for i in 0..count {
                part.position[i][axis] = position[i];
                part.velocity[i][axis] = velocity[i];
                part.image[i][axis] = image[i];
            }
        }
        Ok(part)
    }

    /// Gives particles other ids, by those that they have, and the species of these.
    pub fn take_ids(&self, ids_after: &[u32]) -> Result<(), EngineError> {
        let (count, particles) = (self.count(), self.particles());
        let species_of = species_of_particles(&self.species);
        let mut ids = particles.id.read::<u32>(count)?;
        ids.iter_mut().for_each(|id| *id = ids_after[*id as usize]);
        let species: Vec<u8> = ids.iter().map(|&id| species_of[id as usize]).collect();
        particles.id.write(&ids)?;
        particles.species.write(&species)
    }

    /// Forces on them, in the same order; the third component is zero in two dimensions.
    pub fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        let count = self.count();
        let mut forces = vec![[0.0; 3]; count];
        for (axis, buffer) in self.buffers.force.iter().enumerate() {
            for (force, bits) in forces.iter_mut().zip(self.element_sizes.read(buffer, count)?) {
                force[axis] = self.policy.force_to_f64(P::force_from_bits(bits), axis);
            }
        }
        Ok(forces)
    }

    /// Ids in the order of memory, of the particles and this number of ghosts after them.
    pub fn ids(&self, ghosts: usize) -> Result<Vec<u32>, EngineError> {
        self.particles().id.read(self.count() + ghosts)
    }

    /// Position and velocity of a particle of this GPU, which has this number of ghosts.
    pub fn particle(&self, id: u32, ghosts: usize) -> Result<[[f64; 3]; 2], EngineError> {
        let place = self.ids(ghosts)?.iter().position(|&other| other == id).unwrap_or(0);
        let particles = self.particles();
        let (mut position, mut velocity) = ([0.0; 3], [0.0; 3]);
        for axis in 0..self.dimension() {
            let read = |buffer: &Buffer| self.element_sizes.read(buffer, place + 1);
            let bits = read(&particles.position[axis])?[place];
            position[axis] = self.policy.coordinate_to_f64(P::coordinate_from_bits(bits), axis);
            let bits = read(&particles.velocity[axis])?[place];
            velocity[axis] = self.policy.velocity_to_f64(P::velocity_from_bits(bits), axis);
        }
        Ok([straightened(vec![position], &self.simulation_box)[0], velocity])
    }

    /// Distance of the nearest images of two particles, or ghosts, of which there is this number, in the sites that
    /// forces were computed from; NaN if the GPU is lost.
    pub fn distance(&self, first: u32, second: u32, ghosts: usize) -> f64 {
        let read = || -> Result<f64, EngineError> {
            let order = self.ids(ghosts)?;
            let sites = self.element_sizes.read_sites(self.sites(), order.len())?;
            let site = |id: u32| {
                order.iter().position(|&other| other == id).map_or([0; 3], |place| sites[place])
            };
            let (a, b) = (site(first), site(second));
            let mut displacement = [P::Real::ZERO; 3];
            for axis in 0..self.dimension() {
                let (a, b) = (P::site_from_bits(a[axis]), P::site_from_bits(b[axis]));
                displacement[axis] = self.policy.displacement(a, b, axis);
            }
            let along = self.policy.straightened(displacement);
            let length = |axis: usize| self.policy.length(along[axis], axis).to_f64();
            let r2: f64 = (0..self.dimension()).map(|axis| length(axis).powi(2)).sum();
            Ok(r2.sqrt())
        };
        read().unwrap_or(f64::NAN)
    }

    /// Has arrays copied out; `most`: bytes of the largest copy.
    pub fn begin_copy(&self, pieces: &[Piece], most: usize) -> Result<Copied, EngineError> {
        let transfer = self.transfer.get_or_init(|| {
            Transfer::new(&self.session, most)
                .inspect_err(|error| tracing::debug!("frames are copied at once: {error}"))
                .ok()
        });
        Copied::begin(transfer.as_ref(), pieces)
    }

    /// A number of a kernel that did not fit.
    pub fn range_error(&self, status: u32, particle: u32) -> EngineError {
        let quantity = match status {
            status::VELOCITY_RANGE => "the velocity",
            status::TOO_CLOSE => "the force",
            _ => "the energy",
        };
        EngineError::OutOfRange { step: self.step, quantity, particle }
    }
}
