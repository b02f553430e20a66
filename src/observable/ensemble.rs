//! Averages over systems of which each was averaged by itself.
use supercool_statistics::{FEWEST_RUNS, mean_and_error, widening};

use super::Series;

/// Averages of a series over systems.
#[derive(Clone, Debug, PartialEq)]
pub struct EnsembleSeries {
    pub average: Series,
    /// Of a fluctuation over time origins of each system: that over the time origins of all systems together, with its error.
    pub over_systems: Vec<[f64; 2]>,
}

/// Means of the values of systems, with errors from their scatter ([`error_of_mean`]); sums of their counts. `change` is the
/// mean of the systems' changes. The series are of one layout.
pub fn average(systems: &[&Series]) -> Series {
    let first = systems[0];
    let mut average = Series::empty(first.path.clone());
    for k in 0..first.value.len() {
        let of_systems = systems.iter().map(|series| (series.value[k], series.error[k]));
        let (value, error) = mean_of(of_systems);
        let count = systems.iter().map(|series| series.count[k]).sum();
        average.push(value, error, count);
        if let Some([_, own]) = first.change.get(k) {
            let changes = systems.iter().map(|series| series.change[k][0]);
            let (change, error) = mean_and_error(changes);
            average.change.push([change, if systems.len() == 1 { *own } else { error }]);
        }
    }
    average
}

/// Mean and error of values with errors of their own.
fn mean_of(systems: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let (mean, by_scatter) = mean_and_error(systems.clone().map(|(value, _)| value));
    let count = systems.clone().count();
    let squares: f64 = systems.map(|(_, error)| error * error).sum();
    (mean, error_of_mean(squares.sqrt() / count as f64, by_scatter, count))
}

/// Standard error of a mean over systems from that by their scatter and that by their own errors. Of four systems and more
/// it is that by the scatter; of two and three, whose scatter may be small by accident, not less than that by their own
/// errors, where they have any. Of one, and where all systems have the same value, their own: an event that no system has
/// seen is not known to be impossible.
fn error_of_mean(own: f64, by_scatter: f64, count: usize) -> f64 {
    match count {
        1 => own,
        _ if by_scatter == 0.0 => own,
        2..FEWEST_RUNS => by_scatter.max(own),
        _ => by_scatter,
    }
}

/// A function of averages over all systems, and its error: of `components` by system, of which each counts the same. The error
/// is that of the jackknife, which leaves out one system after the other; for a linear function that of the mean. `own`: the
/// error by the systems' own ones.
pub(super) fn of_averages(
    components: &[Vec<f64>],
    own: f64,
    of: impl Fn(&[f64]) -> f64,
) -> (f64, f64) {
    let count = components.len();
    let width = components[0].len();
    let sums: Vec<f64> =
        (0..width).map(|i| components.iter().map(|of_system| of_system[i]).sum()).collect();
    let value = of(&sums.iter().map(|sum| sum / count as f64).collect::<Vec<_>>());
    if count == 1 {
        return (value, own);
    }
    let without = |left_out: &Vec<f64>| {
        let rest = sums.iter().zip(left_out).map(|(sum, x)| (sum - x) / (count - 1) as f64);
        of(&rest.collect::<Vec<_>>())
    };
    let without: Vec<f64> = components.iter().map(without).collect();
    let mean = without.iter().sum::<f64>() / count as f64;
    let squares: f64 = without.iter().map(|x| (x - mean).powi(2)).sum();
    let plain = ((count - 1) as f64 / count as f64 * squares).sqrt();
    (value, error_of_mean(own, plain * widening(count), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(value: f64, error: f64) -> Series {
        let change = vec![[value, 0.1]];
        Series {
            path: "A/x".into(),
            value: vec![value],
            error: vec![error],
            count: vec![3],
            change,
        }
    }

    #[test]
    fn errors_come_from_the_scatter_where_systems_have_none() {
        let systems: Vec<Series> =
            [1.0, 2.0, 3.0, 6.0].map(|value| series(value, f64::NAN)).into_iter().collect();
        let found = average(&systems.iter().collect::<Vec<_>>());
        // Variance 14/3; Student's of three degrees of freedom 3.
        let expected = (14.0 / 3.0 / 4.0 * 3.0_f64).sqrt();
        assert_eq!((found.value[0], found.count[0]), (3.0, 12));
        assert!((found.error[0] - expected).abs() < 1e-14);
        assert_eq!(found.change[0][0], 3.0);
        assert!((found.change[0][1] - expected).abs() < 1e-14);
    }

    #[test]
    fn systems_that_agree_by_accident_are_not_more_certain_than_they_say() {
        let own = |error| average(&[&series(1.0, error), &series(1.0 + 1e-9, error)]).error[0];
        assert!((own(0.2) - 0.2 / 2_f64.sqrt()).abs() < 1e-9);
        assert!(own(f64::NAN) < 1e-8);
        // No event in any.
        assert!(average(&[&series(0.0, f64::NAN); 9]).error[0].is_nan());
        assert_eq!(average(&[&series(0.3, 0.1)]).error[0], 0.1);
    }

    #[test]
    fn the_jackknife_of_a_mean_is_the_error_of_the_mean() {
        let components = [1.0, 2.0, 3.0, 6.0].map(|x| vec![x, x * x]);
        let (value, error) = of_averages(&components, f64::NAN, |averages| 2.0 * averages[0]);
        let expected = 2.0 * (14.0 / 3.0 / 4.0 * 3.0_f64).sqrt();
        assert!((value - 6.0).abs() < 1e-14 && (error - expected).abs() < 1e-13);
        let (variance, _) =
            of_averages(&components, f64::NAN, |averages| averages[1] - averages[0].powi(2));
        assert!((variance - 3.5).abs() < 1e-14, "{variance}");
    }
}
