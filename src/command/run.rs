//! `supercool run` and `supercool resume`.
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use miette::miette;

use super::choices::{Tune, engine_choice};
use super::say;
use super::start::at_its_line;
use super::sweep;
use crate::config::{self, Runs, Setting, Sweep};
use crate::engine::domain::Ranks;
use crate::plan::EngineChoice;
use crate::run::{
    self, Outcome, RunOptions, STOPPED, STOPPED_BEFORE, Summary, parse_walltime, quoted,
};

#[derive(Clone, Debug, clap::Args)]
pub struct Limits {
    /// Stop in time with a checkpoint: 90 (minutes), 45s, 12h, 1:30:00 or 2-12:00:00.
    #[arg(long, value_parser = parse_walltime)]
    max_walltime: Option<Duration>,
    /// No progress bar, and no lines of progress where there is no terminal.
    #[arg(long)]
    quiet: bool,
    /// Engine, instead of run.engine: auto, cpu or cuda.
    #[arg(long, value_parser = engine_choice)]
    engine: Option<EngineChoice>,
}

#[derive(Clone, Debug, clap::Args)]
pub struct RunArguments {
    /// The configuration.
    file: PathBuf,
    /// A value instead of the file's: parts of the key with dots between, stages and species by their names (or numbers, from
    /// 0; * for all), the value in TOML or a bare word. stage.melt.steps=1e6, for example.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = Setting::parse)]
    settings: Vec<Setting>,
    /// Directory for the results, instead of output.directory.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Seed, instead of system.seed: for independent runs of one file.
    #[arg(long)]
    seed: Option<u64>,
    /// Run one of the systems of an [ensemble] alone, counted from 0: its bits are the same. Results go to DIRECTORY-system-NUMBER
    /// unless --output names another directory.
    #[arg(long, value_name = "NUMBER")]
    system: Option<usize>,
    /// Remove the files of an earlier run in that directory.
    #[arg(long)]
    force: bool,
    /// Whether a GPU's choices are timed at the start of long stages, instead of run.tune.
    #[arg(long, value_enum)]
    tune: Option<Tune>,
    #[command(flatten)]
    limits: Limits,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ResumeArguments {
    /// Output directory of the run.
    directory: PathBuf,
    /// A value to go on with: of [limits], checkpoint.minutes, output.flush_seconds, output.on_full_disk or run.threads.
    /// limits.temperature=5, for example.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = Setting::parse)]
    settings: Vec<Setting>,
    #[command(flatten)]
    limits: Limits,
}

pub fn run(arguments: &RunArguments, ranks: Ranks) -> miette::Result<ExitCode> {
    let mut settings = arguments.settings.clone();
    settings.extend(arguments.seed.map(Setting::seed));
    let output = arguments.output.as_deref();
    let mut loaded = match config::load_runs(&arguments.file, &settings, output)? {
        Runs::One(loaded) => *loaded,
        Runs::Sweep(sweep) => return run_sweep(sweep, arguments, &settings, ranks),
    };
    if let Some(system) = arguments.system {
        let systems = loaded.plan.systems();
        if loaded.plan.ensemble.is_none() || system >= systems {
            let help = match loaded.plan.ensemble {
                None => "leave it out: the configuration has no [ensemble]".to_owned(),
                Some(_) => format!("the configuration has the systems 0 to {}", systems - 1),
            };
            return Err(miette!(help = help, "--system {system}: there is no such system"));
        }
        if loaded.plan.ensemble.as_ref().is_some_and(|of| of.exchange_every.is_some()) {
            let help =
                "leave --system out; kind = \"temperatures\" has the systems without exchanges";
            let message = "a system of a replica exchange cannot run alone: whether it is exchanged depends on the others";
            return Err(miette!(help = help, "--system {system}: {message}"));
        }
        loaded.plan = loaded.plan.of_system(system);
        if arguments.output.is_none() {
            let mut directory = loaded.plan.output.directory.into_os_string();
            directory.push(format!("-system-{system}"));
            loaded.plan.output.directory = directory.into();
        }
    }
    if let Some(tune) = arguments.tune {
        loaded.plan.run.tune = tune == Tune::On;
    }
    let directory = loaded.plan.output.directory.clone();
    let options = RunOptions {
        force: arguments.force,
        max_walltime: arguments.limits.max_walltime,
        quiet: arguments.limits.quiet,
        engine: arguments.limits.engine,
        settings: Vec::new(),
        ranks,
        stop: None,
    };
    let outcome = run::run(loaded.plan.clone(), &loaded.text, &options)
        .map_err(|report| at_its_line(report, &loaded))?;
    Ok(tell(&directory, &outcome))
}

fn run_sweep(
    mut sweep: Sweep,
    arguments: &RunArguments,
    settings: &[Setting],
    ranks: Ranks,
) -> miette::Result<ExitCode> {
    if arguments.system.is_some() {
        let help = "the configurations of single runs are in their directories' results files";
        return Err(miette!(help = help, "--system is of one run, and the file has a [sweep]"));
    }
    if let Some(tune) = arguments.tune {
        sweep.runs.iter_mut().for_each(|run| run.loaded.plan.run.tune = tune == Tune::On);
    }
    let options = RunOptions {
        force: arguments.force,
        max_walltime: arguments.limits.max_walltime,
        quiet: arguments.limits.quiet,
        engine: arguments.limits.engine,
        settings: settings.iter().filter(|setting| setting.fits_a_resumed_run()).cloned().collect(),
        ranks,
        stop: None,
    };
    sweep::carry_out(&sweep, &options)
}

pub fn resume(arguments: &ResumeArguments, ranks: Ranks) -> miette::Result<ExitCode> {
    let options = RunOptions {
        force: false,
        max_walltime: arguments.limits.max_walltime,
        quiet: arguments.limits.quiet,
        engine: arguments.limits.engine,
        settings: arguments.settings.clone(),
        ranks,
        stop: None,
    };
    if let Some(sweep) = sweep::of_directory(&arguments.directory, &arguments.settings)? {
        return sweep::carry_out(&sweep, &options);
    }
    let outcome = run::resume(&arguments.directory, &options)?;
    Ok(tell(&arguments.directory, &outcome))
}

/// Prints how a run ended. That nobody can be told does not change how it ended, which is what a job script acts on.
pub fn tell(directory: &Path, outcome: &Outcome) -> ExitCode {
    let (text, code) = match outcome {
        Outcome::Finished(summary) => {
            let text = match summary.was_complete {
                true => already_complete(directory, summary),
                false => table(directory, summary),
            };
            (text, ExitCode::SUCCESS)
        }
        Outcome::Stopped { step, checkpoint, why } => {
            let text = format!(
                "Stopped by {why} after step {step}; checkpoint {}\n\
                 Continue with: supercool resume {}\n",
                checkpoint.display(),
                quoted(directory)
            );
            (text, ExitCode::from(STOPPED))
        }
        Outcome::NotBegun { why } => {
            let text = format!(
                "Stopped by {why} before the files of the earlier run in {} were replaced: nothing was changed\n",
                directory.display()
            );
            (text, ExitCode::from(STOPPED_BEFORE))
        }
    };
    if let Err(error) = say(text) {
        tracing::warn!("{error}");
    }
    code
}

/// What a run that is resumed behind its end has done before, and what may be done instead.
fn already_complete(directory: &Path, summary: &Summary) -> String {
    let checkpoint = directory.join(format!("checkpoint-{}.scp", summary.steps));
    format!(
        "The run was complete: no step was taken. A new run continues from its end with\n    \
         initial = {{ file = {:?} }}\n\n{}",
        checkpoint.display().to_string(),
        table(directory, summary)
    )
}

pub fn table(directory: &Path, summary: &Summary) -> String {
    let mut text = format!(
        "{:<16} {:>10} {:>10} {:>12} {:>12} {:>12}\n",
        "stage", "steps", "T", "U/N", "P", "drift E/N"
    );
    for stage in 0..summary.systems[0].len() {
        for set in summary.sets() {
            let stage = summary.stage(stage, set.systems);
            let name = match set.temperature {
                Some(temperature) => format!("{}, T = {temperature}", stage.name),
                None => stage.name.clone(),
            };
            if stage.samples == 0 {
                let _ = writeln!(text, "{name:<16} {:>10} {:>10}", stage.steps, "-");
                continue;
            }
            // A flow does work.
            let drift = match stage.shear_rate {
                None => format!("{:.1e}", stage.drift()),
                Some(_) => "-".to_owned(),
            };
            let _ = writeln!(
                text,
                "{name:<16} {:>10} {:>10.5} {:>12.6} {:>12.6} {drift:>12}",
                stage.steps,
                stage.temperature(),
                stage.potential_energy(),
                stage.pressure(),
            );
        }
    }
    for (stage, of) in summary.systems[0].iter().enumerate() {
        let all = summary.stage(stage, 0..summary.systems.len());
        if let Some(rate) = all.shear_rate.filter(|_| all.samples > 0) {
            let (stress, viscosity) = (all.shear_stress(), all.shear_stress() / rate);
            let _ = writeln!(
                text,
                "{}: shear stress {stress:.6} at rate {rate}, which is {viscosity:.6} times the rate, on average from the \
                 start of the flow",
                of.name
            );
        }
        if let Some([trials, accepted]) = summary.stage(stage, 0..summary.systems.len()).swaps() {
            let share = 100.0 * accepted as f64 / trials as f64;
            let _ =
                writeln!(text, "{}: {share:.2} % of {trials} swap trials were accepted", of.name);
        }
        let over_systems = summary.stage(stage, 0..summary.systems.len());
        if let Some([trials, accepted]) = over_systems.volume_trials() {
            let share = 100.0 * accepted as f64 / trials as f64;
            let _ = writeln!(
                text,
                "{}: mean density {:.6}, {share:.1} % of {trials} volume trials were accepted",
                of.name,
                over_systems.density()
            );
        }
        if let Some(exchanges) = summary.exchanges_of(stage) {
            let _ = write!(text, "{}: {}", of.name, exchanges.text());
        }
    }
    let engine = summary.engine.as_ref().map_or_else(String::new, |report| {
        let (hardware, precision) = (&report.hardware, report.precision.name());
        format!(" on {} ({}), precision {precision}", hardware.engine, hardware.instructions())
    });
    let systems = summary.ensemble().map_or_else(String::new, |systems| {
        let means = if summary.sets().len() > 1 { " of each temperature" } else { "" };
        format!("means over the systems{means}; {systems} systems of ")
    });
    let _ = writeln!(
        text,
        "{systems}{} particles, {} steps in {:.1} s after {:.1} s of setup, {:.1} s in all{engine}\nResults are in {}",
        summary.particles,
        summary.steps,
        summary.seconds,
        summary.setup_seconds,
        summary.seconds + summary.setup_seconds,
        directory.display()
    );
    text
}
