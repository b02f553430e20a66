use hdf5::{Dataset, File, Group, Result};
use supercool_observables::Axis as AxisName;

use super::h5md::{string_attribute, strings_attribute, write_again, write_array};

/// Grid along one axis of a [`SeriesLayout`].
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Gives the name of the dataset and its unit. Of wave numbers the grid is the mean modulus of the wave vectors of each
    /// shell, of distances the centres of the bins.
    pub name: AxisName,
    pub values: Vec<f64>,
    /// For wave numbers: wave vectors in each shell (dataset `vectors_per_shell`).
    pub vectors_per_shell: Option<Vec<u64>>,
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
}

const CHANGE: &str = "change";
const CHANGE_ERROR: &str = "change_error";

impl SeriesLayout {
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.values.len()).collect()
    }

    /// Number of values.
    pub fn size(&self) -> usize {
        self.shape().iter().product()
    }

    pub(super) fn create(&self, file: &File) -> Result<()> {
        let group = create_groups(file, &self.path)?;
        string_attribute(&group, "description", &self.description)?;
        for axis in &self.axes {
            let length = [axis.values.len()];
            let dataset = write_array(&group, axis.name.name(), &length, &axis.values)?;
            string_attribute(&dataset, "unit", axis.name.unit())?;
            if let Some(vectors) = &axis.vectors_per_shell {
                write_array(&group, "vectors_per_shell", &length, vectors)?;
            }
        }
        let (shape, size) = (self.shape(), self.size());
        let value = write_array(&group, "value", &shape, &vec![f64::NAN; size])?;
        let error = write_array(&group, "error", &shape, &vec![f64::NAN; size])?;
        let count = write_array(&group, "count", &shape, &vec![0_u64; size])?;
        let mut with_unit = vec![value, error];
        if self.has_change {
            for name in [CHANGE, CHANGE_ERROR] {
                with_unit.push(write_array(&group, name, &shape, &vec![f64::NAN; size])?);
            }
        }
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.name()).collect();
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
    pub(super) fn is_in(&self, file: &File) -> bool {
        let dataset = |name: &str| file.dataset(&format!("{}/{name}", self.path));
        let same_grid = |axis: &Axis| {
            dataset(axis.name.name())
                .and_then(|grid| grid.read_raw::<f64>())
                .is_ok_and(|values| values == axis.values)
        };
        let same_shape =
            |grid: Result<Dataset>| grid.is_ok_and(|grid| grid.shape() == self.shape());
        self.axes.iter().all(same_grid)
            && ["value", "error", "count"].into_iter().all(|name| same_shape(dataset(name)))
    }
}

/// Values of a series, slowest axis first.
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
        if !self.change.is_empty() && group.link_exists(CHANGE) {
            for (column, name) in [CHANGE, CHANGE_ERROR].into_iter().enumerate() {
                let values: Vec<f64> = self.change.iter().map(|change| change[column]).collect();
                write_again(&group, name, &values)?;
            }
        }
        Ok(())
    }
}

/// The group at `path`, made with all groups above it where they are missing.
fn create_groups(file: &File, path: &str) -> Result<Group> {
    let mut group = file.group("/")?;
    for name in path.split('/') {
        group = match group.link_exists(name) {
            true => group.group(name)?,
            false => group.create_group(name)?,
        };
    }
    Ok(group)
}
