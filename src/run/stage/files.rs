//! The files of a stage.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use supercool_analysis::check_readable;
use supercool_analysis::results::ResultsFile;

use crate::engine::{ExchangeCounts, Strained};
use crate::observable::propensity::PropensityRow;
use crate::observable::{EnsembleSeries, Series};
use crate::output::{
    FullDisk, GsdWriter, OfSystems, OutputError, ResultsWriter, Rows, RunDescription, ScalarRow,
    Scalars, SeriesValues, StageLayout, ThermodynamicsRow, TrajectoryWriter, check_hdf5,
};
use crate::plan::StagePlan;
use crate::run::RunError;
use crate::run::directory::OutputDirectory;
use crate::run::names::DAMAGED;
use crate::system::{SimulationBox, Snapshot};

/// Those that the stage does not need are `None`; what is appended to them is nothing.
#[derive(Default)]
pub struct StageFiles {
    results: Option<ResultsWriter>,
    trajectory: Option<TrajectoryWriter>,
    gsd: Option<GsdWriter>,
    inherent: Option<TrajectoryWriter>,
}

/// How many rows and frames a checkpoint counts on.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct InFiles {
    rows: Rows,
    frames: u64,
    gsd_frames: u64,
    inherent_frames: u64,
    /// That the stage has taken.
    seconds: f64,
}

struct Paths {
    results: PathBuf,
    trajectory: PathBuf,
    gsd: PathBuf,
    inherent: PathBuf,
}

impl Paths {
    fn new(directory: &OutputDirectory, stage: &str) -> Self {
        let path = |extension: &str| directory.path().join(format!("{stage}.{extension}"));
        Paths {
            results: path("h5"),
            trajectory: path("h5md"),
            gsd: path("gsd"),
            inherent: path("inherent.h5md"),
        }
    }

    /// Those in HDF5 that a stage has.
    fn hdf5(&self, stage: &StagePlan) -> impl Iterator<Item = &PathBuf> {
        let all = [
            (&self.results, stage.has_results()),
            (&self.trajectory, stage.observe.has_trajectory()),
            (&self.inherent, stage.observe.inherent_structures.is_some()),
        ];
        all.into_iter().filter(|(_, has)| *has).map(|(path, _)| path)
    }

    /// The trajectory as GSD, if a stage has one.
    fn gsd(&self, stage: &StagePlan) -> Option<&PathBuf> {
        (stage.observe.has_trajectory() && stage.observe.gsd).then_some(&self.gsd)
    }
}

/// What is wrong with the files of a stage that has ended, which no later checkpoint counts on; a line for each that is not
/// as the run left it.
pub fn faults_of_ended(directory: &OutputDirectory, stage: &StagePlan) -> Vec<String> {
    let paths = Paths::new(directory, &stage.name);
    let of_hdf5 = paths.hdf5(stage).filter_map(|path| {
        directory.is_at(format!("reading {}", path.display()));
        // Numbers that are compressed are not read: no later file counts on them, and there may be many.
        let open = |path: &Path| check_readable(path, false).and_then(|()| ResultsFile::open(path));
        fault(path, open, |file| {
            if file.parameter("run").is_some_and(|run| run != directory.run()) {
                return Some("it is of another run");
            }
            let incomplete = file.number("progress/complete") == Some(0.0);
            incomplete.then_some("it says that its stage is not complete")
        })
    });
    let of_gsd = paths.gsd(stage);
    let of_gsd =
        of_gsd.and_then(|path| fault(path, |path| supercool_analysis::open(path), |_| None));
    of_hdf5.chain(of_gsd).collect()
}

/// That a file is missing, cannot be opened, or what is wrong with it.
fn fault<F>(
    path: &Path,
    open: impl FnOnce(&Path) -> supercool_analysis::Result<F>,
    look: impl FnOnce(&F) -> Option<&'static str>,
) -> Option<String> {
    let of_file = |what: &str| format!("{}: {what}", path.display());
    match open(path) {
        _ if !path.exists() => Some(of_file("it is missing")),
        Err(error) => Some(error.to_string()),
        Ok(file) => look(&file).map(of_file),
    }
}

/// A name that is free, for a damaged file.
fn aside(path: &Path) -> PathBuf {
    let name = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let more = (2..).map(|number| name(&format!("{DAMAGED}-{number}")));
    let mut names = std::iter::once(name(DAMAGED)).chain(more);
    names.find(|name| !name.exists()).expect("there are many")
}

/// Whether a file that cannot be continued may be begun anew within its stage: one that is damaged, and one that is
/// missing or short because that was done before and no later checkpoint knows of it.
fn can_be_begun_anew(path: &Path, error: &OutputError) -> bool {
    let mut first = path.as_os_str().to_owned();
    first.push(DAMAGED);
    match error {
        OutputError::Damaged { .. } => true,
        OutputError::TooShort { .. } => Path::new(&first).exists(),
        OutputError::Foreign { .. } => !path.exists() && Path::new(&first).exists(),
        _ => false,
    }
}

