//! Pairs of particles by their distance, and six-fold bond-orientational order, of samples. Mirrors `kernels/observable/structure.cu`.
use std::ops::Range;

use rayon::prelude::*;

use super::neighborhoods::{added, tasks};
use super::particles::Particles;
use super::sorted::Sorted;
use crate::arithmetic::fixed_point::round_to_i64_f64;
use crate::observable::BondOrder;
use crate::observable::vectors::{InnerLoop, on_widest_registers};

/// Pairs of particles, by pair of species, bin; `width` is that of the bins.
pub fn pairs_by_distance(
    particles: &Particles,
    sorted: &Sorted,
    bins: usize,
    width: f64,
) -> Vec<Vec<u64>> {
    let species = particles.species.len();
    let of_places = particles.species_of_places();
    let species_of: Vec<u32> = (0..sorted.count()).map(|at| of_places[sorted.place(at)]).collect();
    let pairs = species * (species + 1) / 2;
    let counts = tasks(sorted.count())
        .map(|range| {
            let inverse_width = width.recip() as f32;
            let species_of = &species_of;
            on_widest_registers(Pairs { sorted, species_of, species, bins, inverse_width, range })
        })
        .reduce(|| vec![0; pairs * bins], added);
    counts.chunks(bins.max(1)).map(<[_]>::to_vec).collect()
}

struct Pairs<'a> {
    sorted: &'a Sorted,
    /// In the order of the sorted.
    species_of: &'a [u32],
    species: usize,
    bins: usize,
    inverse_width: f32,
    range: Range<usize>,
}

impl InnerLoop for Pairs<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Pairs { sorted, species_of, species, bins, inverse_width, range } = self;
        let mut counts = vec![0_u64; species * (species + 1) / 2 * bins];
        for at in range {
            let own = species_of[at] as usize;
            // Each pair once: distances are the same from either side.
            sorted.near(sorted.fractions(at), at + 1, |other, _, r2| {
                let bin = (r2.sqrt() * inverse_width) as usize;
                if bin < bins {
                    let other = species_of[other] as usize;
                    let (a, b) = (own.min(other), own.max(other));
                    counts[(a * species - a * (a + 1) / 2 + b) * bins + bin] += 1;
                }
            });
        }
        counts
    }
}

/// Of each component `m = 0, ..., 6` real and imaginary part, then bonds, then the local order; components and order in units of `2^-32`.
pub const ORDER_SUMS: usize = 16;
const COMPONENT_UNITS: f32 = 4_294_967_296.0;

/// From these sums.
pub fn order_of_sums(sums: &[i64], particles: usize) -> BondOrder {
    let square = |sum: &i64| (*sum as f64 / 2f64.powi(32)).powi(2);
    let length = sums[..14].iter().map(square).sum::<f64>().sqrt();
    let bonds = sums[14] as f64;
    BondOrder {
        global: if bonds > 0.0 { length / bonds } else { 0.0 },
        local: sums[15] as f64 / 2f64.powi(32) / particles.max(1) as f64,
    }
}

/// Of bonds to the particles within the radius.
pub fn bond_order(particles: &Particles, sorted: &Sorted) -> BondOrder {
    let dimension = particles.dimension();
    let sums = tasks(sorted.count())
        .map(|range| on_widest_registers(Bonds { sorted, dimension, range }))
        .reduce(
            || [0; ORDER_SUMS],
            |mut sum, sums| {
                sum.iter_mut().zip(sums).for_each(|(sum, of)| *sum += of);
                sum
            },
        );
    order_of_sums(&sums, particles.count())
}

struct Bonds<'a> {
    sorted: &'a Sorted,
    dimension: usize,
    range: Range<usize>,
}

impl InnerLoop for Bonds<'_> {
    type Output = [i64; ORDER_SUMS];

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Bonds { sorted, dimension, range } = self;
        let mut sums = [0; ORDER_SUMS];
        for at in range {
            let (mut of, mut bonds) = ([[0_i64; 2]; 7], 0);
            sorted.near(sorted.fractions(at), 0, |other, d, r2| {
                if other != at && r2 != 0.0 {
                    let inverse = 1.0 / r2.sqrt();
                    let unit = [d[0] * inverse, d[1] * inverse, d[2] * inverse];
                    add_bond(&mut of, components_of(unit, dimension), dimension);
                    bonds += 1;
                }
            });
            add_particle(&mut sums, of, bonds, dimension);
        }
        sums
    }
}

