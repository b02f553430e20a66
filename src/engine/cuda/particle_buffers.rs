//! The arrays of particles on a GPU, and those of the host that they come from.
use std::sync::Arc;

use super::buffers::{Capacity, ElementSizes, Particles, SplitSum};
use super::constants::DevicePolicy;
use super::declare::Pointer;
use super::memory::{Buffer, Session};
use super::thermostat::SUMS_OF_BLOCK;
use crate::arithmetic::Real;
use crate::engine::domain::Part;
use crate::engine::{EngineError, ExactState};
use crate::system::Species;

/// One copy of all particles.
pub struct ParticleBuffers {
    pub position: Vec<Buffer>,
    pub velocity: Vec<Buffer>,
    pub image: Vec<Buffer>,
    pub id: Buffer,
    pub species: Buffer,
}

impl ParticleBuffers {
    pub fn new(
        session: &Arc<Session>,
        capacity: Capacity,
        element_sizes: ElementSizes,
    ) -> Result<Self, EngineError> {
        let count = capacity.particles;
        let per_axis = |bytes: usize| -> Result<Vec<Buffer>, EngineError> {
            let axes = 0..element_sizes.dimension();
            axes.map(|_| Buffer::new(session, count * bytes)).collect()
        };
        Ok(ParticleBuffers {
            position: per_axis(element_sizes.coordinate)?,
            velocity: per_axis(element_sizes.coordinate)?,
            image: per_axis(4)?,
            id: Buffer::new(session, capacity.places() * 4)?,
            species: Buffer::new(session, capacity.places())?,
        })
    }

    /// All arrays, in an order of their own.
    pub fn all(&self) -> impl Iterator<Item = &Buffer> {
        let axes = [&self.position, &self.velocity, &self.image];
        axes.into_iter().flatten().chain([&self.id, &self.species])
    }

    pub fn pointers(&self) -> Particles {
        Particles {
            position: pointers(&self.position),
            velocity: pointers(&self.velocity),
            image: pointers(&self.image),
            id: self.id.pointer(),
            species: self.species.pointer(),
        }
    }
}

/// Addresses of the axes that there are.
pub fn pointers<T>(axes: &[Buffer]) -> [Pointer<T>; 3] {
    std::array::from_fn(|axis| axes.get(axis).map_or(Pointer::NULL, Buffer::pointer))
}

/// The arrays of all particles, and what kernels share about them.
pub struct Buffers {
    pub particles: [ParticleBuffers; 2],
    pub sites: [Buffer; 2],
    pub force: Vec<Buffer>,
    pub mass: Buffer,
    pub diameter: Option<Buffer>,
    pub block_sums: Buffer,
}

impl Buffers {
    pub fn new(
        session: &Arc<Session>,
        capacity: Capacity,
        element_sizes: ElementSizes,
        species: &[Species],
        diameters: &[u64],
        blocks: usize,
    ) -> Result<Self, EngineError> {
        let masses: Vec<f64> = species.iter().map(|species| species.mass).collect();
        let particles = || ParticleBuffers::new(session, capacity, element_sizes);
        let site = element_sizes.site * element_sizes.site_stride();
        // Those of ghosts are written by other ranks.
        let sites = || match capacity.ghosts {
            0 => Buffer::new(session, capacity.places() * site),
            _ => Buffer::shared(session, capacity.places() * site),
        };
        Ok(Buffers {
            particles: [particles()?, particles()?],
            sites: [sites()?, sites()?],
            force: (0..element_sizes.dimension())
                .map(|_| Buffer::new(session, capacity.particles * element_sizes.force))
                .collect::<Result<_, _>>()?,
            mass: Buffer::holding(session, &masses)?,
            diameter: match diameters {
                [] => None,
                _ => Some(element_sizes.diameters_in(session, diameters)?),
            },
            block_sums: Buffer::new(session, (blocks * SUMS_OF_BLOCK + 1) * size_of::<SplitSum>())?,
        })
    }

    pub fn all(&self) -> impl Iterator<Item = &Buffer> {
        let particles = self.particles.iter().flat_map(ParticleBuffers::all);
        let few = [&self.mass, &self.block_sums];
        particles.chain(&self.sites).chain(&self.force).chain(few).chain(&self.diameter)
    }
}

/// Diameters as they stand in sites.
pub fn words_of<P: DevicePolicy>(diameters: &[f64]) -> Vec<u64> {
    diameters.iter().map(|&diameter| P::Real::from_f64(diameter).to_bits()).collect()
}

/// Arrays of the host that particles come from.
pub struct Source<'a> {
    /// Ids in the order of memory.
    pub id: &'a [u32],
    /// The other arrays are in id order; else they are in the order of memory.
    pub by_id: bool,
    pub species: &'a [u8],
    pub position: &'a [[u64; 3]],
    pub velocity: &'a [[u64; 3]],
    pub image: &'a [[i32; 3]],
    /// Of all particles of the system, by id; empty: those that they have had are kept.
    pub diameter: &'a [f64],
}

impl<'a> Source<'a> {
    /// A part, in its order.
    pub fn of_part(part: &'a Part) -> Self {
        Source {
            id: &part.id,
            by_id: false,
            species: &part.species,
            position: &part.position,
            velocity: &part.velocity,
            image: &part.image,
            diameter: &[],
        }
    }

    /// A whole system, in this order of ids.
    pub fn of_state(state: &'a ExactState, id: &'a [u32]) -> Self {
        Source {
            id,
            by_id: true,
            species: &state.species_of,
            position: &state.position,
            velocity: &state.velocity,
            image: &state.image,
            diameter: &state.diameter,
        }
    }

    /// Values of an array in the order of memory.
    pub fn in_order<T: Copy>(&self, values: &'a [T]) -> impl Iterator<Item = T> {
        let at = |(place, &id): (usize, &u32)| if self.by_id { id as usize } else { place };
        self.id.iter().enumerate().map(move |entry| values[at(entry)])
    }
}
