//! Runs of a sweep, one after the other; what is finished is skipped, what was interrupted goes on.
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use miette::miette;

use super::check::check;
use super::run::{table, tell};
use super::say;
use super::start::{at_its_line, check_initial_file};
use crate::config::{self, Loaded, Runs, Setting, Sweep, bytes, same_run, stage_files};
use crate::output::{checkpoints_in, latest_valid, publish_bytes};
use crate::plan::Plan;
use crate::run::{self, Outcome, RunOptions, STOPPED, quoted};

/// Text of the sweep, in its directory: what `resume` reads.
const TEXT: &str = "sweep.toml";

/// How a run of a sweep is.
enum State {
    New,
    Interrupted,
    Finished,
    /// Its directory has the run of another configuration.
    Other,
}

/// The sweep whose directory this is, if it is one.
///
/// # Errors
/// If its text is wrong.
pub fn of_directory(directory: &Path, settings: &[Setting]) -> miette::Result<Option<Sweep>> {
    let path = directory.join(TEXT);
    if !path.is_file() || checkpoints_in(directory).is_ok_and(|found| !found.is_empty()) {
        return Ok(None);
    }
    match config::load_runs(&path, settings, Some(directory))? {
        Runs::Sweep(sweep) => Ok(Some(sweep)),
        Runs::One(_) => Ok(None),
    }
}

/// What is to be done, without carrying it out.
///
/// # Errors
/// If a run could not start.
pub fn report(sweep: &Sweep) -> miette::Result<String> {
    let mut text =
        format!("{}: {} runs, one after the other\n", sweep.path.display(), sweep.runs.len());
    let (mut all_steps, mut all_files) = (0_u64, 0.0);
    for run in &sweep.runs {
        check_initial_file(&run.loaded)?;
        let plan = &run.loaded.plan;
        let files = disk(plan);
        all_steps = all_steps.saturating_add(plan.total_steps());
        all_files += files;
        let systems = match plan.systems() {
            1 => String::new(),
            systems => format!("{systems} systems of "),
        };
        let state = match state(&run.loaded)? {
            State::New => "",
            State::Interrupted => ", interrupted",
            State::Finished => ", finished",
            State::Other => ", a run of another configuration is there",
        };
        let _ = writeln!(
            text,
            "  {}: {systems}{} particles, {} steps, files about {}{state}",
            plan.output.directory.display(),
            plan.system.particle_count(),
            plan.total_steps(),
            bytes(files)
        );
    }
    let _ = writeln!(text, "  {all_steps} steps in all, files about {} in all", bytes(all_files));
    if let Some(advice) = sweep.faster_as_ensemble() {
        let _ = writeln!(text, "  note: {advice}");
    }
    Ok(format!("{text}\nThe first of them:\n\n{}", check(&sweep.runs[0].loaded)?))
}

fn disk(plan: &Plan) -> f64 {
    plan.stages.iter().flat_map(|stage| stage_files(plan, stage)).map(|(_, size)| size).sum()
}

fn state(loaded: &Loaded) -> miette::Result<State> {
    let directory = &loaded.plan.output.directory;
    if !directory.is_dir() || checkpoints_in(directory)?.is_empty() {
        return Ok(State::New);
    }
    let Some((step, _, checkpoint)) = latest_valid(directory)?.checkpoint else {
        return Ok(State::Interrupted);
    };
    let text: String = checkpoint.get_json("toml")?;
    // A last stage may have no steps.
    let place: serde_json::Value = checkpoint.get_json("place")?;
    let is_last = place["stage"].as_u64() == Some(loaded.plan.stages.len() as u64);
    Ok(if !same_run(&text, &loaded.text) {
        State::Other
    } else if step == loaded.plan.total_steps() && is_last {
        State::Finished
    } else {
        State::Interrupted
    })
}

/// Carries out what is left. Where a run ends with an error, the others are still begun.
///
/// # Errors
/// If the directory of the sweep cannot be written to, or nothing can be told.
pub fn carry_out(sweep: &Sweep, options: &RunOptions) -> miette::Result<ExitCode> {
    std::fs::create_dir_all(&sweep.directory)
        .map_err(|error| miette!("{}: cannot be made: {error}", sweep.directory.display()))?;
    publish_bytes(&sweep.directory.join(TEXT), sweep.text.as_bytes())?;
    let started = Instant::now();
    if let Some(advice) = sweep.faster_as_ensemble() {
        say(format!("Note: {advice}\n"))?;
    }
    let (mut failed, mut skipped) = (Vec::new(), 0);
    for (number, run) in sweep.runs.iter().enumerate() {
        let directory = &run.loaded.plan.output.directory;
        say(format!("\n{} ({} of {})\n", run.name, number + 1, sweep.runs.len()))?;
        match one(&run.loaded, options, started) {
            Ok(Some(Outcome::Finished(summary))) if !summary.was_complete => {
                say(table(directory, &summary))?;
            }
            Ok(Some(Outcome::Finished(_)) | None) => {
                skipped += 1;
                say("finished before\n")?;
            }
            Ok(Some(stopped)) => {
                let _ = tell(directory, &stopped);
                say(format!(
                    "The sweep continues with: supercool resume {}\n",
                    quoted(&sweep.directory)
                ))?;
                return Ok(ExitCode::from(STOPPED));
            }
            Err(report) => {
                // As the process would end with.
                eprintln!("{report:?}");
                failed.push(run.name.clone());
            }
        }
    }
    let count = sweep.runs.len();
    say(format!(
        "\n{} of {count} runs are finished, {skipped} of them were before. Results are in {}\n",
        count - failed.len(),
        sweep.directory.display()
    ))?;
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    say(format!("Not finished: {}\n", failed.join(", ")))?;
    Ok(ExitCode::FAILURE)
}

/// `None` where nothing was left to do.
fn one(loaded: &Loaded, options: &RunOptions, started: Instant) -> miette::Result<Option<Outcome>> {
    let directory = &loaded.plan.output.directory;
    let left = options.max_walltime.map(|most| most.saturating_sub(started.elapsed()));
    let options = RunOptions { max_walltime: left, ..options.clone() };
    let state = if options.force { State::New } else { state(loaded)? };
    let outcome = match state {
        State::Finished => return Ok(None),
        State::Interrupted => run::resume(directory, &options),
        State::New => run::run(loaded.plan.clone(), &loaded.text, &options),
        State::Other => {
            let help = "run --force replaces what is there; output.directory or --output chooses another directory";
            return Err(miette!(
                help = help,
                "{}: holds a run of another configuration",
                directory.display()
            ));
        }
    };
    outcome.map(Some).map_err(|error| at_its_line(error, loaded))
}
