//! `supercool validate`: runs the suites of `validation/suites` and compares what comes out with what is known.
//!
//! `suite` is what a file says, `cases` runs what it asks for, `jobs` several at once, `judge` what a run gives for one
//! expectation, `calibration` whether many runs scatter by their errors, `peer` what another program gives for it, `reversal` whether it can be taken back, `waiting` whether it ages, `run_record` where and when it
//! ran, `tables` what the user sees. Every case is a run in a directory of its own, which is continued where it was
//! stopped, and not repeated once it is there.
mod calibration;
mod cases;
mod jobs;
mod judge;
mod peer;
mod reversal;
mod run_record;
mod suite;
mod tables;
mod waiting;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use miette::miette;

use self::cases::{Place, carry_out_at_once, carry_out_in_turn};
use self::judge::{Completed, Earlier, Judged, Verdict};
use self::peer::Peer;
use self::run_record::RunRecord;
use self::suite::Suite;
use super::say;
use crate::engine::domain::Ranks;
use crate::run::{STOPPED, parse_walltime};

#[derive(Clone, Debug, clap::Args)]
pub struct ValidateArguments {
    /// Names of suites, or of single cases as SUITE/CASE; all suites if none is given.
    suites: Vec<String>,
    /// Small systems, short runs: minutes on a CPU. The default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Large systems, long runs: hours on a GPU. Can be stopped and given again to continue.
    #[arg(long)]
    full: bool,
    /// Folder of the suites.
    #[arg(long, default_value = "validation/suites")]
    folder: PathBuf,
    /// Folder of the runs, and of report.html, report.md and report.json.
    #[arg(long, default_value = "results/validation")]
    output: PathBuf,
    /// Cases at once, each in a process of its own; on a machine with GPUs each has one of these to itself.
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
    runs: Vec<RunRecord>,
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
        .flat_map(|(suite, case)| Place::of_case(suite, case, size, &output))
        .collect();
    if results.skipped.is_empty() && all.iter().all(|place| place.case.expects_nothing()) {
        return Err(nothing_to_judge(arguments, &suites, size));
    }
    let finished = if arguments.jobs.get() > 1 {
        carry_out_at_once(&all, arguments, ranks)?
    } else {
        carry_out_in_turn(&all, arguments, ranks)?
    };
    let mut found: BTreeMap<&str, Earlier> = BTreeMap::new();
    let mut cases = 0;
    for places in all.chunk_by(|a, b| a.case_name() == b.case_name()) {
        cases += 1;
        let place = &places[0];
        let complete: Vec<bool> =
            places.iter().map(Place::is_complete).collect::<miette::Result<_>>()?;
        if complete.contains(&false) {
            results.unfinished.push(place.case_name());
            continue;
        }
        results.runs.extend(RunRecord::read_all(places)?);
        let plan = place.plan()?;
        for calibrated in &place.case.calibrate {
            let directories: Vec<PathBuf> =
                places.iter().map(|place| place.directory.clone()).collect();
            for one in calibration::judge(calibrated, &plan, &directories)? {
                let (suite, case) = (place.suite.name.clone(), place.case.name.clone());
                results.judged.push(Judged { suite, case, ..one });
            }
        }
        let beside = match peers.get(&place.suite.name) {
            Some(peer) => Some(peer.beside(&plan, &place.directory, ranks)?),
            None => None,
        };
        let run =
            Completed { plan: &plan, directory: &place.directory, beside: beside.as_ref(), ranks };
        let found = found.entry(&place.suite.name).or_default();
        for expected in &place.case.expect {
            let mut expected = expected.clone();
            // Of a case that is not finished, or not asked for, there is nothing to compare with.
            let found_of = |case: &String| found.keys().any(|(of, _)| of == case);
            if expected.same_as.as_ref().is_some_and(|case| !found_of(case)) {
                expected.same_as = None;
            }
            let one = judge::judge(&expected, size, run, found)?;
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
            "Stopped in {}; the same command continues, with {} of {} cases\n",
            output.display(),
            results.unfinished.len(),
            cases
        ))?;
        return Ok(ExitCode::from(STOPPED));
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn nothing_to_judge(arguments: &ValidateArguments, suites: &[Suite], size: Size) -> miette::Report {
    let folder = arguments.folder.display();
    if suites.is_empty() {
        return miette!(
            help =
                "suites lie in validation/suites of the source tree; --folder names another place",
            "{folder}: no suites (*.toml)"
        );
    }
    let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
    let (size, other) = match size {
        Size::Quick => ("quick", "full"),
        Size::Full => ("full", "quick"),
    };
    miette!(
        help = format!(
            "a case runs with --{size} if it has a table `{size}`; --{other} is the other size"
        ),
        "{folder}: no case of {} has values for --{size} and something that is expected",
        names.join(", ")
    )
}

impl ValidateArguments {
    fn python(&self) -> PathBuf {
        let from_environment = || std::env::var_os("SUPERCOOL_PYTHON").map(PathBuf::from);
        self.python.clone().or_else(from_environment).unwrap_or_else(|| "python3".into())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config;

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
                    let run = case.runs(size).map(|_| 1);
                    let text = suite.configuration(case, size, run).unwrap();
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
                    for calibrated in &case.calibrate {
                        let stage = plan.stages.iter().find(|stage| stage.name == calibrated.stage);
                        assert!(stage.is_some_and(|stage| stage.has_results()), "{name}");
                    }
                }
                before.push(case.name.clone());
            }
        }
    }
}
