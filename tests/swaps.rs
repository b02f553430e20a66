//! Swap Monte Carlo: exact averages, and bits that depend on nobody who takes the trials.
mod common;

use common::{exact, polydisperse};
use supercool::engine::domain::on_threads;
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::plan::{Plan, Precision, SwapPlan, Thermostat};
use supercool::system::{SimulationBox, Snapshot};

fn state(plan: &Plan, position: Vec<[f64; 3]>, diameter: &[f64]) -> ExactState {
    let count = position.len();
    let snapshot = Snapshot {
        step: 0,
        position,
        image: vec![[0; 3]; count],
        velocity: vec![[0.0; 3]; count],
        diameter: diameter.into(),
    };
    exact(plan, &snapshot)
}

/// A stage without end; a round of trials follows every `every` steps.
fn stage(temperature: f64, every: u64, trials_per_particle: f64) -> StageContext {
    StageContext {
        thermostat: common::thermostat_at(Thermostat::Langevin { friction: 1.0 }, temperature),
        first_step: 0,
        steps: u64::MAX / 2,
        swap: Some(SwapPlan { every, trials_per_particle }),
    }
}

/// Means of blocks, and the standard error of the mean of all.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let blocks: Vec<f64> = values
        .chunks(values.len() / 20)
        .map(|block| block.iter().sum::<f64>() / block.len() as f64)
        .collect();
    let count = blocks.len() as f64;
    let mean = blocks.iter().sum::<f64>() / count;
    let variance = blocks.iter().map(|block| (block - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// Five particles that do not move, so short are the steps: the averages are those over all 120 orders of their diameters.
#[test]
fn averages_over_all_permutations_of_five_diameters_are_exact() {
    const SITES: [[f64; 3]; 5] =
        [[0.0, 0.0, 0.0], [1.05, 0.0, 0.0], [0.4, 0.98, 0.0], [0.5, 0.3, 0.95], [1.35, 0.95, 0.2]];
    const LEAST_ENERGY: f64 = 0.7796624665400541;
    for (temperature, energy, variance, best) in [
        (0.10, 0.870679840525076, 0.02059334921078304, 0.6535551522917405),
        (0.25, 1.141806869782828, 0.0866936079530467, 0.2022807730268573),
        (1.00, 1.7317121141228902, 0.5514985512284518, 0.036834737795952775),
    ] {
        for precision in [Precision::Double, Precision::FixedPoint] {
            let mut plan = polydisperse(SimulationBox::new(&[20.0; 3]), 5, precision);
            plan.run.timestep = 1e-12;
            let position = SITES.map(|site| site.map(|x| x + 9.0)).to_vec();
            let state = state(&plan, position, &[0.8, 0.9, 1.0, 1.1, 1.3]);
            let mut engine = engine::create(&plan, &state).unwrap();
            engine.begin_stage(&stage(temperature, 1, 4.0)).unwrap();
            engine.advance(50).unwrap();
            let energies: Vec<f64> = (0..8000)
                .map(|_| {
                    engine.advance(1).unwrap();
                    5.0 * engine.thermodynamics().unwrap().potential_energy
                })
                .collect();
            let squares: Vec<f64> = energies.iter().map(|u| (u - energy).powi(2)).collect();
            let is_best = |u: &f64| f64::from(u8::from((u - LEAST_ENERGY).abs() < 1e-5));
            let at_best: Vec<f64> = energies.iter().map(is_best).collect();
            for (what, values, expected) in
                [("U", energies, energy), ("var U", squares, variance), ("p", at_best, best)]
            {
                let (mean, error) = mean_and_error(&values);
                let deviation = (mean - expected) / error;
                assert!(
                    deviation.abs() < 4.5 && error < 0.05 * expected.max(0.1),
                    "T = {temperature}, {precision:?}: {what} = {mean} +- {error}, not {expected}"
                );
            }
        }
    }
}

fn liquid(precision: Precision) -> (Plan, ExactState) {
    let plan = polydisperse(SimulationBox::cubic(3, 200, 1.0), 200, precision);
    let mut state = supercool::initial::create(&plan).unwrap();
    let share = |i: usize| (i as f64 + 0.5) / 200.0;
    state.diameter = (0..200).map(|i| f64::from((0.73 + 0.89 * share(i)) as f32)).collect();
    (plan, state)
}

fn engine(plan: &Plan, state: &ExactState, every: u64) -> Box<dyn Engine> {
    let mut engine = engine::create(plan, state).unwrap();
    engine.begin_stage(&stage(0.5, every, 2.0)).unwrap();
    engine
}

#[test]
fn a_run_continues_from_a_state_with_the_same_bits() {
    let (plan, state) = liquid(Precision::FixedPoint);
    let mut whole = engine(&plan, &state, 4);
    whole.advance(30).unwrap();
    let mut first = engine(&plan, &state, 4);
    first.advance(18).unwrap();
    let middle = first.export().unwrap();
    assert!(middle.thermostat.swap_trials == 4 * 400 && middle.thermostat.swaps > 0);
    assert_ne!(middle.diameter, state.diameter);
    let mut plan_of_other = plan.clone();
    plan_of_other.run.skin = Some(0.4);
    let mut second = engine(&plan_of_other, &middle, 4);
    second.advance(12).unwrap();
    let (whole, second) = (whole.export().unwrap(), second.export().unwrap());
    assert_eq!(whole.hash(), second.hash());
    assert_eq!(whole.thermostat, second.thermostat);
    let sorted = |state: &ExactState| {
        let mut diameters = state.diameter.to_vec();
        diameters.sort_by(f64::total_cmp);
        diameters
    };
    assert_eq!(sorted(&whole), sorted(&state));
}

/// The conserved energy holds what exchanges change: without it, it would jump by some units.
#[test]
fn exchanges_do_not_change_the_conserved_energy() {
    for precision in Precision::ALL {
        let (mut plan, state) = liquid(precision);
        plan.run.timestep = 1e-6;
        for ranks in [1, 2] {
            let [before, after] = on_threads(ranks, |ranks| {
                let mut engine = engine::create_on(&ranks, &plan, &state).unwrap();
                engine.begin_stage(&stage(0.5, 1, 2.0)).unwrap();
                let before = engine.thermodynamics().unwrap();
                engine.advance(10).unwrap();
                [before, engine.thermodynamics().unwrap()]
            });
            let change = |of: fn(&engine::Thermodynamics) -> f64| of(&after) - of(&before);
            assert!(change(|of| of.potential_energy).abs() > 0.1, "{precision:?}, {ranks}");
            let error = change(|of| of.conserved_energy);
            assert!(error.abs() < 1e-3, "{precision:?}, {ranks}: {error}");
        }
    }
}
