//! Means of what is as slow as the liquid relaxes.
use crate::fit::time_of_decay;
use crate::results::{Function, TimeSeries};
use crate::statistics::{Known, Mean, block_average_knowing};

/// Observables that fluctuate with the structure; kinetic ones do with the velocities.
const STRUCTURAL: [&str; 6] =
    ["potential_energy", "internal_energy", "pressure", "virial", "squared_force", "laplacian"];
/// Functions of 1 at first that have fallen to 1/e when the structure has relaxed.
const RELAXING: [&str; 2] = ["self_intermediate_scattering_function", "self_overlap"];
/// Decay time of the slow part of energy and pressure, in units of that time. In the Kob-Andersen liquid at T = 0.65 their
/// correlation is stretched, and has fallen to a fifth of its slow part after two of them.
const SLOW: f64 = 2.0;
/// Which is taken for no longer than this fraction of a series.
const FEWEST_MEMORIES: f64 = 8.0;
/// A series of fewer relaxation times has no error.
const FEWEST_RELAXATIONS: f64 = 10.0;

/// The longest time at which a self-overlap, or `F_s` of the largest wave number, falls to 1/e; its longest lag where it does
/// not. `None` without such functions. Where all wave numbers are small, it is longer than the structure takes to relax.
pub fn relaxation_time(functions: &[Function]) -> Option<f64> {
    let of = |function: &Function| {
        let value = &function.curves.last()?.value;
        let measured = |k: &usize| value[*k].is_finite();
        let last = (0..value.len()).rfind(measured)?;
        let level = (-1.0_f64).exp();
        let decayed = time_of_decay(&function.x, value, &[], level).map(|found| found.time.value);
        // What is below it at the first lag is fast.
        decayed.or((value[last] > level).then_some(function.x[last]))
    };
    let relaxing = functions.iter().filter(|one| RELAXING.contains(&one.name.as_str()));
    relaxing.filter_map(of).reduce(f64::max)
}

/// Mean of samples of a series, from one of them on. Of energies and pressure the error holds fluctuations that are as slow as
/// the structure relaxes, if that time is known; it is NaN where the series is shorter than ten of it. Root mean square of
/// deviations over errors, 113 runs of 15 relaxation times: 1.08 and 1.10; 1.41 and 1.40 without.
pub fn mean_from(series: &TimeSeries, from: usize, relaxation: Option<f64>) -> Mean {
    let samples = series.value.get(from..).unwrap_or_default();
    let interval = match series.time[..] {
        [first, .., last] => (last - first) / (series.time.len() - 1) as f64,
        _ => f64::NAN,
    };
    let relaxation = relaxation
        .filter(|_| STRUCTURAL.contains(&series.name.as_str()))
        .map(|time| time / interval)
        .filter(|samples| samples.is_finite());
    let Some(relaxation) = relaxation else {
        return block_average_knowing(samples, Known::default());
    };
    let count = samples.len() as f64;
    let memory = (SLOW * relaxation).min(count / FEWEST_MEMORIES);
    let mean = block_average_knowing(samples, Known { memory, ..Known::default() });
    let is_short = count < FEWEST_RELAXATIONS * relaxation && mean.error > 0.0;
    Mean { error: if is_short { f64::NAN } else { mean.error }, ..mean }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;
    use crate::results::Curve;

    fn overlap(decay_time: f64) -> Function {
        let x: Vec<f64> = (1..=40).map(|k| 0.5 * f64::from(k)).collect();
        let value = x.iter().map(|t| (-t / decay_time).exp()).collect();
        let curves = vec![Curve { value, ..Curve::default() }];
        Function { name: "self_overlap".into(), x, curves, ..Function::default() }
    }

    #[test]
    fn the_slowest_function_tells_the_relaxation_time() {
        let found = relaxation_time(&[overlap(3.0), overlap(7.0)]).unwrap();
        assert!((found - 7.0).abs() < 1e-6, "{found}");
        assert_eq!(relaxation_time(&[overlap(3.0), overlap(100.0)]), Some(20.0));
        let displacement = Function { name: "mean_square_displacement".into(), ..overlap(3.0) };
        assert_eq!(relaxation_time(&[displacement]), None);
        assert_eq!(relaxation_time(&[overlap(0.1)]), None);
    }

    /// Noise and a stretched part, as of a supercooled liquid: sums of exponential ones, 16 relaxation times of 150 samples.
    #[test]
    fn errors_of_energies_hold_what_relaxes_slowly() {
        const TAU: f64 = 150.0;
        let parts = [(0.66, 10.0), (0.35, 60.0), (0.35, 180.0), (0.25, 500.0)];
        let mut normal = Normal::new(5);
        let squares = |name: &str, relaxation: Option<f64>, normal: &mut Normal| {
            let one = |normal: &mut Normal| {
                let mut slow = parts.map(|(size, _)| size * normal.next());
                let value = (0..16 * TAU as usize).map(|_| {
                    for (x, (size, time)) in slow.iter_mut().zip(parts) {
                        let keep = (-1.0_f64 / time).exp();
                        *x = keep * *x + size * (1.0 - keep * keep).sqrt() * normal.next();
                    }
                    slow.iter().sum::<f64>() + normal.next()
                });
                let value: Vec<f64> = value.collect();
                let time = (0..value.len()).map(|k| 0.1 * k as f64).collect();
                let series = TimeSeries { name: name.into(), time, value, ..TimeSeries::default() };
                let mean = mean_from(&series, 0, relaxation);
                (mean.value / mean.error).powi(2)
            };
            let squares: Vec<f64> =
                (0..300).map(|_| one(normal)).filter(|square| square.is_finite()).collect();
            (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
        };
        // A root mean square of 300 values is uncertain by 4 to 6 %.
        let known = squares("potential_energy", Some(0.1 * TAU), &mut normal);
        assert!((0.85..1.15).contains(&known), "{known}");
        let unknown = squares("potential_energy", None, &mut normal);
        assert!(unknown > known + 0.1, "{unknown}");
        // Sixteen of them are less than ten of twice as long ones; temperatures do not know of it.
        assert!(squares("pressure", Some(0.2 * TAU), &mut normal).is_nan());
        let temperature = squares("temperature", Some(0.2 * TAU), &mut normal);
        assert!(temperature > known + 0.1, "{temperature}");
    }
}
