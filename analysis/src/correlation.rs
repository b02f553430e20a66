//! Time correlations of a stored trajectory, evaluated plainly.
//!
//! Every pair of frames at a lag contributes: O(M^2) in the number of frames, 64-bit floats, no
//! blocks. This is the check of what a simulation computes while it runs, and shares no code with it.
//!
//! ```
//! # use supercool_analysis::correlation::{StoredTrajectory, TimePairs, mean_square_displacement};
//! # let frames = vec![];
//! # fn f(frames: Vec<supercool_analysis::Frame>) -> supercool_analysis::Result<()> {
//! let trajectory = StoredTrajectory::from_frames(frames, Some(0.001))?;
//! let pairs = TimePairs::all(trajectory.steps());
//! let msd = mean_square_displacement(&trajectory, &trajectory.particles_of("A"), &pairs);
//! # Ok(()) }
//! # assert!(f(frames).is_err());
//! ```
mod collective;
mod overlap;
mod stress;

use std::collections::BTreeMap;

pub use collective::{
    coherent_intermediate_scattering_function, collective_overlap,
    collective_overlap_susceptibility, distinct_van_hove_function, four_point_structure_factor,
};
pub use overlap::{
    CageRelative, bond_breaking, bond_breaking_susceptibility, self_overlap,
    self_overlap_susceptibility, self_scattering_susceptibility, self_van_hove_function,
};
use rayon::prelude::*;
pub use stress::{StressSeries, shear_viscosity, stress_autocorrelation};

use crate::{AnalysisError, Frame, Result, TrajectoryReader};

/// All frames of a trajectory with unwrapped positions.
///
/// Where a file has no images, a particle is taken to move less than half an edge between successive
/// frames.
#[derive(Clone, Debug)]
pub struct StoredTrajectory {
    dimension: usize,
    edges: [f64; 3],
    species: Vec<String>,
    steps: Vec<u64>,
    times: Vec<f64>,
    position: Vec<Vec<[f64; 3]>>,
    velocity: Option<Vec<Vec<[f64; 3]>>>,
}

/// A function of time lag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlation {
    /// Lag in steps.
    pub lag: Vec<u64>,
    /// Lag in time.
    pub time: Vec<f64>,
    /// Mean over particles and over pairs of frames.
    pub value: Vec<f64>,
    /// Standard error of that mean as if the pairs of frames were independent; NaN for one pair.
    pub error: Vec<f64>,
    /// Pairs of frames.
    pub count: Vec<u64>,
}

/// Pairs of frames to correlate, by lag: `(earlier, later)` indices.
#[derive(Clone, Debug, Default)]
pub struct TimePairs(pub BTreeMap<u64, Vec<(usize, usize)>>);

impl TimePairs {
    /// Every frame with itself and every later one.
    pub fn all(steps: &[u64]) -> Self {
        let mut pairs = BTreeMap::<u64, Vec<_>>::new();
        for (earlier, &from) in steps.iter().enumerate() {
            for (later, &to) in steps.iter().enumerate().skip(earlier) {
                if to >= from {
                    pairs.entry(to - from).or_default().push((earlier, later));
                }
            }
        }
        TimePairs(pairs)
    }

    /// Keeps pairs for which `keep(lag, step of the earlier frame)` holds: to follow the origins of
    /// another scheme.
    pub fn keep(mut self, steps: &[u64], keep: impl Fn(u64, u64) -> bool) -> Self {
        for (&lag, pairs) in &mut self.0 {
            pairs.retain(|&(earlier, _)| keep(lag, steps[earlier]));
        }
        self.0.retain(|_, pairs| !pairs.is_empty());
        self
    }
}

impl StoredTrajectory {
    /// Reads all frames. `timestep` gives times where the file has none; without either, time is the
    /// step number.
    ///
    /// # Errors
    /// As [`Self::from_frames`], and if several frames have no ids in a format whose writers change the order of
    /// particles.
    pub fn read(reader: &dyn TrajectoryReader, timestep: Option<f64>) -> Result<Self> {
        let frames = (0..reader.len()).map(|index| reader.read(index));
        let frames = frames.collect::<Result<Vec<Frame>>>()?;
        let nameless = |frame: &Frame| frame.id.is_none();
        if frames.len() > 1 && !reader.keeps_order() && frames.iter().any(nameless) {
            let what = format!(
                "no ids, without which particles of a {} cannot be found in the next frame",
                reader.format()
            );
            return Err(AnalysisError::content(reader.path(), what));
        }
        Self::from_frames(frames, timestep)
    }

