//! Shear stress and viscosity of a stored series, evaluated plainly.
use super::{Correlation, TimePairs};

/// Stress tensors and temperatures at equal intervals.
#[derive(Clone, Debug)]
pub struct StressSeries {
    /// Dimension of space.
    pub dimension: usize,
    /// Volume of the box.
    pub volume: f64,
    /// Time between samples.
    pub interval: f64,
    /// Stress tensors, row by row, `dimension^2` numbers each.
    pub stress: Vec<Vec<f64>>,
    /// Temperatures.
    pub temperature: Vec<f64>,
}

impl StressSeries {
    /// Product of two traceless stress tensors, mean over the independent components: full contraction
    /// over `(d - 1) (d + 2)`, 10 in three dimensions and 4 in two (Daivis & Evans 1994).
    fn product(&self, one: &[f64], other: &[f64]) -> f64 {
        let d = self.dimension;
        let trace = |tensor: &[f64]| (0..d).map(|k| tensor[k * d + k]).sum::<f64>() / d as f64;
        let traceless = |tensor: &[f64], a: usize, b: usize| {
            let symmetric = 0.5 * (tensor[a * d + b] + tensor[b * d + a]);
            if a == b { symmetric - trace(tensor) } else { symmetric }
        };
        let mut sum = 0.0;
        for a in 0..d {
            for b in 0..d {
                sum += traceless(one, a, b) * traceless(other, a, b);
            }
        }
        sum / ((d - 1) * (d + 2)) as f64
    }

    /// Trapezoidal rule over samples, element by element.
    fn integral(&self, from: usize, to: usize) -> Vec<f64> {
        let mut sum = vec![0.0; self.dimension * self.dimension];
        for two in self.stress[from..=to].windows(2) {
            for (k, sum) in sum.iter_mut().enumerate() {
                *sum += 0.5 * self.interval * (two[0][k] + two[1][k]);
            }
        }
        sum
    }

    /// Mean over a window of samples from one on; of none: at this sample.
    fn mean(&self, from: usize, window: usize) -> Vec<f64> {
        if window == 0 {
            return self.stress[from].clone();
        }
        let time = window as f64 * self.interval;
        self.integral(from, from + window).iter().map(|sum| sum / time).collect()
    }

    fn mean_temperature(&self, from: usize, window: usize) -> f64 {
        if window == 0 {
            return self.temperature[from];
        }
        let pairs = self.temperature[from..=from + window].windows(2);
        pairs.map(|two| 0.5 * (two[0] + two[1])).sum::<f64>() / window as f64
    }

    /// `V <quantity> / <T>`, the temperature in the earlier windows, over the pairs of every lag, which are given by
    /// index. `quantity` is one of the earlier and the later sample and of the window.
    fn average(
        &self,
        pairs: &TimePairs,
        window: impl Fn(u64) -> usize,
        quantity: impl Fn(usize, usize, usize) -> f64,
    ) -> Correlation {
        let mut result = Correlation::default();
        for (&lag, pairs) in &pairs.0 {
            let Some(&(earlier, later)) = pairs.first() else { continue };
            let window = window(lag);
            let within = |&&(_, later): &&(usize, usize)| later + window < self.stress.len();
            let pairs: Vec<&(usize, usize)> = pairs.iter().filter(within).collect();
            let sum: f64 =
                pairs.iter().map(|&&(earlier, later)| quantity(earlier, later, window)).sum();
            let temperature: f64 =
                pairs.iter().map(|&&(earlier, _)| self.mean_temperature(earlier, window)).sum();
            result.lag.push(lag);
            result.time.push((later - earlier) as f64 * self.interval);
            result.value.push(self.volume * sum / temperature);
            result.error.push(f64::NAN);
            result.count.push(pairs.len() as u64);
        }
        result
    }
}

/// `G(t) = V / T <s(0) s(t)>`; `window(t)`: intervals over which `s` is averaged, from the samples of a pair on, if any.
/// No error is given.
pub fn stress_autocorrelation(
    series: &StressSeries,
    pairs: &TimePairs,
    window: impl Fn(u64) -> usize,
) -> Correlation {
    series.average(pairs, window, |earlier, later, window| {
        series.product(&series.mean(earlier, window), &series.mean(later, window))
    })
}

/// Green-Kubo integral by the trapezoidal rule over all samples between those of a pair: the mean of the
/// integrals of `<s(0) s(t')>` and `<s(t) s(t')>` over `t'`. With windows as of [`stress_autocorrelation`], it goes from
/// the middle of one to the middle of the other. No error is given.
pub fn shear_viscosity(
    series: &StressSeries,
    pairs: &TimePairs,
    window: impl Fn(u64) -> usize,
) -> Correlation {
    series.average(pairs, window, |earlier, later, window| {
        let ends = [earlier, later].map(|from| series.mean(from, window));
        let halves = [earlier, later].map(|from| series.integral(from, from + window));
        let between = series.integral(earlier + window, later);
        let value = |k: usize| between[k] + 0.5 * (halves[0][k] + halves[1][k]);
        let integral: Vec<f64> = (0..between.len()).map(value).collect();
        0.5 * (series.product(&ends[0], &integral) + series.product(&ends[1], &integral))
    })
}
