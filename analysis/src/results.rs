//! What a results file holds, as plain numbers.
//!
//! Layout: `/observables/<name>/{step,time,value}`, `/dynamics/<species>/<name>/{time,value,error,count}`
//! (with `wavenumber`: `value[q][t]`; some with `change` and `change_error`), `/aging/<species>/<name>` ([`Aging`]), `/structure/<pair>/<name>/{distance or wavenumber,value,...}`,
//! `/strain` ([`Strain`]), `/parameters`. Anything may be missing. Files of many systems are read as several files ([`Ensemble`]).
mod aging;
mod classes;
mod ensemble;
mod propensity;
mod strain;
mod time_series;

use std::path::Path;
use std::rc::Rc;

use hdf5::Group;

pub use self::aging::Aging;
pub use self::classes::DiameterClass;
pub use self::ensemble::Ensemble;
use self::ensemble::View;
pub use self::propensity::{OfSpecies, Propensities, Propensity};
pub use self::strain::Strain;
pub use self::time_series::TimeSeries;
use crate::Result;
use crate::hdf5_file::{Hdf5File, dataset, group, members};

/// A results file (or any H5MD file with observables).
pub struct ResultsFile {
    file: Rc<Hdf5File>,
    view: View,
}

/// A correlation or structure function, perhaps at several wave numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Species (`A`), pair of species (`AB`), or class of diameters (`class1`).
    pub group: String,
    /// `mean_square_displacement`, `pair_distribution`, ...
    pub name: String,
    /// `time`, `distance` or `wavenumber`.
    pub argument: String,
    /// Values of the argument.
    pub x: Vec<f64>,
    /// One curve, or one for each wave number or (of functions of distance and time) each time.
    pub curves: Vec<Curve>,
}

/// Values of a function. `error` and `count` are empty if the file has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Wave number that it belongs to, if there are several curves by wave number.
    pub wavenumber: Option<f64>,
    /// Time that it belongs to, if there are several curves by time.
    pub time: Option<f64>,
    /// Values; NaN where nothing was measured yet.
    pub value: Vec<f64>,
    /// Standard errors.
    pub error: Vec<f64>,
    /// Samples.
    pub count: Vec<f64>,
    /// The average over later time origins less that over the first ones, with its standard error; empty if the file has none.
    pub change: Vec<[f64; 2]>,
}

impl ResultsFile {
    /// Opens a file, also one that is being written.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(ResultsFile { file: Rc::new(Hdf5File::open(path)?), view: View::Whole })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Program and version that wrote the file.
    pub fn creator(&self) -> Option<String> {
        let creator = group(&self.file.root, "h5md")?.group("creator").ok()?;
        let name = self.file.text_attribute(&creator, "name")?;
        let version = self.file.text_attribute(&creator, "version").unwrap_or_default();
        Some(format!("{name} {version}").trim().to_owned())
    }

