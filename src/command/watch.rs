//! `supercool watch`: how a running job is, from another terminal or host.
//!
//! Reads the results file that was written last, which a run brings up to date every `output.flush_seconds`.
use std::fmt::Write;
use std::io::{IsTerminal, stdout};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use miette::{IntoDiagnostic, miette};
use serde_json::Value;
use supercool_analysis::plan::stage_steps;
use supercool_analysis::plot::{Axes, text_plot};
use supercool_analysis::read_consistent;
use supercool_analysis::report::speed;
use supercool_analysis::results::ResultsFile;

use super::say;
use crate::announce::duration;
use crate::output::checkpoints_in;
use crate::run::{LOCK, quoted};

#[derive(Clone, Debug, clap::Args)]
pub struct WatchArguments {
    /// Output directory of the run.
    directory: PathBuf,
    /// Seconds between two looks.
    #[arg(long, default_value = "2", value_parser = parse_interval)]
    interval: Duration,
    /// Look once.
    #[arg(long)]
    once: bool,
}

/// Characters of a plot.
const PLOT: (usize, usize) = (36, 10);
const BAR: usize = 40;
/// A run that has written nothing for so long may have been killed.
const ABANDONED: Duration = Duration::from_secs(60);
/// Samples of a plot of a time series, some for each dot from left to right.
const SAMPLES: usize = 300;
/// Sets of systems of which values are shown, at most: there may be hundreds of configurations.
const MOST_SETS: usize = 10;
/// Clears a terminal and goes to its upper left corner.
const CLEAR: &str = "\x1b[H\x1b[2J";

fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a time to wait for".to_owned())
}

pub fn watch(arguments: &WatchArguments) -> miette::Result<()> {
    let clear = if stdout().is_terminal() && !arguments.once { CLEAR } else { "" };
    loop {
        let page = page(&arguments.directory)?;
        say(format!("{clear}{}", page.text))?;
        if arguments.once || page.finished {
            return Ok(());
        }
        std::thread::sleep(arguments.interval);
    }
}

struct Page {
    text: String,
    /// All stages are complete.
    finished: bool,
}

fn page(directory: &Path) -> miette::Result<Page> {
    let (path, written) = newest_results(directory)?;
    read_consistent(&path, || page_of(directory, &path, written))
}

fn page_of(directory: &Path, path: &Path, written: SystemTime) -> miette::Result<Page> {
    let no_results = || miette!("{}: no results of a run", path.display());
    let file = ResultsFile::open(path).into_diagnostic()?;
    let plan = file.plan().ok_or_else(no_results)?;
    let stage = file.parameter("stage").unwrap_or_default();
    let (first, steps) = stage_steps(&plan, &stage).unwrap_or((0, 0));
    let total: u64 = stages(&plan).filter_map(|stage| stage["steps"].as_u64()).sum();
    let step = file.number("progress/step").ok_or_else(no_results)? as u64;
    let complete = file.number("progress/complete") == Some(1.0);
    let last = stages(&plan).last().is_some_and(|last| last["name"] == *stage);
    // Stages that observe nothing leave checkpoints only.
    let checkpoint = newest_checkpoint(directory);
    let finished = complete && (last || checkpoint == Some(total));
    let reached = checkpoint.map_or(step, |checkpoint| checkpoint.max(step));

    // Writing to a string does not fail.
    let mut text = String::new();
    let number = stages(&plan).position(|each| each["name"] == *stage).map_or(0, |at| at + 1);
    let _ = writeln!(
        text,
        "{}  stage {stage} ({number} of {})  {}",
        directory.display(),
        stages(&plan).count(),
        machine(&file)
    );
    let of_stage = step.saturating_sub(first);
    let share = |part: u64, whole: u64| (part as f64 / whole.max(1) as f64).clamp(0.0, 1.0);
    let _ = writeln!(
        text,
        "{}  step {reached} of {total}; {of_stage} of {steps} of the stage ({:.1} %)",
        bar(share(reached, total)),
        100.0 * share(of_stage, steps)
    );
    let rate = speed(&file).map(|speed| speed.steps as f64 / speed.seconds);
    let age = SystemTime::now().duration_since(written).unwrap_or_default();
    let abandoned = !finished && age > ABANDONED && !is_at_work(directory);
    let state = match (finished, rate) {
        (true, _) => "the run has finished".to_owned(),
        (false, _) if abandoned => {
            format!(
                "no process seen from here is at work; if none is elsewhere, supercool resume {} continues",
                quoted(directory)
            )
        }
        (false, Some(rate)) => {
            let left = total.saturating_sub(reached) as f64 / rate;
            format!("{rate:.0} steps/s, {} left", duration(left))
        }
        (false, None) => "no speed known yet".to_owned(),
    };
    let _ = writeln!(text, "{state}; written {} ago", duration(age.as_secs_f64()));
    let averages = ResultsFile::open_averages(path).into_diagnostic()?;
    if let Some(ensemble) = file.ensemble() {
        let (systems, each) = (ensemble.samples, ensemble.of_each());
        let _ = writeln!(text, "averages over {systems} systems{each}");
    }
    for file in averages.iter().take(MOST_SETS) {
        let label = file.label().map_or_else(String::new, |label| format!("{label}:   "));
        let values = thermodynamics(file)?;
        if !values.is_empty() {
            text += &(label + &values);
        }
    }
    if let Some(more) = averages.len().checked_sub(MOST_SETS).filter(|&more| more > 0) {
        let _ = writeln!(text, "... and {more} more");
    }
    text += &plots(&averages[0])?;
    Ok(Page { text, finished })
}