    /// As [`Self::read`].
    ///
    /// # Errors
    /// Without frames, or if particles, species or box change between frames.
    pub fn from_frames(frames: Vec<Frame>, timestep: Option<f64>) -> Result<Self> {
        let request = |what: String| AnalysisError::Request(what);
        let first = frames.first().ok_or_else(|| request("a trajectory without frames".into()))?;
        for frame in &frames {
            let same = frame.dimension == first.dimension
                && frame.box_edges == first.box_edges
                && frame.species == first.species
                && frame.species_names == first.species_names
                && frame.id == first.id;
            if !same {
                return Err(request(format!(
                    "box, particles or species at step {} differ from those at step {}: their \
                     displacements are not defined",
                    frame.step, first.step
                )));
            }
        }
        let edges = first.padded_edges();
        let mut position: Vec<Vec<[f64; 3]>> = Vec::with_capacity(frames.len());
        for frame in &frames {
            let unwrapped = (0..frame.particle_count()).map(|particle| match position.last() {
                // Those of later frames only may not join on to the first one.
                _ if frame.image.is_some() && first.image.is_some() => {
                    frame.unwrapped(particle).unwrap_or_default()
                }
                Some(before) => follow(before[particle], frame.position[particle], edges),
                None => frame.position[particle],
            });
            let unwrapped = unwrapped.collect();
            position.push(unwrapped);
        }
        let time =
            |frame: &Frame| frame.time.unwrap_or(frame.step as f64 * timestep.unwrap_or(1.0));
        Ok(StoredTrajectory {
            dimension: first.dimension,
            edges,
            species: (0..first.particle_count())
                .map(|k| first.species_name(k).to_owned())
                .collect(),
            steps: frames.iter().map(|frame| frame.step).collect(),
            times: frames.iter().map(time).collect(),
            position,
            velocity: frames.into_iter().map(|frame| frame.velocity).collect(),
        })
    }

    /// Steps of the frames.
    pub fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// Particles of one species; all for an empty name.
    pub fn particles_of(&self, name: &str) -> Vec<usize> {
        (0..self.species.len()).filter(|&k| name.is_empty() || self.species[k] == name).collect()
    }

    /// Positions and velocities relative to the mean of all particles, which is their centre of mass if
    /// their masses are equal.
    pub fn without_drift(mut self) -> Self {
        for vectors in self.position.iter_mut().chain(self.velocity.iter_mut().flatten()) {
            let count = vectors.len() as f64;
            let mean: [f64; 3] =
                std::array::from_fn(|k| vectors.iter().map(|v| v[k]).sum::<f64>() / count);
            vectors.iter_mut().for_each(|v| (0..3).for_each(|k| v[k] -= mean[k]));
        }
        self
    }

    fn displacement(&self, particle: usize, (earlier, later): (usize, usize)) -> [f64; 3] {
        let (from, to) = (self.position[earlier][particle], self.position[later][particle]);
        [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
    }

    /// Mean of `quantity(pair)` over the pairs of every lag.
    fn average(
        &self,
        pairs: &TimePairs,
        quantity: impl Fn((usize, usize)) -> f64 + Sync,
    ) -> Correlation {
        let mut result = Correlation::default();
        for (&lag, pairs) in &pairs.0 {
            let Some(&(earlier, later)) = pairs.first() else { continue };
            let samples: Vec<f64> = pairs.par_iter().map(|&pair| quantity(pair)).collect();
            let count = samples.len() as f64;
            let mean = samples.iter().sum::<f64>() / count;
            let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
            result.lag.push(lag);
            result.time.push(self.times[later] - self.times[earlier]);
            result.value.push(mean);
            result.error.push((variance / count).sqrt());
            result.count.push(samples.len() as u64);
        }
        result
    }
}

/// The image of `wrapped` nearest to `before`.
fn follow(before: [f64; 3], wrapped: [f64; 3], edges: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| {
        let distance = wrapped[k] - before[k];
        before[k] + distance - edges[k] * (distance / edges[k]).round()
    })
}

fn square(v: [f64; 3]) -> f64 {
    dot(v, v)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn mean_over(particles: &[usize], quantity: impl Fn(usize) -> f64) -> f64 {
    particles.iter().map(|&particle| quantity(particle)).sum::<f64>() / particles.len() as f64
}

/// Mean of `quantity(r(t) - r(0))` over particles and pairs of frames.
pub fn average_of_displacements(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    pairs: &TimePairs,
    quantity: impl Fn([f64; 3]) -> f64 + Sync,
) -> Correlation {
    trajectory.average(pairs, |pair| {
        mean_over(particles, |particle| quantity(trajectory.displacement(particle, pair)))
    })
}

/// `<|r(t) - r(0)|^2>`.
pub fn mean_square_displacement(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| {
        mean_over(particles, |particle| square(trajectory.displacement(particle, pair)))
    })
}

/// `<|r(t) - r(0)|^4>`.
pub fn mean_quartic_displacement(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| {
        mean_over(particles, |particle| square(trajectory.displacement(particle, pair)).powi(2))
    })
}

