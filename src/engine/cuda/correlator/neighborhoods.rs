//! Pairs of samples for whose particles it matters what lies around them: places taken again, and cages.
//!
//! In rounds, for whose samples there is room: the particles of the time origins are sorted by cell; then either places
//! are counted, or later samples are written anew in the frame of the cages, and correlated with their origins as any
//! others.
use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;

use super::origins::{Cells, Search, SortedOrigins};
use super::pairs::{self, COPIES, PairEvaluator};
use super::program::{self, THREADS};
use super::records::Records;
use super::slots::Slot;
use crate::engine::cuda::launch::Kernel;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::transfer::{Piece, Transfer, aligned_size};
use crate::engine::{EngineError, Pending};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::evaluation::{
    EvaluatedPairs, Evaluation, ParticleSum, SampleGroup, SamplePair,
};

/// Bytes that the displacements and samples in the frame of the cages may take.
const MOST_BYTES: usize = 256 << 20;
/// Pairs of a round: where places are counted, and in the frame of the cages.
const MOST_PAIRS: usize = 1024;
const MOST_PAIRS_IN_CAGES: usize = 64;

/// What is looked for around the particles, and how many pairs there is room for.
struct Shape {
    particles: usize,
    cells: Cells,
    radius: f64,
    in_cages: bool,
    pairs: usize,
}

/// Samples of a round: slots of the origins; of each pair the number of the origin, both slots, and the index of the lag.
#[derive(Debug, Default, PartialEq)]
struct Round {
    origins: Vec<u32>,
    pairs: Vec<(u32, [u32; 2], u32)>,
}

/// The kernels and their memory.
pub struct NeighborhoodEvaluator {
    origins: SortedOrigins,
    shape: Shape,
    species: usize,
    work: Buffer,
    kind: Kind,
}

enum Kind {
    Places { count_places: Kernel, counts: Buffer, transfer: Transfer },
    Cages(Box<Cages>),
}

struct Cages {
    displace: Kernel,
    subtract_cages: Kernel,
    /// By pair, place among the sorted, axis.
    moved: Buffer,
    evaluator: PairEvaluator,
    /// The first of the slots that later samples are written to.
    first_slot: u32,
}

impl Shape {
    /// `None` where it does not matter what lies around particles.
    fn of(evaluation: &Evaluation, slot_bytes: usize) -> Option<Self> {
        let places = evaluation.sums.iter().find_map(|sum| match sum {
            ParticleSum::PlacesTaken(radius) => Some(*radius),
            _ => None,
        });
        let radius = evaluation.cage_radius.or(places)?;
        let in_cages = evaluation.cage_radius.is_some();
        let simulation_box = &evaluation.simulation_box;
        let (particles, dimension) = (evaluation.particles(), simulation_box.dimension());
        let of_pair = 8 * dimension * particles + slot_bytes;
        let most = if in_cages { MOST_PAIRS_IN_CAGES } else { MOST_PAIRS };
        let fitting = if in_cages { MOST_BYTES / of_pair.max(1) } else { most };
        Some(Shape {
            particles,
            cells: Cells::new(simulation_box, &evaluation.species),
            radius,
            in_cages,
            pairs: fitting.clamp(1, most),
        })
    }

    /// Slots beside those of the samples.
    fn slots(&self) -> usize {
        if self.in_cages { self.pairs } else { 0 }
    }

    fn bytes_of_displacements(&self, dimension: usize) -> usize {
        if self.in_cages { self.pairs * self.particles * dimension * 8 } else { 0 }
    }
}

/// Whether it matters what lies around the particles, and what is then evaluated for pairs of samples by themselves.
pub fn needs_programs(evaluation: &Evaluation) -> (bool, Option<Cow<'_, Evaluation>>) {
    if Shape::of(evaluation, 0).is_none() {
        return (false, Some(Cow::Borrowed(evaluation)));
    }
    let in_cages = evaluation.cage_radius.is_some();
    (true, in_cages.then(|| Cow::Owned(within_cages(evaluation))))
}

/// What is evaluated of samples in the frame of the cages. The centre of mass has no part in what is relative to cages.
fn within_cages(evaluation: &Evaluation) -> Evaluation {
    Evaluation { remove_drift: false, ..evaluation.clone() }
}

/// Whether it matters what lies around the particles: slots beside those of the samples, and bytes on the GPU without
/// them.
pub fn needs(evaluation: &Evaluation, slot_bytes: usize) -> Option<(usize, u64)> {
    let shape = Shape::of(evaluation, slot_bytes)?;
    let moved = shape.bytes_of_displacements(evaluation.simulation_box.dimension()) as u64;
    let of_pairs = if shape.in_cages { pairs::device_bytes(evaluation) } else { 0 };
    Some((shape.slots(), shape.cells.device_bytes() + moved + of_pairs))
}

