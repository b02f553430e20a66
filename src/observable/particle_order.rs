//! The order of particles where samples of them lie, and how inner loops go through it.
use std::ops::Range;
use std::sync::Arc;

use super::{ObservableError, SampleContext};

/// Particles of a chunk: the fixed unit of work and of partial sums.
pub(super) const CHUNK: usize = 256;

/// Particles that one inner loop handles at once.
pub const LANES: usize = 64;

/// Order of particles in samples: by species, and within a species by id or as the context has them.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleOrder {
    /// Id of the particle at each place.
    ids: Vec<u32>,
    /// Places of every species.
    ranges: Vec<Range<usize>>,
}

impl ParticleOrder {
    /// # Errors
    /// If the numbers of particles in `species_of` are not those of `species`.
    pub fn new(context: &SampleContext) -> Result<Self, ObservableError> {
        let mut ids = Vec::with_capacity(context.species_of.len());
        let mut ranges = Vec::new();
        let by_id = || (0..context.species_of.len() as u32).collect();
        let all: Arc<[u32]> = context.order.clone().unwrap_or_else(by_id);
        for (index, species) in context.species.iter().enumerate() {
            let start = ids.len();
            let is_of = |id: &u32| usize::from(context.species_of[*id as usize]) == index;
            ids.extend(all.iter().copied().filter(is_of));
            let found = ids.len() - start;
            if found != species.count {
                return Err(ObservableError::SpeciesMismatch {
                    species: species.name.clone(),
                    expected: species.count,
                    found,
                });
            }
            ranges.push(start..ids.len());
        }
        Ok(ParticleOrder { ids, ranges })
    }

    /// Whether engines leave samples in this order: that of the context, or of ids.
    pub fn is_of_engines(&self, context: &SampleContext) -> bool {
        match &context.order {
            Some(order) => **order == self.ids[..],
            None => self.ids.is_sorted(),
        }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn count(&self, species: usize) -> usize {
        self.ranges[species].len()
    }

    pub fn species_count(&self) -> usize {
        self.ranges.len()
    }

    /// Places of the particles of a species.
    pub fn places(&self, species: usize) -> Range<usize> {
        self.ranges[species].clone()
    }

    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Chunks of at most `size` particles of one species, as (species, places).
    pub(super) fn chunks(&self, size: usize) -> Vec<(usize, Range<usize>)> {
        let of_species = |(species, range): (usize, &Range<usize>)| {
            let range = range.clone();
            let end = range.end;
            range.step_by(size).map(move |start| (species, start..end.min(start + size)))
        };
        self.ranges.iter().enumerate().flat_map(of_species).collect()
    }
}
