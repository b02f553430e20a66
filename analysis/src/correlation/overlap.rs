//! Overlap functions and their fluctuations, evaluated plainly.
use std::f64::consts::PI;

use super::{Correlation, StoredTrajectory, TimePairs, dot, mean_over, square};

/// `Q_s(t)`: fraction of particles with `|r(t) - r(0)| < length`.
pub fn self_overlap(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    length: f64,
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| of_self_overlap(trajectory, particles, length, pair))
}

/// `chi_4(t) = N (<Q_s^2> - <Q_s>^2)` over the pairs of every lag. No error is given.
pub fn self_overlap_susceptibility(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    length: f64,
    pairs: &TimePairs,
) -> Correlation {
    susceptibility(trajectory, particles.len(), pairs, |pair| {
        of_self_overlap(trajectory, particles, length, pair)
    })
}

/// `chi_4(q,t) = N (<f^2> - <f>^2)` over the pairs of every lag, with `f` the mean of
/// `cos(q . [r(t) - r(0)])` over particles and wave vectors. No error is given.
pub fn self_scattering_susceptibility(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    wave_vectors: &[[f64; 3]],
    pairs: &TimePairs,
) -> Correlation {
    susceptibility(trajectory, particles.len(), pairs, |pair| {
        mean_over(particles, |particle| {
            let displacement = trajectory.displacement(particle, pair);
            wave_vectors.iter().map(|&q| dot(q, displacement).cos()).sum::<f64>()
                / wave_vectors.len() as f64
        })
    })
}

/// `G_s(r,t)` in the bin `inner <= |r(t) - r(0)| < outer`: fraction of particles in it, divided by its volume.
pub fn self_van_hove_function(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    [inner, outer]: [f64; 2],
    pairs: &TimePairs,
) -> Correlation {
    let ball = |r: f64| match trajectory.dimension {
        2 => PI * r * r,
        _ => 4.0 / 3.0 * PI * r.powi(3),
    };
    trajectory.average(pairs, |pair| {
        mean_over(particles, |particle| {
            let distance = square(trajectory.displacement(particle, pair)).sqrt();
            f64::from(u8::from((inner..outer).contains(&distance)))
        }) / (ball(outer) - ball(inner))
    })
}

/// Displacements relative to the mean of those of the particles within `radius` at the earlier frame; those
/// without such neighbors keep their own.
pub struct CageRelative<'a> {
    /// The trajectory.
    pub trajectory: &'a StoredTrajectory,
    /// Distance of neighbors.
    pub radius: f64,
}

impl CageRelative<'_> {
    /// Mean of `quantity(displacement)` over particles and pairs of frames.
    pub fn average(
        &self,
        particles: &[usize],
        pairs: &TimePairs,
        quantity: impl Fn([f64; 3]) -> f64 + Sync,
    ) -> Correlation {
        self.trajectory.average(pairs, |pair| {
            mean_over(particles, |particle| quantity(self.displacement(particle, pair)))
        })
    }

    fn displacement(&self, particle: usize, pair: (usize, usize)) -> [f64; 3] {
        let trajectory = self.trajectory;
        let positions = &trajectory.position[pair.0];
        let (mut sum, mut count) = ([0.0; 3], 0.0_f64);
        for (other, place) in positions.iter().enumerate() {
            let apart = std::array::from_fn(|k| {
                let d = place[k] - positions[particle][k];
                d - trajectory.edges[k] * (d / trajectory.edges[k]).round()
            });
            if other != particle && square(apart).sqrt() < self.radius {
                let moved = trajectory.displacement(other, pair);
                (0..3).for_each(|k| sum[k] += moved[k]);
                count += 1.0;
            }
        }
        let own = trajectory.displacement(particle, pair);
        std::array::from_fn(|k| own[k] - sum[k] / count.max(1.0))
    }
}

/// `C_B(t)`: of the particles within `radius` of a particle at the earlier frame, the fraction within `breaking_radius` of it
/// at the later one, 1 where there are none; nearest images.
pub fn bond_breaking(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    radii: [f64; 2],
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| of_bond_breaking(trajectory, particles, radii, pair))
}

/// `chi_4(t) = N (<C_B^2> - <C_B>^2)` over the pairs of every lag. No error is given.
pub fn bond_breaking_susceptibility(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    radii: [f64; 2],
    pairs: &TimePairs,
) -> Correlation {
    susceptibility(trajectory, particles.len(), pairs, |pair| {
        of_bond_breaking(trajectory, particles, radii, pair)
    })
}

fn of_bond_breaking(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    [radius, breaking_radius]: [f64; 2],
    (earlier, later): (usize, usize),
) -> f64 {
    mean_over(particles, |particle| {
        let distance = |frame: usize, other: usize| {
            let positions = &trajectory.position[frame];
            let apart = std::array::from_fn(|k| {
                let d = positions[other][k] - positions[particle][k];
                d - trajectory.edges[k] * (d / trajectory.edges[k]).round()
            });
            square(apart).sqrt()
        };
        let is_neighbor = |other: &usize| *other != particle && distance(earlier, *other) < radius;
        let neighbors: Vec<usize> = (0..trajectory.species.len()).filter(is_neighbor).collect();
        let is_kept = |other: &&usize| distance(later, **other) < breaking_radius;
        match neighbors.len() {
            0 => 1.0,
            count => neighbors.iter().filter(is_kept).count() as f64 / count as f64,
        }
    })
}

fn of_self_overlap(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    length: f64,
    pair: (usize, usize),
) -> f64 {
    mean_over(particles, |particle| {
        f64::from(u8::from(square(trajectory.displacement(particle, pair)).sqrt() < length))
    })
}

/// `number (<x^2> - <x>^2)` over the pairs of every lag.
pub(super) fn susceptibility(
    trajectory: &StoredTrajectory,
    number: usize,
    pairs: &TimePairs,
    x: impl Fn((usize, usize)) -> f64 + Sync,
) -> Correlation {
    let mean = trajectory.average(pairs, &x);
    let mut result = trajectory.average(pairs, |pair| x(pair).powi(2));
    for (value, mean) in result.value.iter_mut().zip(&mean.value) {
        *value = number as f64 * (*value - mean * mean);
    }
    result.error.fill(f64::NAN);
    result
}
