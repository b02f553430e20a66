//! Initial states from files: our checkpoints, and trajectories that the analysis crate reads.
use std::path::Path;

use super::InitialError;
use crate::engine::ExactState;
use crate::output::Checkpoint;
use crate::plan::Plan;
use crate::run::state_from_checkpoint;
use crate::system::Snapshot;

/// Largest deviation of a file's box from the plan's, in units of the edge.
const BOX_TOLERANCE: f64 = 1e-6;

/// The snapshot of a file at `step` (its last if `None`), with particles in the order of the plan's
/// species, and whether it has velocities.
pub fn read(plan: &Plan, path: &Path, step: Option<u64>) -> Result<(Snapshot, bool), InitialError> {
    if path.extension().is_some_and(|extension| extension == "scp") {
        let state = read_checkpoint(path)?;
        if let Some(step) = step
            && step != state.step
        {
            return Err(wrong(path, format!("holds step {}, not {step}", state.step)));
        }
        check_box(plan, path, state.simulation_box.edges())?;
        let species: Vec<usize> =
            state.species_of.iter().map(|&species| species as usize).collect();
        let snapshot = state.to_snapshot(&plan.system.species);
        return Ok((in_order_of_species(plan, path, &species, &snapshot)?, true));
    }
    let frame = supercool_analysis::open(path)?.read_step(step)?;
    check_box(plan, path, &frame.box_edges)?;
    let names = &plan.system.species;
    let species = frame
        .species
        .iter()
        .map(|&index| {
            let name = &frame.species_names[index as usize];
            names.iter().position(|species| species.name == *name).ok_or_else(|| {
                let expected: Vec<&str> =
                    names.iter().map(|species| species.name.as_str()).collect();
                wrong(
                    path,
                    format!(
                        "has particles of species \"{name}\"; system.species has {}",
                        expected.join(", ")
                    ),
                )
            })
        })
        .collect::<Result<Vec<usize>, _>>()?;
    let count = frame.position.len();
    let has_velocities = frame.velocity.is_some();
    let snapshot = Snapshot {
        step: 0,
        position: frame.position,
        image: vec![[0; 3]; count],
        velocity: frame.velocity.unwrap_or_else(|| vec![[0.0; 3]; count]),
    };
    Ok((in_order_of_species(plan, path, &species, &snapshot)?, has_velocities))
}

/// A checkpoint's state to the bit, if it fits the plan as it is: then a run starts from the very same
/// numbers.
pub fn exact(
    plan: &Plan,
    path: &Path,
    step: Option<u64>,
) -> Result<Option<ExactState>, InitialError> {
    if path.extension().is_none_or(|extension| extension != "scp") {
        return Ok(None);
    }
    let mut state = read_checkpoint(path)?;
    let fits = step.is_none_or(|step| step == state.step)
        && state.precision == plan.run.precision
        && state.timestep == plan.run.timestep
        && state.simulation_box == plan.system.simulation_box
        && state.species_of == crate::system::species_of_particles(&plan.system.species);
    state.step = 0;
    Ok(fits.then_some(state))
}

fn read_checkpoint(path: &Path) -> Result<ExactState, InitialError> {
    let refused = |error: miette::Report| wrong(path, format!("{error}"));
    let checkpoint = Checkpoint::read(path).map_err(|error| refused(error.into()))?;
    state_from_checkpoint(&checkpoint, path).map_err(refused)
}

fn wrong(path: &Path, reason: String) -> InitialError {
    InitialError::Unfit { path: path.to_owned(), reason }
}

fn check_box(plan: &Plan, path: &Path, found: &[f64]) -> Result<(), InitialError> {
    let expected = plan.system.simulation_box.edges();
    let same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= BOX_TOLERANCE * b);
    if same {
        Ok(())
    } else {
        Err(wrong(path, format!("its box has edges {found:?}, the plan's {expected:?}")))
    }
}

/// Particles sorted by species, which the ids of a run are.
fn in_order_of_species(
    plan: &Plan,
    path: &Path,
    species: &[usize],
    snapshot: &Snapshot,
) -> Result<Snapshot, InitialError> {
    for (index, expected) in plan.system.species.iter().enumerate() {
        let found = species.iter().filter(|&&species| species == index).count();
        if found != expected.count {
            return Err(wrong(
                path,
                format!(
                    "has {found} particles of species \"{}\"; system.species has {}",
                    expected.name, expected.count
                ),
            ));
        }
    }
    let mut order: Vec<usize> = (0..species.len()).collect();
    order.sort_by_key(|&particle| species[particle]);
    Ok(Snapshot {
        step: 0,
        position: order.iter().map(|&i| snapshot.position[i]).collect(),
        image: vec![[0; 3]; order.len()],
        velocity: order.iter().map(|&i| snapshot.velocity[i]).collect(),
    })
}
