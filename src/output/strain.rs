//! `/strain` of a stage that strains the box.
use hdf5::{File, Result};

use super::h5md::{create_rows, string_attribute, truncate_rows, write_rows};
use super::systems::{Rows, Systems, create_groups, numbers_of_each};
use crate::engine::{StrainEvent, StrainPoint};
use crate::plan::StrainMode;

const ROOT: &str = "strain";
const EVENTS: &str = "strain/events";
/// Rows in a chunk of the file.
const CHUNK_ROWS: usize = 512;

/// What a results file has room for: rows that grow with the steps of strain.
///
/// - `/strain/{step, strain}` `[T]`: step of the run, strain `e`;
/// - `/strain/NAME/value` `[T]`, of `stress_tensor` `[T, D, D]`, with the same `step` and `strain` beside it; of many systems the mean, `error`
///   beside it, and the values of each in `/systems/strain/NAME/value`;
/// - `/strain/events/NAME` `[E]`: plastic events by step and system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrainLayout {
    pub mode: StrainMode,
    pub dimension: usize,
}

/// Numbers of a point.
struct Curve {
    name: &'static str,
    /// In two and in three dimensions.
    unit: [&'static str; 2],
    description: &'static str,
    of: fn(&StrainPoint, StrainLayout) -> Vec<f64>,
}

const OF_STRESS: [&str; 2] = ["epsilon sigma-2", "epsilon sigma-3"];

const CURVES: [Curve; 7] = [
    Curve {
        name: "potential_energy",
        unit: ["epsilon"; 2],
        description: "potential energy per particle of the minimum",
        of: |point, _| vec![point.energy],
    },
    Curve {
        name: "stress",
        unit: OF_STRESS,
        description: "stress s of the strain: along elastic branches dU/de = V s",
        of: |point, of| vec![of.mode.stress(&point.stress, of.dimension)],
    },
    Curve {
        name: "stress_tensor",
        unit: OF_STRESS,
        description: "-sum_pairs r_a F_b / V, without kinetic part: tension is positive",
        of: |point, of| {
            let rows = &point.stress[..of.dimension];
            rows.iter().flat_map(|row| row[..of.dimension].to_vec()).collect()
        },
    },
    Curve {
        name: "pressure",
        unit: OF_STRESS,
        description: "-trace of the stress tensor / D",
        of: |point, _| vec![point.pressure],
    },
    Curve {
        name: "residual_force",
        unit: ["epsilon sigma-1"; 2],
        description: "modulus of the largest force on a particle in the minimum",
        of: |point, _| vec![point.residual_force],
    },
    Curve {
        name: "iterations",
        unit: [""; 2],
        description: "iterations of all descents of the step",
        of: |point, _| vec![point.iterations as f64],
    },
    Curve {
        name: "largest_displacement",
        unit: ["sigma"; 2],
        description: "largest displacement of a particle in a descent of the step, less the mean of all: that of the box is not part of it",
        of: |point, _| vec![point.largest_displacement],
    },
];

/// Numbers of an event.
struct OfEvent {
    name: &'static str,
    unit: [&'static str; 2],
    description: &'static str,
    of: fn(&StrainEvent) -> f64,
}

const OF_EVENTS: [OfEvent; 6] = [
    OfEvent {
        name: "strain_before",
        unit: [""; 2],
        description: "strain before it",
        of: |event| event.strain[0],
    },
    OfEvent {
        name: "strain_after",
        unit: [""; 2],
        description: "strain after it",
        of: |event| event.strain[1],
    },
    OfEvent {
        name: "energy_drop",
        unit: ["epsilon"; 2],
        description: "V s de / N - du: energy per particle by which it comes out below the elastic branch",
        of: |event| event.energy_drop,
    },
    OfEvent {
        name: "stress_drop",
        unit: OF_STRESS,
        description: "s before less s after it, times the sign of the step of strain",
        of: |event| event.stress_drop,
    },
    OfEvent {
        name: "participation_ratio",
        unit: [""; 2],
        description: "(sum d^2)^2 / (N sum d^4) of the non-affine displacements, less their mean",
        of: |event| event.participation_ratio,
    },
    OfEvent {
        name: "largest_displacement",
        unit: ["sigma"; 2],
        description: "largest non-affine displacement, less their mean",
        of: |event| event.largest_displacement,
    },
];
/// The last one of an event that is written: its rows are complete.
const EVENT_STEP: &str = "strain/events/step";
const EVENT_SYSTEM: &str = "strain/events/system";

impl StrainLayout {
    fn rows<'a>(&self, curve: &Curve, systems: Option<&'a Systems>) -> Rows<'a> {
        let row = match curve.name {
            "stress_tensor" => vec![self.dimension; 2],
            _ => Vec::new(),
        };
        Rows { path: format!("{ROOT}/{}", curve.name), row, shared: ["step", "strain"], systems }
    }

