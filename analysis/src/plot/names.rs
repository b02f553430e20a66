//! What tells the curves of a figure apart: names of files, temperatures, or values of a key of their configurations.
use std::path::{Path, PathBuf};

use toml::Value;

use super::colours::{Parameter, Sets};
use crate::analyze::set_temperature;
use crate::numbers::short;
use crate::overview::Overview;
use crate::results::ResultsFile;
use crate::{AnalysisError, Result};

/// Temperatures that differ by less are not taken for different state points.
const DIFFERENT: f64 = 0.01;
/// Fewer sets go by their names, unless something else is wanted.
const FEWEST: usize = 3;

/// What is overlaid, and what is known of it.
pub(super) struct Overlaid {
    pub file: ResultsFile,
    pub overview: Overview,
    pub name: String,
}

impl Overlaid {
    /// That a thermostat has set, else the measured mean.
    fn temperature(&self) -> Option<f64> {
        let stage = self.file.parameter("stage").unwrap_or_default();
        let set = self.file.plan().and_then(|plan| set_temperature(&plan, &stage));
        let measured = || {
            let mut series = self.overview.series.iter();
            series.find(|each| each.name == "temperature").map(|each| each.mean.value)
        };
        set.or_else(measured).filter(|temperature| temperature.is_finite())
    }

    fn value_of(&self, key: &str) -> Result<Value> {
        let wrong = |what: String| AnalysisError::content(self.file.path(), what);
        let text = self.file.parameter("toml");
        let text = text.ok_or_else(|| wrong("it holds no configuration".into()))?;
        let whole: toml::Table = text
            .parse()
            .map_err(|error| wrong(format!("its configuration cannot be read: {error}")))?;
        let parts: Vec<&str> = key.split('.').collect();
        let mut found = Vec::new();
        values_at(&Value::Table(whole), &parts, &mut found);
        match found.first() {
            Some(first) if found.iter().all(|value| value == first) => Ok(first.clone()),
            Some(_) => {
                Err(wrong(format!("{key} has several values: name one element instead of *")))
            }
            None => Err(wrong(format!(
                "its configuration has no key {key}: give one such as system.density or stage.NAME.steps, or temperature"
            ))),
        }
    }
}

/// Names and colours: by a key of the configuration or `temperature`, if it is given; else by temperature where several differ.
///
/// # Errors
/// If a file has no value of the key.
pub(super) fn sets(overlaid: &[Overlaid], by: Option<&str>) -> Result<Sets> {
    let by_name = || Sets::named(overlaid.iter().map(|each| each.name.clone()).collect());
    match by {
        Some("temperature") => {
            let temperature = |each: &Overlaid| {
                let what = "its temperature is not known: no thermostat has set it, and it was not measured";
                let missing = || AnalysisError::content(each.file.path(), what);
                each.temperature().ok_or_else(missing)
            };
            let values = overlaid.iter().map(temperature).collect::<Result<_>>()?;
            Ok(of_numbers("T", values))
        }
        Some(key) => {
            let values =
                overlaid.iter().map(|each| each.value_of(key)).collect::<Result<Vec<_>>>()?;
            let name = key.rsplit('.').next().unwrap_or(key);
            let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
            Ok(match numbers {
                Some(numbers) => of_numbers(name, numbers),
                None => {
                    let label = |value: &Value| format!("{name} = {}", text_of(value));
                    Sets::named(values.iter().map(label).collect())
                }
            })
        }
        None => {
            let temperatures =
                overlaid.iter().map(Overlaid::temperature).collect::<Option<Vec<_>>>();
            Ok(temperatures.and_then(different_temperatures).unwrap_or_else(by_name))
        }
    }
}

/// Colours in the order of these temperatures, if there are several and all differ.
pub(super) fn different_temperatures(values: Vec<f64>) -> Option<Sets> {
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let differ = |pair: &[f64]| pair[1] - pair[0] > DIFFERENT * pair[1].abs();
    (values.len() >= FEWEST && sorted.windows(2).all(differ)).then(|| of_numbers("T", values))
}

