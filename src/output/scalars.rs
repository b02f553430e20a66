use hdf5::{File, Group, Result};
use supercool_observables::TimeSeries;

use super::h5md::{create_rows, string_attribute, truncate_rows, write_rows};
use super::systems::{Rows, Systems, numbers_of_each};

/// Rows in a chunk of the file.
const CHUNK_ROWS: usize = 512;

/// Time series of a few numbers that belong together: `/observables/<name>/{step,time,value}` for each,
/// `step` and `time` of all being the same two datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalars {
    /// Global and local bond-orientational order.
    BondOrder,
    /// Configurational temperature, and what it is made of.
    ConfigurationalTemperature,
    /// Crystallinity and demixing.
    LocalOrder,
    /// Energy, pressure, residual force and iterations of inherent structures.
    InherentStructures,
}

/// Numbers of a [`Scalars`] at one step, in the order of its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarRow {
    /// Steps since the start of the run.
    pub step: u64,
    /// Time since the start of the run.
    pub time: f64,
    pub values: Vec<f64>,
}

struct Column {
    of: TimeSeries,
    /// In two and in three dimensions.
    description: [&'static str; 2],
}

const BOND_ORDER: &[Column] = &[
    Column {
        of: TimeSeries::BondOrientationalOrder,
        description: [
            "|psi_6|, mean over particles of the mean of exp(6 i theta) over their bonds",
            "Q_6 of all bonds (Steinhardt, Nelson & Ronchetti 1983)",
        ],
    },
    Column {
        of: TimeSeries::LocalBondOrientationalOrder,
        description: [
            "mean over particles of |mean of exp(6 i theta) over their bonds|",
            "mean over particles of Q_6 of their bonds",
        ],
    },
];

const CONFIGURATIONAL_TEMPERATURE: &[Column] = &[
    Column {
        of: TimeSeries::ConfigurationalTemperature,
        description: ["squared_force / laplacian of one configuration; the temperature is the ratio of their means, from which the mean of these \
             ratios is off by the order of 1/N"; 2],
    },
    Column { of: TimeSeries::SquaredForce, description: ["sum_i |F_i|^2 / N"; 2] },
    Column {
        of: TimeSeries::Laplacian,
        description: ["sum_i laplacian_i U / N = sum_i sum_j [u''(r_ij) + (D-1) u'(r_ij) / r_ij] / N";
            2],
    },
];

const LOCAL_ORDER: &[Column] = &[
    Column {
        of: TimeSeries::Crystallinity,
        description: [
            "mean over particles of |mean of exp(6 i theta) over their bonds|",
            "fraction of particles with 7 or more neighbors whose q_6 has a cosine above 0.7 with theirs",
        ],
    },
    Column {
        of: TimeSeries::Demixing,
        description: ["variance of the mean diameter of neighbors (without diameters: of the share of each species), over that of \
             random assignments to the same places; NaN where all particles are the same";
            2],
    },
];

const INHERENT_STRUCTURES: &[Column] = &[
    Column {
        of: TimeSeries::InherentStructureEnergy,
        description: ["e_IS, potential energy per particle of the minimum below the state"; 2],
    },
    Column {
        of: TimeSeries::InherentStructurePressure,
        description: ["pressure of the potential energy in the minimum"; 2],
    },
    Column {
        of: TimeSeries::InherentStructureResidualForce,
        description: ["modulus of the largest force on a particle in the minimum"; 2],
    },
    Column {
        of: TimeSeries::InherentStructureIterations,
        description: ["iterations of the minimisation"; 2],
    },
];

impl Scalars {
    /// In words, for errors.
    pub(super) fn rows_of(self) -> &'static str {
        match self {
            Scalars::BondOrder => "rows of bond order",
            Scalars::ConfigurationalTemperature => "rows of the configurational temperature",
            Scalars::LocalOrder => "rows of local order",
            Scalars::InherentStructures => "rows of inherent structures",
        }
    }

    fn columns(self) -> &'static [Column] {
        match self {
            Scalars::BondOrder => BOND_ORDER,
            Scalars::ConfigurationalTemperature => CONFIGURATIONAL_TEMPERATURE,
            Scalars::LocalOrder => LOCAL_ORDER,
            Scalars::InherentStructures => INHERENT_STRUCTURES,
        }
    }

    /// Path of a dataset of the first column, which holds `step` and `time`.
    fn shared(self, dataset: &str) -> String {
        path(self.columns()[0].of.group_name(), dataset)
    }

    /// Empty time series.
    pub(super) fn create(
        self,
        file: &File,
        observables: &Group,
        dimension: usize,
        systems: Option<&Systems>,
    ) -> Result<()> {
        for (number, column) in self.columns().iter().enumerate() {
            let group = observables.create_group(column.of.group_name())?;
            string_attribute(&group, "description", column.description[dimension - 2])?;
            if number == 0 {
                create_rows::<i64>(&group, "step", &[], vec![CHUNK_ROWS], false)?;
                let time = create_rows::<f64>(&group, "time", &[], vec![CHUNK_ROWS], false)?;
                string_attribute(&time, "unit", "tau")?;
            } else {
                for shared in ["step", "time"] {
                    let target = format!("/{}", self.shared(shared));
                    file.link_hard(&target, &path(column.of.group_name(), shared))?;
                }
            }
            rows(column, systems).create(file, column.of.descriptor().unit.text(dimension))?;
        }
        Ok(())
    }

    /// Bytes by which the file grows at most when `rows` rows are written.
    pub(super) fn growth(self, rows: usize, systems: Option<&Systems>) -> u64 {
        if rows == 0 {
            return 0;
        }
        let row_bytes = 8 * (2 + self.columns().len() * numbers_of_each(systems));
        (row_bytes * (rows + CHUNK_ROWS).next_multiple_of(CHUNK_ROWS)) as u64
    }

    /// Writes rows from row `start` on, one of each system at each step.
    pub(super) fn write(
        self,
        file: &File,
        start: usize,
        of_systems: &[ScalarRow],
        systems: Option<&Systems>,
    ) -> Result<()> {
        if of_systems.is_empty() {
            return Ok(());
        }
        for (number, column) in self.columns().iter().enumerate() {
            let values: Vec<f64> = of_systems.iter().map(|row| row.values[number]).collect();
            rows(column, systems).write(file, start, &values)?;
        }
        let steps = || of_systems.iter().step_by(systems.map_or(1, Systems::count));
        let times: Vec<f64> = steps().map(|row| row.time).collect();
        let steps: Vec<i64> = steps().map(|row| row.step as i64).collect();
        write_rows(file, &self.shared("time"), start, &times)?;
        write_rows(file, &self.shared("step"), start, &steps)
    }

    /// Complete rows in the file.
    pub(super) fn row_count(self, file: &File) -> Result<u64> {
        super::h5md::row_count(file, &self.shared("step"))
    }

    /// Forgets all rows from `count` on.
    pub(super) fn truncate(
        self,
        file: &File,
        count: usize,
        systems: Option<&Systems>,
    ) -> Result<()> {
        for shared in ["step", "time"] {
            truncate_rows(file, &self.shared(shared), count)?;
        }
        self.columns().iter().try_for_each(|column| rows(column, systems).truncate(file, count))
    }
}

fn path(name: &str, dataset: &str) -> String {
    format!("observables/{name}/{dataset}")
}

/// One dataset with the values of all rows, or several of many systems.
fn rows<'a>(column: &Column, systems: Option<&'a Systems>) -> Rows<'a> {
    let path = format!("observables/{}", column.of.group_name());
    Rows { path, row: Vec::new(), shared: ["step", "time"], systems }
}
