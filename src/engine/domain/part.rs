use crate::engine::ExactState;

/// Some of the particles of a system, to the bit (see [`ExactState`]), in any order: what ranks hand to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    pub id: Vec<u32>,
    pub species: Vec<u8>,
    pub position: Vec<[u64; 3]>,
    pub image: Vec<[i32; 3]>,
    pub velocity: Vec<[u64; 3]>,
}

impl Part {
    /// Of a particle in [`to_bytes`](Self::to_bytes).
    pub const BYTES: usize = 4 + 1 + 24 + 12 + 24;

    /// Particles in it.
    pub fn count(&self) -> usize {
        self.id.len()
    }

    /// Particles of a state.
    pub fn of_state(state: &ExactState, ids: &[u32]) -> Self {
        let mut part = Part::default();
        for &id in ids {
            let at = id as usize;
            part.push(
                id,
                state.species_of[at],
                state.position[at],
                state.image[at],
                state.velocity[at],
            );
        }
        part
    }

    pub fn push(
        &mut self,
        id: u32,
        species: u8,
        position: [u64; 3],
        image: [i32; 3],
        velocity: [u64; 3],
    ) {
        self.id.push(id);
        self.species.push(species);
        self.position.push(position);
        self.image.push(image);
        self.velocity.push(velocity);
    }

    /// Puts the particles to their ids in a state.
    ///
    /// # Panics
    /// If the state has no place for an id.
    pub fn write_to(&self, state: &mut ExactState) {
        for (i, &id) in self.id.iter().enumerate() {
            let at = id as usize;
            state.species_of[at] = self.species[i];
            state.position[at] = self.position[i];
            state.image[at] = self.image[i];
            state.velocity[at] = self.velocity[i];
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::BYTES * self.count());
        self.id.iter().for_each(|id| bytes.extend(id.to_le_bytes()));
        bytes.extend(&self.species);
        for triples in [&self.position, &self.velocity] {
            triples.as_flattened().iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        self.image.as_flattened().iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes
    }

    /// # Panics
    /// Unless the bytes are those of a part.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len() % Self::BYTES, 0, "particles of a rank");
        let count = bytes.len() / Self::BYTES;
        let (id, rest) = bytes.split_at(4 * count);
        let (species, rest) = rest.split_at(count);
        let (position, rest) = rest.split_at(24 * count);
        let (velocity, image) = rest.split_at(24 * count);
        let wide = |bytes: &[u8]| -> Vec<[u64; 3]> {
            let values: Vec<u64> =
                bytes.as_chunks::<8>().0.iter().map(|&value| u64::from_le_bytes(value)).collect();
            values.as_chunks::<3>().0.to_vec()
        };
        let image: Vec<i32> =
            image.as_chunks::<4>().0.iter().map(|&value| i32::from_le_bytes(value)).collect();
        Part {
            id: id.as_chunks::<4>().0.iter().map(|&value| u32::from_le_bytes(value)).collect(),
            species: species.to_vec(),
            position: wide(position),
            image: image.as_chunks::<3>().0.to_vec(),
            velocity: wide(velocity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn particles_travel_without_loss() {
        let mut part = Part::default();
        for i in 0..3u64 {
            let high = u64::MAX - i;
            part.push(i as u32 + 7, i as u8, [high, i, 1 << 40], [-1, i as i32, 9], [i, high, 5]);
        }
        assert_eq!(Part::from_bytes(&part.to_bytes()), part);
        assert_eq!(Part::from_bytes(&[]), Part::default());
    }
}
