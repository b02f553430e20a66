//! Transport and relaxation of one or several runs: averages over independent runs, fits, how they
//! depend on temperature.
//!
//! `results files -> runs -> state points -> averages -> estimates -> fits over temperature`. Runs of one
//! model whose plans set the same state are independent runs of one state point ([`state_points`]).
//!
//! Errors are those of [`crate::fit`] of one run. Of four runs and more they are those of a delete-one jackknife over the runs
//! with the same window, which counts the correlation between points, times the standard deviation of Student's distribution
//! `((R - 1) / (R - 3))^(1/2)`, as few runs know their scatter badly. Of two or three runs the larger one is taken.
mod aging;
mod average;
#[cfg(test)]
mod calibration;
mod course;
mod drift;
mod equilibrium;
mod flags;
mod groups;
mod origins;
mod over_temperature;
mod runs;
mod state;
mod state_point;
mod tables;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use average::{Average, AverageCurve};
pub use equilibrium::VISIBLE_CHANGE;
pub use flags::Flag;
pub use groups::{Group, state_points};
pub use runs::{Run, results_files};
pub(crate) use state::SetState;

use crate::Result;
use crate::drift::Drift;
use crate::fit::{AtTemperature, Estimate, ModeCoupling, Vft};
use crate::results::{Function, ResultsFile};

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Mean temperature of the state point; `None` if not known, and for fits over temperatures.
    pub temperature: Option<f64>,
    /// `D`, `D_vacf` (from the velocity autocorrelation), `tau` (`F_s = 1/e`), `A_kww`, `tau_kww`, `beta_kww`, `eta` (shear viscosity), `tau0_vft`, `B_vft`, `T0_vft`, `Tc_mct(D)`,
    /// `gamma_mct(D)`, `Tc_mct(tau)`, `gamma_mct(tau)`.
    pub quantity: String,
    /// Species.
    pub species: String,
    /// Wave number of `F_s`.
    pub wavenumber: Option<f64>,
    /// Of functions from a given time origin, when it was, since the start of the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_time: Option<f64>,
    /// Value and error; NaN (in JSON null) where a flag says why it is not given.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// `fit` (covariance, or the errors of the neighbors of a crossing) or `jackknife`.
    pub error_from: &'static str,
    /// Range of time or, of fits over temperatures, of temperature.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// Of the fit, per degree of freedom; NaN (in JSON null) where there is none.
    pub reduced_chi_squared: f64,
    /// Why it cannot be taken as it stands; empty if it can.
    pub flags: Vec<Flag>,
    /// What else to know of it.
    pub remark: String,
}

impl Row {
    /// Whether there is a value.
    pub fn is_given(&self) -> bool {
        self.estimate.value.is_finite()
    }

    /// Flags and remark in words.
    pub fn said(&self) -> String {
        let words = [flags::names(&self.flags), self.remark.clone()];
        words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Runs of one temperature.
#[derive(Clone, Debug, Serialize)]
pub struct StatePoint {
    /// Mean temperature.
    pub temperature: Option<Estimate>,
    /// Number of runs, or of systems of one run.
    pub runs: usize,
    /// Files of the runs; one of many systems once.
    pub files: Vec<PathBuf>,
    /// What the runs have in common: how they were grouped.
    pub grouped_by: String,
    /// Estimates.
    pub estimates: Vec<Row>,
    /// What could not be estimated, and why.
    pub notes: Vec<String>,
    /// Averages over the runs.
    #[serde(skip)]
    pub averages: Vec<Average>,
    /// Curves through them.
    #[serde(skip)]
    pub curves: Vec<FittedCurve>,
    /// Motion of the centre of mass that the averages contain.
    #[serde(skip)]
    pub drift: Option<Drift>,
}

/// A fit over the range of time that it was made on.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedCurve {
    /// Name of the function that was fitted.
    pub name: &'static str,
    /// Species.
    pub species: String,
    /// Wave number of `F_s`.
    pub wavenumber: Option<f64>,
    /// Points of the curve, evenly spaced in the logarithm of time.
    pub time: Vec<f64>,
    /// See `time`.
    pub value: Vec<f64>,
}

impl FittedCurve {
    const POINTS: u32 = 60;

