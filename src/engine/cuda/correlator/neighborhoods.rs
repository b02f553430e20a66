//! Pairs of samples for whose particles it matters what lies around them: places taken again, bonds, and cages.
//!
//! In rounds, for whose samples there is room: the particles of the time origins are sorted by cell, and their neighbors are found,
//! once for all pairs of an origin; then either places or bonds are counted, or later samples are written anew in the frame of the
//! cages, and correlated with their origins as any others.
use std::borrow::Cow;
use std::sync::Arc;

use super::origins::{Cells, Point, Search, SortedOrigins, over_particles, program_over_sorted};
use super::pairs::{self, AtOnce, COPIES, PairEvaluator};
use super::particles::SampledRecords;
use super::rounds::{Round, groups_of, rounds};
use super::slots::Slot;
use crate::engine::cuda::declare::{Const, Named, Pointer, device_struct, shared_header};
use crate::engine::cuda::launch::kernels;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::{Center, Records};
use crate::engine::cuda::transfer::{Piece, Transfer, aligned_size};
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::bond_breaking::sum_of_shares;
use crate::observable::dynamics::evaluation::{EvaluatedPairs, Evaluation, ParticleSum};
use crate::system::SimulationBox;

/// Bytes that may be taken by what is written for pairs (displacements and samples in the frame of the cages, or later places), and by the
/// neighbors of origins.
const MOST_BYTES: usize = 256 << 20;
/// Pairs of a round, and those of bonds and cages for each of a number of systems.
const MOST_PAIRS: usize = 1024;
const MOST_PAIRS_WITH_NEIGHBORS: usize = 64;
/// An origin has more pairs in all but the shortest blocks.
const PAIRS_OF_ORIGIN: usize = 4;
/// For more neighbors there is no room: they are searched for in each pair.
const MOST_NEIGHBORS: usize = 96;

/// What is looked for around the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sought {
    /// Places that are taken again.
    Places,
    /// Bonds, and the distance at which they are broken.
    Bonds(f64),
    Cages,
}

/// How far is looked around the particles for what, and how much there is room for.
struct Shape {
    particles: usize,
    cells: Cells,
    radius: f64,
    sought: Sought,
    pairs: usize,
    /// Of a particle: more are searched for again.
    neighbors: usize,
    /// What is written for a particle of a pair beside samples.
    bytes_of_particle: usize,
}

device_struct! {
    /// Samples that are compared.
    pub struct ComparedSamples {
        /// Number among the origins that were sorted, its slot, and that of the later sample.
        origin: u32,
        origin_slot: u32,
        later_slot: u32,
        /// Slot for the later sample relative to cages.
        target: u32,
    }
}

device_struct! {
    /// Neighbors of the particles of origins, by their places among the sorted.
    pub struct Neighbors {
        /// By origin, place: how many there are.
        counts: Pointer<u32>,
        /// By origin, number of the neighbor, place.
        places: Pointer<u32>,
        /// Neighbors of a particle that there is room for.
        most: u32,
        unused: u32,
    }
}

shared_header!(SHARED = "shared/neighborhoods.cuh": ComparedSamples, Neighbors);

/// `Place` and `Moved` of the kernels, with padding.
pub enum Place {}
pub enum Moved {}

impl Named for Place {
    fn name() -> String {
        "Place".to_owned()
    }
}

impl Named for Moved {
    fn name() -> String {
        "Moved".to_owned()
    }
}

kernels! {
    pub struct NeighborhoodKernels {
        count_places(
            Records, Pointer<Const<ComparedSamples>>, Pointer<Const<u32>>, Pointer<Const<Point>>, Pointer<Const<Center>>,
            Pointer<u32>
        );
        find_neighbors(Pointer<Const<u32>>, Pointer<Const<Point>>, Neighbors);
        sort_later(Records, Pointer<Const<ComparedSamples>>, Pointer<Const<Point>>, Pointer<Place>);
        sum_bonds_kept(
            Pointer<Const<ComparedSamples>>, Pointer<Const<u32>>, Pointer<Const<Point>>, Neighbors, Pointer<Const<Place>>, f32,
            Pointer<u64>
        );
        displace(Records, Pointer<Const<ComparedSamples>>, Pointer<Const<Point>>, Pointer<Moved>);
        subtract_cages(
            Records, Pointer<Const<ComparedSamples>>, Pointer<Const<u32>>, Pointer<Const<Point>>, Neighbors,
            Pointer<Const<Center>>, Pointer<Const<Moved>>
        );
    }
}

