//! Files of many systems: averages over them, and each of them as a file of its own.
//!
//! Averages stand at the usual paths, over the systems of each temperature or configuration where there are several: then their
//! first axis (of time series the second) is that of these. Below `/systems` stand the values of each system, with an axis of systems
//! in its place.
use std::path::Path;
use std::rc::Rc;

use hdf5::{Dataset, SliceOrIndex};
use serde_json::Value;

use super::ResultsFile;
use crate::numbers::short;
use crate::{AnalysisError, Result};

/// What is read of a file of many systems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    /// All that the file holds: of a single system, or averages.
    #[default]
    Whole,
    /// Averages over the systems of a temperature or configuration.
    Group(usize),
    /// One of them.
    System(usize),
}

/// Many systems of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// Systems of each temperature or configuration; all where they have the same.
    pub samples: usize,
    /// Empty where all systems have the same.
    pub temperatures: Vec<f64>,
    /// How many configurations they start from, with [`samples`](Self::samples) runs of each; else 0.
    pub configurations: usize,
}

impl Ensemble {
    fn of(plan: &Value) -> Option<Self> {
        let ensemble = plan.get("ensemble")?;
        let samples = usize::try_from(ensemble["samples"].as_u64()?).ok()?;
        let temperatures = ensemble["temperatures"].as_array()?;
        let temperatures = temperatures.iter().map(Value::as_f64).collect::<Option<_>>()?;
        let configurations = ensemble["configurations"].as_array().map_or(0, Vec::len);
        (samples > 0).then_some(Ensemble { samples, temperatures, configurations })
    }

    /// Number of systems.
    pub fn systems(&self) -> usize {
        self.samples.saturating_mul(self.groups().max(1))
    }

    /// Temperatures or configurations that averages are made for, if there are such.
    pub fn groups(&self) -> usize {
        self.temperatures.len().max(self.configurations)
    }

    /// What the averages over [`samples`](Self::samples) systems are of, in words.
    pub fn of_each(&self) -> &'static str {
        match (self.configurations, self.temperatures.len()) {
            (0, 0) => "",
            (0, _) => " of each temperature",
            _ => " of each configuration",
        }
    }
}

impl ResultsFile {
    /// The systems that a file holds averages over; `None` for one of a single system.
    pub fn ensemble(&self) -> Option<Ensemble> {
        Ensemble::of(&self.whole_plan()?)
    }

    /// Opens a file as one for each set of systems that it holds averages over: of each temperature or configuration of an ensemble.
    ///
    /// # Errors
    /// As those of [`open`](Self::open).
    pub fn open_averages(path: &Path) -> Result<Vec<ResultsFile>> {
        let file = Self::open(path)?;
        let groups = file.ensemble().map_or(0, |ensemble| ensemble.groups());
        if groups == 0 || !file.holds_systems() {
            return Ok(vec![file]);
        }
        Ok((0..groups).map(|index| file.as_view(View::Group(index))).collect())
    }

    /// Each system that this file holds averages over, as a file of its own; none for a file of a single system.
    ///
    /// # Errors
    /// If it holds fewer systems than it says.
    pub fn systems(&self) -> Result<Vec<ResultsFile>> {
        let Some(ensemble) = self.ensemble().filter(|_| self.holds_systems()) else {
            return Ok(Vec::new());
        };
        let systems = match self.view {
            View::Whole => 0..ensemble.systems(),
            View::Group(index) => index * ensemble.samples..(index + 1) * ensemble.samples,
            View::System(_) => return Ok(Vec::new()),
        };
        let seeds = self.file.root.dataset("systems/seed").map(|seeds| seeds.size());
        if seeds.unwrap_or(0) < systems.end {
            return Err(AnalysisError::content(self.path(), "it lacks systems of its ensemble"));
        }
        Ok(systems.map(|system| self.as_view(View::System(system))).collect())
    }

    /// Whether the systems are of a stage in which replicas are exchanged: at each temperature one follows another.
    pub fn exchanges_replicas(&self) -> bool {
        let (Some(plan), Some(name)) = (self.whole_plan(), self.parameter("stage")) else {
            return false;
        };
        let (ensemble, stages) = (&plan["ensemble"], plan["stages"].as_array());
        let is_named = |stage: &Value| stage["name"].as_str() == Some(&name);
        let Some(stage) = stages.and_then(|stages| stages.iter().position(is_named)) else {
            return false;
        };
        let places = ensemble["temperature_of"].as_array();
        let is_given = |end: &str| {
            let at = |place: &Value| place[end].as_u64() == Some(stage as u64);
            places.is_some_and(|places| places.iter().any(at))
        };
        ensemble["exchange_every"].is_u64() && is_given("from") && is_given("to")
    }