    /// A text below `/parameters`.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.file.text(&group(&self.file.root, "parameters")?, name)
    }

    /// A number anywhere in the file.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.file.numbers(&*dataset(&self.file.root, path)?).ok()?.first().copied()
    }

    /// All numbers of a dataset anywhere in the file.
    pub(crate) fn numbers(&self, path: &str) -> Option<Vec<f64>> {
        self.file.numbers(&*dataset(&self.file.root, path)?).ok()
    }

    /// Names below a group of the file.
    pub(crate) fn members(&self, path: &str) -> Vec<String> {
        group(&self.file.root, path).map(|group| members(&group)).unwrap_or_default()
    }

    /// The plan that the run followed, if the file holds one; of one of many systems, that of a run of it alone.
    pub fn plan(&self) -> Option<serde_json::Value> {
        Some(self.plan_of_view(self.whole_plan()?))
    }

    /// The stage of the plan that the file is of.
    pub fn stage_plan(&self) -> Option<serde_json::Value> {
        let (mut plan, name) = (self.plan()?, self.parameter("stage")?);
        let stages = plan["stages"].as_array_mut()?;
        let number = stages.iter().position(|stage| stage["name"].as_str() == Some(&name))?;
        Some(stages.swap_remove(number))
    }

    fn whole_plan(&self) -> Option<serde_json::Value> {
        serde_json::from_str(&self.parameter("plan")?).ok()
    }

    /// Names and numbers of particles of the species, if stored.
    pub fn species(&self) -> Vec<(String, u64)> {
        let read = || {
            let species = group(&self.file.root, "parameters")?.group("species").ok()?;
            let names = self.file.strings(&*dataset(&species, "name")?).ok()?;
            let counts = self.file.integers(&*dataset(&species, "count")?).ok()?;
            Some(
                names
                    .into_iter()
                    .zip(counts.into_iter().map(|count| count.max(0) as u64))
                    .collect(),
            )
        };
        read().unwrap_or_default()
    }

    /// Dimension of space: of the observables, of the plan, else 3.
    pub fn dimension(&self) -> usize {
        let attribute = || {
            let attribute = group(&self.file.root, "observables")?.attr("dimension").ok()?;
            self.file.integers(&attribute).ok()?.first().map(|&dimension| dimension as usize)
        };
        let plan =
            || Some(self.plan()?["system"]["simulation_box"]["dimension"].as_u64()? as usize);
        attribute().or_else(plan).filter(|dimension| matches!(dimension, 2 | 3)).unwrap_or(3)
    }

    /// Time correlations, `/dynamics/<species>/<name>`.
    pub fn dynamics(&self) -> Result<Vec<Function>> {
        self.functions("dynamics")
    }

    /// The time correlation of this name of the first species that has it; no other is read.
    pub fn first_dynamics(&self, name: &str) -> Result<Option<Function>> {
        let Some(root) = group_at(&self.file.root, &self.path_of("dynamics")) else {
            return Ok(None);
        };
        for group_name in members(&root) {
            let element = group(&root, &group_name).and_then(|parent| group(&parent, name));
            let Some(element) = element else { continue };
            if let Some(function) = self.function(&element, &group_name, name)? {
                return Ok(Some(function));
            }
        }
        Ok(None)
    }

    /// Structure functions, `/structure/<pair>/<name>`.
    pub fn structure(&self) -> Result<Vec<Function>> {
        self.functions("structure")
    }

    fn functions(&self, root: &str) -> Result<Vec<Function>> {
        let mut all = Vec::new();
        let Some(root) = group_at(&self.file.root, &self.path_of(root)) else { return Ok(all) };
        for group_name in members(&root) {
            let Some(parent) = group(&root, &group_name) else { continue };
            for name in members(&parent) {
                let Some(element) = group(&parent, &name) else { continue };
                all.extend(self.function(&element, &group_name, &name)?);
            }
        }
        Ok(all)
    }

    fn function(&self, element: &Group, group: &str, name: &str) -> Result<Option<Function>> {
        let read = |which: &str| -> Result<Option<Vec<f64>>> {
            dataset(element, which).map(|dataset| self.values(&dataset)).transpose()
        };
        let read_axis = |which: &str| -> Result<Option<Vec<f64>>> {
            dataset(element, which).map(|dataset| self.file.numbers(&dataset)).transpose()
        };
        self.check_one_by_one(element)?;
        let Some(values) = read("value")? else { return Ok(None) };
        if let (Some(distances), Some(times)) = (read_axis("distance")?, read_axis("time")?) {
            return self.function_of_distance_and_time(element, (group, name), distances, &times);
        }
        let mut arguments = Vec::new();
        for argument in ["time", "distance", "wavenumber"] {
            arguments.extend(read_axis(argument)?.map(|x| (argument, x)));
        }
        let (errors, counts) = (read("error")?, read("count")?);
        let (changes, of_changes) = (read("change")?, read("change_error")?);
        let bad = |what: String| self.file.bad(format!("{}: {what}", element.name()));
        let (argument, x, wavenumbers) = match &arguments[..] {
            [(argument, x)] => (*argument, x, vec![None]),
            [(argument, x), (_, q)] => (*argument, x, q.iter().map(|&q| Some(q)).collect()),
            _ => return Err(bad("no time, distance or wavenumber beside value".into())),
        };
        if values.len() != x.len() * wavenumbers.len() {
            let what = format!(
                "{} values for {} x {} arguments",
                values.len(),
                wavenumbers.len(),
                x.len()
            );
            return Err(bad(what));
        }
        let row = |numbers: &Option<Vec<f64>>, k: usize| match numbers {
            Some(numbers) if numbers.len() == values.len() => {
                numbers[k * x.len()..(k + 1) * x.len()].to_vec()
            }
            _ => Vec::new(),
        };
        let values = Some(values.clone());
        let curves = wavenumbers
            .iter()
            .enumerate()
            .map(|(k, &wavenumber)| Curve {
                wavenumber,
                time: None,
                value: row(&values, k),
                error: row(&errors, k),
                count: row(&counts, k),
                change: {
                    let errors = row(&of_changes, k);
                    row(&changes, k).into_iter().zip(errors).map(|(x, error)| [x, error]).collect()
                },
            })
            .collect();
        Ok(Some(Function {
            group: group.to_owned(),
            name: name.to_owned(),
            argument: argument.to_owned(),
            x: x.clone(),
            curves,
        }))
    }

    /// Averages of several temperatures or configurations are read one by one.
    fn check_one_by_one(&self, element: &Group) -> Result<()> {
        let groups = ["temperature", "configuration"];
        if self.view == View::Whole && groups.iter().any(|axis| element.link_exists(axis)) {
            let what = "holds averages over systems of several temperatures or configurations, which are read one by one";
            return Err(self.file.bad(format!("{}: {what}", element.name())));
        }
        Ok(())
    }

    /// `value[r][t]` as a curve over `r` for every `t`.
    fn function_of_distance_and_time(
        &self,
        element: &Group,
        (group, name): (&str, &str),
        distances: Vec<f64>,
        times: &[f64],
    ) -> Result<Option<Function>> {
        let column = |which: &str, k: usize| -> Result<Vec<f64>> {
            let Some(dataset) = dataset(element, which) else { return Ok(Vec::new()) };
            let numbers = self.values(&dataset)?;
            if numbers.len() != distances.len() * times.len() {
                let (found, r, t) = (numbers.len(), distances.len(), times.len());
                let what = format!("{}: {found} values for {r} x {t} arguments", element.name());
                return Err(self.file.bad(what));
            }
            Ok(numbers[k..].iter().step_by(times.len()).copied().collect())
        };
        let curve = |(k, &time): (usize, &f64)| {
            Ok(Curve {
                wavenumber: None,
                time: Some(time),
                value: column("value", k)?,
                error: column("error", k)?,
                count: column("count", k)?,
                change: Vec::new(),
            })
        };
        let curves = times.iter().enumerate().map(curve).collect::<Result<_>>()?;
        Ok(Some(Function {
            group: group.to_owned(),
            name: name.to_owned(),
            argument: "distance".to_owned(),
            x: distances,
            curves,
        }))
    }
}

