use hdf5::{File, Group, Result};
use supercool_observables::TimeSeries;

use super::RunDescription;
use super::h5md::{create_rows, number_attribute, string_attribute, truncate_rows, write_rows};
use super::systems::{Rows, Systems, numbers_of_each};
use crate::plan::StagePlan;

/// Rows kept in memory at most.
pub(super) const BUFFERED_ROWS: usize = 16_384;
/// Rows in a chunk of the file.
const CHUNK_ROWS: usize = 512;

/// Thermodynamics at one step. Reduced units; energies per particle.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermodynamicsRow {
    /// Steps since the start of the run.
    pub step: u64,
    /// Time since the start of the run.
    pub time: f64,
    pub potential_energy: f64,
    pub kinetic_energy: f64,
    /// Total energy: potential and kinetic.
    pub internal_energy: f64,
    /// What the dynamics conserves: `internal_energy` less the heat from the thermostat.
    pub conserved_energy: f64,
    pub temperature: f64,
    /// Of the velocities of half steps.
    pub half_step_temperature: f64,
    pub pressure: f64,
    /// `sum_pairs r . F / N`.
    pub virial: f64,
    /// `stress[a][b]`: kinetic and virial part, tension being positive: the pressure is minus its trace over `D`.
    pub stress: [[f64; 3]; 3],
    pub center_of_mass_velocity: [f64; 3],
    pub density: f64,
    /// `internal_energy + P_0 V / N` with the pressure `P_0` of the barostat, if there is one.
    pub enthalpy: f64,
    pub edges: [f64; 3],
    /// Of a flow, since the start of the stage.
    pub shear_strain: f64,
}

/// What of a stage decides which observables it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxOf {
    /// One box.
    Constant,
    /// Sheared steadily, with the same edges.
    Sheared,
    /// Other edges in the course of the stage, or of each system.
    Changing,
    /// The same by a barostat.
    Barostat,
}

impl BoxOf {
    /// Of the stage of a file.
    pub(super) fn run(run: &RunDescription) -> Self {
        let stage = run.plan.stages.iter().position(|stage| stage.name == run.stage);
        stage.map_or(BoxOf::Constant, |stage| match BoxOf::stage(&run.plan.stages[stage]) {
            BoxOf::Constant if run.plan.has_own_boxes(stage) => BoxOf::Changing,
            of => of,
        })
    }

    fn stage(stage: &StagePlan) -> Self {
        if stage.barostat.is_some() {
            BoxOf::Barostat
        } else if stage.rescale.is_some() || stage.strain.is_some() {
            BoxOf::Changing
        } else if stage.shear.is_some() {
            BoxOf::Sheared
        } else {
            BoxOf::Constant
        }
    }

    /// Whether edges stay as they are.
    pub(super) fn has_constant_edges(self) -> bool {
        matches!(self, BoxOf::Constant | BoxOf::Sheared)
    }
}

/// One dataset under `/observables`.
struct Observable {
    of: TimeSeries,
    /// 0: number, 1: vector, 2: matrix.
    rank: usize,
    values: fn(&ThermodynamicsRow, usize, &mut Vec<f64>),
}

/// Names after the H5MD module "thermodynamics", then ours.
const OBSERVABLES: [Observable; 15] = [
    Observable {
        of: TimeSeries::PotentialEnergy,
        rank: 0,
        values: |row, _, out| out.push(row.potential_energy),
    },
    Observable {
        of: TimeSeries::KineticEnergy,
        rank: 0,
        values: |row, _, out| out.push(row.kinetic_energy),
    },
    Observable {
        of: TimeSeries::InternalEnergy,
        rank: 0,
        values: |row, _, out| out.push(row.internal_energy),
    },
    Observable {
        of: TimeSeries::ConservedEnergy,
        rank: 0,
        values: |row, _, out| out.push(row.conserved_energy),
    },
    Observable {
        of: TimeSeries::Temperature,
        rank: 0,
        values: |row, _, out| out.push(row.temperature),
    },
    Observable {
        of: TimeSeries::HalfStepTemperature,
        rank: 0,
        values: |row, _, out| out.push(row.half_step_temperature),
    },
    Observable { of: TimeSeries::Pressure, rank: 0, values: |row, _, out| out.push(row.pressure) },
    Observable { of: TimeSeries::Virial, rank: 0, values: |row, _, out| out.push(row.virial) },
    Observable {
        of: TimeSeries::StressTensor,
        rank: 2,
        values: |row, dimension, out| {
            row.stress[..dimension].iter().for_each(|line| out.extend(&line[..dimension]));
        },
    },
    Observable {
        of: TimeSeries::CenterOfMassVelocity,
        rank: 1,
        values: |row, dimension, out| out.extend(&row.center_of_mass_velocity[..dimension]),
    },
    Observable { of: TimeSeries::Density, rank: 0, values: |row, _, out| out.push(row.density) },
    Observable { of: TimeSeries::Enthalpy, rank: 0, values: |row, _, out| out.push(row.enthalpy) },
    Observable {
        of: TimeSeries::BoxEdges,
        rank: 1,
        values: |row, dimension, out| out.extend(&row.edges[..dimension]),
    },
    Observable {
        of: TimeSeries::ShearStrain,
        rank: 0,
        values: |row, _, out| out.push(row.shear_strain),
    },
    Observable {
        of: TimeSeries::ShearStress,
        rank: 0,
        values: |row, _, out| out.push(row.stress[0][1]),
    },
];

