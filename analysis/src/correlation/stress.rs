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

    /// `V <quantity> / <T at the earlier samples>` over the pairs of every lag, which are given by index.
    fn average(&self, pairs: &TimePairs, quantity: impl Fn(usize, usize) -> f64) -> Correlation {
        let mut result = Correlation::default();
        for (&lag, pairs) in &pairs.0 {
            let Some(&(earlier, later)) = pairs.first() else { continue };
            let sum: f64 = pairs.iter().map(|&(earlier, later)| quantity(earlier, later)).sum();
            let temperature: f64 =
                pairs.iter().map(|&(earlier, _)| self.temperature[earlier]).sum();
            result.lag.push(lag);
            result.time.push((later - earlier) as f64 * self.interval);
            result.value.push(self.volume * sum / temperature);
            result.error.push(f64::NAN);
            result.count.push(pairs.len() as u64);
        }
        result
    }
}

/// `G(t) = V / T <s(0) s(t)>`. No error is given.
pub fn stress_autocorrelation(series: &StressSeries, pairs: &TimePairs) -> Correlation {
    series.average(pairs, |earlier, later| {
        series.product(&series.stress[earlier], &series.stress[later])
    })
}

/// Green-Kubo integral by the trapezoidal rule over all samples between those of a pair: the mean of the
/// integrals of `<s(0) s(t')>` and `<s(t) s(t')>` over `t'`. No error is given.
pub fn shear_viscosity(series: &StressSeries, pairs: &TimePairs) -> Correlation {
    series.average(pairs, |earlier, later| {
        let value = |k: usize| {
            0.5 * (series.product(&series.stress[earlier], &series.stress[k])
                + series.product(&series.stress[later], &series.stress[k]))
        };
        (earlier..later).map(|k| 0.5 * series.interval * (value(k) + value(k + 1))).sum()
    })
}
