//! The validated plan of a run: every default filled in, every name resolved, every number checked.
//!
//! [`crate::config`] makes it from TOML text; everything below reads only this. It is written in full
//! (as JSON) to every output file, so that a file alone says how it was made. Reduced units throughout.
mod barostat;
mod correlation;
mod diameter_classes;
mod diameters;
mod ensemble;
mod limits;
mod observe;
mod output;
mod propensity;
mod rescale;
mod run;
mod shear;
mod strain;
mod structure;
mod swap;
mod thermostat;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
pub use supercool_observables::DynamicObservable;

pub use self::barostat::{BarostatKind, BarostatPlan, Coupling};
pub use self::correlation::{BondPlan, CorrelationPlan, VanHovePlan};
pub use self::diameter_classes::DiameterClassesPlan;
pub use self::diameters::{DiameterDistribution, DiameterPlan, DiameterSampling};
pub use self::ensemble::{ConfigurationPlan, EnsembleKind, EnsemblePlan, TemperatureKey};
pub use self::limits::{LimitAction, LimitsPlan};
pub use self::observe::ObservePlan;
pub use self::output::{CheckpointPlan, FLUSH_SECONDS, IntegrityPlan, OnFullDisk, OutputPlan};
pub use self::propensity::{PropensityObservable, PropensityPlan, States};
pub use self::rescale::RescalePlan;
pub use self::run::{EngineChoice, Precision, RunPlan, TransportChoice};
pub use self::shear::{BoxCourse, NotInTiltedBox, ShearPlan, TiltGrowth};
pub use self::strain::{StrainMode, StrainPlan};
pub use self::structure::{BondOrderPlan, InherentStructuresPlan, LocalOrderPlan, StructurePlan};
pub use self::swap::{SpeciesPairs, SwapPlan};
pub use self::thermostat::{Ramp, Thermostat, ThermostatPlan};

use crate::potential::PotentialPlan;
use crate::system::{SimulationBox, Species, species_of_particles};

/// Everything that is needed to run, in validated form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub system: SystemPlan,
    pub potential: PotentialPlan,
    pub run: RunPlan,
    pub stages: Vec<StagePlan>,
    pub checkpoint: CheckpointPlan,
    pub output: OutputPlan,
    /// `None`: no steps are repeated.
    #[serde(default)]
    pub integrity: Option<IntegrityPlan>,
    #[serde(default)]
    pub limits: LimitsPlan,
    /// `None`: one system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<EnsemblePlan>,
}

impl Plan {
    /// Steps of all stages together.
    pub fn total_steps(&self) -> u64 {
        self.stages.iter().map(|stage| stage.steps).sum()
    }

    /// First step (since the start of the run) of a stage.
    pub fn first_step(&self, stage: usize) -> u64 {
        self.stages[..stage].iter().map(|stage| stage.steps).sum()
    }

    /// Length of a step of a stage.
    pub fn timestep_of(&self, stage: usize) -> f64 {
        self.stages[stage].timestep.unwrap_or(self.run.timestep)
    }

    /// Of the velocities that are drawn at the start of a stage, by system; `None` where it takes those of the stage before.
    pub fn drawn_temperatures(&self, stage: usize) -> Option<Vec<Option<f64>>> {
        let StagePlan { minimize, draw_velocities, .. } = &self.stages[stage];
        let at_minimum = minimize.and_then(|minimize| minimize.temperature);
        let of_thermostat = |system| Some(self.thermostat_of(system, stage)?.temperature.from);
        let of_system =
            |system| at_minimum.or_else(|| of_thermostat(system).filter(|_| *draw_velocities));
        let all: Vec<_> = (0..self.systems()).map(of_system).collect();
        all.iter().any(Option::is_some).then_some(all)
    }

    /// How long particles fly in a step of a stage.
    pub fn flight_of(&self, stage: usize) -> f64 {
        let timestep = self.timestep_of(stage);
        self.stages[stage].flight(timestep).unwrap_or(timestep)
    }

    /// The plan as the engine of a stage sees it: with the stage's timestep in `run`, and the box in which the stage begins.
    pub fn at_stage(&self, stage: usize) -> Plan {
        let mut plan = self.clone();
        plan.run.timestep = self.timestep_of(stage);
        plan.run.flight = self.stages[stage].flight(plan.run.timestep);
        let simulation_box = &mut plan.system.simulation_box;
        for number in 0..stage {
            *simulation_box = self.box_after_stage(number, simulation_box);
        }
        plan
    }

