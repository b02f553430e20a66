//! What a run does when its engine fails: an engine that loses its GPU at a step.
use std::path::Path;

use miette::Diagnostic;

use super::*;
use crate::engine::delegate::delegate;
use crate::engine::{Pending, PendingSnapshot};

/// When the GPU is lost.
#[derive(Clone, Copy, PartialEq)]
enum Loss {
    /// In the steps after this one.
    Stepping(u64),
    /// While the frame of this step is copied out.
    Copying(u64),
}

struct Losing {
    engine: Box<dyn Engine>,
    loss: Loss,
}

fn lost() -> EngineError {
    EngineError::GpuLost { what: "finish a kernel".into(), message: "unknown error".into() }
}

impl Engine for Losing {
    delegate!(engine: step, thermodynamics, snapshot, export, forces, velocities, set_box, reports);

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.engine.begin_stage(stage)
    }
    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        match self.loss {
            Loss::Stepping(last) if self.step() + steps > last => Err(lost()),
            _ => self.engine.advance(steps),
        }
    }
    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        if self.loss == Loss::Copying(self.step()) {
            return Ok(Pending::new(|| Err(lost())));
        }
        self.engine.begin_snapshot()
    }
}

/// Two stages of 40 steps, rows every 5 steps and frames every 10; a checkpoint after the first.
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
precision = "fixed-point"
timestep = 0.004
threads = 1
[[stage]]
name = "first"
steps = 40
observe = { thermodynamics = 5, trajectory = 10 }
[[stage]]
name = "second"
steps = 40
observe = { thermodynamics = 5, trajectory = 10 }
"#;

/// The error with its help, of a run in `directory` that loses its GPU.
fn run_and_lose(directory: &Path, loss: Loss) -> String {
    let file = directory.join("job.toml");
    std::fs::write(&file, TOML).unwrap();
    let mut plan = crate::config::load(&file).unwrap().plan;
    plan.output.directory = directory.join("out");
    let mut output = OutputDirectory::create(&plan, false).unwrap();
    output.begin().unwrap();
    let state = initial::create(&plan).unwrap();
    let engine = Box::new(Losing { engine: engine::create(&plan, &state).unwrap(), loss });
    let simulation =
        Simulation::new(plan, EngineChoice::Cpu, TOML.to_owned(), Box::new(Engines::alone(engine)));
    let options = RunOptions { quiet: true, ..RunOptions::default() };
    let error = simulation.drive(&output, &watch(&options).unwrap(), &options).unwrap_err();
    format!("{error}\n{}", error.help().unwrap())
}

/// Steps of the rows and of the frames of a stage.
fn steps_in_files(directory: &Path, stage: &str) -> [Vec<i64>; 2] {
    let steps = |file: String, dataset: &str| {
        let file = hdf5::File::open(directory.join("out").join(file)).unwrap();
        file.dataset(dataset).unwrap().read_raw().unwrap()
    };
    [
        steps(format!("{stage}.h5"), "observables/temperature/step"),
        steps(format!("{stage}.h5md"), "particles/trajectory/position/step"),
    ]
}

#[test]
fn a_gpu_lost_while_stepping_leaves_whole_files_and_a_run_that_can_be_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let error = run_and_lose(directory, Loss::Stepping(65));
    let advice = format!("supercool resume {}", directory.join("out").display());
    for part in ["the GPU was lost", "the run had come to step 65", &advice] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
    let expected = [vec![40, 45, 50, 55, 60, 65], vec![40, 50, 60]];
    assert_eq!(steps_in_files(directory, "second"), expected);

    let options = RunOptions { quiet: true, ..RunOptions::default() };
    let outcome = resume(&directory.join("out"), &options).unwrap();
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    let [rows, frames] = steps_in_files(directory, "second");
    assert_eq!((rows.len(), frames), (9, vec![40, 50, 60, 70, 80]));
}

#[test]
fn a_gpu_lost_while_a_frame_is_copied_leaves_what_was_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let error = run_and_lose(directory.path(), Loss::Copying(60));
    assert!(error.contains("the GPU was lost"), "{error}");
    assert!(error.contains("the run had come to step 50"), "{error}");
    let [rows, frames] = steps_in_files(directory.path(), "second");
    assert_eq!((rows.last(), frames), (Some(&60), vec![40, 50]));
}

#[test]
fn files_tell_the_machine_from_what_was_chosen_on_it() {
    let directory = tempfile::tempdir().unwrap();
    run_and_lose(directory.path(), Loss::Stepping(65));
    let path = directory.path().join("out/first.h5");
    let results = supercool_analysis::results::ResultsFile::open(&path).unwrap();
    let object = |name: &str| -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(&results.parameter(name).unwrap()).unwrap()
    };
    let (hardware, tuning) = (object("hardware"), object("tuning"));
    for (object, keys) in [
        (&hardware, ["engine", "processor", "threads", "instructions"].as_slice()),
        (&tuning, ["skin", "sort_interval"].as_slice()),
    ] {
        assert!(keys.iter().all(|key| object.contains_key(*key)), "{keys:?} in {object:?}");
    }
    assert!(hardware.keys().all(|key| !tuning.contains_key(key)), "{hardware:?} {tuning:?}");
}
