//! `[run]`, `[checkpoint]` and `[output]`.
use std::path::{Path, PathBuf};

use super::checker::Checker;
use crate::config::defaults;
use crate::config::document::{Checkpoint, Integer, Output, Run, Table, Written};
use crate::plan::{self, CheckpointPlan, OnFullDisk, OutputPlan, RunPlan};

/// Threads of an engine at most.
pub const MAXIMUM_THREADS: u64 = 1024;
const MAXIMUM_SORT_INTERVAL: u64 = 1_000_000;

pub fn check(document: &Table<Run>, checker: &mut Checker<'_>) -> Option<RunPlan> {
    let span = &document.span;
    let engine = match &document.engine {
        Some(engine) => engine.value,
        None => {
            checker.filled_in(span, "engine", "auto");
            defaults::ENGINE
        }
    };
    let precision = match &document.precision {
        Some(precision) => precision.value,
        None => {
            checker.filled_in(span, "precision", defaults::PRECISION.name());
            defaults::PRECISION
        }
    };
    let timestep = checker.positive(&document.timestep);
    let threads = match &document.threads {
        Some(threads) => checker.integer(threads, 1..=MAXIMUM_THREADS).map(|n| Some(n as usize)),
        None => {
            checker.filled_in(span, "threads", "all cores");
            Some(None)
        }
    };
    let skin = match &document.skin {
        Some(skin) => checker.positive(skin).map(Some),
        None => {
            checker.filled_in(span, "skin", "the engine's choice");
            Some(None)
        }
    };
    let threads_per_particle = match &document.threads_per_particle {
        Some(threads) => threads_per_particle(threads, checker).map(Some),
        None => {
            checker.filled_in(span, "threads_per_particle", "the engine's choice");
            Some(None)
        }
    };
    let tune = match &document.tune {
        Some(tune) => tune.value,
        None => {
            checker.filled_in(span, "tune", defaults::TUNE);
            defaults::TUNE
        }
    };
    let sort_interval = checker.integer_or(
        span,
        "sort_interval",
        document.sort_interval.as_ref(),
        1..=MAXIMUM_SORT_INTERVAL,
        defaults::SORT_INTERVAL.into(),
    );
    let transport = match &document.transport {
        Some(transport) => transport.value,
        None => {
            checker.filled_in(span, "transport", defaults::TRANSPORT.name());
            defaults::TRANSPORT
        }
    };
    Some(RunPlan {
        engine,
        precision,
        timestep: timestep?,
        flight: None,
        threads: threads?,
        skin: skin?,
        threads_per_particle: threads_per_particle?,
        tune,
        sort_interval: u32::try_from(sort_interval?).ok()?,
        transport,
    })
}

fn threads_per_particle(document: &Written<Integer>, checker: &mut Checker<'_>) -> Option<u32> {
    let threads = checker.integer(document, 1..=32)?;
    if !threads.is_power_of_two() {
        checker.reject(
            &document.span,
            format!("{threads} is not a power of two"),
            "1, 2, 4, 8, 16 or 32",
        );
        return None;
    }
    Some(threads as u32)
}

pub fn checkpoint(
    document: Option<&Table<Checkpoint>>,
    checker: &mut Checker<'_>,
) -> Option<CheckpointPlan> {
    let minutes = match document.and_then(|checkpoint| checkpoint.minutes.as_ref()) {
        Some(minutes) => checker.positive(minutes)?,
        None => {
            checker.filled("checkpoint.minutes", defaults::CHECKPOINT_MINUTES);
            defaults::CHECKPOINT_MINUTES
        }
    };
    Some(CheckpointPlan { minutes })
}

/// Of the results of a file of this name.
pub fn default_directory(source_name: &str) -> PathBuf {
    let stem = Path::new(source_name).file_stem().unwrap_or("run".as_ref());
    PathBuf::from("results").join(stem)
}

pub fn output(
    document: Option<&Table<Output>>,
    source_name: &str,
    checker: &mut Checker<'_>,
) -> Option<OutputPlan> {
    let directory = match document.and_then(|output| output.directory.as_ref()) {
        Some(directory) => checker.path(directory),
        None => {
            let directory = default_directory(source_name);
            checker.filled("output.directory", directory.display());
            Some(directory)
        }
    };
    let flush_seconds = match document.and_then(|output| output.flush_seconds.as_ref()) {
        Some(seconds) => checker.positive(seconds),
        None => {
            checker.filled("output.flush_seconds", plan::FLUSH_SECONDS);
            Some(plan::FLUSH_SECONDS)
        }
    };
    let on_full_disk = match document.and_then(|output| output.on_full_disk.as_ref()) {
        Some(choice) => choice.value,
        None => {
            checker.filled("output.on_full_disk", "stop");
            OnFullDisk::Stop
        }
    };
    Some(OutputPlan { directory: directory?, flush_seconds: flush_seconds?, on_full_disk })
}
