//! `supercool validate`: runs the suites of `validation/suites` and compares what comes out with what is known.
//!
//! `suite` is what a file says, `jobs` runs several cases at once, `judge` what a run gives for one expectation, `peer`
//! what another program gives for it, `reversal` whether it can be taken back, `ran` where and when it ran, `tables` what the user sees. Every case is a run in a
//! directory of its own, which is gone on with where it was stopped, and not repeated once it is there.
mod jobs;
mod judge;
mod peer;
mod ran;
mod reversal;
mod suite;
mod tables;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use miette::miette;

use self::jobs::{Conditions, Job};
use self::judge::{Completed, Judged, Verdict};
use self::peer::Peer;
use self::ran::Ran;
use self::suite::{Case, Suite};
use super::run::STOPPED;
use super::say;
use crate::config;
use crate::engine::domain::Ranks;
use crate::output::checkpoints_in;
use crate::plan::Plan;
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
    /// Folder of the runs, and of report.html, report.md and report.json.
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

/// All that came out.
#[derive(Debug, Default)]
struct Results {
    judged: Vec<Judged>,
    runs: Vec<Ran>,
    /// Cases that have not come to their ends, with their suites.
    unfinished: Vec<String>,
    /// Suites that were left out, with the reason.
    skipped: BTreeMap<String, String>,
}

pub fn validate(arguments: &ValidateArguments, ranks: &Ranks) -> miette::Result<ExitCode> {
    let size = if arguments.full { Size::Full } else { Size::Quick };
    let suites = suite::load(&arguments.folder, &arguments.suites)?;
    let output = arguments.output.join(size.name());
    std::fs::create_dir_all(&output).map_err(|error| miette!("{}: {error}", output.display()))?;
    let mut peers = BTreeMap::new();
    let mut results = Results::default();
    for suite in &suites {
        let Some(script) = suite.peer() else { continue };
        match Peer::find(&arguments.python(), &script)? {
            Ok(peer) => drop(peers.insert(&suite.name, peer)),
            Err(reason) => drop(results.skipped.insert(suite.name.clone(), reason)),
        }
    }
    let all: Vec<Place> = suites
        .iter()
        .filter(|suite| !results.skipped.contains_key(&suite.name))
        .flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)))
        .filter(|(_, case)| case.values(size).is_some())
        .map(|(suite, case)| {
            let directory = output.join(&suite.name).join(&case.name);
            Place { suite, case, size, directory }
        })
        .collect();
    let finished = if arguments.jobs.get() > 1 {
        carry_out_at_once(&all, arguments, ranks)?
    } else {
        carry_out_in_turn(&all, arguments, ranks)?
    };
    let mut found = BTreeMap::new();
    for place in &all {
        if !place.is_complete()? {
            results.unfinished.push(place.name());
            continue;
        }
        let plan = place.plan()?;
        let beside = match peers.get(&place.suite.name) {
            Some(peer) => Some(peer.beside(&plan, &place.directory, ranks)?),
            None => None,
        };
        let run =
            Completed { plan: &plan, directory: &place.directory, beside: beside.as_ref(), ranks };
        results.runs.push(Ran::read(place)?);
        for expected in &place.case.expect {
            let mut expected = expected.clone();
            let case = expected.same_as.as_ref();
            if case.is_some_and(|case| results.unfinished.contains(&place.suite.name_of(case))) {
                expected.same_as = None;
            }
            let one = judge::judge(&expected, size, run, &found)?;
            found.insert((place.case.name.clone(), expected.quantity()), one.found);
            let (suite, case) = (place.suite.name.clone(), place.case.name.clone());
            results.judged.push(Judged { suite, case, ..one });
        }
    }
    tables::write(&results, &suites, size, &output)?;
    say(tables::table(&results.judged))?;
    for (suite, reason) in &results.skipped {
        say(format!("{suite} skipped: {reason}\n"))?;
    }
    let failed = results.judged.iter().filter(|one| one.verdict == Verdict::Fails).count();
    say(format!(
        "{failed} of {} quantities fail; {}, report.md and report.json\n",
        results.judged.len(),
        output.join("report.html").display()
    ))?;
    if !finished {
        say(format!(
            "Stopped in {}; the same command goes on, with {} of {} cases\n",
            output.display(),
            results.unfinished.len(),
            all.len()
        ))?;
        return Ok(ExitCode::from(STOPPED));
    }
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

