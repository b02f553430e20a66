//! Results of many systems: averages at the usual paths, and the values of each system below `/systems`.
use hdf5::{File, Group, Result};
use supercool_statistics::mean_and_error;

use super::h5md::{
    create_rows, string_attribute, truncate_rows, write_array, write_rows, write_strings,
};
use crate::plan::{ConfigurationPlan, EnsemblePlan, Plan};

/// Group of the values of each system.
const ROOT: &str = "systems";
/// Rows in a chunk of the file, and its size in bytes where these are long.
const CHUNK_ROWS: usize = 512;
const CHUNK_BYTES: usize = 1 << 18;

/// The path of the values of each system beside averages at `path`.
pub(super) fn path_of_systems(path: &str) -> String {
    format!("{ROOT}/{path}")
}

/// Sets of systems that averages are made over.
#[derive(Clone, Debug, PartialEq)]
pub struct Systems {
    ensemble: EnsemblePlan,
}

impl Systems {
    /// Of a run of many systems.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        plan.ensemble.clone().map(|ensemble| Systems { ensemble })
    }

    pub(super) fn count(&self) -> usize {
        self.ensemble.systems()
    }

    pub(super) fn groups(&self) -> usize {
        self.ensemble.groups()
    }

    /// The axis of averages beyond those of one system: of temperatures or configurations, if there is one.
    pub(super) fn axis(&self) -> Option<GroupAxis<'_>> {
        let EnsemblePlan { temperatures, configurations, .. } = &self.ensemble;
        if !configurations.is_empty() {
            return Some(GroupAxis::Configurations(configurations.len()));
        }
        (!temperatures.is_empty()).then_some(GroupAxis::Temperatures(temperatures))
    }

    /// The shape of averages whose shape for one system is `row`.
    pub(super) fn shape_of_averages(&self, row: &[usize]) -> Vec<usize> {
        self.axis().map(|axis| axis.len()).into_iter().chain(row.iter().copied()).collect()
    }

    /// The same of the values of each system.
    pub(super) fn shape_of_systems(&self, row: &[usize]) -> Vec<usize> {
        std::iter::once(self.count()).chain(row.iter().copied()).collect()
    }

    /// Averages and their errors, each by group and number, of `width` numbers of each system.
    fn averages(&self, values: &[f64], width: usize) -> [Vec<f64>; 2] {
        let mut all = [Vec::new(), Vec::new()];
        for group in 0..self.groups() {
            let systems = self.ensemble.group(group);
            for number in 0..width {
                let of_systems = systems.clone().map(|system| values[system * width + number]);
                let (mean, error) = mean_and_error(of_systems);
                all[0].push(mean);
                all[1].push(error);
            }
        }
        all
    }

    /// `/systems`: what the systems differ in.
    pub(super) fn write_fixed_part(&self, file: &File, plan: &Plan) -> Result<()> {
        let group = file.create_group(ROOT)?;
        let count = self.count();
        let seeds: Vec<u64> =
            (0..count as u64).map(|system| plan.system.seed.wrapping_add(system)).collect();
        write_array(&group, "seed", &[count], &seeds)?;
        let configurations = &self.ensemble.configurations;
        if !configurations.is_empty() {
            let runs = self.ensemble.samples;
            let of_systems: Vec<u64> = (0..count).map(|system| (system / runs) as u64).collect();
            write_array(&group, "configuration", &[count], &of_systems)?;
            let names: Vec<String> = configurations.iter().map(name).collect();
            write_strings(
                &group,
                "configurations",
                &names.iter().map(String::as_str).collect::<Vec<_>>(),
            )?;
        }
        if let Some(GroupAxis::Temperatures(temperatures)) = self.axis() {
            let of_system = |system| self.ensemble.temperature(system).unwrap_or(f64::NAN);
            let of_systems: Vec<f64> = (0..count).map(of_system).collect();
            for (name, values) in [("temperature", &of_systems[..]), ("temperatures", temperatures)]
            {
                let dataset = write_array(&group, name, &[values.len()], values)?;
                string_attribute(&dataset, "unit", "epsilon kB-1")?;
            }
        }
        Ok(())
    }
}

/// What a configuration is called in files.
fn name(configuration: &ConfigurationPlan) -> String {
    let path = configuration.path.display();
    configuration
        .system
        .map_or_else(|| path.to_string(), |system| format!("{path}, system {system}"))
}

/// What sets of systems differ in.
#[derive(Clone, Copy, Debug)]
pub(super) enum GroupAxis<'a> {
    Temperatures(&'a [f64]),
    /// How many there are.
    Configurations(usize),
}

