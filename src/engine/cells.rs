use crate::engine::precision::Policy;
use crate::system::{SimulationBox, hilbert_index};

/// Grid of cells not smaller than the reach of the neighbor lists, numbered along a Hilbert curve: those of the whole
/// box, or of a part of it.
pub struct CellGrid {
    /// Cells of the box along each axis; 1 along the third in two dimensions.
    of_box: [u32; 3],
    /// The first that is held along each axis, and how many are.
    first: [u32; 3],
    count: [u32; 3],
    /// Rank along the curve of each cell, `x` fastest.
    rank: Vec<u32>,
    /// Cells around each cell (itself included), by rank.
    around: Vec<Vec<u32>>,
}

/// A box has at most this many cells along an axis: fewer than 2^26 in all.
const MOST_CELLS: f64 = 400.0;
/// Cells are wider than the reach by this factor, so that rounding cannot put a neighbor two cells away.
pub(in crate::engine) const MARGIN: f64 = 1.0 + 1e-5;

/// Bounds of the whole box.
pub const WHOLE: [[f64; 2]; 3] = [[0.0, 1.0]; 3];

/// Cells may become larger by this factor so that none lies in two domains.
const WORTH_OF_WHOLE_CELLS: f64 = 1.08;

/// Cells along each axis, and rank along a Hilbert curve of each cell (`x` fastest). If cells need not be much larger for it,
/// none lies in two of this number of equal domains of the box.
pub(in crate::engine) fn number_cells(
    simulation_box: &SimulationBox,
    reach: [f64; 3],
    particles: usize,
    domains: [u32; 3],
) -> ([u32; 3], Vec<u32>) {
    let mut count = count_cells(simulation_box, reach, particles);
    let whole: [u32; 3] = std::array::from_fn(|axis| count[axis] / domains[axis] * domains[axis]);
    let larger: f64 = (0..3).map(|axis| f64::from(count[axis]) / f64::from(whole[axis])).product();
    if larger <= WORTH_OF_WHOLE_CELLS {
        count = whole;
    }
    (count, along_curve(count, simulation_box.dimension()))
}

/// Cells along each axis.
pub(in crate::engine) fn count_cells(
    simulation_box: &SimulationBox,
    reach: [f64; 3],
    particles: usize,
) -> [u32; 3] {
    let dimension = simulation_box.dimension();
    // Not many more cells than particles: dilute systems need no finer grid.
    let most = (particles as f64).powf(1.0 / dimension as f64).ceil().clamp(1.0, MOST_CELLS);
    let mut count = [1u32; 3];
    for ((count, edge), reach) in count.iter_mut().zip(simulation_box.edges()).zip(reach) {
        *count = (edge / (reach * MARGIN)).floor().clamp(1.0, most) as u32;
    }
    count
}

/// Rank along a Hilbert curve of each cell of a grid.
fn along_curve(count: [u32; 3], dimension: usize) -> Vec<u32> {
    let longest = count.iter().copied().max().unwrap_or(1);
    let bits = u32::BITS - (longest - 1).leading_zeros();
    let [nx, ny, nz] = count;
    let mut curve: Vec<(u64, u32)> = Vec::with_capacity((nx * ny * nz) as usize);
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                let index = hilbert_index(&[x, y, z][..dimension], bits);
                curve.push((index, (z * ny + y) * nx + x));
            }
        }
    }
    curve.sort_unstable();
    let mut rank = vec![0; curve.len()];
    for (along, &(_, flat)) in curve.iter().enumerate() {
        rank[flat as usize] = along as u32;
    }
    rank
}

impl CellGrid {
    /// Cells in which lists with the same reach are made at any tilt of the box. Cells are those of skewed coordinates: slabs
    /// along the tilted period.
    pub fn of_tilted_box(
        simulation_box: &SimulationBox,
        reach: f64,
        particles: usize,
        bounds: [[f64; 2]; 3],
    ) -> Self {
        let along_x = reach * simulation_box.widening_of_cells();
        Self::with_reaches(simulation_box, [along_x, reach, reach], particles, bounds)
    }

