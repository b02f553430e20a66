//! Neighbor lists: their shape, and the displacement and the boxes in which they are good.
mod list_buffers;
mod sort_buffers;

use std::sync::Arc;

use self::list_buffers::ListBuffers;
pub use self::list_buffers::{bytes, size};
use self::sort_buffers::SortBuffers;

use super::buffers::{Capacity, ElementSizes, System};
use super::memory::{Buffer, Session};
use crate::arithmetic::Real;
use crate::engine::cells::{self, count_cells};
use crate::engine::precision::Policy;
use crate::engine::{EngineError, skin};
use crate::plan::Plan;
use crate::system::SimulationBox;

/// Share of the displacement up to which lists are good that is kept for changes of the box by trials of a barostat.
const RESERVE_FOR_TRIALS: f64 = 0.05;
/// Lists are made anew where the box has become so small that they are good for less than this share of it.
const LEAST_SHARE: f64 = 0.75;
/// Under a barostat cells are wider than the reach by this factor when they are made, so that they seldom become too narrow.
const WIDER_CELLS: f64 = 1.02;

/// Edges of a box over those of another one.
fn ratios(from: &SimulationBox, to: &SimulationBox) -> impl Iterator<Item = f64> {
    let edges = from.padded_edges().into_iter().zip(to.padded_edges());
    edges.map(|(from, to)| to / from)
}

/// How the lists are made and walked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListShape {
    /// Width added to every cutoff.
    pub skin: f64,
    /// log2 of the threads that work on one particle.
    pub lanes_log2: u32,
    /// Entries that a list has room for.
    pub capacity: usize,
    /// Domains of the box along each axis, between whose cells borders lie if that is not too wasteful.
    pub domains: [u32; 3],
    /// Particles are sorted by species first, then by cell: for one block, whose warps then have lists of one length each.
    pub by_species: bool,
    /// Cells are wide enough for any tilt of the box.
    pub for_tilts: bool,
    /// Bytes of an entry.
    pub entry_bytes: usize,
}

/// Entries that a list of a homogeneous liquid may have: its mean and some more. In a thin fluid the numbers of neighbors
/// scatter more widely than in a dense one: the longest of 10,976,000 lists at packing fraction 0.2 has 116 entries, with a
/// mean of 69.
pub fn expected_capacity(plan: &Plan, simulation_box: &SimulationBox, skin: f64) -> usize {
    let count = plan.system.particle_count() as f64;
    let reach = plan.reach_of_wide(skin);
    let pi = std::f64::consts::PI;
    let around = match simulation_box.dimension() {
        2 => pi * reach.powi(2),
        _ => 4.0 / 3.0 * pi * reach.powi(3),
    };
    let mean = count / simulation_box.volume() * around;
    let dense = mean + 3.0 * mean.sqrt() + 16.0;
    let thin = (mean + 6.0 * mean.sqrt() + 8.0).min(136.0);
    dense.max(thin) as usize
}

/// What lists are made of.
pub struct ListedSystem {
    pub simulation_box: SimulationBox,
    /// Particles of the whole system, and species.
    pub total: usize,
    pub species: usize,
    pub element_sizes: ElementSizes,
    /// Distance from which on particles of each ordered pair of species do not interact.
    pub cutoffs: Vec<f64>,
    /// With diameters of particles: the cutoff in units of that of a pair, and the diameter with which that of a pair is greatest.
    unit_cutoff: f64,
    widest_partner: f64,
    /// Factor on the width of cells beyond the reach.
    wider_cells: f64,
    /// To the precision of the pair loop, as on the CPU.
    round: fn(f64) -> f64,
}

impl ListedSystem {
    /// Of a plan in a box.
    pub fn new<P: Policy>(plan: &Plan, simulation_box: &SimulationBox, cutoffs: Vec<f64>) -> Self {
        ListedSystem {
            simulation_box: *simulation_box,
            total: plan.system.particle_count(),
            species: plan.system.species.len(),
            element_sizes: ElementSizes::of::<P>(plan),
            cutoffs,
            unit_cutoff: plan.potential.pairs[0][0].cutoff,
            widest_partner: plan.potential.diameters.map_or(0.0, |of| of.widest_partner()),
            wider_cells: 1.0,
            round: |x| P::Real::from_f64(x).to_f64(),
        }
    }

    /// Distance up to which the widest lists reach.
    fn reach(&self, skin: f64) -> f64 {
        self.longest_cutoff() + skin
    }

    /// Least width of the cells along each axis, with a factor on all of them.
    fn reaches_of_cells(&self, shape: ListShape, wider: f64) -> [f64; 3] {
        let reach = self.reach(shape.skin) * wider;
        match shape.for_tilts {
            true => [reach * self.simulation_box.widening_of_cells(), reach, reach],
            false => [reach; 3],
        }
    }

    fn longest_cutoff(&self) -> f64 {
        self.cutoffs.iter().copied().fold(0.0, f64::max)
    }

