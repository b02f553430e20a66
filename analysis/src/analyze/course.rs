//! How energies went in the course of a stage, and how long it was.
use serde_json::Value;

use crate::Result;
use crate::plan::stage_steps;
use crate::results::ResultsFile;
use crate::statistics::Halves;

/// Energies that age.
pub(super) const ENERGIES: [&str; 2] = ["potential_energy", "inherent_structure_energy"];

/// What one file says of equilibrium.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub energies: Vec<(&'static str, Halves)>,
    /// Time that the stage has covered.
    pub duration: Option<f64>,
}

impl Course {
    pub fn of(file: &ResultsFile, plan: &Value, stage: &str) -> Result<Self> {
        let mut energies = Vec::new();
        for name in ENERGIES {
            let series = file.observable(name)?;
            // The first sample is the end of the stage before.
            let halves =
                series.and_then(|series| Halves::of(series.value.get(1..).unwrap_or_default()));
            energies.extend(halves.map(|halves| (name, halves)));
        }
        Ok(Course { energies, duration: duration(file, plan, stage)? })
    }
}

/// Steps that the stage has taken, else the time between its first and last sample.
fn duration(file: &ResultsFile, plan: &Value, stage: &str) -> Result<Option<f64>> {
    let by_steps = || {
        let timestep = plan["run"]["timestep"].as_f64()?;
        let taken = file.number("progress/step")? - stage_steps(plan, stage)?.0 as f64;
        (taken > 0.0).then_some(taken * timestep)
    };
    if let Some(duration) = by_steps() {
        return Ok(Some(duration));
    }
    let series = file.sampled("temperature", 2)?;
    Ok(series.and_then(|series| Some(series.time.last()? - series.time.first()?)))
}
