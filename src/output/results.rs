use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hdf5::File;

use super::classes;
use super::durable::sync_file;
use super::error::foreign;
use super::exchanges;
use super::fixed_part::{degrees_of_freedom, write_fixed_part};
use super::series::{OfSystems, SeriesValues};
use super::systems::Systems;
use super::thermodynamics::{self, BUFFERED_ROWS, BoxOf};
use super::{
    FullDisk, OutputError, PropensityLayout, RunDescription, ScalarRow, Scalars, SeriesLayout,
    StrainLayout, ThermodynamicsRow, h5md, hdf5_file,
};
use crate::engine::{ExchangeCounts, Strained};
use crate::observable::diameter_classes::DiameterClass;
use crate::observable::propensity::PropensityRow;

/// Bytes of propensities kept in memory at most.
const BUFFERED_BYTES: u64 = 64 << 20;

/// What a stage's results file has room for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageLayout {
    /// Time series under `/observables`.
    pub thermodynamics: bool,
    /// Replicas are exchanged.
    pub exchanges: bool,
    /// More of them.
    pub scalars: Vec<Scalars>,
    /// Time correlations and structure functions.
    pub series: Vec<SeriesLayout>,
    /// By diameter, of time correlations.
    pub classes: Vec<DiameterClass>,
    pub propensity: Option<PropensityLayout>,
    /// Curves of a stage that strains the box.
    pub strain: Option<StrainLayout>,
}

/// Numbers of rows of the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rows {
    pub thermodynamics: u64,
    pub bond_order: u64,
    #[serde(default)]
    pub local_order: u64,
    pub inherent_structures: u64,
    #[serde(default)]
    pub configurational_temperature: u64,
    /// Times of propensities that were reached; the first ones may be missing in a file that was begun anew.
    #[serde(default)]
    pub propensity: u64,
    #[serde(default)]
    pub strain: u64,
    /// Plastic events.
    #[serde(default)]
    pub strain_events: u64,
}

impl Rows {
    fn of(&mut self, scalars: Scalars) -> &mut u64 {
        match scalars {
            Scalars::BondOrder => &mut self.bond_order,
            Scalars::ConfigurationalTemperature => &mut self.configurational_temperature,
            Scalars::LocalOrder => &mut self.local_order,
            Scalars::InherentStructures => &mut self.inherent_structures,
        }
    }
}

/// Writes a stage's results: H5MD 1.1 with the modules "units" and "thermodynamics".
///
/// - `/observables/<name>/{step,time,value}`: thermodynamics, energies per particle;
/// - `/dynamics/...`, `/structure/...`: [`SeriesLayout`]; classes of diameter have [attributes](classes::describe);
/// - `/propensity/...`: [`PropensityLayout`];
/// - `/strain/...`: [`StrainLayout`];
/// - `/systems/...`: of many systems the values of each, below the same paths; the others are averages over systems;
/// - `/systems/exchange/...`: exchanges of replicas;
/// - `/parameters`: [`RunDescription`];
/// - `/progress/step`: last step that the file covers; `/progress/seconds`: wall-clock time of the
///   stage until then; `/progress/complete`: 1 when the stage is finished.
///
/// Values are collected in memory until [`flush`](Self::flush); a writer that is dropped without
/// writes nothing.
pub struct ResultsWriter {
    path: PathBuf,
    layout: StageLayout,
    box_of: BoxOf,
    dimension: usize,
    /// Of a run of many.
    systems: Option<Systems>,
    /// Rows in the file.
    written: Rows,
    /// One of each system at each step.
    rows: Vec<ThermodynamicsRow>,
    /// Which replica each system is at each step of these rows, where replicas are exchanged.
    replicas: Vec<i32>,
    exchanges: Option<ExchangeCounts>,
    scalars: Vec<(Scalars, Vec<ScalarRow>)>,
    pending: BTreeMap<String, (SeriesValues, Option<OfSystems>)>,
    propensities: Vec<PropensityRow>,
    strained: Strained,
    /// Of the configurations of propensities, until they are in the file.
    initial_positions: Option<[Vec<f64>; 2]>,
    full_disk: FullDisk,
    /// Of the stage, before this process.
    seconds_before: f64,
    started: Instant,
}

