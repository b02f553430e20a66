//! Results files as runs.
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::average::FEWEST_RUNS;
use super::course::Course;
use super::origins;
use super::state::{SetState, without_seed};
use crate::directories::h5_in;
use crate::drift::Drift;
use crate::fit::Estimate;
use crate::results::{Function, ResultsFile};
use crate::statistics::block_average;
use crate::{AnalysisError, Result, read_consistent};

pub(super) const MSD: &str = "mean_square_displacement";
pub(super) const FS: &str = "self_intermediate_scattering_function";
pub(super) const VACF: &str = "velocity_autocorrelation";
pub(super) const VISCOSITY: &str = "shear_viscosity";
/// What is fitted.
pub(super) const FITTED: [&str; 4] = [MSD, FS, VACF, VISCOSITY];

/// Of one results file, what is averaged and fitted.
#[derive(Clone, Debug)]
pub struct Run {
    /// The file.
    pub file: PathBuf,
    /// 2 or 3.
    pub dimension: usize,
    /// Mean of `/observables/temperature`.
    pub temperature: Option<Estimate>,
    /// Time correlations.
    pub functions: Vec<Function>,
    /// Names of what must agree between runs, with its value.
    pub(super) model: Vec<(&'static str, Value)>,
    /// Plan and seed: equal of the stages of one run.
    pub(super) origin: Option<String>,
    /// What set temperature or energy; `None` if the file does not say.
    pub(super) state: Option<SetState>,
    /// Motion of the centre of mass that the functions contain.
    pub(super) drift: Option<Drift>,
    /// What it says of equilibrium.
    pub(super) course: Course,
    /// Plan without seed, and stage: equal of independent runs of one configuration.
    pub(super) configuration: Option<String>,
    /// It is one of many systems of one run.
    pub(super) is_system: bool,
}

/// Time origins of a displacement below which it is taken to have no error: they overlap, and what they
/// scatter is accident. Files of this version have none there; those of earlier ones do.
const FEWEST_ORIGINS: u64 = 8;

/// Results files named, and in directories (of runs, or of sweeps) those `*.h5` that hold a mean-square displacement, an `F_s`, a
/// velocity autocorrelation or a viscosity.
///
/// # Errors
/// If a directory holds none of these, or a file is named twice.
pub fn results_files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        for file in h5_in(path)? {
            let has_any = || {
                let files = ResultsFile::open_averages(&file)?;
                Ok(has_averages(&files[0])? || origins::are_in(&files[0])?)
            };
            if read_consistent(&file, has_any)? {
                found.push(file);
            }
        }
        if found.is_empty() {
            let what = format!("no results file *.h5 here holds a {}", any_of_fitted());
            return Err(AnalysisError::content(path, what));
        }
        files.extend(found);
    }
    let mut known = Vec::new();
    for file in &files {
        let absolute = file.canonicalize().map_err(AnalysisError::io(file))?;
        if known.contains(&absolute) {
            return Err(AnalysisError::content(file, "named twice"));
        }
        known.push(absolute);
    }
    Ok(files)
}

/// Whether it holds what averages over time origins are fitted of.
fn has_averages(file: &ResultsFile) -> Result<bool> {
    Ok(file.dynamics()?.iter().any(is_fitted))
}

/// The same of a path.
pub(super) fn are_averages_in(path: &Path) -> Result<bool> {
    read_consistent(path, || has_averages(&ResultsFile::open_averages(path)?[0]))
}

/// What stands for a run each: systems, or the averages over those that start from one configuration.
pub(super) fn systems_of(path: &Path) -> Result<Vec<ResultsFile>> {
    let file = ResultsFile::open(path)?;
    let is_of_configurations = file.ensemble().is_some_and(|of| of.configurations > 0);
    let systems = match is_of_configurations {
        true => ResultsFile::open_averages(path)?,
        false => file.systems()?,
    };
    Ok(if systems.is_empty() { vec![file] } else { systems })
}

fn is_fitted(function: &Function) -> bool {
    function.argument == "time" && FITTED.contains(&function.name.as_str())
}

fn any_of_fitted() -> String {
    let [others @ .., last] = FITTED;
    format!("{} or {last}", others.join(", "))
}

