//! Steady shear: exact symmetries of the steps, lists that follow the flow, work against heat; the same bits on a GPU, where there is one.
mod common;

use common::{flow, kob_andersen, melt};
use supercool::engine::cuda::device::gpus;
use supercool::engine::{self, Engine, ExactState, ParticleQuantity, StageContext};
use supercool::plan::{EngineChoice, Plan, Precision, ShearPlan, Thermostat};
use supercool::system::SimulationBox;

const PRECISIONS: [Precision; 4] =
    [Precision::Single, Precision::DoubleSingle, Precision::Double, Precision::FixedPoint];

const THERMOSTATS: [Option<Thermostat>; 5] = [
    None,
    Some(Thermostat::Bussi { time: 0.2 }),
    Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 }),
    Some(Thermostat::Langevin { friction: 1.0 }),
    Some(Thermostat::Andersen { rate: 5.0, exact: true }),
];

/// False, with a word, where there is no GPU.
fn gpu() -> bool {
    gpus().inspect_err(|error| println!("skipped: {error}")).is_ok()
}

/// A liquid that goes on under a flow from here.
fn sheared(plan: &Plan, state: &ExactState, stage: &StageContext) -> Box<dyn Engine> {
    let mut engine = engine::create(plan, state).unwrap();
    engine.begin_stage(stage).unwrap();
    engine
}

/// A liquid after steps in a flow, without a break and with a restart on the way.
fn restarted(plan: &Plan, start: &ExactState, kind: Option<Thermostat>) -> [Box<dyn Engine>; 2] {
    let stage = flow(2.0, kind, start.step);
    let mut whole = sheared(plan, start, &stage);
    whole.advance(37).unwrap();
    let middle = whole.export().unwrap();
    whole.advance(60).unwrap();
    let mut again = sheared(plan, &middle, &stage);
    again.advance(60).unwrap();
    [whole, again]
}

/// Totals of the velocities along each axis, in units of the last digit.
fn momentum(state: &ExactState) -> [i128; 3] {
    let mut sum = [0; 3];
    for velocity in &state.velocity {
        (0..3).for_each(|axis| sum[axis] += i128::from(velocity[axis] as i64));
    }
    sum
}

#[test]
fn fixed_point_keeps_momentum_and_returns_through_flips_of_the_box() {
    for dimension in [2, 3] {
        let plan = kob_andersen(dimension, 1000, Precision::FixedPoint);
        let start = melt(&plan);
        assert_eq!(momentum(&start), [0; 3]);
        // Strains by 2: the box flips twice.
        let (rate, steps) = (2.5, 200);
        let mut engine = sheared(&plan, &start, &flow(rate, None, start.step));
        engine.advance(steps).unwrap();
        let there = engine.export().unwrap();
        assert_eq!(momentum(&there), [0; 3]);
        assert_ne!(there.position, start.position);
        let expected = ShearPlan::Steady { rate }.box_after(&start.simulation_box, 0.004, steps);
        assert_eq!(there.simulation_box, expected);
        engine.reverse_velocities().unwrap();
        engine.begin_stage(&flow(-rate, None, there.step)).unwrap();
        engine.advance(steps).unwrap();
        engine.reverse_velocities().unwrap();
        let back = engine.export().unwrap();
        assert_eq!(back.simulation_box, start.simulation_box);
        assert_eq!(back.position, start.position);
        assert_eq!(back.image, start.image);
        assert_eq!(back.velocity, start.velocity);
    }
}

/// In fixed point lists have no influence as long as no pair is missing: narrow ones are rebuilt often, wide ones late.
#[test]
fn lists_of_any_width_follow_the_flow() {
    let mut plan = kob_andersen(3, 1000, Precision::FixedPoint);
    let start = melt(&plan);
    let mut run = |skin: f64| {
        plan.run.skin = Some(skin);
        let state = ExactState { memory: None, ..start.clone() };
        let mut engine = sheared(&plan, &state, &flow(1.0, None, start.step));
        engine.advance(400).unwrap();
        let report = engine.report();
        (engine.export().unwrap().hash(), report.execution.list_rebuilds)
    };
    let (narrow, often) = run(0.05);
    let (middle, _) = run(0.25);
    let (wide, seldom) = run(0.6);
    assert_eq!(narrow, middle);
    assert_eq!(narrow, wide);
    assert!(often > 3 * seldom, "{often}, {seldom}");
}