/// Whether a process of this host holds the directory's lock: from the kernel's list, as taking it would be in the way of a
/// run that starts. If there is no such list, one may.
fn is_at_work(directory: &Path) -> bool {
    let (Ok(lock), Ok(held)) =
        (std::fs::metadata(directory.join(LOCK)), std::fs::read_to_string("/proc/locks"))
    else {
        return true;
    };
    let inode = format!(":{}", lock.ino());
    held.lines().any(|line| line.split_whitespace().any(|word| word.ends_with(&inode)))
}

fn stages(plan: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    plan["stages"].as_array().into_iter().flatten()
}

/// The results file that was written last, and when.
fn newest_results(directory: &Path) -> miette::Result<(PathBuf, SystemTime)> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| miette!("{}: {error}", directory.display()))?;
    let results = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let is_results = path.extension().is_some_and(|extension| extension == "h5");
        Some((path, entry.metadata().ok()?.modified().ok()?)).filter(|_| is_results)
    });
    results.max_by_key(|(_, written)| *written).ok_or_else(|| {
        miette!(
            help = "a stage writes one if it observes anything; the directory is that of output.directory",
            "{}: no results files (*.h5) yet",
            directory.display()
        )
    })
}

/// Steps that the newest checkpoint is behind the start of the run.
fn newest_checkpoint(directory: &Path) -> Option<u64> {
    checkpoints_in(directory).ok()?.first().map(|(step, _)| *step)
}

/// Engine, machine and precision.
fn machine(file: &ResultsFile) -> String {
    let hardware = file.parameter("hardware").unwrap_or_default();
    let hardware: Value = serde_json::from_str(&hardware).unwrap_or_default();
    let name = ["GPU", "processor"].iter().find_map(|key| hardware[key].as_str());
    let precision = file.parameter("precision").unwrap_or_default();
    format!("{precision} on {}", name.unwrap_or("an unknown machine"))
}

fn bar(share: f64) -> String {
    let full = (share * BAR as f64) as usize;
    format!("[{}{}] {:>5.1} %", "#".repeat(full), ".".repeat(BAR - full), 100.0 * share)
}

/// The last values, and how far the conserved energy has gone.
fn thermodynamics(file: &ResultsFile) -> miette::Result<String> {
    let ends = |name: &str| -> miette::Result<Vec<f64>> {
        let series = file.sampled(name, 2).into_diagnostic()?;
        Ok(series.map(|series| series.value).unwrap_or_default())
    };
    let mut parts = Vec::new();
    for (name, symbol) in [
        ("temperature", "T"),
        ("potential_energy", "U/N"),
        ("pressure", "P"),
        ("bond_orientational_order", "bond order"),
        ("crystallinity", "crystallinity"),
        ("demixing", "demixing"),
    ] {
        if let Some(last) = ends(name)?.last() {
            parts.push(format!("{symbol} {last:.5}"));
        }
    }
    if let [first, last] = ends("conserved_energy")?[..] {
        parts.push(format!("drift of E/N {:+.2e}", last - first));
    }
    Ok(if parts.is_empty() { String::new() } else { parts.join("   ") + "\n" })
}

/// Mean-square displacement and F_s beside each other; without them, the temperature.
fn plots(file: &ResultsFile) -> miette::Result<String> {
    let curve = |name: &str, title: &str, axes: Axes, include: &[f64]| -> miette::Result<_> {
        let function = file.first_dynamics(name).into_diagnostic()?;
        Ok(function.and_then(|function| {
            let curve = function.curves.first()?;
            let points: Vec<(f64, f64)> =
                function.x.iter().copied().zip(curve.value.iter().copied()).collect();
            points.iter().any(|(_, y)| y.is_finite()).then(|| {
                let q = curve.wavenumber.map_or(String::new(), |q| format!(", q = {q:.2}"));
                let title = format!("{title} of {}{q}", function.group);
                text_plot(&title, &points, axes, include, PLOT)
            })
        }))
    };
    let both = Axes { log_x: true, log_y: true };
    let over_log = Axes { log_x: true, log_y: false };
    let mut blocks: Vec<Vec<String>> = Vec::new();
    blocks.extend(curve("mean_square_displacement", "mean-square displacement", both, &[])?);
    let name = "self_intermediate_scattering_function";
    blocks.extend(curve(name, "F_s(t)", over_log, &[0.0, 1.0])?);
    if blocks.is_empty()
        && let Some(series) = file.sampled("temperature", SAMPLES).into_diagnostic()?
    {
        let steps = series.step.iter().map(|&step| step as f64);
        let points: Vec<(f64, f64)> = steps.zip(series.value.iter().copied()).collect();
        blocks.push(text_plot("temperature over steps", &points, Axes::default(), &[], PLOT));
    }
    let height = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..height {
        let line: String = blocks
            .iter()
            .map(|block| format!("{:<width$}", block[row], width = PLOT.0 + 12))
            .collect();
        text += "\n";
        text += line.trim_end();
    }
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_run() {
        assert_eq!(bar(0.5).matches('#').count(), BAR / 2);
        assert_eq!(bar(1.0).matches('.').count(), 1, "that of the number: {}", bar(1.0));
    }
}
