//! Particles at two times, as terms of time correlations read them.
use std::ops::Range;

use super::cages::Cages;
use super::evaluator::Evaluator;
use crate::observable::cells::Cells;
use crate::observable::cosines::nearest_integer;
use crate::observable::particle_order::{CHUNK, LANES};
use crate::observable::sample::Sample;
use crate::plan::CorrelationPlan;
use crate::system::SimulationBox;

/// What displacements are relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    Laboratory,
    /// The mean displacement of the neighbors at the time origin.
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
    pub bond_radius: Option<f64>,
}

impl Search {
    /// For terms that these evaluate.
    pub(super) fn of(
        evaluators: impl Iterator<Item = Evaluator>,
        plan: &CorrelationPlan,
    ) -> Search {
        let mut search = Search::default();
        for evaluator in evaluators {
            match evaluator {
                Evaluator::Places => search.cells = true,
                Evaluator::Bonds => search.bond_radius = plan.bonds.map(|bonds| bonds.radius),
                Evaluator::Cages => search.cage_radius = plan.cage_radius,
                Evaluator::Particles
                | Evaluator::Densities
                | Evaluator::Stress
                | Evaluator::Host => {}
            }
        }
        search
    }
}

/// A sample that later ones are compared with.
pub struct Origin<'a> {
    pub(super) sample: &'a Sample,
    cells: Option<Cells>,
    cages: Option<Cages>,
    bonds: Option<Cages>,
}

impl<'a> Origin<'a> {
    pub(super) fn new(sample: &'a Sample, search: Search, simulation_box: &SimulationBox) -> Self {
        let mut origin = Origin { sample, cells: None, cages: None, bonds: None };
        let Some(position) = &sample.position else { return origin };
        let simulation_box = sample.box_of(simulation_box);
        let radii = [search.cage_radius, search.bond_radius];
        if search.cells || radii.iter().any(Option::is_some) {
            let place = |i: usize| match &sample.carried {
                Some(_) => simulation_box.wrapped(sample.place(i)),
                None => sample.place(i),
            };
            let particles = position[0].len();
            let cells = Cells::new(&simulation_box, particles, place);
            [origin.cages, origin.bonds] =
                radii.map(|radius| Some(Cages::new(particles, place, &cells, radius?)));
            origin.cells = Some(cells);
        }
        origin
    }

    /// Displacements of all particles until a later sample, where cages ask for them.
    pub(super) fn moved(
        &self,
        later: &Sample,
        simulation_box: &SimulationBox,
    ) -> Option<Vec<[f64; 3]>> {
        self.cages.as_ref()?;
        let drift = self.sample.drift_until(later);
        Some(Displacement::new(self.sample, later, simulation_box, drift)?.all())
    }
}

/// Displacements of particles between two samples.
pub(super) struct Displacement<'a> {
    earlier: &'a [Vec<f64>; 3],
    earlier_image: &'a [Vec<i32>; 3],
    later: &'a [Vec<f64>; 3],
    later_image: &'a [Vec<i32>; 3],
    simulation_box: SimulationBox,
    drift: [f64; 3],
}

impl<'a> Displacement<'a> {
    pub(super) fn new(
        origin: &'a Sample,
        later: &'a Sample,
        simulation_box: &SimulationBox,
        drift: [f64; 3],
    ) -> Option<Self> {
        Some(Displacement {
            earlier: origin.position.as_ref()?,
            earlier_image: origin.image.as_ref()?,
            later: later.position.as_ref()?,
            later_image: later.image.as_ref()?,
            simulation_box: *simulation_box,
            drift,
        })
    }

    /// Of all particles at `places`; the rest of `target` is zero.
    fn fill(&self, places: Range<usize>, axis: usize, target: &mut [f64; CHUNK]) {
        let (from, to) = (&self.earlier[axis][places.clone()], &self.later[axis][places.clone()]);
        let from_image = &self.earlier_image[axis][places.clone()];
        let to_image = &self.later_image[axis][places.clone()];
        let count = places.len();
        let edge = self.simulation_box.padded_edges()[axis];
        for i in 0..count {
            // The difference of two images fits: a wrapping i32 counter only fails beyond 2^31 boxes.
            let boxes = f64::from(to_image[i].wrapping_sub(from_image[i]));
            target[i] = (to[i] - from[i]) + boxes * edge - self.drift[axis];
        }
        if axis == 0 && self.simulation_box.is_tilted() {
            let shift = self.simulation_box.tilt() * edge;
            let images = self.earlier_image[1][places.clone()].iter();
            let images = images.zip(&self.later_image[1][places]);
            for (moved, (from, to)) in target.iter_mut().zip(images) {
                *moved += shift * f64::from(to.wrapping_sub(*from));
            }
        }
        target[count..].fill(0.0);
    }