    fn new(
        name: &'static str,
        species: &str,
        wavenumber: Option<f64>,
        (from, to): (f64, f64),
        at: impl Fn(f64) -> f64,
    ) -> Self {
        let last = f64::from(Self::POINTS - 1);
        let time: Vec<f64> =
            (0..Self::POINTS).map(|k| from * (to / from).powf(f64::from(k) / last)).collect();
        let value = time.iter().map(|&t| at(t)).collect();
        FittedCurve { name, species: species.into(), wavenumber, time, value }
    }
}

/// `D` or `tau` over temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTemperature {
    /// `D` or `tau`.
    pub quantity: String,
    /// Species.
    pub species: String,
    /// Wave number of `tau`.
    pub wavenumber: Option<f64>,
    /// Hottest first.
    pub points: Vec<AtTemperature>,
    /// Of `tau`.
    pub vft: Option<Vft>,
    /// Of `D` or `1 / tau`.
    pub mode_coupling: Option<ModeCoupling>,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// Hottest first.
    pub state_points: Vec<StatePoint>,
    /// Of functions from given time origins, file after file.
    pub from_origins: Vec<StatePoint>,
    /// Fits over all state points.
    pub over_temperature: Vec<Row>,
    /// What they were made on.
    #[serde(skip)]
    pub series: Vec<OverTemperature>,
    /// What could not be fitted, and why.
    pub notes: Vec<String>,
}

/// Analyses results files; see [`results_files`] for directories, [`state_points`] for `same_temperature`.
///
/// # Errors
/// If a file cannot be read or holds nothing to fit, or if files do not belong together
/// ([`state_points`]).
pub fn analyze(files: &[impl AsRef<Path>], same_temperature: Option<f64>) -> Result<Analysis> {
    let (mut runs, mut from_origins) = (Vec::new(), Vec::new());
    for file in files.iter().map(AsRef::as_ref) {
        let points = origins::points(file)?;
        // A stage may have nothing else.
        if points.is_empty() || runs::are_averages_in(file)? {
            runs.extend(Run::read(file)?);
        }
        from_origins.extend(points);
    }
    let groups = match runs.is_empty() {
        true => Vec::new(),
        false => groups::state_points(runs, same_temperature)?,
    };
    let state_points: Vec<StatePoint> = groups.iter().map(state_point::estimates).collect();
    let over_temperature::Fits { rows, series, notes } = over_temperature::fits(&state_points);
    Ok(Analysis { state_points, from_origins, over_temperature: rows, series, notes })
}

/// The temperature that a stage of a plan was set to by a thermostat, its own or that of an earlier stage; `None` of a ramp, and
/// of a set energy.
pub fn set_temperature(plan: &serde_json::Value, stage: &str) -> Option<f64> {
    SetState::of(plan, stage)?.temperature()
}

/// The estimates of one open file, whose functions were read before; of many systems, those of all of them.
pub(crate) fn of_file(file: &ResultsFile, functions: Vec<Function>) -> Result<StatePoint> {
    let run = |system: &ResultsFile| Run::of(system, system.dynamics()?);
    // Where there is nothing to estimate, systems are not read.
    let systems = if functions.is_empty() { Vec::new() } else { file.systems()? };
    let runs = systems.iter().map(run).collect::<Result<Vec<_>>>()?;
    if runs.len() > 1
        && runs.iter().any(|run| run.any_temperature().is_some())
        && let Some(group) = groups::state_points(runs, None)?.first()
    {
        return Ok(state_point::estimates(group));
    }
    Ok(state_point::estimates(&Group::new(Run::of(file, functions)?, Vec::new())))
}

impl Analysis {
    /// All rows of averages over time origins, in order of the table.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.state_points.iter().flat_map(|point| &point.estimates).chain(&self.over_temperature)
    }

    /// And those of given time origins behind them.
    fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows().chain(self.from_origins.iter().flat_map(|point| &point.estimates))
    }
}
