//! Small fits of transport and relaxation.

/// Straight line `y = slope x + intercept` through points, by weighted least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Slope.
    pub slope: f64,
    /// Value at 0.
    pub intercept: f64,
}

/// Weighted least squares; `weight` is the inverse square of the error (any common factor). `None`
/// below two distinct points.
pub fn line(x: &[f64], y: &[f64], weight: &[f64]) -> Option<Line> {
    let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(|k| weight[k] * f(k)).sum::<f64>();
    let total = sum(&|_| 1.0);
    let (mean_x, mean_y) = (sum(&|k| x[k]) / total, sum(&|k| y[k]) / total);
    let sxx = sum(&|k| (x[k] - mean_x).powi(2));
    let sxy = sum(&|k| (x[k] - mean_x) * (y[k] - mean_y));
    let slope = sxy / sxx;
    slope.is_finite().then_some(Line { slope, intercept: mean_y - slope * mean_x })
}

/// A diffusion coefficient and how far the displacement was from diffusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusion {
    /// D = slope / (2 d), from the last decade in time of the mean-square displacement.
    pub coefficient: f64,
    /// d ln MSD / d ln t over the same range; 1 when diffusive. D means little below about 0.9.
    pub exponent: f64,
    /// Range of time that was used.
    pub from: f64,
    /// See `from`.
    pub to: f64,
}

/// Diffusion coefficient from a mean-square displacement: slope of its last decade over `2 d`
/// (Einstein), relative errors taken as equal. `None` below three points in that decade.
pub fn diffusion(time: &[f64], msd: &[f64], dimension: usize) -> Option<Diffusion> {
    let usable = |k: &usize| time[*k] > 0.0 && msd[*k] > 0.0 && msd[*k].is_finite();
    let last = (0..time.len()).filter(usable).map(|k| time[k]).fold(0.0, f64::max);
    let tail: Vec<usize> =
        (0..time.len()).filter(usable).filter(|&k| time[k] >= 0.1 * last).collect();
    if tail.len() < 3 {
        return None;
    }
    let t: Vec<f64> = tail.iter().map(|&k| time[k]).collect();
    let m: Vec<f64> = tail.iter().map(|&k| msd[k]).collect();
    let weight: Vec<f64> = m.iter().map(|m| 1.0 / (m * m)).collect();
    let log = |values: &[f64]| values.iter().map(|x| x.ln()).collect::<Vec<_>>();
    let slope = line(&t, &m, &weight)?.slope;
    let exponent = line(&log(&t), &log(&m), &vec![1.0; t.len()])?.slope;
    let from = t.iter().copied().fold(f64::INFINITY, f64::min);
    Some(Diffusion { coefficient: slope / (2 * dimension) as f64, exponent, from, to: last })
}

/// First time at which `f` falls to `level`, by linear interpolation in `ln t` between the two
/// points around it. `None` if it never does, or has done so before the first point.
///
/// With `level = 1/e` and the self-intermediate scattering function this is the usual `tau_alpha`.
pub fn time_of_decay(time: &[f64], f: &[f64], level: f64) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = time
        .iter()
        .copied()
        .zip(f.iter().copied())
        .filter(|(t, f)| *t > 0.0 && f.is_finite())
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let crossing = points.windows(2).find(|pair| pair[0].1 > level && pair[1].1 <= level)?;
    let [(t0, f0), (t1, f1)] = [crossing[0], crossing[1]];
    let fraction = (f0 - level) / (f0 - f1);
    Some((t0.ln() + fraction * (t1 / t0).ln()).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_times() -> Vec<f64> {
        (0..61).map(|k| 1e-2 * 10_f64.powf(f64::from(k) / 10.0)).collect()
    }

    #[test]
    fn diffusion_of_an_exact_einstein_relation_is_exact() {
        let time = log_times();
        let msd: Vec<f64> = time.iter().map(|t| 6.0 * 0.025 * t + 0.3).collect();
        let found = diffusion(&time, &msd, 3).unwrap();
        assert!((found.coefficient - 0.025).abs() < 1e-12);
        assert!((found.exponent - 1.0).abs() < 1e-3);
    }

    #[test]
    fn subdiffusion_shows_in_the_exponent() {
        let time = log_times();
        let msd: Vec<f64> = time.iter().map(|t| t.powf(0.5)).collect();
        assert!((diffusion(&time, &msd, 3).unwrap().exponent - 0.5).abs() < 1e-12);
    }

    #[test]
    fn relaxation_time_of_a_function_linear_in_the_logarithm_is_exact() {
        let time = log_times();
        let f: Vec<f64> = time.iter().map(|t| 0.5 - 0.1 * t.ln()).collect();
        let level = 1.0 / std::f64::consts::E;
        let expected = ((0.5 - level) / 0.1).exp();
        assert!((time_of_decay(&time, &f, level).unwrap() / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_never_decays_has_no_relaxation_time() {
        assert_eq!(time_of_decay(&log_times(), &[0.9; 61], 0.5), None);
        assert_eq!(time_of_decay(&[], &[], 0.5), None);
    }
}
