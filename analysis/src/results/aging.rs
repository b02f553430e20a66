//! Correlations from given time origins, `/aging/<species>/<name>`: `value[q][t_w][t]`.
use hdf5::Group;

use super::{Curve, Function, ResultsFile, group_at};
use crate::Result;
use crate::hdf5_file::{dataset, group, members};

/// A function at several waiting times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aging {
    /// Of the time origins, since the start of the stage.
    pub waiting_time: Vec<f64>,
    /// From each of them, in the same order: of the lag.
    pub functions: Vec<Function>,
}

impl ResultsFile {
    /// Correlations from given time origins; none where a stage has averaged over them.
    pub fn aging(&self) -> Result<Vec<Aging>> {
        let mut all = Vec::new();
        let Some(root) = group_at(&self.file.root, &self.path_of("aging")) else { return Ok(all) };
        for group_name in members(&root) {
            let Some(parent) = group(&root, &group_name) else { continue };
            for name in members(&parent) {
                let Some(element) = group(&parent, &name) else { continue };
                all.extend(self.aging_of(&element, &group_name, &name)?);
            }
        }
        Ok(all)
    }

    fn aging_of(&self, element: &Group, group: &str, name: &str) -> Result<Option<Aging>> {
        self.check_one_by_one(element)?;
        let axis = |which: &str| -> Result<Option<Vec<f64>>> {
            dataset(element, which).map(|dataset| self.file.numbers(&dataset)).transpose()
        };
        let (Some(waiting_time), Some(lags)) = (axis("waiting_time")?, axis("time")?) else {
            return Ok(None);
        };
        let (wavenumbers, distances) = (axis("wavenumber")?, axis("distance")?);
        let rows = wavenumbers.as_ref().or(distances.as_ref()).map_or(1, Vec::len);
        let shape = [rows, waiting_time.len(), lags.len()];
        let numbers = |which: &str| -> Result<Vec<f64>> {
            let Some(dataset) = dataset(element, which) else { return Ok(Vec::new()) };
            let numbers = self.values(&dataset)?;
            let expected = shape.iter().fold(1_usize, |size, &n| size.saturating_mul(n));
            if numbers.len() != expected {
                let what = format!(
                    "{}/{which}: {} numbers for {} x {} x {} arguments",
                    element.name(),
                    numbers.len(),
                    rows,
                    waiting_time.len(),
                    lags.len()
                );
                return Err(self.file.bad(what));
            }
            Ok(numbers)
        };
        let (value, error, count) = (numbers("value")?, numbers("error")?, numbers("count")?);
        let at = |of: &[f64], row: usize, waiting: usize, lag: usize| {
            of.get((row * waiting_time.len() + waiting) * lags.len() + lag).copied()
        };
        let from = |waiting: usize| {
            let (argument, x, curves) = match &distances {
                Some(distances) => {
                    let curve = |(lag, &time): (usize, &f64)| {
                        let of = |of: &[f64]| {
                            (0..rows).filter_map(|row| at(of, row, waiting, lag)).collect()
                        };
                        let time = Some(time);
                        let [value, error, count] = [&value, &error, &count].map(|all| of(all));
                        Curve { time, value, error, count, ..Curve::default() }
                    };
                    let curves = lags.iter().enumerate().map(curve).collect();
                    ("distance", distances.clone(), curves)
                }
                None => {
                    let curve = |row: usize| {
                        let of = |of: &[f64]| {
                            (0..lags.len()).filter_map(|lag| at(of, row, waiting, lag)).collect()
                        };
                        let wavenumber = wavenumbers.as_ref().map(|all| all[row]);
                        let [value, error, count] = [&value, &error, &count].map(|all| of(all));
                        Curve { wavenumber, value, error, count, ..Curve::default() }
                    };
                    ("time", lags.clone(), (0..rows).map(curve).collect())
                }
            };
            let (group, name, argument) = (group.to_owned(), name.to_owned(), argument.to_owned());
            Function { group, name, argument, x, curves }
        };
        let functions = (0..waiting_time.len()).map(from).collect();
        Ok(Some(Aging { waiting_time, functions }))
    }
}