impl ResultsWriter {
    /// # Errors
    /// [`OutputError::Exists`] for an existing file; see [`OutputError`] for the others.
    pub fn create(
        path: &Path,
        run: &RunDescription,
        layout: &StageLayout,
    ) -> Result<Self, OutputError> {
        let systems = Systems::of(run.plan);
        let systems = systems.as_ref();
        hdf5_file::create(path, |file| {
            write_fixed_part(file, run)?;
            if let Some(systems) = systems {
                systems.write_fixed_part(file, run.plan)?;
            }
            let dimension = run.plan.system.simulation_box.dimension();
            if layout.thermodynamics {
                let of = (BoxOf::run(run), dimension);
                thermodynamics::create(file, &file.group("observables")?, of, systems)?;
                thermodynamics::describe_temperatures(file, degrees_of_freedom(run))?;
            }
            if let (true, Some(systems)) = (layout.exchanges, systems) {
                exchanges::create(file, systems, layout.thermodynamics)?;
            }
            for scalars in &layout.scalars {
                scalars.create(file, &file.group("observables")?, dimension, systems)?;
            }
            layout.series.iter().try_for_each(|series| series.create(file, systems))?;
            layout.classes.iter().try_for_each(|class| classes::describe(class, file))?;
            layout.propensity.iter().try_for_each(|propensity| propensity.create(file))?;
            layout.strain.iter().try_for_each(|strain| strain.create(file, systems))
        })?;
        Ok(Self::new(path, run, layout, Rows::default()))
    }

