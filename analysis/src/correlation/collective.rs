//! Correlations of the particles as a whole, evaluated plainly.
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
