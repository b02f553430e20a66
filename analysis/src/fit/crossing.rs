//! The time at which a function has fallen to a level.
use super::{Estimate, Points};

/// Where a function falls to a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The time; error NaN if the points have none.
    pub time: Estimate,
    /// Times of the two points around it.
    pub from: f64,
    /// See `from`.
    pub to: f64,
}

/// First time at which `f` falls to `level`. `None` if it never does, or has done so at the first point.
///
/// Between the two points around it `f` is the cubic in `ln t` through these and one more on either side, at least
/// half as far away as they are from each other: lags of blocks lie up to a factor 2 apart, where a straight line
/// through a stretched exponential is down by 1 to 2 % in time. A parabola or a straight line where such points are missing.
///
/// With `level = 1/e` and the self-intermediate scattering function this is the usual `tau_alpha`.
///
/// Its error is that of `f` at the crossing over the slope, `sigma_ln(t) = sigma_f / |df/d ln t|`, where
/// `sigma_f` and the slope are those of a straight line between the two points: neighbours on a logarithmic grid are
/// strongly correlated. If they were independent it would be too large, by up to a factor `2^(1/2)`.
pub fn time_of_decay(time: &[f64], f: &[f64], error: &[f64], level: f64) -> Option<Crossing> {
    let points = Points::new(time, f, error);
    let Points { x, y, error, .. } = &points;
    let k = (0..points.len()).find(|&k| y[k] <= level).filter(|&k| k > 0)?;
    let logarithm = crossing_in_logarithm(&points, k, level);
    let octave = (x[k] / x[k - 1]).ln();
    let fraction = (logarithm - x[k - 1].ln()) / octave;
    let error_of_f = (1.0 - fraction) * error[k - 1] + fraction * error[k];
    let relative =
        if points.errors_known { error_of_f * octave / (y[k - 1] - y[k]) } else { f64::NAN };
    Some(Crossing { time: Estimate::exp(logarithm, relative), from: x[k - 1], to: x[k] })
}

/// `ln t` between points `k - 1` and `k`, above and not above `level`, where the polynomial through them and a point on
/// either side has that level.
fn crossing_in_logarithm(points: &Points, k: usize, level: f64) -> f64 {
    let u = |j: usize| points.x[j].ln();
    let far = 0.5 * (u(k) - u(k - 1));
    let earlier = (0..k - 1).rev().find(|&j| u(k - 1) - u(j) >= far);
    let later = (k + 1..points.len()).find(|&j| u(j) - u(k) >= far);
    let nodes: Vec<(f64, f64)> = [earlier, Some(k - 1), Some(k), later]
        .into_iter()
        .flatten()
        .map(|j| (u(j), points.y[j]))
        .collect();
    let (mut above, mut below) = (u(k - 1), u(k));
    // Halves the interval until its ends are neighbours among the floats.
    loop {
        let middle = 0.5 * (above + below);
        if middle <= above || middle >= below {
            return middle;
        }
        match lagrange(&nodes, middle) > level {
            true => above = middle,
            false => below = middle,
        }
    }
}

/// The polynomial through `nodes`, `(x, y)` of different `x`, by Lagrange's formula.
fn lagrange(nodes: &[(f64, f64)], x: f64) -> f64 {
    let weight = |j: usize| -> f64 {
        let others = nodes.iter().enumerate().filter(|&(i, _)| i != j);
        others.map(|(_, &(other, _))| (x - other) / (nodes[j].0 - other)).product()
    };
    nodes.iter().enumerate().map(|(j, &(_, y))| weight(j) * y).sum()
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::super::synthetic::{log_times, two_steps};
    use super::*;
    use crate::correlation::tests::Normal;

    const LEVEL: f64 = 1.0 / std::f64::consts::E;

    #[test]
    fn relaxation_time_of_a_function_linear_in_the_logarithm_is_exact() {
        let time = log_times();
        let f: Vec<f64> = time.iter().map(|t| 0.5 - 0.1 * t.ln()).collect();
        let expected = ((0.5 - LEVEL) / 0.1).exp();
        let found = time_of_decay(&time, &f, &[0.002; 61], LEVEL).unwrap();
        assert!((found.time.value / expected - 1.0).abs() < 1e-12);
        assert!((found.time.error / expected - 0.02).abs() < 1e-12);
        assert!(found.from <= expected && expected <= found.to);
    }

    /// Lags of blocks of ten samples: 1, 2, ... 9, 10, 20, ... of a time unit that puts the crossing anywhere among them.
    #[test]
    fn relaxation_time_does_not_depend_on_where_the_lags_lie() {
        let expected = 800.0 * (0.72_f64.ln() + 1.0).powf(1.0 / 0.63);
        for shift in 0..40 {
            let unit = 1e-2 * 10_f64.powf(f64::from(shift) / 40.0);
            let lags =
                (0..7).flat_map(|level| (1..10).map(move |m| f64::from(m * 10_i32.pow(level))));
            let time: Vec<f64> = lags.map(|lag| unit * lag).collect();
            let f: Vec<f64> = time.iter().map(|&t| two_steps(t, 0.72, 800.0, 0.63)).collect();
            let found = time_of_decay(&time, &f, &[], LEVEL).unwrap().time.value;
            assert!((found / expected - 1.0).abs() < 1e-3, "unit {unit}: {found} for {expected}");
        }
    }

    #[test]
    fn what_never_decays_has_no_relaxation_time() {
        assert_eq!(time_of_decay(&log_times(), &[0.9; 61], &[], 0.5), None);
        assert_eq!(time_of_decay(&[], &[], &[], 0.5), None);
    }

    #[test]
    fn noise_of_what_has_decayed_before_the_first_point_is_no_relaxation_time() {
        let time = log_times();
        let noise: Vec<f64> = (0..61).map(|k| 0.3 + 0.1 * f64::from(k % 2)).collect();
        assert_eq!(time_of_decay(&time, &noise, &[0.1; 61], LEVEL), None);
    }

    /// Noise common to neighbours: unit variance. Independent noise: an error too large by less than
    /// `2^(1/2)`.
    #[test]
    fn errors_of_the_relaxation_time_are_those_of_repeated_measurements() {
        let time = log_times();
        let truth: Vec<f64> = time.iter().map(|t| 0.5 - 0.1 * t.ln()).collect();
        let expected = ((0.5 - LEVEL) / 0.1).exp();
        let (mut common, mut independent, mut normal) =
            (Pulls::default(), Pulls::default(), Normal::new(5));
        for _ in 0..400 {
            let shift = normal.next();
            let noisy: [Vec<f64>; 2] = [
                truth.iter().map(|f| f + 0.001 * shift).collect(),
                truth.iter().map(|f| f + 0.001 * normal.next()).collect(),
            ];
            let found = noisy.map(|f| time_of_decay(&time, &f, &[0.001; 61], LEVEL).unwrap().time);
            common.add(found[0], expected);
            independent.add(found[1], expected);
        }
        common.have_unit_variance("tau");
        let variance = independent.mean_square();
        assert!((0.4..1.1).contains(&variance), "{variance}");
    }
}
