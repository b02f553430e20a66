//! The neighbor lists of all chunks: how far they reach, and how long they are good.
use rayon::prelude::*;

use super::chunk::CHUNK;
use super::gather::DIAMETER;
use super::instruction_set::InstructionSet;
use super::kernels::build_list;
use super::neighbors::{ListOf, Reach, SortedParticles};
use super::state::State;
use crate::arithmetic::Real;
use crate::engine::cells::CellGrid;
use crate::engine::precision::Policy;
use crate::engine::{MemoryLayout, skin};
use crate::plan::Plan;
use crate::potential::{Mixing, PairParameters};
use crate::system::SimulationBox;

/// Ids and species of ghosts, whose sites lie after those of the particles.
pub type Ghosts<'a> = (&'a [u32], &'a [u8]);

/// What lists are made by; they lie in the chunks.
pub struct NeighborLists<P: Policy> {
    grid: CellGrid,
    skin: f64,
    reach: Reach<P::Real>,
    limit2: P::Real,
    sort_interval: u64,
    rebuilds: u64,
}

impl<P: Policy> NeighborLists<P> {
    /// For a part of the box with these bounds as fractions of the edges.
    pub fn new(
        plan: &Plan,
        simulation_box: &SimulationBox,
        skin: f64,
        bounds: [[f64; 2]; 3],
    ) -> Self {
        let diameters = plan.potential.diameters;
        let longest = diameters.map_or(1.0, |of| of.longest());
        let square =
            |pair: &PairParameters| P::Real::from_f64((pair.cutoff * longest + skin).powi(2));
        let unit_cutoff = P::Real::from_f64(plan.potential.pairs[0][0].cutoff);
        let reach = Reach {
            squares: plan
                .potential
                .pairs
                .iter()
                .map(|row| row.iter().map(square).collect())
                .collect(),
            of_diameters: diameters.map(|of| (Mixing::new(&of), unit_cutoff)),
            skin: P::Real::from_f64(skin),
        };
        let particles = plan.system.particle_count();
        NeighborLists {
            grid: CellGrid::new(simulation_box, plan.reach(skin), particles, bounds),
            skin,
            reach,
            limit2: P::Real::from_f64((skin::SHARE * skin).powi(2)),
            sort_interval: u64::from(plan.run.sort_interval.max(1)),
            rebuilds: 0,
        }
    }

    /// Cells that are at least as wide as the farthest reach.
    pub fn grid(&self) -> &CellGrid {
        &self.grid
    }

    pub fn skin(&self) -> f64 {
        self.skin
    }

    /// Lists are good while nobody has moved further than this (squared).
    pub fn limit2(&self) -> P::Real {
        self.limit2
    }

    /// Rebuildings after which particles are sorted in memory.
    pub fn sort_interval(&self) -> u64 {
        self.sort_interval
    }

    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// Takes a number of rebuildings as those so far: it says when particles are sorted next.
    pub fn set_rebuilds(&mut self, rebuilds: u64) {
        self.rebuilds = rebuilds;
    }

    /// Counts a rebuilding; returns whether particles are to be sorted in memory before it.
    pub fn begin_rebuild(&mut self) -> bool {
        let sorts = self.rebuilds.is_multiple_of(self.sort_interval);
        self.rebuilds += 1;
        sorts
    }

    /// Sorts particles in memory where it is due, and builds the lists anew.
    pub fn rebuild(&mut self, set: InstructionSet, state: &mut State<P>, ghosts: Ghosts) {
        let mut sorted = self.sorted(state, ghosts);
        if self.begin_rebuild() {
            let old = std::mem::take(&mut state.chunks);
            state.gather(&sorted.place, &old);
            for (place, source) in sorted.place.iter_mut().enumerate() {
                *source = place as u32;
            }
        }
        self.build(set, state, ghosts, &sorted);
    }

    /// The lists of a checkpoint: made from the positions at their last building.
    pub fn restore(
        &mut self,
        set: InstructionSet,
        state: &mut State<P>,
        ghosts: Ghosts,
        memory: &MemoryLayout,
    ) {
        let present = state.sites.clone();
        for (site, &[x, y, z]) in state.sites.iter_mut().zip(&memory.reference) {
            let [x, y, z] = [x, y, z].map(P::site_from_bits);
            *site = [x, y, z, site[DIAMETER]];
        }
        let sorted = self.sorted(state, ghosts);
        self.build(set, state, ghosts, &sorted);
        state.sites = present;
        self.rebuilds = memory.rebuilds;
    }

    /// Particles and ghosts.
    pub fn sorted(&self, state: &State<P>, ghosts: Ghosts) -> SortedParticles<P> {
        let (ghost_ids, ghost_species) = ghosts;
        let species = state.chunks.iter().flat_map(|chunk| chunk.species.iter().copied());
        let ids = state.chunks.iter().flat_map(|chunk| chunk.id.iter().copied());
        SortedParticles::new(
            state.policy(),
            &self.grid,
            &state.sites,
            species.chain(ghost_species.iter().copied()),
            ids.chain(ghost_ids.iter().copied()),
            state.species().len(),
        )
    }

    /// Builds the lists from the present sites, which are kept as their reference.
    pub fn build(
        &self,
        set: InstructionSet,
        state: &mut State<P>,
        ghosts: Ghosts,
        sorted: &SortedParticles<P>,
    ) {
        keep_reference(state);
        let (own, has_ghosts) = (state.count() as u32, !ghosts.0.is_empty());
        let (policy, chunks, sites) = state.split();
        let sites = &*sites;
        chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
            let of = ListOf { first: index * CHUNK, species: &chunk.species, sites };
            let (grid, reach) = (&self.grid, &self.reach);
            build_list(set, &mut chunk.neighbors, &of, policy, grid, sorted, reach);
            chunk.interior = !has_ghosts || chunk.neighbors.is_below(own);
        });
    }
}

/// Takes the present sites as those that the lists are made from.
fn keep_reference<P: Policy>(state: &mut State<P>) {
    for (chunk, sites) in state.chunks.iter_mut().zip(state.sites.chunks(CHUNK)) {
        for i in 0..chunk.len() {
            for axis in 0..3 {
                chunk.reference[axis][i] = sites[i][axis];
            }
        }
    }
}
