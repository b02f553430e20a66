//! `/systems/exchange` of a stage in which replicas are exchanged.
use hdf5::{File, Result};

use super::h5md::{
    create_rows, string_attribute, truncate_rows, write_again, write_array, write_rows,
};
use super::systems::{Systems, create_groups};
use super::thermodynamics;
use crate::engine::ExchangeCounts;

const ROOT: &str = "systems/exchange";
/// Rows in a chunk of the file, and its size in bytes where these are long.
const CHUNK_ROWS: usize = 512;
const CHUNK_BYTES: usize = 1 << 18;

const DESCRIPTIONS: [(&str, &str); 4] = [
    (
        "attempts",
        "exchanges that were decided on, by pair of neighboring temperatures, in all ladders",
    ),
    ("acceptances", "replicas that were exchanged, by pair"),
    ("acceptance", "acceptances / attempts"),
    ("round_trips", "ways of each replica from the first temperature to the last and back"),
];

fn replica(dataset: &str) -> String {
    format!("{ROOT}/replica/{dataset}")
}

fn chunk_rows(systems: usize) -> usize {
    (CHUNK_BYTES / (4 * systems)).clamp(1, CHUNK_ROWS)
}

/// Counts of nothing; `has_rows`: which replica each system is at each row of thermodynamics.
pub(super) fn create(file: &File, systems: &Systems, has_rows: bool) -> Result<()> {
    let group = create_groups(file, ROOT)?;
    let (count, pairs) = (systems.count(), systems.groups() - 1);
    for (name, description) in DESCRIPTIONS {
        let dataset = match name {
            "acceptance" => write_array(&group, name, &[pairs], &vec![f64::NAN; pairs])?,
            "round_trips" => write_array(&group, name, &[count], &vec![0_i64; count])?,
            _ => write_array(&group, name, &[pairs], &vec![0_i64; pairs])?,
        };
        string_attribute(&dataset, "description", description)?;
    }
    if has_rows {
        let group = group.create_group("replica")?;
        for shared in ["step", "time"] {
            file.link_hard(&format!("/{}", thermodynamics::shared(shared)), &replica(shared))?;
        }
        let chunk = vec![chunk_rows(count), count];
        let dataset = create_rows::<i32>(&group, "value", &[count], chunk, false)?;
        string_attribute(&dataset, "description", "which replica each system is")?;
    }
    Ok(())
}

/// Bytes by which the file grows at most when rows are written.
pub(super) fn growth(rows: usize, systems: &Systems) -> u64 {
    let chunk = chunk_rows(systems.count());
    (4 * systems.count() * (rows + chunk).next_multiple_of(chunk)) as u64
}

/// Writes rows from row `start` on: which replica each system is.
pub(super) fn write(file: &File, start: usize, replicas: &[i32]) -> Result<()> {
    write_rows(file, &replica("value"), start, replicas)
}

/// Rows in the file.
pub(super) fn row_count(file: &File) -> Result<u64> {
    super::h5md::row_count(file, &replica("value"))
}

/// Forgets all rows from `rows` on.
pub(super) fn truncate(file: &File, rows: usize) -> Result<()> {
    truncate_rows(file, &replica("value"), rows)
}

/// Writes the counts of the stage so far.
pub(super) fn write_counts(file: &File, counts: &ExchangeCounts) -> Result<()> {
    let group = file.group(ROOT)?;
    let integers = |counts: &[u64]| counts.iter().map(|&n| n as i64).collect::<Vec<_>>();
    write_again(&group, "attempts", &integers(&counts.attempts))?;
    write_again(&group, "acceptances", &integers(&counts.acceptances))?;
    write_again(&group, "acceptance", &counts.ratios())?;
    write_again(&group, "round_trips", &integers(&counts.round_trips))
}
