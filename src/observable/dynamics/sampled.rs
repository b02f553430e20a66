//! A particle in a sample as an engine may keep it: 32 bits for every number. Mirrors
//! `kernels/observable/sampled.cuh`.
use std::sync::Arc;

use crate::observable::particle_order::ParticleOrder;
use crate::observable::sample::{CenterOfMass, Contents, Sample};
use crate::system::SimulationBox;

/// Words of a particle for each axis: place as a fraction of the edge in `2^-32`, image, bits of the velocity as a
/// 32-bit float.
pub const WORDS: usize = 3;

const UNITS: f64 = 4_294_967_296.0;

/// All particles of a sample, by place, axis, word; and the centre of mass where it matters: its place without
/// periodic boundaries, and its velocity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledParticles {
    pub words: Vec<u32>,
    pub center: Option<[[f64; 3]; 2]>,
}

impl SampledParticles {
    /// From a sample on the host.
    pub fn new(sample: &Sample, simulation_box: &SimulationBox) -> Self {
        let dimension = simulation_box.dimension();
        let edges = simulation_box.padded_edges();
        let (position, image) = (sample.position.as_ref(), sample.image.as_ref());
        let velocity = sample.velocity.as_ref();
        let particles = position.or(velocity).map_or(0, |components| components[0].len());
        let mut words = Vec::with_capacity(particles * dimension * WORDS);
        for particle in 0..particles {
            for axis in 0..dimension {
                let x = position.map_or(0.0, |position| position[axis][particle]);
                let units = (x * (UNITS / edges[axis])).round_ties_even() as u64;
                let boxes = image.map_or(0, |image| image[axis][particle]);
                let v = velocity.map_or(0.0, |velocity| velocity[axis][particle]) as f32;
                words.extend([
                    units as u32,
                    boxes.wrapping_add((units >> 32) as i32) as u32,
                    v.to_bits(),
                ]);
            }
        }
        let center = sample.center_of_mass.map(|center| [center.position, center.velocity]);
        SampledParticles { words, center }
    }

    /// A sample on the host, with what `contents` names of particles.
    pub fn to_sample(
        &self,
        order: &ParticleOrder,
        contents: &Contents,
        simulation_box: &SimulationBox,
    ) -> Sample {
        let dimension = simulation_box.dimension();
        let edges = simulation_box.padded_edges();
        let word = |particle: usize, axis: usize, word: usize| match axis < dimension {
            true => self.words[(particle * dimension + axis) * WORDS + word],
            false => 0,
        };
        fn components<T>(count: usize, value: impl Fn(usize, usize) -> T) -> [Vec<T>; 3] {
            std::array::from_fn(|axis| (0..count).map(|particle| value(particle, axis)).collect())
        }
        let count = order.len();
        let of = |present: bool, value: &dyn Fn(usize, usize) -> f64| {
            present.then(|| components(count, value))
        };
        let position = |particle: usize, axis: usize| {
            f64::from(word(particle, axis, 0)) * (edges[axis] / UNITS)
        };
        let velocity =
            |particle: usize, axis: usize| f64::from(f32::from_bits(word(particle, axis, 2)));
        Sample {
            position: of(contents.positions, &position),
            image: contents
                .positions
                .then(|| components(count, |particle, axis| word(particle, axis, 1) as i32)),
            velocity: of(contents.velocities, &velocity),
            densities: Vec::new(),
            center_of_mass: self
                .center
                .map(|[position, velocity]| CenterOfMass { position, velocity }),
            carried: None,
        }
    }
}

/// Samples of all blocks of a correlation, as an engine holds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldSamples {
    /// Samples so far.
    pub samples: u64,
    /// Step of the first one.
    pub first_step: Option<u64>,
    /// Indices of the samples in the block of every level.
    pub entries: Vec<Vec<u64>>,
    /// With their indices, ascending.
    pub held: Vec<(u64, Arc<SampledParticles>)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::trajectories::{context, random_walk};

    #[test]
    fn a_sample_comes_back_within_its_units_and_then_to_the_bit() {
        for edges in [vec![6.0, 7.5, 8.25], vec![6.0, 7.3]] {
            let context = context(&edges, &[30, 11], 10);
            let order = ParticleOrder::new(&context).unwrap();
            let contents = Contents {
                positions: true,
                velocities: true,
                center_of_mass: true,
                ..Contents::default()
            };
            let snapshot = &random_walk(&context, 3, 2.0, 0, 1, 3)[2];
            let sample = Sample::new(snapshot, &order, &context, &contents, None);
            let box_ = &context.simulation_box;
            let kept = SampledParticles::new(&sample, box_);
            let back = kept.to_sample(&order, &contents, box_);
            for axis in 0..edges.len() {
                let place = |sample: &Sample, i: usize| {
                    sample.position.as_ref().unwrap()[axis][i]
                        + edges[axis] * f64::from(sample.image.as_ref().unwrap()[axis][i])
                };
                let velocity =
                    |sample: &Sample, i: usize| sample.velocity.as_ref().unwrap()[axis][i];
                for i in 0..order.len() {
                    let off = (place(&sample, i) - place(&back, i)).abs();
                    assert!(off <= 0.51 * edges[axis] / UNITS, "{off:e}");
                    let (v, w) = (velocity(&sample, i), velocity(&back, i));
                    assert!((v - w).abs() <= 6e-8 * v.abs());
                }
            }
            assert_eq!(SampledParticles::new(&back, box_), kept);
        }
    }

    #[test]
    fn a_place_that_rounds_to_the_edge_is_in_the_next_image() {
        let context = context(&[4.0, 4.0], &[1], 10);
        let order = ParticleOrder::new(&context).unwrap();
        let contents = Contents { positions: true, ..Contents::default() };
        let mut snapshot = random_walk(&context, 3, 0.1, 0, 1, 1).remove(0);
        snapshot.position = vec![[4.0 - 1e-10, 1.0, 0.0]];
        snapshot.image = vec![[-3, 2, 0]];
        let sample = Sample::new(&snapshot, &order, &context, &contents, None);
        let kept = SampledParticles::new(&sample, &context.simulation_box);
        assert_eq!(kept.words[..2], [0, -2i32 as u32]);
        assert_eq!(kept.words[3..5], [1 << 30, 2]);
    }
}
