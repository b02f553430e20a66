//! Time series, `/observables/<name>/{step,time,value}`: complete, or some rows of a long one.
//!
//! Series that were sampled together share `step` and `time`, as hard links: these are read once.
use hdf5::{Dataset, Group, LocationToken, SliceOrIndex};

use super::{ResultsFile, group_at};
use crate::hdf5_file::{dataset, group, members};
use crate::{AnalysisError, Result};

/// One observable over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSeries {
    /// Name, with the groups it stands in: `temperature`, `A/temperature`.
    pub name: String,
    /// Steps.
    pub step: Vec<u64>,
    /// Times; empty if the file has none.
    pub time: Vec<f64>,
    /// Shape of one sample; empty for a scalar.
    pub shape: Vec<usize>,
    /// Samples, one after the other.
    pub value: Vec<f64>,
}

/// Where the file holds a series.
struct Element {
    name: String,
    group: Group,
    value: Dataset,
    rows: usize,
    /// Of one sample.
    shape: Vec<usize>,
}

/// Datasets with several hard links, by their place in the file.
#[derive(Default)]
struct Shared(Vec<((u64, LocationToken), Vec<f64>)>);

/// `step` or `time` of a series.
enum Axis {
    /// One number for each row.
    Explicit(Dataset),
    Regular(Interval),
}

/// `step` or `time` that is the same from row to row.
struct Interval {
    offset: f64,
    increment: f64,
}

impl ResultsFile {
    /// All time series below `/observables`, in alphabetical order.
    pub fn observables(&self) -> Result<Vec<TimeSeries>> {
        let mut shared = Shared::default();
        let elements = self.elements();
        elements.iter().map(|element| self.series(element, true, &mut shared)).collect()
    }

    /// The time series of an observable, if there is one of this name. No other is read.
    pub fn observable(&self, name: &str) -> Result<Option<TimeSeries>> {
        let element = self.elements().into_iter().find(|element| element.name == name);
        element.map(|element| self.series(&element, true, &mut Shared::default())).transpose()
    }

    /// Hands over one time series after the other, so that no two are in memory; those of vectors and tensors
    /// without their values.
    pub(crate) fn each_series(&self, mut take: impl FnMut(TimeSeries)) -> Result<()> {
        let mut shared = Shared::default();
        for element in self.elements() {
            take(self.series(&element, element.shape.is_empty(), &mut shared)?);
        }
        Ok(())
    }

    /// At most `most` rows (at least two) of a scalar observable: the first and the last one and, at equal distances,
    /// some in between. A long series is not read for it. `None` if there is no scalar observable of this name.
    pub fn sampled(&self, name: &str, most: usize) -> Result<Option<TimeSeries>> {
        let observables = group_at(&self.file.root, &self.path_of("observables"));
        let element = observables
            .and_then(|observables| element(group(&observables, name)?, name.to_owned()))
            .and_then(|element| self.without_systems(element))
            .filter(|element| element.shape.is_empty());
        let Some(element) = element else { return Ok(None) };
        let (step, time) = (self.axis(&element, "step")?, self.axis(&element, "time")?);
        let lengths = [&step, &time].into_iter().flatten().filter_map(Axis::length);
        let rows = lengths.fold(element.rows, usize::min);
        // A damaged file claims more chunks than anyone can walk through.
        self.file.check_size(name, rows)?;
        let mut series = TimeSeries { name: element.name, ..TimeSeries::default() };
        let Some(last) = rows.checked_sub(1) else { return Ok(Some(series)) };
        let stride = last.div_ceil(most.max(2) - 1).max(1);
        let mut chosen: Vec<usize> = (0..rows).step_by(stride).collect();
        let regular = chosen.len();
        chosen.extend((last % stride != 0).then_some(last));
        let read = |from: &Dataset| -> Result<Vec<f64>> {
            let rows =
                SliceOrIndex::SliceCount { start: 0, step: stride, count: regular, block: 1 };
            let read = from.read_slice_1d::<f64, _>(rows);
            let mut numbers = read.map_err(|source| self.hdf5_error(from, source))?.to_vec();
            if chosen.len() > regular {
                numbers.extend(self.file.row(from, last)?);
            }
            Ok(numbers)
        };
        let read_axis = |axis: &Option<Axis>| match axis {
            Some(Axis::Explicit(numbers)) => read(numbers),
            Some(Axis::Regular(interval)) => Ok(interval.at(chosen.iter().copied())),
            None => Ok(Vec::new()),
        };
        series.step = steps(&read_axis(&step)?);
        series.time = read_axis(&time)?;
        series.value = match self.index() {
            None => read(&element.value)?,
            Some(_) => {
                let all =
                    SliceOrIndex::SliceCount { start: 0, step: stride, count: regular, block: 1 };
                let mut values = self.series_values(&element.value, all)?;
                if chosen.len() > regular {
                    values.extend(self.series_values(&element.value, (last..=last).into())?);
                }
                values
            }
        };
        Ok(Some(series))
    }