impl Run {
    /// Reads a results file with a mean-square displacement, an `F_s`, a velocity autocorrelation or a viscosity: of many
    /// systems, each as a run. Those that start from one configuration are not independent, and their average is a run.
    ///
    /// # Errors
    /// If it holds nothing of this.
    pub fn read(path: &Path) -> Result<Vec<Run>> {
        read_consistent(path, || Self::read_once(path))
    }

    fn read_once(path: &Path) -> Result<Vec<Run>> {
        let run = |file: &ResultsFile| Self::of(file, file.dynamics()?);
        let runs = systems_of(path)?.iter().map(run).collect::<Result<Vec<_>>>()?;
        if !runs[0].functions.iter().any(is_fitted) {
            let what = format!(
                "no {} under /dynamics: a stage writes them with a [[stage.correlation]] without origins",
                any_of_fitted()
            );
            return Err(AnalysisError::content(path, what));
        }
        Ok(runs)
    }

    /// Of an open file and its time correlations; others are left out.
    pub(super) fn of(file: &ResultsFile, mut functions: Vec<Function>) -> Result<Run> {
        functions.retain(|function| function.argument == "time");
        let temperature = file.observable("temperature")?;
        let temperature = temperature.filter(|each| !each.value.is_empty()).map(|each| {
            let mean = block_average(&each.value);
            Estimate { value: mean.value, error: mean.error }
        });
        let classes = file.classes().into_iter().map(|class| (class.group, class.particles));
        for (name, particles) in file.species().into_iter().chain(classes) {
            let displacement = functions.iter_mut().find(|f| f.name == MSD && f.group == name);
            displacement
                .into_iter()
                .for_each(|f| f.forget_errors_of_few(FEWEST_ORIGINS.saturating_mul(particles)));
        }
        let dimension = file.dimension();
        let plan = file.plan().unwrap_or_default();
        let system = &plan["system"];
        let edges = system["simulation_box"]["edges"].as_array();
        let volume: Option<f64> =
            edges.map(|edges| edges.iter().take(dimension).filter_map(Value::as_f64).product());
        let count: u64 = file.species().iter().map(|(_, count)| count).sum();
        // To ten digits: edges of equal boxes may differ in rounding.
        let density = volume.map(|volume| format!("{:.9e}", count as f64 / volume));
        let model = vec![
            ("dimension", dimension.into()),
            ("species", system["species"].clone()),
            ("potential", plan["potential"].clone()),
            ("density", density.and_then(|text| text.parse::<f64>().ok()).into()),
        ];
        // That of the run is the stage's in the file of a stage with its own; then it stands with all stages.
        let own = !plan["stages"][0]["timestep"].is_null();
        let timestep = if own { &Value::Null } else { &plan["run"]["timestep"] };
        let origin = [&plan["system"], timestep, &plan["stages"]];
        let origin = plan["stages"].is_array().then(|| origin.map(Value::to_string).concat());
        let stage = file.parameter("stage").unwrap_or_default();
        let state = SetState::of(&plan, &stage);
        let drift = Drift::of(&plan, &stage);
        let configuration = plan["stages"]
            .is_array()
            .then(|| format!("{stage} {}", without_seed(&plan, state.is_none())));
        let course = Course::of(file, &plan, &stage)?;
        let is_system = file.is_system();
        let file = file.path().to_owned();
        Ok(Run {
            file,
            dimension,
            temperature,
            functions,
            model,
            origin,
            state,
            drift,
            course,
            configuration,
            is_system,
        })
    }

    /// Those of which one that has changed by itself is reported: not of many systems, a few of which seem to have by
    /// chance.
    pub(super) fn watched_alone(runs: &[Run]) -> &[Run] {
        let many = runs.len() >= FEWEST_RUNS && runs.iter().all(|run| run.is_system);
        if many { &[] } else { runs }
    }

    /// Particles per volume.
    pub(super) fn density(&self) -> Option<f64> {
        self.model.iter().find(|(name, _)| *name == "density")?.1.as_f64()
    }

    /// Temperature: the measured one, else that of the thermostat that set it.
    pub(super) fn any_temperature(&self) -> Option<Estimate> {
        let set = || Some(Estimate { value: self.state.as_ref()?.temperature()?, error: 0.0 });
        self.temperature.or_else(set)
    }
}
