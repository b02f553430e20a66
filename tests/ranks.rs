//! Several ranks, as threads of this process, have the bits of one.
mod common;
#[path = "ranks/shared_systems.rs"]
mod shared_systems;

use std::path::Path;
use std::time::Duration;

use common::contents::assert_same_numbers;
use common::job::kob_andersen as configuration;
use common::{
    begin, exchanges_with_c, kob_andersen, kob_andersen_2, kob_andersen_potential, plan_of,
    polydisperse, thermostat_at, two_species,
};
use supercool::command::check::domains;
use supercool::engine::domain::{DomainGrid, Ranks, on_threads};
use supercool::engine::{self, Engine, EngineError, ExactState};
use supercool::plan::{
    EngineChoice, IntegrityPlan, Plan, Precision, Ramp, SwapPlan, Thermostat, ThermostatPlan,
};
use supercool::potential::Truncation;
use supercool::run::{self, Outcome, RunOptions};
use supercool::system::SimulationBox;

/// A fresh lattice with velocities, on some ranks.
fn engine_on(ranks: &Ranks, plan: &Plan, temperature: f64) -> Box<dyn Engine> {
    let state = supercool::initial::create(plan).unwrap();
    let mut engine = engine::create_on(ranks, plan, &state).unwrap();
    engine.draw_velocities(temperature, true).unwrap();
    begin(engine.as_mut(), None);
    engine
}

/// Everything but the layout in memory.
fn without_memory(state: ExactState) -> ExactState {
    ExactState { memory: None, ..state }
}

fn plan(dimension: usize, count: usize, precision: Precision) -> Plan {
    let mut plan = kob_andersen(dimension, count, precision);
    plan.run.skin = Some(0.3);
    plan
}

#[test]
fn any_number_of_ranks_gives_the_bits_of_one_while_particles_migrate() {
    const STEPS: u64 = 2000;
    for (dimension, count) in [(3, 1000), (2, 500)] {
        let plan = plan(dimension, count, Precision::FixedPoint);
        let mut single = engine_on(&Ranks::default(), &plan, 1.5);
        let before = single.snapshot().unwrap();
        single.advance(STEPS).unwrap();
        let (expected, after) = (single.export().unwrap(), single.snapshot().unwrap());
        let forces = single.forces().unwrap();
        for ranks in [2, 3, 4, 6, 8] {
            on_threads(ranks, |all| {
                let mut engine = engine_on(&all, &plan, 1.5);
                assert_eq!(engine.report().hardware.ranks.unwrap().ranks, ranks);
                engine.advance(STEPS).unwrap();
                let state = engine.export().unwrap();
                assert_eq!(state.hash(), expected.hash(), "{dimension}D on {ranks} ranks");
                assert_eq!(without_memory(state), without_memory(expected.clone()));
                assert_eq!(engine.forces().unwrap(), forces);
                assert_eq!(engine.snapshot().unwrap(), after);
                assert_eq!(engine.thermodynamics().unwrap(), single.thermodynamics().unwrap());
            });
            let grid = DomainGrid::new(&plan.system.simulation_box, ranks, 2.8).unwrap();
            assert_crossed(&plan, &grid, [&before.position, &after.position]);
        }
    }
}

/// Around expected sites on all ranks, with their end foreseen.
#[test]
fn lists_live_as_long_as_on_one_rank() {
    const STEPS: u64 = 1000;
    let langevin = Thermostat::Langevin { friction: 5.0 };
    for thermostat in [None, thermostat_at(langevin, 1.5)] {
        let plan = plan(3, 1000, Precision::FixedPoint);
        let run = |ranks: &Ranks| {
            let mut engine = engine_on(ranks, &plan, 1.5);
            begin(engine.as_mut(), thermostat);
            engine.advance(STEPS).unwrap();
            engine.report().execution
        };
        let one = run(&Ranks::default()).list_rebuilds;
        let of_four = on_threads(4, |ranks| run(&ranks));
        let (four, repeated) = (of_four.list_rebuilds, of_four.steps_repeated.unwrap());
        assert!(4 * four <= 5 * one, "{four} and {one} buildings, {thermostat:?}");
        assert!(20 * repeated <= STEPS, "{repeated} steps were repeated, {thermostat:?}");
    }
}