fn of_numbers(name: &str, values: Vec<f64>) -> Sets {
    let names = values.iter().map(|&value| format!("{name} = {}", short(value))).collect();
    // A scale of one value is none.
    let several = values.iter().any(|value| *value != values[0]);
    let parameter = several.then(|| Parameter { name: name.to_owned(), values });
    Sets { names, parameter }
}

/// Values at a path of names; elements of arrays by their names or numbers, `*` for all of them.
fn values_at(value: &Value, path: &[&str], found: &mut Vec<Value>) {
    let Some((first, rest)) = path.split_first() else { return found.push(value.clone()) };
    let alike = |name: &str| name.replace('-', "_") == first.replace('-', "_");
    match value {
        Value::Table(table) => {
            let inner = table.iter().filter(|(name, _)| *first == "*" || alike(name));
            inner.for_each(|(_, value)| values_at(value, rest, found));
        }
        Value::Array(elements) => {
            let is_named = |index: usize, element: &Value| {
                let name = element.get("name").and_then(Value::as_str);
                *first == "*" || name == Some(*first) || first.parse() == Ok(index)
            };
            let inner = elements.iter().enumerate().filter(|(index, each)| is_named(*index, each));
            inner.for_each(|(_, value)| values_at(value, rest, found));
        }
        _ => {}
    }
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| Some(value.as_integer()? as f64))
        .filter(|number| number.is_finite())
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Shortest names that tell the files apart: stems, with as many parent folders as needed.
pub(super) fn file_labels(files: &[PathBuf]) -> Vec<String> {
    let label = |file: &Path, depth: usize| {
        let without_ending = file.with_extension("");
        let parts: Vec<String> = without_ending
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        parts[parts.len().saturating_sub(depth)..].join("/")
    };
    let depths = 1..=4;
    depths
        .map(|depth| files.iter().map(|file| label(file, depth)).collect::<Vec<_>>())
        .find(|labels| {
            let mut sorted = labels.clone();
            sorted.sort();
            sorted.dedup();
            sorted.len() == labels.len()
        })
        .unwrap_or_else(|| files.iter().map(|file| label(file, 4)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_as_short_as_they_can_be() {
        let labels =
            |files: &[&str]| file_labels(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(labels(&["a/T0.8.h5", "b/T0.6.h5"]), ["T0.8", "T0.6"]);
        assert_eq!(
            labels(&["a/production.h5", "b/production.h5"]),
            ["a/production", "b/production"]
        );
    }

    #[test]
    fn temperatures_order_colours_where_all_of_several_differ() {
        let sets = different_temperatures(vec![1.0, 0.5, 0.7]).unwrap();
        assert_eq!(sets.names, ["T = 1", "T = 0.5", "T = 0.7"]);
        assert_eq!(sets.parameter.unwrap().values, [1.0, 0.5, 0.7]);
        assert!(different_temperatures(vec![1.0, 0.5]).is_none());
        assert!(different_temperatures(vec![1.0, 0.5, 0.502]).is_none());
    }

    #[test]
    fn keys_lead_to_values_by_names_numbers_and_stars() {
        let text = r#"
            system.density = 1.2
            [[stage]]
            name = "melt"
            steps = 20
            thermostat.time-constant = 0.5
            [[stage]]
            name = "cold"
            steps = 20
        "#;
        let whole = Value::Table(text.parse().unwrap());
        let at = |key: &str| {
            let mut found = Vec::new();
            values_at(&whole, &key.split('.').collect::<Vec<_>>(), &mut found);
            found
        };
        assert_eq!(at("system.density"), [Value::Float(1.2)]);
        assert_eq!(at("stage.cold.steps"), [Value::Integer(20)]);
        assert_eq!(at("stage.0.thermostat.time_constant"), [Value::Float(0.5)]);
        assert_eq!(at("stage.*.steps"), [Value::Integer(20), Value::Integer(20)]);
        assert!(at("stage.hot.steps").is_empty() && at("system.density.more").is_empty());
    }
}
