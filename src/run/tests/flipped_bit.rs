//! A bit that the hardware flips is seen by the steps that are computed twice.
use std::path::Path;

use miette::Diagnostic;

use super::fault::{Fault, Faulty};
use super::*;
use crate::output::{Checkpoint, state_from_checkpoint};

const TOML: &str = r#"
[system]
dimension = 3
density = 0.8
seed = 3
species = [{ name = "A", count = 108 }]
initial = { lattice = "fcc", temperature = 1.0 }
[potential]
kind = "lennard-jones"
cutoff = 2.0
truncation = { kind = "smooth", width = 0.005 }
[potential.pairs]
AA = { epsilon = 1.0, sigma = 1.0 }
[run]
engine = "cpu"
precision = "PRECISION"
timestep = 0.004
threads = 2
[[stage]]
name = "thermostat"
steps = 50
thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.3 }
observe = { thermodynamics = 5 }
[[stage]]
name = "production"
steps = 130
observe = { thermodynamics = 5, trajectory = 10 }
[integrity]
recheck = 40
segment = SEGMENT
"#;

/// A run in `directory` on an engine with a defect.
fn run_with(directory: &Path, toml: &str, fault: Option<Fault>) -> Result<Outcome, RunError> {
    let file = directory.join("job.toml");
    std::fs::write(&file, toml).unwrap();
    let mut plan = crate::config::load(&file).unwrap().plan;
    plan.output.directory = directory.join("out");
    let mut output = OutputDirectory::create(&plan, false).unwrap();
    output.begin().unwrap();
    let state = initial::create(&plan).unwrap();
    let mut engine = engine::create(&plan, &state).unwrap();
    engine.draw_velocities(1.0, true).unwrap();
    if let Some(fault) = fault {
        engine = Box::new(Faulty::new(engine, &plan, fault));
    }
    let simulation =
        Simulation::new(plan, EngineChoice::Cpu, toml.to_owned(), Box::new(Engines::alone(engine)));
    let options = RunOptions { quiet: true, ..RunOptions::default() };
    simulation.drive(&output, &watch(&options).unwrap(), &options)
}

fn toml(precision: &str, segment: u64) -> String {
    TOML.replace("PRECISION", precision).replace("SEGMENT", &segment.to_string())
}

#[test]
fn a_sound_run_is_repeated_to_the_bit_in_every_precision() {
    for precision in crate::plan::Precision::ALL {
        for segment in [7, 40] {
            let directory = tempfile::tempdir().unwrap();
            let outcome = run_with(directory.path(), &toml(precision.name(), segment), None);
            assert!(matches!(outcome, Ok(Outcome::Finished(_))), "{precision:?}: {outcome:?}");
        }
    }
}

#[test]
fn a_flipped_bit_is_seen_with_its_step_and_particle() {
    // The second stage begins at step 50: segments from 90 and 130 on. The lowest bit of a velocity in fixed point.
    for (precision, bit) in [("fixed-point", 0), ("double", 3), ("single", 0)] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let fault = Fault { step: 94, particle: 17, axis: 1, bit };
        let error = run_with(directory, &toml(precision, 10), Some(fault)).unwrap_err();
        let text = format!("{error}\n{}", error.help().unwrap());
        for part in [
            "step 94",
            "integrity.recheck",
            "1 of 108 particles differ, the first is particle 17 in velocity y",
            "equal until step 93",
            "a third computation agrees with the repetition: the run erred",
            "recheck-94-run.scp",
            "recheck-94-repeated.scp",
            "recheck-90-start.scp",
        ] {
            assert!(text.contains(part), "{precision}: no {part:?} in {text}");
        }
        let state = |name: &str| {
            let path = directory.join("out").join(name);
            state_from_checkpoint(&Checkpoint::read(&path).unwrap(), &path).unwrap()
        };
        let (run, repeated) = (state("recheck-94-run.scp"), state("recheck-94-repeated.scp"));
        assert_eq!(run.velocity[17][1] ^ repeated.velocity[17][1], 1 << bit, "{precision}");
        assert_eq!(state("recheck-90-start.scp").step, 90);
    }
}

