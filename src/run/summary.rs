use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::engine::{EngineReport, ExchangeCounts, Thermodynamics};
use crate::plan::{EnsemblePlan, Plan, StagePlan};

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
    /// Of the xy component of the stress.
    #[serde(default)]
    sum_shear_stress: f64,
    /// Of a steady shear.
    #[serde(default)]
    pub shear_rate: Option<f64>,
    /// Conserved energy per particle at the first and the last sample.
    first_conserved: Option<f64>,
    last_conserved: f64,
    /// Swap trials, and how many were accepted, up to the first and the last sample.
    #[serde(default)]
    first_swaps: [u64; 2],
    #[serde(default)]
    last_swaps: [u64; 2],
    /// The same of trials of a barostat.
    #[serde(default)]
    first_volumes: [u64; 2],
    #[serde(default)]
    last_volumes: [u64; 2],
    #[serde(default)]
    sum_density: f64,
}

/// Trials between two samples, and how many of them were accepted; `None`: there were none.
fn between(first: [u64; 2], last: [u64; 2]) -> Option<[u64; 2]> {
    let [trials, accepted] = [0, 1].map(|k| last[k] - first[k]);
    (trials > 0).then_some([trials, accepted])
}

impl StageSummary {
    fn new(name: &str, steps: u64, shear_rate: Option<f64>) -> Self {
        StageSummary { name: name.to_owned(), steps, shear_rate, ..StageSummary::default() }
    }

    /// Of all samples of some systems together; the conserved energy is the mean over systems.
    fn of_all<'a>(systems: impl Iterator<Item = &'a StageSummary> + Clone) -> Self {
        let first = systems.clone().next().expect("there is a system");
        let count = systems.clone().count() as f64;
        let mut all = StageSummary::new(&first.name, first.steps, first.shear_rate);
        for one in systems {
            all.samples += one.samples;
            all.sum_temperature += one.sum_temperature;
            all.sum_potential += one.sum_potential;
            all.sum_pressure += one.sum_pressure;
            all.sum_total += one.sum_total;
            all.sum_shear_stress += one.sum_shear_stress;
            all.last_conserved += one.last_conserved / count;
            all.sum_density += one.sum_density;
            for k in 0..2 {
                all.first_volumes[k] += one.first_volumes[k];
                all.last_volumes[k] += one.last_volumes[k];
                all.first_swaps[k] += one.first_swaps[k];
                all.last_swaps[k] += one.last_swaps[k];
            }
            if let Some(energy) = one.first_conserved {
                *all.first_conserved.get_or_insert(0.0) += energy / count;
            }
        }
        all
    }

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
    /// Mean of the xy component of the stress.
    pub fn shear_stress(&self) -> f64 {
        self.mean(self.sum_shear_stress)
    }
    /// Swap trials between the first and the last sample, and how many of them were accepted; `None`: there were none.
    pub fn swaps(&self) -> Option<[u64; 2]> {
        between(self.first_swaps, self.last_swaps)
    }

    /// The same of trials of a barostat.
    pub fn volume_trials(&self) -> Option<[u64; 2]> {
        between(self.first_volumes, self.last_volumes)
    }

    /// Mean number density.
    pub fn density(&self) -> f64 {
        self.mean(self.sum_density)
    }

    /// Change of the conserved energy per particle over the stage; in a shear the work of the flow is in it, too.
    pub fn drift(&self) -> f64 {
        self.last_conserved - self.first_conserved.unwrap_or(self.last_conserved)
    }
}

/// What a run did, stage by stage.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// By system, stage.
    pub systems: Vec<Vec<StageSummary>>,
    /// Of replicas, by stage.
    pub(super) exchanges: BTreeMap<usize, ExchangeCounts>,
    /// `None`: one system.
    ensemble: Option<EnsemblePlan>,
    /// Of all processes that took part, up to their last checkpoint where they were killed.
    pub seconds: f64,
    /// From the command to the first step of this process: initial state, kernels, lists. Not part of `seconds`.
    pub setup_seconds: f64,
    /// Nothing was left to be done.
    pub was_complete: bool,
    /// Of each system.
    pub particles: usize,
    pub steps: u64,
    /// The engine's report at the end.
    pub engine: Option<EngineReport>,
    /// Mean temperature and total energy per particle of the last row.
    last: Option<[f64; 2]>,
}

/// The systems that averages are made over: all, or those of a temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The ensemble's, where there are several.
    pub temperature: Option<f64>,
    pub systems: Range<usize>,
}