    /// The cells of a part of the box and those around it; `bounds` are fractions of the edges, `particles` is the
    /// number in the whole box.
    pub fn new(
        simulation_box: &SimulationBox,
        reach: f64,
        particles: usize,
        bounds: [[f64; 2]; 3],
    ) -> Self {
        Self::with_reaches(simulation_box, [reach; 3], particles, bounds)
    }

    fn with_reaches(
        simulation_box: &SimulationBox,
        reach: [f64; 3],
        particles: usize,
        bounds: [[f64; 2]; 3],
    ) -> Self {
        let of_box = count_cells(simulation_box, reach, particles);
        let (mut first, mut count) = ([0; 3], of_box);
        for axis in 0..simulation_box.dimension() {
            // The cells with the bounds in them, and one more on either side.
            let cells = f64::from(of_box[axis]);
            let [lower, upper] = bounds[axis];
            let lowest = (lower * cells).floor() as i64 - 1;
            let highest = (upper * cells).ceil() as i64;
            let held = (highest - lowest + 1) as u32;
            if held < of_box[axis] {
                first[axis] = lowest.rem_euclid(i64::from(of_box[axis])) as u32;
                count[axis] = held;
            }
        }
        let rank = along_curve(count, simulation_box.dimension());
        let mut flat_of = vec![0; rank.len()];
        for (flat, &along) in rank.iter().enumerate() {
            flat_of[along as usize] = flat as u32;
        }
        let periodic = std::array::from_fn(|axis| count[axis] == of_box[axis]);
        let ranks = |&flat: &u32| {
            let mut around = neighbors_of(flat, count, &rank);
            around.retain(|cell| cell.is_next(flat, count, periodic));
            around.into_iter().map(|cell| cell.rank).collect()
        };
        let around = flat_of.iter().map(ranks).collect();
        CellGrid { of_box, first, count, rank, around }
    }

    pub fn len(&self) -> usize {
        self.rank.len()
    }

    /// Cells whose particles may be within reach of those in `cell`, each once, in increasing rank.
    pub fn around(&self, cell: u32) -> &[u32] {
        &self.around[cell as usize]
    }

    /// Rank along the curve of the cell that holds a particle; for one beyond the cells that are held, of some cell.
    #[inline(always)]
    pub fn cell_of<P: Policy>(&self, policy: &P, site: [P::Site; 3]) -> u32 {
        let [nx, ny, _] = self.count;
        let place = |axis: usize| {
            let cells = self.of_box[axis];
            let slab = policy.slab(site[axis], axis, cells);
            let from_first = if slab >= self.first[axis] {
                slab - self.first[axis]
            } else {
                slab + cells - self.first[axis]
            };
            from_first.min(self.count[axis] - 1)
        };
        self.rank[((place(2) * ny + place(1)) * nx + place(0)) as usize]
    }
}

/// A cell around another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct NeighborCell {
    pub rank: u32,
    /// Steps to it along each axis: -1, 0 or 1. Where an axis has fewer than three cells, one of the ways.
    pub offset: [i32; 3],
}

impl NeighborCell {
    /// Whether the way to it from a cell stays in the grid, or crosses its end where it is periodic.
    fn is_next(&self, flat: u32, count: [u32; 3], periodic: [bool; 3]) -> bool {
        let [nx, ny, _] = count;
        let from = [flat % nx, flat / nx % ny, flat / (nx * ny)];
        (0..3).all(|axis| {
            let to = i64::from(from[axis]) + i64::from(self.offset[axis]);
            periodic[axis] || (0..i64::from(count[axis])).contains(&to)
        })
    }
}

