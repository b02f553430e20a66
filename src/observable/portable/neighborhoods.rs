//! What lies around particles: places taken again, bonds kept, and cages. Mirrors `kernels/observable/neighborhoods.cu`.
use rayon::prelude::*;

use super::particles::{Particles, drift_in_units, place_in_units, word_of};
use super::sorted::Sorted;
use crate::observable::dynamics::bond_breaking::{share_kept, sum_of_shares};
use crate::observable::dynamics::sampled::{SampledParticles, WORDS};
use crate::plan::BondPlan;

/// Where a particle is in a sample.
fn fractions(particles: &Particles, sample: &SampledParticles, place: usize) -> [u32; 3] {
    let dimension = particles.dimension();
    std::array::from_fn(|axis| match axis < dimension {
        true => word_of(sample, dimension, place, axis, 0),
        false => 0,
    })
}

/// Sums of integers by species.
fn by_species(
    particles: &Particles,
    of_place: impl Fn(usize) -> u64 + Sync,
    value: impl Fn(u64) -> f64,
) -> Vec<f64> {
    let mut start = 0;
    let of_species = particles.species.iter().map(|species| {
        let places = start..start + species.count;
        start = places.end;
        value(places.into_par_iter().map(&of_place).sum())
    });
    of_species.collect()
}

/// By species, the number of particles of the origin within the radius of places that are taken later.
pub fn places_taken(
    particles: &Particles,
    sorted: &Sorted,
    origin: &SampledParticles,
    later: &SampledParticles,
) -> Vec<f64> {
    let edges = particles.simulation_box.padded_edges();
    let drift: [u32; 3] = std::array::from_fn(|axis| match axis < particles.dimension() {
        true => drift_in_units(origin, later, axis, edges[axis]) as u32,
        false => 0,
    });
    let taken = |place: usize| {
        let of = fractions(particles, later, place);
        let of = std::array::from_fn(|axis| of[axis].wrapping_sub(drift[axis]));
        let mut found = 0;
        sorted.near(of, |_| true, |_, _, _| found += 1);
        found
    };
    by_species(particles, taken, |sum| sum as f64)
}

/// By species, of the particles within the radius of each particle at the origin, the share that is within another radius later.
pub fn bonds_kept(
    particles: &Particles,
    sorted: &Sorted,
    origin: &SampledParticles,
    later: &SampledParticles,
    bonds: BondPlan,
) -> Vec<f64> {
    let squared_radius = (bonds.breaking_radius * bonds.breaking_radius) as f32;
    let share = |place: usize| {
        let own = fractions(particles, later, place);
        let (mut found, mut kept) = (0, 0);
        let is_other = |point: &super::sorted::Point| point.place as usize != place;
        sorted.near(fractions(particles, origin, place), is_other, |point, _, _| {
            let other = fractions(particles, later, point.place as usize);
            found += 1;
            kept += u64::from(sorted.displacement(other, own).1 < squared_radius);
        });
        share_kept(kept, found)
    };
    by_species(particles, share, sum_of_shares)
}

/// The later sample in the frame of the cages: each particle less the mean displacement of its neighbors at the origin, or, if it has none,
/// less that of the centre of mass where that is taken away.
pub fn in_cages(
    particles: &Particles,
    sorted: &Sorted,
    origin: &SampledParticles,
    later: &SampledParticles,
) -> SampledParticles {
    let (dimension, count) = (particles.dimension(), particles.count());
    let edges = particles.simulation_box.padded_edges();
    let moved: Vec<[i64; 3]> = (0..count)
        .map(|place| {
            std::array::from_fn(|axis| match axis < dimension {
                true => {
                    let [from, to] = [origin, later]
                        .map(|sample| place_in_units(sample, dimension, place, axis));
                    to.wrapping_sub(from)
                }
                false => 0,
            })
        })
        .collect();
    let mut relative = later.clone();
    relative.words.par_chunks_mut(dimension * WORDS).enumerate().for_each(|(place, words)| {
        let (mut sum, mut found) = ([0_i64; 3], 0_u32);
        let is_other = |point: &super::sorted::Point| point.place as usize != place;
        sorted.near(fractions(particles, origin, place), is_other, |point, _, _| {
            found += 1;
            let of_other = moved[point.place as usize];
            (0..dimension).for_each(|axis| sum[axis] = sum[axis].wrapping_add(of_other[axis]));
        });
        for axis in 0..dimension {
            let of_cage = match found {
                0 => drift_in_units(origin, later, axis, edges[axis]),
                _ => (sum[axis] as f64 / f64::from(found)).round_ties_even() as i64,
            };
            let relative = place_in_units(later, dimension, place, axis).wrapping_sub(of_cage);
            words[axis * WORDS] = relative as u32;
            words[axis * WORDS + 1] = (relative >> 32) as u32;
        }
    });
    relative
}
