use hdf5::{Dataset, File, Group, Result};
use supercool_observables::Axis as AxisName;

use super::h5md::{
    number_attribute, string_attribute, strings_attribute, write_again, write_array,
};
use super::systems::{Systems, create_groups, path_of_systems};
use crate::observable::Shells;

/// Grid along one axis of a [`SeriesLayout`].
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Gives the name of the dataset and its unit. Of wave numbers the grid is the mean modulus of the wave vectors of each
    /// shell, of distances the centres of the bins.
    pub name: AxisName,
    pub values: Vec<f64>,
    /// For wave numbers: the wave vectors of each (datasets `vectors_per_shell`, `wave_vector`, `wave_vector_shell` and
    /// `wave_vector_length`).
    pub shells: Option<Shells>,
}

/// Datasets beside the grid of wave numbers: `vectors_per_shell`; `wave_vector`, by vector and axis, one of each `q`, `-q`; of
/// each vector `wave_vector_shell`, the index of its wave number, and `wave_vector_length`.
fn write_shells(shells: &Shells, group: &Group, wavenumbers: &Dataset) -> Result<()> {
    number_attribute(wavenumbers, "shell_half_width", shells.relative_half_width)?;
    let count: Vec<u64> = shells.vectors.iter().map(|of_shell| of_shell.len() as u64).collect();
    write_array(group, "vectors_per_shell", &[count.len()], &count)?;
    let all = || shells.vectors.iter().flatten();
    let components: Vec<f64> =
        all().flat_map(|vector| vector[..shells.dimension].iter().copied()).collect();
    let lengths: Vec<f64> =
        all().map(|vector| vector.iter().map(|q| q * q).sum::<f64>().sqrt()).collect();
    let of_vector = |(shell, vectors): (usize, &Vec<_>)| vec![shell as u64; vectors.len()];
    let numbers: Vec<u64> = shells.vectors.iter().enumerate().flat_map(of_vector).collect();
    let shape = [lengths.len(), shells.dimension];
    let vectors = write_array(group, "wave_vector", &shape, &components)?;
    let lengths = write_array(group, "wave_vector_length", &shape[..1], &lengths)?;
    for dataset in [vectors, lengths] {
        string_attribute(&dataset, "unit", AxisName::Wavenumber.unit())?;
    }
    write_array(group, "wave_vector_shell", &shape[..1], &numbers)?;
    Ok(())
}

/// A finished average on a fixed grid, rewritten in place while it accumulates: a time correlation
/// or a structure function.
///
/// The group `path` holds one dataset for each axis, and `value`, `error` (standard error of the
/// mean), `count` (number of samples), each of the shape of the grid. Nothing measured yet: NaN,
/// NaN, 0. With [`has_change`](Self::has_change) there are `change` and `change_error`, too.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLayout {
    /// "dynamics/A/mean_square_displacement", "structure/AB/pair_distribution".
    pub path: String,
    /// Slowest first: for F_s(q,t) wave number, then time.
    pub axes: Vec<Axis>,
    /// Unit of the value; empty for a pure number.
    pub unit: String,
    /// What it is, with its formula.
    pub description: String,
    /// Whether the average over later time origins is compared with that over the first ones.
    pub has_change: bool,
    /// Whether it is a fluctuation, which many systems have as an ensemble, too.
    pub is_fluctuation: bool,
}

const CHANGE: &str = "change";
const CHANGE_ERROR: &str = "change_error";
const OF_ENSEMBLE: [&str; 2] = ["ensemble_value", "ensemble_error"];