/// A case of one size, and where it is run.
#[derive(Debug)]
struct Place<'s> {
    suite: &'s Suite,
    case: &'s Case,
    size: Size,
    directory: PathBuf,
}

impl Place<'_> {
    fn name(&self) -> String {
        self.suite.name_of(&self.case.name)
    }

    /// Of the configuration that is there.
    fn plan(&self) -> miette::Result<Plan> {
        Ok(config::load(&self.directory.join(CASE))?.plan)
    }

    fn steps(&self) -> miette::Result<u64> {
        Ok(self.plan()?.stages.iter().map(|stage| stage.steps).sum())
    }

    /// Whether the configuration that is there is the case's.
    fn is_same(&self, text: &str) -> bool {
        std::fs::read_to_string(self.directory.join(CASE)).is_ok_and(|before| before == text)
    }

    /// Makes directory and configuration; whether a run of it is there to go on with. One of another text is not.
    fn prepare(&self) -> miette::Result<bool> {
        let text = self.suite.configuration(self.case, self.size)?;
        let error = |error: std::io::Error| miette!("{}: {error}", self.directory.display());
        std::fs::create_dir_all(&self.directory).map_err(error)?;
        let checkpoints = checkpoints_in(&self.directory)?;
        if self.is_same(&text) {
            return Ok(!checkpoints.is_empty());
        }
        // Before the new text is there: nobody shall go on with it from them.
        for (_, checkpoint) in checkpoints {
            std::fs::remove_file(checkpoint).map_err(error)?;
        }
        std::fs::write(self.directory.join(CASE), &text).map_err(error)?;
        Ok(false)
    }

    /// Whether it has been run to its end.
    fn is_complete(&self) -> miette::Result<bool> {
        let text = self.suite.configuration(self.case, self.size)?;
        if !self.is_same(&text) {
            return Ok(false);
        }
        let reached = checkpoints_in(&self.directory)?.first().map(|(step, _)| *step);
        Ok(reached == Some(self.steps()?))
    }

    /// Runs it to its end; false if it was stopped before.
    fn carry_out(&self, options: &RunOptions) -> miette::Result<bool> {
        let outcome = if self.prepare()? {
            run::resume(&self.directory, options)?
        } else {
            let mut loaded = config::load(&self.directory.join(CASE))?;
            loaded.plan.output.directory = self.directory.clone();
            run::run(loaded.plan, &loaded.text, &RunOptions { force: true, ..options.clone() })?
        };
        Ok(matches!(outcome, Outcome::Finished(_)))
    }
}

/// Runs one case after the other; false if one was stopped before its end.
fn carry_out_in_turn(
    all: &[Place],
    arguments: &ValidateArguments,
    ranks: &Ranks,
) -> miette::Result<bool> {
    let started = Instant::now();
    for place in all {
        let left = arguments.max_walltime.map(|most| most.saturating_sub(started.elapsed()));
        let options = RunOptions {
            max_walltime: left,
            quiet: arguments.quiet,
            ranks: ranks.clone(),
            ..RunOptions::default()
        };
        if !place.carry_out(&options)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs all cases, several at once; false if some were stopped before their ends.
fn carry_out_at_once(
    all: &[Place],
    arguments: &ValidateArguments,
    ranks: &Ranks,
) -> miette::Result<bool> {
    if ranks.count() > 1 {
        return Err(miette!("--jobs {}: every case is run on all ranks", arguments.jobs));
    }
    let mut jobs = Vec::new();
    for place in all {
        let goes_on = place.prepare()?;
        if place.is_complete()? {
            continue;
        }
        // A card takes about as long for any number of particles below 30,000.
        let cost = place.steps()? as f64 * (place.plan()?.system.particle_count() as f64 + 3e4);
        jobs.push(Job { name: place.name(), directory: place.directory.clone(), goes_on, cost });
    }
    let watch = Watch::new(arguments.max_walltime).map_err(|error| miette!("signals: {error}"))?;
    let conditions = Conditions { at_once: arguments.jobs.get(), watch, quiet: arguments.quiet };
    jobs::carry_out(jobs, &conditions)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
