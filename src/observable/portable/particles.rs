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

    /// With the centre of mass where it is wanted.
    ///
    /// # Panics
    /// If the snapshot has no fractions.
    pub fn sample(&self, snapshot: &Snapshot, with_center: bool) -> Columns {
        let edges = self.simulation_box.padded_edges();
        assert_eq!(snapshot.fraction.len(), snapshot.position.len(), "places as fractions");
        let mut sample = Columns::of(self.count());
        let id_at = |place: usize| self.order.as_ref().map_or(place, |order| order[place] as usize);
        for place in 0..self.count() {
            let id = id_at(place);
            for axis in 0..self.dimension() {
                let fraction = snapshot.fraction[id][axis];
                // Rounded up to the edge.
                let is_beyond = fraction == 0 && snapshot.position[id][axis] > 0.5 * edges[axis];
                let image = snapshot.image[id][axis].wrapping_add(i32::from(is_beyond));
                sample.fraction[axis][place] = fraction;
                sample.image[axis][place] = self.kept_image(image);
                sample.velocity[axis][place] = snapshot.velocity[id][axis] as f32;
            }
        }
        sample.center = with_center.then(|| self.center(&sample));
        sample
    }

    /// From the words of an engine.
    pub fn of_words(&self, sampled: &SampledParticles) -> Columns {
        let dimension = self.dimension();
        let mut sample = Columns::of(self.count());
        for place in 0..self.count() {
            for axis in 0..dimension {
                let words = &sampled.words[(place * dimension + axis) * WORDS..][..WORDS];
                sample.fraction[axis][place] = words[0];
                sample.image[axis][place] = self.kept_image(words[1] as i32);
                sample.velocity[axis][place] = f32::from_bits(words[2]);
            }
        }
        sample.center = sampled.center;
        sample
    }

    pub fn to_words(&self, sample: &Columns) -> SampledParticles {
        let mut words = Vec::with_capacity(self.count() * self.dimension() * WORDS);
        for place in 0..self.count() {
            for axis in 0..self.dimension() {
                let velocity = sample.velocity[axis][place].to_bits();
                words.extend([
                    sample.fraction[axis][place],
                    sample.image[axis][place] as u32,
                    velocity,
                ]);
            }
        }
        SampledParticles { words, center: sample.center }
    }

    /// The image as it is kept: in three dimensions in 21 bits.
    pub fn kept_image(&self, image: i32) -> i32 {
        if self.dimension() == 3 { image << 11 >> 11 } else { image }
    }

    /// Where the centre of mass is without periodic boundaries, and its velocity.
    fn center(&self, sample: &Columns) -> [[f64; 3]; 2] {
        let (dimension, edges) = (self.dimension(), self.simulation_box.padded_edges());
        let (mut position, mut velocity, mut mass) = ([0.0_f64; 3], [0.0_f64; 3], 0.0_f64);
        let mut start = 0;
        for species in &self.species {
            let each = species.mass;
            let places = start..start + species.count;
            mass = each.mul_add(species.count as f64, mass);
            for axis in 0..dimension {
                let fractions = &sample.fraction[axis][places.clone()];
                let images = &sample.image[axis][places.clone()];
                let fractions: i64 = fractions.iter().map(|&fraction| i64::from(fraction)).sum();
                let images: i64 = images.iter().map(|&image| i64::from(image)).sum();
                let mut velocities = [0.0; THREADS];
                for (offset, &v) in sample.velocity[axis][places.clone()].iter().enumerate() {
                    velocities[offset % THREADS] += f64::from(v);
                }
                let boxes = (fractions as f64).mul_add(1.0 / 4_294_967_296.0, images as f64);
                position[axis] = each.mul_add(boxes * edges[axis], position[axis]);
                let of_warps =
                    velocities.chunks(LANES).map(|warp| sum_in_lanes(warp.iter().copied()));
                velocity[axis] =
                    each.mul_add(of_warps.fold(0.0, |sum, of| sum + of), velocity[axis]);
            }
            start = places.end;
        }
        [position.map(|r| r / mass), velocity.map(|v| v / mass)]
    }
}

/// A sample, by axis: all that [`SampledParticles`] have, with some more at the end, so that whole warps can be read. In two dimensions the
/// third axis has zeros.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Places as fractions of the edge in `2^-32`.
    pub fraction: [Vec<u32>; 3],
    pub image: [Vec<i32>; 3],
    pub velocity: [Vec<f32>; 3],
    /// Where the centre of mass matters: its place without periodic boundaries, and its velocity.
    pub center: Option<[[f64; 3]; 2]>,
}

impl Columns {
    fn of(count: usize) -> Self {
        let length = count + LANES;
        Columns {
            fraction: std::array::from_fn(|_| vec![0; length]),
            image: std::array::from_fn(|_| vec![0; length]),
            velocity: std::array::from_fn(|_| vec![0.0; length]),
            center: None,
        }
    }

    #[inline(always)]
    pub fn fractions(&self, place: usize) -> [u32; 3] {
        [self.fraction[0][place], self.fraction[1][place], self.fraction[2][place]]
    }

    /// A place without periodic boundaries, in `2^-32` of the edge.
    pub fn place_in_units(&self, place: usize, axis: usize) -> i64 {
        i64::from(self.image[axis][place]) << 32 | i64::from(self.fraction[axis][place])
    }

    /// What the centre of mass moves along an axis until a later sample, in `2^-32` of the edge; zero where it is not known.
    pub fn drift_in_units(&self, later: &Columns, axis: usize, edge: f64) -> i64 {
        match (self.center, later.center) {
            (Some([from, _]), Some([to, _])) => {
                ((to[axis] - from[axis]) / edge * 4_294_967_296.0).round_ties_even() as i64
            }
            _ => 0,
        }
    }
}