/// Particles have gone to the next domain both ways along each axis that has several.
fn assert_crossed(plan: &Plan, grid: &DomainGrid, [before, after]: [&[[f64; 3]]; 2]) {
    let edges = plan.system.simulation_box.edges();
    for (axis, &edge) in edges.iter().enumerate() {
        let count = grid.count()[axis];
        if count == 1 {
            continue;
        }
        let domain = |x: f64| ((x / edge * f64::from(count)) as u32).min(count - 1);
        let crossings = |step: u32| {
            let moved = before.iter().zip(after);
            let at = |position: &[f64; 3]| domain(position[axis]);
            moved.filter(|(from, to)| at(to) == (at(from) + step) % count && step > 0).count()
        };
        for step in [1, count - 1] {
            assert!(crossings(step) > 5, "axis {axis}, {step}: {}", crossings(step));
        }
    }
}

/// Long boxes, unequal masses, domains without particles, memory that is sorted now and then.
#[test]
fn odd_systems_have_the_bits_of_one_rank_too() {
    for (edges, counts, ranks) in [
        (vec![24.5, 6.0, 7.0], [700, 300], vec![2, 8]),
        (vec![9.0, 40.0], [200, 100], vec![5, 13]),
        (vec![18.0, 18.0, 18.0], [20, 3], vec![8, 27]),
    ] {
        let mut species = two_species(counts[0], counts[1]);
        species[1].mass = 2.5;
        let simulation_box = SimulationBox::new(&edges);
        let potential = kob_andersen_potential(Truncation::Shifted);
        let mut plan = plan_of(simulation_box, species, potential, Precision::FixedPoint);
        plan.run.skin = Some(0.3);
        plan.run.sort_interval = 3;
        let run = |ranks: &Ranks| {
            let mut engine = engine_on(ranks, &plan, 1.0);
            begin(engine.as_mut(), thermostat_at(Thermostat::Bussi { time: 0.5 }, 1.0));
            engine.advance(300).unwrap();
            (without_memory(engine.export().unwrap()), engine.thermodynamics().unwrap())
        };
        let expected = run(&Ranks::default());
        for ranks in ranks {
            assert_eq!(on_threads(ranks, |ranks| run(&ranks)), expected, "{edges:?}, {ranks}");
        }
    }
}

#[test]
fn the_check_says_which_domains_there_are() {
    let plan = plan(3, 1000, Precision::FixedPoint);
    let report = domains(&plan, 8.try_into().unwrap()).unwrap();
    assert!(report.contains("2 x 2 x 2") && report.contains("125 particles"), "{report}");
    assert!(domains(&plan, 28.try_into().unwrap()).is_err());
}

#[test]
fn thermostats_are_those_of_one_rank() {
    let plan = plan(3, 500, Precision::FixedPoint);
    for kind in [
        Thermostat::Andersen { rate: 5.0, exact: true },
        Thermostat::NoseHoover { period: 0.5, chain_length: 3 },
        Thermostat::Bussi { time: 0.1 },
        Thermostat::Isokinetic,
        Thermostat::Langevin { friction: 2.0 },
    ] {
        let run = |ranks: &Ranks| {
            let mut engine = engine_on(ranks, &plan, 1.5);
            begin(engine.as_mut(), thermostat_at(kind, 0.8));
            engine.advance(120).unwrap();
            engine.scale_velocities(1.01).unwrap();
            engine.reverse_velocities().unwrap();
            engine.advance(30).unwrap();
            (without_memory(engine.export().unwrap()), engine.thermodynamics().unwrap())
        };
        let expected = run(&Ranks::default());
        assert_eq!(on_threads(4, |ranks| run(&ranks)), expected, "{kind:?}");
    }
}

