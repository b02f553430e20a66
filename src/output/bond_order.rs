use super::h5md::{create_rows, string_attribute, truncate_rows, write_rows};
use hdf5::{File, Group, Result};

/// Rows in a chunk of the file.
const CHUNK_ROWS: usize = 512;

/// Bond-orientational order at one step.
#[derive(Clone, Debug, PartialEq)]
pub struct BondOrderRow {
    /// Steps since the start of the run.
    pub step: u64,
    /// Time since the start of the run.
    pub time: f64,
    pub global: f64,
    pub local: f64,
}

/// Name under `/observables`, what it is in two and in three dimensions, value.
type Column = (&'static str, [&'static str; 2], fn(&BondOrderRow) -> f64);

const COLUMNS: [Column; 2] = [
    (
        "bond_orientational_order",
        [
            "|psi_6|, mean over particles of the mean of exp(6 i theta) over their bonds",
            "Q_6 of all bonds (Steinhardt, Nelson & Ronchetti 1983)",
        ],
        |row| row.global,
    ),
    (
        "local_bond_orientational_order",
        [
            "mean over particles of |mean of exp(6 i theta) over their bonds|",
            "mean over particles of Q_6 of their bonds",
        ],
        |row| row.local,
    ),
];

fn path(name: &str, dataset: &str) -> String {
    format!("observables/{name}/{dataset}")
}

/// Empty time series; `step` and `time` of both are the same two datasets.
pub(super) fn create(file: &File, observables: &Group, dimension: usize) -> Result<()> {
    let [(first, ..), (second, ..)] = COLUMNS;
    for (name, description, _) in COLUMNS {
        let group = observables.create_group(name)?;
        string_attribute(&group, "description", description[dimension - 2])?;
        create_rows::<f64>(&group, "value", &[], vec![CHUNK_ROWS], false)?;
    }
    let group = observables.group(first)?;
    create_rows::<i64>(&group, "step", &[], vec![CHUNK_ROWS], false)?;
    let time = create_rows::<f64>(&group, "time", &[], vec![CHUNK_ROWS], false)?;
    string_attribute(&time, "unit", "tau")?;
    for shared in ["step", "time"] {
        file.link_hard(&format!("/{}", path(first, shared)), &path(second, shared))?;
    }
    Ok(())
}

/// Bytes by which the file grows at most when `rows` rows are written.
pub(super) fn growth(rows: usize) -> u64 {
    (8 * 4 * (rows + CHUNK_ROWS).next_multiple_of(CHUNK_ROWS)) as u64
}

/// Writes rows from row `start` on.
pub(super) fn write(file: &File, start: usize, rows: &[BondOrderRow]) -> Result<()> {
    for (name, _, value) in COLUMNS {
        let values: Vec<f64> = rows.iter().map(value).collect();
        write_rows(file, &path(name, "value"), start, &values)?;
    }
    let times: Vec<f64> = rows.iter().map(|row| row.time).collect();
    let steps: Vec<i64> = rows.iter().map(|row| row.step as i64).collect();
    write_rows(file, &path(COLUMNS[0].0, "time"), start, &times)?;
    write_rows(file, &path(COLUMNS[0].0, "step"), start, &steps)
}

/// Complete rows in the file.
pub(super) fn row_count(file: &File) -> Result<u64> {
    super::h5md::row_count(file, &path(COLUMNS[0].0, "step"))
}

/// Forgets all rows from `rows` on.
pub(super) fn truncate(file: &File, rows: usize) -> Result<()> {
    for shared in ["step", "time"] {
        truncate_rows(file, &path(COLUMNS[0].0, shared), rows)?;
    }
    COLUMNS.iter().try_for_each(|(name, ..)| truncate_rows(file, &path(name, "value"), rows))
}
