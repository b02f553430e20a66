//! Which particles of a file are which of the configuration.
use std::path::Path;

use supercool_analysis::{Frame, TrajectoryReader};

use super::ReplayError;
use crate::plan::StagePlan;
use crate::system::{Species, is_numbered, species_for_names};

/// Largest deviation of a file's masses, in units of the configuration's; text files are rounded.
const MASS_TOLERANCE: f64 = 1e-4;

/// Places in the file's frames of the particles in the order of the plan: species after species.
pub(super) fn order_of(
    species: &[Species],
    frame: &Frame,
    path: &Path,
) -> Result<Vec<usize>, ReplayError> {
    let names: Vec<&str> = frame.species_names.iter().map(String::as_str).collect();
    let stands_for = species_for_names(species, &names);
    let mut order = Vec::with_capacity(frame.particle_count());
    for (index, Species { name, count, .. }) in species.iter().enumerate() {
        let is_of = |particle: &usize| stands_for[frame.species[*particle] as usize] == Some(index);
        let places: Vec<usize> = (0..frame.particle_count()).filter(is_of).collect();
        if places.len() != *count {
            return Err(ReplayError::OtherSpecies {
                path: path.to_owned(),
                found: places.len(),
                species: name.clone(),
                expected: *count,
                names: names.join(", "),
            });
        }
        order.extend(places);
    }
    if order.len() != frame.particle_count() {
        return Err(ReplayError::OtherCount {
            path: path.to_owned(),
            found: frame.particle_count(),
            expected: order.len(),
        });
    }
    Ok(order)
}

/// Says which numbered types were taken for which species.
pub(super) fn note_of_types(species: &[Species], frame: &Frame) -> Option<String> {
    let names: Vec<&str> = frame.species_names.iter().map(String::as_str).collect();
    if !is_numbered(species, &names) {
        return None;
    }
    let stands_for = species_for_names(species, &names);
    let pairs = names.iter().zip(stands_for).filter_map(|(name, index)| {
        let name_of_species = &species[index?].name;
        Some(format!("type {name} is species {name_of_species}"))
    });
    Some(pairs.collect::<Vec<_>>().join(", "))
}

/// The masses of a file, if it has any, must be those of the configuration: with others it is the trajectory of another
/// system, or types are taken for the wrong species.
pub(super) fn check_masses(
    species: &[Species],
    frame: &Frame,
    order: &[usize],
    path: &Path,
) -> Result<(), ReplayError> {
    let Some(masses) = &frame.mass else { return Ok(()) };
    let of_particles =
        species.iter().flat_map(|species| std::iter::repeat_n(species, species.count));
    for (species, &place) in of_particles.zip(order) {
        let (found, Species { name, mass, .. }) = (masses[place], species);
        if (found - mass).abs() > MASS_TOLERANCE * mass {
            return Err(ReplayError::OtherMass {
                path: path.to_owned(),
                species: name.clone(),
                found,
                expected: *mass,
            });
        }
    }
    Ok(())
}

/// Correlations compare a particle with itself in other frames.
pub(super) fn check_ids(
    stage: &StagePlan,
    reader: &dyn TrajectoryReader,
    first: &Frame,
) -> Result<(), ReplayError> {
    if stage.correlations.is_empty() || first.id.is_some() || reader.keeps_order() {
        return Ok(());
    }
    Err(ReplayError::NoIds { path: reader.path().to_owned(), format: reader.format() })
}
