//! The systems of an ensemble on several ranks: everything that is written is that of one process.
use std::path::{Path, PathBuf};
use std::time::Duration;

use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, Ensemble, StageContext};
use supercool::plan::{Plan, Precision};
use supercool::run::{self, Outcome, states_of};

use super::options;
use crate::common::contents::assert_same_numbers;
use crate::common::job::kob_andersen as configuration;

/// Stages that ask an ensemble for all that it can do.
const STAGES: &str = r#"
[[stage]]
name = "cool"
steps = 60
thermostat = { kind = "langevin", temperature = { from = 1.5, to = "ensemble" }, friction = 2.0 }
observe = { thermodynamics = 10 }

[[stage]]
name = "chain"
steps = 80
thermostat = { kind = "nose-hoover", temperature = "ensemble", period = 0.4 }
observe = { thermodynamics = 10, trajectory = 40, bond_order = { every = 20, radius = 1.4 } }

[[stage]]
name = "nve"
steps = 80
timestep = 0.003
set_total_energy = "mean of chain"
observe = { thermodynamics = 10, trajectory = 40, structure = { every = 20, maximum_wavenumber = 8.0, vectors_per_shell = 5 } }

[[stage.correlation]]
every = 5
block_size = 4
wavenumbers = [7.25]
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "self-overlap-susceptibility", "stress-autocorrelation"]
"#;

const TEMPERATURES: &str = r#"
[ensemble]
kind = "temperatures"
temperatures = [1.4, 1.1]
systems = 2
"#;

const REPLICAS: &str = r#"
[ensemble]
kind = "replica-exchange"
temperatures = [1.4, 1.3, 1.2]
systems = 1
exchange_every = 8
"#;

fn text(more: &str) -> String {
    let run = "timestep = 0.004\nthreads = 1\n[checkpoint]\nminutes = 0.0005";
    configuration(3, 160, "fixed-point", run) + more
}

/// The plan of a configuration whose run writes to the directory.
fn plan_in(directory: &Path, text: &str) -> Plan {
    let file = directory.join("job.toml");
    std::fs::write(&file, text).unwrap();
    let mut plan = supercool::config::load(&file).unwrap().plan;
    plan.output.directory = directory.join("out");
    plan
}

fn run_on(ranks: usize, directory: &Path, text: &str) -> PathBuf {
    let plan = plan_in(directory, text);
    let out = plan.output.directory.clone();
    let outcome = on_threads(ranks, |ranks| run::run(plan, text, &options(ranks)).unwrap());
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    out
}

/// All files of the stages, and the last checkpoints.
fn assert_same_run(one: &Path, other: &Path) {
    let written = |directory: &Path| {
        let names = directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.ends_with(".h5") || name.ends_with(".h5md"));
        names.sort();
        names
    };
    let names = written(one);
    assert!(names.len() >= 2, "{names:?}");
    assert_eq!(names, written(other));
    for name in names {
        assert_same_numbers(&one.join(&name), &other.join(&name));
    }
    let (one, other) = (states_of(one).unwrap(), states_of(other).unwrap());
    // To the last bit of what thermostats and lists remember.
    assert!(one == other, "the states of the last checkpoints");
}

fn assert_same_on_ranks(text: &str, ranks: &[usize]) {
    let alone = tempfile::tempdir().unwrap();
    let expected = run_on(1, alone.path(), text);
    for &ranks in ranks {
        let shared = tempfile::tempdir().unwrap();
        assert_same_run(&expected, &run_on(ranks, shared.path(), text));
    }
}

#[test]
fn ranks_write_what_one_process_does() {
    let repeated = "[integrity]\nrecheck = 40\nsegment = 10\n";
    assert_same_on_ranks(&text(&(TEMPERATURES.to_owned() + repeated + STAGES)), &[2, 3]);
}

#[test]
fn replicas_are_exchanged_as_in_one_process() {
    assert_same_on_ranks(&text(&(REPLICAS.to_owned() + STAGES)), &[2, 3]);
}

/// What rank 0 does by itself, and boxes that differ from system to system.
#[test]
fn minima_and_boxes_are_those_of_one_process() {
    let stages = r#"
[ensemble]
kind = "independent"
systems = 3

[[stage]]
name = "pressure"
steps = 60
thermostat = { kind = "bussi", temperature = 1.0, time = 0.1 }
barostat = { kind = "cell-rescaling", pressure = 8.0, time = 0.05, every = 5 }
observe = { thermodynamics = 10 }

[[stage]]
name = "squeeze"
steps = 40
density = { to = 1.25, every = 20 }
thermostat = { kind = "bussi", temperature = 1.0, time = 0.1 }
observe = { thermodynamics = 10 }

[[stage]]
name = "again"
steps = 20
minimize = { force_tolerance = 5.0, temperature = 0.8 }
observe = { thermodynamics = 10, trajectory = 10, inherent_structures = { every = 10, force_tolerance = 1.0 } }
"#;
    assert_same_on_ranks(&text(stages), &[2]);
}

