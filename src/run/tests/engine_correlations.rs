//! Runs whose engine evaluates correlations by itself give the files of runs whose engine does not.
use std::path::Path;

use supercool_analysis::results::{Curve, Function, ResultsFile, TimeSeries};

use super::*;
use crate::engine::delegate::delegate;
use crate::engine::{Correlator, OfSystems, Pending, Thermodynamics};
use crate::observable::Macroscopic;
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::portable::PortableEvaluator;
use crate::system::Snapshot;

/// The CPU engine, with a correlator that hands out its pairs late.
struct Evaluating {
    engine: Box<dyn Engine>,
    stage: StageContext,
    evaluators: Vec<PortableEvaluator>,
    /// Not evaluated before a flush, or before there is this number.
    taken: Vec<(Snapshot, Macroscopic)>,
    evaluated: Vec<(usize, Pending<OfSystems<Evaluated>>)>,
    /// The GPU is lost in the steps after this one.
    last_step: u64,
}

const BATCH: usize = 7;

impl Evaluating {
    fn new(plan: &Plan, last_step: u64) -> Self {
        let mut engine = engine::create(plan, &initial::create(plan).unwrap()).unwrap();
        engine.draw_velocities(1.0, true).unwrap();
        Evaluating {
            stage: StageContext::none(0),

            engine,
            evaluators: Vec::new(),
            taken: Vec::new(),
            evaluated: Vec::new(),
            last_step,
        }
    }

    fn take_sample(&mut self) {
        let step = self.engine.step() - self.stage.first_step;
        if self.evaluators.iter().any(|one| one.is_due(step)) {
            let Thermodynamics { stress, temperature, .. } = self.engine.thermodynamics().unwrap();
            let macroscopic = Macroscopic { stress, temperature };
            self.taken.push((self.engine.snapshot().unwrap(), macroscopic));
        }
        if self.taken.len() == BATCH {
            self.flush().unwrap();
        }
    }
}

impl Correlator for Evaluating {
    fn begin(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError> {
        let is_start = correlations.iter().flatten().all(|one| one.samples() == 0);
        self.evaluators = correlations.into_iter().flatten().map(PortableEvaluator::new).collect();
        if is_start {
            self.take_sample();
        }
        Ok(())
    }
    fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)> {
        std::mem::take(&mut self.evaluated)
    }
    fn flush(&mut self) -> Result<(), EngineError> {
        for (snapshot, macroscopic) in std::mem::take(&mut self.taken) {
            let step = snapshot.step - self.stage.first_step;
            for (index, evaluator) in self.evaluators.iter_mut().enumerate() {
                if evaluator.is_due(step) {
                    let pairs = evaluator.sample(&snapshot, Some(&macroscopic));
                    self.evaluated.push((index, Pending::ready(vec![(0, pairs)])));
                }
            }
        }
        Ok(())
    }
    fn held(&mut self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError> {
        assert!(self.taken.is_empty(), "flushed before");
        Ok(vec![self.evaluators.iter().map(PortableEvaluator::held).collect()])
    }
    fn finish(&mut self) -> Result<(), EngineError> {
        self.flush()?;
        for (index, evaluator) in self.evaluators.iter_mut().enumerate() {
            if let Some(evaluated) = evaluator.finish() {
                self.evaluated.push((index, Pending::ready(vec![(0, evaluated)])));
            }
        }
        Ok(())
    }
}

impl Engine for Evaluating {
    delegate!(engine: step, thermodynamics, snapshot, begin_snapshot, export, forces, velocities, set_box, reports);

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.stage = stage.clone();
        self.engine.begin_stage(stage)
    }
    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        for _ in 0..steps {
            if self.step() == self.last_step {
                return Err(EngineError::GpuLost { what: "finish".into(), message: "?".into() });
            }
            self.engine.advance(1)?;
            self.take_sample();
        }
        Ok(())
    }
    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        Some(self)
    }
}

