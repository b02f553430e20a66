//! Shear viscosity from a Green-Kubo integral.
use super::{Estimate, Points};

/// Noise rules from where the error is this fraction of the largest value before.
const NOISE: f64 = 0.25;
/// Errors are averaged over lags down to this fraction of a time.
const AVERAGED: f64 = 1.0 / 30.0;
/// Fractions of the time at which noise rules, between which the integral must not rise by more than a number of standard
/// errors of the way.
const DECAYED: [(f64, f64, f64); 2] = [(1.0 / 16.0, 1.0 / 4.0, 3.0), (1.0 / 12.0, 1.0 / 2.0, 2.5)];
/// A rise between them beyond this number of errors is added to the error, in quadrature and times `DOUBT`.
const EXPLAINED: f64 = 1.5;
/// See `EXPLAINED`.
const DOUBT: f64 = 6.0;
/// The integral has settled where it rises by no more than this number of errors of the way up to any later time.
const SETTLED: f64 = 1.5;
/// It is read off later by at least this factor.
const LATER: f64 = 8.0;
/// Where lags end before noise rules, they continue by at least this factor after it has settled.
const AFTER: f64 = 4.0;
/// Weight of the time at which noise rules in the geometric mean with the earliest time.
const LATENESS: f64 = 1.0 / 3.0;
/// `c` of the variance `sigma^2 (1 + c (sigma / eta)^2)`.
const PROPORTIONAL: f64 = 2.5;
/// Lags end too early to see noise rule where it does later than this factor.
const LAGS_END: f64 = 4.0;
/// Times are the same within this fraction.
const SAME_TIME: f64 = 1e-4;

/// Plateau of a running integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// The integral at `to`.
    pub value: Estimate,
    /// Part of the error, in quadrature: of a rise that noise hardly explains, where `G` should have decayed.
    pub rise: f64,
    /// Where it has settled.
    pub from: f64,
    /// Where it is read off.
    pub to: f64,
    /// Where noise rules.
    pub noise: f64,
    /// Of the steps from point to point between `from` and `to`, per degree of freedom.
    pub reduced_chi_squared: f64,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoPlateau {
    /// Fewer than three points.
    TooFew,
    /// Most points have no error.
    NoErrors,
    /// The integral still rises, or cannot be seen not to, where noise rules or lags end: at this time.
    NotDecayed(f64),
}