    /// The box at the end of a stage that has begun in another one.
    pub fn box_after_stage(&self, stage: usize, before: &SimulationBox) -> SimulationBox {
        let of = &self.stages[stage];
        let after = of.box_after(before);
        let timestep = self.timestep_of(stage);
        of.shear.map_or(after, |shear| shear.box_after(&after, timestep, of.steps))
    }

    /// Time at a step (since the start of the run) of a stage.
    pub fn time(&self, stage: usize, step: u64) -> f64 {
        if self.stages.iter().all(|stage| stage.timestep.is_none()) {
            return step as f64 * self.run.timestep;
        }
        let length = |stage: usize| self.stages[stage].steps as f64 * self.timestep_of(stage);
        let before: f64 = (0..stage).map(length).sum();
        before + (step - self.first_step(stage)) as f64 * self.timestep_of(stage)
    }

    /// Whether a barostat changes the box in a stage.
    pub fn has_barostat(&self) -> bool {
        self.has_barostat_before(self.stages.len())
    }

    /// The same before a stage, so that its box is that of the state and not of [`at_stage`](Self::at_stage).
    pub fn has_barostat_before(&self, stage: usize) -> bool {
        self.stages[..stage].iter().any(|stage| stage.barostat.is_some())
    }

    /// Whether particles exchange species in a stage.
    pub fn exchanges_species(&self) -> bool {
        self.stages.iter().any(|stage| stage.swap.is_some_and(|swap| swap.is_of_species()))
    }

    /// Whether particles have diameters, which any stage may exchange, or exchange species.
    pub fn may_swap(&self) -> bool {
        self.potential.diameters.is_some() || self.exchanges_species()
    }

    /// Whether the box is sheared in a stage.
    pub fn shears(&self) -> bool {
        self.stages.iter().any(|stage| stage.shear.is_some())
    }

    /// Whether the box has a tilt at some time.
    pub fn has_tilts(&self) -> bool {
        self.system.simulation_box.is_tilted() || !self.tilted_stages().is_empty()
    }

    /// The same while particles take steps.
    pub fn may_tilt(&self) -> bool {
        let moves = |number: usize| {
            let stage = &self.stages[number];
            stage.strain.is_none() && stage.steps > 0
        };
        self.system.simulation_box.is_tilted() || self.tilted_stages().into_iter().any(moves)
    }

    /// The same of one that begins in another box.
    pub fn takes_tilts(&self, simulation_box: &SimulationBox) -> bool {
        self.may_tilt() || simulation_box.is_tilted()
    }

    /// How far neighbor lists of this skin reach: the largest cutoff and the skin.
    pub fn reach(&self, skin: f64) -> f64 {
        self.potential.largest_cutoff() + skin
    }

    /// How far the longer ones of the neighbor lists reach: with diameters, of a largest particle with one of the middle.
    pub fn reach_of_wide(&self, skin: f64) -> f64 {
        let of_diameters = self.potential.diameters.map(|of| {
            let wide = of.of_pair(of.largest, 0.5 * (of.smallest + of.largest));
            self.potential.pairs[0][0].cutoff * wide + skin
        });
        of_diameters.unwrap_or_else(|| self.reach(skin))
    }

