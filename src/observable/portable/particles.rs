//! Samples as a GPU keeps them, and their centre of mass. Mirrors `kernels/observable/sampled.cuh`, `records.cuh` and `centers.cu`.
use std::sync::Arc;

use super::lanes::{LANES, sum_in_lanes};
use crate::observable::dynamics::evaluation::{DensityEvaluation, Evaluation};
use crate::observable::dynamics::sampled::{SampledParticles, WORDS};
use crate::system::{SimulationBox, Snapshot, Species};

/// Threads that share the particles of a species.
const THREADS: usize = 256;

/// Where particles of samples are, and which they are.
#[derive(Clone, Debug)]
pub struct Particles {
    pub simulation_box: SimulationBox,
    /// Particles lie one species after the other.
    pub species: Vec<Species>,
    /// Ids in the order in which they lie; in that of ids if not given.
    pub order: Option<Arc<[u32]>>,
}

impl Particles {
    pub fn new(
        simulation_box: SimulationBox,
        species: &[Species],
        order: Option<&Arc<[u32]>>,
    ) -> Self {
        Particles { simulation_box, species: species.to_vec(), order: order.cloned() }
    }

    pub fn of_densities(evaluation: &DensityEvaluation) -> Self {
        let DensityEvaluation { simulation_box, species, order, .. } = evaluation;
        Particles::new(*simulation_box, species, order.as_ref())
    }

    pub fn of_pairs(evaluation: &Evaluation) -> Self {
        let Evaluation { simulation_box, species, order, .. } = evaluation;
        Particles::new(*simulation_box, species, order.as_ref())
    }

    pub fn count(&self) -> usize {
        self.species.iter().map(|species| species.count).sum()
    }

    pub fn dimension(&self) -> usize {
        self.simulation_box.dimension()
    }

    /// Chunks of at most `size` particles of one species: the species, and the first and the number of them.
    pub fn chunks(&self, size: usize) -> Vec<(usize, usize, usize)> {
        let mut chunks = Vec::new();
        let mut start = 0;
        for (index, species) in self.species.iter().enumerate() {
            for offset in (0..species.count).step_by(size) {
                chunks.push((index, start + offset, size.min(species.count - offset)));
            }
            start += species.count;
        }
        chunks
    }

    /// By place, the species.
    pub fn species_of_places(&self) -> Vec<u32> {
        let of =
            |(index, species): (usize, &Species)| std::iter::repeat_n(index as u32, species.count);
        self.species.iter().enumerate().flat_map(of).collect()
    }

    /// Words of all particles; with the centre of mass where it is wanted.
    ///
    /// # Panics
    /// If the snapshot has no fractions.
    pub fn sample(&self, snapshot: &Snapshot, with_center: bool) -> SampledParticles {
        let dimension = self.dimension();
        let edges = self.simulation_box.padded_edges();
        assert_eq!(snapshot.fraction.len(), snapshot.position.len(), "places as fractions");
        let mut words = Vec::with_capacity(self.count() * dimension * WORDS);
        let id_at = |place: usize| self.order.as_ref().map_or(place, |order| order[place] as usize);
        for place in 0..self.count() {
            let id = id_at(place);
            for axis in 0..dimension {
                let fraction = snapshot.fraction[id][axis];
                // Rounded up to the edge.
                let is_beyond = fraction == 0 && snapshot.position[id][axis] > 0.5 * edges[axis];
                let image = snapshot.image[id][axis].wrapping_add(i32::from(is_beyond));
                let velocity = snapshot.velocity[id][axis] as f32;
                words.extend([fraction, image as u32, velocity.to_bits()]);
            }
        }
        let mut sample = SampledParticles { words, center: None };
        sample.center = with_center.then(|| self.center(&sample));
        sample
    }

    /// Where the centre of mass is without periodic boundaries, and its velocity.
    fn center(&self, sample: &SampledParticles) -> [[f64; 3]; 2] {
        let (dimension, edges) = (self.dimension(), self.simulation_box.padded_edges());
        let (mut position, mut velocity, mut mass) = ([0.0_f64; 3], [0.0_f64; 3], 0.0_f64);
        let mut start = 0;
        for species in &self.species {
            let each = species.mass;
            mass = each.mul_add(species.count as f64, mass);
            for axis in 0..dimension {
                let word =
                    |place: usize, word: usize| word_of(sample, dimension, place, axis, word);
                let (mut fractions, mut images) = (0_i64, 0_i64);
                let mut velocities = [0.0; THREADS];
                for offset in 0..species.count {
                    fractions += i64::from(word(start + offset, 0));
                    images += i64::from(kept_image(word(start + offset, 1), dimension));
                    velocities[offset % THREADS] +=
                        f64::from(f32::from_bits(word(start + offset, 2)));
                }
                let boxes = (fractions as f64).mul_add(1.0 / 4_294_967_296.0, images as f64);
                position[axis] = each.mul_add(boxes * edges[axis], position[axis]);
                let of_warps =
                    velocities.chunks(LANES).map(|warp| sum_in_lanes(warp.iter().copied()));
                velocity[axis] =
                    each.mul_add(of_warps.fold(0.0, |sum, of| sum + of), velocity[axis]);
            }
            start += species.count;
        }
        [position.map(|r| r / mass), velocity.map(|v| v / mass)]
    }
}

/// A word of a particle along an axis.
#[inline(always)]
pub fn word_of(
    sample: &SampledParticles,
    dimension: usize,
    place: usize,
    axis: usize,
    word: usize,
) -> u32 {
    sample.words[(place * dimension + axis) * WORDS + word]
}

/// The image as it is kept: in three dimensions in 21 bits.
#[inline(always)]
pub fn kept_image(image: u32, dimension: usize) -> i32 {
    if dimension == 3 { (image << 11) as i32 >> 11 } else { image as i32 }
}

/// A place without periodic boundaries, in `2^-32` of the edge.
pub fn place_in_units(
    sample: &SampledParticles,
    dimension: usize,
    place: usize,
    axis: usize,
) -> i64 {
    let image = kept_image(word_of(sample, dimension, place, axis, 1), dimension);
    i64::from(image) << 32 | i64::from(word_of(sample, dimension, place, axis, 0))
}

/// What the centre of mass moves along an axis, in `2^-32` of the edge; zero where it is not known.
pub fn drift_in_units(
    origin: &SampledParticles,
    later: &SampledParticles,
    axis: usize,
    edge: f64,
) -> i64 {
    match (origin.center, later.center) {
        (Some([from, _]), Some([to, _])) => {
            ((to[axis] - from[axis]) / edge * 4_294_967_296.0).round_ties_even() as i64
        }
        _ => 0,
    }
}
