//! Particles that change domains: those whose lists are made around a site in another one.
//!
//! Each rank finds out for its own particles where they are expected, and that site goes with a particle that leaves: it belongs to the
//! domain of that site, and all ranks agree. The place where it is may be in another domain.
use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::engine::CpuEngine;
use super::expected_sites::Outlook;
use super::stepper::MultiRank;
use crate::engine::EngineError;
use crate::engine::domain::Part;
use crate::engine::precision::Policy;

/// Particles on their way, and the bits of the sites that their lists are made around.
#[derive(Clone, Debug, Default, PartialEq)]
struct Migrants {
    part: Part,
    reference: Vec<[u64; 3]>,
}

/// Bytes of the site of a particle.
const SITE_BYTES: usize = 3 * size_of::<u64>();

impl Migrants {
    /// Adds a particle of a chunk.
    fn take<P: Policy>(&mut self, chunk: &Chunk<P>, i: usize) {
        chunk.copy_to(i, &mut self.part);
        self.reference.push(chunk.reference_of(i).map(P::site_to_bits));
    }

    /// In their order.
    fn chunks<P: Policy>(&self) -> Vec<Chunk<P>> {
        let mut chunks = Chunk::all_of(&self.part);
        for (chunk, sites) in chunks.iter_mut().zip(self.reference.chunks(CHUNK)) {
            for (i, site) in sites.iter().enumerate() {
                for (axis, &bits) in site.iter().enumerate() {
                    chunk.reference[axis][i] = P::site_from_bits(bits);
                }
            }
        }
        chunks
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.part.to_bytes();
        self.reference.as_flattened().iter().for_each(|bits| bytes.extend(bits.to_le_bytes()));
        bytes
    }

    /// # Panics
    /// Unless the bytes are those of migrants.
    fn from_bytes(bytes: &[u8]) -> Self {
        let each = Part::BYTES + SITE_BYTES;
        assert_eq!(bytes.len() % each, 0, "particles on their way");
        let (part, sites) = bytes.split_at(bytes.len() / each * Part::BYTES);
        let bits: Vec<u64> =
            sites.as_chunks::<8>().0.iter().map(|&bits| u64::from_le_bytes(bits)).collect();
        Migrants { part: Part::from_bytes(part), reference: bits.as_chunks::<3>().0.to_vec() }
    }
}

impl<P: Policy> CpuEngine<P, MultiRank> {
    /// Takes the sites at which the particles here are expected as those that their lists will be made around, and hands over
    /// particles of which they are in other domains; takes those that come. Ghosts are given up.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn migrate(&mut self, outlook: Outlook) -> Result<(), EngineError> {
        let own = self.state.count();
        self.state.sites.truncate(own);
        let around = self.neighbor_lists.around(&self.state, outlook);
        self.state.keep_reference(&around);
        let domain = &mut self.stepper.domain;
        domain.ghost_id.clear();
        domain.ghost_species.clear();
        let rank = domain.rank();
        let mut owner = self.owners();
        let domain = &mut self.stepper.domain;
        let here = owner.iter().map(|&owner| domain.grid().hops(rank, owner)).max();
        let rounds = domain.largest_unless_fault(here.unwrap_or(0))?;
        for round in 0..rounds {
            if round > 0 {
                owner = self.owners();
            }
            self.hand_over(&owner);
        }
        Ok(())
    }

    /// Hands particles to the neighbors on the way to their ranks, and takes theirs.
    fn hand_over(&mut self, owner: &[usize]) {
        let domain = &self.stepper.domain;
        let (rank, neighbors) = (domain.rank(), domain.neighbors().collect::<Vec<_>>());
        let mut leaving = vec![Migrants::default(); neighbors.len()];
        let mut places: Vec<u32> = Vec::with_capacity(owner.len());
        for (place, &owner) in owner.iter().enumerate() {
            if owner == rank {
                places.push(place as u32);
                continue;
            }
            let next = domain.grid().towards(rank, owner);
            let to = neighbors.iter().position(|&neighbor| neighbor == next);
            let migrants = &mut leaving[to.expect("the way leads through neighbors")];
            migrants.take(&self.state.chunks[place / CHUNK], place % CHUNK);
        }
        let leaving = leaving.iter().map(Migrants::to_bytes).collect();
        let mut old = std::mem::take(&mut self.state.chunks);
        for bytes in self.stepper.domain.hand_over(leaving) {
            for chunk in Migrants::from_bytes(&bytes).chunks() {
                let first = (old.len() * CHUNK) as u32;
                places.extend(first..first + chunk.len() as u32);
                old.push(chunk);
            }
        }
        self.state.gather(&places, &old);
    }

    /// Ranks that the particles belong to.
    fn owners(&self) -> Vec<usize> {
        let (grid, policy) = (self.stepper.domain.grid(), self.state.policy());
        let of_chunk = |chunk: &Chunk<P>| {
            let owner = |i| grid.owner(policy, chunk.reference_of(i));
            (0..chunk.len()).map(owner).collect::<Vec<_>>()
        };
        self.state.chunks.par_iter().flat_map_iter(of_chunk).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::precision::FixedPoint;

    #[test]
    fn particles_travel_with_the_sites_of_their_lists() {
        let mut chunk = Chunk::<FixedPoint>::with_len(3);
        for i in 0..3 {
            chunk.id[i] = 7 + i as u32;
            chunk.position[1][i] = 1 << (40 + i);
            chunk.reference[2][i] = -5 - i as i32;
        }
        let mut migrants = Migrants::default();
        (0..3).for_each(|i| migrants.take(&chunk, i));
        assert_eq!(Migrants::from_bytes(&migrants.to_bytes()), migrants);
        let [arrived] = &migrants.chunks::<FixedPoint>()[..] else { panic!("one chunk") };
        assert_eq!(arrived.id, chunk.id);
        assert_eq!(arrived.position, chunk.position);
        assert_eq!(arrived.reference, chunk.reference);
        assert_eq!(Migrants::from_bytes(&[]), Migrants::default());
    }
}