impl Summary {
    pub fn new(plan: &Plan) -> Self {
        let of_stage = |stage: &StagePlan| {
            let rate = stage.shear.and_then(|shear| shear.rate());
            StageSummary::new(&stage.name, stage.steps, rate)
        };
        let stages: Vec<StageSummary> = plan.stages.iter().map(of_stage).collect();
        Summary {
            systems: vec![stages; plan.systems()],
            ensemble: plan.ensemble.clone(),
            particles: plan.system.particle_count(),
            steps: plan.total_steps(),
            ..Summary::default()
        }
    }

    pub(super) fn begin(&mut self, stage: usize) {
        for stages in &mut self.systems {
            let StageSummary { name, steps, shear_rate, .. } = &stages[stage];
            stages[stage] = StageSummary::new(name, *steps, *shear_rate);
        }
    }

    /// The row of each system.
    pub(super) fn add(&mut self, stage: usize, rows: &[Thermodynamics]) {
        for (stages, row) in self.systems.iter_mut().zip(rows) {
            let summary = &mut stages[stage];
            // The first sample of a stage is the end of the one before.
            if summary.first_conserved.is_none() {
                summary.first_conserved = Some(row.conserved_energy);
                summary.first_swaps = [row.swap_trials, row.swaps];
                summary.first_volumes = [row.volume_trials, row.volume_changes];
            } else {
                summary.samples += 1;
                summary.sum_temperature += row.temperature;
                summary.sum_potential += row.potential_energy;
                summary.sum_pressure += row.pressure;
                summary.sum_density += row.density();
                summary.sum_total += row.total_energy();
                summary.sum_shear_stress += row.stress[0][1];
            }
            summary.last_conserved = row.conserved_energy;
            summary.last_swaps = [row.swap_trials, row.swaps];
            summary.last_volumes = [row.volume_trials, row.volume_changes];
        }
        let mean =
            |of: fn(&Thermodynamics) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
        self.last = Some([mean(|row| row.temperature), mean(Thermodynamics::total_energy)]);
    }

    /// Mean temperature and total energy per particle of the last row.
    pub(super) fn last_row(&self) -> Option<[f64; 2]> {
        self.last
    }

    /// Sets of systems that averages are made over: of configurations, all of the same temperature, one.
    pub fn sets(&self) -> Vec<Set> {
        let several = self.ensemble.as_ref().filter(|ensemble| ensemble.configurations.is_empty());
        let Some(ensemble) = several else {
            return vec![Set { temperature: None, systems: 0..self.systems.len() }];
        };
        let set = |group: usize| {
            let systems = ensemble.group(group);
            Set { temperature: ensemble.temperature(systems.start), systems }
        };
        (0..ensemble.groups()).map(set).collect()
    }

    /// Exchanges of replicas in a stage, if it had any.
    pub fn exchanges_of(&self, stage: usize) -> Option<supercool_analysis::Exchanges> {
        let ExchangeCounts { attempts, acceptances, round_trips } =
            self.exchanges.get(&stage)?.clone();
        let temperatures = self.ensemble.as_ref()?.temperatures.clone();
        Some(supercool_analysis::Exchanges { temperatures, attempts, acceptances, round_trips })
    }

    /// Number of systems, where the run is an ensemble.
    pub fn ensemble(&self) -> Option<usize> {
        self.ensemble.as_ref().map(EnsemblePlan::systems)
    }

    /// A stage of some systems together.
    pub fn stage(&self, stage: usize, systems: Range<usize>) -> StageSummary {
        StageSummary::of_all(self.systems[systems].iter().map(|stages| &stages[stage]))
    }

    /// Mean density of a stage, over all systems, if it was sampled.
    pub fn mean_density(&self, stage: &str) -> Option<f64> {
        let number = self.systems[0].iter().position(|summary| summary.name == stage)?;
        let all = self.stage(number, 0..self.systems.len());
        (all.samples > 0).then(|| all.density())
    }

    /// Mean total energy per particle of a stage of each system, if it was sampled.
    pub fn mean_total_energies(&self, stage: &str) -> Option<Vec<f64>> {
        let of_system = |stages: &Vec<StageSummary>| {
            let summary = stages.iter().find(|summary| summary.name == stage)?;
            (summary.samples > 0).then(|| summary.total_energy())
        };
        self.systems.iter().map(of_system).collect()
    }
}
