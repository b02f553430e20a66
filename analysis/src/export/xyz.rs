//! Extended XYZ: for each configuration the positions that its runs start from, with a column of each particle's propensities for
//! each observable. OVITO, ASE and others read it.
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Exported;
use crate::{AnalysisError, Result};

/// Writes the propensities at a time, of all configurations one after the other; at the last time that was reached if none is
/// given. A time stands for the nearest one of the file within half a step.
///
/// # Errors
/// If the file has no propensities at that time, or one of the files cannot be read or written; nothing has the name of `output`
/// then that was not there before.
pub fn export_propensities(path: &Path, time: Option<f64>, output: &Path) -> Result<()> {
    let exported = Exported::open(path)?;
    let place = exported.place(time)?;
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = File::create(&partial)
        .map_err(AnalysisError::io(&partial))
        .and_then(|file| write(&exported, place, &mut BufWriter::new(file), &partial))
        .and_then(|()| std::fs::rename(&partial, output).map_err(AnalysisError::io(output)));
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn write(exported: &Exported, time: usize, to: &mut impl Write, path: &Path) -> Result<()> {
    for (number, positions) in exported.configurations().enumerate() {
        let columns = exported.propensities(number, time)?;
        let frame = frame(exported, time, number, positions, &columns);
        to.write_all(frame.as_bytes()).map_err(AnalysisError::io(path))?;
    }
    to.flush().map_err(AnalysisError::io(path))
}

fn frame(
    exported: &Exported,
    time: usize,
    number: usize,
    positions: &[f64],
    columns: &[Vec<f64>],
) -> String {
    let Exported { edges, species, names, .. } = exported;
    // In two dimensions z is 0 and the third edge 1.
    let edge = |k: usize| edges.get(k).copied().unwrap_or(1.0);
    let mut text = format!("{}\n", species.len());
    let of_columns = exported.columns.iter().map(|(name, _)| format!(":{name}:R:1"));
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "Lattice=\"{:?} 0 0 0 {:?} 0 0 0 {:?}\" Properties=species:S:1:pos:R:3{} pbc=\"T T {}\" configuration={number} \
         propensity_time={:?}",
        edge(0),
        edge(1),
        edge(2),
        of_columns.collect::<String>(),
        if edges.len() == 2 { "F" } else { "T" },
        exported.times[time]
    );
    for (particle, &species) in species.iter().enumerate() {
        text.push_str(&names[species]);
        let own = &positions[particle * edges.len()..(particle + 1) * edges.len()];
        for k in 0..3 {
            let _ = write!(text, " {:?}", own.get(k).copied().unwrap_or(0.0));
        }
        for column in columns {
            let _ = write!(text, " {:?}", column[particle]);
        }
        text.push('\n');
    }
    text
}
