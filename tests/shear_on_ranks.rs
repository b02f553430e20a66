//! Flows and tilted boxes on several ranks, which are threads of this process, have the bits of one.
mod common;

use common::{
    begin, flow, kob_andersen, kob_andersen_potential, melt, plan_of, polydisperse, thermostat_at,
    two_species,
};
use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::plan::{
    ObservePlan, Plan, Precision, Ramp, ShearPlan, StagePlan, SwapPlan, Thermostat, ThermostatPlan,
};
use supercool::potential::Truncation;
use supercool::system::SimulationBox;

const THERMOSTATS: [Option<Thermostat>; 6] = [
    None,
    Some(Thermostat::Andersen { rate: 5.0, exact: true }),
    Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 }),
    Some(Thermostat::Bussi { time: 0.2 }),
    Some(Thermostat::Isokinetic),
    Some(Thermostat::Langevin { friction: 1.0 }),
];

/// With a flow in a stage: domains have room for tilts from the start.
fn plan(dimension: usize, precision: Precision) -> Plan {
    let mut plan = kob_andersen(dimension, 1000, precision);
    plan.run.skin = Some(0.3);
    plan.stages = vec![StagePlan {
        name: "flow".into(),
        steps: 1,
        timestep: None,
        minimize: None,
        rescale: None,
        strain: None,
        thermostat: None,
        barostat: None,
        shear: Some(ShearPlan::Steady { rate: 1.0 }),
        draw_velocities: false,
        swap: None,
        set_total_energy: None,
        observe: ObservePlan::nothing(),
        correlations: Vec::new(),
        propensity: None,
    }];
    plan
}

fn without_memory(state: ExactState) -> ExactState {
    ExactState { memory: None, ..state }
}

fn engine_in(
    ranks: &Ranks,
    plan: &Plan,
    state: &ExactState,
    stage: &StageContext,
) -> Box<dyn Engine> {
    let mut engine = engine::create_on(ranks, plan, state).unwrap();
    engine.begin_stage(stage).unwrap();
    engine
}

/// Twice through a flip of the box, and on at rest in what the flow has left; all that an engine gives on the way.
fn flow_and_rest(
    ranks: &Ranks,
    plan: &Plan,
    start: &ExactState,
    kind: Option<Thermostat>,
) -> Vec<String> {
    const STEPS: u64 = 160;
    let mut engine = engine_in(ranks, plan, start, &flow(2.5, kind, start.step));
    let mut found = Vec::new();
    for (rests, steps) in [(false, 97), (false, STEPS - 97), (true, 30)] {
        if rests {
            let thermostat = kind.and_then(|kind| thermostat_at(kind, 1.0));
            begin(engine.as_mut(), thermostat);
        }
        engine.advance(steps).unwrap();
        let state = without_memory(engine.export().unwrap());
        assert_eq!(state.simulation_box, engine.simulation_box());
        let words = format!(
            "{} {:?} {:?} {:?}",
            state.hash(),
            state.simulation_box,
            state.thermostat,
            engine.thermodynamics().unwrap(),
        );
        found.push(words);
    }
    found.push(format!("{:?}", engine.forces().unwrap()));
    found.push(format!("{:?}", engine.snapshot().unwrap()));
    found
}

#[test]
fn flows_on_any_number_of_ranks_have_the_bits_of_one() {
    for dimension in [3, 2] {
        let plan = plan(dimension, Precision::FixedPoint);
        let start = melt(&plan);
        for kind in THERMOSTATS {
            let expected = flow_and_rest(&Ranks::default(), &plan, &start, kind);
            let numbers = if kind.is_none() { &[2, 3, 8, 9][..] } else { &[4] };
            for &ranks in numbers {
                let found = on_threads(ranks, |all| flow_and_rest(&all, &plan, &start, kind));
                assert!(found == expected, "{dimension}D, {kind:?}, {ranks}: {:?}", &found[..3]);
            }
        }
    }
}

