use serde::{Deserialize, Serialize};

use crate::engine::{EngineReport, Thermodynamics};
use crate::plan::Plan;

/// Sums over the thermodynamic samples of a stage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StageSummary {
    pub name: String,
    pub steps: u64,
    /// Samples after the stage's first step.
    pub samples: u64,
    sum_temperature: f64,
    sum_potential: f64,
    sum_pressure: f64,
    sum_total: f64,
    /// Conserved energy per particle at the first and the last sample.
    first_conserved: Option<f64>,
    last_conserved: f64,
}

impl StageSummary {
    fn mean(&self, sum: f64) -> f64 {
        sum / self.samples as f64
    }
    pub fn temperature(&self) -> f64 {
        self.mean(self.sum_temperature)
    }
    pub fn potential_energy(&self) -> f64 {
        self.mean(self.sum_potential)
    }
    pub fn pressure(&self) -> f64 {
        self.mean(self.sum_pressure)
    }
    pub fn total_energy(&self) -> f64 {
        self.mean(self.sum_total)
    }
    /// Change of the conserved energy per particle over the stage.
    pub fn drift(&self) -> f64 {
        self.last_conserved - self.first_conserved.unwrap_or(self.last_conserved)
    }
}

/// What a run did, stage by stage.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub stages: Vec<StageSummary>,
    /// Of all processes that took part, up to their last checkpoint where they were killed.
    pub seconds: f64,
    /// From the command to the first step of this process: initial state, kernels, lists. Not part of `seconds`.
    pub setup_seconds: f64,
    /// Nothing was left to be done.
    pub was_complete: bool,
    pub particles: usize,
    pub steps: u64,
    /// The engine's report at the end.
    pub engine: Option<EngineReport>,
    last: Option<Thermodynamics>,
}

impl Summary {
    pub fn new(plan: &Plan) -> Self {
        Summary {
            stages: plan
                .stages
                .iter()
                .map(|stage| StageSummary {
                    name: stage.name.clone(),
                    steps: stage.steps,
                    ..StageSummary::default()
                })
                .collect(),
            particles: plan.system.particle_count(),
            steps: plan.total_steps(),
            ..Summary::default()
        }
    }

    pub(super) fn begin(&mut self, stage: usize) {
        let fresh = &mut self.stages[stage];
        let (name, steps) = (fresh.name.clone(), fresh.steps);
        *fresh = StageSummary { name, steps, ..StageSummary::default() };
    }

    pub(super) fn add(&mut self, stage: usize, row: &Thermodynamics) {
        let summary = &mut self.stages[stage];
        // The first sample of a stage is the end of the one before.
        if summary.first_conserved.is_none() {
            summary.first_conserved = Some(row.conserved_energy);
        } else {
            summary.samples += 1;
            summary.sum_temperature += row.temperature;
            summary.sum_potential += row.potential_energy;
            summary.sum_pressure += row.pressure;
            summary.sum_total += row.total_energy();
        }
        summary.last_conserved = row.conserved_energy;
        self.last = Some(*row);
    }

    pub(super) fn last_row(&self) -> Option<&Thermodynamics> {
        self.last.as_ref()
    }

    /// Mean total energy per particle of a stage, if it was sampled.
    pub fn mean_total_energy(&self, stage: &str) -> Option<f64> {
        let summary = self.stages.iter().find(|summary| summary.name == stage)?;
        (summary.samples > 0).then(|| summary.total_energy())
    }
}