    /// Distance of the inner maximum of two particles' potential, by their ids, if `distance` is inside it.
    pub fn inner_maximum_beyond(&self, first: u32, second: u32, distance: f64) -> Option<f64> {
        let species = species_of_particles(&self.system.species);
        let [a, b] = [first, second].map(|id| usize::from(species[id as usize]));
        let maximum = self.potential.form.inner_maximum(&self.potential.pairs[a][b]);
        maximum.filter(|&maximum| distance < maximum)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemPlan {
    /// Periodic box; that of an initial state from a file must be the same.
    pub simulation_box: SimulationBox,
    pub species: Vec<Species>,
    /// How particles get diameters, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameters: Option<DiameterPlan>,
    pub seed: u64,
    pub initial: InitialPlan,
    /// Key of the random numbers of a run from a file, made of the seed and of that file's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_behind_file: Option<u64>,
}

impl SystemPlan {
    /// Key of all random numbers of the run: the seed, except for a run from a file. There the seed would give the noise once
    /// more under which a run with the same seed has come to that state, and under equal noise trajectories approach each
    /// other (B. P. Uberuaga et al., J. Chem. Phys. 120, 6363 (2004)).
    pub fn random_key(&self) -> u64 {
        self.key_behind_file.unwrap_or(self.seed)
    }

    pub fn particle_count(&self) -> usize {
        self.species.iter().map(|species| species.count).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum InitialPlan {
    /// Lattice sites occupied by randomly placed species; Maxwell-Boltzmann velocities with zero
    /// total momentum, scaled to exactly this temperature.
    Lattice { lattice: Lattice, temperature: f64 },
    /// A frame of an H5MD, GSD or extended XYZ file or a checkpoint; `step = None` takes the last one.
    /// `temperature = Some(T)` draws new velocities; without it the file must hold velocities.
    File {
        path: PathBuf,
        step: Option<u64>,
        temperature: Option<f64>,
        /// Which one of a file of many systems.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<usize>,
        /// Of a system of an ensemble, which one of how many it is: the one that it takes of a file of as many.
        #[serde(skip)]
        of: Option<[usize; 2]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lattice {
    /// Face-centred cubic (3D).
    Fcc,
    /// Simple cubic (3D).
    SimpleCubic,
    /// Square (2D).
    Square,
    /// Hexagonal, also called triangular (2D).
    Hexagonal,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagePlan {
    /// Unique; also the stem of this stage's files.
    pub name: String,
    pub steps: u64,
    /// Instead of the run's; where one stage has it, all have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestep: Option<f64>,
    /// The stage begins from the minimum of the potential energy below the state of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimize: Option<MinimizePlan>,
    /// The box changes in the course of the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescale: Option<RescalePlan>,
    /// The stage strains the box and finds minima, and takes no steps in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strain: Option<StrainPlan>,
    /// The box is sheared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shear: Option<ShearPlan>,
    /// `None`: microcanonical.
    pub thermostat: Option<ThermostatPlan>,
    /// `None`: the box does not change by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barostat: Option<BarostatPlan>,
    /// The stage begins with new velocities of its thermostat's first temperature.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draw_velocities: bool,
    /// Exchanges of diameters or species.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapPlan>,
    /// At the start of the stage, velocities are scaled so that the total energy per particle is this.
    pub set_total_energy: Option<TotalEnergy>,
    pub observe: ObservePlan,
    pub correlations: Vec<CorrelationPlan>,
    /// Of runs from the same configurations, in the first stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propensity: Option<PropensityPlan>,
}

/// A descent to a minimum of the potential energy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MinimizePlan {
    pub descent: InherentStructuresPlan,
    /// Of the new velocities; `None`: they are zero.
    pub temperature: Option<f64>,
}

impl StagePlan {
    /// How long particles fly in a step, where that is not the timestep.
    pub fn flight(&self, timestep: f64) -> Option<f64> {
        let flight = self.thermostat?.kind.flight(timestep);
        (flight != timestep).then_some(flight)
    }

    /// The classes by diameter of its observables: all that have classes have the same.
    pub fn diameter_classes(&self) -> Option<&DiameterClassesPlan> {
        let of_correlations =
            self.correlations.iter().find_map(|plan| plan.diameter_classes.as_ref());
        let of_structure =
            self.observe.structure.as_ref().and_then(|plan| plan.diameter_classes.as_ref());
        of_correlations.or(of_structure)
    }

    /// Whether the conserved energy per particle stays as it is. Under a thermostat it walks with the square of the timestep, in sound
    /// runs, too.
    pub fn conserves_energy(&self) -> bool {
        self.thermostat.is_none() && self.rescale.is_none() && self.shear.is_none()
    }

    /// The box at its end, if it has begun in another one.
    pub fn box_after(&self, before: &SimulationBox) -> SimulationBox {
        let strained = self.strain.as_ref().map(|strain| strain.box_after(self.steps, before));
        strained.or(self.rescale.map(|rescale| rescale.to)).unwrap_or(*before)
    }

    /// Whether it has a file of results.
    pub fn has_results(&self) -> bool {
        let observe = &self.observe;
        !self.correlations.is_empty()
            || self.strain.is_some()
            || self.propensity.is_some()
            || observe.thermodynamics.is_some()
            || observe.structure.is_some()
            || observe.bond_order.is_some()
            || observe.local_order.is_some()
            || observe.inherent_structures.is_some()
            || observe.configurational_temperature.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TotalEnergy {
    /// Total energy per particle.
    Value(f64),
    /// Mean of the total energy per particle over the thermodynamic samples of an earlier stage.
    MeanOf(String),
}