/// A file that was reopened; in the place of one that is damaged, which keeps its content under another name, a new one.
fn begun_anew<W>(
    path: &Path,
    step: u64,
    reopened: Result<W, OutputError>,
    create: impl FnOnce() -> Result<W, OutputError>,
) -> Result<W, RunError> {
    let error = match reopened {
        Err(error) if can_be_begun_anew(path, &error) => error,
        reopened => return Ok(reopened?),
    };
    let mut kept = String::new();
    if path.exists() {
        let aside = aside(path);
        std::fs::rename(path, &aside).map_err(|source| {
            let (path, what) = (path.to_owned(), "moved");
            RunError::Directory { path, what, source }
        })?;
        kept = format!(" It is kept as {}.", aside.display());
    }
    tracing::warn!("{error}.{kept} A new file takes its place, with what comes after step {step}");
    Ok(create()?)
}

/// The values of series of one layout.
fn one_after_the_other<'a>(series: impl IntoIterator<Item = &'a Series>) -> SeriesValues {
    let mut values = SeriesValues::default();
    for Series { value, error, count, change, .. } in series {
        values.value.extend(value);
        values.error.extend(error);
        values.count.extend(count);
        values.change.extend(change);
    }
    values
}

impl StageFiles {
    /// Empty files. Those that a crashed run left from this stage, which no checkpoint counts on, are replaced.
    pub fn create(
        directory: &OutputDirectory,
        description: &RunDescription<'_>,
        stage: &StagePlan,
        layout: &StageLayout,
    ) -> Result<Self, RunError> {
        let paths = Paths::new(directory, description.stage);
        for path in [&paths.results, &paths.trajectory, &paths.gsd, &paths.inherent] {
            match std::fs::remove_file(path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    let (path, what) = (path.clone(), "replaced");
                    return Err(RunError::Directory { path, what, source });
                }
                _ => {}
            }
        }
        let room = directory.full_disk();
        let mut files = StageFiles::default();
        if stage.has_results() {
            let create = || ResultsWriter::create(&paths.results, description, layout);
            files.results = Some(room.retry_when_full(create)?);
        }
        if stage.observe.has_trajectory() {
            let create = || TrajectoryWriter::create(&paths.trajectory, description);
            files.trajectory = Some(room.retry_when_full(create)?);
            if stage.observe.gsd {
                let create = || GsdWriter::create(&paths.gsd, description);
                files.gsd = Some(room.retry_when_full(create)?);
            }
        }
        if stage.observe.inherent_structures.is_some() {
            let create = || TrajectoryWriter::create(&paths.inherent, description);
            files.inherent = Some(room.retry_when_full(create)?);
        }
        files.on_full_disk(room);
        Ok(files)
    }

    /// The files as a checkpoint of step `step` of the run knows them; what was written later is cut off.
    pub fn reopen(
        directory: &OutputDirectory,
        description: &RunDescription<'_>,
        stage: &StagePlan,
        layout: &StageLayout,
        step: u64,
        known: &InFiles,
    ) -> Result<Self, RunError> {
        let paths = Paths::new(directory, description.stage);
        // All are looked at before one is changed.
        let mut lost: BTreeMap<&PathBuf, OutputError> = BTreeMap::new();
        for path in paths.hdf5(stage) {
            directory.is_at(format!("reading {}", path.display()));
            match check_hdf5(path) {
                Ok(()) => {}
                Err(error) if can_be_begun_anew(path, &error) => drop(lost.insert(path, error)),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(path) = paths.gsd(stage) {
            GsdWriter::check(path, known.gsd_frames)?;
        }
        let room = directory.full_disk();
        let mut files = StageFiles::default();
        if stage.has_results() {
            let path = &paths.results;
            let reopen = || ResultsWriter::reopen(path, description, layout, known.rows, step);
            let reopened = lost.remove(path).map_or_else(reopen, Err);
            let create =
                || room.retry_when_full(|| ResultsWriter::create(path, description, layout));
            let mut results = begun_anew(path, step, reopened, create)?;
            results.go_on_from(known.seconds);
            files.results = Some(results);
        }
        let mut trajectory = |path: &PathBuf, frames: u64| {
            let reopen = || TrajectoryWriter::reopen(path, description, frames);
            let reopened = lost.remove(path).map_or_else(reopen, Err);
            let create = || room.retry_when_full(|| TrajectoryWriter::create(path, description));
            begun_anew(path, step, reopened, create)
        };
        if stage.observe.has_trajectory() {
            files.trajectory = Some(trajectory(&paths.trajectory, known.frames)?);
            if stage.observe.gsd {
                files.gsd = Some(GsdWriter::reopen(&paths.gsd, description, known.gsd_frames)?);
            }
        }
        if stage.observe.inherent_structures.is_some() {
            files.inherent = Some(trajectory(&paths.inherent, known.inherent_frames)?);
        }
        files.on_full_disk(directory.full_disk());
        Ok(files)
    }

    fn on_full_disk(&mut self, full_disk: &FullDisk) {
        if let Some(results) = &mut self.results {
            results.on_full_disk(full_disk);
        }
        for trajectory in self.trajectory.iter_mut().chain(&mut self.inherent) {
            trajectory.on_full_disk(full_disk);
        }
        if let Some(gsd) = &mut self.gsd {
            gsd.on_full_disk(full_disk);
        }
    }

    /// What a checkpoint counts on from now.
    pub fn known(&self) -> InFiles {
        InFiles {
            rows: self.results.as_ref().map_or(Rows::default(), ResultsWriter::rows),
            frames: self.trajectory.as_ref().map_or(0, TrajectoryWriter::frames),
            gsd_frames: self.gsd.as_ref().map_or(0, GsdWriter::frames),
            inherent_frames: self.inherent.as_ref().map_or(0, TrajectoryWriter::frames),
            seconds: self.results.as_ref().map_or(0.0, ResultsWriter::seconds),
        }
    }

    /// Of the results, if there is one.
    pub fn results_path(&self) -> Option<&Path> {
        self.results.as_ref().map(ResultsWriter::path)
    }

    /// The row of each system, and which replica it is.
    pub fn append_thermodynamics(
        &mut self,
        rows: &[ThermodynamicsRow],
        replicas: &[usize],
    ) -> Result<(), OutputError> {
        match &mut self.results {
            Some(results) => results.append_thermodynamics(rows, replicas),
            None => Ok(()),
        }
    }

    /// The row of each system.
    pub fn append_scalars(&mut self, of: Scalars, rows: Vec<ScalarRow>) -> Result<(), OutputError> {
        match &mut self.results {
            Some(results) => results.append(of, rows),
            None => Ok(()),
        }
    }

    /// Exchanges of replicas since the start of the stage.
    pub fn set_exchanges(&mut self, counts: ExchangeCounts) {
        if let Some(results) = &mut self.results {
            results.set_exchanges(counts);
        }
    }

    /// Of all systems.
    pub fn append_frame(&mut self, systems: &[Snapshot], time: f64) -> Result<(), OutputError> {
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.append_systems(systems, time)?;
        }
        if let Some(gsd) = &mut self.gsd {
            systems.iter().try_for_each(|snapshot| gsd.append(snapshot))?;
        }
        Ok(())
    }

    /// Inherent structures of all systems.
    pub fn append_inherent(&mut self, systems: &[Snapshot], time: f64) -> Result<(), OutputError> {
        match &mut self.inherent {
            Some(inherent) => inherent.append_systems(systems, time),
            None => Ok(()),
        }
    }

    /// Propensities at the next of their times, at a step of the run.
    pub fn append_propensities(
        &mut self,
        row: PropensityRow,
        step: u64,
    ) -> Result<(), OutputError> {
        match &mut self.results {
            Some(results) => results.append_propensities(row, step),
            None => Ok(()),
        }
    }

    /// What a stage of strain has found, up to a step of the run.
    pub fn append_strained(&mut self, new: Strained, step: u64) -> Result<(), OutputError> {
        match &mut self.results {
            Some(results) => results.append_strained(new, step),
            None => Ok(()),
        }
    }

    /// The box of the frames that come, or of each system where they have boxes of their own.
    pub fn set_boxes(&mut self, boxes: &[SimulationBox]) {
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.set_boxes(boxes);
        }
        if let Some(gsd) = &mut self.gsd {
            gsd.set_box(&boxes[0]);
        }
    }

    /// The positions that propensities count displacements from.
    pub fn start_propensities_from(&mut self, initial_positions: [Vec<f64>; 2]) {
        if let Some(results) = &mut self.results {
            results.start_propensities_from(initial_positions);
        }
    }

    /// The present averages, for the next flush.
    pub fn update(&mut self, group: &str, series: Series) {
        let Some(results) = &mut self.results else { return };
        let path = format!("{group}/{}", series.path);
        results.update_series(&path, one_after_the_other([&series]));
    }

    /// The same of many systems: averages over each set of them, and the values of each system; the series of all are in one
    /// order.
    pub fn update_systems(
        &mut self,
        sets: &[Vec<EnsembleSeries>],
        systems: &[Vec<(&'static str, Series)>],
    ) {
        let Some(results) = &mut self.results else { return };
        for (index, (group, series)) in systems[0].iter().enumerate() {
            let averages = one_after_the_other(sets.iter().map(|set| &set[index].average));
            let values = one_after_the_other(systems.iter().map(|system| &system[index].1));
            let of_ensemble = sets.iter().flat_map(|set| &set[index].over_systems);
            let of_systems = OfSystems { values, of_ensemble: of_ensemble.copied().collect() };
            results.update_systems(&format!("{group}/{}", series.path), averages, of_systems);
        }
    }

    /// Brings all that was appended into the files, for readers that follow them, and onto the disk.
    pub fn flush(&mut self, step: u64) -> Result<(), OutputError> {
        if let Some(results) = &mut self.results {
            results.sync(step)?;
        }
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.sync()?;
        }
        if let Some(gsd) = &mut self.gsd {
            gsd.sync()?;
        }
        if let Some(inherent) = &mut self.inherent {
            inherent.sync()?;
        }
        Ok(())
    }

    /// Marks the results as complete.
    pub fn finish(self, step: u64) -> Result<(), OutputError> {
        match self.results {
            Some(results) => results.finish(step),
            None => Ok(()),
        }
    }
}
