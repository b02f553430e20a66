//! Cells and room for the neighbor lists.
use std::sync::Arc;

use super::buffers::{ListBuffers, System};
use super::memory::Session;
use crate::arithmetic::Real;
use crate::engine::cells::{NeighborCell, neighbors_of, number_cells};
use crate::engine::precision::Policy;
use crate::engine::{EngineError, skin};
use crate::plan::Plan;
use crate::system::SimulationBox;

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
}

/// Entries that a list of a homogeneous liquid may have: its mean and some more. In a thin fluid the numbers of neighbors
/// scatter more widely than in a dense one: the longest of 10,976,000 lists at packing fraction 0.2 has 116 entries, with a
/// mean of 69.
pub fn expected_capacity(plan: &Plan, simulation_box: &SimulationBox, skin: f64) -> usize {
    let count = plan.system.particle_count() as f64;
    let reach = plan.reach(skin);
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

/// Cells and room of a shape, for lists of at most `particles`; fills in what the kernels must know of them.
pub fn allocate<P: Policy>(
    session: &Arc<Session>,
    plan: &Plan,
    simulation_box: &SimulationBox,
    shape: ListShape,
    particles: usize,
    system: &mut System,
) -> Result<ListBuffers, EngineError> {
    let species = plan.system.species.len();
    let reach = plan.reach(shape.skin);
    let (cells, ranks) =
        number_cells(simulation_box, reach, plan.system.particle_count(), shape.domains);
    let group_log2 = group_log2(particles, species);
    let bins = ranks.len().next_multiple_of(1 << group_log2) * species;
    let mut flat_of = vec![0; ranks.len()];
    for (flat, &rank) in ranks.iter().enumerate() {
        flat_of[rank as usize] = flat as u32;
    }
    let around: Vec<u32> = flat_of
        .iter()
        .flat_map(|&flat| neighbors_of(flat, cells, &ranks))
        .map(rank_and_offset)
        .collect();
    let (rows, words) = size(particles, species, shape);
    // Rounded to the precision of the pair loop, as on the CPU.
    let reach2: Vec<f64> = plan
        .potential
        .pairs
        .iter()
        .flatten()
        .map(|pair| P::Real::from_f64((pair.cutoff + shape.skin).powi(2)).to_f64())
        .collect();
    let buffers = ListBuffers::new(session, words, &ranks, &around, bins, &reach2)?;
    buffers.describe(system);
    system.limit2 = (skin::SHARE * shape.skin).powi(2);
    system.cells = cells;
    describe_cells(simulation_box, system);
    system.bins = bins as u32;
    system.group_log2 = group_log2;
    system.around_count = (around.len() / ranks.len()) as u32;
    system.lanes_log2 = shape.lanes_log2;
    system.rows = rows as u32;
    Ok(buffers)
}

/// log2 of the cells of a group, in which particles are sorted by species first. A block has parts of several
/// groups, so that all have about as many particles of each species. Best values on an H200.
fn group_log2(count: usize, species: usize) -> u32 {
    match count {
        _ if species == 1 => 0,
        0..30_000 => 0,
        30_000..150_000 => 3,
        _ => 5,
    }
}

/// Bits of a cell's rank in `around`; the offset is above.
const RANK_BITS: u32 = 26;

/// A cell around another one as the kernels have it: rank, and above it two bits of the offset for each
/// axis, x lowest.
fn rank_and_offset(cell: NeighborCell) -> u32 {
    assert!(cell.rank < 1 << RANK_BITS, "cells are limited to fit");
    let digits =
        cell.offset.iter().rev().fold(0, |digits, offset| digits << 2 | (offset + 1) as u32);
    digits << RANK_BITS | cell.rank
}

/// What the search with 16-bit floats (`kernels/md/coarse.cuh`) must know: cells are measured by the widest
/// edge of one. With fewer than three cells along an axis an offset has two meanings.
fn describe_cells(simulation_box: &SimulationBox, system: &mut System) {
    let edges = simulation_box.edges();
    let cell_edge: Vec<f64> =
        edges.iter().zip(system.cells).map(|(edge, cells)| edge / f64::from(cells)).collect();
    let widest = cell_edge.iter().copied().fold(0.0, f64::max);
    system.cell_shape = [0.0; 3];
    for (shape, edge) in system.cell_shape.iter_mut().zip(&cell_edge) {
        *shape = (edge / widest) as f32;
    }
    system.inv_cell = (1.0 / widest) as f32;
    system.coarse = system.cells[..edges.len()].iter().all(|&cells| cells >= 3).into();
}

/// Rows of four entries for each lane, and 32-bit words of all lists.
fn size(count: usize, species: usize, shape: ListShape) -> (usize, usize) {
    let lanes = 1 << shape.lanes_log2;
    // Every segment may end with a row that is not full.
    let rows = shape.capacity.div_ceil(4 * lanes) + species - 1;
    let tiles = count.div_ceil(32 / lanes);
    // A row is read ahead.
    (rows, (tiles * rows + 1) * 128)
}

/// Bytes of all lists.
pub fn bytes(count: usize, species: usize, shape: ListShape) -> usize {
    size(count, species, shape).1 * 4
}
