//! The particles that a correlation is averaged over.
use crate::observable::{SampleContext, species_pairs};

/// What a function of time is averaged over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The particles of a species.
    Species(usize),
    /// Two species, which may be one.
    Pair(usize, usize),
    /// All particles.
    All,
}

impl Part {
    /// Group in the file for all particles. No species can have this name.
    pub const ALL_PARTICLES: &str = "all-particles";

    pub fn name(self, context: &SampleContext) -> String {
        match self {
            Part::Species(index) => context.species[index].name.clone(),
            // With a hyphen, which no name of a species has.
            Part::Pair(a, b) => {
                format!("{}-{}", context.species[a].name, context.species[b].name)
            }
            Part::All => Part::ALL_PARTICLES.to_owned(),
        }
    }

    /// Number of particles.
    pub fn particles(self, context: &SampleContext) -> usize {
        match self {
            Part::Species(index) => context.species[index].count,
            Part::Pair(a, b) if a == b => context.species[a].count,
            Part::Pair(a, b) => context.species[a].count + context.species[b].count,
            Part::All => context.species_of.len(),
        }
    }

    /// The `listed` species and, where these are all of several, all particles together.
    pub fn species_and_sum(species: usize, listed: &[usize]) -> Vec<Part> {
        let is_complete = species > 1 && (0..species).all(|index| listed.contains(&index));
        let all = is_complete.then_some(Part::All);
        Self::of_species(species, listed).chain(all).collect()
    }

    /// The `listed` species, and all particles together.
    pub fn species_and_all(species: usize, listed: &[usize]) -> Vec<Part> {
        Self::of_species(species, listed).chain([Part::All]).collect()
    }

    /// Every unordered pair of the `listed` species, and all particles together.
    pub fn pairs_and_all(species: usize, listed: &[usize]) -> Vec<Part> {
        let pairs = species_pairs(species).into_iter().filter_map(|(a, b)| {
            (listed.contains(&a) && listed.contains(&b)).then_some(Part::Pair(a, b))
        });
        pairs.chain([Part::All]).collect()
    }

    /// All particles together, whatever is listed.
    pub fn all_particles(_species: usize, _listed: &[usize]) -> Vec<Part> {
        vec![Part::All]
    }

    fn of_species(species: usize, listed: &[usize]) -> impl Iterator<Item = Part> {
        (0..species).filter(|index| listed.contains(index)).map(Part::Species)
    }
}