/// Diameters or species are exchanged while particles migrate; runs go on with other numbers of ranks, also after a step with trials.
#[test]
fn swaps_are_those_of_one_rank() {
    const COUNT: usize = 700;
    let mut of_diameters =
        polydisperse(SimulationBox::cubic(3, COUNT, 1.0), COUNT, Precision::FixedPoint);
    of_diameters.run.skin = Some(0.3);
    let mut spheres = supercool::initial::create(&of_diameters).unwrap();
    let share = |i: usize| (i * 37 % COUNT) as f64 / COUNT as f64;
    spheres.diameter = (0..COUNT).map(|i| f64::from((0.73 + 0.89 * share(i)) as f32)).collect();
    let mut of_species =
        kob_andersen_2(SimulationBox::cubic(3, 1400, 1.2), [980, 280, 140], Precision::FixedPoint);
    of_species.run.skin = Some(0.3);
    let mixture = supercool::initial::create(&of_species).unwrap();
    let swap = exchanges_with_c(15, 1.0);
    let of_diameters_alone = SwapPlan { pairs: Default::default(), ..swap };
    for (plan, first, swap, kind) in [
        (&of_diameters, &spheres, of_diameters_alone, Thermostat::Langevin { friction: 1.0 }),
        (
            &of_diameters,
            &spheres,
            of_diameters_alone,
            Thermostat::NoseHoover { period: 0.5, chain_length: 3 },
        ),
        (&of_species, &mixture, swap, Thermostat::Langevin { friction: 1.0 }),
    ] {
        let stage = engine::StageContext {
            barostat: None,
            thermostat: thermostat_at(kind, if swap.is_of_species() { 2.0 } else { 0.8 }),
            first_step: 0,
            steps: 200,
            swap: Some(swap),
            shear: None,
        };
        let go_on = |ranks: &Ranks, state: &ExactState, parts: &[u64]| {
            let mut engine = engine::create_on(ranks, plan, state).unwrap();
            if state.step == 0 {
                engine.draw_velocities(1.5, true).unwrap();
            }
            engine.begin_stage(&stage).unwrap();
            parts.iter().for_each(|&steps| engine.advance(steps).unwrap());
            let thermodynamics = engine.thermodynamics().unwrap();
            (without_memory(engine.export().unwrap()), engine.forces().unwrap(), thermodynamics)
        };
        let expected = go_on(&Ranks::default(), first, &[200]);
        let (state, ..) = &expected;
        let memory = &state.thermostat;
        if swap.is_of_species() {
            assert!(memory.swap_trials > 13 * 140 && memory.swaps > 100, "{memory:?}");
        } else {
            assert_eq!(memory.swap_trials, 13 * COUNT as u64);
            assert!(memory.swaps > COUNT as u64, "{memory:?}");
            assert_ne!(state.diameter, first.diameter);
        }
        for ranks in [2, 3, 8] {
            let found = on_threads(ranks, |ranks| go_on(&ranks, first, &[200]));
            assert_eq!(found.0.hash(), state.hash(), "{kind:?}, {ranks} ranks");
            assert_eq!(found, expected, "{kind:?}, {ranks} ranks");
        }
        let mut state = first.clone();
        for (ranks, parts) in [(8, &[7, 23][..]), (1, &[20]), (3, &[10, 41]), (2, &[99])] {
            (state, ..) = on_threads(ranks, |ranks| go_on(&ranks, &state, parts));
        }
        assert_eq!(state, expected.0, "{kind:?}");
    }
}

/// Velocities that jump, again and again, upset every prediction of when lists are to be rebuilt.
#[test]
fn steps_with_lists_that_were_too_old_are_taken_again() {
    let mut plan = plan(3, 500, Precision::FixedPoint);
    plan.run.skin = Some(0.08);
    let kicks = ThermostatPlan {
        kind: Thermostat::Andersen { rate: 250.0 / 9.0, exact: false },
        temperature: Ramp { from: 0.01, to: 12.0 },
    };
    let run = |ranks: &Ranks, parts: &[u64]| {
        let mut engine = engine_on(ranks, &plan, 0.01);
        let stage = engine::StageContext {
            thermostat: Some(kicks),
            first_step: 0,
            steps: 300,
            swap: None,
            barostat: None,
            shear: None,
        };
        engine.begin_stage(&stage).unwrap();
        parts.iter().for_each(|&steps| engine.advance(steps).unwrap());
        (without_memory(engine.export().unwrap()), engine.report())
    };
    let (expected, _) = run(&Ranks::default(), &[300]);
    for parts in [&[300][..], &[1, 7, 50, 2, 90, 150]] {
        let (state, report) = on_threads(4, |ranks| run(&ranks, parts));
        assert!(report.execution.steps_repeated.unwrap() > 0, "{report:?}");
        assert_eq!(state, expected);
    }
}