#[test]
fn a_restart_in_a_flow_has_the_same_bits() {
    for precision in PRECISIONS {
        let plan = kob_andersen(3, 1000, precision);
        let start = melt(&plan);
        for kind in THERMOSTATS {
            let [whole, again] = restarted(&plan, &start, kind);
            let (whole, again) = (whole.export().unwrap(), again.export().unwrap());
            assert_eq!(whole, again, "{precision:?}, {kind:?}");
        }
    }
}

/// Without a thermostat the flow does work: `dE/dt = V rate s_xy`, where the stress has its kinetic part and tension is positive. The
/// integral over steps is the trapezoidal rule, whose error is of the second order, as that of the steps.
#[test]
fn the_energy_grows_by_the_work_of_the_flow() {
    let rate = 0.2;
    let error = |timestep: f64, steps: u64| {
        let mut plan = kob_andersen(3, 1000, Precision::Double);
        plan.run.timestep = timestep;
        let start = melt(&kob_andersen(3, 1000, Precision::Double));
        let start = start.at_timestep(timestep, &plan.system.species).unwrap();
        let volume_each = plan.system.simulation_box.volume() / 1000.0;
        let mut engine = sheared(&plan, &start, &flow(rate, None, start.step));
        let first = engine.thermodynamics().unwrap();
        let (mut before, mut work) = (first, 0.0);
        for _ in 0..steps {
            engine.advance(1).unwrap();
            let now = engine.thermodynamics().unwrap();
            let mean = 0.5 * (before.stress[0][1] + now.stress[0][1]);
            work += volume_each * rate * timestep * mean;
            before = now;
        }
        assert!(work > 0.05, "{work}");
        (before.total_energy() - first.total_energy() - work).abs()
    };
    let (coarse, fine) = (error(0.004, 250), error(0.001, 1000));
    assert!(fine < 1e-4, "{fine}");
    assert!(fine < coarse / 8.0, "{coarse} -> {fine}");
}

/// Boxes whose tilts differ by one have the same images: forces and energies agree, and so does the motion for a while.
#[test]
fn tilts_that_differ_by_one_are_the_same_box() {
    for precision in PRECISIONS {
        let mut plan = kob_andersen(3, 1000, precision);
        let start = melt(&plan).to_snapshot(&plan.system.species);
        let mut run = |tilt: f64| {
            let straight = plan.system.simulation_box;
            plan.system.simulation_box = SimulationBox::new(straight.edges()).with_tilt(tilt);
            let mut snapshot = start.clone();
            // An affine shear of the same liquid by 1/2: by -1/2 in the other box is one turn less.
            let [x, y, _] = straight.padded_edges();
            snapshot.position.iter_mut().for_each(|r| r[0] += 0.5 * x / y * r[1]);
            let state = common::exact(&plan, &snapshot);
            plan.system.simulation_box = straight;
            let mut engine = engine::create(&plan, &state).unwrap();
            let forces = engine.forces().unwrap();
            common::begin(engine.as_mut(), None);
            engine.advance(100).unwrap();
            (forces, engine.thermodynamics().unwrap(), engine.export().unwrap())
        };
        let (one, other) = (run(0.5), run(-0.5));
        let tolerance = if precision == Precision::Double { 1e-9 } else { 2e-2 };
        for (a, b) in one.0.iter().flatten().zip(other.0.iter().flatten()) {
            assert!((a - b).abs() < tolerance * (1.0 + a.abs()), "{precision:?}: {a}, {b}");
        }
        let tolerance = if precision == Precision::Double { 1e-8 } else { 1e-3 };
        let difference = (one.1.potential_energy - other.1.potential_energy).abs();
        assert!(difference < tolerance, "{precision:?}: {difference}");
        assert_ne!(one.2.position, other.2.position);
    }
}

#[test]
fn narrow_boxes_are_refused() {
    let plan = kob_andersen(3, 500, Precision::Double);
    let state = melt(&plan);
    let mut engine = engine::create(&plan, &state).unwrap();
    let refused = engine.begin_stage(&flow(0.1, None, state.step)).unwrap_err().to_string();
    assert!(refused.contains("too narrow for a tilt of 0.5"), "{refused}");
}

