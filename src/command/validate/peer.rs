//! Another program that follows the same state: its numbers beside ours.
//!
//! A script beside the suite starts it: with `--version` it says which program there is, or ends with
//! [`UNAVAILABLE`]; else it reads a state (JSON) from its input and prints what became of it ([`Followed`]).
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use miette::{IntoDiagnostic, miette};
use serde::Deserialize;
use serde_json::json;
use supercool_analysis::results::ResultsFile;

use crate::engine::{self, ExactState, domain::Ranks};
use crate::initial;
use crate::plan::{InitialPlan, Plan};
use crate::run::last_state;
use crate::system::Snapshot;

/// Exit code of a script whose program is not there: `EX_UNAVAILABLE` of sysexits.h.
const UNAVAILABLE: i32 = 69;

pub struct Peer {
    python: PathBuf,
    script: PathBuf,
    /// Name and version.
    pub name: String,
}

/// What a script prints of a state that its program has followed at constant energy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Followed {
    /// Of the samples.
    step: Vec<u64>,
    /// By sample, under their names in results files.
    series: BTreeMap<String, Vec<f64>>,
    /// At the start.
    forces: Vec<[f64; 3]>,
    /// At the end, anywhere in space.
    position: Vec<[f64; 3]>,
    /// At the end.
    velocity: Vec<[f64; 3]>,
}

impl Peer {
    /// Looks whether the program is there; else the reason.
    ///
    /// # Errors
    /// If the script fails for any other reason.
    pub fn find(python: &Path, script: &Path) -> miette::Result<Result<Peer, String>> {
        let output = match Command::new(python).arg(script).arg("--version").output() {
            Ok(output) => output,
            Err(error) => return Ok(Err(format!("{}: {error}", python.display()))),
        };
        if output.status.code() == Some(UNAVAILABLE) {
            return Ok(Err(said(&output.stderr)));
        }
        check(script, &output)?;
        let (python, script) = (python.to_owned(), script.to_owned());
        Ok(Ok(Peer { python, script, name: said(&output.stdout) }))
    }

    /// Both programs on the first state of a plan whose run is in `directory`.
    ///
    /// # Errors
    /// If the plan is not one stage at constant energy from a file with velocities, or the script fails.
    pub fn beside(&self, plan: &Plan, directory: &Path, ranks: &Ranks) -> miette::Result<Beside> {
        let every = match plan.stages.as_slice() {
            [stage] if stage.thermostat.is_none() && stage.set_total_energy.is_none() => {
                stage.observe.thermodynamics
            }
            _ => None,
        };
        let drawn = !matches!(plan.system.initial, InitialPlan::File { temperature: None, .. });
        let (Some(every), false) = (every, drawn) else {
            return Err(miette!(
                "{}: another program follows one stage with thermodynamics, at constant energy, from a file with \
                 velocities",
                directory.display()
            ));
        };
        let state = initial::create(plan)?;
        let forces = engine::create_on(ranks, plan, &state)?.forces()?;
        let theirs = self.follow(plan, every, &state)?;
        let end = last_state(directory)?.to_snapshot(&plan.system.species);
        let count = end.position.len();
        if [&theirs.forces, &theirs.position, &theirs.velocity].iter().any(|v| v.len() != count) {
            return Err(miette!("{}: not {count} particles", self.script.display()));
        }
        let edges = plan.system.simulation_box.padded_edges();
        let results = directory.join(format!("{}.h5", plan.stages[0].name));
        Ok(Beside { name: self.name.clone(), theirs, forces, end, edges, results })
    }

