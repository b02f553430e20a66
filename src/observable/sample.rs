//! Snapshots in the form that correlations read: one array per component, particles sorted by species.
use std::ops::Range;

use super::cage::Cages;
use super::cells::Cells;
use super::density_modes::DensityModes;
use super::shear_stress::ShearStress;
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
    pub shear_stress: bool,
    /// The centre of mass, which everything else is taken relative to.
    pub center_of_mass: bool,
}

impl Contents {
    /// What is in either.
    pub fn and(self, other: Contents) -> Contents {
        Contents {
            positions: self.positions || other.positions,
            velocities: self.velocities || other.velocities,
            modes: self.modes.max(other.modes),
            shear_stress: self.shear_stress || other.shear_stress,
            center_of_mass: self.center_of_mass || other.center_of_mass,
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
    shear_stress: Option<ShearStress>,
    /// Where displacements are relative to it.
    center_of_mass: Option<CenterOfMass>,
}

/// Mean over all particles, weighted by mass; position without periodic boundaries.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CenterOfMass {
    position: [f64; 3],
    velocity: [f64; 3],
}

impl CenterOfMass {
    fn new(snapshot: &Snapshot, context: &SampleContext) -> Self {
        let (mut position, mut velocity, mut total) = ([0.0; 3], [0.0; 3], 0.0);
        for (particle, &species) in context.species_of.iter().enumerate() {
            let mass = context.species[usize::from(species)].mass;
            let r = snapshot.unwrapped(particle, &context.simulation_box);
            for k in 0..context.simulation_box.dimension() {
                position[k] += mass * r[k];
                velocity[k] += mass * snapshot.velocity[particle][k];
            }
            total += mass;
        }
        CenterOfMass {
            position: position.map(|r| r / total),
            velocity: velocity.map(|v| v / total),
        }
    }
}

/// Displacements of particles between two samples.
struct Displacement<'a> {
    earlier: &'a [Vec<f64>; 3],
    earlier_image: &'a [Vec<i32>; 3],
    later: &'a [Vec<f64>; 3],
    later_image: &'a [Vec<i32>; 3],
    edges: [f64; 3],
    drift: [f64; 3],
}

impl<'a> Displacement<'a> {
    fn new(
        origin: &'a Sample,
        later: &'a Sample,
        edges: [f64; 3],
        drift: [f64; 3],
    ) -> Option<Self> {
        Some(Displacement {
            earlier: origin.position.as_ref()?,
            earlier_image: origin.image.as_ref()?,
            later: later.position.as_ref()?,
            later_image: later.image.as_ref()?,
            edges,
            drift,
        })
    }

    /// Of all particles at `places`; the rest of `target` is zero.
    fn fill(&self, places: Range<usize>, axis: usize, target: &mut [f64; CHUNK]) {
        let (from, to) = (&self.earlier[axis][places.clone()], &self.later[axis][places.clone()]);
        let from_image = &self.earlier_image[axis][places.clone()];
        let to_image = &self.later_image[axis][places.clone()];
        let count = places.len();
        for i in 0..count {
            let boxes = f64::from(to_image[i].wrapping_sub(from_image[i]));
            target[i] = (to[i] - from[i]) + boxes * self.edges[axis] - self.drift[axis];
        }
        target[count..].fill(0.0);
    }

    fn of(&self, particle: usize, axis: usize) -> f64 {
        // The difference of two images fits: a wrapping i32 counter only fails beyond 2^31 boxes.
        let (from, to) = (self.earlier_image[axis][particle], self.later_image[axis][particle]);
        let boxes = f64::from(to.wrapping_sub(from));
        let wrapped = self.later[axis][particle] - self.earlier[axis][particle];
        wrapped + boxes * self.edges[axis] - self.drift[axis]
    }
}

impl Sample {
    pub(super) fn new(
        snapshot: &Snapshot,
        order: &ParticleOrder,
        context: &SampleContext,
        contents: &Contents,
        modes: Option<&DensityModes>,
        shear_stress: Option<ShearStress>,
    ) -> Self {
        fn components<T: Copy>(order: &ParticleOrder, values: &[[T; 3]]) -> [Vec<T>; 3] {
            let component = |k| order.ids.iter().map(|&id| values[id as usize][k]).collect();
            std::array::from_fn(component)
        }
        let center_of_mass = contents.center_of_mass.then(|| CenterOfMass::new(snapshot, context));
        let mut densities = modes.map(|modes| modes.densities(snapshot, order)).unwrap_or_default();
        if let (Some(modes), Some(center)) = (modes, &center_of_mass) {
            densities.iter_mut().for_each(|densities| modes.shift(densities, center.position));
        }
        Sample {
            position: contents.positions.then(|| components(order, &snapshot.position)),
            image: contents.positions.then(|| components(order, &snapshot.image)),
            velocity: contents.velocities.then(|| components(order, &snapshot.velocity)),
            densities,
            shear_stress,
            center_of_mass,
        }
    }

    /// Displacement of the centre of mass, where it is to be taken away.
    fn drift_until(&self, later: &Sample) -> [f64; 3] {
        match (&self.center_of_mass, &later.center_of_mass) {
            (Some(from), Some(to)) => std::array::from_fn(|k| to.position[k] - from.position[k]),
            _ => [0.0; 3],
        }
    }

