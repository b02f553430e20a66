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

/// For each of the `names` of a file, the number of the species that it stands for, if any: the one of the same name.
///
/// Names that are only numbers stand for the species in their order, unless one of these has such a name, too. They
/// count from 1, as types of LAMMPS do, or from 0 where one of them is 0.
pub fn species_for_names(species: &[Species], names: &[&str]) -> Vec<Option<usize>> {
    let number = |name: &&str| name.parse::<usize>().ok();
    let ours = |name: &&str| species.iter().position(|species| species.name == *name);
    let by_number = is_numbered(species, names);
    let first = usize::from(!names.iter().any(|name| number(name) == Some(0)));
    let index_of = |name: &&str| match by_number {
        true => number(name)?.checked_sub(first).filter(|&index| index < species.len()),
        false => ours(name),
    };
    names.iter().map(index_of).collect()
}

/// Whether the `names` of a file are only numbers that stand for the species in their order.
pub fn is_numbered(species: &[Species], names: &[&str]) -> bool {
    names.iter().all(|name| name.parse::<usize>().is_ok())
        && !species.iter().any(|species| names.contains(&species.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(ours: [&str; 2], names: &[&str]) -> Vec<Option<usize>> {
        let species = ours.map(|name| Species { name: name.into(), count: 1, mass: 1.0 });
        species_for_names(&species, names)
    }

    #[test]
    fn numbers_stand_for_the_species_in_their_order() {
        assert_eq!(mapped(["A", "B"], &["B", "A", "C"]), [Some(1), Some(0), None]);
        assert_eq!(mapped(["A", "B"], &["1", "2", "3"]), [Some(0), Some(1), None]);
        assert_eq!(mapped(["A", "B"], &["2"]), [Some(1)]);
        assert_eq!(mapped(["A", "B"], &["0", "1", "2"]), [Some(0), Some(1), None]);
        // Not where the configuration calls its species so, or a name is a word.
        assert_eq!(mapped(["2", "1"], &["1", "2"]), [Some(1), Some(0)]);
        assert_eq!(mapped(["A", "B"], &["1", "B"]), [None, Some(1)]);
    }
}