/// A group at a path of several names.
fn group_at(root: &Group, path: &str) -> Option<Group> {
    path.split('/').try_fold(None, |at: Option<Group>, name| {
        Some(Some(group(at.as_ref().unwrap_or(root), name)?))
    })?
}

impl Function {
    /// Errors of points of fewer samples than this become NaN, if the file has counts.
    pub(crate) fn forget_errors_of_few(&mut self, samples: u64) {
        for Curve { error, count, .. } in &mut self.curves {
            let few = error.iter_mut().zip(count).filter(|(_, count)| **count < samples as f64);
            few.for_each(|(error, _)| *error = f64::NAN);
        }
    }
}

impl Curve {
    /// The last value before the first whose error is larger than this share of it; the errors of
    /// an integral grow with its length. Values of zero do not count.
    pub fn last_within(&self, relative_error: f64) -> Option<usize> {
        let good = |&k: &usize| {
            let error = self.error.get(k).copied().unwrap_or(f64::NAN);
            error <= relative_error * self.value[k].abs()
        };
        (0..self.value.len()).take_while(good).filter(|&k| self.value[k] != 0.0).last()
    }

    /// Wave number or time that it belongs to.
    pub fn parameter(&self) -> Option<f64> {
        self.wavenumber.or(self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integral_is_reported_until_its_error_first_exceeds_a_share_of_it() {
        let mut curve = Curve {
            value: vec![0.0, 1.0, 2.0, 2.1, 2.2, 2.3],
            error: vec![0.0, 0.01, 0.1, 0.5, 0.01, f64::NAN],
            ..Curve::default()
        };
        assert_eq!(curve.last_within(0.1), Some(2));
        assert_eq!(curve.last_within(0.3), Some(4));
        assert_eq!(curve.last_within(1e-3), None);
        curve.error.clear();
        assert_eq!(curve.last_within(0.1), None);
    }
}
