//! `supercool correlate`.
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use super::say;
use crate::config;
use crate::run::{ReplayOptions, replay};

#[derive(Clone, Debug, clap::Args)]
pub struct CorrelateArguments {
    /// H5MD, GSD, (extended) XYZ or LAMMPS dump file (with ids) of the configuration's system: box, numbers and, if
    /// it has any, masses of particles are compared. Types that are only numbered are the species in their order.
    /// Without images particles are followed from frame to frame.
    trajectory: PathBuf,
    /// A configuration of that system; the correlations, structure, bond_order and local_order of a stage are evaluated.
    file: PathBuf,
    /// The stage; the only one that has any, if not given.
    #[arg(long)]
    stage: Option<String>,
    /// Which one of a trajectory of many systems, counted from 0.
    #[arg(long, value_name = "NUMBER")]
    system: Option<usize>,
    /// Steps from one frame to the next, of a file that says neither steps nor times of its frames (plain XYZ).
    #[arg(long, value_name = "STEPS")]
    steps_per_frame: Option<NonZeroU64>,
    /// Directory for the results; `results/RUN-NAME-correlations` for the trajectory RUN/NAME.h5md if not given.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Remove earlier files in that directory.
    #[arg(long)]
    force: bool,
    /// No progress bar.
    #[arg(long)]
    quiet: bool,
}

pub fn correlate(arguments: &CorrelateArguments) -> miette::Result<()> {
    let mut loaded = config::load(&arguments.file)?;
    let folder = arguments.trajectory.parent().and_then(Path::file_name);
    let names = folder.into_iter().chain(arguments.trajectory.file_stem());
    let name: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    let default = || PathBuf::from("results").join(format!("{}-correlations", name.join("-")));
    loaded.plan.output.directory = arguments.output.clone().unwrap_or_else(default);
    let options = ReplayOptions {
        stage: arguments.stage.clone(),
        system: arguments.system,
        steps_per_frame: arguments.steps_per_frame,
        force: arguments.force,
        quiet: arguments.quiet,
    };
    let done = replay(loaded.plan, &loaded.text, &arguments.trajectory, &options)?;
    let notes: String = done.notes.iter().map(|note| format!("  {note}\n")).collect();
    say(format!(
        "{} frames of {} particles\n{notes}{}\n",
        done.frames,
        done.particles,
        done.results.display()
    ))
}