/// Observables that engines evaluate and others in one correlation, in two stages.
fn toml() -> String {
    let observables = crate::plan::DynamicObservable::ALL.map(crate::plan::DynamicObservable::word);
    let mut text = r#"
[system]
dimension = 3
density = 0.8
seed = 3
species = [{ name = "A", count = 70 }, { name = "B", count = 38 }]
initial = { lattice = "fcc", temperature = 1.0 }
[potential]
kind = "lennard-jones"
cutoff = 2.0
truncation = { kind = "smooth", width = 0.005 }
[potential.pairs]
AA = { epsilon = 1.0, sigma = 1.0 }
AB = { epsilon = 1.0, sigma = 1.0 }
BB = { epsilon = 1.0, sigma = 1.0 }
[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.004
threads = 1
[checkpoint]
minutes = 1e-6
"#
    .to_owned();
    for (stage, every, drift) in [("first", 3, true), ("second", 2, false)] {
        text += &format!(
            r#"
[[stage]]
name = "{stage}"
steps = 120
[stage.observe]
thermodynamics = 5
structure = {{ every = 20, bin_width = 0.1, maximum_wavenumber = 8.0 }}
bond_order = {{ every = 15 }}
[[stage.correlation]]
every = {every}
block_size = 4
wavenumbers = [2.0, 7.25]
cage_radius = 1.4
remove_drift = {drift}
observables = {observables:?}
[[stage.correlation]]
every = 10
species = ["B"]
observables = ["velocity-autocorrelation", "self-intermediate-scattering-function"]
wavenumbers = [5.0]
"#
        );
    }
    // No observable stands in two correlations.
    text.replace(
        r#"observables = ["velocity-autocorrelation", "self-intermediate-scattering-function"]
wavenumbers = [5.0]
"#,
        "observables = [\"mean-quartic-displacement\"]\n",
    )
    .replace(r#""mean-quartic-displacement", "#, "")
}

fn plan(directory: &Path, name: &str) -> Plan {
    let file = directory.join("job.toml");
    std::fs::write(&file, toml()).unwrap();
    let mut plan = crate::config::load(&file).unwrap().plan;
    plan.output.directory = directory.join(name);
    plan
}

fn quiet() -> RunOptions {
    RunOptions { quiet: true, ..RunOptions::default() }
}

fn start(plan: Plan, engine: Box<dyn Engine>) -> Result<Outcome, RunError> {
    let mut output = OutputDirectory::create(&plan, false).unwrap();
    output.begin().unwrap();
    let simulation =
        Simulation::new(plan, EngineChoice::Cpu, toml(), Box::new(Engines::alone(engine)));
    simulation.drive(&output, &watch(&quiet()).unwrap(), &quiet())
}

/// Correlations and structure; the bond-orientational order as a curve for each of its numbers.
fn results(directory: &Path, name: &str) -> Vec<Function> {
    let of_stage = |stage: &str| {
        let file = directory.join(name).join(format!("{stage}.h5"));
        let file = ResultsFile::open(&file).unwrap();
        let order = file.observables().unwrap();
        let order = order.into_iter().filter(|one| one.name.contains("bond_order"));
        let order = order.map(|TimeSeries { name, time, step, value, .. }| {
            assert_eq!((step.len(), time.len()), (9, 9), "{name}");
            let curve = Curve { value, ..Curve::default() };
            Function { name, x: time, curves: vec![curve], ..Function::default() }
        });
        let functions = [file.dynamics().unwrap(), file.structure().unwrap()].concat();
        functions.into_iter().chain(order).collect::<Vec<_>>()
    };
    [of_stage("first"), of_stage("second")].concat()
}

fn assert_same(found: &[Function], expected: &[Function]) {
    assert_eq!(found.len(), expected.len());
    assert!(expected.len() > 75, "{}", expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let what = format!("{}/{}", expected.group, expected.name);
        assert_eq!(
            (&found.group, &found.name, &found.x),
            (&expected.group, &expected.name, &expected.x)
        );
        for (found, expected) in found.curves.iter().zip(&expected.curves) {
            assert_eq!(found.count, expected.count, "{what}");
            let bits = |curve: &Curve| -> Vec<u64> {
                curve.value.iter().chain(&curve.error).map(|x| x.to_bits()).collect()
            };
            assert_eq!(bits(found), bits(expected), "{what}");
        }
    }
}

#[test]
fn an_engine_that_correlates_writes_the_same_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let [here, there] = ["here", "there"].map(|name| plan(directory, name));
    run(here, &toml(), &quiet()).unwrap();
    let engine = Box::new(Evaluating::new(&there, u64::MAX));
    assert!(matches!(start(there, engine).unwrap(), Outcome::Finished(_)));
    assert_same(&results(directory, "there"), &results(directory, "here"));
}

/// A run that loses its GPU continues without it.
#[test]
fn a_run_goes_on_without_the_engine_that_correlated() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    run(plan(directory, "here"), &toml(), &quiet()).unwrap();
    for last_step in [1, 64, 119, 120, 175] {
        let name = format!("until_{last_step}");
        let plan = plan(directory, &name);
        let engine = Box::new(Evaluating::new(&plan, last_step));
        let error = start(plan, engine).unwrap_err().to_string();
        assert!(error.contains("the GPU was lost"), "{error}");
        if last_step < 5 {
            // Nothing to continue from.
            continue;
        }
        assert!(matches!(resume(&directory.join(&name), &quiet()).unwrap(), Outcome::Finished(_)));
        assert_same(&results(directory, &name), &results(directory, "here"));
    }
}