/// The kernels of places taken again, of bonds and of cages.
pub fn program(dimension: usize, species: usize) -> Program {
    let text = include_str!("../../../../kernels/observable/neighborhoods.cu");
    let checks = NeighborhoodKernels::checks();
    program_over_sorted("neighborhoods.cu", text, dimension, species, SHARED, checks)
}

/// The kernels and their memory.
pub struct NeighborhoodEvaluator {
    origins: SortedOrigins,
    kernels: NeighborhoodKernels,
    shape: Shape,
    species: usize,
    work: Buffer,
    /// Of origins: how many each particle has, and after these which.
    neighbors: Buffer,
    /// What is written for the particles of pairs.
    of_pairs: Buffer,
    kind: Kind,
}

enum Kind {
    Places(Counted),
    /// The square of the distance at which bonds are broken.
    Bonds(Counted, f32),
    Cages(Box<Cages>),
}

/// Integers by pair, species, that kernels add to.
struct Counted {
    buffer: Buffer,
    /// Bytes of one.
    size: usize,
    transfer: Transfer,
}

impl Counted {
    fn new(session: &Arc<Session>, most: usize, size: usize) -> Result<Self, EngineError> {
        let transfer = Transfer::new(session, aligned_size(most * size))?;
        transfer.reserve(COPIES)?;
        Ok(Counted { buffer: Buffer::new(session, most * size)?, size, transfer })
    }

    /// Fetches those of pairs of some systems, `count` in all; `value`: what the bytes of one stand for.
    fn fetch(
        &self,
        count: usize,
        lags: OfSystems<Vec<u32>>,
        value: fn(&[u8]) -> f64,
    ) -> Result<Pending<OfSystems<EvaluatedPairs>>, EngineError> {
        let (bytes, size) = (count * self.size, self.size);
        let species = count / lags.iter().map(|(_, lags)| lags.len()).sum::<usize>();
        let arriving = self.transfer.begin(&[Piece { buffer: &self.buffer, bytes }])?;
        Ok(Pending::new(move || {
            let mut values = arriving.wait()?[..bytes].chunks_exact(size).map(value);
            let of_system = |(system, lags): (usize, Vec<u32>)| {
                let sums = values.by_ref().take(lags.len() * species).collect();
                (system, EvaluatedPairs { lags, sums })
            };
            Ok(lags.into_iter().map(of_system).collect())
        }))
    }
}

struct Cages {
    evaluator: PairEvaluator,
    /// Number of the first of the samples that are written.
    first_target: u32,
}

impl Shape {
    /// For a number of systems; `None` where it does not matter what lies around particles.
    fn of(evaluation: &Evaluation, systems: usize, sample_bytes: usize) -> Option<Self> {
        let counted = || {
            evaluation.sums.iter().find_map(|sum| match sum {
                ParticleSum::PlacesTaken(radius) => Some((*radius, Sought::Places)),
                ParticleSum::BondsKept(bonds) => {
                    Some((bonds.radius, Sought::Bonds(bonds.breaking_radius)))
                }
                _ => None,
            })
        };
        let of_cages = evaluation.cage_radius.map(|radius| (radius, Sought::Cages));
        let (radius, sought) = of_cages.or_else(counted)?;
        let simulation_box = &evaluation.simulation_box;
        let (particles, dimension) = (evaluation.particles(), simulation_box.dimension());
        let with_neighbors = (systems * MOST_PAIRS_WITH_NEIGHBORS).min(MOST_PAIRS);
        let (bytes_of_particle, most) = match sought {
            Sought::Places => (0, MOST_PAIRS),
            Sought::Bonds(_) => (16, with_neighbors),
            Sought::Cages if dimension == 3 => (32, with_neighbors),
            Sought::Cages => (16, with_neighbors),
        };
        let of_samples = if sought == Sought::Cages { sample_bytes } else { 0 };
        let of_pair = particles * bytes_of_particle + of_samples;
        let mut pairs = (MOST_BYTES / of_pair.max(1)).clamp(1, most);
        if sought == Sought::Cages {
            let within = within_cages(evaluation);
            pairs = pairs.min(pairs::capacity(&within, AtOnce::Pairs(pairs)).0);
        }
        let neighbors = match sought {
            Sought::Places => 0,
            _ => room_for_neighbors(simulation_box, particles, radius),
        };
        let of_origin = 4 * particles * (neighbors + 1);
        let of_pairs = pairs.div_ceil(PAIRS_OF_ORIGIN);
        let origins = if neighbors > 0 { of_pairs.min(MOST_BYTES / of_origin) } else { usize::MAX };
        let cells = Cells::new(simulation_box, &evaluation.species);
        Some(Shape {
            particles,
            cells: cells.of_systems(systems, origins),
            radius,
            sought,
            pairs,
            neighbors,
            bytes_of_particle,
        })
    }

