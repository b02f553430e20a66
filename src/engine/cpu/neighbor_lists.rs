//! The neighbor lists of all chunks: how far they reach, and how long they are good.
use rayon::prelude::*;

use super::chunk::CHUNK;
use super::expected_sites::{Outlook, expected_sites};
use super::gather::{DIAMETER, Sites};
use super::instruction_set::InstructionSet;
use super::kernels::build_list;
use super::neighbors::{ListOf, Reach, SortedParticles};
use super::state::State;
use crate::arithmetic::Real;
use crate::engine::cells::CellGrid;
use crate::engine::domain::Start;
use crate::engine::precision::{Policy, Slope};
use crate::engine::{MemoryLayout, skin};
use crate::plan::Plan;
use crate::potential::{Mixing, PairParameters};
use crate::system::SimulationBox;

/// Ids and species of ghosts, whose sites lie after those of the particles.
pub type Ghosts<'a> = (&'a [u32], &'a [u8]);

/// What lists are made by; they lie in the chunks.
pub struct NeighborLists<P: Policy> {
    grid: CellGrid,
    /// Of the part of the box, as fractions of the edges.
    bounds: [[f64; 2]; 3],
    /// Whether the cells are wide enough for any tilt.
    is_wide: bool,
    skin: f64,
    reach: Reach<P::Real>,
    /// Of any pair.
    farthest: f64,
    limit2: P::Real,
    /// In which the cells were made.
    grid_of: SimulationBox,
    particles: usize,
    /// Of the box when lists were made.
    made_at: SimulationBox,
    sort_interval: u64,
    rebuilds: u64,
    /// Steps of the last building and of that before, modulo 2^64: a run that begins with a checkpoint counts its steps anew.
    made_in: [u64; 2],
}

impl<P: Policy> NeighborLists<P> {
    /// For a part of the box with these bounds as fractions of the edges.
    pub fn new(plan: &Plan, start: &Start, skin: f64, bounds: [[f64; 2]; 3]) -> Self {
        let simulation_box = &start.simulation_box;
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
        let (particles, farthest) = (plan.system.particle_count(), plan.reach(skin));
        let is_wide = simulation_box.is_tilted() || plan.shears();
        NeighborLists {
            bounds,
            is_wide,
            grid: match is_wide {
                true => CellGrid::of_tilted_box(simulation_box, farthest, particles, bounds),
                false => CellGrid::new(simulation_box, farthest, particles, bounds),
            },
            skin,
            reach,
            farthest,
            made_at: *simulation_box,
            grid_of: *simulation_box,
            particles,
            limit2: P::Real::from_f64((skin::SHARE * skin).powi(2)),
            sort_interval: u64::from(plan.run.sort_interval.max(1)),
            rebuilds: 0,
            made_in: [start.step; 2],
        }
    }

    /// Takes cells that are wide enough for any tilt; returns whether they are new.
    pub fn widen(&mut self, simulation_box: &SimulationBox, particles: usize) -> bool {
        let was_narrow = !std::mem::replace(&mut self.is_wide, true);
        if was_narrow {
            let (farthest, bounds) = (self.farthest, self.bounds);
            self.grid = CellGrid::of_tilted_box(simulation_box, farthest, particles, bounds);
        }
        was_narrow
    }