/// Lists that live for few steps, or die early and unforeseen as velocities jump; others that live long. The box is flipped in a step,
/// the 90th, in which particles collide.
#[test]
fn lists_of_ranks_follow_the_flow() {
    let mut plan = plan(3, Precision::FixedPoint);
    let start = melt(&plan);
    let kicks = ThermostatPlan {
        kind: Thermostat::Andersen { rate: 250.0 / 9.0, exact: false },
        temperature: Ramp { from: 0.01, to: 6.0 },
    };
    let mut run = |ranks: &Ranks, skin: f64, parts: &[u64]| {
        plan.run.skin = Some(skin);
        let stage =
            StageContext { thermostat: Some(kicks), steps: 120, ..flow(1.3966, None, start.step) };
        let mut engine = engine_in(ranks, &plan, &start, &stage);
        parts.iter().for_each(|&steps| engine.advance(steps).unwrap());
        (without_memory(engine.export().unwrap()), engine.report().execution)
    };
    let (expected, _) = run(&Ranks::default(), 0.3, &[120]);
    let mut seen = Vec::new();
    for (skin, parts) in [(0.08, &[120][..]), (0.08, &[1, 7, 30, 2, 80]), (0.5, &[120])] {
        let (state, execution) = on_threads(4, |ranks| run(&ranks, skin, parts));
        assert!(state == expected, "{skin}, {parts:?}");
        seen.push((execution.list_rebuilds, execution.steps_repeated.unwrap()));
    }
    assert!(seen[0].1 > 0 && seen[1].1 > 0, "{seen:?}");
    assert!(seen[0].0 > 2 * seen[2].0, "{seen:?}");
}

#[test]
fn a_flow_goes_on_with_any_number_of_ranks() {
    let plan = plan(3, Precision::FixedPoint);
    let start = melt(&plan);
    for kind in [None, THERMOSTATS[2]] {
        let stage = flow(-2.5, kind, start.step);
        let go_on = |ranks: &Ranks, state: &ExactState, steps: u64| {
            let mut engine = engine_in(ranks, &plan, state, &stage);
            engine.advance(steps).unwrap();
            without_memory(engine.export().unwrap())
        };
        let expected = go_on(&Ranks::default(), &start, 130);
        let mut state = start.clone();
        // The box flips after 50 steps; a start before, at and after the flip.
        for (ranks, steps) in [(8, 49), (3, 1), (1, 1), (4, 40), (2, 39)] {
            state = on_threads(ranks, |ranks| go_on(&ranks, &state, steps));
        }
        assert_eq!(state.simulation_box, expected.simulation_box);
        assert!(state == expected, "{kind:?}");
    }
}

/// From a tilt near to the flips, which the oscillation passes to and fro.
#[test]
fn oscillations_on_ranks_have_the_bits_of_one() {
    let plan = plan(2, Precision::FixedPoint);
    let mut engine = engine_in(&Ranks::default(), &plan, &melt(&plan), &flow(2.0, None, 0));
    engine.advance(60).unwrap();
    let start = without_memory(engine.export().unwrap());
    let shear = Some(ShearPlan::Oscillatory { amplitude: 0.2, period: 0.4 });
    for kind in [None, Some(Thermostat::Brownian { friction: 20.0 })] {
        let stage = StageContext { shear, ..flow(0.0, kind, start.step) };
        let run = |ranks: &Ranks, parts: &[u64]| {
            let mut engine = engine_in(ranks, &plan, &start, &stage);
            parts.iter().for_each(|&steps| engine.advance(steps).unwrap());
            without_memory(engine.export().unwrap())
        };
        let expected = run(&Ranks::default(), &[90]);
        for (ranks, parts) in [(8, &[90][..]), (3, &[13, 1, 76])] {
            assert!(on_threads(ranks, |ranks| run(&ranks, parts)) == expected, "{kind:?}, {ranks}");
        }
    }
}

/// At rest in a tilted box, and into a flow that the plan does not have, as benchmarks do.
#[test]
fn ranks_take_tilts_that_are_not_planned() {
    let plan = Plan { stages: Vec::new(), ..plan(2, Precision::FixedPoint) };
    let straight = melt(&plan);
    let tilt = |engine: &mut dyn Engine| {
        engine.begin_stage(&flow(2.0, None, engine.step())).unwrap();
        engine.advance(50).unwrap();
        without_memory(engine.export().unwrap())
    };
    let expected = tilt(engine::create(&plan, &straight).unwrap().as_mut());
    assert!(expected.simulation_box.is_tilted());
    let rest = |ranks: &Ranks| {
        let mut engine = engine::create_on(ranks, &plan, &expected).unwrap();
        begin(engine.as_mut(), None);
        engine.advance(50).unwrap();
        without_memory(engine.export().unwrap())
    };
    let rested = rest(&Ranks::default());
    for ranks in [3, 8] {
        on_threads(ranks, |ranks| {
            let mut engine = engine::create_on(&ranks, &plan, &straight).unwrap();
            assert!(tilt(engine.as_mut()) == expected);
            drop(engine);
            assert!(rest(&ranks) == rested);
        });
    }
}

