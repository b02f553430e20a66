//! Swap Monte Carlo: exact averages, and bits that depend on nobody who takes the trials.
mod common;

use common::{exact, exchanges_with_c, kob_andersen_2, polydisperse};
use supercool::engine::domain::on_threads;
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::plan::{Plan, Precision, SwapPlan, Thermostat};
use supercool::system::{SimulationBox, Snapshot};

fn state(plan: &Plan, position: Vec<[f64; 3]>, diameter: &[f64]) -> ExactState {
    let count = position.len();
    let snapshot = Snapshot {
        step: 0,
        position,
        fraction: Vec::new(),
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
        barostat: None,
        swap: Some(SwapPlan { every, trials_per_particle, pairs: Default::default() }),
        shear: None,
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

/// Five particles of three species, of which only some pairs are exchanged: all 30 orders of A, A, B, C, C.
#[test]
fn averages_over_all_orders_of_species_are_exact() {
    const SITES: [[f64; 3]; 5] =
        [[0.0, 0.0, 0.0], [1.05, 0.0, 0.0], [0.4, 0.98, 0.0], [0.5, 0.3, 0.95], [1.35, 0.95, 0.2]];
    const EPSILON: [[f64; 3]; 3] = [[1.0, 1.5, 1.25], [1.5, 0.5, 1.0], [1.25, 1.0, 0.75]];
    const SIGMA: [[f64; 3]; 3] = [[1.0, 0.8, 0.9], [0.8, 0.88, 0.84], [0.9, 0.84, 0.94]];
    // 4 epsilon [x^-12 - x^-6 + c0 + c2 x^2 + c4 x^4]: value, slope and curvature are zero at x = 2.5.
    let energy_of_pair = |epsilon: f64, x: f64| {
        let cut = 2.5_f64;
        let y = x * x - cut * cut;
        let first = -6.0 * cut.powi(-14) + 3.0 * cut.powi(-8);
        let second = 42.0 * cut.powi(-16) - 12.0 * cut.powi(-10);
        let taylor = cut.powi(-12) - cut.powi(-6) + first * y + 0.5 * second * y * y;
        4.0 * epsilon * (x.powi(-12) - x.powi(-6) - taylor)
    };
    let energy_of = |species: &[usize; 5]| -> f64 {
        let pairs = (0..5).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| {
                let r2: f64 = (0..3).map(|k| (SITES[i][k] - SITES[j][k]).powi(2)).sum();
                let (a, b) = (species[i], species[j]);
                energy_of_pair(EPSILON[a][b], r2.sqrt() / SIGMA[a][b])
            })
            .sum()
    };
    let orders: Vec<[usize; 5]> = (0..243)
        .map(|code: usize| std::array::from_fn(|k| code / 3_usize.pow(k as u32) % 3))
        .filter(|order: &[usize; 5]| {
            [2, 1, 2] == [0, 1, 2].map(|of| order.iter().filter(|&&species| species == of).count())
        })
        .collect();
    assert_eq!(orders.len(), 30);
    for temperature in [0.5, 2.0] {
        let energies: Vec<f64> = orders.iter().map(energy_of).collect();
        let weights: Vec<f64> = energies.iter().map(|u| (-u / temperature).exp()).collect();
        let mean_of = |values: &dyn Fn(usize) -> f64| {
            let sum: f64 = (0..30).map(|k| weights[k] * values(k)).sum();
            sum / weights.iter().sum::<f64>()
        };
        let energy = mean_of(&|k| energies[k]);
        let variance = mean_of(&|k| (energies[k] - energy).powi(2));
        // B is at the third site.
        let share = mean_of(&|k| f64::from(u8::from(orders[k][2] == 1)));
        for precision in [Precision::Double, Precision::FixedPoint] {
            let mut plan = kob_andersen_2(SimulationBox::new(&[20.0; 3]), [2, 1, 2], precision);
            plan.run.timestep = 1e-12;
            let position = SITES.map(|site| site.map(|x| x + 9.0)).to_vec();
            let first = state(&plan, position, &[]);
            let mut engine = engine::create(&plan, &first).unwrap();
            let swap = Some(exchanges_with_c(1, 8.0));
            engine.begin_stage(&StageContext { swap, ..stage(temperature, 1, 8.0) }).unwrap();
            engine.advance(50).unwrap();
            let (mut found, mut at_place) = (Vec::new(), Vec::new());
            for _ in 0..8000 {
                engine.advance(1).unwrap();
                found.push(5.0 * engine.thermodynamics().unwrap().potential_energy);
                let state = engine.export().unwrap();
                assert_eq!(state.species_of, first.species_of);
                let [x, ..] = engine.snapshot().unwrap().position[2];
                at_place.push(f64::from(u8::from((x - 9.0 - SITES[2][0]).abs() < 1e-3)));
            }
            let squares: Vec<f64> = found.iter().map(|u| (u - energy).powi(2)).collect();
            let memory = engine.export().unwrap().thermostat;
            // Of 25 pairs of particles, 12 are A and C or B and C.
            let possible = memory.swap_trials as f64 / (8050.0 * 40.0);
            assert!((possible - 12.0 / 25.0).abs() < 0.01, "{possible}");
            assert!(memory.swaps > 0 && memory.swaps < memory.swap_trials);
            for (what, values, expected) in
                [("U", found, energy), ("var U", squares, variance), ("p", at_place, share)]
            {
                let (mean, error) = mean_and_error(&values);
                let deviation = (mean - expected) / error;
                assert!(
                    deviation.abs() < 4.5 && error < 0.05 * expected.abs().max(0.1),
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
