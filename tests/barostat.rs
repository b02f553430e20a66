//! Constant pressure: exact averages, and bits that depend on nobody who takes the trials.
mod common;

use common::{exact, kob_andersen, thermostat_at};
use supercool::config;
use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, ExactState, StageContext};
use supercool::plan::{
    BarostatKind, BarostatPlan, Coupling, Plan, Precision, Ramp, SwapPlan, Thermostat,
    ThermostatPlan,
};
use supercool::system::{SimulationBox, Snapshot};

fn barostat(pressure: f64, compressibility: f64, every: u64, coupling: Coupling) -> BarostatPlan {
    BarostatPlan {
        kind: BarostatKind::CellRescaling,
        pressure: Ramp { from: pressure, to: pressure },
        time: 1.0,
        compressibility,
        every,
        coupling,
        chain_length: 0,
    }
}

const GAS: &str = r#"
[system]
dimension = 3
box = [4.0, 4.0, 4.0]
species = [{ name = "A", count = 60 }]
initial = { lattice = "fcc", temperature = 1.5 }

[potential]
kind = "gaussian-core"
cutoff = 1.0
truncation = "shifted"
pairs = { AA = { epsilon = 1e-5, sigma = 1.0 } }

[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.05
skin = 0.3

[[stage]]
name = "npt"
steps = 1
"#;

const COUNT: usize = 60;

/// Particles on a lattice, at rest.
fn gas(timestep: f64) -> (Plan, ExactState) {
    let mut plan = config::parse(GAS, "gas").unwrap();
    plan.run.timestep = timestep;
    let at = |i: usize| [0.9 * (i % 4) as f64, 0.9 * (i / 4 % 4) as f64, 0.9 * (i / 16) as f64];
    let snapshot = Snapshot {
        step: 0,
        position: (0..COUNT).map(at).collect(),
        fraction: Vec::new(),
        image: vec![[0; 3]; COUNT],
        velocity: vec![[0.0; 3]; COUNT],
        diameter: Default::default(),
    };
    let state = exact(&plan, &snapshot);
    (plan, state)
}

/// Particles that hardly see each other are an ideal gas, whose volume has the mean `(N + 1) T / P` and the variance
/// `(N + 1) (T / P)^2`.
#[test]
fn a_gas_without_forces_has_its_exact_volume() {
    let (plan, state) = gas(0.05);
    let mut engine = engine::create(&plan, &state).unwrap();
    engine.draw_velocities(1.5, true).unwrap();
    let stage = StageContext {
        thermostat: thermostat_at(Thermostat::Bussi { time: 1.0 }, 1.5),
        barostat: Some(barostat(2.0, 0.4, 6, Coupling::Isotropic)),
        steps: u64::MAX / 2,
        ..StageContext::none(0)
    };
    engine.begin_stage(&stage).unwrap();
    engine.advance(600).unwrap();
    let trials = 2500;
    let (mut sum, mut square) = (0.0, 0.0);
    for _ in 0..trials {
        engine.advance(6).unwrap();
        let volume = engine.simulation_box().volume();
        sum += volume;
        square += volume * volume;
    }
    let mean = sum / f64::from(trials);
    let variance = square / f64::from(trials) - mean * mean;
    let (unit, particles) = (1.5 / 2.0, COUNT as f64);
    // Volumes are correlated over some ten trials: relative errors of 0.8 % and of 9 %, three times of which are allowed.
    assert!((mean / ((particles + 1.0) * unit) - 1.0).abs() < 0.024, "{mean}");
    assert!((variance / ((particles + 1.0) * unit * unit) - 1.0).abs() < 0.27, "{variance}");
    let memory = engine.export().unwrap().thermostat;
    assert_eq!(memory.volume_trials, 2600);
    assert!((1000..2600).contains(&memory.volume_changes), "{memory:?}");
}

/// The liquid of the Kob-Andersen mixture away from its density, so that the box changes soon and much.
fn liquid() -> (Plan, Vec<StageContext>) {
    let mut plan = kob_andersen(3, 700, Precision::FixedPoint);
    plan.run.skin = Some(0.25);
    let stage = |first_step, kind, coupling| StageContext {
        thermostat: thermostat_at(kind, 1.5),
        barostat: Some(BarostatPlan {
            pressure: Ramp { from: 14.0, to: 10.0 },
            time: 0.03,
            ..barostat(14.0, 0.03, 4, coupling)
        }),
        first_step,
        steps: 60,
        ..StageContext::none(first_step)
    };
    let isotropic = stage(0, Thermostat::Bussi { time: 0.5 }, Coupling::Isotropic);
    let chain = Thermostat::NoseHoover { period: 0.5, chain_length: 3 };
    let alone = StageContext { first_step: 120, steps: 20, ..StageContext::none(120) };
    (plan, vec![isotropic, stage(60, chain, Coupling::Anisotropic), alone])
}

/// Goes on from a state by parts that end where stages do, or before.
fn go_on(ranks: &Ranks, state: &ExactState, parts: &[u64]) -> ExactState {
    let (mut plan, stages) = liquid();
    plan.system.simulation_box = state.simulation_box;
    let mut engine = engine::create_on(ranks, &plan, state).unwrap();
    if state.step == 0 {
        engine.draw_velocities(1.5, true).unwrap();
    }
    for &steps in parts {
        let step = engine.step();
        let stage = stages.iter().rfind(|stage| stage.first_step <= step).unwrap();
        engine.begin_stage(stage).unwrap();
        engine.advance(steps).unwrap();
    }
    ExactState { memory: None, ..engine.export().unwrap() }
}

#[test]
fn states_at_constant_pressure_do_not_depend_on_ranks_stops_or_lists() {
    let first = supercool::initial::create(&liquid().0).unwrap();
    let alone = Ranks::default();
    let expected = go_on(&alone, &first, &[60, 60, 20]);
    let memory = &expected.thermostat;
    assert_eq!(memory.volume_trials, 30);
    assert!((8..30).contains(&memory.volume_changes), "{memory:?}");
    let edges = expected.simulation_box.edges();
    assert!(edges.iter().all(|edge| (edge / first.simulation_box.edges()[0] - 1.0).abs() > 1e-4));
    assert!(edges[0] != edges[1] && edges[1] != edges[2], "{edges:?}");
    for ranks in [2, 4] {
        let found = on_threads(ranks, |ranks| go_on(&ranks, &first, &[60, 60, 20]));
        assert_eq!(found, expected, "{ranks} ranks");
    }
    let mut state = first;
    for parts in [&[7][..], &[1], &[44], &[8, 3], &[37, 20, 20]] {
        state = go_on(&alone, &state, parts);
    }
    assert_eq!(state, expected);
}

/// Both kinds of trials in one stage: each leaves a state with which the other can begin.
#[test]
fn volumes_change_beside_swaps() {
    const COUNT: usize = 300;
    let plan =
        common::polydisperse(SimulationBox::cubic(3, COUNT, 1.0), COUNT, Precision::FixedPoint);
    let mut first = supercool::initial::create(&plan).unwrap();
    let share = |i: usize| (i * 37 % COUNT) as f64 / COUNT as f64;
    first.diameter = (0..COUNT).map(|i| f64::from((0.73 + 0.89 * share(i)) as f32)).collect();
    let stage = StageContext {
        thermostat: thermostat_at(Thermostat::Langevin { friction: 1.0 }, 0.8),
        barostat: Some(barostat(20.0, 0.01, 10, Coupling::Isotropic)),
        swap: Some(SwapPlan { every: 5, trials_per_particle: 1.0, pairs: Default::default() }),
        steps: 60,
        ..StageContext::none(0)
    };
    let run = |ranks: &Ranks| {
        let mut engine = engine::create_on(ranks, &plan, &first).unwrap();
        engine.draw_velocities(0.8, true).unwrap();
        engine.begin_stage(&stage).unwrap();
        engine.advance(60).unwrap();
        ExactState { memory: None, ..engine.export().unwrap() }
    };
    let expected = run(&Ranks::default());
    let memory = &expected.thermostat;
    assert_eq!((memory.swap_trials, memory.volume_trials), (12 * COUNT as u64, 6));
    assert!(memory.swaps > 100 && memory.volume_changes > 0, "{memory:?}");
    assert_eq!(on_threads(2, |ranks| run(&ranks)), expected);
}

/// The energy that a new volume brings is booked as heat: what is conserved goes on as at constant volume.
#[test]
fn the_conserved_energy_counts_the_work_of_the_barostat() {
    let (mut plan, mut stages) = liquid();
    plan.run.timestep = 0.001;
    let state = supercool::initial::create(&plan).unwrap();
    let mut engine = engine::create(&plan, &state).unwrap();
    engine.draw_velocities(1.5, true).unwrap();
    let stage = &mut stages[0];
    stage.steps = 200;
    engine.begin_stage(stage).unwrap();
    engine.advance(100).unwrap();
    let before = engine.thermodynamics().unwrap();
    engine.advance(100).unwrap();
    let after = engine.thermodynamics().unwrap();
    let change = after.conserved_energy - before.conserved_energy;
    let of_total = after.total_energy() - before.total_energy();
    assert!(of_total.abs() > 0.02, "{of_total}");
    // Of the time step: below 1e-4 in the melt without barostat, too.
    assert!(change.abs() < 3e-4, "{change} of {of_total}");
}

fn piston(pressure: f64, time: f64) -> BarostatPlan {
    let kind = BarostatKind::Mtk;
    BarostatPlan { kind, time, chain_length: 3, ..barostat(pressure, 0.0, 1, Coupling::Isotropic) }
}

fn chain(period: f64) -> Thermostat {
    Thermostat::NoseHoover { period, chain_length: 3 }
}

/// With a piston, which leaves the centre of mass at rest, the volume of an ideal gas has the mean `N T / P` and the variance `N (T / P)^2`.
#[test]
fn a_gas_under_a_piston_has_its_exact_volume() {
    let (plan, state) = gas(0.02);
    let mut engine = engine::create(&plan, &state).unwrap();
    engine.draw_velocities(1.5, true).unwrap();
    let stage = StageContext {
        thermostat: thermostat_at(chain(3.0), 1.5),
        barostat: Some(piston(2.0, 0.5)),
        steps: u64::MAX / 2,
        ..StageContext::none(0)
    };
    engine.begin_stage(&stage).unwrap();
    engine.advance(400).unwrap();
    let samples = 2500;
    let (mut sum, mut square) = (0.0, 0.0);
    for _ in 0..samples {
        engine.advance(5).unwrap();
        let volume = engine.simulation_box().volume();
        sum += volume;
        square += volume * volume;
    }
    let mean = sum / f64::from(samples);
    let variance = square / f64::from(samples) - mean * mean;
    let (unit, particles) = (1.5 / 2.0, COUNT as f64);
    // Volumes are correlated over one unit of time or two: errors of 1 % and of 11 %, three times of which are allowed.
    assert!((mean / (particles * unit) - 1.0).abs() < 0.03, "{mean}");
    assert!((variance / (particles * unit * unit) - 1.0).abs() < 0.33, "{variance}");
}

/// The liquid under a piston at some pressure away from its own, which falls where one piston moves all edges; by axis the temperature falls.
fn under_piston(timestep: f64, coupling: Coupling) -> (Plan, StageContext) {
    let (mut plan, _) = liquid();
    plan.run.timestep = timestep;
    let (pressure, temperature) =
        if coupling == Coupling::Isotropic { (5.0, 1.5) } else { (10.0, 0.9) };
    let pressure = Ramp { from: 10.0, to: pressure };
    let temperature = Ramp { from: 1.5, to: temperature };
    let thermostat = thermostat_at(chain(0.5), 1.5);
    let stage = StageContext {
        thermostat: thermostat.map(|thermostat| ThermostatPlan { temperature, ..thermostat }),
        barostat: Some(BarostatPlan { coupling, pressure, ..piston(10.0, 0.3) }),
        steps: (4.0 / timestep).round() as u64,
        ..StageContext::none(0)
    };
    (plan, stage)
}

#[test]
fn the_energy_with_a_piston_is_conserved_to_second_order() {
    let (plan, _) = liquid();
    let mut engine = engine::create(&plan, &supercool::initial::create(&plan).unwrap()).unwrap();
    engine.draw_velocities(1.5, true).unwrap();
    engine.advance(100).unwrap();
    let melt = engine.export().unwrap();
    for coupling in [Coupling::Isotropic, Coupling::Anisotropic] {
        the_energy_is_conserved(&melt, coupling);
    }
}

fn the_energy_is_conserved(melt: &ExactState, coupling: Coupling) {
    let changes = [0.004, 0.002].map(|timestep| {
        let (plan, stage) = under_piston(timestep, coupling);
        let state = melt.at_timestep(timestep, &plan.system.species).unwrap();
        let mut engine = engine::create(&plan, &state).unwrap();
        engine.begin_stage(&StageContext { first_step: 100, ..stage }).unwrap();
        let start = engine.thermodynamics().unwrap();
        let (mut sum, parts) = (0.0, 40);
        for _ in 0..parts {
            engine.advance((0.02 / timestep).round() as u64).unwrap();
            let now = engine.thermodynamics().unwrap();
            sum += (now.conserved_energy - start.conserved_energy).powi(2);
        }
        let end = engine.thermodynamics().unwrap();
        assert!((end.density() / start.density() - 1.0).abs() > 0.01, "{}", end.density());
        (sum / f64::from(parts)).sqrt()
    });
    // Kinetic energies of whole steps fluctuate around it by the second order, too.
    assert!(changes[0] < 3e-3, "{coupling:?}: {changes:?}");
    assert!((3.0..5.0).contains(&(changes[0] / changes[1])), "{coupling:?}: {changes:?}");
}

#[test]
fn states_under_a_piston_do_not_depend_on_threads_stops_or_lists() {
    let first = supercool::initial::create(&under_piston(0.004, Coupling::Isotropic).0).unwrap();
    let run = |coupling, parts: &[u64], threads, skin| {
        let (plan, stage) = under_piston(0.004, coupling);
        let mut state = first.clone();
        for &steps in parts {
            let mut plan = plan.clone();
            (plan.run.threads, plan.run.skin) = (Some(threads), Some(skin));
            let mut engine = engine::create(&plan, &state).unwrap();
            if state.step == 0 {
                engine.draw_velocities(1.5, true).unwrap();
            }
            engine.begin_stage(&stage).unwrap();
            engine.advance(steps).unwrap();
            state = engine.export().unwrap();
        }
        ExactState { memory: None, ..state }
    };
    for coupling in [Coupling::Isotropic, Coupling::Anisotropic] {
        let expected = run(coupling, &[90], 1, 0.25);
        let simulation_box = &expected.simulation_box;
        let volume = simulation_box.volume();
        assert!((volume / first.simulation_box.volume() - 1.0).abs() > 0.02, "{volume}");
        let edges = simulation_box.edges();
        let keeps_shape = edges.windows(2).all(|pair| pair[0] == pair[1]);
        assert_eq!(keeps_shape, coupling == Coupling::Isotropic, "{edges:?}");
        assert_eq!(run(coupling, &[1, 40, 49], 2, 0.1), expected);
        assert!(expected.thermostat.piston.is_some());
    }
}

/// All ranks move the same piston; lists and ghosts are made anew in boxes of several sizes, and steps go on in the last one.
#[test]
fn states_under_a_piston_do_not_depend_on_ranks() {
    for (ranks, coupling) in [(2, Coupling::Anisotropic), (4, Coupling::Isotropic)] {
        ranks_have_the_bits_of_one(ranks, coupling);
    }
}

fn ranks_have_the_bits_of_one(count: usize, coupling: Coupling) {
    let (mut plan, stage) = under_piston(0.004, coupling);
    plan.run.skin = Some(0.25);
    let first = supercool::initial::create(&plan).unwrap();
    let run = |ranks: &Ranks| {
        let mut engine = engine::create_on(ranks, &plan, &first).unwrap();
        engine.draw_velocities(1.5, true).unwrap();
        engine.begin_stage(&stage).unwrap();
        engine.advance(50).unwrap();
        engine.advance(40).unwrap();
        let edge = engine.simulation_box().edges()[0];
        engine.begin_stage(&StageContext { steps: 100, ..StageContext::none(90) }).unwrap();
        engine.advance(60).unwrap();
        let (measured, forces) = (engine.thermodynamics().unwrap(), engine.forces().unwrap());
        let state = ExactState { memory: None, ..engine.export().unwrap() };
        (state, edge, measured, forces)
    };
    let expected = run(&Ranks::default());
    let change = expected.1 / first.simulation_box.edges()[0] - 1.0;
    assert!(change.abs() > 0.007, "{change}");
    assert_eq!(on_threads(count, |ranks| run(&ranks)), expected, "{count} ranks, {coupling:?}");
}

/// Else the chain would hold the piston still, and the box would not change at all.
#[test]
fn a_pressure_that_is_too_far_for_the_timestep_is_an_error() {
    let (plan, stage) = under_piston(0.004, Coupling::Isotropic);
    let run = |pressure| {
        let state = supercool::initial::create(&plan).unwrap();
        let mut engine = engine::create(&plan, &state).unwrap();
        engine.draw_velocities(1.5, true).unwrap();
        let pressure = Ramp { from: pressure, to: pressure };
        let barostat =
            stage.barostat.map(|barostat| BarostatPlan { pressure, time: 0.1, ..barostat });
        engine.begin_stage(&StageContext { barostat, ..stage.clone() }).unwrap();
        engine.advance(20)
    };
    run(60.0).unwrap();
    let error = run(400.0).unwrap_err().to_string();
    assert!(error.contains("the pressure is too far"), "{error}");
}
