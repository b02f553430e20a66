//! `supercool validate`: runs the suites of `validation/suites` and compares what comes out with what is known.
//!
//! `suite` is what a file says, `jobs` runs several cases at once, `judge` what a run gives for one expectation, `peer`
//! what another program gives for it, `tables` what the user sees. Every case is a run in a directory of its own, which
//! is gone on with where it was stopped, and not repeated once it is there.
mod jobs;
mod judge;
mod peer;
mod suite;
mod tables;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use miette::miette;

use self::jobs::{Conditions, Job};
use self::judge::{Judged, Verdict};
use self::peer::Peer;
use self::suite::{Case, Suite};
use self::tables::Skipped;
use super::run::STOPPED;
use super::say;
use crate::config;
use crate::engine::domain::Ranks;
use crate::output::checkpoints_in;
use crate::run::{self, Outcome, RunOptions, Watch, parse_walltime};

#[derive(Clone, Debug, clap::Args)]
pub struct ValidateArguments {
    /// Names of suites; all of them if none is given.
    suites: Vec<String>,
    /// Small systems, short runs: minutes on a CPU. This is what is done if nothing is said.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Large systems, long runs: hours on a GPU. Can be stopped and given again to go on.
    #[arg(long)]
    full: bool,
    /// Folder of the suites.
    #[arg(long, default_value = "validation/suites")]
    folder: PathBuf,
    /// Folder of the runs, and of report.json and report.html.
    #[arg(long, default_value = "results/validation")]
    output: PathBuf,
    /// Cases at once, each in a process of its own; on a machine with cards each has one of these to itself.
    #[arg(long, default_value = "1")]
    jobs: NonZeroUsize,
    /// Python with the other programs that suites compare with; SUPERCOOL_PYTHON or python3 if not given.
    #[arg(long)]
    python: Option<PathBuf>,
    /// Stop in time with a checkpoint: 90 (minutes), 45s, 12h, 1:30:00 or 2-12:00:00.
    #[arg(long, value_parser = parse_walltime)]
    max_walltime: Option<Duration>,
    /// No progress bars.
    #[arg(long)]
    quiet: bool,
}

/// How large the systems are and how long the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Quick,
    Full,
}

impl Size {
    fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Full => "full",
        }
    }
}

