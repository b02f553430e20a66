//! What holds to the last bit: in fixed point across threads, skins and orders of memory, time
//! reversal and conservation of momentum; restarts in every precision.
mod common;

use common::{begin, engine_with, kob_andersen, liquid, thermostat_at};
use supercool::engine::ExactState;
use supercool::plan::{Plan, Precision, Thermostat};

/// The liquid of the tests: Kob-Andersen from an fcc (or square) lattice, T = 0.8.
fn start(plan: &Plan) -> ExactState {
    liquid(plan, 0.8, 400).export().unwrap()
}

fn hash_after(plan: &Plan, state: &ExactState, steps: u64) -> String {
    let mut fresh = state.clone();
    // Another skin or order is to be used from the start.
    fresh.memory = None;
    let mut engine = engine_with(plan, &fresh);
    engine.advance(steps).unwrap();
    engine.export().unwrap().hash().to_hex().to_string()
}

#[test]
fn fixed_point_has_the_same_bits_for_any_threads_skin_and_sort_interval() {
    for dimension in [2, 3] {
        let plan = kob_andersen(dimension, 1000, Precision::FixedPoint);
        let state = start(&plan);
        let reference = hash_after(&plan, &state, 500);
        for (threads, skin, sort_interval) in [
            (2, None, 1),
            (1, Some(0.15), 1),
            (1, Some(0.7), 1),
            (2, Some(0.3), 7),
            (1, None, 1000),
        ] {
            let mut other = plan.clone();
            other.run.threads = Some(threads);
            other.run.skin = skin;
            other.run.sort_interval = sort_interval;
            assert_eq!(
                hash_after(&other, &state, 500),
                reference,
                "{dimension}D, {threads} threads, skin {skin:?}, sorting every {sort_interval}"
            );
        }
    }
}

/// The constants of every engine: a change of these bits is a change of all trajectories.
#[test]
fn fixed_point_gives_the_golden_hashes() {
    let hash = |dimension, count, thermostat: Option<Thermostat>| {
        let plan = kob_andersen(dimension, count, Precision::FixedPoint);
        let mut engine = liquid(&plan, 0.8, 100);
        begin(engine.as_mut(), thermostat.and_then(|kind| thermostat_at(kind, 0.8)));
        engine.advance(100).unwrap();
        engine.export().unwrap().hash().to_hex()[..16].to_string()
    };
    let found = [
        hash(3, 1000, None),
        hash(2, 1000, None),
        hash(3, 500, Some(Thermostat::Andersen { rate: 10.0, exact: true })),
        hash(3, 500, Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 })),
        hash(3, 500, Some(Thermostat::Bussi { time: 0.1 })),
        hash(3, 500, Some(Thermostat::Langevin { friction: 1.0 })),
    ];
    assert_eq!(
        found,
        [
            "4b4f85d2493bad2f",
            "5d04e5eb577f205e",
            "c1fb7dda874eb69d",
            "4d2f1beea3d96fc1",
            "f34a2148d8e46335",
            "37139ba242fc4515",
        ]
    );
}

#[test]
fn fixed_point_returns_exactly_when_velocities_are_reversed() {
    let plan = kob_andersen(3, 4000, Precision::FixedPoint);
    let state = start(&plan);
    let mut engine = engine_with(&plan, &state);
    engine.advance(10_000).unwrap();
    assert_ne!(engine.export().unwrap().position, state.position);
    engine.reverse_velocities().unwrap();
    engine.advance(10_000).unwrap();
    engine.reverse_velocities().unwrap();
    let back = engine.export().unwrap();
    assert_eq!(back.position, state.position);
    assert_eq!(back.image, state.image);
    assert_eq!(back.velocity, state.velocity);
}

/// Total momentum in units of the velocity's last digit.
fn momentum(state: &ExactState) -> [i128; 3] {
    let mut sum = [0; 3];
    for velocity in &state.velocity {
        for axis in 0..3 {
            sum[axis] += i128::from(velocity[axis] as i64);
        }
    }
    sum
}

