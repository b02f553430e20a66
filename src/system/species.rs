use serde::{Deserialize, Serialize};

/// Particles of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Species {
    pub name: String,
    pub count: usize,
    pub mass: f64,
}

/// Species index of every particle in id order: ids 0, 1, ... belong to the first species, the next
/// ones to the second, and so on.
pub fn species_of_particles(species: &[Species]) -> Vec<u8> {
    species
        .iter()
        .enumerate()
        .flat_map(|(index, species)| std::iter::repeat_n(index as u8, species.count))
        .collect()
}