    /// Displacement up to which lists are good that were built in another box: with edges `s` times as long, two particles without
    /// an entry were at least `s` times the reach apart.
    fn limit_in(&self, skin: f64, built_in: &SimulationBox, present: &SimulationBox) -> f64 {
        let s = ratios(built_in, present).fold(f64::INFINITY, f64::min);
        skin::SHARE * (s * skin - (1.0 - s) * self.longest_cutoff())
    }
}

/// The neighbor lists of the particles on a GPU.
pub struct NeighborList {
    session: Arc<Session>,
    listed: ListedSystem,
    shape: ListShape,
    capacity: Capacity,
    sort_buffers: SortBuffers,
    /// A barostat changes the box.
    under_barostat: bool,
    /// Box and number of the last building, where lists are kept in other boxes.
    built: Option<(SimulationBox, u64)>,
    /// `None` only while others are made, and where there was no room for them.
    lists: Option<ListBuffers>,
}

impl NeighborList {
    /// Room for the lists of at most this many particles.
    ///
    /// # Errors
    /// If the GPU has no room. So in what follows.
    pub fn new(
        session: &Arc<Session>,
        listed: ListedSystem,
        shape: ListShape,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        Ok(NeighborList {
            session: session.clone(),
            sort_buffers: SortBuffers::new(session, &listed, capacity)?,
            lists: Some(ListBuffers::new(session, &listed, shape, capacity.particles)?),
            listed,
            shape,
            capacity,
            under_barostat: false,
            built: None,
        })
    }

    pub fn shape(&self) -> ListShape {
        self.shape
    }

    /// Threads that work on the lists of a number of particles.
    pub fn lanes(&self, particles: usize) -> usize {
        particles << self.shape.lanes_log2
    }

    /// Tiles, the particles of a warp each, that hold a number of particles.
    pub fn tiles(&self, particles: usize) -> usize {
        particles.div_ceil(32 >> self.shape.lanes_log2)
    }

    /// Cells, filled up to whole groups, times species.
    pub fn bins(&self) -> usize {
        self.lists.as_ref().map_or(0, |lists| lists.bins)
    }

    /// Squared displacement of a particle up to which the lists are good.
    pub fn limit2(&self) -> f64 {
        self.limit().powi(2)
    }

    fn limit(&self) -> f64 {
        self.limit_in(&self.listed.simulation_box)
    }

    /// The same in a box that the lists serve in.
    fn limit_in(&self, present: &SimulationBox) -> f64 {
        let whole = skin::SHARE * self.shape.skin;
        if !self.under_barostat && self.built.is_none() {
            return whole;
        }
        let good = self.listed.limit_in(self.shape.skin, self.built_in(), present).min(whole);
        (good - RESERVE_FOR_TRIALS * whole).max(0.0)
    }

    fn built_in(&self) -> &SimulationBox {
        self.built.as_ref().map_or(&self.listed.simulation_box, |(built_in, _)| built_in)
    }

    /// Has a part of the displacement up to which lists are good kept for trials of a barostat, or not any more.
    pub fn set_under_barostat(&mut self, under_barostat: bool) {
        self.under_barostat = under_barostat;
    }

    /// Takes note of the building that was the last, where lists are kept in other boxes.
    pub fn built_last(&mut self, rebuilds: u64) {
        if self.built.is_none_or(|(_, known)| known != rebuilds) {
            self.built = Some((self.listed.simulation_box, rebuilds));
        }
    }

    /// Along each axis.
    pub fn cells(&self) -> [u32; 3] {
        self.lists.as_ref().map_or([0; 3], |lists| lists.cells)
    }

    /// The lists are made anew in the present box; returns whether they were of another one.
    pub fn forget_box(&mut self) -> bool {
        self.built.take().is_some()
    }

    /// Whether the lists hold all pairs in a box of a trial, if no particle has moved further than the present limit.
    pub fn serve_in(&self, simulation_box: &SimulationBox) -> bool {
        let wider = ratios(&self.listed.simulation_box, simulation_box).fold(1.0, f64::max);
        let good = self.listed.limit_in(self.shape.skin, self.built_in(), simulation_box);
        self.limit() * wider <= good
    }

    /// Whether the lists should be made anew, as the box is so much smaller than that of their building.
    pub fn are_of_a_wider_box(&self) -> bool {
        self.are_too_wide_for(&self.listed.simulation_box)
    }

    fn are_too_wide_for(&self, simulation_box: &SimulationBox) -> bool {
        self.limit_in(simulation_box) < LEAST_SHARE * skin::SHARE * self.shape.skin
    }

    /// Whether lists and cells stay as they are, be it in the present box or in that of a trial.
    pub fn stay_in(&self, simulation_box: &SimulationBox) -> bool {
        let lists_stay = self.serve_in(simulation_box) && !self.are_too_wide_for(simulation_box);
        // Widths of cells depend on the present tilt.
        let cells_stay = !self.shape.for_tilts && self.cells_suit(simulation_box);
        lists_stay && cells_stay && !self.are_of_a_wider_box()
    }

