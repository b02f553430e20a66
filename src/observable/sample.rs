//! Snapshots in the form that correlations read: one array per component, particles sorted by species.
use std::ops::Range;

use super::{ObservableError, SampleContext};
use crate::system::Snapshot;

/// Particles of a chunk: the fixed unit of work and of partial sums.
pub(super) const CHUNK: usize = 256;

/// Particles that one inner loop handles at once.
pub const LANES: usize = 64;

/// Order of particles in samples: by species, by id within a species.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleOrder {
    /// Id of the particle at each place.
    ids: Vec<u32>,
    /// Places of every species.
    ranges: Vec<Range<usize>>,
}

impl ParticleOrder {
    /// # Errors
    /// If the numbers of particles in `species_of` are not those of `species`.
    pub fn new(context: &SampleContext) -> Result<Self, ObservableError> {
        let mut ids = Vec::with_capacity(context.species_of.len());
        let mut ranges = Vec::new();
        for (index, species) in context.species.iter().enumerate() {
            let start = ids.len();
            let members = context.species_of.iter().enumerate();
            ids.extend(
                members.filter(|&(_, &of)| usize::from(of) == index).map(|(id, _)| id as u32),
            );
            let found = ids.len() - start;
            if found != species.count {
                return Err(ObservableError::SpeciesMismatch {
                    species: species.name.clone(),
                    expected: species.count,
                    found,
                });
            }
            ranges.push(start..ids.len());
        }
        Ok(ParticleOrder { ids, ranges })
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn count(&self, species: usize) -> usize {
        self.ranges[species].len()
    }

    pub fn species_count(&self) -> usize {
        self.ranges.len()
    }

    /// Places of the particles of a species.
    pub fn places(&self, species: usize) -> Range<usize> {
        self.ranges[species].clone()
    }

    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Chunks of at most `size` particles of one species, as (species, places).
    pub(super) fn chunks(&self, size: usize) -> Vec<(usize, Range<usize>)> {
        let of_species = |(species, range): (usize, &Range<usize>)| {
            let range = range.clone();
            let end = range.end;
            range.step_by(size).map(move |start| (species, start..end.min(start + size)))
        };
        self.ranges.iter().enumerate().flat_map(of_species).collect()
    }
}

/// One snapshot; wrapped positions and images are kept apart, so that displacements over any time are
/// exact to the rounding of a coordinate in the box.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    position: [Vec<f64>; 3],
    image: [Vec<i32>; 3],
    /// Only where an observable needs it.
    velocity: Option<[Vec<f64>; 3]>,
}

impl Sample {
    pub fn new(snapshot: &Snapshot, order: &ParticleOrder, with_velocity: bool) -> Self {
        fn component<T: Copy>(order: &ParticleOrder, values: &[[T; 3]], k: usize) -> Vec<T> {
            order.ids.iter().map(|&id| values[id as usize][k]).collect()
        }
        Sample {
            position: std::array::from_fn(|k| component(order, &snapshot.position, k)),
            image: std::array::from_fn(|k| component(order, &snapshot.image, k)),
            velocity: with_velocity
                .then(|| std::array::from_fn(|k| component(order, &snapshot.velocity, k))),
        }
    }

    /// Bytes per particle held in a block.
    pub fn bytes_per_particle(with_velocity: bool) -> u64 {
        3 * (8 + 4) + if with_velocity { 3 * 8 } else { 0 }
    }

    /// All numbers in one array (images are exact).
    pub(super) fn to_array(&self) -> Vec<f64> {
        let mut array: Vec<f64> = self.position.iter().flatten().copied().collect();
        array.extend(self.image.iter().flatten().map(|&image| f64::from(image)));
        array.extend(self.velocity.iter().flatten().flatten());
        array
    }

    /// Inverse of [`to_array`](Self::to_array); `None` if the length is wrong.
    pub(super) fn from_array(array: &[f64], particles: usize, with_velocity: bool) -> Option<Self> {
        let components = if with_velocity { 9 } else { 6 };
        if array.len() != components * particles {
            return None;
        }
        let component = |k: usize| array[k * particles..(k + 1) * particles].to_vec();
        let image = |k| component(k).iter().map(|&image| image as i32).collect();
        Some(Sample {
            position: std::array::from_fn(component),
            image: std::array::from_fn(|k| image(3 + k)),
            velocity: with_velocity.then(|| std::array::from_fn(|k| component(6 + k))),
        })
    }
}

/// A chunk of particles at two times, and room for the work on it.
pub struct PairChunk {
    count: usize,
    displacement: [[f64; CHUNK]; 3],
    velocity: [[[f64; CHUNK]; 3]; 2],
    /// Kept from chunk to chunk, contents undefined.
    pub workspace: Vec<[f64; LANES]>,
}

impl PairChunk {
    pub(super) fn new() -> Self {
        PairChunk {
            count: 0,
            displacement: [[0.0; CHUNK]; 3],
            velocity: [[[0.0; CHUNK]; 3]; 2],
            workspace: Vec::new(),
        }
    }

    /// Loads the particles at `places` (at most a chunk).
    pub(super) fn load(
        &mut self,
        origin: &Sample,
        later: &Sample,
        places: Range<usize>,
        edges: [f64; 3],
    ) {
        let count = places.len();
        self.count = count;
        for (k, (target, edge)) in self.displacement.iter_mut().zip(edges).enumerate() {
            let (from, to) =
                (&origin.position[k][places.clone()], &later.position[k][places.clone()]);
            let from_image = &origin.image[k][places.clone()];
            let to_image = &later.image[k][places.clone()];
            for i in 0..count {
                // The difference of two images fits: a wrapping i32 counter only fails beyond 2^31 boxes.
                let boxes = f64::from(to_image[i].wrapping_sub(from_image[i]));
                target[i] = (to[i] - from[i]) + boxes * edge;
            }
            target[count..].fill(0.0);
        }
        for (target, sample) in self.velocity.iter_mut().zip([origin, later]) {
            let Some(velocity) = &sample.velocity else { return };
            for k in 0..3 {
                target[k][..count].copy_from_slice(&velocity[k][places.clone()]);
                target[k][count..].fill(0.0);
            }
        }
    }

    /// Number of particles; all arrays are filled up with zeros.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Displacement along one axis, `r(t) - r(0)` without periodic boundaries.
    pub fn displacement(&self, axis: usize) -> &[f64; CHUNK] {
        &self.displacement[axis]
    }

    /// Velocities along one axis at the origin and later; zero unless the observable needs them.
    pub fn velocities(&self, axis: usize) -> [&[f64; CHUNK]; 2] {
        [&self.velocity[0][axis], &self.velocity[1][axis]]
    }

    /// `|r(t) - r(0)|^2` of particle `i`.
    #[inline(always)]
    pub fn squared_displacement(&self, i: usize) -> f64 {
        let [x, y, z] = [0, 1, 2].map(|k| self.displacement[k][i]);
        x * x + y * y + z * z
    }

    /// Sum of `term(i)` over the chunk, in an order that is fixed and still fit for vector units.
    /// Terms of the zeros that fill up the chunk have to be zero.
    #[inline(always)]
    pub fn sum(&self, term: impl Fn(usize) -> f64) -> f64 {
        const WIDTH: usize = 8;
        let mut sums = [0.0; WIDTH];
        for start in (0..self.count).step_by(WIDTH) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += term(start + lane);
            }
        }
        sums.iter().sum()
    }
}