/// `alpha_2(t) = d <dr^4> / ((d + 2) <dr^2>^2) - 1` in `d` dimensions; zero for Gaussian displacements.
/// NaN at lag 0. No error is given.
pub fn non_gaussian_parameter(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    pairs: &TimePairs,
) -> Correlation {
    let msd = mean_square_displacement(trajectory, particles, pairs);
    let mut result = mean_quartic_displacement(trajectory, particles, pairs);
    let d = trajectory.dimension as f64;
    for (quartic, square) in result.value.iter_mut().zip(&msd.value) {
        *quartic = d * *quartic / ((d + 2.0) * square * square) - 1.0;
    }
    result.error.fill(f64::NAN);
    result
}

/// `<v(t) . v(0)>`, the sum over components: at lag 0 it is `d T / m`.
///
/// # Errors
/// If the trajectory holds no velocities.
pub fn velocity_autocorrelation(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    pairs: &TimePairs,
) -> Result<Correlation> {
    let velocity = trajectory.velocity.as_ref().ok_or_else(|| {
        AnalysisError::Request("the trajectory holds no velocities to correlate".into())
    })?;
    Ok(trajectory.average(pairs, |(earlier, later)| {
        mean_over(particles, |particle| dot(velocity[earlier][particle], velocity[later][particle]))
    }))
}

/// `F_s(q,t) = <cos(q . [r(t) - r(0)])>`, averaged over the wave vectors given.
pub fn self_intermediate_scattering_function(
    trajectory: &StoredTrajectory,
    particles: &[usize],
    wave_vectors: &[[f64; 3]],
    pairs: &TimePairs,
) -> Correlation {
    trajectory.average(pairs, |pair| {
        mean_over(particles, |particle| {
            let displacement = trajectory.displacement(particle, pair);
            wave_vectors.iter().map(|&q| dot(q, displacement).cos()).sum::<f64>()
                / wave_vectors.len() as f64
        })
    })
}

