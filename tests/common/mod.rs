//! Plans and states for tests.
#![allow(dead_code)]
pub mod contents;
#[cfg(target_os = "linux")]
pub mod emulated_gpu;
pub mod job;
pub mod mounted;
pub mod python;

use std::path::{Path, PathBuf};

use serde_json::Value;
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::plan::{
    CheckpointPlan, EngineChoice, InitialPlan, Lattice, OutputPlan, Plan, Precision, Ramp, RunPlan,
    ShearPlan, SpeciesPairs, SwapPlan, SystemPlan, Thermostat, ThermostatPlan,
};
use supercool::potential::{Diameters, PairParameters, PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species, species_of_particles};

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub fn json(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(data(name)).unwrap()).unwrap()
}

/// A plan of a system and potential, microcanonical, on the CPU.
pub fn plan_of(
    simulation_box: SimulationBox,
    species: Vec<Species>,
    potential: PotentialPlan,
    precision: Precision,
) -> Plan {
    let lattice = if simulation_box.dimension() == 2 { Lattice::Square } else { Lattice::Fcc };
    Plan {
        system: SystemPlan {
            diameters: None,
            simulation_box,
            species,
            seed: 42,
            initial: InitialPlan::Lattice { lattice, temperature: 1.0 },
            key_behind_file: None,
        },
        potential,
        run: RunPlan {
            engine: EngineChoice::Cpu,
            precision,
            timestep: 0.004,
            flight: None,
            threads: Some(1),
            skin: None,
            threads_per_particle: None,
            tune: false,
            sort_interval: 1,
            transport: Default::default(),
        },
        stages: Vec::new(),
        checkpoint: CheckpointPlan { minutes: 1e9 },
        output: OutputPlan::default(),
        integrity: None,
        limits: Default::default(),
        ensemble: None,
    }
}

pub fn pair(epsilon: f64, sigma: f64, cutoff: f64) -> PairParameters {
    PairParameters::of_epsilon_and_sigma(epsilon, sigma, cutoff * sigma)
}

/// Kob-Andersen's interactions; cutoff in units of sigma.
pub fn kob_andersen_potential(truncation: Truncation) -> PotentialPlan {
    let (aa, ab, bb) = (pair(1.0, 1.0, 2.5), pair(1.5, 0.8, 2.5), pair(0.5, 0.88, 2.5));
    PotentialPlan {
        diameters: None,
        form: PairPotential::LennardJones,
        truncation,
        pairs: vec![vec![aa, ab], vec![ab, bb]],
    }
}

/// Kob-Andersen's mixture with a third species between A and B, at density 1.2 (A. D. S. Parmar, M. Ozawa & L. Berthier, Phys. Rev. Lett.
/// 125, 085505 (2020)); numbers of A, B and C.
pub fn kob_andersen_2(
    simulation_box: SimulationBox,
    counts: [usize; 3],
    precision: Precision,
) -> Plan {
    let of = |epsilon, sigma| pair(epsilon, sigma, 2.5);
    let (aa, ab, ac) = (of(1.0, 1.0), of(1.5, 0.8), of(1.25, 0.9));
    let (bb, bc, cc) = (of(0.5, 0.88), of(1.0, 0.84), of(0.75, 0.94));
    let potential = PotentialPlan {
        diameters: None,
        form: PairPotential::LennardJones,
        truncation: Truncation::EvenQuartic,
        pairs: vec![vec![aa, ab, ac], vec![ab, bb, bc], vec![ac, bc, cc]],
    };
    let species = ["A", "B", "C"].into_iter().zip(counts);
    let species = species.map(|(name, count)| Species { name: name.into(), count, mass: 1.0 });
    plan_of(simulation_box, species.collect(), potential, precision)
}

/// Exchanges of C with A and B of [`kob_andersen_2`].
pub fn exchanges_with_c(every: u64, trials_per_particle: f64) -> SwapPlan {
    let mut pairs = SpeciesPairs::default();
    pairs.insert(0, 2);
    pairs.insert(1, 2);
    SwapPlan { every, trials_per_particle, pairs }
}

/// Soft spheres or disks with diameters of 0.73 to 1.62: `r^-12`, even-quartic truncation at 1.25 diameters of a pair, non-additivity
/// 0.2 (A. Ninarello, L. Berthier & D. Coslovich, Phys. Rev. X 7, 021039 (2017)).
pub fn polydisperse(simulation_box: SimulationBox, count: usize, precision: Precision) -> Plan {
    let potential = PotentialPlan {
        form: PairPotential::InversePower { n: 12 },
        truncation: Truncation::EvenQuartic,
        pairs: vec![vec![pair(1.0, 1.0, 1.25)]],
        diameters: Some(Diameters { non_additivity: 0.2, smallest: 0.73, largest: 1.62 }),
    };
    let species = vec![Species { name: "A".into(), count, mass: 1.0 }];
    plan_of(simulation_box, species, potential, precision)
}