    /// Whether the present cells are neither too narrow nor far too wide in a box.
    fn cells_suit(&self, simulation_box: &SimulationBox) -> bool {
        let (cells, shape) = (self.cells(), self.shape);
        let reaches = |wider| self.listed.reaches_of_cells(shape, wider);
        let mut widths = simulation_box.edges().iter().zip(cells).zip(reaches(1.0));
        let wide_enough = widths.all(|((edge, cells), reach)| {
            cells <= 1 || edge / f64::from(cells) >= reach * cells::MARGIN
        });
        let possible = count_cells(simulation_box, reaches(WIDER_CELLS), self.listed.total);
        let mut counts = possible.into_iter().zip(cells);
        wide_enough && counts.all(|(possible, cells)| possible <= cells + cells / 4 + 1)
    }

    /// Takes the box of a trial, with the present lists. Cells are others where they would be too narrow or far too wide, or, if
    /// `as_after_restart`, where an engine that begins in this box has others.
    pub fn set_box_of_trial(
        &mut self,
        simulation_box: SimulationBox,
        as_after_restart: bool,
    ) -> Result<(), EngineError> {
        self.listed.simulation_box = simulation_box;
        if as_after_restart {
            let reaches = self.listed.reaches_of_cells(self.shape, 1.0);
            let possible = count_cells(&simulation_box, reaches, self.listed.total);
            return if possible == self.cells() { Ok(()) } else { self.set_shape(self.shape) };
        }
        if self.cells_suit(&simulation_box) {
            return Ok(());
        }
        self.listed.wider_cells = WIDER_CELLS;
        self.set_shape(self.shape)
    }

    /// Takes a box, or comes back to it, with lists and cells that serve in it as they are.
    pub fn keep_in(&mut self, simulation_box: SimulationBox) {
        self.listed.simulation_box = simulation_box;
    }

    /// Sites that the lists were made around.
    pub fn reference(&self) -> &Buffer {
        &self.sort_buffers.reference
    }

    /// Takes other lists; the next launch must build them.
    pub fn set_shape(&mut self, shape: ListShape) -> Result<(), EngineError> {
        tracing::debug!("neighbor lists: {shape:?}");
        self.shape = shape;
        // The memory of the old ones may be needed.
        self.lists = None;
        self.allocate()
    }

    /// The same for another box; `for_tilts`: one with a tilt, now or later.
    pub fn set_box(
        &mut self,
        simulation_box: SimulationBox,
        for_tilts: bool,
    ) -> Result<(), EngineError> {
        self.listed.simulation_box = simulation_box;
        self.set_shape(ListShape { for_tilts, ..self.shape })
    }

    /// The same with room for lists of `need` entries and some more.
    pub fn lengthen(&mut self, need: usize) -> Result<(), EngineError> {
        self.set_shape(ListShape { capacity: need + need / 8, ..self.shape })
    }

    /// The same for more particles; the sites at the last building stay.
    pub fn grow(&mut self, capacity: Capacity) -> Result<(), EngineError> {
        let buffers = SortBuffers::new(&self.session, &self.listed, capacity)?;
        for (buffer, from) in buffers.all().zip(self.sort_buffers.all()) {
            buffer.take_from(from)?;
        }
        (self.sort_buffers, self.capacity) = (buffers, capacity);
        self.allocate()
    }

    fn allocate(&mut self) -> Result<(), EngineError> {
        let particles = self.capacity.particles;
        let lists = ListBuffers::new(&self.session, &self.listed, self.shape, particles)?;
        self.lists = Some(lists);
        Ok(())
    }

    /// Whether there are lists; not after an error.
    pub fn has_lists(&self) -> bool {
        self.lists.is_some()
    }

    /// Fills in where things lie, and what the kernels must know of them.
    pub fn describe(&self, system: &mut System) {
        self.sort_buffers.describe(system);
        if let Some(lists) = &self.lists {
            lists.describe(&self.listed.simulation_box, self.shape.for_tilts, system);
        }
        system.unit_cutoff = self.listed.unit_cutoff;
        system.skin = self.shape.skin;
        system.widest_partner = self.listed.widest_partner;
        system.limit2 = self.limit2();
        system.limit = self.limit();
        system.limit_of_reach = skin::SHARE * self.listed.reach(self.shape.skin);
        system.lanes_log2 = self.shape.lanes_log2;
    }

    /// Mean length of the lists of this many particles, with what fills up their segments.
    pub fn mean_entries(&self, particles: usize) -> f64 {
        let species = self.listed.species;
        let ends = self.sort_buffers.row_ends.read::<u32>(particles * species).unwrap_or_default();
        let rows: u64 = ends.chunks(species).map(|ends| u64::from(ends[species - 1])).sum();
        ((rows * 4) << self.shape.lanes_log2) as f64 / particles.max(1) as f64
    }
}