#[inline(always)]
fn add_bond(sum: &mut [[i64; 2]; 7], components: [[f32; 2]; 7], dimension: usize) {
    for m in first_component(dimension)..7 {
        for part in 0..2 {
            sum[m][part] += round_to_i64_f64(f64::from(components[m][part] * COMPONENT_UNITS));
        }
    }
}

/// Adds a particle; in two dimensions every particle counts the same, in three every bond.
#[inline(always)]
fn add_particle(sums: &mut [i64; ORDER_SUMS], mut of: [[i64; 2]; 7], bonds: i64, dimension: usize) {
    if bonds == 0 {
        return;
    }
    let (mut squared, count) = (0.0_f64, bonds as f64);
    for [re, im] in &of[first_component(dimension)..] {
        let (re, im) = (*re as f64, *im as f64);
        squared = re.mul_add(re, im.mul_add(im, squared));
    }
    let local = (squared.sqrt() / count).round_ties_even() as i64;
    let mut counted = bonds;
    if dimension == 2 {
        of[6] = of[6].map(|part| (part as f64 / count).round_ties_even() as i64);
        counted = 1;
    }
    for (sum, part) in sums.iter_mut().zip(of.as_flattened()) {
        *sum += part;
    }
    sums[14] += counted;
    sums[15] += local;
}

/// Two dimensions have the last component alone.
#[inline(always)]
fn first_component(dimension: usize) -> usize {
    if dimension == 3 { 0 } else { 6 }
}

/// `(x + i y)^m` for `m = 0, ..., 6`.
#[inline(always)]
fn powers_of(x: f32, y: f32) -> [[f32; 2]; 7] {
    let mut power = [[1.0_f32, 0.0]; 7];
    for m in 1..7 {
        let [re, im] = power[m - 1];
        power[m] = [re.mul_add(x, -(im * y)), re.mul_add(y, im * x)];
    }
    power
}

#[inline(always)]
fn fused(x: f32, a: f32, b: f32) -> f32 {
    x.mul_add(a, b)
}

/// Components of a bond of unit length, each times the square root of its weight.
#[inline(always)]
fn components_of(unit: [f32; 3], dimension: usize) -> [[f32; 2]; 7] {
    let mut components = powers_of(unit[0], unit[1]);
    if dimension == 2 {
        return components;
    }
    let z = unit[2];
    let z2 = z * z;
    // Legendre functions less (1 - z^2)^(m/2), times the square root of 2 (6 - m)! / (6 + m)!, half of it for m = 0.
    let legendre: [f32; 7] = [
        fused(fused(fused(231.0, z2, -315.0), z2, 105.0), z2, -5.0) * 0.0625,
        (z * fused(fused(33.0, z2, -30.0), z2, 5.0)) * 0.572_822,
        fused(fused(33.0, z2, -18.0), z2, 1.0) * 0.452_855_53,
        (z * fused(11.0, z2, -3.0)) * 0.905_711_05,
        fused(11.0, z2, -1.0) * 0.496_078_37,
        z * 2.326_813_7,
        0.671_693_27,
    ];
    for (component, legendre) in components.iter_mut().zip(legendre) {
        *component = component.map(|part| part * legendre);
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_the_mean_of_the_sums_over_bonds() {
        let units = |x: f64| (x * 2f64.powi(32)) as i64;
        let mut sums = [0; ORDER_SUMS];
        assert_eq!(order_of_sums(&sums, 7), BondOrder { global: 0.0, local: 0.0 });
        // Three bonds, of sum (-1.5, 2) in one component.
        (sums[4], sums[5], sums[14]) = (units(-1.5), units(2.0), 3);
        sums[15] = units(3.5);
        assert_eq!(order_of_sums(&sums, 7), BondOrder { global: 2.5 / 3.0, local: 0.5 });
    }
}