#[test]
fn floating_point_runs_repeat_however_steps_are_parted() {
    for precision in [Precision::Single, Precision::DoubleSingle, Precision::Double] {
        let plan = plan(3, 500, precision);
        let run = |parts: &[u64]| {
            on_threads(4, |ranks| {
                let mut engine = engine_on(&ranks, &plan, 1.5);
                parts.iter().for_each(|&steps| engine.advance(steps).unwrap());
                engine.export().unwrap()
            })
        };
        let state = run(&[150]);
        assert_eq!(run(&[1, 30, 2, 60, 57]).hash(), state.hash(), "{precision:?}");
        // Forces differ from those of one rank by the order of their sums only.
        let forces =
            |ranks: &Ranks| engine::create_on(ranks, &plan, &state).unwrap().forces().unwrap();
        let (one, four) = (forces(&Ranks::default()), on_threads(4, |ranks| forces(&ranks)));
        let tolerance = if precision == Precision::Double { 1e-11 } else { 1e-3 };
        for (a, b) in one.as_flattened().iter().zip(four.as_flattened()) {
            assert!((a - b).abs() < tolerance * (1.0 + a.abs()), "{precision:?}: {a} {b}");
        }
    }
}

/// The words of an error except for the rank that found it.
fn words(error: &EngineError) -> String {
    let words = error.to_string();
    words.split(" (found by").next().unwrap().to_owned()
}

#[test]
fn errors_are_those_of_one_rank() {
    let mut plan = plan(3, 500, Precision::FixedPoint);
    plan.run.timestep = 0.05;
    let run = |ranks: &Ranks| {
        let mut engine = engine_on(ranks, &plan, 60.0);
        engine.advance(1000).unwrap_err()
    };
    let expected = run(&Ranks::default());
    assert_eq!(words(&on_threads(4, |ranks| run(&ranks))), words(&expected));

    // Two particles of different domains at one place.
    let state = supercool::initial::create(&plan).unwrap();
    // Of the same bits, then of the same site only.
    for difference in [0, 1 << 20] {
        let mut overlapping = state.clone();
        overlapping.position[17] = overlapping.position[400].map(|x| x ^ difference);
        let create = |ranks: &Ranks| engine::create_on(ranks, &plan, &overlapping).err().unwrap();
        let expected = create(&Ranks::default());
        assert!(matches!(expected, EngineError::TooClose { first: 17, second: 400, .. }));
        on_threads(4, |ranks| {
            assert_eq!(words(&create(&ranks)), words(&expected));
            // They are not lost for the next state.
            assert!(engine::create_on(&ranks, &plan, &state).is_ok());
        });
    }
}

#[test]
fn more_ranks_than_domains_fit_are_refused() {
    let plan = plan(3, 500, Precision::FixedPoint);
    let state = supercool::initial::create(&plan).unwrap();
    let error = on_threads(9, |ranks| engine::create_on(&ranks, &plan, &state).err().unwrap());
    let words = error.to_string();
    assert!(words.contains("9 ranks") && words.contains("8 at most"), "{words}");
}

#[test]
fn steps_are_repeated_for_integrity_only_where_ranks_repeat_them_to_the_bit() {
    let mut plan = plan(3, 500, Precision::Double);
    plan.integrity = Some(IntegrityPlan { recheck: 100, segment: 20 });
    let state = supercool::initial::create(&plan).unwrap();
    let error = on_threads(2, |ranks| engine::create_on(&ranks, &plan, &state).err().unwrap());
    assert!(error.to_string().contains("integrity.recheck"), "{error}");

    // In fixed point one rank repeats what all have done.
    let directory = tempfile::tempdir().unwrap();
    let (mut plan, text) = job(directory.path());
    plan.integrity = Some(IntegrityPlan { recheck: 100, segment: 20 });
    on_threads(4, |ranks| run::run(plan, &text, &options(ranks)).unwrap());
}

