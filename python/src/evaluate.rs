//! Energies, forces, stress and Hessian of particles at given places.
use miette::miette;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use supercool::config;
use supercool::engine::{self, ExactState};
use supercool::observable::hessian::{Hessian, Interactions};
use supercool::plan::Plan;
use supercool::system::{Snapshot, species_of_particles};

use crate::error::raise;
use crate::simulation::numbers;

/// Name of the configuration in messages.
const SOURCE: &str = "evaluate";

/// Of particles in the order of their species.
struct Evaluated {
    energies: Vec<f64>,
    forces: Vec<[f64; 3]>,
    /// Of the particles at rest.
    stress: [[f64; 3]; 3],
    hessian: Option<Hessian>,
}

/// Of particles at `positions` (64-bit floats, particle by particle), in the order of the species of the configuration `text`, with
/// `diameters` where that has `[system.diameters]`, in a box of this `tilt`, a fraction of the edge along x. Arrays are bytes; `hessian` is (starts, columns, blocks) in 64-bit integers and floats.
#[pyfunction]
#[pyo3(signature = (text, positions, hessian, diameters=None, tilt=0.0))]
pub fn evaluate<'py>(
    py: Python<'py>,
    text: &str,
    positions: &[u8],
    hessian: bool,
    diameters: Option<&[u8]>,
    tilt: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let diameter = diameters.map(numbers).unwrap_or_default();
    let (plan, found) = py
        .detach(|| {
            let mut plan = config::parse(text, SOURCE)?;
            plan.system.simulation_box = plan.system.simulation_box.with_tilt(tilt);
            let found = evaluated(&plan, positions, diameter, hessian)?;
            Ok((plan, found))
        })
        .map_err(raise)?;
    let dimension = plan.system.simulation_box.dimension();
    let floats = |rows: &mut dyn Iterator<Item = f64>| {
        PyByteArray::new(py, &rows.flat_map(f64::to_ne_bytes).collect::<Vec<u8>>())
    };
    let rows = |rows: &[[f64; 3]]| {
        floats(&mut rows.iter().flat_map(|row| row[..dimension].iter().copied()))
    };
    let values = PyDict::new(py);
    values.set_item("energies", floats(&mut found.energies.into_iter()))?;
    values.set_item("forces", rows(&found.forces))?;
    values.set_item("stress", rows(&found.stress[..dimension]))?;
    if let Some(Hessian { starts, columns, blocks }) = found.hessian {
        let integers = |numbers: &mut dyn Iterator<Item = i64>| {
            PyByteArray::new(py, &numbers.flat_map(i64::to_ne_bytes).collect::<Vec<u8>>())
        };
        let lines = blocks.iter().flat_map(|block| &block[..dimension]);
        let parts = (
            integers(&mut starts.iter().map(|&start| start as i64)),
            integers(&mut columns.iter().map(|&column| i64::from(column))),
            floats(&mut lines.flat_map(|line| line[..dimension].iter().copied())),
        );
        values.set_item("hessian", parts)?;
    }
    Ok(values)
}

fn evaluated(
    plan: &Plan,
    positions: &[u8],
    diameter: Vec<f64>,
    hessian: bool,
) -> miette::Result<Evaluated> {
    let system = &plan.system;
    let dimension = system.simulation_box.dimension();
    let place = |row: &[u8]| {
        let mut place = [0.0; 3];
        for (component, number) in place.iter_mut().zip(row.chunks_exact(8)) {
            *component = f64::from_ne_bytes(number.try_into().expect("eight bytes"));
        }
        place
    };
    let position: Vec<_> = positions.chunks_exact(8 * dimension).map(place).collect();
    let species_of = species_of_particles(&system.species);
    let count = species_of.len();
    assert_eq!(position.len(), count, "a position for each particle");
    let snapshot = Snapshot {
        step: 0,
        position,
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: vec![[0.0; 3]; count],
        diameter: diameter.into(),
    };
    let state = ExactState::from_snapshot(
        &snapshot,
        species_of.clone(),
        system.simulation_box,
        plan.run.flight(),
        plan.run.precision,
        &system.species,
    )
    .map_err(|particle| miette!("the position of particle {particle} cannot be held"))?;
    // Its sums over the system are rounded to 2^-40: too coarse for what is near a minimum of soft spheres.
    let engine = engine::create(plan, &state)?;
    let interactions = Interactions::new(
        system.simulation_box,
        &plan.potential,
        &species_of,
        &snapshot.position,
        &snapshot.diameter,
    );
    let volume = system.simulation_box.volume();
    Ok(Evaluated {
        energies: interactions.energies(),
        forces: engine.forces()?,
        stress: interactions.virial().map(|row| row.map(|sum| -sum / volume)),
        hessian: match hessian {
            true => Some(interactions.hessian().map_err(|error| miette!("the Hessian: {error}"))?),
            false => None,
        },
    })
}

/// A text of TOML as JSON.
#[pyfunction]
pub fn json_of(text: &str) -> PyResult<String> {
    let table: serde_json::Value =
        toml::from_str(text).map_err(|error| crate::error::Error::new_err(error.to_string()))?;
    Ok(table.to_string())
}
