//! Pairs of particles by their distance, and six-fold bond-orientational order, of samples. Mirrors `kernels/observable/structure.cu`.
use rayon::prelude::*;

use super::particles::Particles;
use super::sorted::{Point, Sorted};
use crate::arithmetic::fixed_point::round_to_i64_f64;
use crate::observable::BondOrder;

/// Particles of a task.
const PARTICLES_AT_ONCE: usize = 256;

/// Pairs of particles, by pair of species, bin; `width` is that of the bins.
pub fn pairs_by_distance(
    particles: &Particles,
    sorted: &Sorted,
    bins: usize,
    width: f64,
) -> Vec<Vec<u64>> {
    let species = particles.species.len();
    let pairs = species * (species + 1) / 2;
    let species_of = particles.species_of_places();
    let inverse_width = width.recip() as f32;
    let of_task = |points: &[Point]| {
        let mut counts = vec![0_u64; pairs * bins];
        for own in points {
            // Each pair once: species do not fall with the place.
            let a = species_of[own.place as usize] as usize;
            sorted.near(
                own.fraction,
                |other| other.place > own.place,
                |other, _, r2| {
                    let bin = (r2.sqrt() * inverse_width) as usize;
                    if bin < bins {
                        let b = species_of[other.place as usize] as usize;
                        let pair = a * species - a * (a + 1) / 2 + b;
                        counts[pair * bins + bin] += 1;
                    }
                },
            );
        }
        counts
    };
    let counts = sorted.points().par_chunks(PARTICLES_AT_ONCE).map(of_task).reduce(
        || vec![0; pairs * bins],
        |mut sum, counts| {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sum
        },
    );
    counts.chunks(bins.max(1)).map(<[_]>::to_vec).collect()
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
    let of_task = |points: &[Point]| {
        let mut sums = [0; ORDER_SUMS];
        for own in points {
            let (of_own, bonds) = sum_over_bonds(sorted, own, dimension);
            add_particle(&mut sums, of_own, bonds, dimension);
        }
        sums
    };
    let sums = sorted.points().par_chunks(PARTICLES_AT_ONCE).map(of_task).reduce(
        || [0; ORDER_SUMS],
        |mut sum, sums| {
            sum.iter_mut().zip(sums).for_each(|(sum, of)| *sum += of);
            sum
        },
    );
    order_of_sums(&sums, particles.count())
}

/// Of the bonds of a particle, and how many they are.
fn sum_over_bonds(sorted: &Sorted, own: &Point, dimension: usize) -> ([[i64; 2]; 7], i64) {
    let (mut sum, mut bonds) = ([[0_i64; 2]; 7], 0);
    let is_other = |point: &Point| point.place != own.place;
    sorted.near(own.fraction, is_other, |_, d, r2| {
        if r2 == 0.0 {
            return;
        }
        let inverse = 1.0 / r2.sqrt();
        let components = components_of(d.map(|d| d * inverse), dimension);
        for m in first_component(dimension)..7 {
            for part in 0..2 {
                sum[m][part] += round_to_i64_f64(f64::from(components[m][part] * COMPONENT_UNITS));
            }
        }
        bonds += 1;
    });
    (sum, bonds)
}

/// Adds a particle; in two dimensions every particle counts the same, in three every bond.
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
fn first_component(dimension: usize) -> usize {
    if dimension == 3 { 0 } else { 6 }
}

/// `(x + i y)^m` for `m = 0, ..., 6`.
fn powers_of(x: f32, y: f32) -> [[f32; 2]; 7] {
    let mut power = [[1.0_f32, 0.0]; 7];
    for m in 1..7 {
        let [re, im] = power[m - 1];
        power[m] = [re.mul_add(x, -(im * y)), re.mul_add(y, im * x)];
    }
    power
}

/// Components of a bond of unit length, each times the square root of its weight.
fn components_of(unit: [f32; 3], dimension: usize) -> [[f32; 2]; 7] {
    let mut components = powers_of(unit[0], unit[1]);
    if dimension == 2 {
        return components;
    }
    let z = unit[2];
    let z2 = z * z;
    let polynomial = |coefficients: &[f32]| {
        let (first, rest) = coefficients.split_first().expect("not empty");
        rest.iter().fold(*first, |value, coefficient| value.mul_add(z2, *coefficient))
    };
    // Legendre functions less (1 - z^2)^(m/2), times the square root of 2 (6 - m)! / (6 + m)!, half of it for m = 0.
    let legendre: [f32; 7] = [
        polynomial(&[231.0, -315.0, 105.0, -5.0]) * 0.0625,
        (z * polynomial(&[33.0, -30.0, 5.0])) * 0.572_822,
        polynomial(&[33.0, -18.0, 1.0]) * 0.452_855_53,
        (z * polynomial(&[11.0, -3.0])) * 0.905_711_05,
        polynomial(&[11.0, -1.0]) * 0.496_078_37,
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
