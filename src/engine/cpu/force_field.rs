//! A pass over the chunks that sums the forces on their particles.
use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::forces::Targets;
use super::gather::Sites;
use super::instruction_set::InstructionSet;
use super::kernels::{self, PairKernels};
use crate::engine::precision::Policy;

/// What a pass needs beside particles and sites.
pub struct ForcePass<'a, P: Policy> {
    pub policy: &'a P,
    pub pairs: &'a dyn PairKernels<P>,
    pub set: InstructionSet,
    pub dimension: usize,
    /// Followed by `v += F dt/2m`.
    pub kick: bool,
}

impl<P: Policy> ForcePass<'_, P> {
    /// Forces of all particles in the chunks that are `wanted`; returns whether a pair was too close for its force to fit.
    pub fn over(
        &self,
        chunks: &mut [Chunk<P>],
        sites: &Sites<P>,
        wanted: &(dyn Fn(&Chunk<P>) -> bool + Sync),
    ) -> bool {
        chunks
            .par_iter_mut()
            .enumerate()
            .filter(|(_, chunk)| wanted(chunk))
            .map(|(index, chunk)| {
                let targets = Targets {
                    first: index * CHUNK,
                    species: &chunk.species,
                    neighbors: &chunk.neighbors,
                    sites,
                };
                let too_close = self.pairs.forces(self.policy, &targets, &mut chunk.force);
                if self.kick {
                    kernels::half_kick(self.set, self.policy, chunk, self.dimension);
                }
                too_close
            })
            .reduce(|| false, |a, b| a | b)
    }
}