#[test]
fn fixed_point_conserves_momentum_to_the_bit_and_forces_sum_to_zero() {
    let plan = kob_andersen(3, 1000, Precision::FixedPoint);
    let state = start(&plan);
    let mut engine = engine_with(&plan, &state);
    engine.draw_velocities(0.8, true).unwrap();
    assert_eq!(momentum(&engine.export().unwrap()), [0; 3]);
    for _ in 0..10 {
        engine.advance(50).unwrap();
        assert_eq!(momentum(&engine.export().unwrap()), [0; 3]);
        // Momentum changes by the sum of forces, so that is zero to the bit; in 64-bit floats it is so up
        // to rounding.
        for axis in 0..3 {
            let forces: Vec<f64> =
                engine.forces().unwrap().iter().map(|force| force[axis]).collect();
            let size: f64 = forces.iter().map(|force| force.abs()).sum();
            assert!(forces.iter().sum::<f64>().abs() < 1e-15 * size);
        }
    }
}

#[test]
fn a_restart_gives_the_same_bits_in_every_precision() {
    for precision in Precision::ALL {
        for kind in [
            None,
            Some(Thermostat::Andersen { rate: 20.0, exact: true }),
            Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 }),
            Some(Thermostat::Bussi { time: 0.2 }),
            Some(Thermostat::Langevin { friction: 1.0 }),
        ] {
            let plan = kob_andersen(3, 500, precision);
            let mut whole = engine_with(&plan, &start(&plan));
            let stage = supercool::engine::StageContext {
                swap: None,
                barostat: None,
                shear: None,
                thermostat: kind.and_then(|kind| thermostat_at(kind, 0.8)),
                first_step: whole.step(),
                steps: 1000,
            };
            whole.begin_stage(&stage).unwrap();
            whole.advance(157).unwrap();
            let middle = whole.export().unwrap();
            whole.advance(143).unwrap();
            let mut plan = plan.clone();
            plan.run.threads = Some(2);
            let mut resumed = supercool::engine::create(&plan, &middle).unwrap();
            resumed.begin_stage(&stage).unwrap();
            resumed.advance(143).unwrap();
            let (a, b) = (resumed.export().unwrap(), whole.export().unwrap());
            assert_eq!(a.hash(), b.hash(), "{precision:?}, {kind:?}");
            assert_eq!(a.thermostat, b.thermostat, "{precision:?}, {kind:?}");
        }
    }
}

#[test]
fn a_pair_too_close_is_an_error_with_its_particles() {
    let plan = kob_andersen(3, 500, Precision::FixedPoint);
    let mut state = start(&plan);
    state.memory = None;
    state.position[17] = state.position[390];
    state.position[17][0] = state.position[17][0].wrapping_add(1 << 52);
    match supercool::engine::create(&plan, &state) {
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("particles 17 and 390"), "{message}");
        }
        Ok(_) => panic!("the force does not fit"),
    }
}

#[test]
fn a_runaway_particle_is_an_error_and_not_a_wrap() {
    for precision in Precision::ALL {
        let plan = kob_andersen(3, 500, precision);
        let mut snapshot = start(&plan).to_snapshot(&plan.system.species);
        snapshot.velocity[33] = [1.0, 600.0, 0.0];
        let mut engine = engine_with(&plan, &common::exact(&plan, &snapshot));
        let error = engine.advance(1).unwrap_err().to_string();
        assert!(error.contains("particle 33"), "{precision:?}: {error}");
        assert!(error.contains("a quarter of the box"), "{precision:?}: {error}");
    }
}

/// Whatever the engine does before they are waited for.
#[test]
fn copies_are_of_the_moment_at_which_they_were_begun() {
    for precision in Precision::ALL {
        let plan = kob_andersen(3, 500, precision);
        let mut engine = engine_with(&plan, &start(&plan));
        let begun: Vec<_> = (0..3)
            .map(|_| {
                let now = (engine.export().unwrap(), engine.snapshot().unwrap());
                let copies = (engine.begin_export().unwrap(), engine.begin_snapshot().unwrap());
                engine.advance(30).unwrap();
                (now, copies)
            })
            .collect();
        assert_ne!(begun[0].0, begun[1].0);
        for ((state, snapshot), (later_state, later_snapshot)) in begun {
            assert_eq!(later_state.wait().unwrap(), state);
            assert_eq!(later_snapshot.wait().unwrap(), snapshot);
        }
    }
}
