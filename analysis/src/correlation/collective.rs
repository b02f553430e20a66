//! Correlations of the particles as a whole, evaluated plainly.
use std::f64::consts::PI;

use super::overlap::susceptibility;
use super::{Correlation, StoredTrajectory, TimePairs, dot, square};

/// `F_ab(q,t) = <rho_a(q,t) rho_b(-q,0)> / N` with `N` all particles, real part, mean of `ab` and `ba`, averaged
/// over the wave vectors given; `first` and `second` are the particles of `a` and `b`.
pub fn coherent_intermediate_scattering_function(
    trajectory: &StoredTrajectory,
    [first, second]: [&[usize]; 2],
    wave_vectors: &[[f64; 3]],
    pairs: &TimePairs,
) -> Correlation {
    let density = |frame: usize, particles: &[usize], q: [f64; 3]| -> [f64; 2] {
        let phases = particles.iter().map(|&k| dot(q, trajectory.position[frame][k]));
        phases.fold([0.0; 2], |[re, im], phase| [re + phase.cos(), im + phase.sin()])
    };
    let count = trajectory.species.len() as f64;
    // Modes of every frame, which all pairs share.
    let modes = |particles: &[usize]| -> Vec<Vec<[f64; 2]>> {
        (0..trajectory.position.len())
            .map(|frame| wave_vectors.iter().map(|&q| density(frame, particles, q)).collect())
            .collect()
    };
    let (first, second) = (modes(first), modes(second));
    trajectory.average(pairs, |(earlier, later)| {
        let product = |k: usize| {
            let (there, back) =
                ((first[later][k], second[earlier][k]), (second[later][k], first[earlier][k]));
            let real = |(a, b): ([f64; 2], [f64; 2])| a[0] * b[0] + a[1] * b[1];
            0.5 * (real(there) + real(back))
        };
        let sum: f64 = (0..wave_vectors.len()).map(product).sum();
        sum / (wave_vectors.len() as f64 * count)
    })
}

/// `S_4(q,t) = <|W|^2> / N` with `W = sum_j exp(i q . r_j(0))` over those of the `N` particles with `|r_j(t) - r_j(0)| < length`, averaged
/// over the wave vectors given.
pub fn four_point_structure_factor(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    length: f64,
    wave_vectors: &[[f64; 3]],
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| {
        let near =
            |&&particle: &&usize| square(trajectory.displacement(particle, pair)).sqrt() < length;
        let near: Vec<usize> = particles.iter().filter(near).copied().collect();
        let squared = |q: &[f64; 3]| {
            let phases =
                near.iter().map(|&particle| dot(*q, trajectory.position[pair.0][particle]));
            let [re, im] = phases.fold([0.0; 2], |[re, im], x| [re + x.cos(), im + x.sin()]);
            re * re + im * im
        };
        let sum: f64 = wave_vectors.iter().map(squared).sum();
        sum / (wave_vectors.len() * particles.len()) as f64
    })
}

/// `G_d(r,t)` in the bin `inner <= |r_j(t) - r_i(0)| < outer`: pairs `j != i` of a particle of `first` and one of `second`, and the other way
/// round, divided by their number, by the volume of the bin and by that of the box over the number of all particles.
pub fn distinct_van_hove_function(
    trajectory: &StoredTrajectory,
    [first, second]: [&[usize]; 2],
    [inner, outer]: [f64; 2],
    pairs: &TimePairs,
) -> Correlation {
    let ball = |r: f64| match trajectory.dimension {
        2 => PI * r * r,
        _ => 4.0 / 3.0 * PI * r.powi(3),
    };
    let same = first.iter().filter(|particle| second.contains(particle)).count();
    let number = (first.len() * second.len() - same) as f64;
    trajectory.average(pairs, |(earlier, later)| {
        let [from, to] = [earlier, later].map(|frame| &trajectory.position[frame]);
        let is_in_bin = |i: usize, j: usize| {
            let nearest = std::array::from_fn(|k| {
                let d = to[j][k] - from[i][k];
                d - trajectory.edges[k] * (d / trajectory.edges[k]).round()
            });
            u32::from((inner..outer).contains(&square(nearest).sqrt()))
        };
        let of_pairs = first.iter().flat_map(|&i| second.iter().map(move |&j| (i, j)));
        let distinct = of_pairs.filter(|(i, j)| i != j);
        let count: u32 = distinct.map(|(i, j)| is_in_bin(i, j) + is_in_bin(j, i)).sum();
        f64::from(count) * trajectory.species.len() as f64
            / (2.0 * number * (ball(outer) - ball(inner)))
    })
}

/// `Q(t) = <sum_i sum_j theta(length - |r_j(t) - r_i(0)|)> / N` over all ordered pairs of all particles.
pub fn collective_overlap(
    trajectory: &StoredTrajectory,
    length: f64,
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| of_collective_overlap(trajectory, length, pair))
}

/// `chi_4(t) = N (<Q^2> - <Q>^2)` over the pairs of every lag. No error is given.
pub fn collective_overlap_susceptibility(
    trajectory: &StoredTrajectory,
    length: f64,
    pairs: &TimePairs,
) -> Correlation {
    susceptibility(trajectory, trajectory.species.len(), pairs, |pair| {
        of_collective_overlap(trajectory, length, pair)
    })
}

fn of_collective_overlap(
    trajectory: &StoredTrajectory,
    length: f64,
    (earlier, later): (usize, usize),
) -> f64 {
    let mut taken = 0_u64;
    for from in &trajectory.position[earlier] {
        for to in &trajectory.position[later] {
            let nearest = std::array::from_fn(|k| {
                let d = to[k] - from[k];
                d - trajectory.edges[k] * (d / trajectory.edges[k]).round()
            });
            taken += u64::from(square(nearest).sqrt() < length);
        }
    }
    taken as f64 / trajectory.species.len() as f64
}
