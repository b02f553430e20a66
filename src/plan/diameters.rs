//! Diameters of particles: their distribution, and how particles get them.
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::arithmetic::elementary::{exp_f64, ln_f64};
use crate::arithmetic::random::{CounterRng, Purpose, uniform};

/// How particles get diameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiameterPlan {
    pub distribution: DiameterDistribution,
    /// Of a distribution; particles of a file have theirs.
    pub sampling: DiameterSampling,
}

/// Distribution of the diameters `s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DiameterDistribution {
    /// `P(s)` proportional to `s^-exponent` between the bounds.
    PowerLaw { exponent: f64, minimum: f64, maximum: f64 },
    /// The same for all between the bounds.
    Uniform { minimum: f64, maximum: f64 },
    /// `P(s)` proportional to `exp(-(s - mean)^2 / 2 deviation^2)` between the bounds.
    Gaussian { mean: f64, deviation: f64, minimum: f64, maximum: f64 },
    /// These values, with shares in proportion to the weights.
    Discrete { values: Vec<f64>, weights: Vec<f64> },
    /// Those of the particles in the file of the initial state.
    File,
}

/// How diameters follow from the distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiameterSampling {
    /// The quantiles `(i + 1/2) / N` for `i = 0, ..., N - 1`, in random order: no scatter from sample to sample.
    Quantiles,
    /// Each is drawn by itself.
    Random,
}

/// Points of the integral of a density.
const INTERVALS: usize = 4096;

impl DiameterDistribution {
    /// The least and the greatest value; `None` of a file.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        match self {
            DiameterDistribution::PowerLaw { minimum, maximum, .. }
            | DiameterDistribution::Uniform { minimum, maximum }
            | DiameterDistribution::Gaussian { minimum, maximum, .. } => Some([*minimum, *maximum]),
            DiameterDistribution::Discrete { values, .. } => {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                Some([least, values.iter().copied().fold(0.0, f64::max)])
            }
            DiameterDistribution::File => None,
        }
    }

    /// The values at these shares of the distribution, in (0, 1); the same bits on every platform.
    ///
    /// # Panics
    /// If particles have theirs from a file.
    fn quantiles(&self, shares: &[f64]) -> Vec<f64> {
        let of = |quantile: &dyn Fn(f64) -> f64| shares.iter().map(|&u| quantile(u)).collect();
        match *self {
            // (1 - u) m^-2 + u M^-2 = s^-2 needs no logarithm.
            DiameterDistribution::PowerLaw { exponent: 3.0, minimum, maximum } => {
                let (a, b) = (1.0 / (minimum * minimum), 1.0 / (maximum * maximum));
                of(&|u| 1.0 / (a - u * (a - b)).sqrt())
            }
            DiameterDistribution::PowerLaw { exponent: 1.0, minimum, maximum } => {
                let (a, b) = (ln_f64(minimum), ln_f64(maximum));
                of(&|u| exp_f64(a + u * (b - a)))
            }
            DiameterDistribution::PowerLaw { exponent, minimum, maximum } => {
                // Of s / minimum, which keeps the powers small.
                let power = 1.0 - exponent;
                let end = exp_f64(power * ln_f64(maximum / minimum));
                of(&|u| minimum * exp_f64(ln_f64(1.0 + u * (end - 1.0)) / power))
            }
            DiameterDistribution::Uniform { minimum, maximum } => {
                of(&|u| minimum + u * (maximum - minimum))
            }
            DiameterDistribution::Gaussian { mean, deviation, minimum, maximum } => {
                let density = |s: f64| {
                    let x = (s - mean) / deviation;
                    exp_f64(-0.5 * x * x)
                };
                let integral = Integral::new(density, minimum, maximum);
                of(&|u| integral.quantile(u))
            }
            DiameterDistribution::Discrete { ref values, ref weights } => {
                let total: f64 = weights.iter().sum();
                of(&|u| {
                    let mut below = 0.0;
                    for (&value, weight) in values.iter().zip(weights) {
                        below += weight / total;
                        if u < below {
                            return value;
                        }
                    }
                    values[values.len() - 1]
                })
            }
            DiameterDistribution::File => unreachable!("particles of a file have theirs"),
        }
    }
}

/// The integral of a density, by Simpson's rule on even intervals, and its inverse.
struct Integral<F> {
    density: F,
    minimum: f64,
    width: f64,
    /// Up to the end of each interval.
    sums: Vec<f64>,
}

impl<F: Fn(f64) -> f64> Integral<F> {
    fn new(density: F, minimum: f64, maximum: f64) -> Self {
        let width = (maximum - minimum) / INTERVALS as f64;
        let mut sum = 0.0;
        let mut integral = Integral { density, minimum, width, sums: Vec::new() };
        for k in 0..INTERVALS {
            sum += integral.over(minimum + k as f64 * width, width);
            integral.sums.push(sum);
        }
        integral
    }