/// Sites are tagged or not, lists made by one lane or several, and searched for in cells; the box flips.
#[test]
fn flows_on_a_gpu_have_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    for (dimension, particles, steps) in
        [(3, 1000, 400), (2, 1000, 400), (3, 4000, 150), (3, 20_000, 60), (3, 200_000, 12)]
    {
        let mut plan = kob_andersen(dimension, particles, Precision::FixedPoint);
        plan.run.threads = None;
        let start = melt(&plan);
        for kind in THERMOSTATS {
            let mut run = |choice: EngineChoice| {
                plan.run.engine = choice;
                let state = ExactState { memory: None, ..start.clone() };
                let mut engine = sheared(&plan, &state, &flow(2.0, kind, start.step));
                engine.advance(steps / 2).unwrap();
                let middle = engine.thermodynamics().unwrap();
                engine.advance(steps - steps / 2).unwrap();
                let forces = engine.forces().unwrap();
                let state = ExactState { memory: None, ..engine.export().unwrap() };
                (state.hash(), state.simulation_box, middle, forces)
            };
            let (cpu, gpu) = (run(EngineChoice::Cpu), run(EngineChoice::Cuda));
            assert!(cpu == gpu, "{dimension}D, {particles}, {kind:?}: {:?}, {:?}", cpu.2, gpu.2);
        }
    }
}

/// From a tilt near to the flips, which the oscillation passes to and fro.
#[test]
fn oscillations_on_a_gpu_have_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    for (particles, kind) in
        [(1000, None), (4000, Some(Thermostat::Bussi { time: 0.2 })), (20_000, None)]
    {
        let mut plan = kob_andersen(3, particles, Precision::FixedPoint);
        plan.run.threads = None;
        let start = melt(&plan);
        let mut run = |choice: EngineChoice| {
            plan.run.engine = choice;
            let state = ExactState { memory: None, ..start.clone() };
            let mut engine = sheared(&plan, &state, &flow(2.0, kind, start.step));
            engine.advance(60).unwrap();
            let mut stage = flow(0.0, kind, start.step + 60);
            stage.shear = Some(ShearPlan::Oscillatory { amplitude: 0.2, period: 0.4 });
            engine.begin_stage(&stage).unwrap();
            engine.advance(37).unwrap();
            engine.advance(113).unwrap();
            let state = ExactState { memory: None, ..engine.export().unwrap() };
            (state.hash(), state.simulation_box)
        };
        assert_eq!(run(EngineChoice::Cpu), run(EngineChoice::Cuda), "{particles}, {kind:?}");
    }
}

/// In all precisions, from within a flow on, also on a GPU; and what lies there is in the box of the moment.
#[test]
fn a_restart_in_a_flow_on_a_gpu_has_the_same_bits() {
    if !gpu() {
        return;
    }
    for (precision, particles) in PRECISIONS.into_iter().flat_map(|p| [(p, 1000), (p, 6000)]) {
        let mut plan = kob_andersen(3, particles, precision);
        plan.run.engine = EngineChoice::Cuda;
        let start = melt(&plan);
        for kind in THERMOSTATS {
            let [whole, again] = restarted(&plan, &start, kind);
            let (whole_state, again_state) = (whole.export().unwrap(), again.export().unwrap());
            assert_eq!(whole_state.hash(), again_state.hash(), "{precision:?}, {kind:?}");
            assert_eq!(whole_state.simulation_box, again_state.simulation_box);
            let snapshot = whole.snapshot().unwrap();
            let simulation_box = whole.simulation_box();
            for (quantity, expected) in [
                (ParticleQuantity::Position, snapshot.position.clone()),
                (
                    ParticleQuantity::Unwrapped,
                    (0..particles).map(|id| snapshot.unwrapped(id, &simulation_box)).collect(),
                ),
            ] {
                let array = whole.device_array(quantity).unwrap().unwrap().bytes().unwrap();
                let found = array.as_chunks::<8>().0.iter().map(|&bytes| f64::from_ne_bytes(bytes));
                let largest = found
                    .zip(expected.as_flattened())
                    .map(|(found, expected)| (found - expected).abs())
                    .fold(0.0, f64::max);
                assert!(largest < 1e-12, "{precision:?}, {quantity:?}: {largest}");
            }
        }
    }
}