    /// Of all particles.
    pub(super) fn all(&self) -> Vec<[f64; 3]> {
        let particles = self.later[0].len();
        let mut all = vec![[0.0; 3]; particles];
        let mut component = [0.0; CHUNK];
        for start in (0..particles).step_by(CHUNK) {
            let places = start..particles.min(start + CHUNK);
            for axis in 0..3 {
                self.fill(places.clone(), axis, &mut component);
                for (all, component) in all[places.clone()].iter_mut().zip(&component) {
                    all[axis] = *component;
                }
            }
        }
        all
    }
}

/// A chunk of particles at two times, and room for the work on it.
pub struct PairChunk<'a> {
    count: usize,
    /// Place of the first particle.
    start: usize,
    simulation_box: SimulationBox,
    origin: Option<&'a Origin<'a>>,
    later: Option<&'a Sample>,
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
            start: 0,
            simulation_box: SimulationBox::new(&[1.0; 3]),
            origin: None,
            later: None,
            displacement: [[[0.0; CHUNK]; 3]; 2],
            frame: Frame::Laboratory,
            later_position: [[0.0; CHUNK]; 3],
            velocity: [[[0.0; CHUNK]; 3]; 2],
            workspace: Vec::new(),
        }
    }

    /// Loads the particles at `places` (at most a chunk); `moved`: what [`Origin::moved`] gives.
    pub(super) fn load(
        &mut self,
        origin: &'a Origin<'a>,
        later: &'a Sample,
        moved: Option<&[[f64; 3]]>,
        places: Range<usize>,
        simulation_box: &SimulationBox,
    ) {
        let count = places.len();
        self.count = count;
        self.start = places.start;
        self.simulation_box = *simulation_box;
        self.origin = Some(origin);
        self.later = Some(later);
        let cages = origin.cages.as_ref();
        let origin = origin.sample;
        let drift = origin.drift_until(later);
        if let Some(displacement) = Displacement::new(origin, later, simulation_box, drift) {
            let [laboratory, cage] = &mut self.displacement;
            for axis in 0..3 {
                displacement.fill(places.clone(), axis, &mut laboratory[axis]);
                let later = &displacement.later[axis][places.clone()];
                for (target, later) in self.later_position[axis].iter_mut().zip(later) {
                    *target = later - drift[axis];
                }
            }
            if let (Some(cages), Some(moved)) = (cages, moved) {
                for (i, particle) in places.clone().enumerate() {
                    let neighbors = cages.of(particle);
                    let mut sum = [0.0; 3];
                    for &neighbor in neighbors {
                        let moved = moved[neighbor as usize];
                        (0..3).for_each(|axis| sum[axis] += moved[axis]);
                    }
                    let count = neighbors.len().max(1) as f64;
                    for axis in 0..3 {
                        cage[axis][i] = laboratory[axis][i] - sum[axis] / count;
                    }
                }
                cage.iter_mut().for_each(|cage| cage[count..].fill(0.0));
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

    /// Position along one axis in the later sample, wrapped except for the drift since the earlier one.
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

    /// Squared distances, in the later sample, of particle `i` from each of its neighbors of the earlier one; those of the
    /// nearest images.
    ///
    /// # Panics
    /// Unless the source of the terms asks for them.
    pub fn squared_lengths_of_bonds(&self, i: usize) -> impl Iterator<Item = f64> {
        let bonds = self.origin.and_then(|origin| origin.bonds.as_ref());
        let (Some(bonds), Some(later)) = (bonds, self.later) else {
            panic!("terms that asked for bonds");
        };
        let simulation_box = later.box_of(&self.simulation_box);
        let (edges, shift) = (
            simulation_box.padded_edges(),
            simulation_box.tilt() * simulation_box.padded_edges()[0],
        );
        let particle = self.start + i;
        let own = later.place(particle);
        bonds.of(particle).iter().map(move |&neighbor| {
            let other = later.place(neighbor as usize);
            let [x, y, z] = [0, 1, 2].map(|k| other[k] - own[k]);
            let boxes = |d: f64, k: usize| nearest_integer(d * edges[k].recip());
            let along_y = boxes(y, 1);
            let x = x - shift * along_y;
            let x = x - edges[0] * boxes(x, 0);
            let (y, z) = (y - edges[1] * along_y, z - edges[2] * boxes(z, 2));
            x * x + y * y + z * z
        })
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