/// Wave vectors `2 pi (n_x/L_x, n_y/L_y, n_z/L_z)` of the trajectory's box with lengths in
/// `[low, high]`.
pub fn wave_vectors_of(trajectory: &StoredTrajectory, low: f64, high: f64) -> Vec<[f64; 3]> {
    crate::structure::wave_vectors(&trajectory.edges[..trajectory.dimension], low, high)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Gaussian random numbers (polar method over a 64-bit congruential generator), for tests.
    pub(crate) struct Normal(u64);

    impl Normal {
        pub(crate) fn new(seed: u64) -> Self {
            Normal(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
        }

        pub(crate) fn uniform(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        pub(crate) fn next(&mut self) -> f64 {
            loop {
                let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
                let s = x * x + y * y;
                if s > 0.0 && s < 1.0 {
                    return x * (-2.0 * s.ln() / s).sqrt();
                }
            }
        }
    }

    fn frame(step: u64, dimension: usize, edge: f64, position: Vec<[f64; 3]>) -> Frame {
        let count = position.len();
        Frame {
            step,
            dimension,
            box_edges: vec![edge; dimension],
            species_names: vec!["A".into(), "B".into()],
            species: (0..count).map(|k| (k % 2) as u32).collect(),
            position,
            ..Frame::default()
        }
        .finish(true)
        .unwrap()
    }

    const STEP: f64 = 0.5;

    /// Velocities 1, 2, 3, ... along x; frames at steps 0, 10, 20, 40.
    fn free_flight() -> StoredTrajectory {
        let frames = [0_u64, 10, 20, 40].map(|step| {
            let t = step as f64 * STEP;
            let mut frame = frame(
                step,
                3,
                4.0,
                (1..=6).map(|v| [f64::from(v) * t, 1.0 - 0.5 * t, 2.0]).collect(),
            );
            frame.velocity = Some((1..=6).map(|v| [f64::from(v), -0.5, 0.0]).collect());
            frame
        });
        StoredTrajectory::from_frames(frames.into(), Some(STEP)).unwrap()
    }

    #[test]
    fn free_flight_is_ballistic_to_rounding() {
        let trajectory = free_flight();
        let pairs = TimePairs::all(trajectory.steps());
        let b = trajectory.particles_of("B");
        assert_eq!(b, [1, 3, 5], "velocities 2, 4, 6");
        let v2 = (4.0 + 16.0 + 36.0) / 3.0 + 0.25;
        let v4 = (4.25_f64.powi(2) + 16.25_f64.powi(2) + 36.25_f64.powi(2)) / 3.0;
        let msd = mean_square_displacement(&trajectory, &b, &pairs);
        assert_eq!(msd.lag, [0, 10, 20, 30, 40]);
        assert_eq!(msd.count, [4, 2, 2, 1, 1]);
        let mqd = mean_quartic_displacement(&trajectory, &b, &pairs);
        let alpha = non_gaussian_parameter(&trajectory, &b, &pairs);
        let vacf = velocity_autocorrelation(&trajectory, &b, &pairs).unwrap();
        let q = [[0.3, 0.0, 0.1]];
        let scattering = self_intermediate_scattering_function(&trajectory, &b, &q, &pairs);
        for (k, &lag) in msd.lag.iter().enumerate() {
            let t = lag as f64 * STEP;
            assert_eq!(msd.time[k], t);
            assert!((msd.value[k] - v2 * t * t).abs() <= 1e-12 * v2 * t * t);
            assert!((mqd.value[k] - v4 * t.powi(4)).abs() <= 1e-12 * v4 * t.powi(4));
            assert!((vacf.value[k] - v2).abs() < 1e-13);
            let expected =
                [2.0, 4.0, 6.0].map(|v: f64| (0.3 * v * t).cos()).iter().sum::<f64>() / 3.0;
            assert!((scattering.value[k] - expected).abs() < 1e-12);
            if lag > 0 {
                assert!((alpha.value[k] - (3.0 * v4 / (5.0 * v2 * v2) - 1.0)).abs() < 1e-12);
            }
        }
    }

    fn random_walk(
        dimension: usize,
        frames: u64,
        particles: usize,
        with_images: bool,
    ) -> StoredTrajectory {
        let mut normal = Normal::new(11);
        let mut position = vec![[0.0; 3]; particles];
        let frames = (0..frames)
            .map(|step| {
                for x in position.iter_mut().flat_map(|p| &mut p[..dimension]) {
                    *x += 0.3 * normal.next();
                }
                let mut frame = frame(step, dimension, 6.0, position.clone());
                if !with_images {
                    frame.image = None;
                }
                frame
            })
            .collect();
        StoredTrajectory::from_frames(frames, None).unwrap()
    }

    #[test]
    fn a_gaussian_random_walk_diffuses_with_zero_non_gaussian_parameter() {
        for dimension in [2, 3] {
            let particles = 2000;
            let trajectory = random_walk(dimension, 30, particles, true);
            let pairs = TimePairs::all(trajectory.steps());
            let all = trajectory.particles_of("");
            let msd = mean_square_displacement(&trajectory, &all, &pairs);
            let alpha = non_gaussian_parameter(&trajectory, &all, &pairs);
            let q = 1.5;
            let scattering =
                self_intermediate_scattering_function(&trajectory, &all, &[[q, 0.0, 0.0]], &pairs);
            let d = dimension as f64;
            for k in 1..msd.lag.len() {
                let n = msd.lag[k] as f64;
                // Independent stretches of the walk: particles times frames / lag.
                let independent = particles as f64 * (29.0 / n).max(1.0).floor();
                let relative = (2.0 / (d * independent)).sqrt();
                let expected = d * 0.09 * n;
                assert!((msd.value[k] / expected - 1.0).abs() < 4.5 * relative, "lag {n}");
                // Variance of alpha_2 of N Gaussian vectors is 8 / (d (d + 2) N).
                let error = (8.0 / (d * (d + 2.0) * independent)).sqrt();
                assert!(alpha.value[k].abs() < 4.5 * error, "lag {n}: {}", alpha.value[k]);
                let gaussian = (-0.5 * q * q * 0.09 * n).exp();
                let error = (0.5 / independent).sqrt();
                assert!((scattering.value[k] - gaussian).abs() < 4.5 * error, "lag {n}");
            }
        }
    }

    #[test]
    fn short_moves_are_followed_through_the_boundary_without_images() {
        let with = random_walk(3, 20, 50, true);
        let without = random_walk(3, 20, 50, false);
        let pairs = TimePairs::all(with.steps());
        let all = with.particles_of("");
        let a = mean_square_displacement(&with, &all, &pairs);
        let b = mean_square_displacement(&without, &all, &pairs);
        for (a, b) in a.value.iter().zip(&b.value) {
            assert!((a - b).abs() < 1e-11 * (1.0 + a));
        }
    }

    #[test]
    fn kept_pairs_are_those_asked_for() {
        let steps = [0, 1, 2, 3, 4, 6];
        let pairs = TimePairs::all(&steps).keep(&steps, |lag, origin| lag == 2 && origin % 2 == 0);
        assert_eq!(pairs.0.into_iter().collect::<Vec<_>>(), [(2, vec![(0, 2), (2, 4), (4, 5)])]);
    }

    #[test]
    fn changing_particles_are_refused() {
        let a = frame(0, 3, 4.0, vec![[0.0; 3]; 4]);
        let b = frame(5, 3, 4.0, vec![[0.0; 3]; 5]);
        let error = StoredTrajectory::from_frames(vec![a, b], None).unwrap_err();
        assert!(error.to_string().contains("step 5"));
    }
}
