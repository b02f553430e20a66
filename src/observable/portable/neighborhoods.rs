//! What lies around particles: places taken again, bonds kept, and cages. Mirrors `kernels/observable/neighborhoods.cu`.
use std::ops::Range;

use rayon::prelude::*;

use super::particles::{Columns, Particles};
use super::sorted::Sorted;
use crate::observable::dynamics::bond_breaking::{share_kept, sum_of_shares};
use crate::observable::vectors::{InnerLoop, on_widest_registers};
use crate::plan::BondPlan;

/// Particles of a task.
const PARTICLES_AT_ONCE: usize = 256;

/// Two samples, and the particles of the first one sorted.
pub struct Compared<'a> {
    pub particles: &'a Particles,
    pub sorted: &'a Sorted,
    /// Of the first one, where they are needed.
    pub neighbors: &'a Neighbors,
    pub origin: &'a Columns,
    pub later: &'a Columns,
}

impl Compared<'_> {
    /// What the centre of mass moves, in `2^-32` of each edge.
    fn drift(&self) -> [i64; 3] {
        let edges = self.particles.simulation_box.padded_edges();
        std::array::from_fn(|axis| match axis < self.particles.dimension() {
            true => self.origin.drift_in_units(self.later, axis, edges[axis]),
            false => 0,
        })
    }

    /// Sums by species of what tasks give for particles by their places.
    fn by_species(
        &self,
        task: impl Fn(Range<usize>) -> Vec<(usize, u64)> + Sync,
        value: fn(u64) -> f64,
    ) -> Vec<f64> {
        let species_of = self.particles.species_of_places();
        let species = self.particles.species.len();
        let sums = tasks(self.sorted.count())
            .map(|range| {
                let mut sums = vec![0_u64; species];
                for (place, number) in task(range) {
                    sums[species_of[place] as usize] += number;
                }
                sums
            })
            .reduce(|| vec![0; species], added);
        sums.into_iter().map(value).collect()
    }
}

/// Neighbors of the particles of a sample, by their numbers among the sorted.
#[derive(Default)]
pub struct Neighbors {
    /// By task: where those of its particles end, and all of them.
    of_tasks: Vec<(Vec<u32>, Vec<u32>)>,
}

impl Neighbors {
    /// All others within the radius.
    pub fn new(sorted: &Sorted) -> Self {
        let of_task = |range| on_widest_registers(Search { sorted, range });
        Neighbors { of_tasks: tasks(sorted.count()).map(of_task).collect() }
    }

    #[inline(always)]
    fn of(&self, at: usize) -> &[u32] {
        let (ends, all) = &self.of_tasks[at / PARTICLES_AT_ONCE];
        let number = at % PARTICLES_AT_ONCE;
        let start = if number == 0 { 0 } else { ends[number - 1] };
        &all[start as usize..ends[number] as usize]
    }
}

struct Search<'a> {
    sorted: &'a Sorted,
    range: Range<usize>,
}

impl InnerLoop for Search<'_> {
    type Output = (Vec<u32>, Vec<u32>);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Search { sorted, range } = self;
        let (mut ends, mut all) = (Vec::with_capacity(range.len()), Vec::new());
        for at in range {
            sorted.near(sorted.fractions(at), 0, |other, _, _| {
                if other != at {
                    all.push(other as u32);
                }
            });
            ends.push(all.len() as u32);
        }
        (ends, all)
    }
}

/// Ranges of numbers, for all threads.
pub fn tasks(count: usize) -> impl ParallelIterator<Item = Range<usize>> {
    (0..count.div_ceil(PARTICLES_AT_ONCE)).into_par_iter().map(move |task| {
        let first = task * PARTICLES_AT_ONCE;
        first..count.min(first + PARTICLES_AT_ONCE)
    })
}

/// Element by element.
pub fn added(mut sums: Vec<u64>, others: Vec<u64>) -> Vec<u64> {
    sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
    sums
}