    /// Not a trajectory.
    fn holds_systems(&self) -> bool {
        self.file.root.link_exists("systems")
    }

    fn as_view(&self, view: View) -> ResultsFile {
        ResultsFile { file: Rc::clone(&self.file), view }
    }

    /// Whether it is one of many systems.
    pub(crate) fn is_system(&self) -> bool {
        matches!(self.view, View::System(_))
    }

    /// Which of many systems, temperatures or configurations it is, in words.
    pub fn label(&self) -> Option<String> {
        match self.view {
            View::Whole => None,
            View::Group(index) => Some(match self.ensemble()? {
                Ensemble { configurations: 0, temperatures, .. } => {
                    format!("T = {}", short(*temperatures.get(index)?))
                }
                _ => format!("configuration {index}"),
            }),
            View::System(system) => Some(format!("system {system}")),
        }
    }

    /// Where a group of a single system is for the systems that are read.
    pub(super) fn path_of(&self, group: &str) -> String {
        match self.view {
            View::System(_) => format!("systems/{group}"),
            _ => group.to_owned(),
        }
    }

    /// Place along the axis of systems, temperatures or configurations.
    pub(super) fn index(&self) -> Option<usize> {
        match self.view {
            View::Whole => None,
            View::Group(index) | View::System(index) => Some(index),
        }
    }

    /// The numbers of a function that belong to what is read.
    pub(super) fn values(&self, from: &Dataset) -> Result<Vec<f64>> {
        match self.index() {
            None => self.file.numbers(from),
            Some(index) => self.file.row(from, index),
        }
    }

    /// The same of a time series, whose first axis is time.
    pub(super) fn series_values(&self, from: &Dataset, rows: SliceOrIndex) -> Result<Vec<f64>> {
        let Some(index) = self.index() else { return self.file.numbers(from) };
        let (name, shape) = (from.name(), from.shape());
        if shape.len() < 2 || index >= shape[1] {
            return Err(self.file.bad(format!("{name} has no axis of systems")));
        }
        let size = shape[2..].iter().fold(shape[0], |product, &n| product.saturating_mul(n));
        self.file.check_size(&name, size)?;
        let mut slab = vec![rows, SliceOrIndex::Index(index)];
        slab.resize(shape.len(), SliceOrIndex::from(..));
        let read = from.read_slice::<f64, _, ndarray::IxDyn>(hdf5::Hyperslab::from(slab));
        Ok(read.map_err(self.file.error(&name))?.into_raw_vec_and_offset().0)
    }

    /// The plan of the systems that are read.
    pub(super) fn plan_of_view(&self, mut plan: Value) -> Value {
        let Some(ensemble) = Ensemble::of(&plan) else { return plan };
        let (system, group) = match self.view {
            View::Whole => return plan,
            View::Group(index) => (None, index),
            View::System(system) => (Some(system), system / ensemble.samples),
        };
        let held =
            plan.as_object_mut().and_then(|plan| plan.remove("ensemble")).unwrap_or_default();
        if let Some(system) = system {
            let seed = plan["system"]["seed"].as_u64().unwrap_or(0).wrapping_add(system as u64);
            plan["system"]["seed"] = seed.into();
            if let Some(key) = held["keys_behind_file"].get(system) {
                plan["system"]["key_behind_file"] = key.clone();
            }
        }
        if let Some(configuration) = held["configurations"].get(group) {
            for key in ["path", "system"] {
                plan["system"]["initial"][key] = configuration[key].clone();
            }
        }
        let Some(&temperature) = ensemble.temperatures.get(group) else { return plan };
        for place in held["temperature_of"].as_array().into_iter().flatten() {
            if place == "initial" {
                plan["system"]["initial"]["temperature"] = temperature.into();
            }
            for end in ["from", "to"] {
                let stage = place[end].as_u64().and_then(|stage| usize::try_from(stage).ok());
                let of_stage = stage.and_then(|stage| {
                    plan["stages"].get_mut(stage)?.get_mut("thermostat")?.get_mut("temperature")
                });
                if let Some(of_stage) = of_stage.filter(|of_stage| of_stage.is_object()) {
                    of_stage[end] = temperature.into();
                }
            }
        }
        plan
    }
}
