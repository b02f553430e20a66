//! What is printed and plotted of a results file, read once: its functions, and of its time series, however long they are, a
//! bounded number of numbers.
use crate::Result;
use crate::drift::Drift;
use crate::ratio;
use crate::results::{Aging, DiameterClass, Function, ResultsFile, Strain, TimeSeries};
use crate::slow::{mean_from, relaxation_time};
use crate::statistics::{Mean, block_average};

/// A time series is drawn with no more points than this.
const MOST_POINTS: usize = 500;

/// What is printed and plotted of a results file.
pub(crate) struct Overview {
    pub series: Vec<SeriesOverview>,
    pub dynamics: Vec<Function>,
    /// From given time origins.
    pub aging: Vec<Aging>,
    pub structure: Vec<Function>,
    /// Curves over the strain.
    pub strain: Option<Strain>,
    /// Of diameters, that the dynamics are averaged over.
    pub classes: Vec<DiameterClass>,
    /// Motion of the centre of mass that the dynamics contain.
    pub drift: Option<Drift>,
}

/// What is printed and plotted of a time series.
pub(crate) struct SeriesOverview {
    pub name: String,
    /// Of one sample; empty for a scalar.
    pub shape: Vec<usize>,
    pub samples: usize,
    /// First and last.
    pub steps: Option<(u64, u64)>,
    /// First and last, if the file has times and more than one sample.
    pub times: Option<(f64, f64)>,
    /// The first sample of a scalar.
    pub first: Option<f64>,
    /// Of a scalar.
    pub mean: Mean,
    pub points: Points,
}

/// Means over equal stretches of a scalar series, or all its samples.
#[derive(Default)]
pub(crate) struct Points {
    pub step: Vec<f64>,
    /// Empty if the file has none.
    pub time: Vec<f64>,
    pub value: Vec<f64>,
    /// Standard deviation within a stretch, which a single wild sample makes large; NaN of single samples.
    pub deviation: Vec<f64>,
}

impl Overview {
    pub fn of(file: &ResultsFile) -> Result<Self> {
        let mut series = Vec::new();
        let dynamics = file.dynamics()?;
        let relaxation = relaxation_time(&dynamics);
        file.each_series(|each| series.push(SeriesOverview::of(&each, relaxation)))?;
        if let Some(mean) = ratio::of_configurational_temperature(file, relaxation)? {
            let of_it = series.iter_mut().filter(|each| each.name == ratio::NAME);
            of_it.for_each(|each| each.mean = mean);
        }
        let plan = file.plan().unwrap_or_default();
        let drift = Drift::of(&plan, &file.parameter("stage").unwrap_or_default());
        let (aging, structure, classes) = (file.aging()?, file.structure()?, file.classes());
        let strain = file.strain()?;
        Ok(Overview { series, dynamics, aging, structure, strain, classes, drift })
    }

    /// Whether there is nothing to tell or draw.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
            && self.dynamics.is_empty()
            && self.aging.is_empty()
            && self.structure.is_empty()
            && self.strain.is_none()
    }
}

impl SeriesOverview {
    fn of(series: &TimeSeries, relaxation: Option<f64>) -> Self {
        let scalar = series.shape.is_empty();
        SeriesOverview {
            name: series.name.clone(),
            shape: series.shape.clone(),
            samples: series.step.len(),
            steps: series.step.first().copied().zip(series.step.last().copied()),
            times: match series.time[..] {
                [first, .., last] => Some((first, last)),
                _ => None,
            },
            first: series.value.first().copied().filter(|_| scalar),
            mean: match scalar {
                true => mean_from(series, 0, relaxation),
                false => block_average(&[]),
            },
            points: if scalar { Points::of(series) } else { Points::default() },
        }
    }
}

impl Points {
    fn of(series: &TimeSeries) -> Self {
        let stretch = series.value.len().div_ceil(MOST_POINTS).max(1);
        let step = series.step.chunks(stretch).map(|steps| mean(steps, |&step| step as f64));
        let time = series.time.chunks(stretch).map(|times| mean(times, |&time| time));
        // What is conserved changes in its last digits.
        let origin = series.value.first().copied().filter(|first| first.is_finite()).unwrap_or(0.0);
        let (value, deviation) = match stretch {
            1 => (series.value.clone(), vec![f64::NAN; series.value.len()]),
            _ => series
                .value
                .chunks(stretch)
                .map(|values| {
                    let middle = mean(values, |value| value - origin);
                    let square = |value: &f64| (value - origin - middle).powi(2);
                    (origin + middle, mean(values, square).sqrt())
                })
                .unzip(),
        };
        Points { step: step.collect(), time: time.collect(), value, deviation }
    }
}

fn mean<T>(all: &[T], number: impl Fn(&T) -> f64) -> f64 {
    all.iter().map(number).sum::<f64>() / all.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(value: Vec<f64>) -> TimeSeries {
        let step: Vec<u64> = (0..value.len() as u64).map(|row| 10 * row).collect();
        let time = step.iter().map(|&step| 0.5 * step as f64).collect();
        TimeSeries { name: "energy".into(), step, time, value, shape: Vec::new() }
    }

    #[test]
    fn a_long_series_keeps_its_mean_its_drift_and_what_is_wild() {
        // A drift of 1e-9 in all, and one sample far off.
        let rows = 100_000;
        let mut value: Vec<f64> = (0..rows).map(|row| -5.0 + 1e-14 * f64::from(row)).collect();
        value[70_100] = 1e3;
        let overview = SeriesOverview::of(&series(value), None);
        let Points { step, time, value, deviation } = &overview.points;
        assert_eq!([step.len(), time.len(), value.len(), deviation.len()], [MOST_POINTS; 4]);
        assert_eq!((overview.samples, overview.steps), (100_000, Some((0, 999_990))));
        assert_eq!((overview.times, overview.first), (Some((0.0, 499_995.0)), Some(-5.0)));
        // Stretches of 200 rows; their middles are 199 / 2 rows after their first.
        assert_eq!((step[0], step[1], time[1]), (995.0, 2995.0, 1497.5));
        // Doubles near 5 are 9e-16 apart.
        for (at, value) in value.iter().enumerate().filter(|(at, _)| *at != 350) {
            let expected = 1e-14 * (200.0 * at as f64 + 99.5);
            assert!((value + 5.0 - expected).abs() < 3e-15, "{at}: {value}");
            assert!(deviation[at] < 1e-11);
        }
        assert!((value[350] + 5.0 - 1005.0 / 200.0).abs() < 1e-9 && deviation[350] > 70.0);
    }

    #[test]
    fn a_short_series_is_drawn_as_it_is_and_a_vector_not_at_all() {
        let short = series(vec![1.0, 4.0, 2.0]);
        let overview = SeriesOverview::of(&short, None);
        assert_eq!(overview.points.value, short.value);
        assert_eq!((&overview.points.time, &overview.points.step[2]), (&short.time, &20.0));
        assert!(overview.points.deviation.iter().all(|deviation| deviation.is_nan()));
        let overview = SeriesOverview::of(&TimeSeries { shape: vec![3], ..short }, None);
        assert_eq!((overview.samples, overview.first), (3, None));
        assert!(overview.points.value.is_empty());
        assert_eq!(SeriesOverview::of(&TimeSeries::default(), None).steps, None);
    }
}
