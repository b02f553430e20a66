//! The time at which a function has fallen to a level.
use super::covariance::{error_of_sum, of_walk};
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

/// Outside of these values the logarithm of a logarithm makes more of noise than of the decay.
const STEADY: [f64; 2] = [0.05, 0.95];
/// And below this many errors.
const SEEN: f64 = 3.0;
/// Step of numerical derivatives.
const STEP: f64 = 1e-5;

/// First time at which `f` falls to `level`. `None` if it never does, or has done so at the first point.
///
/// Between the two points around it `ln(-ln f)` is the cubic in `ln t` through these and one more on either side, at least
/// half as far away as they are from each other, of 0.05 to 0.95 and above three errors. A stretched exponential is a straight
/// line there, whatever its lags; after a plateau it is bent, and lags a factor 2 apart, as those of blocks are, still give
/// the time to 0.1 %. A parabola or a straight line where such points are missing; a straight line in `f` where there is no
/// logarithm.
///
/// With `level = 1/e` and the self-intermediate scattering function this is the usual `tau_alpha`.
///
/// Its error is that of the points, by the derivative of the time with each of them. They share their noise, with the
/// correlation of a random walk's displacements (as [`stretched_exponential`](super::stretched_exponential) says).
pub fn time_of_decay(time: &[f64], f: &[f64], error: &[f64], level: f64) -> Option<Crossing> {
    let points = Points::new(time, f, error);
    let Points { x, y, error, .. } = &points;
    let k = (0..points.len()).find(|&k| y[k] <= level).filter(|&k| k > 0)?;
    let (nodes, is_logarithmic) = nodes(&points, k);
    let values: Vec<f64> = nodes.iter().map(|&j| y[j]).collect();
    let u: Vec<f64> = nodes.iter().map(|&j| x[j].ln()).collect();
    let bracket = [x[k - 1].ln(), x[k].ln()];
    let at = |values: &[f64]| match is_logarithmic {
        true => crossing(
            &u,
            &values.iter().map(|y| falling(*y)).collect::<Vec<_>>(),
            falling(level),
            bracket,
        ),
        false => crossing(&u, values, level, bracket),
    };
    let logarithm = at(&values);
    let derivative = |i: usize| {
        let moved = |by: f64| {
            let mut moved = values.clone();
            moved[i] += by;
            at(&moved)
        };
        (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
    };
    let relative = match points.errors_known {
        true => {
            let parts: Vec<f64> =
                nodes.iter().enumerate().map(|(i, &j)| derivative(i) * error[j]).collect();
            error_of_sum(&parts, |i, j| of_walk(x[nodes[i]], x[nodes[j]]))
        }
        false => f64::NAN,
    };
    Some(Crossing { time: Estimate::exp(logarithm, relative), from: x[k - 1], to: x[k] })
}

/// What falls as `f` does, and is a straight line in `ln t` for a stretched exponential.
fn falling(f: f64) -> f64 {
    -(-f.ln()).ln()
}

/// Points `k - 1` and `k` and those on either side of them, in order, and whether they have logarithms of logarithms.
fn nodes(points: &Points, k: usize) -> (Vec<usize>, bool) {
    let Points { x, y, error, errors_known } = points;
    let u = |j: usize| x[j].ln();
    if y[k] <= 2.0 * STEP || y[k - 1] >= 1.0 - 2.0 * STEP {
        return (vec![k - 1, k], false);
    }
    let far = 0.5 * (u(k) - u(k - 1));
    let steady = |&j: &usize| {
        let [least, most] = STEADY;
        (least..most).contains(&y[j]) && (!errors_known || y[j] > SEEN * error[j])
    };
    let earlier = (0..k - 1).rev().find(|&j| u(k - 1) - u(j) >= far).filter(steady);
    let later = (k + 1..points.len()).find(|&j| u(j) - u(k) >= far).filter(steady);
    ([earlier, Some(k - 1), Some(k), later].into_iter().flatten().collect(), true)
}

/// Where in the bracket the polynomial through `(u, y)`, which falls there, has a level.
fn crossing(u: &[f64], y: &[f64], level: f64, bracket: [f64; 2]) -> f64 {
    let [mut above, mut below] = bracket;
    // Halves the interval until its ends are neighbors among the floats.
    loop {
        let middle = 0.5 * (above + below);
        if middle <= above || middle >= below {
            return middle;
        }
        match lagrange(u, y, middle) > level {
            true => above = middle,
            false => below = middle,
        }
    }
}

/// The polynomial through points of different `u`, by Lagrange's formula.
fn lagrange(u: &[f64], y: &[f64], x: f64) -> f64 {
    let weight = |j: usize| -> f64 {
        let others = u.iter().enumerate().filter(|&(i, _)| i != j);
        others.map(|(_, &other)| (x - other) / (u[j] - other)).product()
    };
    y.iter().enumerate().map(|(j, &y)| weight(j) * y).sum()
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::super::synthetic::{Walk, log_times, two_steps};
    use super::*;
    use crate::correlation::tests::Normal;

    const LEVEL: f64 = 1.0 / std::f64::consts::E;

    /// Of stretched exponentials, wherever the lags lie: octaves, factors of four, blocks of ten.
    #[test]
    fn relaxation_time_does_not_depend_on_the_lags() {
        let octaves = (-8..12).map(|k| 2_f64.powi(k)).collect::<Vec<_>>();
        let fours = (-5..7).map(|k| 4_f64.powi(k)).collect();
        let blocks =
            (-2..4).flat_map(|level| (1..10).map(move |m| f64::from(m) * 10_f64.powi(level)));
        let blocks = blocks.collect();
        for (lags, behind_plateau) in [(octaves, 1e-3), (blocks, 1e-3), (fours, 1e-2)] {
            for beta in [0.5, 0.63, 0.8, 1.0] {
                for shift in 0..40 {
                    let unit = 4_f64.powf(f64::from(shift) / 40.0);
                    let time: Vec<f64> = lags.iter().map(|lag| unit * lag).collect();
                    for (a, tolerance) in [(1.0, 1e-9), (0.72, behind_plateau)] {
                        let of = |&t: &f64| two_steps(t, a, 50.0, beta);
                        let f: Vec<f64> = time.iter().map(of).collect();
                        let expected = 50.0 * (1.0 + f64::ln(a)).powf(1.0 / beta);
                        let found = time_of_decay(&time, &f, &[], LEVEL).unwrap();
                        let off = found.time.value / expected - 1.0;
                        assert!(off.abs() < tolerance, "{a}, {beta}, unit {unit}: {off}");
                        assert!(found.from <= expected && expected <= found.to);
                    }
                }
            }
        }
    }

    /// Of a value of zero there is no logarithm.
    #[test]
    fn a_fall_to_zero_is_a_straight_line() {
        let found = time_of_decay(&[1.0, 2.0, 4.0], &[0.8, 0.6, 0.0], &[0.01; 3], LEVEL).unwrap();
        let expected = 2.0 * 2_f64.powf((0.6 - LEVEL) / 0.6);
        assert!((found.time.value / expected - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found.time.error > 0.0);
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

    /// Noise as that of displacements, at fine and coarse lags. The rms of 1,000 values is uncertain by 2 %.
    #[test]
    fn errors_of_the_relaxation_time_are_those_of_repeated_measurements() {
        for step in [1, 3, 6] {
            let time: Vec<f64> = log_times().into_iter().step_by(step).collect();
            let (walk, mut normal, mut pulls) =
                (Walk::new(&time), Normal::new(5), Pulls::default());
            let expected = 800.0 * (0.72_f64.ln() + 1.0).powf(1.0 / 0.63);
            for _ in 0..1000 {
                let noise = walk.next(&mut normal);
                let of = |(&t, noise): (&f64, f64)| two_steps(t, 0.72, 800.0, 0.63) + 0.005 * noise;
                let f: Vec<f64> = time.iter().zip(noise).map(of).collect();
                pulls.add(
                    time_of_decay(&time, &f, &vec![0.005; f.len()], LEVEL).unwrap().time,
                    expected,
                );
            }
            pulls.are_calibrated(&format!("every {step}"));
        }
    }
}