/// Those that a stage has.
fn observables(of: BoxOf) -> impl Iterator<Item = &'static Observable> {
    OBSERVABLES.iter().filter(move |observable| match observable.of {
        TimeSeries::Density | TimeSeries::BoxEdges => !of.has_constant_edges(),
        TimeSeries::ShearStrain | TimeSeries::ShearStress => of == BoxOf::Sheared,
        TimeSeries::Enthalpy => of == BoxOf::Barostat,
        _ => true,
    })
}

fn path(name: &str, dataset: &str) -> String {
    format!("observables/{name}/{dataset}")
}

/// The path of `step` or `time` of all series.
pub(super) fn shared(dataset: &str) -> String {
    path(OBSERVABLES[0].of.group_name(), dataset)
}

/// One dataset with the values of all rows, or several of many systems.
fn rows<'a>(observable: &Observable, dimension: usize, systems: Option<&'a Systems>) -> Rows<'a> {
    let path = format!("observables/{}", observable.of.group_name());
    Rows { path, row: vec![dimension; observable.rank], shared: ["step", "time"], systems }
}

/// Empty time series; `step` and `time` of all are the same two datasets.
pub(super) fn create(
    file: &File,
    observables: &Group,
    (of, dimension): (BoxOf, usize),
    systems: Option<&Systems>,
) -> Result<()> {
    for observable in self::observables(of) {
        let group = observables.create_group(observable.of.group_name())?;
        if observable.of == OBSERVABLES[0].of {
            create_rows::<i64>(&group, "step", &[], vec![CHUNK_ROWS], false)?;
            let time = create_rows::<f64>(&group, "time", &[], vec![CHUNK_ROWS], false)?;
            string_attribute(&time, "unit", "tau")?;
        } else {
            for shared in ["step", "time"] {
                let target = format!("/{}", path(OBSERVABLES[0].of.group_name(), shared));
                file.link_hard(&target, &path(observable.of.group_name(), shared))?;
            }
        }
        let unit = observable.of.descriptor().unit.text(dimension);
        rows(observable, dimension, systems).create(file, unit)?;
    }
    Ok(())
}

/// Says by how many degrees of freedom twice the kinetic energy of the system is divided in temperatures.
pub(super) fn describe_temperatures(file: &File, degrees_of_freedom: Option<u64>) -> Result<()> {
    let Some(degrees_of_freedom) = degrees_of_freedom else { return Ok(()) };
    for of in [TimeSeries::Temperature, TimeSeries::HalfStepTemperature] {
        let group = file.group(&format!("observables/{}", of.group_name()))?;
        number_attribute(&group, "degrees_of_freedom", degrees_of_freedom)?;
    }
    Ok(())
}

/// Bytes by which the file grows at most when `rows` rows are written.
pub(super) fn growth(rows: usize, systems: Option<&Systems>) -> u64 {
    // Twelve numbers, two vectors, a matrix of each system.
    const NUMBERS: usize = 12 + 2 * 3 + 9;
    let row_bytes = 8 * (2 + NUMBERS * numbers_of_each(systems));
    (row_bytes * (rows + CHUNK_ROWS).next_multiple_of(CHUNK_ROWS)) as u64
}

/// Writes rows from row `start` on, one of each system at each step.
pub(super) fn write(
    file: &File,
    (of, dimension): (BoxOf, usize),
    start: usize,
    of_systems: &[ThermodynamicsRow],
    systems: Option<&Systems>,
) -> Result<()> {
    for observable in observables(of) {
        let mut values = Vec::new();
        of_systems.iter().for_each(|row| (observable.values)(row, dimension, &mut values));
        rows(observable, dimension, systems).write(file, start, &values)?;
    }
    let steps = || of_systems.iter().step_by(systems.map_or(1, Systems::count));
    let times: Vec<f64> = steps().map(|row| row.time).collect();
    let steps: Vec<i64> = steps().map(|row| row.step as i64).collect();
    write_rows(file, &path(OBSERVABLES[0].of.group_name(), "time"), start, &times)?;
    write_rows(file, &path(OBSERVABLES[0].of.group_name(), "step"), start, &steps)
}

/// A series that the file does not have: it is of an earlier version.
pub(super) fn missing(file: &File, of: BoxOf) -> Option<&'static str> {
    let mut names = observables(of).map(|observable| observable.of.group_name());
    names.find(|name| !file.link_exists(&path(name, "value")))
}

/// Complete rows in the file.
pub(super) fn row_count(file: &File) -> Result<u64> {
    super::h5md::row_count(file, &path(OBSERVABLES[0].of.group_name(), "step"))
}

/// Forgets all rows from `rows` on.
pub(super) fn truncate(
    file: &File,
    (of, dimension): (BoxOf, usize),
    count: usize,
    systems: Option<&Systems>,
) -> Result<()> {
    truncate_rows(file, &path(OBSERVABLES[0].of.group_name(), "step"), count)?;
    truncate_rows(file, &path(OBSERVABLES[0].of.group_name(), "time"), count)?;
    let cut = |observable| rows(observable, dimension, systems).truncate(file, count);
    observables(of).try_for_each(cut)
}
