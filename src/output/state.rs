//! The exact state of a run in a checkpoint and back.
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, OutputError};
use crate::engine::{ExactState, MemoryLayout};
use crate::integrator::ThermostatState;
use crate::plan::Precision;
use crate::system::SimulationBox;

/// Small numbers of a state.
#[derive(Serialize, Deserialize)]
struct Header {
    precision: Precision,
    simulation_box: SimulationBox,
    timestep: f64,
    step: u64,
    thermostat: ThermostatState,
    skin: Option<f64>,
    threads_per_particle: Option<u32>,
    rebuilds: u64,
    /// Steps of the last of them and of that before; versions that did not need them had none.
    #[serde(default)]
    made_in: [u64; 2],
    /// Of the box when neighbor lists were made; those of older versions had none.
    #[serde(default)]
    tilt_of_lists: f64,
}

/// Puts an exact state into a checkpoint.
///
/// # Errors
/// As [`Checkpoint::put_json`].
pub fn put_state(checkpoint: &mut Checkpoint, state: &ExactState) -> Result<(), OutputError> {
    checkpoint.put_json(
        "state",
        &Header {
            precision: state.precision,
            simulation_box: state.simulation_box,
            timestep: state.timestep,
            step: state.step,
            thermostat: state.thermostat.clone(),
            skin: state.memory.as_ref().map(|memory| memory.skin),
            threads_per_particle: state
                .memory
                .as_ref()
                .and_then(|memory| memory.threads_per_particle),
            rebuilds: state.memory.as_ref().map_or(0, |memory| memory.rebuilds),
            made_in: state.memory.as_ref().map_or([0; 2], |memory| memory.made_in),
            tilt_of_lists: state.memory.as_ref().map_or(0.0, |memory| memory.tilt),
        },
    )?;
    checkpoint.put_u8("species", &state.species_of);
    if !state.diameter.is_empty() {
        checkpoint.put_f64("diameter", &state.diameter);
    }
    checkpoint.put_u64("position", state.position.as_flattened());
    checkpoint.put_i32("image", state.image.as_flattened());
    checkpoint.put_u64("velocity", state.velocity.as_flattened());
    if let Some(memory) = &state.memory {
        let order: Vec<i32> = memory.order.iter().map(|&id| id as i32).collect();
        checkpoint.put_i32("order", &order);
        checkpoint.put_u64("reference", memory.reference.as_flattened());
    }
    Ok(())
}

/// The exact state that a checkpoint holds; `path` is its file, which errors name.
///
/// # Errors
/// If a part of it is missing or does not fit the others.
pub fn state_from_checkpoint(
    checkpoint: &Checkpoint,
    path: &Path,
) -> Result<ExactState, OutputError> {
    let header: Header = checkpoint.get_json("state")?;
    let species_of = checkpoint.get_u8("species")?;
    let count = species_of.len();
    let wrong = |reason: &str| OutputError::CheckpointUnfit {
        path: path.to_owned(),
        reason: reason.into(),
    };
    let triples = |values: Vec<u64>, what: &str| -> Result<Vec<[u64; 3]>, OutputError> {
        let (triples, rest) = values.as_chunks::<3>();
        if triples.len() != count || !rest.is_empty() {
            return Err(wrong(what));
        }
        Ok(triples.to_vec())
    };
    let position = triples(checkpoint.get_u64("position")?, "wrong number of positions")?;
    let velocity = triples(checkpoint.get_u64("velocity")?, "wrong number of velocities")?;
    let images = checkpoint.get_i32("image")?;
    let (image, rest) = images.as_chunks::<3>();
    if image.len() != count || !rest.is_empty() {
        return Err(wrong("wrong number of images"));
    }
    let diameter = match checkpoint.contains("diameter") {
        true => checkpoint.get_f64("diameter")?,
        false => Vec::new(),
    };
    if !diameter.is_empty() && diameter.len() != count {
        return Err(wrong("wrong number of diameters"));
    }
    let memory = match header.skin {
        None => None,
        Some(skin) => {
            let order: Vec<u32> =
                checkpoint.get_i32("order")?.into_iter().map(|id| id as u32).collect();
            let mut seen = vec![false; count];
            for &id in &order {
                match seen.get_mut(id as usize) {
                    Some(seen) if !*seen => *seen = true,
                    _ => return Err(wrong("the order in memory is no permutation")),
                }
            }
            let reference =
                triples(checkpoint.get_u64("reference")?, "wrong number of reference positions")?;
            if order.len() != count {
                return Err(wrong("the order in memory is no permutation"));
            }
            let threads_per_particle = header.threads_per_particle;
            if threads_per_particle
                .is_some_and(|threads| !threads.is_power_of_two() || threads > 32)
            {
                return Err(wrong("the threads per particle are no power of two up to 32"));
            }
            let (rebuilds, made_in) = (header.rebuilds, header.made_in);
            let tilt = header.tilt_of_lists;
            Some(MemoryLayout {
                order,
                reference,
                skin,
                threads_per_particle,
                rebuilds,
                made_in,
                tilt,
            })
        }
    };
    Ok(ExactState {
        precision: header.precision,
        simulation_box: header.simulation_box,
        timestep: header.timestep,
        step: header.step,
        species_of,
        diameter: diameter.into(),
        position,
        image: image.to_vec(),
        velocity,
        thermostat: header.thermostat,
        memory,
    })
}
