//! The particles of a rank to the GPU and back.
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::domain::Part;

impl<P: DevicePolicy> CudaEngine<P, ()> {
    /// Copies the particles of a part to the GPU.
    pub(super) fn load_part(&mut self, part: &Part) -> Result<(), EngineError> {
        let to = &self.buffers.particles[0];
        for axis in 0..self.simulation_box.dimension() {
            let words = |values: &[[u64; 3]]| -> Vec<u64> {
                values.iter().map(|value| value[axis]).collect()
            };
            self.element_sizes.write(&to.position[axis], &words(&part.position))?;
            self.element_sizes.write(&to.velocity[axis], &words(&part.velocity))?;
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
        self.element_sizes.write_sites(&self.buffers.sites[0], &sites)?;
        self.set_count(part.count() as u32)?;
        self.write_control()
    }
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// This rank's particles.
    pub(super) fn read_part(&self) -> Result<Part, EngineError> {
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

    /// Forces on them, in the same order.
    pub(super) fn read_part_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        let count = self.own_count();
        let mut forces = vec![[0.0; 3]; count];
        for (axis, buffer) in self.buffers.force.iter().enumerate() {
            for (force, bits) in forces.iter_mut().zip(self.element_sizes.read(buffer, count)?) {
                force[axis] = self.policy.force_to_f64(P::force_from_bits(bits), axis);
            }
        }
        Ok(forces)
    }
}
