//! Functions that decay and walks with their errors, for the tests of fits.
use super::covariance::of_walk;
use crate::correlation::tests::Normal;
use crate::statistics::block_average;

pub fn log_times() -> Vec<f64> {
    (0..61).map(|k| 1e-2 * 10_f64.powf(f64::from(k) / 10.0)).collect()
}

/// A fast decay from 1 to `a` around t = 0.1, then a stretched exponential.
pub fn two_steps(t: f64, a: f64, tau: f64, beta: f64) -> f64 {
    (a + (1.0 - a) * (-(t / 0.1).powi(2)).exp()) * (-(t / tau).powf(beta)).exp()
}

/// Normal numbers with the correlation of a walk's displacements at these times.
pub struct Walk(Vec<Vec<f64>>);

impl Walk {
    pub fn new(time: &[f64]) -> Self {
        let mut factor: Vec<Vec<f64>> = Vec::new();
        for (i, &t) in time.iter().enumerate() {
            let mut row: Vec<f64> = Vec::new();
            for (j, other) in factor.iter().enumerate() {
                let inner: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.push((of_walk(t, time[j]) - inner) / other[j]);
            }
            row.push((1.0 - row.iter().map(|a| a * a).sum::<f64>()).sqrt());
            assert_eq!(row.len(), i + 1);
            factor.push(row);
        }
        Walk(factor)
    }

    pub fn next(&self, normal: &mut Normal) -> Vec<f64> {
        let white: Vec<f64> = self.0.iter().map(|_| normal.next()).collect();
        self.0.iter().map(|row| row.iter().zip(&white).map(|(a, b)| a * b).sum()).collect()
    }
}

/// Velocities `v' = -v / tau + noise` of variance 1: `D = tau`.
pub struct OrnsteinUhlenbeck {
    /// `exp(-h / tau)` of a sampling interval `h`.
    keep: f64,
    tau: f64,
    /// Root of the covariance of velocity and displacement in an interval (Uhlenbeck & Ornstein,
    /// Phys. Rev. 36, 823 (1930)).
    root: [f64; 3],
}

impl OrnsteinUhlenbeck {
    pub fn new(tau: f64) -> Self {
        let keep = (-1.0 / tau).exp();
        let [vv, vx, xx] = [
            1.0 - keep * keep,
            tau * (1.0 - keep).powi(2),
            tau * tau * (2.0 / tau - 3.0 + 4.0 * keep - keep * keep),
        ];
        let first = vv.sqrt();
        let root = [first, vx / first, (xx - vx * vx / vv).sqrt()];
        OrnsteinUhlenbeck { keep, tau, root }
    }

    /// Positions `x[sample][walker]` at intervals of 1.
    pub fn run(&self, samples: usize, walkers: usize, normal: &mut Normal) -> Vec<Vec<f64>> {
        let mut velocity: Vec<f64> = (0..walkers).map(|_| normal.next()).collect();
        let mut position = vec![0.0; walkers];
        let step = |_: usize| {
            for (x, v) in position.iter_mut().zip(&mut velocity) {
                let (a, b) = (normal.next(), normal.next());
                *x += self.tau * (1.0 - self.keep) * *v + self.root[1] * a + self.root[2] * b;
                *v = self.keep * *v + self.root[0] * a;
            }
            position.clone()
        };
        (0..samples).map(step).collect()
    }
}

/// Lags `m l^n`, `m < l = 10`, with origins every `l^n` as in a simulation: times, means, errors by
/// blocks of origins, and numbers of origins.
pub fn displacements(position: &[Vec<f64>]) -> [Vec<f64>; 4] {
    let mut columns = [const { Vec::new() }; 4];
    for interval in [1, 10, 100] {
        for lag in (1..10).map(|m| m * interval) {
            let of_origin = |from: usize| {
                let pairs = position[from].iter().zip(&position[from + lag]);
                let sum: f64 = pairs.map(|(from, to)| (to - from).powi(2)).sum();
                sum / position[from].len() as f64
            };
            let origins = (0..position.len() - lag).step_by(interval);
            let squares: Vec<f64> = origins.map(of_origin).collect();
            let mean = block_average(&squares);
            let point = [lag as f64, mean.value, mean.error, mean.count as f64];
            columns.iter_mut().zip(point).for_each(|(column, x)| column.push(x));
        }
    }
    columns
}

/// A stress of Ornstein-Uhlenbeck processes: variance and time of each.
pub fn stress(parts: &[[f64; 2]], samples: usize, interval: f64, normal: &mut Normal) -> Vec<f64> {
    let mut sum = vec![0.0; samples];
    for [variance, tau] in parts {
        let keep = (-interval / tau).exp();
        let mut x = normal.next();
        for sum in &mut sum {
            *sum += variance.sqrt() * x;
            x = keep * x + (1.0 - keep * keep).sqrt() * normal.next();
        }
    }
    sum
}

/// Running integrals of components with their errors: times, means, errors, with all samples as origins.
pub fn integrals(components: &[Vec<f64>], interval: f64, most: usize) -> [Vec<f64>; 3] {
    let integral = |s: &Vec<f64>| -> Vec<f64> {
        let steps = s.windows(2).scan(0.0, |sum, s| {
            *sum += 0.5 * interval * (s[0] + s[1]);
            Some(*sum)
        });
        std::iter::once(0.0).chain(steps).collect()
    };
    let integrals: Vec<Vec<f64>> = components.iter().map(integral).collect();
    let samples = components[0].len();
    let mut columns = [const { Vec::new() }; 3];
    let lags = [1, 10, 100, 1000].iter().flat_map(|step| (1..10).map(move |m| m * step));
    for lag in lags.filter(|&lag| lag <= most) {
        let of_origin = |k: usize| {
            let both = components.iter().zip(&integrals);
            let of = |(s, sum): (&Vec<f64>, &Vec<f64>)| {
                0.5 * (s[k] + s[k + lag]) * (sum[k + lag] - sum[k])
            };
            both.map(of).sum::<f64>() / components.len() as f64
        };
        let mean = block_average(&(0..samples - lag).map(of_origin).collect::<Vec<f64>>());
        let point = [lag as f64 * interval, mean.value, mean.error];
        columns.iter_mut().zip(point).for_each(|(column, x)| column.push(x));
    }
    columns
}
