//! Memory for each particle that sorting and building of lists need.
use std::sync::Arc;

use super::ListedSystem;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Capacity, MOST_BLOCKS, System};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::particle_buffers::pointers;

/// What sorting and building of lists need for each particle.
pub(super) struct SortBuffers {
    /// Sites that the lists were made around, those of ghosts after those of the particles.
    pub(super) reference: Buffer,
    pub(super) row_ends: Buffer,
    bin_of: Buffer,
    slot_of: Buffer,
    sorted: Buffer,
    coarse_place: Vec<Buffer>,
    block_total: Buffer,
}

impl SortBuffers {
    pub(super) fn new(
        session: &Arc<Session>,
        system: &ListedSystem,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let buffer = |bytes: usize| Buffer::new(session, bytes);
        let (count, sizes) = (capacity.particles, system.element_sizes);
        Ok(SortBuffers {
            reference: buffer(capacity.places() * sizes.site * sizes.site_stride())?,
            row_ends: buffer(count * 4 * system.species)?,
            bin_of: buffer(count * 4)?,
            slot_of: buffer(count * 4)?,
            sorted: buffer(count * 8)?,
            // Read in eights from multiples of four on.
            coarse_place: (0..sizes.dimension())
                .map(|_| buffer((capacity.places() + 8) * 2))
                .collect::<Result<_, _>>()?,
            block_total: buffer(MOST_BLOCKS * 4)?,
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Buffer> {
        self.coarse_place.iter().chain([
            &self.reference,
            &self.row_ends,
            &self.bin_of,
            &self.slot_of,
            &self.sorted,
            &self.block_total,
        ])
    }

    pub(super) fn describe(&self, system: &mut System) {
        system.reference = self.reference.pointer();
        system.row_ends = self.row_ends.pointer();
        system.bin_of = self.bin_of.pointer();
        system.slot_of = self.slot_of.pointer();
        system.sorted = self.sorted.pointer();
        system.coarse_place = pointers(&self.coarse_place);
        system.block_total = self.block_total.pointer();
    }
}
