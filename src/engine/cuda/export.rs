//! The state out of the card's memory, in id order, and errors that tell of particles.
use super::buffers::status;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::memory::Buffer;
use crate::engine::{EngineError, ExactState, MemoryLayout};
use crate::system::Snapshot;

impl<P: DevicePolicy> CudaEngine<P> {
    /// Ids in the order of memory.
    fn order(&self) -> Result<Vec<u32>, EngineError> {
        self.buffers.particles[self.control.copy as usize].id.read(self.particle_count())
    }

    /// Three components per particle in id order; the third is zero in two dimensions.
    fn in_id_order<T: Copy + Default>(
        &self,
        order: &[u32],
        axes: &[Buffer],
        read: impl Fn(&Buffer) -> Result<Vec<T>, EngineError>,
    ) -> Result<Vec<[T; 3]>, EngineError> {
        let mut all = vec![[T::default(); 3]; order.len()];
        for (axis, buffer) in axes.iter().enumerate() {
            for (&id, value) in order.iter().zip(read(buffer)?) {
                all[id as usize][axis] = value;
            }
        }
        Ok(all)
    }

    pub(super) fn read_state(&self) -> Result<ExactState, EngineError> {
        let count = self.particle_count();
        let order = self.order()?;
        let particles = &self.buffers.particles[self.control.copy as usize];
        let mut species_of = vec![0; count];
        for (&id, species) in order.iter().zip(particles.species.read::<u8>(count)?) {
            species_of[id as usize] = species;
        }
        let words = |buffer: &Buffer| self.widths.read(buffer, count);
        Ok(ExactState {
            precision: P::PRECISION,
            simulation_box: self.simulation_box,
            timestep: self.plan.run.timestep,
            step: self.step,
            species_of,
            position: self.in_id_order(&order, &particles.position, words)?,
            image: self.in_id_order(&order, &particles.image, |buffer| buffer.read(count))?,
            velocity: self.in_id_order(&order, &particles.velocity, words)?,
            thermostat: self.thermostat.clone(),
            memory: Some(MemoryLayout {
                order,
                reference: self.widths.read_sites(&self.buffers.reference, count)?,
                skin: self.shape.skin,
                rebuilds: self.control.rebuilds,
            }),
        })
    }

    pub(super) fn read_snapshot(&self) -> Result<Snapshot, EngineError> {
        let state = self.read_state()?;
        let dimension = self.simulation_box.dimension();
        let convert = |all: &[[u64; 3]], convert: &dyn Fn(u64, usize) -> f64| {
            let one =
                |bits: &[u64; 3]| {
                    std::array::from_fn(|axis| {
                        if axis < dimension { convert(bits[axis], axis) } else { 0.0 }
                    })
                };
            all.iter().map(one).collect()
        };
        Ok(Snapshot {
            step: self.step,
            position: convert(&state.position, &|bits, axis| {
                self.policy.coordinate_to_f64(P::coordinate_from_bits(bits), axis)
            }),
            image: state.image,
            velocity: convert(&state.velocity, &|bits, axis| {
                self.policy.velocity_to_f64(P::velocity_from_bits(bits), axis)
            }),
        })
    }

    pub(super) fn read_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        let count = self.particle_count();
        let order = self.order()?;
        let read = |buffer: &Buffer| self.widths.read(buffer, count);
        let forces = self.in_id_order(&order, &self.buffers.force, read)?;
        let dimension = self.simulation_box.dimension();
        let forces = forces
            .iter()
            .map(|bits| {
                std::array::from_fn(|axis| {
                    if axis >= dimension {
                        return 0.0;
                    }
                    self.policy.force_to_f64(P::force_from_bits(bits[axis]), axis)
                })
            })
            .collect();
        Ok(forces)
    }

    /// What the last launch ended with.
    pub(super) fn error(&self) -> EngineError {
        let culprit = self.control.culprit;
        match self.control.status {
            status::TOO_CLOSE => match self.closest_pair() {
                Ok((first, second)) => EngineError::TooClose {
                    step: self.step,
                    first,
                    second,
                    distance: self.distance(first, second),
                    precision: P::PRECISION.name(),
                },
                Err(error) => error,
            },
            status::RUNAWAY => match self.read_snapshot() {
                Ok(snapshot) => EngineError::Runaway {
                    step: self.step + 1,
                    particle: culprit,
                    position: snapshot.position[culprit as usize],
                    velocity: snapshot.velocity[culprit as usize],
                },
                Err(error) => error,
            },
            status => self.range_error(status, culprit),
        }
    }

    /// Distance of the nearest images of two particles in the sites that forces were computed from.
    fn distance(&self, first: u32, second: u32) -> f64 {
        let sites = &self.buffers.sites[self.control.site_copy as usize];
        let read = || -> Result<f64, EngineError> {
            let order = self.order()?;
            let sites = self.widths.read_sites(sites, order.len())?;
            let site = |id: u32| {
                order.iter().position(|&other| other == id).map_or([0; 3], |place| sites[place])
            };
            let (a, b) = (site(first), site(second));
            let r2: f64 = (0..self.simulation_box.dimension())
                .map(|axis| {
                    let (a, b) = (P::site_from_bits(a[axis]), P::site_from_bits(b[axis]));
                    let displacement = self.policy.displacement(a, b, axis);
                    use crate::arithmetic::Real;
                    self.policy.length(displacement, axis).to_f64().powi(2)
                })
                .sum();
            Ok(r2.sqrt())
        };
        read().unwrap_or(f64::NAN)
    }
}
