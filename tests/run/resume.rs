//! A run that was interrupted and resumed gives the bits of one that never stopped.
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use supercool::output::{Checkpoint, checkpoints_in, latest_valid};
use supercool::plan::DynamicObservable;

use crate::common::contents::numbers;
use crate::common::job::{Ended, Job, kob_andersen, signal};
use crate::observed::{assert_same_files, observed_stage};

const STAGES: [&str; 5] = ["andersen", "nose-hoover", "bussi", "langevin", "nve"];
const STEPS: u64 = 400;
const STOPPED: i32 = 75;

/// All thermostats, and a microcanonical stage at the energy of the one before; everything that can
/// be observed is.
fn toml(precision: &str, run: &str) -> String {
    let mut text = kob_andersen(3, 256, precision, run);
    let ensembles = [
        r#"thermostat = { kind = "andersen", temperature = { from = 1.5, to = 1.0 }, rate = 20.0 }"#,
        r#"thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.3 }"#,
        // Steps of its own, and back.
        "timestep = 0.003\nthermostat = { kind = \"bussi\", temperature = 1.0, time = 0.1 }",
        r#"thermostat = { kind = "langevin", temperature = { from = 1.0, to = 1.0 }, friction = 2.0 }"#,
        r#"set_total_energy = "mean of langevin""#,
    ];
    let observables = DynamicObservable::ALL.map(DynamicObservable::word);
    let correlation = format!(
        "every = 4\nblock_size = 4\ncage_radius = 1.4\nremove_drift = true\nobservables = {observables:?}"
    );
    for (name, ensemble) in STAGES.into_iter().zip(ensembles) {
        text += &observed_stage(name, STEPS, ensemble, 5, &correlation);
    }
    text + "\n[checkpoint]\nminutes = 0.001\n"
}