    /// Samples that are written beside those that were taken.
    fn targets(&self) -> usize {
        if self.sought == Sought::Cages { self.pairs } else { 0 }
    }

    /// Of what is written for pairs, and of neighbors.
    fn bytes(&self) -> [usize; 2] {
        let columns = if self.neighbors > 0 { self.neighbors + 1 } else { 0 };
        let of_pairs = self.pairs * self.particles * self.bytes_of_particle;
        [of_pairs, 4 * self.cells.origins() * self.particles * columns]
    }
}

/// Room for the neighbors of a particle, which hardly any exceeds; zero where neighbors or particles are too many to be stored.
fn room_for_neighbors(simulation_box: &SimulationBox, particles: usize, radius: f64) -> usize {
    let ball = match simulation_box.dimension() {
        3 => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
        _ => std::f64::consts::PI * radius.powi(2),
    };
    let expected = particles as f64 / simulation_box.volume() * ball;
    let room = (1.5 * expected).ceil() + 8.0;
    let fits = room <= MOST_NEIGHBORS as f64 && 4.0 * particles as f64 * room < MOST_BYTES as f64;
    if fits { room as usize } else { 0 }
}

/// Whether it matters what lies around the particles, and what is then evaluated for pairs of samples by themselves.
pub fn needs_programs(evaluation: &Evaluation) -> (bool, Option<Cow<'_, Evaluation>>) {
    if Shape::of(evaluation, 1, 0).is_none() {
        return (false, Some(Cow::Borrowed(evaluation)));
    }
    let in_cages = evaluation.cage_radius.is_some();
    (true, in_cages.then(|| Cow::Owned(within_cages(evaluation))))
}

/// What is evaluated of samples in the frame of the cages. The centre of mass has no part in what is relative to cages.
fn within_cages(evaluation: &Evaluation) -> Evaluation {
    Evaluation { remove_drift: false, ..evaluation.clone() }
}

/// Whether it matters what lies around the particles of a number of systems: samples beside those that are taken, and bytes on the GPU
/// without them.
pub fn needs(evaluation: &Evaluation, systems: usize, sample_bytes: usize) -> Option<(usize, u64)> {
    let shape = Shape::of(evaluation, systems, sample_bytes)?;
    let correlated = match shape.sought {
        Sought::Cages => pairs::capacity(&within_cages(evaluation), AtOnce::Pairs(shape.pairs)).1,
        Sought::Places | Sought::Bonds(_) => 0,
    };
    let bytes = shape.bytes().iter().sum::<usize>() as u64;
    Some((shape.targets(), shape.cells.device_bytes() + bytes + correlated))
}