    fn over(&self, from: f64, width: f64) -> f64 {
        let at = &self.density;
        width / 6.0 * (at(from) + 4.0 * at(from + 0.5 * width) + at(from + width))
    }

    /// The value below which a share lies: Newton's method within an interval.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = share * self.sums[INTERVALS - 1];
        let interval = self.sums.partition_point(|&sum| sum <= wanted).min(INTERVALS - 1);
        let below = if interval == 0 { 0.0 } else { self.sums[interval - 1] };
        let from = self.minimum + interval as f64 * self.width;
        let mut step = 0.5 * self.width;
        for _ in 0..8 {
            let excess = below + self.over(from, step) - wanted;
            step = (step - excess / (self.density)(from + step)).clamp(0.0, self.width);
        }
        from + step
    }
}

impl DiameterPlan {
    /// Diameters of this many particles, by id.
    ///
    /// # Panics
    /// If particles have theirs from a file.
    pub fn draw(&self, count: usize, seed: u64) -> Vec<f64> {
        let shares: Vec<f64> = match self.sampling {
            DiameterSampling::Quantiles => {
                (0..count).map(|i| (i as f64 + 0.5) / count as f64).collect()
            }
            DiameterSampling::Random => {
                (0..count as u32).map(|id| uniform(seed, id, 0, Purpose::Diameter)).collect()
            }
        };
        let mut diameters = self.distribution.quantiles(&shares);
        if self.sampling == DiameterSampling::Quantiles {
            diameters.shuffle(&mut CounterRng::new(seed, Purpose::Diameter, 0));
        }
        diameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantiles(distribution: DiameterDistribution, count: usize) -> Vec<f64> {
        let shares: Vec<f64> = (0..count).map(|i| (i as f64 + 0.5) / count as f64).collect();
        distribution.quantiles(&shares)
    }

    fn moments(values: &[f64]) -> [f64; 2] {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        [mean, values.iter().map(|s| s * s).sum::<f64>() / values.len() as f64]
    }

    /// mean = 2 / (1/m + 1/M), <s^2> = A ln(M/m) with A = 2 / (m^-2 - M^-2).
    #[test]
    fn a_power_law_has_its_moments() {
        let (m, l) = (0.73f64, 1.62f64);
        for exponent in [3.0, 3.0 + 1e-12] {
            let all = quantiles(
                DiameterDistribution::PowerLaw { exponent, minimum: m, maximum: l },
                100_000,
            );
            let [mean, square] = moments(&all);
            let a = 2.0 / (m.powi(-2) - l.powi(-2));
            assert!((mean - 2.0 / (1.0 / m + 1.0 / l)).abs() < 1e-9, "{mean}");
            assert!((square - a * (l / m).ln()).abs() < 1e-9, "{square}");
        }
        let all =
            quantiles(DiameterDistribution::PowerLaw { exponent: 1.0, minimum: m, maximum: l }, 1);
        assert!((all[0] - (m * l).sqrt()).abs() < 1e-14);
    }

    /// Of a Gaussian cut off at one deviation on either side the variance is 1 - 2 phi(1) / (2 Phi(1) - 1).
    #[test]
    fn a_gaussian_has_its_moments() {
        let all = quantiles(
            DiameterDistribution::Gaussian {
                mean: 1.0,
                deviation: 0.2,
                minimum: 0.8,
                maximum: 1.2,
            },
            100_000,
        );
        let [mean, square] = moments(&all);
        let variance = (square - mean * mean) / 0.04;
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
        assert!((variance - 0.291_125_094_6).abs() < 1e-8, "{variance}");
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn discrete_values_have_their_shares() {
        let of = DiameterDistribution::Discrete { values: vec![1.0, 1.4], weights: vec![3.0, 1.0] };
        let all = quantiles(of, 1000);
        assert_eq!(all.iter().filter(|&&s| s == 1.0).count(), 750);
    }

    #[test]
    fn quantiles_are_shuffled_by_the_seed_and_random_ones_scatter() {
        let distribution = DiameterDistribution::Uniform { minimum: 1.0, maximum: 2.0 };
        let plan = |sampling| DiameterPlan { distribution: distribution.clone(), sampling };
        let quantiles = plan(DiameterSampling::Quantiles);
        let (mut one, mut other) = (quantiles.draw(100, 1), quantiles.draw(100, 2));
        assert_ne!(one, other);
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        assert_eq!(one, other);
        let mut random = plan(DiameterSampling::Random).draw(100, 1);
        random.sort_by(f64::total_cmp);
        assert_ne!(one, random);
        assert!(random.iter().all(|s| (1.0..2.0).contains(s)));
    }
}
