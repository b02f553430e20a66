//! Which runs are independent runs of one state point.
use serde_json::Value;

use super::runs::Run;
use crate::numbers::short;
use crate::results::Function;
use crate::{AnalysisError, Result};

/// Independent runs of one state point.
#[derive(Clone, Debug)]
pub struct Group {
    /// At least one.
    pub runs: Vec<Run>,
    /// What they have in common: how runs were grouped.
    pub by: String,
    /// Why they are not averaged with others of the same temperature.
    pub apart: Vec<String>,
}

/// Temperatures of independent runs agree within this many combined errors, but in any case within the
/// first and in no case beyond the second of these fractions: `D` and `tau` of a supercooled liquid
/// change by ten times the fraction and more.
const SAME_ERRORS: f64 = 3.0;
const SAME_FRACTION: [f64; 2] = [0.005, 0.01];

impl Run {
    /// Whether this is the same liquid as `first`, at any temperature.
    fn same_model(&self, first: &Run) -> Result<()> {
        for ((name, here), (_, there)) in self.model.iter().zip(&first.model) {
            if let Some((place, here, there)) = first_difference(name, here, there) {
                let what = format!(
                    "another {name} than in {}: {place} is {here} instead of {there}",
                    first.file.display()
                );
                return Err(AnalysisError::content(&self.file, what));
            }
        }
        Ok(())
    }

    /// Why this run cannot be averaged with another one of the same temperature, if it cannot.
    ///
    /// # Errors
    /// If both hold the same numbers.
    fn apart_from(&self, other: &Run) -> Result<Option<String>> {
        if let (Some(here), Some(there)) = (&self.state, &other.state)
            && !here.same_dynamics(there)
        {
            return Ok(Some(format!("{} and {}", here.text(), there.text())));
        }
        if let Some(what) = self.other_axes(other) {
            return Ok(Some(what));
        }
        let equal = |a: &Function, b: &Function| {
            let values = |function: &Function| -> Vec<u64> {
                let all = function.curves.iter().flat_map(|curve| &curve.value);
                all.map(|value| value.to_bits()).collect()
            };
            values(a) == values(b)
        };
        let mut pairs = self.functions.iter().zip(&other.functions);
        // Runs without functions have no numbers to be the same.
        if !self.functions.is_empty() && pairs.all(|(a, b)| equal(a, b)) {
            let what = format!(
                "not an independent run: the same numbers as in {}, which has the same temperature",
                other.file.display()
            );
            return Err(AnalysisError::content(&self.file, what));
        }
        let of_one_run = self.origin.is_some() && self.origin == other.origin;
        Ok(of_one_run.then(|| "another stage of the same run".into()))
    }

    /// What differs in the functions of both, their times and wave numbers.
    fn other_axes(&self, other: &Run) -> Option<String> {
        let names = |run: &Run| -> Vec<String> {
            run.functions.iter().map(|each| format!("{}/{}", each.group, each.name)).collect()
        };
        let (here, there) = (names(self), names(other));
        if let Some(name) = here.iter().find(|name| !there.contains(name)) {
            return Some(format!("only the first has {name}"));
        }
        if let Some(name) = there.iter().find(|name| !here.contains(name)) {
            return Some(format!("only the second has {name}"));
        }
        for ((name, a), b) in here.iter().zip(&self.functions).zip(&other.functions) {
            if !close(&a.x, &b.x) {
                let grid = |x: &[f64]| format!("{} up to {}", x.len(), x.last().unwrap_or(&0.0));
                return Some(format!("other times of {name}, {} and {}", grid(&a.x), grid(&b.x)));
            }
            let wavenumbers = |function: &Function| -> Vec<f64> {
                function.curves.iter().filter_map(|curve| curve.wavenumber).collect()
            };
            let (q, expected) = (wavenumbers(a), wavenumbers(b));
            if a.curves.len() != b.curves.len() || !close(&q, &expected) {
                return Some(format!("other wave numbers of {name}, {q:?} and {expected:?}"));
            }
        }
        None
    }

