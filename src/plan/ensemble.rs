//! Many systems in one run.
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{InitialPlan, Plan, Thermostat, ThermostatPlan};

/// Systems of one run: the same except for their random numbers, and perhaps their temperatures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnsemblePlan {
    pub kind: EnsembleKind,
    /// Systems of each temperature or configuration; all of them where they have the same.
    pub samples: usize,
    /// Empty where all systems have the same.
    pub temperatures: Vec<f64>,
    /// Of `ReplicaExchange`: steps between exchanges, from the start of a stage that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_every: Option<u64>,
    /// Where the configuration says `temperature = "ensemble"`. The plan holds the highest temperature there.
    pub temperature_of: Vec<TemperatureKey>,
    /// Where [`samples`](Self::samples) systems start from each of several configurations; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<ConfigurationPlan>,
    /// [`SystemPlan::key_behind_file`](super::SystemPlan::key_behind_file) of each system; empty for those on a lattice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys_behind_file: Vec<u64>,
}

/// In what the systems of a run differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnsembleKind {
    /// In their seeds: `seed`, `seed + 1`, ...
    Independent,
    /// In their temperatures and seeds. Systems are numbered temperature by temperature.
    Temperatures,
    /// The same, and neighbors in temperature are exchanged: each system is one of several replicas in turn.
    ReplicaExchange,
    /// In the configurations that they start from, with several runs from each, whose first velocities are drawn by their
    /// seeds (Widmer-Cooper, Harrowell & Fynewever, Phys. Rev. Lett. 93, 135701 (2004)). Systems are numbered configuration by
    /// configuration.
    Isoconfigurational,
}

/// Positions that systems start from: the last frame of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationPlan {
    pub path: PathBuf,
    /// Which one of a file of many systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<usize>,
}

/// A temperature of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemperatureKey {
    /// Of the first velocities.
    Initial,
    /// Of the thermostat at the start of a stage, by its index.
    From(usize),
    /// At its end.
    To(usize),
}

impl EnsemblePlan {
    /// Number of systems.
    pub fn systems(&self) -> usize {
        self.groups() * self.samples
    }

    /// Number of sets of systems that averages are made over: one of each temperature or configuration.
    pub fn groups(&self) -> usize {
        self.temperatures.len().max(self.configurations.len()).max(1)
    }

    /// The systems of a set.
    pub fn group(&self, index: usize) -> Range<usize> {
        index * self.samples..(index + 1) * self.samples
    }

    /// The configuration that a system starts from, where there are several.
    pub fn configuration(&self, system: usize) -> Option<&ConfigurationPlan> {
        self.configurations.get(system / self.samples)
    }

    /// The ensemble's temperature of a system, where there are several.
    pub fn temperature(&self, system: usize) -> Option<f64> {
        self.temperatures.get(system / self.samples).copied()
    }
}

impl InitialPlan {
    /// Takes the positions from another file.
    fn start_from(&mut self, configuration: &ConfigurationPlan) {
        if let InitialPlan::File { path, system, of, .. } = self {
            path.clone_from(&configuration.path);
            (*system, *of) = (configuration.system, None);
        }
    }
}

impl Plan {
    /// Number of systems.
    pub fn systems(&self) -> usize {
        self.ensemble.as_ref().map_or(1, EnsemblePlan::systems)
    }

    /// Particles of all systems together.
    pub fn particles_of_all(&self) -> usize {
        self.systems() * self.system.particle_count()
    }

    /// Whether replicas are exchanged in a stage: each system has a thermostat at its temperature throughout.
    pub fn exchanges_in(&self, stage: usize) -> bool {
        self.ensemble.as_ref().is_some_and(|ensemble| {
            ensemble.exchange_every.is_some()
                && [TemperatureKey::From(stage), TemperatureKey::To(stage)]
                    .iter()
                    .all(|end| ensemble.temperature_of.contains(end))
        })
    }

    /// The plan of one system alone: of a run that gives its bits, unless replicas are exchanged.
    pub fn of_system(&self, system: usize) -> Plan {
        let mut plan = self.clone();
        let Some(ensemble) = plan.ensemble.take() else { return plan };
        plan.system.seed = plan.system.seed.wrapping_add(system as u64);
        plan.system.key_behind_file = ensemble.keys_behind_file.get(system).copied();
        if let InitialPlan::File { of, .. } = &mut plan.system.initial {
            *of = Some([system, ensemble.systems()]);
        }
        if let Some(configuration) = ensemble.configuration(system) {
            plan.system.initial.start_from(configuration);
        }
        if let Some(temperature) = ensemble.temperature(system)
            && ensemble.temperature_of.contains(&TemperatureKey::Initial)
        {
            match &mut plan.system.initial {
                InitialPlan::Lattice { temperature: initial, .. } => *initial = temperature,
                InitialPlan::File { temperature: initial, .. } => *initial = Some(temperature),
            }
        }
        for stage in 0..plan.stages.len() {
            plan.stages[stage].thermostat = self.thermostat_of(system, stage);
            // There is nothing of one run alone.
            plan.stages[stage].propensity = None;
        }
        plan
    }

    /// The thermostat of a system in a stage.
    pub fn thermostat_of(&self, system: usize, stage: usize) -> Option<ThermostatPlan> {
        let mut thermostat = self.stages[stage].thermostat?;
        if let Some(ensemble) = &self.ensemble
            && let Some(temperature) = ensemble.temperature(system)
        {
            let has = |key| ensemble.temperature_of.contains(&key);
            if has(TemperatureKey::From(stage)) {
                thermostat.temperature.from = temperature;
            }
            if has(TemperatureKey::To(stage)) {
                thermostat.temperature.to = temperature;
            }
        }
        Some(thermostat)
    }

    /// Whether a thermostat, or new velocities, give systems random numbers of their own before something is measured.
    pub fn is_drawn_before_measured(&self) -> bool {
        for stage in &self.stages {
            if stage.draw_velocities {
                return true;
            }
            let kind = stage.thermostat.map(|thermostat| thermostat.kind);
            if let Some(
                Thermostat::Andersen { .. }
                | Thermostat::Bussi { .. }
                | Thermostat::Langevin { .. }
                | Thermostat::Brownian { .. },
            ) = kind
            {
                return true;
            }
            if stage.has_results() || stage.observe.has_trajectory() {
                return false;
            }
        }
        false
    }

    /// The plans of one system of each temperature or configuration.
    pub fn of_groups(&self) -> impl Iterator<Item = Plan> {
        let groups = self.ensemble.as_ref().map_or(0..1, |ensemble| 0..ensemble.groups());
        groups.map(|group| {
            let first = self.ensemble.as_ref().map_or(0, |ensemble| ensemble.group(group).start);
            self.of_system(first)
        })
    }
}
