//! The command line.
mod analyze;
pub mod bench;
pub mod check;
mod choices;
mod convert;
mod correlate;
pub mod doctor;
mod export;
mod hash;
pub mod init;
mod output;
pub mod plot;
pub mod ranks;
mod report;
mod run;
pub mod start;
mod sweep;
mod trial;
mod validate;
mod watch;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::{IntoDiagnostic, miette};
use supercool_analysis::directories::with_directories;
use tracing_subscriber::EnvFilter;

use self::ranks::on_ranks;
use crate::config::{Runs, Setting};
use crate::{announce, config};

/// Molecular dynamics of supercooled liquids and glasses.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a configuration.
    Run(run::RunArguments),
    /// Continue from the last checkpoint of an output directory.
    Resume(run::ResumeArguments),
    /// Say what a configuration would run, with every default; run nothing.
    Check {
        /// The configuration.
        file: PathBuf,
        /// A value instead of the file's, such as stage.melt.steps=1e6.
        #[arg(long = "set", value_name = "KEY=VALUE", value_parser = Setting::parse)]
        settings: Vec<Setting>,
        /// Report also how this number of ranks would share the box.
        #[arg(long, conflicts_with = "trial")]
        ranks: Option<NonZeroU32>,
        /// Report also how long the stages would take, by a trial of about a second with the engine of the file, in this process
        /// alone; of a sweep, its first run. No files are written.
        #[arg(long)]
        trial: bool,
    },
    /// Print a commented configuration to start from.
    Init {
        /// Model; without it, a list of all.
        preset: Option<String>,
    },
    /// Say what a results or trajectory file holds.
    Info {
        /// H5MD, GSD, XYZ or LAMMPS dump files; of a directory, all *.h5.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Draw what results files hold, several overlaid.
    Plot(plot::PlotArguments),
    /// Show how a running job is, again and again.
    Watch(watch::WatchArguments),
    /// Write what a results file, a run or a sweep holds as a page for a browser.
    Report(report::ReportArguments),
    /// Run suites of which it is known what must come out, and compare.
    Validate(validate::ValidateArguments),
    /// Fit diffusion and relaxation in results files, with errors; average independent runs.
    Analyze(analyze::AnalyzeArguments),
    /// Evaluate the observables of a configuration on a stored trajectory.
    Correlate(correlate::CorrelateArguments),
    /// Write a trajectory or state in another format: H5MD, GSD, extended XYZ, LAMMPS dump or data file.
    Convert(convert::ConvertArguments),
    /// Write the propensities of a results file for other programs: as extended XYZ, or as NumPy arrays.
    Export(export::ExportArguments),
    /// Print a number that names all bits of the state in which a run is or has ended.
    Hash(hash::HashArguments),
    /// Measure steps per second.
    Bench(bench::BenchArguments),
    /// Print the JSON schema of configurations, for editors.
    Schema,
    /// Print the reference of all keys of configurations, in Markdown.
    Reference,
    /// Say what of this machine can be used, and what to do about the rest.
    Doctor,
}

/// Runs the command line of this process.
pub fn main() -> miette::Result<ExitCode> {
    main_with(std::env::args_os())
}

/// The same with these words, of which the first is the name of the program. Ends the process where there is nothing to run:
/// after `--help`, and where the words are wrong.
pub fn main_with(words: impl IntoIterator<Item = OsString>) -> miette::Result<ExitCode> {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("warn,{}=info", announce::TARGET)));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .with_target(false)
        // Else a warning that cannot be written (a full disk, a terminal that is gone) would end the run.
        .log_internal_errors(false)
        .init();
    match Arguments::parse_from(words).command {
        Command::Run(arguments) => return on_ranks(|ranks| run::run(&arguments, ranks)),
        Command::Resume(arguments) => return on_ranks(|ranks| run::resume(&arguments, ranks)),
        Command::Check { file, settings, ranks, trial } => {
            let runs = config::load_runs(&file, &settings, None)?;
            let first = match &runs {
                Runs::One(loaded) => {
                    say(check::check(loaded)?)?;
                    loaded
                }
                Runs::Sweep(sweep) => {
                    say(sweep::report(sweep)?)?;
                    &sweep.runs[0].loaded
                }
            };
            if let Some(ranks) = ranks {
                say(check::domains(&first.plan, ranks)?)?;
            }
            if trial {
                say(trial::of(first)?)?;
            }
        }
        Command::Init { preset: None } => say(init::names().join("\n") + "\n")?,
        Command::Init { preset: Some(preset) } => {
            say(format!("{}{}", init::FOR_EDITORS, init::init(&preset)?))?;
        }
        Command::Info { files } => {
            for file in with_directories(&files).into_diagnostic()? {
                say(supercool_analysis::info(&file).into_diagnostic()?)?;
            }
        }
        Command::Plot(arguments) => say(plot::plot(&arguments)?)?,
        Command::Validate(arguments) => {
            return on_ranks(|ranks| validate::validate(&arguments, &ranks));
        }
        Command::Watch(arguments) => watch::watch(&arguments)?,
        Command::Report(arguments) => say(report::report(&arguments)?)?,
        Command::Analyze(arguments) => say(analyze::analyze(&arguments)?)?,
        Command::Correlate(arguments) => correlate::correlate(&arguments)?,
        Command::Convert(arguments) => say(convert::convert(&arguments)?)?,
        Command::Export(arguments) => say(export::export(&arguments)?)?,
        Command::Hash(arguments) => say(hash::hash(&arguments)?)?,
        Command::Bench(arguments) => {
            return on_ranks(|ranks| bench::run(&arguments, &ranks).map(|()| ExitCode::SUCCESS));
        }
        Command::Doctor => say(doctor::doctor())?,
        Command::Schema => say(format!("{:#}\n", config::schema()))?,
        Command::Reference => say(config::key_reference())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints to standard output. That nobody reads it any more (`supercool reference | head`) is no error.
fn say(text: impl AsRef<str>) -> miette::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_ref().as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(miette!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}