pub fn two_species(a: usize, b: usize) -> Vec<Species> {
    vec![
        Species { name: "A".into(), count: a, mass: 1.0 },
        Species { name: "B".into(), count: b, mass: 1.0 },
    ]
}

/// Kob-Andersen mixture, 80:20 in three dimensions and 65:35 in two, at density 1.2.
pub fn kob_andersen(dimension: usize, count: usize, precision: Precision) -> Plan {
    let b = if dimension == 2 { count * 35 / 100 } else { count / 5 };
    plan_of(
        SimulationBox::cubic(dimension, count, 1.2),
        two_species(count - b, b),
        kob_andersen_potential(Truncation::Smooth { width: 0.005 }),
        precision,
    )
}

pub fn thermostat_at(kind: Thermostat, temperature: f64) -> Option<ThermostatPlan> {
    Some(ThermostatPlan { kind, temperature: Ramp { from: temperature, to: temperature } })
}

/// Enters a stage without end.
pub fn begin(engine: &mut dyn Engine, thermostat: Option<ThermostatPlan>) {
    let first_step = engine.step();
    engine
        .begin_stage(&StageContext {
            thermostat,
            first_step,
            steps: u64::MAX / 2,
            swap: None,
            barostat: None,
            shear: None,
        })
        .unwrap();
}

/// Molten at T = 2 and brought to a temperature by a Langevin thermostat; then microcanonical.
pub fn liquid(plan: &Plan, temperature: f64, steps: u64) -> Box<dyn Engine> {
    let state = supercool::initial::create(plan).unwrap();
    let mut engine = engine::create(plan, &state).unwrap();
    engine.draw_velocities(2.0, true).unwrap();
    for (temperature, steps) in [(2.0, steps / 2), (temperature, steps - steps / 2)] {
        begin(engine.as_mut(), thermostat_at(Thermostat::Langevin { friction: 2.0 }, temperature));
        engine.advance(steps).unwrap();
    }
    begin(engine.as_mut(), None);
    engine
}

/// A liquid at a temperature of 1, without a momentum of the whole.
pub fn melt(plan: &Plan) -> ExactState {
    let mut engine = liquid(plan, 1.0, 100);
    engine.draw_velocities(1.0, true).unwrap();
    engine.export().unwrap()
}

/// A stage without end in a steady shear, at a temperature of 1 where it has a thermostat.
pub fn flow(rate: f64, thermostat: Option<Thermostat>, first_step: u64) -> StageContext {
    let shear = Some(ShearPlan::Steady { rate });
    let thermostat = thermostat.and_then(|kind| thermostat_at(kind, 1.0));
    StageContext { thermostat, first_step, steps: u64::MAX / 2, swap: None, barostat: None, shear }
}

/// An engine that holds another's state under another plan.
pub fn engine_with(plan: &Plan, state: &ExactState) -> Box<dyn Engine> {
    let mut engine = engine::create(plan, state).unwrap();
    begin(engine.as_mut(), None);
    engine
}

/// The first frame of a file as a plan and a state, velocities zero where it has none, and diameters where it has them.
pub fn from_file(
    path: &Path,
    potential: PotentialPlan,
    precision: Precision,
) -> (Plan, ExactState) {
    let frame = supercool_analysis::open(path).unwrap().read(0).unwrap();
    let count = frame.particle_count();
    let species: Vec<Species> = frame
        .species_names
        .iter()
        .map(|name| Species {
            name: name.clone(),
            count: frame.particles_of(name).len(),
            mass: 1.0,
        })
        .collect();
    let plan = plan_of(SimulationBox::new(&frame.box_edges), species, potential, precision);
    let snapshot = Snapshot {
        diameter: frame.diameter.unwrap_or_default().into(),
        step: 0,
        position: frame.position,
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: frame.velocity.unwrap_or_else(|| vec![[0.0; 3]; count]),
    };
    let state = exact(&plan, &snapshot);
    (plan, state)
}

pub fn exact(plan: &Plan, snapshot: &Snapshot) -> ExactState {
    ExactState::from_snapshot(
        snapshot,
        species_of_particles(&plan.system.species),
        plan.system.simulation_box,
        plan.run.timestep,
        plan.run.precision,
        &plan.system.species,
    )
    .unwrap()
}
