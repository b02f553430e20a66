//! Propensities of a results file as extended XYZ: for each configuration the positions that its runs start from, with a column
//! of each particle's propensities for each observable. OVITO, ASE and others read it.
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use hdf5::Dataset;

use crate::hdf5_file::{Hdf5File, dataset, group, members};
use crate::numbers::short;
use crate::results::ResultsFile;
use crate::{AnalysisError, Result};

/// Writes the propensities at a time, of all configurations one after the other; at the last time that was reached if none is
/// given. A time stands for the nearest one of the file within half a step.
///
/// # Errors
/// If the file has no propensities at that time, or one of the files cannot be read or written; nothing has the name of `output`
/// then that was not there before.
pub fn export_propensities(path: &Path, time: Option<f64>, output: &Path) -> Result<()> {
    let exported = Exported::open(path, time)?;
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = File::create(&partial)
        .map_err(AnalysisError::io(&partial))
        .and_then(|file| exported.write(&mut BufWriter::new(file), &partial))
        .and_then(|()| std::fs::rename(&partial, output).map_err(AnalysisError::io(output)));
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

/// What is written.
struct Exported {
    file: Hdf5File,
    time: f64,
    /// Its place along the axis of times.
    index: usize,
    edges: Vec<f64>,
    /// Of each particle.
    species: Vec<String>,
    /// By configuration, particle, axis.
    positions: Vec<f64>,
    /// Names and values by configuration, time, particle.
    columns: Vec<(String, Dataset)>,
}

impl Exported {
    fn open(path: &Path, time: Option<f64>) -> Result<Self> {
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
        let times = read("time")?[..of_file.measured].to_vec();
        let step = results.number("parameters/timestep").unwrap_or(0.0);
        let index = place(&times, time, step).map_err(|what| AnalysisError::content(path, what))?;
        let plan = results.plan().unwrap_or_default();
        let edges = plan["system"]["simulation_box"]["edges"].as_array();
        let edges: Vec<f64> =
            edges.into_iter().flatten().filter_map(|edge| edge.as_f64()).collect();
        let edges = edges.get(..results.dimension()).ok_or_else(|| lacks("box"))?.to_vec();
        let names = results.species();
        let name = |&number: &f64| names.get(number as usize).map(|(name, _)| name.clone());
        let species = read("species")?.iter().map(name).collect::<Option<Vec<_>>>();
        let species = species.ok_or_else(|| lacks("names of species"))?;
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
        let time = times[index];
        Ok(Exported { file, time, index, edges, species, positions, columns })
    }

    fn write(&self, to: &mut impl Write, path: &Path) -> Result<()> {
        let each = self.species.len() * self.edges.len();
        for (number, positions) in self.positions.chunks(each).enumerate() {
            let columns = self.columns.iter().map(|(name, values)| {
                let read = values.read_slice_1d::<f64, _>((number, self.index, ..));
                Ok(read.map_err(self.file.error(name))?.to_vec())
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let frame = self.frame(number, positions, &columns);
            to.write_all(frame.as_bytes()).map_err(AnalysisError::io(path))?;
        }
        to.flush().map_err(AnalysisError::io(path))
    }

    fn frame(&self, number: usize, positions: &[f64], columns: &[Vec<f64>]) -> String {
        // In two dimensions z is 0 and the third edge 1.
        let edge = |k: usize| self.edges.get(k).copied().unwrap_or(1.0);
        let mut text = format!("{}\n", self.species.len());
        let names = self.columns.iter().map(|(name, _)| format!(":{name}:R:1"));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "Lattice=\"{:?} 0 0 0 {:?} 0 0 0 {:?}\" Properties=species:S:1:pos:R:3{} pbc=\"T T {}\" configuration={number} \
             propensity_time={:?}",
            edge(0),
            edge(1),
            edge(2),
            names.collect::<String>(),
            if self.edges.len() == 2 { "F" } else { "T" },
            self.time
        );
        for (particle, species) in self.species.iter().enumerate() {
            text.push_str(species);
            let own = &positions[particle * self.edges.len()..(particle + 1) * self.edges.len()];
            for k in 0..3 {
                let _ = write!(text, " {:?}", own.get(k).copied().unwrap_or(0.0));
            }
            for column in columns {
                let _ = write!(text, " {:?}", column[particle]);
            }
            text.push('\n');
        }
        text
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