/// By species, the number of particles of the origin within the radius of places that are taken later.
pub fn places_taken(compared: &Compared<'_>) -> Vec<f64> {
    let drift = compared.drift().map(|drift| drift as u32);
    let task = |range| on_widest_registers(Places { compared, drift, range });
    compared.by_species(task, |sum| sum as f64)
}

struct Places<'a> {
    compared: &'a Compared<'a>,
    drift: [u32; 3],
    range: Range<usize>,
}

impl InnerLoop for Places<'_> {
    type Output = Vec<(usize, u64)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Places { compared, drift, range } = self;
        let mut taken = Vec::with_capacity(range.len());
        for at in range {
            let place = compared.sorted.place(at);
            let [x, y, z] = compared.later.fractions(place);
            let of = [x.wrapping_sub(drift[0]), y.wrapping_sub(drift[1]), z.wrapping_sub(drift[2])];
            let mut found = 0;
            compared.sorted.near(of, 0, |_, _, _| found += 1);
            taken.push((place, found));
        }
        taken
    }
}

/// By species, of the particles within the radius of each particle at the origin, the share that is within another radius later.
pub fn bonds_kept(compared: &Compared<'_>, bonds: BondPlan) -> Vec<f64> {
    let squared_radius = (bonds.breaking_radius * bonds.breaking_radius) as f32;
    let task = |range| on_widest_registers(Bonds { compared, squared_radius, range });
    compared.by_species(task, sum_of_shares)
}

struct Bonds<'a> {
    compared: &'a Compared<'a>,
    squared_radius: f32,
    range: Range<usize>,
}

impl InnerLoop for Bonds<'_> {
    type Output = Vec<(usize, u64)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Bonds { compared, squared_radius, range } = self;
        let sorted = compared.sorted;
        let mut shares = Vec::with_capacity(range.len());
        for at in range {
            let place = sorted.place(at);
            let own = compared.later.fractions(place);
            let neighbors = compared.neighbors.of(at);
            let mut kept = 0;
            for &other in neighbors {
                let later = compared.later.fractions(sorted.place(other as usize));
                kept += u64::from(sorted.squared_distance(later, own) < squared_radius);
            }
            shares.push((place, share_kept(kept, neighbors.len() as u64)));
        }
        shares
    }
}

/// The later sample in the frame of the cages: each particle less the mean displacement of its neighbors at the origin, or, if it has none,
/// less that of the centre of mass where that is taken away.
pub fn in_cages(compared: &Compared<'_>) -> Columns {
    let Compared { particles, sorted, neighbors, origin, later } = compared;
    let dimension = particles.dimension();
    // Of the sorted, in their order.
    let moved_along = |at: usize, axis: usize| {
        let in_units = |sample: &Columns| sample.place_in_units(sorted.place(at), axis);
        in_units(later).wrapping_sub(in_units(origin))
    };
    let moved: Vec<[i64; 3]> = (0..sorted.count())
        .map(|at| {
            std::array::from_fn(|axis| if axis < dimension { moved_along(at, axis) } else { 0 })
        })
        .collect();
    let drift = compared.drift();
    let mut relative = (*later).clone();
    for at in 0..sorted.count() {
        let (place, of_cage) =
            (sorted.place(at), mean_of(&moved, neighbors.of(at)).unwrap_or(drift));
        for (axis, of_cage) in of_cage[..dimension].iter().enumerate() {
            let moved = later.place_in_units(place, axis).wrapping_sub(*of_cage);
            relative.fraction[axis][place] = moved as u32;
            relative.image[axis][place] = particles.kept_image((moved >> 32) as i32);
        }
    }
    relative
}

/// Mean displacement of neighbors, rounded; `None` where there are none.
fn mean_of(moved: &[[i64; 3]], neighbors: &[u32]) -> Option<[i64; 3]> {
    let mut sum = [0_i64; 3];
    for &other in neighbors {
        for (sum, moved) in sum.iter_mut().zip(moved[other as usize]) {
            *sum = sum.wrapping_add(moved);
        }
    }
    let count = neighbors.len() as f64;
    (count > 0.0).then(|| sum.map(|sum| (sum as f64 / count).round_ties_even() as i64))
}
