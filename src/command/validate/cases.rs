//! The cases of suites, each a run in a directory of its own: begun, continued, or left as it is.
use std::path::{Path, PathBuf};
use std::time::Instant;

use miette::miette;

use super::jobs::{self, CASE, Conditions, Job};
use super::suite::{Case, Suite};
use super::{Size, ValidateArguments};
use crate::config;
use crate::engine::domain::Ranks;
use crate::output::checkpoints_in;
use crate::plan::Plan;
use crate::run::{self, Outcome, RunOptions, Watch};

/// A case of one size, and where it is run.
#[derive(Debug)]
pub struct Place<'s> {
    pub suite: &'s Suite,
    pub case: &'s Case,
    pub size: Size,
    /// Number of the run, of a case with many.
    pub run: Option<u32>,
    pub directory: PathBuf,
}

impl Place<'_> {
    /// Of the case, with its suite.
    pub fn case_name(&self) -> String {
        self.suite.name_of(&self.case.name)
    }

    pub fn name(&self) -> String {
        let run = self.run.map_or(String::new(), |run| format!("/{run}"));
        self.case_name() + &run
    }

    /// All runs of a case.
    pub fn of_case<'s>(
        suite: &'s Suite,
        case: &'s Case,
        size: Size,
        output: &Path,
    ) -> Vec<Place<'s>> {
        let directory = output.join(&suite.name).join(&case.name);
        match case.runs(size) {
            None => vec![Place { suite, case, size, run: None, directory }],
            Some(runs) => (1..=runs)
                .map(|run| {
                    let directory = directory.join(run.to_string());
                    Place { suite, case, size, run: Some(run), directory }
                })
                .collect(),
        }
    }

    /// Of the configuration that is there.
    pub fn plan(&self) -> miette::Result<Plan> {
        Ok(config::load(&self.directory.join(CASE))?.plan)
    }

    pub fn steps(&self) -> miette::Result<u64> {
        Ok(self.plan()?.stages.iter().map(|stage| stage.steps).sum())
    }

    /// Whether the configuration that is there is the case's.
    fn is_same(&self, text: &str) -> bool {
        std::fs::read_to_string(self.directory.join(CASE)).is_ok_and(|before| before == text)
    }

    /// Makes directory and configuration; whether a run of it is there to continue with. One of another text is not.
    fn prepare(&self) -> miette::Result<bool> {
        let text = self.suite.configuration(self.case, self.size, self.run)?;
        let error = |error: std::io::Error| miette!("{}: {error}", self.directory.display());
        std::fs::create_dir_all(&self.directory).map_err(error)?;
        let checkpoints = checkpoints_in(&self.directory)?;
        if self.is_same(&text) {
            return Ok(!checkpoints.is_empty());
        }
        // Before the new text is there: nobody shall continue with it from them.
        for (_, checkpoint) in checkpoints {
            std::fs::remove_file(checkpoint).map_err(error)?;
        }
        std::fs::write(self.directory.join(CASE), &text).map_err(error)?;
        Ok(false)
    }

    /// Whether it has been run to its end.
    pub fn is_complete(&self) -> miette::Result<bool> {
        let text = self.suite.configuration(self.case, self.size, self.run)?;
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
pub fn carry_out_in_turn(
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
pub fn carry_out_at_once(
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
        // A GPU takes about as long for any number of particles below 30,000.
        let cost = place.steps()? as f64 * (place.plan()?.system.particle_count() as f64 + 3e4);
        jobs.push(Job { name: place.name(), directory: place.directory.clone(), goes_on, cost });
    }
    let watch = Watch::new(arguments.max_walltime).map_err(|error| miette!("signals: {error}"))?;
    let conditions = Conditions { at_once: arguments.jobs.get(), watch, quiet: arguments.quiet };
    jobs::carry_out(jobs, &conditions)
}
