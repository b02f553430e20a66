//! Flows and tilted boxes on several ranks, which are threads of this process, have the bits of one.
mod common;

use common::{begin, flow, kob_andersen, melt, thermostat_at};
use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::plan::{ObservePlan, Plan, Precision, ShearPlan, StagePlan, Thermostat};

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
