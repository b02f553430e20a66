//! Pairs of samples for whose particles it matters what lies around them: places taken again, bonds, and cages.
//!
//! In rounds, for whose samples there is room: the particles of the time origins are sorted by cell, and their neighbors are found,
//! once for all pairs of an origin; then either places or bonds are counted, or later samples are written anew in the frame of the
//! cages, and correlated with their origins as any others. The results of many rounds leave the GPU together: for each copy of results
//! the threads of the host that average are called.
mod shape;

use std::sync::Arc;

use self::shape::{Shape, Sought, within_cages};
pub use self::shape::{needs, needs_programs};
use super::origins::{Point, Search, SortedOrigins, over_particles, program_over_sorted};
use super::pairs::{COPIES, PairEvaluator};
use super::particles::SampledRecords;
use super::program::THREADS;
use super::rounds::{Round, groups_of, parts, rounds};
use super::slots::Slot;
use crate::engine::cuda::declare::{
    Const, Named, Plain, Pointer, device_constants, device_struct, shared_header,
};
use crate::engine::cuda::input_buffer::InputBuffer;
use crate::engine::cuda::launch::{Grid, kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::{Center, Records};
use crate::engine::cuda::transfer::{Piece, Transfer, aligned_size};
use crate::engine::{EngineError, OfSystems, Pending};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::bond_breaking::sum_of_shares;
use crate::observable::dynamics::evaluation::{EvaluatedPairs, Evaluation};

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
    /// The pairs of a round, one origin after the other.
    pub struct PairsOfRound {
        pairs: Pointer<Const<ComparedSamples>>,
        /// Number of the first pair of each origin, and of all pairs.
        first: Pointer<Const<u32>>,
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

device_constants! {
    /// Particles of a block that takes all pairs of an origin, and sums over them that it keeps in shared memory.
    mod pairs_of_origins: u32 {
        PARTICLES_OF_BLOCK = 128;
        MOST_SHARED_SUMS = 512;
    }
}

use pairs_of_origins::PARTICLES_OF_BLOCK;

shared_header!(SHARED = "shared/neighborhoods.cuh": ComparedSamples, PairsOfRound, Neighbors);
shared_header!(PAIRS_OF_ORIGINS = "shared/pairs_of_origins.cuh": pairs_of_origins::Declaration);

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
        sort_later(Records, PairsOfRound, Pointer<Const<Point>>, Pointer<Place>);
        sum_bonds_kept(
            PairsOfRound, Pointer<Const<u32>>, Pointer<Const<Point>>, Neighbors, Pointer<Const<Place>>, f32, Pointer<u64>
        );
        displace(Records, PairsOfRound, Pointer<Const<Point>>, Pointer<Moved>);
        subtract_cages(
            Records, PairsOfRound, Pointer<Const<u32>>, Pointer<Const<Point>>, Neighbors, Pointer<Const<Center>>,
            Pointer<Const<Moved>>
        );
    }
}

/// The kernels of places taken again, of bonds and of cages.
pub fn program(dimension: usize, species: usize) -> Program {
    let text = include_str!("../../../../kernels/observable/neighborhoods.cu");
    let checks = NeighborhoodKernels::checks();
    program_over_sorted("neighborhoods.cu", text, dimension, species, SHARED, checks)
        .include(&[PAIRS_OF_ORIGINS])
}

/// The kernels and their memory.
pub struct NeighborhoodEvaluator {
    origins: SortedOrigins,
    kernels: NeighborhoodKernels,
    shape: Shape,
    species: usize,
    work: InputBuffer,
    /// Of origins: how many each particle has, and after these which.
    neighbors: Buffer,
    /// What is written for the particles of pairs.
    of_pairs: Buffer,
    kind: Kind,
}

