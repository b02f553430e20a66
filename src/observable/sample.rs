//! Snapshots in the form that correlations read: one array per component, particles sorted by species.
use std::ops::Range;

use super::cells::Cells;
use super::density_modes::DensityModes;
use super::terms::Source;
use super::{ObservableError, SampleContext};
use crate::system::{SimulationBox, Snapshot};

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

/// What the samples of a correlation hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contents {
    pub positions: bool,
    pub velocities: bool,
    /// Number of density modes of every species.
    pub modes: usize,
}

impl Contents {
    /// What is in either.
    pub fn and(self, other: Contents) -> Contents {
        Contents {
            positions: self.positions || other.positions,
            velocities: self.velocities || other.velocities,
            modes: self.modes.max(other.modes),
        }
    }

    /// Memory of a sample in bytes.
    pub fn bytes(&self, particles: usize, species: usize) -> usize {
        let of = |present: bool, bytes: usize| if present { bytes } else { 0 };
        let per_particle = of(self.positions, 3 * (8 + 4)) + of(self.velocities, 3 * 8);
        per_particle * particles + 2 * 8 * self.modes * species
    }
}

/// What is kept of one snapshot. Wrapped positions and images are kept apart, so that displacements over
/// any time are exact to the rounding of a coordinate in the box.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    position: Option<[Vec<f64>; 3]>,
    image: Option<[Vec<i32>; 3]>,
    velocity: Option<[Vec<f64>; 3]>,
    /// By species, wave vector; real and imaginary part.
    densities: Vec<Vec<[f64; 2]>>,
}

impl Sample {
    pub(super) fn new(
        snapshot: &Snapshot,
        order: &ParticleOrder,
        contents: &Contents,
        modes: Option<&DensityModes>,
    ) -> Self {
        fn components<T: Copy>(order: &ParticleOrder, values: &[[T; 3]]) -> [Vec<T>; 3] {
            let component = |k| order.ids.iter().map(|&id| values[id as usize][k]).collect();
            std::array::from_fn(component)
        }
        Sample {
            position: contents.positions.then(|| components(order, &snapshot.position)),
            image: contents.positions.then(|| components(order, &snapshot.image)),
            velocity: contents.velocities.then(|| components(order, &snapshot.velocity)),
            densities: modes.map(|modes| modes.densities(snapshot, order)).unwrap_or_default(),
        }
    }

    /// Wrapped positions and images by axis.
    fn positions(&self) -> Option<(&[Vec<f64>; 3], &[Vec<i32>; 3])> {
        Some((self.position.as_ref()?, self.image.as_ref()?))
    }

    /// `rho_a(q)`: by species, wave vector; real and imaginary part.
    pub fn densities(&self) -> &[Vec<[f64; 2]>] {
        &self.densities
    }

    /// All numbers in one array (images are exact).
    pub(super) fn to_array(&self) -> Vec<f64> {
        let mut array: Vec<f64> = self.position.iter().flatten().flatten().copied().collect();
        array.extend(self.image.iter().flatten().flatten().map(|&image| f64::from(image)));
        array.extend(self.velocity.iter().flatten().flatten());
        array.extend(self.densities.iter().flatten().flatten());
        array
    }

    /// Inverse of [`to_array`](Self::to_array); `None` if the length is wrong.
    pub(super) fn from_array(
        mut array: &[f64],
        order: &ParticleOrder,
        contents: &Contents,
    ) -> Option<Self> {
        let mut take = |length: usize| {
            let (taken, rest) = array.split_at_checked(length)?;
            array = rest;
            Some(taken.to_vec())
        };
        let mut vectors = |present: bool| match present {
            true => Some(Some([take(order.len())?, take(order.len())?, take(order.len())?])),
            false => Some(None),
        };
        let position = vectors(contents.positions)?;
        let image = vectors(contents.positions)?
            .map(|image| image.map(|axis| axis.iter().map(|&image| image as i32).collect()));
        let velocity = vectors(contents.velocities)?;
        let mut densities = Vec::new();
        if contents.modes > 0 {
            for _ in 0..order.species_count() {
                densities.push(take(2 * contents.modes)?.as_chunks::<2>().0.to_vec());
            }
        }
        array.is_empty().then_some(Sample { position, image, velocity, densities })
    }
}

/// A sample that later ones are compared with.
pub struct Origin<'a> {
    pub(super) sample: &'a Sample,
    /// Its particles, where terms ask for them.
    pub(super) cells: Option<Cells>,
}

impl<'a> Origin<'a> {
    pub(super) fn new(
        sample: &'a Sample,
        source: impl Iterator<Item = Source>,
        simulation_box: &SimulationBox,
    ) -> Self {
        let mut needs_cells = false;
        source.for_each(|source| needs_cells |= source == Source::CollectiveOverlap);
        let cells = sample.position.as_ref().filter(|_| needs_cells).map(|position| {
            Cells::new(simulation_box, position[0].len(), |i| [0, 1, 2].map(|k| position[k][i]))
        });
        Origin { sample, cells }
    }
}

/// A chunk of particles at two times, and room for the work on it.
pub struct PairChunk<'a> {
    count: usize,
    origin: Option<&'a Origin<'a>>,
    displacement: [[f64; CHUNK]; 3],
    later_position: [[f64; CHUNK]; 3],
    velocity: [[[f64; CHUNK]; 3]; 2],
    /// Kept from chunk to chunk, contents undefined.
    pub workspace: Vec<[f64; LANES]>,
}

impl<'a> PairChunk<'a> {
    pub(super) fn new() -> Self {
        PairChunk {
            count: 0,
            origin: None,
            displacement: [[0.0; CHUNK]; 3],
            later_position: [[0.0; CHUNK]; 3],
            velocity: [[[0.0; CHUNK]; 3]; 2],
            workspace: Vec::new(),
        }
    }

    /// Loads the particles at `places` (at most a chunk).
    pub(super) fn load(
        &mut self,
        origin: &'a Origin<'a>,
        later: &Sample,
        places: Range<usize>,
        edges: [f64; 3],
    ) {
        let count = places.len();
        self.count = count;
        self.origin = Some(origin);
        let origin = origin.sample;
        if let (Some((from, from_image)), Some((to, to_image))) =
            (origin.positions(), later.positions())
        {
            for (k, (target, edge)) in self.displacement.iter_mut().zip(edges).enumerate() {
                let (from, to) = (&from[k][places.clone()], &to[k][places.clone()]);
                let from_image = &from_image[k][places.clone()];
                let to_image = &to_image[k][places.clone()];
                for i in 0..count {
                    // The difference of two images fits: a wrapping i32 counter only fails beyond 2^31 boxes.
                    let boxes = f64::from(to_image[i].wrapping_sub(from_image[i]));
                    target[i] = (to[i] - from[i]) + boxes * edge;
                }
                target[count..].fill(0.0);
                self.later_position[k][..count].copy_from_slice(to);
            }
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

    /// Wrapped position along one axis in the later sample.
    pub fn later_position(&self, axis: usize) -> &[f64; CHUNK] {
        &self.later_position[axis]
    }

    /// All particles of the earlier sample, wrapped.
    ///
    /// # Panics
    /// Unless the source of the terms asks for them.
    pub fn origin_cells(&self) -> &Cells {
        self.origin.and_then(|origin| origin.cells.as_ref()).expect("terms that asked for cells")
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
