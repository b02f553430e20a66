//! The state out of the order of memory into that of ids.
use std::sync::Arc;

use super::engine::CpuEngine;
use crate::engine::precision::{Policy, rounded_fraction};
use crate::engine::state::straightened;
use crate::engine::{ExactState, MemoryLayout};
use crate::integrator::ThermostatState;
use crate::system::{SimulationBox, Snapshot};

/// What moves, as it lay in memory at one moment, and the numbers of that moment.
pub struct Copied<P: Policy> {
    policy: P,
    simulation_box: SimulationBox,
    timestep: f64,
    step: u64,
    id: Vec<u32>,
    diameter: Arc<[f64]>,
    position: [Vec<P::Coordinate>; 3],
    image: [Vec<i32>; 3],
    velocity: [Vec<P::Velocity>; 3],
}

/// What a state has besides.
pub struct CopiedLayout<P: Policy> {
    species: Vec<u8>,
    reference: [Vec<P::Site>; 3],
    thermostat: ThermostatState,
    skin: f64,
    rebuilds: u64,
    made_in: [u64; 2],
    tilt: f64,
}

impl<P: Policy> CpuEngine<P> {
    pub(super) fn copied(&self) -> Copied<P> {
        let chunks = &self.state.chunks;
        Copied {
            policy: self.state.policy().clone(),
            simulation_box: *self.state.simulation_box(),
            timestep: self.state.timestep(),
            step: self.state.step,
            id: joined(chunks.iter().map(|chunk| &chunk.id)),
            diameter: self.state.diameters().clone(),
            position: std::array::from_fn(|axis| {
                joined(chunks.iter().map(|chunk| &chunk.position[axis]))
            }),
            image: std::array::from_fn(|axis| {
                joined(chunks.iter().map(|chunk| &chunk.image[axis]))
            }),
            velocity: std::array::from_fn(|axis| {
                joined(chunks.iter().map(|chunk| &chunk.velocity[axis]))
            }),
        }
    }

    pub(super) fn copied_layout(&self) -> CopiedLayout<P> {
        CopiedLayout {
            species: joined(self.state.chunks.iter().map(|chunk| &chunk.species)),
            reference: std::array::from_fn(|axis| {
                joined(self.state.chunks.iter().map(|chunk| &chunk.reference[axis]))
            }),
            thermostat: self.thermostat.clone(),
            skin: self.neighbor_lists.skin(),
            rebuilds: self.neighbor_lists.rebuilds(),
            made_in: self.neighbor_lists.made_in(),
            tilt: self.neighbor_lists.tilt(),
        }
    }

    pub(super) fn forces_by_id(&self) -> Vec<[f64; 3]> {
        let mut all = vec![[0.0; 3]; self.particle_count()];
        let ids = self.state.chunks.iter().flat_map(|chunk| &chunk.id);
        for (&id, force) in ids.zip(self.state.forces()) {
            all[id as usize] = force;
        }
        all
    }
}

fn joined<'a, T: Copy + 'a>(parts: impl Iterator<Item = &'a Vec<T>>) -> Vec<T> {
    let mut all = Vec::new();
    parts.for_each(|part| all.extend_from_slice(part));
    all
}

impl<P: Policy> Copied<P> {
    pub fn snapshot(&self) -> Snapshot {
        let skewed = self.by_id(&self.position, |x, axis| self.policy.coordinate_to_f64(x, axis));
        Snapshot {
            step: self.step,
            position: straightened(skewed, &self.simulation_box),
            fraction: match P::HAS_FRACTIONS {
                true => {
                    self.by_id(&self.position, |x, _| rounded_fraction(P::coordinate_to_bits(x)))
                }
                false => Vec::new(),
            },
            image: self.by_id(&self.image, |image, _| image),
            velocity: self.by_id(&self.velocity, |v, axis| self.policy.velocity_to_f64(v, axis)),
            diameter: self.diameter.clone(),
        }
    }

    pub fn state(&self, layout: &CopiedLayout<P>) -> ExactState {
        let mut species_of = vec![0; self.id.len()];
        for (&id, &species) in self.id.iter().zip(&layout.species) {
            species_of[id as usize] = species;
        }
        let site = |i: usize| std::array::from_fn(|k| P::site_to_bits(layout.reference[k][i]));
        ExactState {
            precision: P::PRECISION,
            simulation_box: self.simulation_box,
            timestep: self.timestep,
            step: self.step,
            species_of,
            diameter: self.diameter.clone(),
            position: self.by_id(&self.position, |x, _| P::coordinate_to_bits(x)),
            image: self.by_id(&self.image, |image, _| image),
            velocity: self.by_id(&self.velocity, |v, _| P::velocity_to_bits(v)),
            thermostat: layout.thermostat.clone(),
            memory: Some(MemoryLayout {
                order: self.id.clone(),
                reference: (0..self.id.len()).map(site).collect(),
                skin: layout.skin,
                threads_per_particle: None,
                rebuilds: layout.rebuilds,
                made_in: layout.made_in,
                tilt: layout.tilt,
            }),
        }
    }

    /// Three components per particle in id order.
    fn by_id<T: Copy, U: Copy + Default>(
        &self,
        axes: &[Vec<T>; 3],
        convert: impl Fn(T, usize) -> U,
    ) -> Vec<[U; 3]> {
        let mut all = vec![[U::default(); 3]; self.id.len()];
        for (i, &id) in self.id.iter().enumerate() {
            all[id as usize] = std::array::from_fn(|axis| convert(axes[axis][i], axis));
        }
        all
    }
}