impl NeighborhoodEvaluator {
    /// `first_target`: number of the first of the samples that [`needs`] asks for.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        evaluation: &Evaluation,
        systems: usize,
        sample_bytes: usize,
        first_target: u32,
    ) -> Result<Self, EngineError> {
        let shape = Shape::of(evaluation, systems, sample_bytes).expect("neighbors matter");
        let (dimension, species) =
            (evaluation.simulation_box.dimension(), evaluation.species.len());
        let program = program(dimension, species);
        let search = Search {
            radius: shape.radius,
            remove_drift: evaluation.remove_drift,
            bins: (0, f64::INFINITY),
        };
        let (simulation_box, all) = (&evaluation.simulation_box, &evaluation.species);
        let origins =
            SortedOrigins::new(session, &program, simulation_box, all, shape.cells, search)?;
        let kernels = NeighborhoodKernels::load(&origins.kernels)?;
        let counted = |size: usize| Counted::new(session, shape.pairs * species, size);
        let kind = match shape.sought {
            Sought::Places => Kind::Places(counted(4)?),
            Sought::Bonds(radius) => Kind::Bonds(counted(8)?, (radius * radius) as f32),
            Sought::Cages => {
                let (within, at_once) = (within_cages(evaluation), AtOnce::Pairs(shape.pairs));
                let evaluator = PairEvaluator::new(session, &within, at_once)?;
                Kind::Cages(Box::new(Cages { evaluator, first_target }))
            }
        };
        let [of_pairs, neighbors] = shape.bytes();
        Ok(NeighborhoodEvaluator {
            species,
            work: Buffer::new(session, (shape.cells.origins() + 4 * shape.pairs) * 4)?,
            neighbors: Buffer::new(session, neighbors)?,
            of_pairs: Buffer::new(session, of_pairs)?,
            origins,
            kernels,
            shape,
            kind,
        })
    }

    /// Has all pairs of what is due evaluated; does not wait. `lag_index` as for
    /// [`groups`](crate::observable::dynamics::evaluation::groups).
    pub fn evaluate(
        &self,
        due: &[Due<Arc<Slot>>],
        lag_index: impl Fn(usize, usize) -> Option<usize>,
        samples: SampledRecords<'_>,
    ) -> Result<Vec<Pending<OfSystems<EvaluatedPairs>>>, EngineError> {
        let most = [self.shape.cells.origins(), self.shape.pairs];
        rounds(due, samples.numbering, |slot| slot.number, lag_index, most)
            .iter()
            .map(|round| self.evaluate_round(round, samples))
            .collect()
    }

    fn evaluate_round(
        &self,
        round: &Round,
        samples: SampledRecords<'_>,
    ) -> Result<Pending<OfSystems<EvaluatedPairs>>, EngineError> {
        let SampledRecords { records, centers, numbering } = samples;
        // Pairs after the origins.
        let mut work = round.origins.clone();
        let first_target = match &self.kind {
            Kind::Cages(cages) => cages.first_target,
            Kind::Places(_) | Kind::Bonds(..) => 0,
        };
        for (&(place, [origin, later], _), target) in round.pairs.iter().zip(first_target..) {
            work.extend([place, origin, later, target]);
        }
        self.work.write(&work)?;
        let origins = self.work.pointer::<u32>();
        let pairs = Pointer::at(origins.add(round.origins.len()).address());
        let (ends, points) = (self.origins.ends.pointer(), self.origins.points.pointer());
        self.origins.sort(records, origins.to_const(), round.origins.len())?;
        let kernels = &self.origins.kernels;
        let neighbors = self.find_neighbors(round.origins.len())?;
        let grid = over_particles(self.shape.particles, round.pairs.len());
        let count = round.pairs.len() * self.species;
        let lags = || {
            let of_pairs = round.pairs.iter().map(|&(_, [origin, _], lag)| (origin, lag));
            let (numbers, lags): (Vec<u32>, Vec<u32>) = of_pairs.unzip();
            numbering.by_system(numbers, lags)
        };
        match &self.kind {
            Kind::Places(places) => {
                let Counted { buffer, size, .. } = places;
                buffer.clear(count * size)?;
                let arguments = (records, pairs, ends, points, centers.pointer(), buffer.pointer());
                kernels.launch(self.kernels.count_places, grid, arguments)?;
                places.fetch(count, lags(), |bytes| f64::from(u32::from_ne_bytes(array(bytes))))
            }
            Kind::Bonds(bonds, squared_radius) => {
                let Counted { buffer, size, .. } = bonds;
                buffer.clear(count * size)?;
                let places = self.of_pairs.pointer::<Place>();
                kernels.launch(self.kernels.sort_later, grid, (records, pairs, points, places))?;
                let (places, shares) = (places.to_const(), buffer.pointer());
                let arguments = (pairs, ends, points, neighbors, places, *squared_radius, shares);
                kernels.launch(self.kernels.sum_bonds_kept, grid, arguments)?;
                bonds.fetch(count, lags(), |bytes| sum_of_shares(u64::from_ne_bytes(array(bytes))))
            }
            Kind::Cages(cages) => {
                let moved = self.of_pairs.pointer::<Moved>();
                kernels.launch(self.kernels.displace, grid, (records, pairs, points, moved))?;
                let (centers, moved) = (centers.pointer(), moved.to_const());
                let arguments = (records, pairs, ends, points, neighbors, centers, moved);
                kernels.launch(self.kernels.subtract_cages, grid, arguments)?;
                let groups = groups_of(round, cages.first_target, cages.evaluator.slots());
                cages.evaluator.evaluate_groups(&groups, samples)
            }
        }
    }

    /// Has those of a number of sorted origins found, if there is room for them.
    fn find_neighbors(&self, origins: usize) -> Result<Neighbors, EngineError> {
        let counts = self.neighbors.pointer::<u32>();
        let columns = self.shape.cells.origins() * self.shape.particles;
        let neighbors = Neighbors {
            counts,
            places: counts.add(columns),
            most: self.shape.neighbors as u32,
            ..Neighbors::default()
        };
        if self.shape.neighbors > 0 {
            let grid = over_particles(self.shape.particles, origins);
            let arguments = (self.origins.ends.pointer(), self.origins.points.pointer(), neighbors);
            self.origins.kernels.launch(self.kernels.find_neighbors, grid, arguments)?;
        }
        Ok(neighbors)
    }
}

fn array<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    bytes.try_into().expect("the bytes of one number")
}
