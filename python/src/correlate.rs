//! Time correlations and structure of stored trajectories.
use std::num::NonZeroU64;
use std::path::PathBuf;

use miette::miette;
use pyo3::prelude::*;
use serde_json::json;
use supercool::config;
use supercool::run::{self, ReplayError, ReplayOptions};

use crate::error::raise;
use crate::log;

/// Name of the configuration in messages.
const SOURCE: &str = "correlate";

/// What a configuration has to say of the system of a trajectory, as JSON: box, names, numbers and masses of its species, step and time
/// (or null) of the first and the last frame, the interval of frames (or null: they have none in common), and the least and the greatest
/// diameter (or null).
#[pyfunction]
#[pyo3(signature = (path, system=None))]
pub fn trajectory(py: Python<'_>, path: PathBuf, system: Option<usize>) -> PyResult<String> {
    py.detach(|| described(path, system)).map_err(raise)
}

fn described(path: PathBuf, system: Option<usize>) -> miette::Result<String> {
    let analysis = |error: supercool_analysis::AnalysisError| ReplayError::from(error);
    let mut reader = supercool_analysis::open(&path).map_err(analysis)?;
    match system {
        Some(system) => {
            reader = supercool_analysis::open_system(&path, system).map_err(analysis)?
        }
        None if reader.systems() > 1 => {
            return Err(ReplayError::ManySystems { path, systems: reader.systems() }.into());
        }
        None => {}
    }
    let spacing = match run::frame_spacing(&*reader) {
        Ok(spacing) => Some(spacing),
        // Correlations take frames at any times.
        Err(ReplayError::Irregular { step, before, .. }) if step > before => None,
        Err(error) => return Err(error.into()),
    };
    let steps = reader.steps();
    let (first, last) = (
        reader.read_tilted(0).map_err(analysis)?,
        reader.read_tilted(steps.len() - 1).map_err(analysis)?,
    );
    let mut species = Vec::new();
    for (index, name) in first.species_names.iter().enumerate() {
        let is_of = |particle: &usize| first.species[*particle] as usize == index;
        let particles: Vec<usize> = (0..first.particle_count()).filter(is_of).collect();
        let Some(&one) = particles.first() else { continue };
        let mass = first.mass.as_ref().map_or(1.0, |masses| masses[one]);
        if let Some(masses) = &first.mass
            && particles.iter().any(|&particle| masses[particle] != mass)
        {
            return Err(miette!(
                help = "give particles of another mass the name of another species",
                "particles of species {name} have different masses"
            ));
        }
        species.push(json!({ "name": name, "count": particles.len(), "mass": mass }));
    }
    let ends = |of: &Vec<f64>| {
        let least = of.iter().copied().fold(f64::INFINITY, f64::min);
        [least, of.iter().copied().fold(0.0, f64::max)]
    };
    let described = json!({
        "diameters": first.diameter.as_ref().map(ends),
        "box": first.box_edges,
        "species": species,
        "steps": [steps[0], steps[steps.len() - 1]],
        "times": [first.time, last.time],
        "spacing": spacing,
        "counts_frames": reader.counts_frames(),
        "velocities": first.velocity.is_some() && last.velocity.is_some(),
    });
    Ok(described.to_string())
}

/// Evaluates the stage of the configuration `text` on a trajectory, as the command does; gives the results file, and what was assumed, as JSON.
#[pyfunction]
#[pyo3(signature = (text, path, directory, *, system=None, steps_per_frame=None, force=false))]
pub fn correlate(
    py: Python<'_>,
    text: &str,
    path: PathBuf,
    directory: PathBuf,
    system: Option<usize>,
    steps_per_frame: Option<u64>,
    force: bool,
) -> PyResult<String> {
    log::to_python();
    py.detach(|| {
        let mut plan = config::parse(text, SOURCE)?;
        plan.output.directory = directory;
        let options = ReplayOptions {
            stage: None,
            system,
            steps_per_frame: steps_per_frame.and_then(NonZeroU64::new),
            force,
            quiet: true,
        };
        let done = run::replay(plan, text, &path, &options)?;
        Ok(json!({ "results": done.results, "notes": done.notes }).to_string())
    })
    .map_err(raise)
}
