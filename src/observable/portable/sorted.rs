//! Places sorted by cell, to find those near a place. Mirrors the distances of `kernels/observable/cells.cuh`; who is found in which order
//! does not matter, as all sums over what is found are of integers.
use std::ops::Range;

use super::particles::{Columns, Particles};

/// Places that are looked at together.
const LANES: usize = 16;

/// The particles of a sample. All that looks around in it has to be inlined into an
/// [`InnerLoop`](crate::observable::vectors::InnerLoop).
pub struct Sorted {
    dimension: usize,
    cells: [u32; 3],
    /// No less than the radius, in `2^-32` of each edge.
    reach: [i64; 3],
    squared_radius: f32,
    unit: [f32; 3],
    /// Where each cell begins among the particles, and where the last one ends; those along the last axis follow each other.
    starts: Vec<u32>,
    /// By axis: where they are, in `2^-32` of the edge; with some more at the end.
    fraction: [Vec<u32>; 3],
    /// Their places in samples.
    place: Vec<u32>,
}

impl Sorted {
    pub fn new(particles: &Particles, sample: &Columns, radius: f64) -> Self {
        let (dimension, count) = (particles.dimension(), particles.count());
        let edges = particles.simulation_box.padded_edges();
        let volume = particles.simulation_box.volume();
        let spacing = (volume / count.max(1) as f64).powf(1.0 / dimension as f64);
        // Along the last axis cells of about a particle: rows of them are one stretch of memory.
        let cells: [u32; 3] = std::array::from_fn(|axis| {
            let width = if axis + 1 == dimension { spacing } else { radius.max(spacing) };
            if axis < dimension { ((edges[axis] / width) as u32).max(1) } else { 1 }
        });
        // A hair wider than the sphere, so that rounding loses nothing.
        let reach =
            edges.map(|edge| (radius / edge * (1.0 + 1e-6) * 4_294_967_296.0).ceil() as i64 + 1);
        let cell_of = |place: usize| {
            (0..dimension).fold(0, |cell: u32, axis| {
                let fraction = u64::from(sample.fraction[axis][place]);
                cell * cells[axis] + ((fraction * u64::from(cells[axis])) >> 32) as u32
            }) as usize
        };
        let mut starts = vec![0; cells.iter().product::<u32>() as usize + 1];
        let cell: Vec<usize> = (0..count).map(cell_of).collect();
        cell.iter().for_each(|&cell| starts[cell + 1] += 1);
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0; count];
        for (place, &cell) in cell.iter().enumerate() {
            order[next[cell] as usize] = place as u32;
            next[cell] += 1;
        }
        let fraction = std::array::from_fn(|axis| {
            let sorted = order.iter().map(|&place| sample.fraction[axis][place as usize]);
            sorted.chain([0; LANES]).collect()
        });
        Sorted {
            dimension,
            cells,
            reach,
            squared_radius: (radius * radius) as f32,
            unit: edges.map(|edge| (edge * (1.0 / 4_294_967_296.0)) as f32),
            starts,
            fraction,
            place: order,
        }
    }

    pub fn count(&self) -> usize {
        self.place.len()
    }

    /// Place in samples of one of the sorted.
    #[inline(always)]
    pub fn place(&self, at: usize) -> usize {
        self.place[at] as usize
    }

    /// Where one of the sorted is.
    #[inline(always)]
    pub fn fractions(&self, at: usize) -> [u32; 3] {
        [self.fraction[0][at], self.fraction[1][at], self.fraction[2][at]]
    }

    /// Square of the distance from a place to the nearest image of another.
    #[inline(always)]
    pub fn squared_distance(&self, other: [u32; 3], place: [u32; 3]) -> f32 {
        let along =
            |axis: usize| other[axis].wrapping_sub(place[axis]) as i32 as f32 * self.unit[axis];
        let [x, y] = [along(0), along(1)];
        let r2 = y.mul_add(y, x * x);
        if self.dimension == 2 {
            return r2;
        }
        let z = along(2);
        z.mul_add(z, r2)
    }

    /// Calls `visit(number, displacement, its square)` for those of the sorted, from a number on, that are within the radius of a place. Of
    /// several images the nearest counts.
    #[inline(always)]
    pub fn near(&self, place: [u32; 3], from: usize, mut visit: impl FnMut(usize, [f32; 3], f32)) {
        let last_axis = self.dimension - 1;
        let along_last = self.within_reach(place[last_axis], last_axis);
        let along_x = self.within_reach(place[0], 0);
        let along_y = if self.dimension == 3 { self.within_reach(place[1], 1) } else { 0..1 };
        for x in along_x {
            for y in along_y.clone() {
                let row = match self.dimension {
                    3 => self.wrapped(x, 0) * self.cells[1] + self.wrapped(y, 1),
                    _ => self.wrapped(x, 0),
                };
                let cells = i64::from(self.cells[last_axis]);
                let Range { start, end } = along_last;
                // Of what lies one box away first.
                let beyond = match (start < 0, end > cells) {
                    (true, _) => start + cells..cells,
                    (false, true) => 0..end - cells,
                    (false, false) => 0..0,
                };
                for range in [beyond, start.max(0)..end.min(cells)] {
                    if !range.is_empty() {
                        self.in_stretch(row, range, place, from, &mut visit);
                    }
                }
            }
        }
    }

    /// Of cells of a row along the last axis.
    #[inline(always)]
    fn in_stretch(
        &self,
        row: u32,
        cells: Range<i64>,
        place: [u32; 3],
        from: usize,
        visit: &mut impl FnMut(usize, [f32; 3], f32),
    ) {
        let row = row as usize * self.cells[self.dimension - 1] as usize;
        let start = (self.starts[row + cells.start as usize] as usize).max(from);
        let end = self.starts[row + cells.end as usize] as usize;
        for first in (start..end).step_by(LANES) {
            let mut d = [[0.0_f32; LANES]; 3];
            let mut r2 = [0.0_f32; LANES];
            for axis in 0..self.dimension {
                let fraction = &self.fraction[axis][first..first + LANES];
                for lane in 0..LANES {
                    let units = fraction[lane].wrapping_sub(place[axis]) as i32;
                    d[axis][lane] = units as f32 * self.unit[axis];
                }
            }
            for lane in 0..LANES {
                r2[lane] = d[1][lane].mul_add(d[1][lane], d[0][lane] * d[0][lane]);
            }
            if self.dimension == 3 {
                for lane in 0..LANES {
                    r2[lane] = d[2][lane].mul_add(d[2][lane], r2[lane]);
                }
            }
            for lane in 0..LANES.min(end - first) {
                if r2[lane] < self.squared_radius {
                    visit(first + lane, [d[0][lane], d[1][lane], d[2][lane]], r2[lane]);
                }
            }
        }
    }

    /// Cells along an axis that have points within reach; they may lie one box away.
    #[inline(always)]
    fn within_reach(&self, fraction: u32, axis: usize) -> Range<i64> {
        let cells = i64::from(self.cells[axis]);
        let (fraction, reach) = (i64::from(fraction), self.reach[axis]);
        let (first, last) =
            (((fraction - reach) * cells) >> 32, ((fraction + reach) * cells) >> 32);
        if last - first + 1 >= cells { 0..cells } else { first..last + 1 }
    }

    #[inline(always)]
    fn wrapped(&self, cell: i64, axis: usize) -> u32 {
        let cells = i64::from(self.cells[axis]);
        (if cell < 0 {
            cell + cells
        } else if cell >= cells {
            cell - cells
        } else {
            cell
        }) as u32
    }
}
