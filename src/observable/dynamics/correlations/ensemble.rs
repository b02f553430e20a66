//! Averages over systems: over the time origins of all of them.
use super::Correlations;
use super::series::SeriesOf;
use crate::observable::Series;
use crate::observable::ensemble::{EnsembleSeries, average, of_averages};

impl Correlations {
    /// Averages over systems, in the order of [`results`](Self::results), which `series` are by system.
    ///
    /// Values are means over the systems. What is no mean over time origins is made of averages over the time origins of all
    /// systems, except for fluctuations: these have a value over the time origins of all systems beside the mean. From given time
    /// origins, of which a system has one each, fluctuations are over the systems, too.
    pub fn over_systems(systems: &[&Correlations], series: &[&[Series]]) -> Vec<EnsembleSeries> {
        let of_systems: Vec<Vec<SeriesOf<'_>>> =
            systems.iter().map(|correlations| correlations.series().collect()).collect();
        let of_series = |index: usize| {
            let each: Vec<&Series> = series.iter().map(|of_system| &of_system[index]).collect();
            let mut average = average(&each);
            let first = &of_systems[0][index];
            let mut over_systems = Vec::new();
            if first.observable.components() > 1 {
                let lags: Vec<usize> = systems[0].defined_lags(first.observable).collect();
                let mut pooled = pooled(&of_systems, index, &lags, &average.error);
                if first.observable.is_fluctuation() && systems[0].origins.is_some() {
                    // Those of S values about their mean are smaller than about that of many.
                    let unbiased = systems.len() as f64 / (systems.len() as f64 - 1.0);
                    pooled.iter_mut().flatten().for_each(|of| *of *= unbiased);
                }
                match first.observable.is_fluctuation() && systems[0].origins.is_none() {
                    true => over_systems = pooled,
                    false => {
                        average.value = pooled.iter().map(|[value, _]| *value).collect();
                        average.error = pooled.iter().map(|[_, error]| *error).collect();
                    }
                }
            }
            EnsembleSeries { average, over_systems }
        };
        (0..of_systems[0].len()).map(of_series).collect()
    }
}

/// Values and errors of a series by the averages over the time origins of all systems; `own` errors are taken where the
/// systems do not scatter.
fn pooled(
    of_systems: &[Vec<SeriesOf<'_>>],
    index: usize,
    lags: &[usize],
    own: &[f64],
) -> Vec<[f64; 2]> {
    let first = &of_systems[0][index];
    let mut all = Vec::new();
    for row in 0..first.averages.len() {
        for &lag in lags {
            let averages = || of_systems.iter().map(|system| &system[index].averages[row][lag]);
            let origins: u64 = averages().map(|average| average.count()).sum();
            let everywhere = averages().all(|average| average.count() > 0);
            if !everywhere || origins < first.observable.fewest_origins() {
                all.push([f64::NAN; 2]);
                continue;
            }
            let components: Vec<Vec<f64>> =
                averages().map(|average| average.mean().to_vec()).collect();
            let of = |averages: &[f64]| first.observable.value(first.particles, averages).0;
            let (value, error) = of_averages(&components, own[all.len()], of);
            all.push([value, error]);
        }
    }
    all
}