    pub(super) fn create(self, file: &File, systems: Option<&Systems>) -> Result<()> {
        let [strain, stress] = self.mode.formulas();
        let root = create_groups(file, ROOT)?;
        string_attribute(
            &root,
            "description",
            &format!("minima of the potential energy; {strain}"),
        )?;
        create_rows::<i64>(&root, "step", &[], vec![CHUNK_ROWS], false)?;
        create_rows::<f64>(&root, "strain", &[], vec![CHUNK_ROWS], false)?;
        for curve in &CURVES {
            let path = format!("{ROOT}/{}", curve.name);
            let group = create_groups(file, &path)?;
            let description = match curve.name {
                "stress" => format!("{stress}: {}", curve.description),
                _ => curve.description.to_owned(),
            };
            string_attribute(&group, "description", &description)?;
            for shared in ["step", "strain"] {
                file.link_hard(&format!("/{ROOT}/{shared}"), &format!("/{path}/{shared}"))?;
            }
            self.rows(curve, systems).create(file, curve.unit[self.dimension - 2])?;
        }
        let events = create_groups(file, EVENTS)?;
        string_attribute(&events, "description", "plastic events")?;
        for name in ["step", "system"] {
            create_rows::<i64>(&events, name, &[], vec![CHUNK_ROWS], false)?;
        }
        for number in &OF_EVENTS {
            let dataset = create_rows::<f64>(&events, number.name, &[], vec![CHUNK_ROWS], false)?;
            string_attribute(&dataset, "description", number.description)?;
            let unit = number.unit[self.dimension - 2];
            if !unit.is_empty() {
                string_attribute(&dataset, "unit", unit)?;
            }
        }
        Ok(())
    }

    /// Bytes by which a file grows at most with these numbers of rows.
    pub(super) fn growth(self, rows: usize, events: usize, systems: Option<&Systems>) -> u64 {
        let whole = |rows: usize| match rows {
            0 => 0,
            rows => (rows + CHUNK_ROWS).next_multiple_of(CHUNK_ROWS),
        };
        let numbers = CURVES.len() - 1 + self.dimension * self.dimension;
        let of_rows = 8 * (2 + numbers * numbers_of_each(systems)) * whole(rows);
        (of_rows + 8 * (2 + OF_EVENTS.len()) * whole(events)) as u64
    }

    /// Writes points from row `start` on, of all systems at each.
    pub(super) fn write(
        self,
        file: &File,
        start: usize,
        points: &[Vec<StrainPoint>],
        systems: Option<&Systems>,
    ) -> Result<()> {
        if points.is_empty() {
            return Ok(());
        }
        for curve in &CURVES {
            let values: Vec<f64> =
                points.iter().flatten().flat_map(|point| (curve.of)(point, self)).collect();
            self.rows(curve, systems).write(file, start, &values)?;
        }
        let strains: Vec<f64> = points.iter().map(|of| of[0].strain).collect();
        let steps: Vec<i64> = points.iter().map(|of| of[0].step as i64).collect();
        write_rows(file, &format!("{ROOT}/strain"), start, &strains)?;
        write_rows(file, &format!("{ROOT}/step"), start, &steps)
    }

    /// The same of events.
    pub(super) fn write_events(
        self,
        file: &File,
        start: usize,
        events: &[StrainEvent],
    ) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        for number in &OF_EVENTS {
            let values: Vec<f64> = events.iter().map(number.of).collect();
            write_rows(file, &format!("{EVENTS}/{}", number.name), start, &values)?;
        }
        let systems: Vec<i64> = events.iter().map(|event| event.system as i64).collect();
        let steps: Vec<i64> = events.iter().map(|event| event.step as i64).collect();
        write_rows(file, EVENT_SYSTEM, start, &systems)?;
        write_rows(file, EVENT_STEP, start, &steps)
    }

    /// Complete rows in the file: points and events.
    pub(super) fn row_counts(self, file: &File) -> Result<[u64; 2]> {
        let count = |path: &str| super::h5md::row_count(file, path);
        Ok([count(&format!("{ROOT}/step"))?, count(EVENT_STEP)?])
    }

    /// Forgets all rows from these numbers of points and events on.
    pub(super) fn truncate(
        self,
        file: &File,
        [points, events]: [usize; 2],
        systems: Option<&Systems>,
    ) -> Result<()> {
        for shared in ["step", "strain"] {
            truncate_rows(file, &format!("{ROOT}/{shared}"), points)?;
        }
        for curve in &CURVES {
            self.rows(curve, systems).truncate(file, points)?;
        }
        for path in [EVENT_STEP, EVENT_SYSTEM] {
            truncate_rows(file, path, events)?;
        }
        let of_events = OF_EVENTS.iter().map(|number| format!("{EVENTS}/{}", number.name));
        of_events.into_iter().try_for_each(|path| truncate_rows(file, &path, events))
    }
}
