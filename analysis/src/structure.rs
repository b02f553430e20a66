//! Pair distribution and partial structure factors of stored frames, evaluated plainly over all pairs.
use std::f64::consts::PI;

use rayon::prelude::*;

use crate::{AnalysisError, Frame, Result};

/// A function of distance or wave number, averaged over frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Distance or wave number.
    pub x: Vec<f64>,
    /// Mean over frames.
    pub value: Vec<f64>,
    /// Standard error over frames as if these were independent; NaN for one frame.
    pub error: Vec<f64>,
}

impl Profile {
    fn over_frames(x: Vec<f64>, frames: &[Vec<f64>]) -> Self {
        let count = frames.len() as f64;
        let column = |k: usize| frames.iter().map(move |frame| frame[k]);
        let value: Vec<f64> = (0..x.len()).map(|k| column(k).sum::<f64>() / count).collect();
        let error = (0..x.len())
            .map(|k| {
                let squares: f64 = column(k).map(|y| (y - value[k]).powi(2)).sum();
                (squares / (count * (count - 1.0))).sqrt()
            })
            .collect();
        Profile { x, value, error }
    }
}

/// `g_ab(r)`: ordered pairs at distance `r` over those of an ideal gas, `N_a N_b v / V` for `a != b` and
/// `N_a (N_a - 1) v / V` for `a = b`, with `v` the volume of the shell; in bins of `bin_width` up to
/// `maximum`, `x` is the middle of a bin. An ideal gas of any size gives 1.
///
/// # Errors
/// If `maximum` exceeds half the shortest edge, or a species is absent.
pub fn pair_distribution(
    frames: &[Frame],
    a: &str,
    b: &str,
    maximum: f64,
    bin_width: f64,
) -> Result<Profile> {
    let bins = (maximum / bin_width).round().max(1.0) as usize;
    let x: Vec<f64> = (0..bins).map(|k| (k as f64 + 0.5) * bin_width).collect();
    let mut per_frame = Vec::new();
    for frame in frames {
        let shortest = frame.box_edges.iter().copied().fold(f64::INFINITY, f64::min);
        if bins as f64 * bin_width > 0.5 * shortest * (1.0 + 1e-12) {
            return Err(AnalysisError::Request(format!(
                "g(r) to r = {maximum} in a box of edge {shortest}: at most half the edge"
            )));
        }
        let (first, second) = (species(frame, a)?, species(frame, b)?);
        let histogram = first
            .par_iter()
            .fold(
                || vec![0_u64; bins],
                |mut histogram, &i| {
                    for &j in second.iter().filter(|&&j| j != i) {
                        let bin = (distance(frame, i, j) / bin_width) as usize;
                        if let Some(count) = histogram.get_mut(bin) {
                            *count += 1;
                        }
                    }
                    histogram
                },
            )
            .reduce(|| vec![0_u64; bins], |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect());
        let partners = if a == b { second.len() - 1 } else { second.len() };
        let pairs = first.len() as f64 * partners as f64;
        let ball = |r: f64| match frame.dimension {
            2 => PI * r * r,
            _ => 4.0 / 3.0 * PI * r.powi(3),
        };
        let normalised = |(k, &count): (usize, &u64)| {
            let shell = ball((k + 1) as f64 * bin_width) - ball(k as f64 * bin_width);
            count as f64 * frame.volume() / (pairs * shell)
        };
        per_frame.push(histogram.iter().enumerate().map(normalised).collect());
    }
    Ok(Profile::over_frames(x, &per_frame))
}

fn species(frame: &Frame, name: &str) -> Result<Vec<usize>> {
    let particles = frame.particles_of(name);
    if particles.is_empty() {
        let names = frame.species_names.join(", ");
        return Err(AnalysisError::Request(format!("no species `{name}`; there are {names}")));
    }
    Ok(particles)
}

fn distance(frame: &Frame, i: usize, j: usize) -> f64 {
    let edges = frame.padded_edges();
    let squares = (0..3).map(|k| {
        let d = frame.position[i][k] - frame.position[j][k];
        (d - edges[k] * (d / edges[k]).round()).powi(2)
    });
    squares.sum::<f64>().sqrt()
}

/// `S_ab(q) = <rho_a(q) rho_b(-q)> / N` with `rho_a(q) = sum_(i in a) exp(i q . r_i)` and `N` all particles,
/// averaged over the wave vectors of each shell; `x` is the mean length in a shell.
pub fn structure_factor(
    frames: &[Frame],
    a: &str,
    b: &str,
    shells: &[Vec<[f64; 3]>],
) -> Result<Profile> {
    let length = |q: &[f64; 3]| (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]).sqrt();
    let x = shells
        .iter()
        .map(|shell| shell.iter().map(length).sum::<f64>() / shell.len() as f64)
        .collect();
    let mut per_frame = Vec::new();
    for frame in frames {
        let (first, second) = (species(frame, a)?, species(frame, b)?);
        let mode = |particles: &[usize], q: &[f64; 3]| {
            particles.iter().fold((0.0, 0.0), |(re, im), &i| {
                let r = frame.position[i];
                let phase = q[0] * r[0] + q[1] * r[1] + q[2] * r[2];
                (re + phase.cos(), im + phase.sin())
            })
        };
        let shell_average = |shell: &Vec<[f64; 3]>| {
            let sum: f64 = shell
                .iter()
                .map(|q| {
                    let (ra, ia) = mode(&first, q);
                    let (rb, ib) = mode(&second, q);
                    ra * rb + ia * ib
                })
                .sum();
            sum / (shell.len() * frame.particle_count()) as f64
        };
        per_frame.push(shells.par_iter().map(shell_average).collect());
    }
    Ok(Profile::over_frames(x, &per_frame))
}

