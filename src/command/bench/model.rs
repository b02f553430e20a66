use super::BenchArguments;
use crate::command::choices::Tune;
use crate::config::{COMPRESSIBILITY, trial_interval};
use crate::plan::{
    BarostatKind, BarostatPlan, CheckpointPlan, Coupling, DiameterDistribution, DiameterPlan,
    DiameterSampling, EnsembleKind, EnsemblePlan, InitialPlan, Lattice, OutputPlan, Plan,
    Precision, Ramp, RunPlan, SystemPlan, Thermostat,
};
use crate::potential::{Diameters, PairParameters, PairPotential, PotentialPlan, Truncation};
use crate::system::{SimulationBox, Species};

/// The liquids that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Model {
    /// Kob-Andersen mixture, density 1.2, T = 0.8, constant energy.
    KobAndersen,
    /// Lennard-Jones fluid at packing fraction 0.2, T = 1.2, Nose-Hoover thermostat.
    LjFluid,
    /// Lennard-Jones particles from an fcc lattice of density 0.8442 and T = 1.44, constant energy.
    LjNve,
    /// Polydisperse spheres (r^-12, even-quartic truncation at 1.25 sigma_ij, diameters of 0.73 to 1.62), density 1, T = 0.25,
    /// constant energy.
    PolydisperseSpheres,
}

/// A thermodynamic state and the way to it.
///
/// - `kob-andersen`: Phys. Rev. Lett. 73, 1376 (1994); the state that peers are compared at.
/// - `lj-fluid`: the liquid of Glaser et al., Comput. Phys. Commun. 192, 97 (2015), section 6.1 (packing
///   fraction 0.2, cutoff 3 sigma), at T = 1.2. Their thermostat is one Nose-Hoover variable: here a chain
///   of one link of relaxation time 0.5.
/// - `lj-nve`: the melting benchmark `bench/in.lj` of LAMMPS ("LJ-Melt" of Crozier, 2011).
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub density: f64,
    pub timestep: f64,
    /// In units of a pair's sigma.
    pub cutoff: f64,
    /// Of the first velocities.
    pub start: f64,
    /// Steps of a Langevin thermostat at the first temperature, unless given.
    pub melt_steps: u64,
    /// Temperature of the Langevin thermostat of the equilibration; without it that is at constant energy.
    pub equilibration_temperature: Option<f64>,
    pub equilibration_steps: u64,
    /// Of the measured steps.
    pub thermostat: Option<(Thermostat, f64)>,
}

/// What acts on the velocities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acting {
    /// Nothing: constant energy.
    None,
    /// Collisions of rate 1.
    Andersen,
    /// Of friction 1.
    Langevin,
    /// Of relaxation time 0.5.
    Bussi,
    /// Constant kinetic energy.
    Isokinetic,
    /// A chain of three links and period 0.5.
    NoseHoover,
}

impl Acting {
    /// The thermostat with its temperature, that of a state.
    pub fn at(self, state: &State) -> Option<(Thermostat, f64)> {
        let kind = match self {
            Acting::None => return None,
            Acting::Andersen => Thermostat::Andersen { rate: 1.0, exact: false },
            Acting::Langevin => Thermostat::Langevin { friction: 1.0 },
            Acting::Bussi => Thermostat::Bussi { time: 0.5 },
            Acting::Isokinetic => Thermostat::Isokinetic,
            Acting::NoseHoover => Thermostat::NoseHoover { period: 0.5, chain_length: 3 },
        };
        let own = state.thermostat.map(|(_, temperature)| temperature);
        Some((kind, own.or(state.equilibration_temperature).unwrap_or(state.start)))
    }

    pub fn of(thermostat: Option<(Thermostat, f64)>) -> Self {
        match thermostat.map(|(kind, _)| kind) {
            None => Acting::None,
            Some(Thermostat::Andersen { .. }) => Acting::Andersen,
            Some(Thermostat::Langevin { .. } | Thermostat::Brownian { .. }) => Acting::Langevin,
            Some(Thermostat::Bussi { .. }) => Acting::Bussi,
            Some(Thermostat::Isokinetic) => Acting::Isokinetic,
            Some(Thermostat::NoseHoover { .. }) => Acting::NoseHoover,
        }
    }
}

/// What keeps the pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pressing {
    /// Nothing: constant volume.
    None,
    /// Trials of relaxation time 1.
    CellRescaling,
}

impl Pressing {
    /// The barostat of a run that names no more than pressure and time.
    pub fn at(self, pressure: f64, timestep: f64) -> Option<BarostatPlan> {
        let time = 1.0;
        (self == Pressing::CellRescaling).then(|| BarostatPlan {
            kind: BarostatKind::CellRescaling,
            pressure: Ramp { from: pressure, to: pressure },
            time,
            compressibility: COMPRESSIBILITY,
            every: trial_interval(time, timestep),
            coupling: Coupling::Isotropic,
            chain_length: 0,
        })
    }
}