    /// Goes on with a file, also one whose writer was killed: keeps the first `rows` of the
    /// time series, which reach to `step` of the run. Series keep their last values until they are updated.
    ///
    /// # Errors
    /// [`OutputError::Foreign`] when the file does not have this layout, [`OutputError::TooShort`]
    /// when it has fewer rows.
    pub fn reopen(
        path: &Path,
        run: &RunDescription,
        layout: &StageLayout,
        mut rows: Rows,
        step: u64,
    ) -> Result<Self, OutputError> {
        let mut wanted = rows;
        let systems = Systems::of(run.plan);
        let systems = systems.as_ref();
        let check = move |file: &File| {
            h5md::check_run(file, path, run)?;
            if let Some(series) = layout.series.iter().find(|series| !series.is_in(file, systems)) {
                let reason = format!("it has no /{} on the grid of this run", series.path);
                return Err(foreign(path, &reason));
            }
            let without = |what: &str| foreign(path, &format!("it has no {what}"));
            let mut longer = false;
            let mut enough = |what: &'static str, found: u64, expected: u64| {
                longer |= found > expected;
                match found < expected {
                    true => {
                        Err(OutputError::TooShort { path: path.to_owned(), what, found, expected })
                    }
                    false => Ok(()),
                }
            };
            if layout.thermodynamics {
                let found =
                    thermodynamics::row_count(file).map_err(|_| without("thermodynamics"))?;
                enough("rows of thermodynamics", found, wanted.thermodynamics)?;
                if let Some(name) = thermodynamics::missing(file, BoxOf::run(run)) {
                    let reason = format!("it has no /observables/{name}, as of an earlier version");
                    return Err(foreign(path, &reason));
                }
            }
            if layout.exchanges && layout.thermodynamics {
                let what = "rows of replicas";
                let found = exchanges::row_count(file).map_err(|_| without(what))?;
                enough(what, found, wanted.thermodynamics)?;
            }
            for scalars in &layout.scalars {
                let what = scalars.rows_of();
                let found = scalars.row_count(file).map_err(|_| without(what))?;
                enough(what, found, *wanted.of(*scalars))?;
            }
            if let Some(propensity) = &layout.propensity {
                let what = "propensities at these times";
                let found = match propensity.is_in(file) {
                    true => propensity.measured(file).map_err(|_| without(what))?,
                    false => return Err(without(what)),
                };
                enough("times of propensities", found, wanted.propensity)?;
            }
            if let Some(strain) = layout.strain {
                let what = "points of strain";
                let found = strain.row_counts(file).map_err(|_| without(what))?;
                enough(what, found[0], wanted.strain)?;
                enough("plastic events", found[1], wanted.strain_events)?;
            }
            Ok(longer || !progress_is(file, step).map_err(|_| without("progress"))?)
        };
        hdf5_file::repair(path, check, |file| {
            if layout.thermodynamics {
                let dimension = run.plan.system.simulation_box.dimension();
                let of = (BoxOf::run(run), dimension);
                thermodynamics::truncate(file, of, rows.thermodynamics as usize, systems)?;
                if layout.exchanges {
                    exchanges::truncate(file, rows.thermodynamics as usize)?;
                }
            }
            for scalars in &layout.scalars {
                scalars.truncate(file, *rows.of(*scalars) as usize, systems)?;
            }
            if let Some(propensity) = &layout.propensity {
                propensity.truncate(file, rows.propensity)?;
            }
            if let Some(strain) = layout.strain {
                let rows = [rows.strain, rows.strain_events].map(|rows| rows as usize);
                strain.truncate(file, rows, systems)?;
            }
            h5md::write_scalar_again(file, "progress/step", &(step as i64))?;
            set_complete(file, false)
        })?;
        Ok(Self::new(path, run, layout, rows))
    }

    fn new(path: &Path, run: &RunDescription, layout: &StageLayout, written: Rows) -> Self {
        let plan = run.plan;
        ResultsWriter {
            box_of: BoxOf::run(run),
            path: path.to_owned(),
            layout: layout.clone(),
            dimension: plan.system.simulation_box.dimension(),
            systems: Systems::of(plan),
            written,
            rows: Vec::new(),
            replicas: Vec::new(),
            exchanges: None,
            scalars: layout.scalars.iter().map(|&scalars| (scalars, Vec::new())).collect(),
            pending: BTreeMap::new(),
            propensities: Vec::new(),
            strained: Strained::default(),
            initial_positions: None,
            full_disk: FullDisk::Stop,
            seconds_before: 0.0,
            started: Instant::now(),
        }
    }

    /// Wall-clock time that the stage has taken, in all processes that took part.
    pub fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }

    /// Counts the time of earlier processes too.
    pub fn go_on_from(&mut self, seconds: f64) {
        self.seconds_before = seconds;
    }

    /// What is done from now on when the disk is full.
    pub fn on_full_disk(&mut self, full_disk: &FullDisk) {
        self.full_disk = full_disk.clone();
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows so far, in the file or in memory: what a checkpoint remembers for
    /// [`reopen`](Self::reopen).
    pub fn rows(&self) -> Rows {
        let mut rows = self.written;
        let systems = self.systems();
        rows.thermodynamics += (self.rows.len() / systems) as u64;
        for (scalars, pending) in &self.scalars {
            *rows.of(*scalars) += (pending.len() / systems) as u64;
        }
        if let Some(last) = self.propensities.last() {
            rows.propensity = last.time as u64 + 1;
        }
        rows.strain += self.strained.points.len() as u64;
        rows.strain_events += self.strained.events.len() as u64;
        rows
    }

    fn systems(&self) -> usize {
        self.systems.as_ref().map_or(1, Systems::count)
    }

    /// Adds the row of each system at a step; writes only when many have gathered. `replicas`: which one each system is, where
    /// they are exchanged.
    ///
    /// # Panics
    /// When the layout has no thermodynamics, or there are not as many rows as systems.
    pub fn append_thermodynamics(
        &mut self,
        of_systems: &[ThermodynamicsRow],
        replicas: &[usize],
    ) -> Result<(), OutputError> {
        let exchanging = if self.layout.exchanges { of_systems.len() } else { 0 };
        assert_eq!(replicas.len(), exchanging, "replicas where they are exchanged");
        self.replicas.extend(replicas.iter().map(|&replica| replica as i32));
        assert!(self.layout.thermodynamics, "the layout has thermodynamics");
        assert_eq!(of_systems.len(), self.systems(), "a row of each system");
        self.rows.extend_from_slice(of_systems);
        if self.rows.len() >= BUFFERED_ROWS { self.flush(of_systems[0].step) } else { Ok(()) }
    }

    /// Exchanges of replicas since the start of the stage.
    ///
    /// # Panics
    /// When the layout has none.
    pub fn set_exchanges(&mut self, counts: ExchangeCounts) {
        assert!(self.layout.exchanges, "the layout has exchanges");
        self.exchanges = Some(counts);
    }

    /// The same for other time series.
    ///
    /// # Panics
    /// When the layout does not have them, or there are not as many rows as systems.
    pub fn append(
        &mut self,
        scalars: Scalars,
        of_systems: Vec<ScalarRow>,
    ) -> Result<(), OutputError> {
        assert_eq!(of_systems.len(), self.systems(), "a row of each system");
        let of_layout = self.scalars.iter_mut().find(|(of_layout, _)| *of_layout == scalars);
        let (_, pending) = of_layout.unwrap_or_else(|| panic!("no {}", scalars.rows_of()));
        let step = of_systems[0].step;
        pending.extend(of_systems);
        if pending.len() >= BUFFERED_ROWS { self.flush(step) } else { Ok(()) }
    }

    /// Adds propensities at the next of their times, at a step of the run; writes only when many numbers have gathered.
    ///
    /// # Panics
    /// When the layout has no propensities.
    pub fn append_propensities(
        &mut self,
        row: PropensityRow,
        step: u64,
    ) -> Result<(), OutputError> {
        let of = self.layout.propensity.as_ref().expect("the layout has propensities");
        self.propensities.push(row);
        match self.propensities.len() as u64 * of.growth() > BUFFERED_BYTES {
            true => self.flush(step),
            false => Ok(()),
        }
    }

    /// Adds what a stage of strain has found, up to a step of the run; writes only when many points have gathered.
    ///
    /// # Panics
    /// When the layout has no strain.
    pub fn append_strained(&mut self, new: Strained, step: u64) -> Result<(), OutputError> {
        assert!(self.layout.strain.is_some(), "the layout has strain");
        self.strained.points.extend(new.points);
        self.strained.events.extend(new.events);
        let points = self.strained.points.len() * self.systems();
        if points >= BUFFERED_ROWS { self.flush(step) } else { Ok(()) }
    }

    /// The positions that propensities count displacements from: of the states, and of their inherent structures (empty where
    /// these are not wanted).
    pub fn start_propensities_from(&mut self, initial_positions: [Vec<f64>; 2]) {
        self.initial_positions = Some(initial_positions);
    }

    /// New values of a series, slowest axis first.
    ///
    /// # Panics
    /// When the layout has no such series, or the lengths differ from its size.
    pub fn update_series(&mut self, path: &str, new: SeriesValues) {
        self.update(path, new, None);
    }

    /// The same of many systems: averages, and what they add.
    ///
    /// # Panics
    /// As [`update_series`](Self::update_series).
    pub fn update_systems(&mut self, path: &str, averages: SeriesValues, of_systems: OfSystems) {
        self.update(path, averages, Some(of_systems));
    }

    fn update(&mut self, path: &str, new: SeriesValues, of_systems: Option<OfSystems>) {
        let series = self.layout.series.iter().find(|series| series.path == path);
        let series = series.unwrap_or_else(|| panic!("no series {path}"));
        let fits = |values: &SeriesValues, number: usize| {
            let size = number * series.size();
            let changes = if series.has_change { size } else { 0 };
            let found = [&values.value, &values.error].map(Vec::len);
            let lengths = [found[0], found[1], values.count.len(), values.change.len()];
            assert_eq!(lengths, [size, size, size, changes], "size of {path}");
        };
        fits(&new, self.systems.as_ref().map_or(1, Systems::groups));
        if let Some(of_systems) = &of_systems {
            fits(&of_systems.values, self.systems());
        }
        self.pending.insert(path.to_owned(), (new, of_systems));
    }

    /// Writes everything that has gathered; `step` is the step of the run that it reaches to.
    pub fn flush(&mut self, step: u64) -> Result<(), OutputError> {
        let mut growth = match self.rows.len() {
            0 => 0,
            rows => thermodynamics::growth(rows / self.systems(), self.systems.as_ref()),
        };
        let systems = self.systems.as_ref();
        let of_scalars =
            |(of, rows): &(Scalars, Vec<_>)| of.growth(rows.len() / self.systems(), systems);
        growth += self.scalars.iter().map(of_scalars).sum::<u64>();
        let propensity = self.layout.propensity.as_ref();
        let each = propensity.map_or(0, PropensityLayout::growth);
        growth += self.propensities.len() as u64 * each;
        if let (false, Some(systems)) = (self.replicas.is_empty(), systems) {
            growth += exchanges::growth(self.replicas.len() / systems.count(), systems);
        }
        let (points, events) = (&self.strained.points, &self.strained.events);
        if let Some(strain) = self.layout.strain {
            growth += strain.growth(points.len(), events.len(), systems);
        }
        let (mut written, seconds) = (self.written, self.seconds());
        hdf5_file::append(&self.path, "write results", growth, &self.full_disk, |file| {
            if !self.rows.is_empty() {
                let start = self.written.thermodynamics as usize;
                if !self.replicas.is_empty() {
                    exchanges::write(file, start, &self.replicas)?;
                }
                let of = (self.box_of, self.dimension);
                thermodynamics::write(file, of, start, &self.rows, systems)?;
            }
            for (scalars, rows) in &self.scalars {
                scalars.write(file, *written.of(*scalars) as usize, rows, systems)?;
            }
            if let Some(counts) = &self.exchanges {
                exchanges::write_counts(file, counts)?;
            }
            for (path, (series, of_systems)) in &self.pending {
                series.write(file, path)?;
                if let Some(of_systems) = of_systems {
                    of_systems.write(file, path)?;
                }
            }
            if let Some(layout) = propensity {
                if let Some(positions) = &self.initial_positions {
                    layout.write_positions(file, positions)?;
                }
                self.propensities.iter().try_for_each(|row| layout.write(file, row))?;
            }
            if let Some(strain) = self.layout.strain {
                strain.write_events(file, written.strain_events as usize, events)?;
                strain.write(file, written.strain as usize, points, systems)?;
            }
            h5md::write_scalar_again(file, "progress/seconds", &seconds)?;
            h5md::write_scalar_again(file, "progress/step", &(step as i64))
        })?;
        self.written = self.rows();
        self.rows.clear();
        self.replicas.clear();
        self.scalars.iter_mut().for_each(|(_, rows)| rows.clear());
        self.pending.clear();
        self.propensities.clear();
        self.strained = Strained::default();
        self.initial_positions = None;
        Ok(())
    }

    /// Flushes and waits until everything is on the disk.
    pub fn sync(&mut self, step: u64) -> Result<(), OutputError> {
        self.flush(step)?;
        sync_file(&self.path)
    }

    /// The stage is finished, at `step` of the run.
    pub fn finish(mut self, step: u64) -> Result<(), OutputError> {
        self.flush(step)?;
        hdf5_file::append(&self.path, "finish", 0, &self.full_disk, |file| {
            set_complete(file, true)
        })?;
        sync_file(&self.path)
    }
}

/// Whether a file says that it reaches to `step`, and not further.
fn progress_is(file: &File, step: u64) -> hdf5::Result<bool> {
    let reached = file.dataset("progress/step")?.read_scalar::<i64>()?;
    let complete = file.dataset("progress/complete")?.read_scalar::<u8>()?;
    Ok(reached == step as i64 && complete == 0)
}

fn set_complete(file: &File, complete: bool) -> hdf5::Result<()> {
    h5md::write_scalar_again(file, "progress/complete", &u8::from(complete))
}