/// Three stages, the last with a flow, that write all kinds of files.
fn job(directory: &Path) -> (Plan, String) {
    let text = configuration(3, 1000, "fixed-point", "timestep = 0.004\nskin = 0.3\nthreads = 1")
        + r#"
[[stage]]
name = "equilibrate"
steps = 200
thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.5 }
observe = { thermodynamics = 10 }

[[stage]]
name = "production"
steps = 600
timestep = 0.003
set_total_energy = "mean of equilibrate"
observe = { thermodynamics = 20, trajectory = 100, gsd = true, structure = { every = 100 } }

[[stage.correlation]]
every = 5
block_size = 5
wavenumbers = [7.25]
observables = [
    "mean-square-displacement", "velocity-autocorrelation", "self-intermediate-scattering-function",
    "self-overlap-susceptibility", "stress-autocorrelation", "coherent-intermediate-scattering-function"
]

[[stage]]
name = "flow"
steps = 300
shear = { rate = 2.0 }
observe = { thermodynamics = 20, trajectory = 100 }

[[stage.correlation]]
every = 5
block_size = 5
observables = ["mean-square-displacement"]
"#;
    let file = directory.join("job.toml");
    std::fs::write(&file, &text).unwrap();
    let mut plan = supercool::config::load(&file).unwrap().plan;
    plan.output.directory = directory.join("out");
    (plan, text)
}

fn options(ranks: Ranks) -> RunOptions {
    let engine = Some(EngineChoice::Cpu);
    RunOptions { quiet: true, engine, ranks, ..RunOptions::default() }
}

fn assert_same_files(one: &Path, other: &Path) {
    for file in ["equilibrate.h5", "production.h5", "production.h5md", "flow.h5", "flow.h5md"] {
        assert_same_numbers(&one.join("out").join(file), &other.join("out").join(file));
    }
    let frames = |directory: &Path| {
        let file = supercool_analysis::open(directory.join("out/production.gsd")).unwrap();
        (0..file.len()).map(|frame| file.read(frame).unwrap().position).collect::<Vec<_>>()
    };
    assert_eq!(frames(one), frames(other), "frames of the GSD files");
}

#[test]
fn files_are_those_of_one_rank() {
    let directories: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    for (directory, ranks) in directories.iter().zip([1, 4]) {
        let (mut plan, text) = job(directory.path());
        // The options have the last word.
        plan.run.engine = EngineChoice::Cuda;
        on_threads(ranks, |ranks| run::run(plan, &text, &options(ranks)).unwrap());
    }
    assert_same_files(directories[0].path(), directories[1].path());
}

#[test]
fn a_run_goes_on_with_any_number_of_ranks() {
    let directories: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let (plan, text) = job(directories[0].path());
    run::run(plan, &text, &options(Ranks::default())).unwrap();

    let (plan, text) = job(directories[1].path());
    let limited = |ranks, milliseconds| RunOptions {
        max_walltime: Some(Duration::from_millis(milliseconds)),
        ..options(ranks)
    };
    let out = plan.output.directory.clone();
    let mut outcome = on_threads(8, |ranks| run::run(plan, &text, &limited(ranks, 1)).unwrap());
    let mut steps = Vec::new();
    for (leg, ranks) in [4, 1, 2, 8, 1].into_iter().cycle().enumerate() {
        let Outcome::Stopped { step, .. } = outcome else { break };
        steps.push(step);
        // Slow machines need more time to come to a first step.
        let time = 20 * (1 + leg as u64 / 3);
        outcome = on_threads(ranks, |ranks| run::resume(&out, &limited(ranks, time)).unwrap());
    }
    assert!(steps.iter().any(|&step| step > 0), "it never stopped in its middle: {steps:?}");
    assert_same_files(directories[0].path(), directories[1].path());
}