    /// How far apart two runs of one state are; `None` if they are of different ones. With a `fraction` measured
    /// temperatures decide. Else plans do, as fluctuations would select runs by what they measure: runs of one configuration
    /// come first, then those of the same set temperature or energy. Measured temperatures are left where a plan does not say.
    fn same_state(&self, other: &Run, fraction: Option<f64>) -> Option<f64> {
        if let Some(fraction) = fraction {
            let (a, b) = (self.temperature?, other.temperature?);
            let apart = (a.value - b.value).abs();
            return (apart <= fraction * b.value.abs()).then_some(apart);
        }
        if self.configuration.is_some() && self.configuration == other.configuration {
            return Some(-1.0);
        }
        if let (Some(here), Some(there)) = (&self.state, &other.state) {
            return here.same_setting(there).then_some(0.0);
        }
        let (a, b) = (self.temperature?, other.temperature?);
        let error = a.error.hypot(b.error);
        let within = if error.is_finite() { SAME_ERRORS * error } else { 0.0 };
        let [least, most] = SAME_FRACTION.map(|fraction| fraction * b.value.abs());
        let apart = (a.value - b.value).abs();
        (apart <= within.max(least).min(most)).then_some(apart)
    }
}

impl Group {
    pub(super) fn new(run: Run, apart: Vec<String>) -> Self {
        let by = match &run.state {
            Some(state) => state.text(),
            None => "no thermostat and no energy in the plan".into(),
        };
        Group { runs: vec![run], by, apart }
    }

    /// Says how the runs came together, once all are there.
    fn explain(&mut self, fraction: Option<f64>) {
        let first = &self.runs[0];
        let others = || self.runs[1..].iter();
        if self.runs.len() == 1 {
            return;
        }
        let how = if let Some(fraction) = fraction {
            format!("measured temperatures within {} %", short(100.0 * fraction))
        } else if first.configuration.is_some()
            && others().all(|run| run.configuration == first.configuration)
        {
            format!("{}; plans differ in the seed only", self.by)
        } else if first.state.is_some() && others().all(|run| run.state == first.state) {
            format!("{}; plans differ in more than the seed", self.by)
        } else {
            "measured temperatures that agree within their errors".into()
        };
        self.by = how;
    }
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()))
}

/// The first place where two values differ, with what stands there.
fn first_difference(place: &str, here: &Value, there: &Value) -> Option<(String, Value, Value)> {
    let inner = |key: &str, here: Option<&Value>, there: Option<&Value>| {
        let place = format!("{place}.{key}");
        first_difference(&place, here.unwrap_or(&Value::Null), there.unwrap_or(&Value::Null))
    };
    match (here, there) {
        (Value::Object(a), Value::Object(b)) => {
            a.keys().chain(b.keys()).find_map(|key| inner(key, a.get(key), b.get(key)))
        }
        (Value::Array(a), Value::Array(b)) => (0..a.len().max(b.len()))
            .find_map(|index| inner(&index.to_string(), a.get(index), b.get(index))),
        _ => (here != there).then(|| (place.to_owned(), here.clone(), there.clone())),
    }
}