    /// The box becomes another one, with all fractions of the edges as they are. Where edges become shorter by the factor `s`, others than
    /// those in the lists are beyond `s R`, with `R` the cutoff and the skin: lists are good for displacements that are smaller.
    pub fn set_box(&mut self, simulation_box: &SimulationBox) {
        let edges = simulation_box.edges().iter().zip(self.made_at.edges());
        let least = edges.map(|(now, then)| now / then).fold(1.0, f64::min);
        let limit = skin::SHARE * (self.skin - (1.0 - least) * self.farthest);
        self.limit2 = P::Real::from_f64(if limit > 0.0 { limit.powi(2) } else { -1.0 });
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

    /// The same of displacements in the sheared frame, where the slope of the box has changed since: they do not count the
    /// affine flow, which brings particles closer, too.
    ///
    /// Lists have all pairs within `R`, the cutoff and the skin. A shear by `g` shortens distances by the factor
    /// `s = sqrt(1 + g^2/4) - |g|/2` at most, so that others are beyond `s R`, less what two particles move against the flow.
    /// That is beyond the cutoff while nobody moves further than half of `skin - (1 - s) R`. Negative: the flow alone is too much.
    pub fn limit2_in_flow(&self, slope: &Slope<P::Real>) -> P::Real {
        let half = 0.5 * ((slope.tilt - self.made_at.tilt()) * slope.aspect).abs();
        let shortening = 1.0 + half - (1.0 + half * half).sqrt();
        let limit = skin::SHARE * (self.skin - shortening * self.farthest);
        P::Real::from_f64(if limit > 0.0 { limit.powi(2) } else { -1.0 })
    }

    /// Share of what the lists allow that is used up when the furthest particle has moved this far (squared), the rest of it by the
    /// flow.
    pub fn share_used(&self, moved2: f64, slope: &Slope<P::Real>) -> f64 {
        let all = self.limit2.to_f64().sqrt();
        let left = self.limit2_in_flow(slope).to_f64().max(0.0).sqrt();
        (moved2.sqrt() + (all - left)) / all
    }

    /// Rebuildings after which particles are sorted in memory.
    pub fn sort_interval(&self) -> u64 {
        self.sort_interval
    }

    /// Tilt of the box when lists were made.
    pub fn tilt(&self) -> f64 {
        self.made_at.tilt()
    }

    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// Takes a number of rebuildings as those so far: it says when particles are sorted next.
    pub fn set_rebuilds(&mut self, rebuilds: u64) {
        self.rebuilds = rebuilds;
    }

    /// Steps of the last building and of that before.
    pub fn made_in(&self) -> [u64; 2] {
        self.made_in
    }

    /// How far lists that are made in a step look ahead, where friction leaves the share `damping` of a velocity in each step.
    pub fn outlook(&self, step: u64, damping: f64) -> Outlook {
        Outlook::after(step.wrapping_sub(self.made_in[0]), damping)
    }

    /// Sites at which particles are expected, no farther from the present ones than lists allow.
    pub fn around(&self, state: &State<P>, outlook: Outlook) -> Sites<P> {
        expected_sites(state, outlook, skin::SHARE * self.skin)
    }

    /// Counts a rebuilding; returns whether particles are to be sorted in memory before it.
    pub fn begin_rebuild(&mut self) -> bool {
        let sorts = self.rebuilds.is_multiple_of(self.sort_interval);
        self.rebuilds += 1;
        sorts
    }

    /// Sorts particles in memory where it is due, and builds the lists anew, around the sites at which particles are expected.
    pub fn rebuild(
        &mut self,
        set: InstructionSet,
        state: &mut State<P>,
        ghosts: Ghosts,
        outlook: Outlook,
    ) {
        self.fit_cells(state.simulation_box());
        let mut around = self.around(state, outlook);
        let mut sorted = self.sorted(state, &around, ghosts);
        if self.begin_rebuild() {
            let old = std::mem::take(&mut state.chunks);
            state.gather(&sorted.place, &old);
            around = sorted.place.iter().map(|&source| around[source as usize]).collect();
            for (place, source) in sorted.place.iter_mut().enumerate() {
                *source = place as u32;
            }
        }
        self.build(set, state, &around, ghosts, &sorted);
    }

    /// Takes cells of a box whose edges have changed.
    pub fn fit_cells(&mut self, simulation_box: &SimulationBox) {
        if self.grid_of.edges() == simulation_box.edges() {
            return;
        }
        let grid = if self.is_wide { CellGrid::of_tilted_box } else { CellGrid::new };
        self.grid = grid(simulation_box, self.farthest, self.particles, self.bounds);
        self.grid_of = *simulation_box;
    }

    /// The lists of a checkpoint: made around the sites of their last building.
    pub fn restore(
        &mut self,
        set: InstructionSet,
        state: &mut State<P>,
        ghosts: Ghosts,
        memory: &MemoryLayout,
    ) {
        let mut around = state.sites.clone();
        for (site, &[x, y, z]) in around.iter_mut().zip(&memory.reference) {
            let [x, y, z] = [x, y, z].map(P::site_from_bits);
            *site = [x, y, z, site[DIAMETER]];
        }
        let tilt = state.policy().slope().tilt;
        state.set_tilt(memory.tilt);
        let sorted = self.sorted(state, &around, ghosts);
        self.build(set, state, &around, ghosts, &sorted);
        state.set_tilt(tilt);
        self.rebuilds = memory.rebuilds;
        self.made_in = memory.made_in;
    }

    /// Particles and ghosts by these sites.
    pub fn sorted(&self, state: &State<P>, sites: &Sites<P>, ghosts: Ghosts) -> SortedParticles<P> {
        let (ghost_ids, ghost_species) = ghosts;
        let species = state.chunks.iter().flat_map(|chunk| chunk.species.iter().copied());
        let ids = state.chunks.iter().flat_map(|chunk| chunk.id.iter().copied());
        SortedParticles::new(
            state.policy(),
            &self.grid,
            sites,
            species.chain(ghost_species.iter().copied()),
            ids.chain(ghost_ids.iter().copied()),
            state.species().len(),
        )
    }

    /// Builds the lists around these sites of particles and ghosts, which are kept as their reference.
    pub fn build(
        &mut self,
        set: InstructionSet,
        state: &mut State<P>,
        sites: &Sites<P>,
        ghosts: Ghosts,
        sorted: &SortedParticles<P>,
    ) {
        state.keep_reference(sites);
        self.made_in = [state.step, self.made_in[0]];
        self.made_at = *state.simulation_box();
        self.set_box(state.simulation_box());
        let (own, has_ghosts) = (state.count() as u32, !ghosts.0.is_empty());
        let (policy, chunks, _) = state.split();
        chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
            let of = ListOf { first: index * CHUNK, species: &chunk.species, sites };
            let (grid, reach) = (&self.grid, &self.reach);
            build_list(set, &mut chunk.neighbors, &of, policy, grid, sorted, reach);
            chunk.interior = !has_ghosts || chunk.neighbors.is_below(own);
        });
    }
}