    /// `rho_a(q)`: by species, wave vector; real and imaginary part.
    pub fn densities(&self) -> &[Vec<[f64; 2]>] {
        &self.densities
    }

    pub fn shear_stress(&self) -> Option<&ShearStress> {
        self.shear_stress.as_ref()
    }

    /// All numbers in one array (images are exact).
    pub(super) fn to_array(&self) -> Vec<f64> {
        let mut array: Vec<f64> = self.position.iter().flatten().flatten().copied().collect();
        array.extend(self.image.iter().flatten().flatten().map(|&image| f64::from(image)));
        array.extend(self.velocity.iter().flatten().flatten());
        array.extend(self.densities.iter().flatten().flatten());
        array.extend(self.shear_stress.iter().flat_map(|stress| stress.to_array()));
        array.extend(self.center_of_mass.iter().flat_map(|center| center.position));
        array.extend(self.center_of_mass.iter().flat_map(|center| center.velocity));
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
        let shear_stress = match contents.shear_stress {
            true => Some(ShearStress::from_array(&take(ShearStress::NUMBERS)?)),
            false => None,
        };
        let mut three = || -> Option<[f64; 3]> { take(3)?.try_into().ok() };
        let center_of_mass = match contents.center_of_mass {
            true => Some(CenterOfMass { position: three()?, velocity: three()? }),
            false => None,
        };
        array.is_empty().then_some(Sample {
            position,
            image,
            velocity,
            densities,
            shear_stress,
            center_of_mass,
        })
    }
}

/// What displacements are relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    Laboratory,
    /// The mean displacement of the neighbours at the time origin.
    Cage,
}

impl Frame {
    /// The displacement, for formulas.
    pub fn displacement(self) -> &'static str {
        match self {
            Frame::Laboratory => "r_i(t) - r_i(0)",
            Frame::Cage => "r_i(t) - r_i(0) - mean_j [r_j(t) - r_j(0)]",
        }
    }
}

/// What has to be known of the particles of a time origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Search {
    pub cells: bool,
    pub cage_radius: Option<f64>,
}

/// A sample that later ones are compared with.
pub struct Origin<'a> {
    pub(super) sample: &'a Sample,
    cells: Option<Cells>,
    cages: Option<Cages>,
}

impl<'a> Origin<'a> {
    pub(super) fn new(sample: &'a Sample, search: Search, simulation_box: &SimulationBox) -> Self {
        let mut origin = Origin { sample, cells: None, cages: None };
        let Some(position) = &sample.position else { return origin };
        if search.cells || search.cage_radius.is_some() {
            let place = |i: usize| [0, 1, 2].map(|k| position[k][i]);
            let cells = Cells::new(simulation_box, position[0].len(), place);
            origin.cages = search.cage_radius.map(|radius| Cages::new(position, &cells, radius));
            origin.cells = Some(cells);
        }
        origin
    }
}

/// A chunk of particles at two times, and room for the work on it.
pub struct PairChunk<'a> {
    count: usize,
    origin: Option<&'a Origin<'a>>,
    /// By [`Frame`], axis.
    displacement: [[[f64; CHUNK]; 3]; 2],
    frame: Frame,
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
            displacement: [[[0.0; CHUNK]; 3]; 2],
            frame: Frame::Laboratory,
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
        let cages = origin.cages.as_ref();
        let origin = origin.sample;
        let drift = origin.drift_until(later);
        if let Some(displacement) = Displacement::new(origin, later, edges, drift) {
            let [laboratory, cage] = &mut self.displacement;
            for axis in 0..3 {
                displacement.fill(places.clone(), axis, &mut laboratory[axis]);
                let later = &displacement.later[axis][places.clone()];
                for (target, later) in self.later_position[axis].iter_mut().zip(later) {
                    *target = later - drift[axis];
                }
                let Some(cages) = cages else { continue };
                let target = &mut cage[axis];
                for (i, particle) in places.clone().enumerate() {
                    let neighbors = cages.of(particle);
                    let sum: f64 =
                        neighbors.iter().map(|&j| displacement.of(j as usize, axis)).sum();
                    let mean =
                        if neighbors.is_empty() { 0.0 } else { sum / neighbors.len() as f64 };
                    target[i] = laboratory[axis][i] - mean;
                }
                target[count..].fill(0.0);
            }
        }
        for (target, sample) in self.velocity.iter_mut().zip([origin, later]) {
            let Some(velocity) = &sample.velocity else { return };
            for k in 0..3 {
                let drift = sample.center_of_mass.map_or(0.0, |center| center.velocity[k]);
                for (target, velocity) in target[k].iter_mut().zip(&velocity[k][places.clone()]) {
                    *target = velocity - drift;
                }
                target[k][count..].fill(0.0);
            }
        }
    }

    /// Number of particles; all arrays are filled up with zeros.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Says what displacements are relative to from now on.
    pub fn look_from(&mut self, frame: Frame) {
        self.frame = frame;
    }

    /// Displacement along one axis, `r(t) - r(0)` without periodic boundaries.
    pub fn displacement(&self, axis: usize) -> &[f64; CHUNK] {
        &self.displacement[self.frame as usize][axis]
    }

    /// Position along one axis in the later sample, wrapped but for the drift since the earlier one.
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
        let [x, y, z] = [0, 1, 2].map(|k| self.displacement(k)[i]);
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