pub fn validate(arguments: &ValidateArguments, ranks: &Ranks) -> miette::Result<ExitCode> {
    let size = if arguments.full { Size::Full } else { Size::Quick };
    let suites = suite::load(&arguments.folder, &arguments.suites)?;
    let output = arguments.output.join(size.name());
    let started = std::time::Instant::now();
    let stopped = |place: &Path| {
        say(format!("Stopped in {}; the same command goes on\n", place.display()))?;
        Ok(ExitCode::from(STOPPED))
    };
    if arguments.jobs.get() > 1 && !carry_out_at_once(&suites, size, &output, arguments, ranks)? {
        return stopped(&output);
    }
    let (mut judged, mut skipped) = (Vec::new(), Skipped::new());
    for suite in &suites {
        let mut found = BTreeMap::new();
        let peer = match suite.peer() {
            None => None,
            Some(script) => match Peer::find(&arguments.python(), &script)? {
                Ok(peer) => Some(peer),
                Err(reason) => {
                    skipped.insert(suite.name.clone(), reason);
                    continue;
                }
            },
        };
        for case in suite.cases.iter().filter(|case| case.values(size).is_some()) {
            let directory = output.join(&suite.name).join(&case.name);
            let left = arguments.max_walltime.map(|most| most.saturating_sub(started.elapsed()));
            let options = RunOptions {
                max_walltime: left,
                quiet: arguments.quiet,
                ranks: ranks.clone(),
                ..RunOptions::default()
            };
            if !carry_out(suite, case, size, &directory, &options)? {
                return stopped(&directory);
            }
            let beside = match &peer {
                Some(peer) => {
                    let plan = config::load(&directory.join(CASE))?.plan;
                    Some(peer.beside(&plan, &directory, ranks)?)
                }
                None => None,
            };
            for expected in &case.expect {
                let one = judge::judge(expected, size, &directory, &found, beside.as_ref())?;
                found.insert((case.name.clone(), expected.quantity()), one.found);
                judged.push(Judged { suite: suite.name.clone(), case: case.name.clone(), ..one });
            }
        }
    }
    std::fs::create_dir_all(&output).map_err(|error| miette!("{}: {error}", output.display()))?;
    tables::write(&judged, &skipped, &suites, size, &output)?;
    say(tables::table(&judged))?;
    for (suite, reason) in &skipped {
        say(format!("{suite} skipped: {reason}\n"))?;
    }
    let failed = judged.iter().filter(|one| one.verdict == Verdict::Fails).count();
    say(format!(
        "{failed} of {} quantities fail; {} and report.json\n",
        judged.len(),
        output.join("report.html").display()
    ))?;
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The configuration of a case, in its directory.
const CASE: &str = "case.toml";

impl ValidateArguments {
    fn python(&self) -> PathBuf {
        let from_environment = || std::env::var_os("SUPERCOOL_PYTHON").map(PathBuf::from);
        self.python.clone().or_else(from_environment).unwrap_or_else(|| "python3".into())
    }
}

/// Makes a case's directory and configuration; whether a run of it is there to go on with. One of another text is not.
fn prepare(suite: &Suite, case: &Case, size: Size, directory: &Path) -> miette::Result<bool> {
    let text = suite.configuration(case, size)?;
    let error = |error: std::io::Error| miette!("{}: {error}", directory.display());
    std::fs::create_dir_all(directory).map_err(error)?;
    let file = directory.join(CASE);
    let same = std::fs::read_to_string(&file).is_ok_and(|before| before == text);
    let checkpoints = checkpoints_in(directory)?;
    if same {
        return Ok(!checkpoints.is_empty());
    }
    // Before the new text is there: nobody shall go on with it from them.
    for (_, checkpoint) in checkpoints {
        std::fs::remove_file(checkpoint).map_err(error)?;
    }
    std::fs::write(&file, &text).map_err(error)?;
    Ok(false)
}

/// Runs a case to its end; false if it was stopped before.
fn carry_out(
    suite: &Suite,
    case: &Case,
    size: Size,
    directory: &Path,
    options: &RunOptions,
) -> miette::Result<bool> {
    let outcome = if prepare(suite, case, size, directory)? {
        run::resume(directory, options)?
    } else {
        let mut loaded = config::load(&directory.join(CASE))?;
        loaded.plan.output.directory = directory.to_owned();
        run::run(loaded.plan, &loaded.text, &RunOptions { force: true, ..options.clone() })?
    };
    Ok(matches!(outcome, Outcome::Finished(_)))
}

/// Runs all cases to their ends, several at once; false if some were stopped before.
fn carry_out_at_once(
    suites: &[Suite],
    size: Size,
    output: &Path,
    arguments: &ValidateArguments,
    ranks: &Ranks,
) -> miette::Result<bool> {
    if ranks.count() > 1 {
        return Err(miette!("--jobs {}: every case is run on all ranks", arguments.jobs));
    }
    let mut jobs = Vec::new();
    for suite in suites {
        // Cases that need another program are few and short, and come when it has been looked for.
        if suite.peer().is_some() {
            continue;
        }
        for case in suite.cases.iter().filter(|case| case.values(size).is_some()) {
            let directory = output.join(&suite.name).join(&case.name);
            let goes_on = prepare(suite, case, size, &directory)?;
            let plan = config::load(&directory.join(CASE))?.plan;
            let steps: u64 = plan.stages.iter().map(|stage| stage.steps).sum();
            let reached = checkpoints_in(&directory).ok().and_then(|found| Some(found.first()?.0));
            if goes_on && reached == Some(steps) {
                continue;
            }
            // A card takes about as long for any number of particles below 30,000.
            let cost = steps as f64 * (plan.system.particle_count() as f64 + 3e4);
            let name = format!("{}/{}", suite.name, case.name);
            jobs.push(Job { name, directory, goes_on, cost });
        }
    }
    let watch = Watch::new(arguments.max_walltime).map_err(|error| miette!("signals: {error}"))?;
    let conditions = Conditions { at_once: arguments.jobs.get(), watch, quiet: arguments.quiet };
    jobs::carry_out(jobs, &conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_our_suites_is_a_configuration_with_what_is_expected_of_it() {
        let suites = suite::load(Path::new("validation/suites"), &[]).unwrap();
        assert!(suites.len() >= 5);
        for suite in &suites {
            let mut before = Vec::new();
            for case in &suite.cases {
                let sizes = [Size::Quick, Size::Full];
                assert!(sizes.iter().any(|&size| case.values(size).is_some()), "{}", case.name);
                for size in sizes.into_iter().filter(|&size| case.values(size).is_some()) {
                    let text = suite.configuration(case, size).unwrap();
                    let name = format!("{}/{}", suite.name, case.name);
                    let plan =
                        config::parse(&text, &name).unwrap_or_else(|e| panic!("{name}: {e:?}"));
                    for expected in &case.expect {
                        let stage = plan.stages.iter().find(|stage| stage.name == expected.stage);
                        let observe = &stage.unwrap_or_else(|| panic!("{name}")).observe;
                        assert!(observe.thermodynamics.is_some(), "{name}: {}", expected.stage);
                        let known =
                            expected.same_as.as_ref().is_none_or(|case| before.contains(case));
                        assert!(known, "{name}: {}", expected.quantity());
                    }
                }
                before.push(case.name.clone());
            }
        }
    }
}
