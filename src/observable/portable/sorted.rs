//! Places sorted by cell, to find those near a place. Mirrors the distances of `kernels/observable/cells.cuh`; who is found in which order
//! does not matter, as all sums over what is found are of integers.
use super::particles::{Particles, word_of};
use crate::observable::dynamics::sampled::SampledParticles;

/// A place in the box, in `2^-32` of each edge, and where the particle lies in samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    pub fraction: [u32; 3],
    pub place: u32,
}

/// The particles of a sample, with about one in a cell.
pub struct Sorted {
    dimension: usize,
    cells: [u32; 3],
    /// No less than the radius, in `2^-32` of each edge.
    reach: [i64; 3],
    squared_radius: f32,
    unit: [f32; 3],
    /// Where each cell begins among the points, and where the last one ends.
    starts: Vec<u32>,
    points: Vec<Point>,
}

impl Sorted {
    pub fn new(particles: &Particles, sample: &SampledParticles, radius: f64) -> Self {
        let (dimension, count) = (particles.dimension(), particles.count());
        let edges = particles.simulation_box.padded_edges();
        let volume = particles.simulation_box.volume();
        let spacing = (volume / count.max(1) as f64).powf(1.0 / dimension as f64);
        let cells: [u32; 3] = std::array::from_fn(|axis| match axis < dimension {
            true => ((edges[axis] / spacing) as u32).max(1),
            false => 1,
        });
        // A hair wider than the sphere, so that rounding loses nothing.
        let reach =
            edges.map(|edge| (radius / edge * (1.0 + 1e-6) * 4_294_967_296.0).ceil() as i64 + 1);
        let point_at = |place: usize| Point {
            fraction: std::array::from_fn(|axis| match axis < dimension {
                true => word_of(sample, dimension, place, axis, 0),
                false => 0,
            }),
            place: place as u32,
        };
        let cell_of = |point: &Point| {
            (0..dimension).fold(0, |cell: u32, axis| {
                let along = (u64::from(point.fraction[axis]) * u64::from(cells[axis])) >> 32;
                cell * cells[axis] + along as u32
            }) as usize
        };
        let mut starts = vec![0; cells.iter().product::<u32>() as usize + 1];
        let all: Vec<Point> = (0..count).map(point_at).collect();
        all.iter().for_each(|point| starts[cell_of(point) + 1] += 1);
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut next = starts.clone();
        let mut points = vec![Point::default(); count];
        for point in &all {
            let next = &mut next[cell_of(point)];
            points[*next as usize] = *point;
            *next += 1;
        }
        Sorted {
            dimension,
            cells,
            reach,
            squared_radius: (radius * radius) as f32,
            unit: edges.map(|edge| (edge * (1.0 / 4_294_967_296.0)) as f32),
            starts,
            points,
        }
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Displacement from a place to the nearest image of a point, and its square.
    #[inline(always)]
    pub fn displacement(&self, point: [u32; 3], place: [u32; 3]) -> ([f32; 3], f32) {
        let along =
            |axis: usize| point[axis].wrapping_sub(place[axis]) as i32 as f32 * self.unit[axis];
        let d: [f32; 3] =
            std::array::from_fn(|axis| if axis < self.dimension { along(axis) } else { 0.0 });
        let r2 = d[1].mul_add(d[1], d[0] * d[0]);
        (d, if self.dimension == 3 { d[2].mul_add(d[2], r2) } else { r2 })
    }

    /// Calls `visit(point, displacement, its square)` for the points within the radius of a place, of which `wanted` holds. Of several
    /// images the nearest counts.
    #[inline(always)]
    pub fn near(
        &self,
        place: [u32; 3],
        wanted: impl Fn(&Point) -> bool,
        mut visit: impl FnMut(&Point, [f32; 3], f32),
    ) {
        let [xs, ys, zs] = [0, 1, 2].map(|axis| self.within_reach(place[axis], axis));
        for x in xs {
            for y in ys.clone() {
                let row = self.wrapped(x, 0) * self.cells[1] + self.wrapped(y, 1);
                for z in zs.clone() {
                    let cell = (row * self.cells[2] + self.wrapped(z, 2)) as usize;
                    let points = self.starts[cell] as usize..self.starts[cell + 1] as usize;
                    for point in self.points[points].iter().filter(|point| wanted(point)) {
                        let (d, r2) = self.displacement(point.fraction, place);
                        if r2 < self.squared_radius {
                            visit(point, d, r2);
                        }
                    }
                }
            }
        }
    }

    /// Cells along an axis that have points within reach; they may lie one box away.
    #[inline(always)]
    fn within_reach(&self, fraction: u32, axis: usize) -> std::ops::RangeInclusive<i64> {
        let cells = i64::from(self.cells[axis]);
        if axis >= self.dimension {
            return 0..=0;
        }
        let (fraction, reach) = (i64::from(fraction), self.reach[axis]);
        let (first, last) =
            (((fraction - reach) * cells) >> 32, ((fraction + reach) * cells) >> 32);
        if last - first + 1 >= cells { 0..=cells - 1 } else { first..=last }
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