impl Model {
    /// Name of its truncation: polydisperse spheres have one of their own.
    pub fn truncation(self, arguments: &BenchArguments) -> &str {
        match self {
            Model::PolydisperseSpheres => "even-quartic",
            _ => &arguments.truncation,
        }
    }

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Model::KobAndersen => "kob-andersen",
            Model::LjFluid => "lj-fluid",
            Model::LjNve => "lj-nve",
            Model::PolydisperseSpheres => "polydisperse-spheres",
        }
    }

    pub fn state(self) -> State {
        use std::f64::consts::PI;
        match self {
            Model::KobAndersen => State {
                density: 1.2,
                timestep: 0.004,
                cutoff: 2.5,
                start: 2.0,
                melt_steps: 1000,
                equilibration_temperature: Some(0.8),
                equilibration_steps: 2000,
                thermostat: None,
            },
            Model::LjFluid => State {
                // Spheres of diameter sigma fill a fifth.
                density: 0.2 * 6.0 / PI,
                timestep: 0.005,
                cutoff: 3.0,
                start: 2.0,
                melt_steps: 1000,
                equilibration_temperature: Some(1.2),
                equilibration_steps: 2000,
                thermostat: Some((
                    Thermostat::NoseHoover { period: 2.0 * PI * 0.5, chain_length: 1 },
                    1.2,
                )),
            },
            // A. Ninarello et al., Phys. Rev. X 7, 021039 (2017), above its onset temperature of 0.2.
            Model::PolydisperseSpheres => State {
                density: 1.0,
                timestep: 0.005,
                cutoff: 1.25,
                start: 1.0,
                melt_steps: 1000,
                equilibration_temperature: Some(0.25),
                equilibration_steps: 2000,
                thermostat: None,
            },
            Model::LjNve => State {
                density: 0.8442,
                timestep: 0.005,
                cutoff: 2.5,
                start: 1.44,
                melt_steps: 0,
                equilibration_temperature: None,
                equilibration_steps: 1000,
                thermostat: None,
            },
        }
    }

    /// Without stages; the velocities are drawn by the benchmark.
    pub fn plan(self, particles: usize, precision: Precision, arguments: &BenchArguments) -> Plan {
        let state = self.state();
        let pair = |epsilon: f64, sigma: f64| {
            PairParameters::of_epsilon_and_sigma(epsilon, sigma, state.cutoff * sigma)
        };
        let species = |name: &str, count| Species { name: name.into(), count, mass: 1.0 };
        let (species, pairs) = match self {
            Model::KobAndersen => {
                let b = particles / 5;
                let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
                let species = vec![species("A", particles - b), species("B", b)];
                (species, vec![vec![aa, ab], vec![ab, bb]])
            }
            Model::LjFluid | Model::LjNve | Model::PolydisperseSpheres => {
                (vec![species("A", particles)], vec![vec![pair(1.0, 1.0)]])
            }
        };
        let is_polydisperse = self == Model::PolydisperseSpheres;
        let form = match self {
            Model::PolydisperseSpheres => PairPotential::InversePower { n: 12 },
            _ => PairPotential::LennardJones,
        };
        let truncation = truncation(self.truncation(arguments));
        Plan {
            system: SystemPlan {
                diameters: is_polydisperse.then_some(DIAMETERS),
                simulation_box: SimulationBox::cubic(3, particles, state.density),
                species,
                seed: 1,
                initial: InitialPlan::Lattice { lattice: Lattice::Fcc, temperature: state.start },
                key_behind_file: None,
            },
            potential: arguments.potential.of(PotentialPlan {
                diameters: is_polydisperse.then_some(MIXING),
                form,
                truncation,
                pairs,
            }),
            run: RunPlan {
                engine: arguments.engine,
                precision,
                timestep: arguments.timestep.unwrap_or(state.timestep),
                flight: None,
                threads: arguments.threads,
                skin: arguments.skin,
                threads_per_particle: arguments
                    .threads_per_particle
                    .as_ref()
                    .and_then(|n| n.parse().ok()),
                tune: arguments.tune == Tune::On,
                sort_interval: 1,
                transport: arguments.transport,
            },
            stages: Vec::new(),
            checkpoint: CheckpointPlan { minutes: f64::INFINITY },
            output: OutputPlan::default(),
            integrity: None,
            limits: Default::default(),
            ensemble: (arguments.systems > 1).then(|| EnsemblePlan {
                kind: EnsembleKind::Independent,
                samples: arguments.systems,
                temperatures: Vec::new(),
                exchange_every: None,
                temperature_of: Vec::new(),
                configurations: Vec::new(),
                keys_behind_file: Vec::new(),
            }),
        }
    }
}

fn truncation(word: &str) -> Truncation {
    match word {
        "smooth" => Truncation::Smooth { width: 0.005 },
        "sharp" => Truncation::Sharp,
        "even-quartic" => Truncation::EvenQuartic,
        _ => Truncation::Shifted,
    }
}

const DIAMETERS: DiameterPlan = DiameterPlan {
    distribution: DiameterDistribution::PowerLaw { exponent: 3.0, minimum: 0.73, maximum: 1.62 },
    sampling: DiameterSampling::Quantiles,
};
const MIXING: Diameters = Diameters { non_additivity: 0.2, smallest: 0.73, largest: 1.62 };
