//! The viscosity of a stage under steady shear.
//!
//! `eta = <s_xy> / rate`, with errors by blocks of samples. A flow forgets where it began within a strain of about one; means of
//! the first and last half that differ say that it has not.
use crate::Result;
use crate::fit::Estimate;
use crate::results::{ResultsFile, TimeSeries};
use crate::slow::mean_from;

/// Of a stage under steady shear, over all of its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Strain per time.
    pub rate: f64,
    /// In the course of the stage.
    pub strain: f64,
    /// Mean of `s_xy`.
    pub stress: Estimate,
    /// That over the rate.
    pub viscosity: Estimate,
    /// Mean stresses of the two halves differ by more than three errors: the stage does not begin in the steady flow.
    pub is_drifting: bool,
}

impl Flow {
    /// `None` where the stage has no shear, or no samples. Errors are NaN where there are too few correlation times.
    pub fn of(file: &ResultsFile) -> Result<Option<Flow>> {
        let (Some(rate), Some(stress), Some(strain)) =
            (rate(file), file.observable("shear_stress")?, file.observable("shear_strain")?)
        else {
            return Ok(None);
        };
        let strain = strain.value.last().copied().unwrap_or(0.0);
        Ok((stress.value.len() >= 3).then(|| of_series(&stress, rate, strain)))
    }
}

fn rate(file: &ResultsFile) -> Option<f64> {
    file.stage_plan()?["shear"]["rate"].as_f64()
}

fn of_series(stress: &TimeSeries, rate: f64, strain: f64) -> Flow {
    let mean = |value: &[f64]| {
        let series = TimeSeries { value: value.to_vec(), ..stress.clone() };
        let mean = mean_from(&series, 0, None);
        Estimate { value: mean.value, error: mean.error }
    };
    let (first, second) = stress.value.split_at(stress.value.len() / 2);
    let [first, second] = [first, second].map(mean);
    let stress = mean(&stress.value);
    Flow {
        rate,
        strain,
        stress,
        viscosity: Estimate { value: stress.value / rate, error: stress.error / rate.abs() },
        is_drifting: (first.value - second.value).abs() > 3.0 * first.error.hypot(second.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;

    #[test]
    fn a_steady_stress_gives_the_viscosity_and_a_start_up_is_flagged() {
        let mut normal = Normal::new(5);
        let time: Vec<f64> = (0..4000).map(f64::from).collect();
        let series = |value| TimeSeries { time: time.clone(), value, ..TimeSeries::default() };
        let steady: Vec<f64> = (0..4000).map(|_| -0.3 + 0.1 * normal.next()).collect();
        let flow = of_series(&series(steady.clone()), -0.02, -1.0);
        assert!(!flow.is_drifting);
        let error = flow.viscosity.error;
        assert!((0.06..0.11).contains(&error), "{error}");
        assert!((flow.viscosity.value - 15.0).abs() < 4.0 * error, "{flow:?}");
        let growing = steady.iter().enumerate().map(|(step, s)| s - 0.2 * (step as f64 / 4000.0));
        assert!(of_series(&series(growing.collect()), -0.02, -1.0).is_drifting);
    }
}