/// How a run is made to end.
#[derive(Clone, Copy, Debug)]
enum Blow {
    Signal(&'static str),
    Kill,
    Walltime,
}

/// Lets a run or its continuation work until `stage` has begun and some more, then ends it.
fn interrupt(job: &Job, arguments: &[&str], stage: &str, blow: Blow) -> Ended {
    let mut arguments = arguments.to_vec();
    if let Blow::Walltime = blow {
        arguments.extend(["--max-walltime", "0.15s"]);
    }
    let mut process = job.start(&arguments);
    job.appears(&format!("out/{stage}.h5"), &mut process);
    std::thread::sleep(Duration::from_millis(rand::random_range(0..60)));
    let running = process.try_wait().unwrap().is_none();
    match blow {
        Blow::Signal(name) if running => signal(process.id(), name),
        Blow::Kill => process.kill().unwrap(),
        _ => {}
    }
    Ended::of(process)
}

fn goes_on_with_the_same_bits(precision: &str, run: &str, blows: [Blow; 5]) {
    let toml = toml(precision, run);
    let whole = Job::new(&toml);
    whole.succeeds(&["run", "job.toml"]);

    let parts = Job::new(&toml);
    // Stopped before its first step: that step must not be measured twice.
    let stopped = parts.execute(&["run", "job.toml", "--max-walltime", "0s"]);
    assert_eq!(stopped.code, Some(STOPPED), "{stopped:?}");
    assert!(stopped.stdout.contains("supercool resume out"), "{stopped:?}");
    let mut interruptions = 0;
    for (stage, blow) in STAGES.into_iter().zip(blows) {
        let ended = interrupt(&parts, &["resume", "out"], stage, blow);
        println!("{precision}, {stage}, {blow:?}: {:?} {}", ended.code, ended.stdout.trim());
        match ended.code {
            // A signal may hit a process before it listens.
            None => assert!(matches!(blow, Blow::Kill | Blow::Signal(_)), "{ended:?}"),
            Some(0) => continue,
            Some(code) => {
                assert_eq!(code, STOPPED, "{ended:?}");
                let why = match blow {
                    Blow::Signal(name) => format!("Stopped by SIG{name}"),
                    _ => "Stopped by the time limit".to_owned(),
                };
                assert!(ended.stdout.contains(&why), "{ended:?}");
                assert!(ended.stdout.contains("supercool resume out"), "{ended:?}");
            }
        }
        interruptions += 1;
    }
    assert!(interruptions >= 1, "the machine is too fast for this test: more steps are needed");
    parts.succeeds(&["resume", "out"]);
    assert_same_run(&whole, &parts);
}

fn assert_same_run(whole: &Job, parts: &Job) {
    assert_same_files(whole, parts, STAGES);
    let (a, b) = (final_state(whole), final_state(parts));
    for name in ["position", "velocity"] {
        assert_eq!(a.get_u64(name).unwrap(), b.get_u64(name).unwrap(), "{name}");
    }
    assert_eq!(a.get_i32("image").unwrap(), b.get_i32("image").unwrap());
    let json = |state: &Checkpoint, name| state.get_json::<serde_json::Value>(name).unwrap();
    assert_eq!(json(&a, "place"), json(&b, "place"));
    let thermostat = |state| json(state, "state")["thermostat"].clone();
    assert_eq!(thermostat(&a), thermostat(&b));

    // The comparison has something to compare.
    let production = numbers(&whole.path("out/nve.h5"));
    for (name, size) in [
        ("/observables/stress_tensor/value", 81 * 9),
        ("/observables/inherent_structure_energy/value", 5),
        ("/dynamics/A/self_intermediate_scattering_function/value", 11),
        ("/structure/AB/pair_distribution/value", 149),
    ] {
        assert_eq!(production[name].1.len(), size, "{name}");
    }
}

fn final_state(job: &Job) -> Checkpoint {
    let (step, _, checkpoint) = latest_valid(&job.path("out")).unwrap().checkpoint.unwrap();
    assert_eq!(step, STEPS * STAGES.len() as u64);
    checkpoint
}

const TERM: Blow = Blow::Signal("TERM");
const INT: Blow = Blow::Signal("INT");

// Every thermostat meets every kind of interruption in one of the precisions.
#[test]
fn fixed_point_goes_on_with_the_same_bits() {
    // No skin given: each process may choose another.
    let blows = [TERM, INT, Blow::Kill, Blow::Walltime, Blow::Kill];
    goes_on_with_the_same_bits("fixed-point", "timestep = 0.004\nthreads = 2", blows);
}

#[test]
fn double_goes_on_with_the_same_bits() {
    let blows = [INT, Blow::Kill, Blow::Walltime, TERM, INT];
    goes_on_with_the_same_bits("double", "timestep = 0.004\nthreads = 1\nskin = 0.3", blows);
}

#[test]
fn double_single_goes_on_with_the_same_bits() {
    let blows = [Blow::Kill, Blow::Walltime, TERM, INT, Blow::Walltime];
    goes_on_with_the_same_bits("double-single", "timestep = 0.004\nthreads = 2\nskin = 0.3", blows);
}

#[test]
fn single_goes_on_with_the_same_bits() {
    let blows = [Blow::Walltime, TERM, INT, Blow::Kill, TERM];
    goes_on_with_the_same_bits("single", "timestep = 0.004\nthreads = 1\nskin = 0.3", blows);
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_one_before_is_used() {
    let toml = toml("fixed-point", "timestep = 0.004\nthreads = 1");
    let whole = Job::new(&toml);
    whole.succeeds(&["run", "job.toml"]);
    let parts = Job::new(&toml);
    let ended = interrupt(&parts, &["run", "job.toml"], "bussi", TERM);
    assert_eq!(ended.code, Some(STOPPED), "{ended:?}");
    let checkpoints: Vec<PathBuf> =
        checkpoints_in(&parts.path("out")).unwrap().into_iter().map(|(_, path)| path).collect();
    assert_eq!(checkpoints.len(), 2, "the last two are kept");
    let mut bytes = fs::read(&checkpoints[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&checkpoints[0], bytes).unwrap();
    let resumed = parts.succeeds(&["resume", "out"]);
    let name = checkpoints[0].file_name().unwrap().to_str().unwrap();
    assert!(resumed.stderr.contains(name), "{resumed:?}");
    assert!(resumed.stderr.contains("is not used"), "{resumed:?}");
    assert_same_run(&whole, &parts);
}

#[test]
fn a_finished_run_that_is_resumed_says_what_it_did_and_changes_nothing() {
    let job = Job::new(&toml("single", "timestep = 0.004\nthreads = 1\nskin = 0.3"));
    let first = job.succeeds(&["run", "job.toml"]);
    let before = fs::read(job.path("out/nve.h5")).unwrap();
    let again = job.succeeds(&["resume", "out"]);
    let (said, stages) = again.stdout.split_once("stage  ").unwrap();
    assert!(said.contains("was complete") && said.contains("out/checkpoint-2000.scp"), "{said}");
    let six = |text: &str| text.lines().take(6).map(str::trim_start).collect::<Vec<_>>().join("\n");
    assert_eq!(six(first.stdout.strip_prefix("stage  ").unwrap()), six(stages));
    assert_eq!(before, fs::read(job.path("out/nve.h5")).unwrap());
}