/// Plateau of a Green-Kubo integral `eta(t) = int_0^t G(t') dt'` with standard errors `sigma(t)`.
///
/// - Noise rules from a time `t_n` on, where `sigma` is a quarter of the largest value up to there. No later point counts:
///   the largest values of a random walk are those of its noise. After the decay, `n` independent components of
///   the stress over a run of length `T` have `sigma^2 = 4 eta^2 t / (n T)` (Zwanzig & Ailawadi, Phys. Rev. 182, 280
///   (1969)), so that `t_n` is about `n T / 64`.
/// - `G` has decayed well before `t_n`: between `t_n/16` and `t_n/4`, and `t_n/12` and `t_n/2`, `eta` rises by no more than
///   noise explains. Runs of fewer than 300 decay times hardly pass. This is tested before `t_n`, so that the noise of the
///   value has a small part in it; a rise that noise hardly explains is in the error.
/// - The integral has settled at the first time `t_s` from which on no point up to `t_n` is higher by more than 1.5 errors
///   of the way between them. It is read off at `8 t_s` or at `(8 t_s)^(2/3) t_n^(1/3)`, whichever is later, and at `t_n` at
///   the latest. What is hidden in noise at `t_s` has decayed there, or is smaller than the error.
/// - Where lags end at less than a quarter of `t_n`, it is enough that they reach `4 t_s`.
///
/// The noise of the integral is a random walk: the later of two points has that of the earlier and what comes between,
/// independent of it. So the error of the way is the root of the difference of `sigma^2`. Errors of few origins
/// fluctuate; `sigma^2 / t`, which is constant after the decay, is averaged over lags and never falls. Errors are in
/// proportion to `eta` as it was found, so that too small a value has too small an error: of a relative error
/// `r` the mean of `(delta / sigma)^2` would be `1 + 9 r^2` to the next order. `sigma^2` is multiplied by `1 + 2.5 r^2`, as
/// the noise of the errors is not all that of the values.
///
/// Root mean squares of deviations over errors of 150 to 300 synthetic runs, which were not used to find the constants:
/// 0.77 to 1.01 for stresses of two decays (the second one 170 times slower), with a tail of 20 to 40 % of the integral (10
/// to 30 times slower) and for stretched decays, in runs of 170 to 3,000 times the slowest decay, of which 87 to 100 % have a
/// value; 0.84 and 0.87 for single decays in runs of 1,000 and 10,000 decay times. Of 200 decay times 24 % have a value, of
/// 100 11 % and of 50 none. In 2,000 runs each of 150 to 300 decay times, which were used, it is 1.11 to 1.19. How slow
/// the slowest decay is cannot be known from noise: a tail of which the run has fewer than 100 decay times can hide in it.
///
/// # Errors
/// If there is no plateau that the points show.
pub fn plateau(time: &[f64], value: &[f64], error: &[f64]) -> Result<Plateau, NoPlateau> {
    let points = Points::new(time, value, error);
    if points.len() < 3 {
        return Err(NoPlateau::TooFew);
    }
    if !points.errors_known {
        return Err(NoPlateau::NoErrors);
    }
    let walk = Walk::new(&points);
    let (x, y) = (walk.x, walk.y);
    let noise = walk.before_noise().ok_or(NoPlateau::NotDecayed(x[0]))?;
    let not_decayed = NoPlateau::NotDecayed(x[noise]);
    let settled = (0..noise)
        .find(|&k| (k + 1..=noise).all(|j| y[j] - y[k] <= SETTLED * walk.way(k, j).sqrt()));
    let earliest = settled.map(|settled| LATER * x[settled]);
    let noise_rules = walk.noise_rules(noise);
    let (mut rise, mut from) = (0.0_f64, noise);
    if noise_rules > LAGS_END * x[noise] {
        let settled = settled.filter(|&k| AFTER * x[k] <= x[noise] * (1.0 + SAME_TIME));
        settled.ok_or(not_decayed)?;
    } else {
        for (early, late, most) in DECAYED {
            // Lags may begin after the decay.
            let early = walk.last_within(early * x[noise]).unwrap_or(0);
            let late = walk.last_within(late * x[noise]).filter(|&late| late > early);
            let late = late.ok_or(not_decayed)?;
            let (risen, way) = (y[late] - y[early], walk.way(early, late).sqrt());
            if risen > most * way {
                return Err(not_decayed);
            }
            rise = rise.max(DOUBT * (risen - EXPLAINED * way));
            from = late;
        }
    }
    let mut to = noise;
    if let (Some(settled), Some(earliest)) = (settled, earliest) {
        let late = earliest.powf(1.0 - LATENESS) * noise_rules.powf(LATENESS);
        to = walk.last_within(earliest.max(late).min(x[noise])).unwrap_or(noise);
        from = from.min(settled);
    }
    if !(y[to] > 0.0) {
        return Err(not_decayed);
    }
    let relative2 = walk.variance[to] / (y[to] * y[to]);
    let variance = walk.variance[to] * (1.0 + PROPORTIONAL * relative2);
    let steps = (from..to).map(|k| (y[k + 1] - y[k]).powi(2) / walk.way(k, k + 1));
    Ok(Plateau {
        value: Estimate { value: y[to], error: variance.sqrt().hypot(rise) },
        rise,
        from: x[from],
        to: x[to],
        noise: noise_rules,
        reduced_chi_squared: steps.sum::<f64>() / (to - from) as f64,
    })
}

/// A running integral with the variances of its noise.
struct Walk<'a> {
    x: &'a [f64],
    y: &'a [f64],
    /// `sigma^2`.
    variance: Vec<f64>,
}

impl<'a> Walk<'a> {
    fn new(points: &'a Points) -> Self {
        let Points { x, y, error, .. } = points;
        // Of `sigma^2 / t`: what it is at least, the first lag of the average and its sum.
        let (mut least, mut first, mut sum) = (0.0_f64, 0, 0.0);
        let per_time = |k: usize| error[k] * error[k] / x[k];
        let variance = (0..x.len()).map(|k| {
            sum += per_time(k);
            while x[first] < AVERAGED * x[k] * (1.0 - SAME_TIME) {
                sum -= per_time(first);
                first += 1;
            }
            least = least.max(sum / (k + 1 - first) as f64);
            x[k] * least
        });
        Walk { x, y, variance: variance.collect() }
    }

    /// The last point before noise rules; `None` where it does from the first one on.
    fn before_noise(&self) -> Option<usize> {
        let mut largest = f64::NEG_INFINITY;
        let noisy = (0..self.x.len()).find(|&k| {
            largest = largest.max(self.y[k]);
            !(self.variance[k].sqrt() <= NOISE * largest)
        });
        noisy.unwrap_or(self.x.len()).checked_sub(1)
    }

    /// When noise rules: the time of that point, or later, by `sigma^2` in proportion to `t`, where lags end.
    fn noise_rules(&self, last: usize) -> f64 {
        let largest = self.y[..=last].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ends = last + 1 == self.x.len();
        let factor = (NOISE * largest).powi(2) / self.variance[last];
        self.x[last] * if ends { factor.max(1.0) } else { 1.0 }
    }

    fn last_within(&self, limit: f64) -> Option<usize> {
        self.x.iter().rposition(|&t| t <= limit * (1.0 + SAME_TIME))
    }

    /// Variance of what comes between two points; at least half of that by time.
    fn way(&self, from: usize, to: usize) -> f64 {
        let Walk { x, variance, .. } = self;
        let by_time = 0.5 * variance[from] * (x[to] / x[from] - 1.0);
        (variance[to] - variance[from]).max(by_time)
    }
}

#[cfg(test)]
mod tests;