/// A round whose origins are sorted.
struct Prepared {
    pairs: PairsOfRound,
    ends: Pointer<Const<u32>>,
    points: Pointer<Const<Point>>,
    neighbors: Neighbors,
    /// Over the particles of all pairs, and over those of all origins, each for all its pairs.
    grid: Grid,
    grid_of_origins: Grid,
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
        let counted = |size: usize| Counted::new(session, shape.pairs_in_all * species, size);
        let kind = match shape.sought {
            Sought::Places => Kind::Places(counted(4)?),
            Sought::Bonds(radius) => Kind::Bonds(counted(8)?, (radius * radius) as f32),
            Sought::Cages => {
                let within = within_cages(evaluation);
                let evaluator = PairEvaluator::new(session, &within, shape.at_once())?;
                Kind::Cages(Box::new(Cages { evaluator, first_target }))
            }
        };
        let [of_pairs, neighbors] = shape.bytes();
        Ok(NeighborhoodEvaluator {
            species,
            work: InputBuffer::new(session, 4 * shape.words())?,
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
        let rounds = rounds(due, samples.numbering, |slot| slot.number, lag_index, most);
        parts(&rounds, |round| round.pairs.len(), self.shape.pairs_in_all)
            .into_iter()
            .map(|together| self.evaluate_rounds(together, samples))
            .collect()
    }

    /// The same for rounds whose results leave the GPU together.
    fn evaluate_rounds(
        &self,
        rounds: &[Round],
        samples: SampledRecords<'_>,
    ) -> Result<Pending<OfSystems<EvaluatedPairs>>, EngineError> {
        let first_target = match &self.kind {
            Kind::Cages(cages) => cages.first_target,
            Kind::Places(_) | Kind::Bonds(..) => 0,
        };
        let mut work = Vec::new();
        let mut starts = Vec::new();
        for round in rounds {
            starts.push(work.len());
            work.extend(&round.origins);
            work.extend(round.first_pairs());
            for (&(place, [origin, later], _), target) in round.pairs.iter().zip(first_target..) {
                work.extend([place, origin, later, target]);
            }
        }
        self.work.write(&work)?;
        let prepared = |number: usize| -> Result<Prepared, EngineError> {
            let origins = self.work.pointer::<u32>().add(starts[number]);
            self.prepare(&rounds[number], origins, samples.records)
        };
        let of_pairs = || rounds.iter().flat_map(|round| &round.pairs);
        let count = of_pairs().count() * self.species;
        let lags = || {
            let (numbers, lags): (Vec<u32>, Vec<u32>) =
                of_pairs().map(|&(_, [origin, _], lag)| (origin, lag)).unzip();
            samples.numbering.by_system(numbers, lags)
        };
        match &self.kind {
            Kind::Places(places) => {
                self.count(rounds, places, prepared, |prepared, counts| {
                    self.count_places(prepared, samples, counts)
                })?;
                places.fetch(count, lags(), |bytes| f64::from(u32::from_ne_bytes(array(bytes))))
            }
            Kind::Bonds(bonds, squared_radius) => {
                self.count(rounds, bonds, prepared, |prepared, shares| {
                    self.sum_bonds_kept(prepared, samples.records, *squared_radius, shares)
                })?;
                bonds.fetch(count, lags(), |bytes| sum_of_shares(u64::from_ne_bytes(array(bytes))))
            }
            Kind::Cages(cages) => {
                let slots = cages.evaluator.slots();
                let groups = |round| groups_of(round, cages.first_target, slots);
                let groups: Vec<_> = rounds.iter().map(groups).collect();
                cages.evaluator.evaluate_rounds(&groups, samples, |number| {
                    self.subtract_cages(&prepared(number)?, samples)
                })
            }
        }
    }

    /// Has the particles of the origins of a round sorted, and their neighbors found. `origins`: where their slots lie, after them where
    /// their pairs begin, and these.
    fn prepare(
        &self,
        round: &Round,
        origins: Pointer<u32>,
        records: Records,
    ) -> Result<Prepared, EngineError> {
        let count = round.origins.len();
        self.origins.sort(records, origins.to_const(), count)?;
        let blocks = (self.shape.particles as u32).div_ceil(PARTICLES_OF_BLOCK);
        Ok(Prepared {
            pairs: PairsOfRound {
                pairs: Pointer::at(origins.add(2 * count + 1).address()),
                first: origins.add(count).to_const(),
            },
            ends: self.origins.ends.pointer(),
            points: self.origins.points.pointer(),
            neighbors: self.find_neighbors(count)?,
            grid: over_particles(self.shape.particles, round.pairs.len()),
            grid_of_origins: Grid::in_two_dimensions((blocks, count as u32), THREADS),
        })
    }

    /// Has numbers of pairs counted by `launch`, one round after the other: it learns where those of its round go.
    fn count<T: Plain>(
        &self,
        rounds: &[Round],
        Counted { buffer, size, .. }: &Counted,
        prepared: impl Fn(usize) -> Result<Prepared, EngineError>,
        launch: impl Fn(&Prepared, Pointer<T>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        assert!(*size == size_of::<T>());
        let pairs: usize = rounds.iter().map(|round| round.pairs.len()).sum();
        buffer.clear(pairs * self.species * size)?;
        let mut first = 0;
        for (number, round) in rounds.iter().enumerate() {
            launch(&prepared(number)?, buffer.pointer::<T>().add(first * self.species))?;
            first += round.pairs.len();
        }
        Ok(())
    }

    fn count_places(
        &self,
        &Prepared { pairs, ends, points, grid, .. }: &Prepared,
        SampledRecords { records, centers, .. }: SampledRecords<'_>,
        counts: Pointer<u32>,
    ) -> Result<(), EngineError> {
        let arguments = (records, pairs.pairs, ends, points, centers.pointer(), counts);
        self.origins.kernels.launch(self.kernels.count_places, grid, arguments)
    }

    fn sum_bonds_kept(
        &self,
        &Prepared { pairs, ends, points, neighbors, grid_of_origins: grid, .. }: &Prepared,
        records: Records,
        squared_radius: f32,
        shares: Pointer<u64>,
    ) -> Result<(), EngineError> {
        let (kernels, places) = (&self.origins.kernels, self.of_pairs.pointer::<Place>());
        kernels.launch(self.kernels.sort_later, grid, (records, pairs, points, places))?;
        let arguments = (pairs, ends, points, neighbors, places.to_const(), squared_radius, shares);
        kernels.launch(self.kernels.sum_bonds_kept, grid, arguments)
    }

    fn subtract_cages(
        &self,
        prepared: &Prepared,
        SampledRecords { records, centers, .. }: SampledRecords<'_>,
    ) -> Result<(), EngineError> {
        let &Prepared { pairs, ends, points, neighbors, grid_of_origins, .. } = prepared;
        let (kernels, moved) = (&self.origins.kernels, self.of_pairs.pointer::<Moved>());
        let arguments = (records, pairs, points, moved);
        kernels.launch(self.kernels.displace, grid_of_origins, arguments)?;
        let (centers, moved) = (centers.pointer(), moved.to_const());
        let arguments = (records, pairs, ends, points, neighbors, centers, moved);
        kernels.launch(self.kernels.subtract_cages, grid_of_origins, arguments)
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