impl SeriesLayout {
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.values.len()).collect()
    }

    /// Number of values.
    pub fn size(&self) -> usize {
        self.shape().iter().product()
    }

    pub(super) fn create(&self, file: &File, systems: Option<&Systems>) -> Result<()> {
        let group = create_groups(file, &self.path)?;
        string_attribute(&group, "description", &self.description)?;
        for axis in &self.axes {
            let length = [axis.values.len()];
            let dataset = write_array(&group, axis.name.name(), &length, &axis.values)?;
            string_attribute(&dataset, "unit", axis.name.unit())?;
            if let Some(shells) = &axis.shells {
                write_shells(shells, &group, &dataset)?;
            }
        }
        let Some(systems) = systems else { return self.create_values(&group, None, false) };
        let axis = systems.axis();
        if let Some(axis) = &axis {
            axis.write(&group)?;
        }
        let first = axis.map(|axis| (axis.name(), axis.len()));
        self.create_values(&group, first, self.is_fluctuation)?;
        let path = path_of_systems(&self.path);
        let group = create_groups(file, &path)?;
        for axis in &self.axes {
            let name = axis.name.name();
            file.link_hard(&format!("/{}/{name}", self.path), &format!("/{path}/{name}"))?;
        }
        self.create_values(&group, Some(("system", systems.count())), false)
    }

    /// Values, errors and counts, with an axis more in front of those of one system.
    fn create_values(
        &self,
        group: &Group,
        first: Option<(&str, usize)>,
        of_ensemble: bool,
    ) -> Result<()> {
        let shape: Vec<usize> =
            first.map(|(_, length)| length).into_iter().chain(self.shape()).collect();
        let size = shape.iter().product();
        let value = write_array(group, "value", &shape, &vec![f64::NAN; size])?;
        let error = write_array(group, "error", &shape, &vec![f64::NAN; size])?;
        let count = write_array(group, "count", &shape, &vec![0_u64; size])?;
        let mut with_unit = vec![value, error];
        let changes = self.has_change.then_some([CHANGE, CHANGE_ERROR]);
        for name in changes.into_iter().chain(of_ensemble.then_some(OF_ENSEMBLE)).flatten() {
            with_unit.push(write_array(group, name, &shape, &vec![f64::NAN; size])?);
        }
        let names: Vec<&str> = first
            .map(|(name, _)| name)
            .into_iter()
            .chain(self.axes.iter().map(|axis| axis.name.name()))
            .collect();
        for dataset in &with_unit {
            if !self.unit.is_empty() {
                string_attribute(dataset, "unit", &self.unit)?;
            }
            strings_attribute(dataset, "axes", &names)?;
        }
        strings_attribute(&count, "axes", &names)?;
        Ok(())
    }

    /// Whether the file holds this series with this grid.
    pub(super) fn is_in(&self, file: &File, systems: Option<&Systems>) -> bool {
        let dataset = |name: &str| file.dataset(&format!("{}/{name}", self.path));
        let same_grid = |axis: &Axis| {
            dataset(axis.name.name())
                .and_then(|grid| grid.read_raw::<f64>())
                .is_ok_and(|values| values == axis.values)
        };
        let shape = match systems {
            Some(systems) => systems.shape_of_averages(&self.shape()),
            None => self.shape(),
        };
        let same_shape =
            |found: Result<Dataset>, shape: &[usize]| found.is_ok_and(|grid| grid.shape() == shape);
        let of_systems = |systems: &Systems| {
            let value = file.dataset(&format!("{}/value", path_of_systems(&self.path)));
            same_shape(value, &systems.shape_of_systems(&self.shape()))
        };
        self.axes.iter().all(same_grid)
            && ["value", "error", "count"].into_iter().all(|name| same_shape(dataset(name), &shape))
            && systems.is_none_or(of_systems)
    }
}

/// What many systems add to averages over them.
pub struct OfSystems {
    /// Of each system, one after the other.
    pub values: SeriesValues,
    /// Fluctuation over all systems of a set, by set, with its error; empty where the series is none.
    pub of_ensemble: Vec<[f64; 2]>,
}

impl OfSystems {
    pub(super) fn write(&self, file: &File, path: &str) -> Result<()> {
        self.values.write(file, &path_of_systems(path))?;
        write_columns(&file.group(path)?, OF_ENSEMBLE, &self.of_ensemble)
    }
}

/// Values of a series, slowest axis first.
#[derive(Default)]
pub struct SeriesValues {
    pub value: Vec<f64>,
    pub error: Vec<f64>,
    pub count: Vec<u64>,
    /// Values and errors; empty where there are none.
    pub change: Vec<[f64; 2]>,
}

impl SeriesValues {
    pub(super) fn write(&self, file: &File, path: &str) -> Result<()> {
        let group = file.group(path)?;
        write_again(&group, "value", &self.value)?;
        write_again(&group, "error", &self.error)?;
        write_again(&group, "count", &self.count)?;
        // Files that an earlier version has begun do not hold them.
        match group.link_exists(CHANGE) {
            true => write_columns(&group, [CHANGE, CHANGE_ERROR], &self.change),
            false => Ok(()),
        }
    }
}

/// Values and errors, if there are any, each into a dataset.
fn write_columns(group: &Group, names: [&str; 2], columns: &[[f64; 2]]) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    for (column, name) in names.into_iter().enumerate() {
        let values: Vec<f64> = columns.iter().map(|columns| columns[column]).collect();
        write_again(group, name, &values)?;
    }
    Ok(())
}
