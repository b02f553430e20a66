//! Lists and the cells that they are made by: what depends on their reach.
use std::sync::Arc;

use super::{ListShape, ListedSystem};
use crate::engine::EngineError;
use crate::engine::cells::{NeighborCell, neighbors_of, number_cells};
use crate::engine::cuda::buffers::System;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::system::SimulationBox;

/// What depends on the reach of the lists.
pub(super) struct ListBuffers {
    list: Buffer,
    cell_rank: Buffer,
    around: Buffer,
    bin_count: Buffer,
    bin_start: Buffer,
    reach2: Buffer,
    pub(super) cells: [u32; 3],
    /// Cells, filled up to whole groups, times species.
    pub(super) bins: usize,
    around_count: usize,
    group_log2: u32,
    rows: usize,
}

impl ListBuffers {
    /// Cells and room of a shape, for lists of at most `particles`.
    pub(super) fn new(
        session: &Arc<Session>,
        system: &ListedSystem,
        shape: ListShape,
        particles: usize,
    ) -> Result<Self, EngineError> {
        let species = system.species;
        let reaches = system.reaches_of_cells(shape, system.wider_cells);
        let (cells, ranks) =
            number_cells(&system.simulation_box, reaches, system.total, shape.domains);
        let group_log2 = match shape.by_species {
            // At least as many as lists have different lengths.
            true => ranks.len().next_power_of_two().max(32).ilog2(),
            false => group_log2(particles, species),
        };
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
        let (rows, entries) = size(particles, species, shape);
        let reach2 = system.cutoffs.iter().map(|cutoff| (cutoff + shape.skin).powi(2));
        let reach2: Vec<f64> = reach2.map(system.round).collect();
        Ok(ListBuffers {
            list: Buffer::new(session, entries * shape.entry_bytes)?,
            cell_rank: Buffer::holding(session, &ranks)?,
            around: Buffer::holding(session, &around)?,
            bin_count: Buffer::new(session, bins * 4)?,
            bin_start: Buffer::new(session, (bins + 1) * 4)?,
            reach2: Buffer::holding(session, &reach2)?,
            cells,
            bins,
            around_count: around.len() / ranks.len(),
            group_log2,
            rows,
        })
    }

    pub(super) fn describe(
        &self,
        simulation_box: &SimulationBox,
        for_tilts: bool,
        system: &mut System,
    ) {
        system.list = self.list.pointer();
        system.cell_rank = self.cell_rank.pointer();
        system.around = self.around.pointer();
        system.bin_count = self.bin_count.pointer();
        system.bin_start = self.bin_start.pointer();
        system.reach2 = self.reach2.pointer();
        system.cells = self.cells;
        describe_cells(simulation_box, for_tilts, system);
        system.bins = self.bins as u32;
        system.group_log2 = self.group_log2;
        system.around_count = self.around_count as u32;
        system.rows = self.rows as u32;
    }
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
/// edge of one. With fewer than three cells along an axis an offset has two meanings. In a box for tilts that is longer along x than
/// along y places are too far from the corners of their cells.
fn describe_cells(simulation_box: &SimulationBox, for_tilts: bool, system: &mut System) {
    let edges = simulation_box.edges();
    let cell_edge: Vec<f64> =
        edges.iter().zip(system.cells).map(|(edge, cells)| edge / f64::from(cells)).collect();
    let widest = cell_edge.iter().copied().fold(0.0, f64::max);
    system.cell_shape = [0.0; 3];
    for (shape, edge) in system.cell_shape.iter_mut().zip(&cell_edge) {
        *shape = (edge / widest) as f32;
    }
    system.inv_cell = (1.0 / widest) as f32;
    let enough = system.cells[..edges.len()].iter().all(|&cells| cells >= 3);
    system.coarse = (enough && !(for_tilts && edges[0] > edges[1])).into();
}

/// Rows of four entries for each lane, and entries of all lists.
pub fn size(count: usize, species: usize, shape: ListShape) -> (usize, usize) {
    let lanes = 1 << shape.lanes_log2;
    // Every segment may end with a row that is not full.
    let rows = shape.capacity.div_ceil(4 * lanes) + species - 1;
    let tiles = count.div_ceil(32 / lanes);
    // A row is read ahead.
    (rows, (tiles * rows + 1) * 128)
}

/// Bytes of all lists.
pub fn bytes(count: usize, species: usize, shape: ListShape) -> usize {
    size(count, species, shape).1 * shape.entry_bytes
}
