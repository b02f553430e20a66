//! Trajectories in other formats.
use std::num::NonZeroU64;
use std::path::PathBuf;

use miette::miette;
use pyo3::prelude::*;
use serde_json::json;
use supercool::convert::{ConvertOptions, Positions, convert as convert_file, format};
use supercool_analysis::trajectory::Format;

use crate::error::raise;

/// Writes a file in another format, as the command does; gives what was converted as JSON. `positions` is "both", "wrapped" or
/// "unwrapped", `frames` a slice as text.
#[pyfunction]
#[pyo3(signature = (
    source, destination, *, positions, frames, every=None, system=None, from_format=None, to_format=None, force=false
))]
#[allow(clippy::too_many_arguments)]
pub fn convert(
    py: Python<'_>,
    source: PathBuf,
    destination: PathBuf,
    positions: &str,
    frames: &str,
    every: Option<NonZeroU64>,
    system: Option<usize>,
    from_format: Option<&str>,
    to_format: Option<&str>,
    force: bool,
) -> PyResult<String> {
    py.detach(|| {
        let options = ConvertOptions {
            from: from_format.map(named).transpose()?,
            to: to_format.map(named).transpose()?,
            positions: match positions {
                "wrapped" => Positions::Wrapped,
                "unwrapped" => Positions::Unwrapped,
                _ => Positions::Both,
            },
            frames: frames.parse().map_err(|wrong: String| miette!("frames: {wrong}"))?,
            every,
            system,
            force,
            quiet: true,
        };
        let done = convert_file(&source, &destination, &options)?;
        let described = json!({
            "source": done.source,
            "frames": done.frames,
            "particles": done.particles,
            "steps": done.steps,
            "notes": done.notes,
        });
        Ok(described.to_string())
    })
    .map_err(raise)
}

fn named(word: &str) -> miette::Result<Format> {
    let words = format::words().join(", ");
    format::named(word).ok_or_else(|| miette!("format \"{word}\": it is one of {words}"))
}
