//! `supercool hash`: a number that names all bits of the state in which a run is or has ended.
use std::fmt::Write;
use std::path::PathBuf;

use crate::run;

#[derive(Clone, Debug, clap::Args)]
pub struct HashArguments {
    /// Directories of runs, for the last checkpoint there, or checkpoints.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// A line for each system.
pub fn hash(arguments: &HashArguments) -> miette::Result<String> {
    let mut lines = String::new();
    for path in &arguments.paths {
        let states = run::states_of(path)?;
        for (system, state) in states.iter().enumerate() {
            let (hash, step, path) = (state.hash().to_hex(), state.step, path.display());
            let of = if states.len() > 1 { format!(", system {system}") } else { String::new() };
            writeln!(lines, "{hash}  step {step}  {path}{of}").expect("a string takes all");
        }
    }
    Ok(lines)
}