impl GroupAxis<'_> {
    /// Of its dataset.
    pub(super) fn name(&self) -> &'static str {
        match self {
            GroupAxis::Temperatures(_) => "temperature",
            GroupAxis::Configurations(_) => "configuration",
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            GroupAxis::Temperatures(temperatures) => temperatures.len(),
            GroupAxis::Configurations(count) => *count,
        }
    }

    /// Writes the dataset: temperatures, or the numbers of configurations.
    pub(super) fn write(&self, group: &Group) -> Result<()> {
        let length = [self.len()];
        match self {
            GroupAxis::Temperatures(temperatures) => {
                let dataset = write_array(group, self.name(), &length, temperatures)?;
                string_attribute(&dataset, "unit", "epsilon kB-1")
            }
            GroupAxis::Configurations(count) => {
                let numbers: Vec<u64> = (0..*count as u64).collect();
                write_array(group, self.name(), &length, &numbers).map(drop)
            }
        }
    }
}

/// A time series: `value` in a group, and of many systems `error` beside it, and the values of each below `/systems`.
pub(super) struct Rows<'a> {
    /// Of the group in the file.
    pub path: String,
    /// Shape of the numbers of one system at one step.
    pub row: Vec<usize>,
    /// Datasets beside `value` that say where its rows belong.
    pub shared: [&'static str; 2],
    pub systems: Option<&'a Systems>,
}

impl Rows<'_> {
    fn width(&self) -> usize {
        self.row.iter().product()
    }

    /// The datasets with the shapes of their rows.
    fn datasets(&self) -> Vec<(String, Vec<usize>)> {
        let value = |path: &str| format!("{path}/value");
        match self.systems {
            None => vec![(value(&self.path), self.row.clone())],
            Some(systems) => {
                let averages = systems.shape_of_averages(&self.row);
                vec![
                    (value(&self.path), averages.clone()),
                    (format!("{}/error", self.path), averages),
                    (value(&path_of_systems(&self.path)), systems.shape_of_systems(&self.row)),
                ]
            }
        }
    }

    /// Without rows; the group is there. What is shared by the systems' values is that of the group.
    pub(super) fn create(&self, file: &File, unit: &str) -> Result<()> {
        if self.systems.is_some() {
            let group = create_groups(file, &path_of_systems(&self.path))?;
            for shared in self.shared {
                file.link_hard(
                    &format!("/{}/{shared}", self.path),
                    &format!("{}/{shared}", group.name()),
                )?;
            }
        }
        for (path, row) in self.datasets() {
            let bytes = 8 * row.iter().product::<usize>().max(1);
            let mut chunk = vec![(CHUNK_BYTES / bytes).clamp(1, CHUNK_ROWS)];
            if self.systems.is_none() {
                chunk = vec![CHUNK_ROWS];
            }
            chunk.extend(&row);
            let (group, name) = path.rsplit_once('/').unwrap_or(("/", &path));
            let dataset = create_rows::<f64>(&file.group(group)?, name, &row, chunk, false)?;
            if !unit.is_empty() {
                string_attribute(&dataset, "unit", unit)?;
            }
        }
        Ok(())
    }

    /// Writes rows from row `start` on: by row, system, number.
    pub(super) fn write(&self, file: &File, start: usize, values: &[f64]) -> Result<()> {
        let Some(systems) = self.systems else {
            return write_rows(file, &format!("{}/value", self.path), start, values);
        };
        let [mut averages, mut errors] = [Vec::new(), Vec::new()];
        for row in values.chunks(systems.count() * self.width()) {
            let [average, error] = systems.averages(row, self.width());
            averages.extend(average);
            errors.extend(error);
        }
        for ((path, _), values) in self.datasets().iter().zip([&averages[..], &errors, values]) {
            write_rows(file, path, start, values)?;
        }
        Ok(())
    }

    /// Forgets all rows from `rows` on.
    pub(super) fn truncate(&self, file: &File, rows: usize) -> Result<()> {
        self.datasets().iter().try_for_each(|(path, _)| truncate_rows(file, path, rows))
    }
}

/// Numbers of a row in the file for each number of one system.
pub(super) fn numbers_of_each(systems: Option<&Systems>) -> usize {
    systems.map_or(1, |systems| systems.count() + 2 * systems.groups())
}

/// The group at `path`, made with all groups above it where they are missing.
pub(super) fn create_groups(file: &File, path: &str) -> Result<Group> {
    let mut group = file.group("/")?;
    for name in path.split('/') {
        group = match group.link_exists(name) {
            true => group.group(name)?,
            false => group.create_group(name)?,
        };
    }
    Ok(group)
}
