//! Data sets for learning: an archive of NumPy arrays for each configuration and time, with the names and arrays of
//! Shiba et al., J. Chem. Phys. 158, 084503 (2023), and the propensities beside them.
use std::io;
use std::path::{Path, PathBuf};

use super::Exported;
use super::npz::NpzWriter;
use crate::numbers::short;
use crate::results::ResultsFile;
use crate::{AnalysisError, Frame, Result, TrajectoryReader, trajectory};

/// Column that times are found by.
const SCATTERING: &str = "self_intermediate_scattering_function";

/// Times of a data set.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// All that were reached.
    All,
    /// One, within half a step.
    Time(f64),
    /// The first ones, in each configuration by itself, at which the self-intermediate scattering function of the first species
    /// is no more than these values.
    Scattering(Vec<f64>),
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// Number of files.
    pub files: usize,
    /// Why they have no positions of the runs; `None` if they have.
    pub lacks_positions: Option<String>,
}

/// A time of a configuration.
struct Entry {
    /// Of the file's name.
    number: usize,
    /// Place among the times.
    time: usize,
}

/// Writes a new folder with a file `isoconfig_N<particles>T<temperature>_<configuration>_tc<number of the time>.npz` for each
/// configuration and time. Its arrays:
///
/// - `types` `[N]`: numbers of the species;
/// - `initial_positions` `[N, D]`, in the box;
/// - `positions` `[runs, N, D]`, unwrapped: `positions - initial_positions` is the displacement; where the trajectory beside the
///   results has a frame at the start and at all these times;
/// - `time` `[]`, `box` `[D]`, and `propensity_<observable>` `[N]`.
///
/// # Errors
/// If the file has no propensities at these times, a configuration does not reach them, the trajectory is one of another run,
/// the folder is there already, or a file cannot be read or written; no folder is there then that was not before.
pub fn export_data_set(path: &Path, chosen: &Chosen, folder: &Path) -> Result<DataSet> {
    let exported = Exported::open(path)?;
    let entries = entries(&exported, chosen)?;
    let mut partial = folder.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    for (taken, what) in [
        (folder, "is there already: give another name, or remove it"),
        (&partial, "is left of an export that was stopped: remove it"),
    ] {
        if taken.symlink_metadata().is_ok() {
            let what = format!("{}: {what}", taken.display());
            return Err(AnalysisError::Request(what));
        }
    }
    std::fs::create_dir(&partial).map_err(AnalysisError::io(&partial))?;
    let written = write(&exported, &entries, &partial).and_then(|lacks_positions| {
        std::fs::rename(&partial, folder).map_err(AnalysisError::io(folder))?;
        let files = entries.iter().map(Vec::len).sum();
        Ok(DataSet { files, lacks_positions })
    });
    if written.is_err() {
        let _ = std::fs::remove_dir_all(&partial);
    }
    written
}

/// Steps at which F_s has decayed to values in a configuration, as of [`Chosen::Scattering`]: those of all configurations, ascending, each once.
///
/// # Errors
/// If the file has no such propensities, or a configuration does not reach a value.
pub fn steps_of_decay(path: &Path, values: &[f64]) -> Result<Vec<u64>> {
    let exported = Exported::open(path)?;
    let entries = entries(&exported, &Chosen::Scattering(values.to_vec()))?;
    let mut steps: Vec<u64> = entries.iter().flatten().map(|of| exported.steps[of.time]).collect();
    steps.sort_unstable();
    steps.dedup();
    Ok(steps)
}

/// By configuration.
fn entries(exported: &Exported, chosen: &Chosen) -> Result<Vec<Vec<Entry>>> {
    let all = |times: &[usize]| {
        let entries = || times.iter().map(|&time| Entry { number: time, time }).collect();
        exported.configurations().map(|_| entries()).collect()
    };
    let last = exported.place(None)?;
    match chosen {
        Chosen::All => Ok(all(&(0..=last).collect::<Vec<_>>())),
        Chosen::Time(time) => Ok(all(&[exported.place(Some(*time))?])),
        Chosen::Scattering(values) => {
            let configurations = 0..exported.configurations().count();
            configurations.map(|number| decayed(exported, values, number)).collect()
        }
    }
}

/// Where F_s of a configuration has decayed to values.
fn decayed(exported: &Exported, values: &[f64], configuration: usize) -> Result<Vec<Entry>> {
    let Some(column) = exported.columns.iter().find(|(name, _)| name == SCATTERING) else {
        let what = "no self-intermediate scattering function: add it to the observables of [stage.propensity]";
        return Err(exported.file.bad(what));
    };
    let mean = |time: usize| {
        let all = exported.propensity(column, configuration, time)?;
        let of_first = all.iter().zip(&exported.species).filter(|(_, species)| **species == 0);
        let (sum, count) = of_first.fold((0.0, 0.0), |(sum, count), (x, _)| (sum + x, count + 1.0));
        Ok(sum / count)
    };
    let curve = (0..exported.times.len()).map(mean).collect::<Result<Vec<f64>>>()?;
    let entry = |(number, &value): (usize, &f64)| match curve.iter().position(|&f| f <= value) {
        Some(time) => Ok(Entry { number, time }),
        None => {
            let lowest = curve.iter().copied().fold(f64::INFINITY, f64::min);
            Err(exported.file.bad(format!(
                "configuration {configuration}: the self-intermediate scattering function of {} is {} at least until \
                 t = {}, and not {value}",
                exported.names[0],
                short(lowest),
                short(exported.times[exported.times.len() - 1])
            )))
        }
    };
    values.iter().enumerate().map(entry).collect()
}