    fn follow(&self, plan: &Plan, every: u64, state: &ExactState) -> miette::Result<Followed> {
        let system = &plan.system;
        let start = state.to_snapshot(&system.species);
        let input = json!({
            "dimension": system.simulation_box.dimension(),
            "edges": system.simulation_box.padded_edges(),
            "species": system.species,
            "potential": plan.potential,
            "timestep": plan.run.timestep,
            "steps": plan.total_steps(),
            "every": every,
            "position": start.position,
            "velocity": start.velocity,
        });
        let failed = |error: std::io::Error| miette!("{}: {error}", self.python.display());
        let mut process = Command::new(&self.python)
            .arg(&self.script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        // A script that ends without reading says why.
        let written = process.stdin.take().expect("piped").write_all(input.to_string().as_bytes());
        let output = process.wait_with_output().map_err(failed)?;
        check(&self.script, &output)?;
        written.map_err(failed)?;
        serde_json::from_slice(&output.stdout)
            .map_err(|error| miette!("{}: its output: {error}", self.script.display()))
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn check(script: &Path, output: &Output) -> miette::Result<()> {
    if output.status.success() {
        return Ok(());
    }
    Err(miette!("{}: {}: {}", script.display(), output.status, said(&output.stderr)))
}

/// What both programs made of one state.
pub struct Beside {
    pub name: String,
    theirs: Followed,
    /// Ours, at the start.
    forces: Vec<[f64; 3]>,
    /// Ours.
    end: Snapshot,
    edges: [f64; 3],
    results: PathBuf,
}

impl Beside {
    /// Largest difference of any number: of `position` as a length, to the nearest image; of `velocity` and `forces`
    /// in relation to the root mean square of the vectors; of samples under `/observables` to the largest number
    /// among them.
    ///
    /// # Errors
    /// If one of the two has no such thing, or not at the same steps.
    pub fn difference(&self, observable: &str) -> miette::Result<f64> {
        let theirs = &self.theirs;
        match observable {
            "position" => Ok(self.largest_displacement()),
            "velocity" => Ok(in_relation(&self.end.velocity, &theirs.velocity)),
            "forces" => Ok(in_relation(&self.forces, &theirs.forces)),
            name => self.of_series(name),
        }
    }

    fn largest_displacement(&self) -> f64 {
        let pairs = self.end.position.iter().zip(&self.theirs.position);
        let distance = |(a, b, edge): (&f64, &f64, &f64)| {
            let d = a - b;
            (d - edge * (d / edge).round()).abs()
        };
        pairs
            .flat_map(|(ours, theirs)| {
                let axes = ours.iter().zip(theirs).zip(&self.edges);
                axes.map(|((a, b), edge)| distance((a, b, edge)))
            })
            .fold(0.0, largest)
    }

    fn of_series(&self, name: &str) -> miette::Result<f64> {
        let all = ResultsFile::open(&self.results)
            .and_then(|file| file.observables())
            .into_diagnostic()?;
        let ours = all.into_iter().find(|series| series.name == name);
        let ours =
            ours.ok_or_else(|| miette!("{}: no samples of {name}", self.results.display()))?;
        let theirs = self.theirs.series.get(name);
        let theirs = theirs.ok_or_else(|| miette!("{}: no {name}", self.name))?;
        if ours.step != self.theirs.step || ours.value.len() != theirs.len() {
            return Err(miette!(
                "{name}: {} numbers of {} at the steps {:?}, ours are {} at {:?}",
                theirs.len(),
                self.name,
                self.theirs.step,
                ours.value.len(),
                ours.step
            ));
        }
        let size = theirs.iter().copied().map(f64::abs).fold(0.0, largest);
        let difference = ours.value.iter().zip(theirs).map(|(a, b)| (a - b).abs());
        Ok(of_size(difference.fold(0.0, largest), size))
    }
}

/// NaN, if one of them is.
fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn in_relation(ours: &[[f64; 3]], theirs: &[[f64; 3]]) -> f64 {
    let squares: f64 = theirs.iter().flatten().map(|x| x * x).sum();
    let size = (squares / theirs.len() as f64).sqrt();
    let pairs = ours.iter().flatten().zip(theirs.iter().flatten());
    of_size(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, largest), size)
}

/// Equal numbers differ by nothing, also where all of them are zero.
fn of_size(difference: f64, size: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_never_overlooked() {
        let (ours, mut theirs) = ([[3.0, 0.0, 4.0]; 2], [[3.0, 0.0, 4.0]; 2]);
        assert_eq!(in_relation(&ours, &theirs), 0.0);
        theirs[1][1] = 1e-3;
        assert!((in_relation(&ours, &theirs) - 2e-4).abs() < 1e-10);
        theirs[0][0] = f64::NAN;
        assert!(in_relation(&ours, &theirs).is_nan());
    }
}