#[test]
fn states_that_are_far_apart_say_between_which_steps() {
    let directory = tempfile::tempdir().unwrap();
    let fault = Fault { step: 107, particle: 3, axis: 0, bit: 40 };
    let error = run_with(directory.path(), &toml("fixed-point", 40), Some(fault)).unwrap_err();
    let text = error.to_string();
    for part in ["step 110", "equal until step 106"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// Timed checkpoints within a segment wait for the comparison of what they hold.
#[test]
fn no_checkpoint_holds_steps_that_differ() {
    let directory = tempfile::tempdir().unwrap();
    let toml = toml("fixed-point", 40) + "[checkpoint]\nminutes = 1e-9\n";
    // The states that are compared without checkpoints are those of steps 106 and 110.
    let fault = Fault { step: 107, particle: 3, axis: 0, bit: 40 };
    let error = run_with(directory.path(), &toml, Some(fault)).unwrap_err().to_string();
    assert!(error.contains("integrity.recheck"), "{error}");
    let steps: Vec<u64> = checkpoints_in(&directory.path().join("out"))
        .unwrap()
        .into_iter()
        .map(|(step, _)| step)
        .collect();
    assert!(!steps.is_empty() && steps.iter().all(|&step| step < 107), "{steps:?}: {error}");
}

/// Where a resumed run begins within a segment, the rest of it is compared.
#[test]
fn a_segment_is_taken_up_in_its_middle() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("job.toml");
    std::fs::write(&file, toml("fixed-point", 40)).unwrap();
    let mut plan = crate::config::load(&file).unwrap().plan;
    plan.output.directory = directory.path().join("out");
    let output = OutputDirectory::create(&plan, false).unwrap();
    let state = initial::create(&plan).unwrap();
    let mut engine = engine::create(&plan, &state).unwrap();
    engine.draw_velocities(1.0, true).unwrap();
    let stage = StageContext {
        thermostat: None,
        first_step: 0,
        steps: 130,
        swap: None,
        barostat: None,
        shear: None,
    };
    engine.begin_stage(&stage).unwrap();
    engine.advance(13).unwrap();
    let mut recheck = Recheck::new(plan.integrity.unwrap(), None);
    let ensemble = Engines::alone(engine);
    recheck.at(&ensemble, &stage, &plan, &output).unwrap();
    assert_eq!(recheck.next_event(13, 130), 16);
    let fault = Fault { step: 15, particle: 3, axis: 0, bit: 40 };
    let around = |engine| -> Result<Box<dyn Engine>, EngineError> {
        Ok(Box::new(Faulty::new(engine, &plan, fault)))
    };
    let mut ensemble = ensemble.wrapped(0, around).unwrap();
    ensemble.advance(3).unwrap();
    let error = recheck.catch_up(&ensemble, &plan, &output).unwrap_err().to_string();
    for part in ["step 16", "equal until step 13"] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
}

#[test]
fn a_fault_outside_the_segments_is_not_seen() {
    let directory = tempfile::tempdir().unwrap();
    let fault = Fault { step: 70, particle: 3, axis: 0, bit: 20 };
    let outcome = run_with(directory.path(), &toml("fixed-point", 10), Some(fault));
    assert!(matches!(outcome, Ok(Outcome::Finished(_))), "{outcome:?}");
}

#[test]
fn a_fault_is_read_as_it_is_written() {
    let fault = Fault { step: 7, particle: 100, axis: 2, bit: 63 };
    assert_eq!(Fault::parse("7:100:2:63"), Some(fault));
    for text in ["", "7", "7:1:3:0", "7:1:0:64", "a:1:2:3", "1:2:3:4:5"] {
        assert_eq!(Fault::parse(text), None, "{text}");
    }
}