/// The cells around one, itself included, each once, in increasing rank.
pub(in crate::engine) fn neighbors_of(
    flat: u32,
    count: [u32; 3],
    rank: &[u32],
) -> Vec<NeighborCell> {
    let [nx, ny, nz] = count;
    let (x, y, z) = (flat % nx, flat / nx % ny, flat / (nx * ny));
    let along = |at: u32, n: u32, offset: i32| (at + n).wrapping_add_signed(offset) % n;
    let mut around = Vec::new();
    for dz in [0, -1, 1] {
        for dy in [0, -1, 1] {
            for dx in [0, -1, 1] {
                let (x, y, z) = (along(x, nx, dx), along(y, ny, dy), along(z, nz, dz));
                let rank = rank[((z * ny + y) * nx + x) as usize];
                around.push(NeighborCell { rank, offset: [dx, dy, dz] });
            }
        }
    }
    around.sort_by_key(|cell| cell.rank);
    around.dedup_by_key(|cell| cell.rank);
    around
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::precision::Double;
    use crate::system::Species;

    #[test]
    fn every_cell_sees_each_neighbor_once_even_in_a_small_box() {
        for edges in [vec![3.0, 6.5, 20.0], vec![7.0, 2.0], vec![12.0, 12.0, 12.0]] {
            let simulation_box = SimulationBox::new(&edges);
            let grid = CellGrid::new(&simulation_box, 2.8, 10_000, WHOLE);
            for cell in 0..grid.len() as u32 {
                let around = grid.around(cell);
                assert!(around.contains(&cell));
                assert!(around.windows(2).all(|pair| pair[0] < pair[1]), "no cell twice");
                assert!(around.iter().all(|&other| grid.around(other).contains(&cell)));
            }
        }
    }

    #[test]
    fn cells_lie_in_one_domain_if_they_need_not_be_much_larger() {
        let cells = |edge: f64, domains| {
            number_cells(&SimulationBox::new(&[edge; 3]), [2.9; 3], 1_000_000, domains).0
        };
        assert_eq!(cells(94.1, [1; 3]), [32; 3]);
        assert_eq!(cells(91.0, [1, 2, 2]), [31, 30, 30]);
        assert_eq!(cells(31.0, [1, 2, 3]), [10; 3], "a ninth more");
        assert_eq!(cells(20.0, [4, 1, 1]), [6; 3], "half as much more");
    }

    #[test]
    fn a_part_of_the_box_holds_what_is_near_it() {
        let simulation_box = SimulationBox::new(&[30.0, 24.0, 9.0]);
        let species = [Species { name: "A".into(), count: 1, mass: 1.0 }];
        let policy = Double::new(&simulation_box, 0.001, &species);
        // Through the periodic boundary; of all of an axis with few cells.
        for (lower, upper) in [(0.0, 0.25), (0.25, 0.5), (0.75, 1.0), (0.3, 0.9)] {
            let bounds = [[lower, upper], [0.0, 1.0], [lower, upper]];
            let whole = CellGrid::new(&simulation_box, 2.8, 100_000, WHOLE);
            let part = CellGrid::new(&simulation_box, 2.8, 100_000, bounds);
            assert!(part.len() < whole.len(), "{lower}");
            for x in 0..40 {
                let x = 30.0 * (lower + (upper - lower) * (f64::from(x) + 0.5) / 40.0);
                let cell = part.cell_of(&policy, [x, 0.5, 9.0 * lower]);
                for dx in [-2.8, -1.0, 0.0, 2.8] {
                    let near = [(x + dx).rem_euclid(30.0), 23.5, (9.0 * lower + 1.0) % 9.0];
                    let near = part.cell_of(&policy, near);
                    assert!(part.around(cell).contains(&near), "{x} {dx}");
                }
            }
        }
    }

    #[test]
    fn sites_on_the_upper_boundary_stay_in_the_grid() {
        let simulation_box = SimulationBox::new(&[9.0, 9.0, 9.0]);
        let species = [Species { name: "A".into(), count: 1, mass: 1.0 }];
        let policy = Double::new(&simulation_box, 0.001, &species);
        let grid = CellGrid::new(&simulation_box, 2.8, 1000, WHOLE);
        let edge = 9.0f64.next_down();
        assert!((grid.cell_of(&policy, [edge; 3]) as usize) < grid.len());
    }
}