    fn elements(&self) -> Vec<Element> {
        let mut all = Vec::new();
        if let Some(observables) = group_at(&self.file.root, &self.path_of("observables")) {
            collect_elements(&observables, "", 0, &mut all);
        }
        all.into_iter().filter_map(|element| self.without_systems(element)).collect()
    }

    /// A series of many systems or temperatures as one of those that are read.
    fn without_systems(&self, mut element: Element) -> Option<Element> {
        if self.index().is_some() {
            (!element.shape.is_empty()).then(|| element.shape.remove(0))?;
        }
        Some(element)
    }

    fn series(
        &self,
        element: &Element,
        with_values: bool,
        shared: &mut Shared,
    ) -> Result<TimeSeries> {
        let mut axis = |which: &str| match self.axis(element, which)? {
            Some(Axis::Explicit(numbers)) => self.shared_numbers(&numbers, shared),
            Some(Axis::Regular(interval)) => {
                // Rows without any number cost a file nothing.
                self.file.check_size(&element.group.name(), element.rows)?;
                Ok(interval.at(0..element.rows))
            }
            None => Ok(Vec::new()),
        };
        let mut series = TimeSeries {
            name: element.name.clone(),
            step: steps(&axis("step")?),
            time: axis("time")?,
            shape: element.shape.clone(),
            value: Vec::new(),
        };
        if with_values {
            series.value = self.series_values(&element.value, (..).into())?;
        }
        // While a simulation appends, one dataset may be longer than another.
        let mut complete = series.step.len().min(element.rows);
        if !series.time.is_empty() {
            complete = complete.min(series.time.len());
            series.time.truncate(complete);
        }
        series.step.truncate(complete);
        series.value.truncate(complete * element.shape.iter().product::<usize>());
        Ok(series)
    }

    fn axis(&self, element: &Element, which: &str) -> Result<Option<Axis>> {
        let Some(axis) = dataset(&element.group, which) else { return Ok(None) };
        if !axis.is_scalar() {
            return Ok(Some(Axis::Explicit(axis)));
        }
        let increment = self.file.numbers(&axis)?.first().copied().unwrap_or(1.0);
        let offset = match axis.attr("offset") {
            Ok(offset) => self.file.numbers(&offset)?.first().copied().unwrap_or(0.0),
            Err(_) => 0.0,
        };
        Ok(Some(Axis::Regular(Interval { offset, increment })))
    }

    fn shared_numbers(&self, from: &Dataset, shared: &mut Shared) -> Result<Vec<f64>> {
        let Some(info) = from.loc_info().ok().filter(|info| info.num_links > 1) else {
            return self.file.numbers(from);
        };
        let place = (info.fileno, info.token);
        if let Some((_, numbers)) = shared.0.iter().find(|(known, _)| *known == place) {
            return Ok(numbers.clone());
        }
        let numbers = self.file.numbers(from)?;
        shared.0.push((place, numbers.clone()));
        Ok(numbers)
    }

    fn hdf5_error(&self, at: &Dataset, reason: hdf5::Error) -> AnalysisError {
        AnalysisError::Hdf5 { file: self.file.path.clone(), at: at.name(), reason }
    }
}

impl Axis {
    /// `None` if it reaches as far as one likes.
    fn length(&self) -> Option<usize> {
        match self {
            Axis::Explicit(numbers) => Some(numbers.shape().first().copied().unwrap_or(0)),
            Axis::Regular(_) => None,
        }
    }
}

impl Interval {
    fn at(&self, rows: impl Iterator<Item = usize>) -> Vec<f64> {
        rows.map(|row| self.offset + row as f64 * self.increment).collect()
    }
}

fn steps(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|&step| step.max(0.0) as u64).collect()
}

/// `None` if it is no time series.
fn element(group: Group, name: String) -> Option<Element> {
    let (value, _) = (dataset(&group, "value")?, dataset(&group, "step")?);
    let [rows, shape @ ..] = &value.shape()[..] else { return None };
    let (rows, shape) = (*rows, shape.to_vec());
    Some(Element { name, group, value, rows, shape })
}

fn collect_elements(parent: &Group, prefix: &str, depth: usize, all: &mut Vec<Element>) {
    for name in members(parent) {
        let Some(child) = group(parent, &name) else { continue };
        let name = format!("{prefix}{name}");
        match (dataset(&child, "value"), dataset(&child, "step")) {
            (Some(_), Some(_)) => all.extend(element(child, name)),
            // Links may form a circle.
            _ if depth < 4 => collect_elements(&child, &format!("{name}/"), depth + 1, all),
            _ => {}
        }
    }
}