/// Sums of floats differ by their order, which ranks repeat; in few steps that stays small, also across a flip.
#[test]
fn flows_in_floating_point_repeat_and_are_near_to_one_rank() {
    for (precision, tolerance) in
        [(Precision::Single, 2e-3), (Precision::DoubleSingle, 2e-3), (Precision::Double, 1e-9)]
    {
        let plan = plan(3, precision);
        let start = melt(&plan);
        let run = |ranks: &Ranks, parts: &[u64]| {
            let mut engine = engine_in(ranks, &plan, &start, &flow(5.0, None, start.step));
            parts.iter().for_each(|&steps| engine.advance(steps).unwrap());
            (engine.export().unwrap().hash(), engine.snapshot().unwrap(), engine.simulation_box())
        };
        let (one, four) = (run(&Ranks::default(), &[40]), on_threads(4, |r| run(&r, &[40])));
        assert!(on_threads(4, |r| run(&r, &[1, 24, 2, 13])) == four, "{precision:?}");
        assert!(one.2.tilt() < 0.0 && one.2 == four.2, "{:?}, {:?}", one.2, four.2);
        for id in 0..1000 {
            let [a, b] = [&one.1, &four.1].map(|of| of.unwrapped(id, &one.2));
            for axis in 0..3 {
                let apart = (a[axis] - b[axis]).abs();
                assert!(apart < tolerance, "{precision:?}, {id}: {a:?}, {b:?}");
            }
        }
    }
}

/// Domains without particles; particles with diameters, exchanged in a flow.
#[test]
fn odd_systems_flow_on_ranks_too() {
    let with_flow = |of: Plan| Plan { stages: plan(3, Precision::FixedPoint).stages, ..of };
    for precision in [Precision::FixedPoint, Precision::Double] {
        let potential = kob_andersen_potential(Truncation::Shifted);
        let simulation_box = SimulationBox::new(&[24.0, 14.0, 18.0]);
        let plan = with_flow(plan_of(simulation_box, two_species(20, 3), potential, precision));
        let start = melt(&plan);
        let run = |ranks: &Ranks| {
            let mut engine = engine_in(ranks, &plan, &start, &flow(3.0, None, start.step));
            engine.advance(150).unwrap();
            (engine.simulation_box(), without_memory(engine.export().unwrap()))
        };
        let (one, eight) = (run(&Ranks::default()), on_threads(8, |ranks| run(&ranks)));
        assert_eq!(one.0, eight.0);
        assert!(precision != Precision::FixedPoint || one.1 == eight.1);
    }
    const COUNT: usize = 700;
    let simulation_box = SimulationBox::cubic(3, COUNT, 1.0);
    let plan = with_flow(polydisperse(simulation_box, COUNT, Precision::FixedPoint));
    let mut start = supercool::initial::create(&plan).unwrap();
    let share = |i: usize| (i * 37 % COUNT) as f64 / COUNT as f64;
    start.diameter = (0..COUNT).map(|i| f64::from((0.73 + 0.89 * share(i)) as f32)).collect();
    let swap = SwapPlan { every: 20, trials_per_particle: 1.0, pairs: Default::default() };
    let run = |ranks: &Ranks| {
        let mut engine = engine::create_on(ranks, &plan, &start).unwrap();
        engine.draw_velocities(1.0, true).unwrap();
        let stage = flow(3.0, Some(Thermostat::Langevin { friction: 1.0 }), start.step);
        engine.begin_stage(&StageContext { swap: Some(swap), ..stage }).unwrap();
        engine.advance(100).unwrap();
        without_memory(engine.export().unwrap())
    };
    let expected = run(&Ranks::default());
    assert!(expected.thermostat.swaps > 100, "{:?}", expected.thermostat);
    assert!(on_threads(3, |ranks| run(&ranks)) == expected);
}

#[test]
fn edges_that_are_too_short_for_a_tilt_are_named() {
    let plan = plan(3, Precision::FixedPoint);
    let start = melt(&plan);
    let error = on_threads(64, |ranks| engine::create_on(&ranks, &plan, &start).err().unwrap());
    let words = error.to_string();
    assert!(words.contains("along x 3.130"), "{words}");
    assert!(words.contains("27 at most"), "{words}");
}