#[test]
fn runs_from_configurations_have_the_propensities_of_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let first = r#"
[ensemble]
kind = "independent"
systems = 2
[[stage]]
name = "relax"
steps = 40
thermostat = { kind = "langevin", temperature = 1.0, friction = 2.0 }
observe = { trajectory = 40 }
"#;
    let frames = run_on(1, directory.path(), &text(first)).join("relax.h5md");
    let second = format!(
        r#"
[ensemble]
kind = "isoconfigurational"
configurations = {frames:?}
runs = 3

[[stage]]
name = "propensities"
steps = 40
[stage.propensity]
times = [0.02, 0.08, 0.16]
observables = ["displacement", "self-intermediate-scattering-function"]
wavenumber = 7.25
trajectory = true
"#
    );
    let text = text(&second).replace(
        "initial = { lattice = \"fcc\", temperature = 1.5 }",
        "initial = { temperature = 1.0 }",
    );
    assert_same_on_ranks(&text, &[2, 4]);
}

#[test]
fn an_ensemble_goes_on_with_any_number_of_ranks() {
    for ensemble in [TEMPERATURES, REPLICAS] {
        let text = text(&(ensemble.to_owned() + STAGES));
        let alone = tempfile::tempdir().unwrap();
        let expected = run_on(1, alone.path(), &text);

        let directory = tempfile::tempdir().unwrap();
        let plan = plan_in(directory.path(), &text);
        let out = plan.output.directory.clone();
        let limited = |ranks, milliseconds| run::RunOptions {
            max_walltime: Some(Duration::from_millis(milliseconds)),
            ..options(ranks)
        };
        let mut outcome = on_threads(3, |ranks| run::run(plan, &text, &limited(ranks, 1)).unwrap());
        let mut steps = Vec::new();
        for (leg, ranks) in [2, 1, 3, 2].into_iter().cycle().enumerate() {
            let Outcome::Stopped { step, .. } = outcome else { break };
            steps.push(step);
            // Slow machines need more time to come to a first step.
            let time = 20 * (1 + leg as u64 / 3);
            outcome = on_threads(ranks, |ranks| run::resume(&out, &limited(ranks, time)).unwrap());
        }
        assert!(steps.iter().any(|&step| step > 0), "it never stopped in its middle: {steps:?}");
        assert_same_run(&expected, &out);
    }
}

/// The systems of a plan, at rest in a stage without a thermostat.
fn systems_on(ranks: &Ranks, plan: &mut Plan) -> Box<dyn Ensemble> {
    let states = supercool::initial::create_all(plan).unwrap();
    let mut systems = engine::create_ensemble_on(ranks, plan, states).unwrap();
    let count = systems.systems();
    systems.draw_velocities(&vec![Some(1.0); count]).unwrap();
    systems.begin_stage(&vec![StageContext::none(0); count]).unwrap();
    systems
}

/// In any precision: a system lies on one rank as it does in one process.
#[test]
fn the_verbs_of_ensembles_give_the_same_in_double() {
    let directory = tempfile::tempdir().unwrap();
    let independent = "[ensemble]\nkind = \"independent\"\nsystems = 5\n";
    let mut plan = plan_in(
        directory.path(),
        &text(&(independent.to_owned() + "[[stage]]\nname = \"one\"\nsteps = 1\n")),
    );
    plan.run.precision = Precision::Double;
    let found = |ranks: &Ranks| {
        let mut systems = systems_on(ranks, &mut plan.clone());
        systems.scale_velocities(&[1.0, 0.5, 1.0, 2.0, 1.5]).unwrap();
        systems.advance(40).unwrap();
        assert_eq!((systems.step(), systems.systems()), (40, 5));
        let ranks = systems.report().hardware.ranks.map_or(1, |report| report.ranks);
        let share = systems.report().execution.communication_share.unwrap_or(0.0);
        assert!((0.0..1.0).contains(&share), "{share}");
        let exports: Vec<_> = (0..5).map(|system| systems.export(system).unwrap()).collect();
        let pending =
            systems.begin_exports().unwrap().into_iter().map(|state| state.wait().unwrap());
        assert!(exports.iter().cloned().eq(pending), "exports");
        let snapshots = systems.begin_snapshots().unwrap().into_iter();
        let snapshots: Vec<_> = snapshots.map(|snapshot| snapshot.wait().unwrap()).collect();
        (ranks, exports, snapshots, systems.thermodynamics().unwrap())
    };
    let (_, exports, snapshots, thermodynamics) = found(&Ranks::default());
    for count in [2, 5] {
        let on_ranks = on_threads(count, |ranks| found(&ranks));
        assert!(
            on_ranks == (count, exports.clone(), snapshots.clone(), thermodynamics.clone()),
            "{count} ranks"
        );
    }
}

#[test]
fn errors_of_any_rank_end_the_run_and_name_the_system() {
    let directory = tempfile::tempdir().unwrap();
    let hot = r#"
[ensemble]
kind = "temperatures"
temperatures = [1.0, 1.1, 2400.0]
systems = 1
[[stage]]
name = "hot"
steps = 100
thermostat = { kind = "bussi", temperature = "ensemble", time = 0.01 }
"#;
    let text = text(hot);
    let failure = |ranks| {
        let plan = plan_in(directory.path(), &text);
        let options = |ranks| run::RunOptions { force: true, ..options(ranks) };
        on_threads(ranks, |ranks| run::run(plan, &text, &options(ranks)).unwrap_err().to_string())
    };
    let alone = failure(1);
    assert!(alone.contains("system 2: step"), "{alone}");
    for ranks in [2, 3] {
        assert_eq!(failure(ranks), format!("{alone} (found by rank {})", ranks - 1));
    }
    let refused = failure(4);
    assert!(refused.contains("4 ranks for the 3 systems of [ensemble]"), "{refused}");
}
