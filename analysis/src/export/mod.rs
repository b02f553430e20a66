//! Propensities of a results file in formats that other programs read.
mod data_set;
mod npz;
mod xyz;

use std::path::Path;

use hdf5::Dataset;

pub use self::data_set::{Chosen, DataSet, export_data_set, steps_of_decay};
pub use self::xyz::export_propensities;
use crate::hdf5_file::{Hdf5File, dataset, group, members};
use crate::numbers::short;
use crate::results::ResultsFile;
use crate::{AnalysisError, Result};

/// What a results file holds of propensities.
struct Exported {
    file: Hdf5File,
    /// Name of the run, which its other files have, too.
    run: Option<String>,
    timestep: f64,
    /// Those that were reached.
    times: Vec<f64>,
    steps: Vec<u64>,
    /// Runs from each configuration.
    runs: usize,
    /// Of the first velocities.
    temperature: Option<f64>,
    edges: Vec<f64>,
    /// Names of the species.
    names: Vec<String>,
    /// Of each particle, by its place among these.
    species: Vec<usize>,
    /// By configuration, particle, axis.
    positions: Vec<f64>,
    /// Names and values by configuration, time, particle.
    columns: Vec<(String, Dataset)>,
}

impl Exported {
    fn open(path: &Path) -> Result<Self> {
        let results = ResultsFile::open(path)?;
        let Some(of_file) = results.propensities()? else {
            let what = "no propensities: a stage writes them with [stage.propensity]";
            return Err(AnalysisError::content(path, what));
        };
        let file = Hdf5File::open(path)?;
        let lacks = |what: &str| AnalysisError::content(path, format!("no {what}"));
        let root = group(&file.root, "propensity").ok_or_else(|| lacks("/propensity"))?;
        let read = |name: &str| {
            let found =
                dataset(&root, name).ok_or_else(|| lacks(&format!("/propensity/{name}")))?;
            file.numbers(&found)
        };
        let reached = |name: &str| {
            let mut all = read(name)?;
            all.truncate(of_file.measured);
            Ok(all)
        };
        let (times, steps) = (reached("time")?, reached("step")?);
        let plan = results.plan().unwrap_or_default();
        let system = &plan["system"];
        let edges = system["simulation_box"]["edges"].as_array();
        let edges: Vec<f64> =
            edges.into_iter().flatten().filter_map(|edge| edge.as_f64()).collect();
        let edges = edges.get(..results.dimension()).ok_or_else(|| lacks("box"))?.to_vec();
        let names: Vec<String> = results.species().into_iter().map(|(name, _)| name).collect();
        let species: Vec<usize> = read("species")?.iter().map(|&number| number as usize).collect();
        if species.iter().any(|&number| number >= names.len()) {
            return Err(lacks("names of species"));
        }
        let positions = read("initial_position")?;
        let each = species.len() * edges.len();
        if each == 0 || !positions.len().is_multiple_of(each) {
            return Err(lacks("initial_position of all particles"));
        }
        let shape = [positions.len() / each, of_file.times, species.len()];
        let mut columns = Vec::new();
        for name in members(&root) {
            let Some(values) = group(&root, &name).and_then(|of| dataset(&of, "value")) else {
                continue;
            };
            if values.shape() != shape {
                let what = format!("{}: {:?} instead of {shape:?}", values.name(), values.shape());
                return Err(AnalysisError::content(path, what));
            }
            columns.push((name, values));
        }
        Ok(Exported {
            timestep: results.number("parameters/timestep").unwrap_or(0.0),
            times,
            steps: steps.iter().map(|&step| step as u64).collect(),
            runs: results.number("propensity/runs").unwrap_or(0.0) as usize,
            temperature: system["initial"]["temperature"].as_f64(),
            edges,
            names,
            species,
            positions,
            columns,
            run: results.parameter("run"),
            file,
        })
    }

    /// Place of a time among those that were reached, within half a step; of the last if none is given.
    fn place(&self, time: Option<f64>) -> Result<usize> {
        place(&self.times, time, self.timestep).map_err(|what| self.file.bad(what))
    }

    /// Of each configuration, where its runs start: by particle, axis.
    fn configurations(&self) -> impl Iterator<Item = &[f64]> {
        self.positions.chunks(self.species.len() * self.edges.len())
    }

    /// Propensities of all particles of a configuration at a time, one column after the other.
    fn propensities(&self, configuration: usize, time: usize) -> Result<Vec<Vec<f64>>> {
        let columns = self.columns.iter();
        columns.map(|column| self.propensity(column, configuration, time)).collect()
    }

    fn propensity(
        &self,
        (name, values): &(String, Dataset),
        configuration: usize,
        time: usize,
    ) -> Result<Vec<f64>> {
        let read = values.read_slice_1d::<f64, _>((configuration, time, ..));
        Ok(read.map_err(self.file.error(name))?.to_vec())
    }
}

/// Place of a time among these, the last if none is given.
fn place(times: &[f64], time: Option<f64>, step: f64) -> std::result::Result<usize, String> {
    let Some(last) = times.len().checked_sub(1) else {
        return Err("no time of its propensities was reached yet".into());
    };
    let Some(time) = time else { return Ok(last) };
    let apart = |k: &usize| (times[*k] - time).abs();
    let nearest = (0..times.len()).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(last);
    match apart(&nearest) <= 0.5 * step * (1.0 + 1e-9) {
        true => Ok(nearest),
        false => {
            let near = times[nearest.saturating_sub(1)..(nearest + 2).min(times.len())].iter();
            let near = near.map(|&time| short(time)).collect::<Vec<_>>().join(", ");
            Err(format!("no propensities at t = {}; times near it are {near}", short(time)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_nearest_within_half_a_step() {
        let times = [0.004, 0.04, 0.4];
        assert_eq!(place(&times, None, 0.004), Ok(2));
        assert_eq!(place(&times, Some(0.042), 0.004), Ok(1));
        let refused = place(&times, Some(0.1), 0.004).unwrap_err();
        assert!(refused.contains("0.004, 0.04, 0.4"), "{refused}");
        assert!(place(&[], None, 0.004).is_err());
    }
}