/// What is due, in rounds of as many origins and pairs at most. `lag_index` as of a blocking scheme, `None` for what is
/// not wanted.
fn rounds<S>(
    due: &[Due<S>],
    number: impl Fn(&S) -> u32,
    lag_index: impl Fn(usize, usize) -> Option<usize>,
    [most_origins, most_pairs]: [usize; 2],
) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for Due { level, entries } in due {
        let origin = number(&entries[0]);
        let wanted: Vec<(u32, u32)> = entries
            .iter()
            .enumerate()
            .filter_map(|(entry, later)| Some((number(later), lag_index(*level, entry)? as u32)))
            .collect();
        for part in wanted.chunks(most_pairs) {
            let fits = rounds.last().is_some_and(|round| {
                round.origins.len() < most_origins && round.pairs.len() + part.len() <= most_pairs
            });
            if !fits {
                rounds.push(Round::default());
            }
            let round = rounds.last_mut().expect("there is one");
            let place = round.origins.len() as u32;
            round.origins.push(origin);
            round.pairs.extend(part.iter().map(|&(later, lag)| (place, [origin, later], lag)));
        }
    }
    rounds
}

impl NeighborhoodEvaluator {
    /// `first_slot`: of those that [`needs`] asks for.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        evaluation: &Evaluation,
        slot_bytes: usize,
        first_slot: u32,
    ) -> Result<Self, EngineError> {
        let shape = Shape::of(evaluation, slot_bytes).expect("neighbors matter");
        let (dimension, species) =
            (evaluation.simulation_box.dimension(), evaluation.species.len());
        let program = program::neighborhoods_program(dimension, species);
        let search = Search {
            radius: shape.radius,
            remove_drift: evaluation.remove_drift,
            bins: (0, f64::INFINITY),
        };
        let (simulation_box, all) = (&evaluation.simulation_box, &evaluation.species);
        let origins = SortedOrigins::new(session, &program, simulation_box, all, search)?;
        let kernels = &origins.kernels;
        let kind = if shape.in_cages {
            Kind::Cages(Box::new(Cages {
                displace: kernels.kernel("displace")?,
                subtract_cages: kernels.kernel("subtract_cages")?,
                moved: Buffer::new(session, shape.bytes_of_displacements(dimension))?,
                evaluator: PairEvaluator::new(session, &within_cages(evaluation))?,
                first_slot,
            }))
        } else {
            let counts = shape.pairs * species * 4;
            let transfer = Transfer::new(session, aligned_size(counts))?;
            transfer.reserve(COPIES)?;
            Kind::Places {
                count_places: kernels.kernel("count_places")?,
                counts: Buffer::new(session, counts)?,
                transfer,
            }
        };
        Ok(NeighborhoodEvaluator {
            species,
            work: Buffer::new(session, (shape.cells.origins() + 4 * shape.pairs) * 4)?,
            origins,
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
        records: Records,
        centers: &Buffer,
    ) -> Result<Vec<Pending<EvaluatedPairs>>, EngineError> {
        let most = [self.shape.cells.origins(), self.shape.pairs];
        rounds(due, |slot| slot.number, lag_index, most)
            .iter()
            .map(|round| self.evaluate_round(round, records, centers))
            .collect()
    }

    fn evaluate_round(
        &self,
        round: &Round,
        records: Records,
        centers: &Buffer,
    ) -> Result<Pending<EvaluatedPairs>, EngineError> {
        // Pairs after the origins.
        let mut work = round.origins.clone();
        let first_slot = match &self.kind {
            Kind::Cages(cages) => cages.first_slot,
            Kind::Places { .. } => 0,
        };
        for (&(place, slots, _), target) in round.pairs.iter().zip(first_slot..) {
            work.extend([place, slots[0], slots[1], target]);
        }
        self.work.write(&work)?;
        let origins = self.work.pointer();
        let pairs = origins + 4 * round.origins.len() as u64;
        let [ends, points, centers_at] =
            [&self.origins.ends, &self.origins.points, centers].map(Buffer::pointer);
        // SAFETY: `count` numbers of slots lie there, and there is room for as many.
        unsafe { self.origins.sort(records, origins, round.origins.len())? };
        let kernels = &self.origins.kernels;
        let grid = ((self.shape.particles as u32).div_ceil(THREADS), round.pairs.len() as u32);
        match &self.kind {
            Kind::Places { count_places, counts, transfer } => {
                let bytes = round.pairs.len() * self.species * 4;
                counts.clear(bytes)?;
                let counts_at = counts.pointer();
                let arguments: [*const c_void; 6] = [
                    (&raw const records).cast(),
                    (&raw const pairs).cast(),
                    (&raw const ends).cast(),
                    (&raw const points).cast(),
                    (&raw const centers_at).cast(),
                    (&raw const counts_at).cast(),
                ];
                // SAFETY: the arguments are those of the kernel; pairs name slots of the records, which have
                // centres, and sorted origins.
                unsafe {
                    kernels.launch_grid(*count_places, grid, THREADS, 0, &arguments)?;
                }
                let arriving = transfer.begin(&[Piece { buffer: counts, bytes }])?;
                let lags = round.pairs.iter().map(|&(_, _, lag)| lag).collect();
                Ok(Pending::new(move || {
                    let counts = arriving.wait()?[..bytes].as_chunks::<4>().0;
                    let sums = counts.iter().map(|&count| f64::from(u32::from_ne_bytes(count)));
                    Ok(EvaluatedPairs { lags, sums: sums.collect() })
                }))
            }
            Kind::Cages(cages) => {
                let moved = cages.moved.pointer();
                let arguments: [*const c_void; 5] = [
                    (&raw const records).cast(),
                    (&raw const pairs).cast(),
                    (&raw const ends).cast(),
                    (&raw const points).cast(),
                    (&raw const moved).cast(),
                ];
                // SAFETY: as above; there is room for the displacements of `count` pairs.
                unsafe {
                    kernels.launch_grid(cages.displace, grid, THREADS, 0, &arguments)?;
                }
                let arguments: [*const c_void; 6] = [
                    (&raw const records).cast(),
                    (&raw const pairs).cast(),
                    (&raw const ends).cast(),
                    (&raw const points).cast(),
                    (&raw const centers_at).cast(),
                    (&raw const moved).cast(),
                ];
                // SAFETY: as above; the slots written to are beside those of the samples.
                unsafe {
                    kernels.launch_grid(cages.subtract_cages, grid, THREADS, 0, &arguments)?;
                }
                let groups = groups_of(round, cages.first_slot, cages.evaluator.slots());
                cages.evaluator.evaluate_groups(&groups, records, centers)
            }
        }
    }
}

/// The pairs of a round with later samples from `first_slot` on, in groups of at most `most` samples, in their order.
fn groups_of(round: &Round, first_slot: u32, most: usize) -> Vec<SampleGroup> {
    let mut groups: Vec<(u32, SampleGroup)> = Vec::new();
    for (&(place, [origin, later], lag), target) in round.pairs.iter().zip(first_slot..) {
        let fits =
            groups.last().is_some_and(|(of, group)| *of == place && group.samples.len() < most);
        if !fits {
            groups.push((place, SampleGroup { samples: vec![origin], pairs: Vec::new() }));
        }
        let (_, group) = groups.last_mut().expect("there is one");
        // A sample with itself is the same in any frame.
        let at = if origin == later { 0 } else { group.samples.len() as u32 };
        if at > 0 {
            group.samples.push(target);
        }
        group.pairs.push(SamplePair { origin: 0, later: at, lag });
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::dynamics::blocking::BlockingScheme;

    #[test]
    fn rounds_hold_all_pairs_in_their_order_and_no_more_than_fit() {
        for (block_size, most) in [(10, [64, 64]), (5, [3, 1024]), (12, [64, 7]), (2, [1, 1])] {
            let mut scheme = BlockingScheme::new(block_size, 3);
            let due: Vec<_> = (0..200u32).flat_map(|sample| scheme.push(sample)).collect();
            let wanted = scheme.lags().len() - 1;
            let lag_index =
                |level, entry| scheme.lag_index(level, entry).filter(|&index| index < wanted);
            let mut expected = Vec::new();
            for Due { level, entries } in &due {
                for (entry, later) in entries.iter().enumerate() {
                    if let Some(lag) = lag_index(*level, entry) {
                        expected.push(([*entries[0], **later], lag as u32));
                    }
                }
            }
            let rounds = rounds(&due, |sample| *sample, lag_index, most);
            let (mut found, mut in_groups) = (Vec::new(), Vec::new());
            for round in &rounds {
                assert!(round.origins.len() <= most[0] && round.pairs.len() <= most[1]);
                for &(place, slots, lag) in &round.pairs {
                    assert_eq!(round.origins[place as usize], slots[0]);
                    found.push((slots, lag));
                }
                for group in groups_of(round, 1000, 8) {
                    assert!(group.samples.len() <= 8);
                    for pair in &group.pairs {
                        let origin = group.samples[0];
                        let later = match group.samples[pair.later as usize] {
                            target if target >= 1000 => round.pairs[target as usize - 1000].1[1],
                            origin => origin,
                        };
                        assert_eq!((pair.origin, pair.later == 0), (0, later == origin));
                        in_groups.push(([origin, later], pair.lag));
                    }
                }
            }
            assert!(!found.is_empty());
            assert!(found == expected && in_groups == expected);
        }
    }
}