/// Wave vectors `2 pi n_k / L_k` with lengths in `[low, high]`, one of each pair `q, -q`.
pub fn wave_vectors(edges: &[f64], low: f64, high: f64) -> Vec<[f64; 3]> {
    let unit: [f64; 3] = std::array::from_fn(|k| edges.get(k).map_or(0.0, |edge| 2.0 * PI / edge));
    let reach = |k: usize| match edges.get(k) {
        Some(_) => (high / unit[k]).floor() as i64,
        None => 0,
    };
    let mut vectors = Vec::new();
    for x in -reach(0)..=reach(0) {
        for y in -reach(1)..=reach(1) {
            for z in -reach(2)..=reach(2) {
                if (x, y, z) <= (0, 0, 0) {
                    continue;
                }
                let q = [x as f64 * unit[0], y as f64 * unit[1], z as f64 * unit[2]];
                let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]).sqrt();
                if (low..=high).contains(&length) {
                    vectors.push(q);
                }
            }
        }
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;

    fn frame(dimension: usize, edge: f64, position: Vec<[f64; 3]>) -> Frame {
        Frame {
            dimension,
            box_edges: vec![edge; dimension],
            species_names: vec!["A".into(), "B".into()],
            species: (0..position.len()).map(|k| u32::from(k % 4 == 3)).collect(),
            position,
            ..Frame::default()
        }
        .finish(false)
        .unwrap()
    }

    fn ideal_gas(dimension: usize, count: usize) -> Vec<Frame> {
        let mut random = Normal::new(5);
        (0..20)
            .map(|_| {
                let position = (0..count).map(|_| {
                    std::array::from_fn(
                        |k| if k < dimension { 8.0 * random.uniform() } else { 0.0 },
                    )
                });
                frame(dimension, 8.0, position.collect())
            })
            .collect()
    }

    #[test]
    fn an_ideal_gas_has_no_structure() {
        for dimension in [2, 3] {
            let count = 400;
            let frames = ideal_gas(dimension, count);
            for (a, b) in [("A", "A"), ("A", "B")] {
                let g = pair_distribution(&frames, a, b, 4.0, 0.5).unwrap();
                assert_eq!(g.x.len(), 8);
                for k in 1..8 {
                    assert!((g.value[k] - 1.0).abs() < 5.0 * g.error[k], "{a}{b} {k} {g:?}");
                }
                let shells: Vec<_> = (2..6)
                    .map(|n| wave_vectors(&[8.0; 3][..dimension], f64::from(n), f64::from(n) + 0.7))
                    .collect();
                let s = structure_factor(&frames, a, b, &shells).unwrap();
                let expected = if a == b { 0.75 } else { 0.0 };
                for k in 0..shells.len() {
                    assert!((s.value[k] - expected).abs() < 5.0 * s.error[k], "{a}{b} {s:?}");
                }
            }
        }
    }

    #[test]
    fn a_square_lattice_has_its_neighbors_and_its_bragg_peak() {
        let n = 6;
        let sites = (0..n * n).map(|k| [f64::from(k % n), f64::from(k / n), 0.0]).collect();
        let mut lattice = frame(2, 6.0, sites);
        lattice.species.fill(0);
        let g = pair_distribution(&[lattice.clone()], "A", "A", 2.0, 0.1).unwrap();
        // Four neighbors in the bin [1.0, 1.1): g = 4 / (35/36 shell area).
        let shell = PI * (1.1_f64.powi(2) - 1.0);
        assert!((g.value[10] - 36.0 / 35.0 * 4.0 / shell).abs() < 1e-9, "{:?}", g.value);
        assert_eq!(g.value[5], 0.0);
        let bragg = vec![vec![[2.0 * PI, 0.0, 0.0]], vec![[2.0 * PI / 6.0, 0.0, 0.0]]];
        let s = structure_factor(&[lattice], "A", "A", &bragg).unwrap();
        assert!((s.value[0] - 36.0).abs() < 1e-9);
        assert!(s.value[1].abs() < 1e-12);
    }

    #[test]
    fn half_of_all_wave_vectors_is_listed() {
        // |n|^2 = 1, 2, 3: 6 + 12 + 8 vectors.
        let vectors = wave_vectors(&[2.0 * PI; 3], 0.9, 1.8);
        assert_eq!(vectors.len(), 13);
        for q in &vectors {
            assert!(!vectors.contains(&[-q[0], -q[1], -q[2]]));
        }
        assert_eq!(wave_vectors(&[2.0 * PI; 2], 0.9, 1.5).len(), 4);
    }

    #[test]
    fn distances_beyond_half_the_box_are_refused() {
        let frames = ideal_gas(3, 40);
        assert!(
            pair_distribution(&frames, "A", "A", 4.5, 0.5)
                .unwrap_err()
                .to_string()
                .contains("half")
        );
        assert!(
            pair_distribution(&frames, "C", "A", 4.0, 0.5)
                .unwrap_err()
                .to_string()
                .contains("A, B")
        );
    }
}