/// Why there are no positions of the runs, if there are none.
fn write(exported: &Exported, entries: &[Vec<Entry>], folder: &Path) -> Result<Option<String>> {
    let path = exported.file.path.with_extension("h5md");
    let lacks = lacks_frames(exported, entries, &path)?;
    let temperature = exported.temperature.map_or_else(String::new, |of| format!("T{of}"));
    let name = format!("isoconfig_N{}{temperature}", exported.species.len());
    for (number, (entries, initial)) in entries.iter().zip(exported.configurations()).enumerate() {
        let runs = match &lacks {
            Some(_) => None,
            None => Some(Runs::open(exported, &path, number, initial)?),
        };
        for entry in entries {
            let positions = match &runs {
                Some(runs) => Some(runs.positions(exported, entry.time)?),
                None => None,
            };
            let propensities = exported.propensities(number, entry.time)?;
            let file = folder.join(format!("{name}_{number}_tc{:02}.npz", entry.number));
            write_entry(exported, entry, initial, positions.as_deref(), &propensities, &file)
                .map_err(AnalysisError::io(&file))?;
        }
    }
    Ok(lacks)
}

fn write_entry(
    exported: &Exported,
    entry: &Entry,
    initial: &[f64],
    positions: Option<&[f64]>,
    propensities: &[Vec<f64>],
    file: &Path,
) -> io::Result<()> {
    let (particles, dimension) = (exported.species.len(), exported.edges.len());
    let types: Vec<i64> = exported.species.iter().map(|&number| number as i64).collect();
    let mut archive = NpzWriter::create(file)?;
    archive.add("types", &[particles], &types)?;
    archive.add("initial_positions", &[particles, dimension], initial)?;
    if let Some(positions) = positions {
        archive.add("positions", &[exported.runs, particles, dimension], positions)?;
    }
    archive.add("time", &[], &[exported.times[entry.time]])?;
    archive.add("box", &[dimension], &exported.edges)?;
    for ((name, _), values) in exported.columns.iter().zip(propensities) {
        archive.add(&format!("propensity_{name}"), &[particles], values)?;
    }
    archive.finish()
}

/// Why the trajectory does not give the positions of all runs, if it does not.
fn lacks_frames(
    exported: &Exported,
    entries: &[Vec<Entry>],
    path: &Path,
) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(Some(format!("there is no {}", path.display())));
    }
    if ResultsFile::open(path)?.parameter("run") != exported.run {
        return Err(of_other_runs(path));
    }
    // All systems have the same frames.
    let first = trajectory::open_system(path, 0)?;
    let steps = entries.iter().flatten().map(|entry| exported.steps[entry.time]);
    let missing = std::iter::once(0).chain(steps).find(|step| !first.steps().contains(step));
    Ok(missing.map(|step| format!("{} has no frame of step {step}", path.display())))
}

fn of_other_runs(path: &Path) -> AnalysisError {
    AnalysisError::content(path, "it is not the trajectory of these runs")
}

/// Trajectories of the runs from a configuration.
struct Runs {
    readers: Vec<Box<dyn TrajectoryReader>>,
    /// Images at the start, the same in all of them.
    image: Vec<[i32; 3]>,
}

impl Runs {
    fn open(exported: &Exported, path: &Path, number: usize, initial: &[f64]) -> Result<Self> {
        let systems = number * exported.runs..(number + 1) * exported.runs;
        let readers = systems
            .map(|system| trajectory::open_system(path, system))
            .collect::<Result<Vec<_>>>()?;
        let other = || of_other_runs(path);
        let first = readers.first().ok_or_else(other)?.read_step(Some(0))?;
        let dimension = exported.edges.len();
        let starts = first.position.iter().flat_map(|position| &position[..dimension]);
        let is_same = first.dimension == dimension && starts.eq(initial);
        let image = first.image.filter(|_| is_same).ok_or_else(other)?;
        Ok(Runs { readers, image })
    }

    /// At a time, by run, particle, axis: where particles would be if they had not been moved back into the box since the start.
    fn positions(&self, exported: &Exported, time: usize) -> Result<Vec<f64>> {
        let (edges, mut all) = (&exported.edges, Vec::new());
        for reader in &self.readers {
            let frame = reader.read_step(Some(exported.steps[time]))?;
            let Frame { position, image: Some(image), .. } = &frame else {
                return Err(AnalysisError::content(reader.path(), "its frames have no images"));
            };
            if position.len() != self.image.len() || frame.dimension != edges.len() {
                return Err(AnalysisError::content(
                    reader.path(),
                    "its frames have other particles",
                ));
            }
            for ((position, image), first) in position.iter().zip(image).zip(&self.image) {
                let along = |k: usize| position[k] + f64::from(image[k] - first[k]) * edges[k];
                all.extend((0..edges.len()).map(along));
            }
        }
        Ok(all)
    }
}