/// Groups of independent runs, hottest first. Runs whose plans differ in the seed only are one group, and so are those of the
/// same thermostat and set temperature, or set energy. Where a plan does not say, mean temperatures must agree with the first of
/// the group within 0.5 %, or within three combined errors and 1 %. With `fraction` mean temperatures decide alone: they agree
/// within it. Of several groups, a run joins that whose first is nearest. Stages of one run are not independent, and runs whose
/// thermostats, functions, times or wave numbers differ cannot be averaged: these are groups of their own, which say so.
///
/// # Errors
/// If files are not of one model (dimension, species, potential, density), if runs of one temperature
/// hold the same numbers, or if one of several has no temperature.
pub fn state_points(runs: Vec<Run>, fraction: Option<f64>) -> Result<Vec<Group>> {
    let several = runs.len() > 1;
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        if several && run.any_temperature().is_none() {
            let what = "no /observables/temperature, and no thermostat in the plan: which state point is it?";
            return Err(AnalysisError::content(&run.file, what));
        }
        if let Some(first) = groups.first() {
            run.same_model(&first.runs[0])?;
        }
        let near =
            |(k, group): (usize, &Group)| Some((run.same_state(&group.runs[0], fraction)?, k));
        let mut agreeing: Vec<(f64, usize)> = groups.iter().enumerate().filter_map(near).collect();
        agreeing.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut apart = Vec::new();
        let mut joined = None;
        for (_, index) in agreeing {
            let mut why = None;
            for other in &groups[index].runs {
                if let Some(what) = run.apart_from(other)? {
                    why.get_or_insert_with(|| {
                        let (here, there) = (run.file.display(), other.file.display());
                        format!("{here} and {there} are not averaged: {what}")
                    });
                }
            }
            match why {
                Some(why) => apart.push(why),
                None => {
                    joined = Some(index);
                    break;
                }
            }
        }
        match joined {
            Some(index) => groups[index].runs.push(run),
            None => groups.push(Group::new(run, apart)),
        }
    }
    groups.iter_mut().for_each(|group| group.explain(fraction));
    let temperature = |group: &Group| group.runs[0].any_temperature().map_or(0.0, |t| t.value);
    groups.sort_by(|a, b| temperature(b).total_cmp(&temperature(a)));
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::fit::Estimate;

    /// Temperatures of the groups that runs of these temperatures (value, error) fall into.
    fn groups(temperatures: &[(f64, f64)]) -> Vec<Vec<f64>> {
        groups_within(None, temperatures)
    }

    fn groups_within(fraction: Option<f64>, temperatures: &[(f64, f64)]) -> Vec<Vec<f64>> {
        let run = |(k, &(value, error)): (usize, &(f64, f64))| Run {
            file: PathBuf::new(),
            dimension: 3,
            temperature: Some(Estimate { value, error }),
            // Runs of the same numbers would not be independent.
            functions: vec![Function {
                x: vec![1.0],
                curves: vec![crate::results::Curve { value: vec![k as f64], ..Default::default() }],
                ..Default::default()
            }],
            model: Vec::new(),
            origin: None,
            state: None,
            drift: None,
            course: Default::default(),
            configuration: None,
            is_system: false,
        };
        let runs = temperatures.iter().enumerate().map(run).collect();
        let groups = state_points(runs, fraction).unwrap();
        let value = |run: &Run| run.temperature.unwrap().value;
        groups.iter().map(|group| group.runs.iter().map(value).collect()).collect()
    }

    #[test]
    fn large_errors_do_not_make_two_temperatures_one() {
        assert_eq!(groups(&[(1.502, 0.024), (1.542, 0.014)]), [[1.542], [1.502]]);
        assert_eq!(groups(&[(1.502, 0.024), (1.512, 0.014)]), [[1.502, 1.512]]);
        assert_eq!(groups(&[(1.0, 1e-6), (1.004, 1e-6)]), [[1.0, 1.004]]);
        assert_eq!(groups(&[(1.0, 1e-6), (1.006, 1e-6)]).len(), 2);
        assert_eq!(groups(&[(1.0, f64::NAN), (1.006, f64::NAN)]).len(), 2);
    }

    /// As those of small systems at the mean energy of a thermostat.
    #[test]
    fn a_fraction_joins_what_scatters_more() {
        let temperatures = [(0.623, 1e-3), (0.631, 1e-3), (1.049, 1e-3), (1.068, 1e-3)];
        assert_eq!(groups(&temperatures).len(), 4);
        let expected = [vec![1.049, 1.068], vec![0.623, 0.631]];
        assert_eq!(groups_within(Some(0.03), &temperatures), expected);
    }

    #[test]
    fn what_differs_is_named_with_its_place() {
        let plan =
            |width: f64| serde_json::json!({"form": [1, {"kind": "smooth", "width": width}]});
        let found = first_difference("potential", &plan(0.05), &plan(0.005)).unwrap();
        assert_eq!(found, ("potential.form.1.width".into(), 0.05.into(), 0.005.into()));
        assert_eq!(first_difference("potential", &plan(0.05), &plan(0.05)), None);
    }

    #[test]
    fn a_run_joins_the_nearest_temperature_in_any_order() {
        let error = 0.004;
        let found = groups(&[(1.0, error), (1.014, error), (1.009, error), (1.006, error)]);
        assert_eq!(found, [[1.014, 1.009], [1.0, 1.006]]);
    }
}
