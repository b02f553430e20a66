use super::cosines::nearest_integer;
use crate::system::SimulationBox;

/// Points sorted by cell, to find those near any place of the periodic box.
///
/// There is about one point in a cell, whatever the distances that are asked for: a search visits the
/// cells that the cube around its sphere touches. In a tilted box points lie by their skewed coordinates, `x - slope y`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    edges: [f64; 3],
    inverse_edges: [f64; 3],
    /// Of the box ([`SimulationBox::slope`]).
    slope: f64,
    cells: [usize; 3],
    /// First point of every cell in `points`, and the end.
    starts: Vec<u32>,
    /// Index and skewed coordinates.
    points: Vec<(u32, [f64; 3])>,
}

impl Cells {
    /// `position(i)` for `i < count` lies in the box.
    pub fn new(
        simulation_box: &SimulationBox,
        count: usize,
        position: impl Fn(usize) -> [f64; 3],
    ) -> Self {
        let edges = simulation_box.padded_edges();
        let dimension = simulation_box.dimension();
        let spacing = (simulation_box.volume() / count.max(1) as f64).powf(1.0 / dimension as f64);
        let cells = std::array::from_fn(|k| match k < dimension {
            true => ((edges[k] / spacing) as usize).max(1),
            false => 1,
        });
        let slope = simulation_box.slope();
        let position = |index: usize| skewed(position(index), slope);
        let mut grid = Cells {
            edges,
            slope,
            inverse_edges: edges.map(f64::recip),
            cells,
            starts: Vec::new(),
            points: Vec::new(),
        };
        let keys: Vec<usize> = (0..count)
            .map(|index| {
                let r = position(index);
                let [x, y, z] = std::array::from_fn(|k| {
                    ((r[k] / edges[k] * cells[k] as f64) as usize).min(cells[k] - 1)
                });
                (x * cells[1] + y) * cells[2] + z
            })
            .collect();
        grid.starts = vec![0; cells.iter().product::<usize>() + 1];
        keys.iter().for_each(|&key| grid.starts[key + 1] += 1);
        for key in 1..grid.starts.len() {
            grid.starts[key] += grid.starts[key - 1];
        }
        let mut next = grid.starts.clone();
        grid.points = vec![(0, [0.0; 3]); count];
        for (index, &key) in keys.iter().enumerate() {
            grid.points[next[key] as usize] = (index as u32, position(index));
            next[key] += 1;
        }
        grid
    }

    /// Calls `found(index, displacement from the place)` for every point closer than `distance` to a
    /// place, which may lie outside the box. Of several images of a point, the nearest counts; in a tilted box that which is nearest
    /// along y, straightened and then turned back along x: up to half of the edges there is no other.
    #[inline]
    pub fn near(&self, place: [f64; 3], distance: f64, mut found: impl FnMut(u32, [f64; 3])) {
        let squared_distance = distance * distance;
        // Turned back into the box, cells of the cube are at most one box away.
        let place = skewed(place, self.slope);
        let place: [f64; 3] = std::array::from_fn(|k| {
            place[k] - self.edges[k] * floor(place[k] * self.inverse_edges[k]) as f64
        });
        let across = [(1.0 + self.slope * self.slope).sqrt(), 1.0, 1.0];
        let ranges: [(i64, i64); 3] = std::array::from_fn(|k| {
            let cells = self.cells[k] as i64;
            let scale = self.cells[k] as f64 / self.edges[k];
            // A hair wider than the sphere, so that rounding loses nothing.
            let reach = across[k] * distance * (1.0 + 1e-9);
            let first = floor((place[k] - reach) * scale);
            let last = floor((place[k] + reach) * scale);
            if last - first + 1 >= cells { (0, cells - 1) } else { (first, last) }
        });
        let [(x_first, x_last), (y_first, y_last), (z_first, z_last)] = ranges;
        let wrap = |index: i64, k: usize| {
            let cells = self.cells[k] as i64;
            (index + if index < 0 { cells } else { 0 } - if index >= cells { cells } else { 0 })
                as usize
        };
        // Cells along the last axis follow each other: one stretch of points, or two across the boundary.
        let cells = self.cells[2] as i64;
        let stretches = match (z_first < 0, z_last >= cells) {
            (true, _) => [(z_first + cells, cells - 1), (0, z_last)],
            (_, true) => [(z_first, cells - 1), (0, z_last - cells)],
            _ => [(z_first, z_last), (0, -1)],
        };
        for x in x_first..=x_last {
            for y in y_first..=y_last {
                let row = (wrap(x, 0) * self.cells[1] + wrap(y, 1)) * self.cells[2];
                for (first, last) in stretches {
                    let start = self.starts[row + first as usize] as usize;
                    let end = self.starts[(row as i64 + last + 1) as usize] as usize;
                    for &(index, point) in self.points.get(start..end).unwrap_or_default() {
                        let nearest = |d: f64, k: usize| {
                            d - self.edges[k] * nearest_integer(d * self.inverse_edges[k])
                        };
                        let [y, z] = [1, 2].map(|k| nearest(point[k] - place[k], k));
                        let d = [nearest(point[0] - place[0] + self.slope * y, 0), y, z];
                        if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < squared_distance {
                            found(index, d);
                        }
                    }
                }
            }
        }
    }
}

fn skewed([x, y, z]: [f64; 3], slope: f64) -> [f64; 3] {
    [x - slope * y, y, z]
}

/// Largest integer that is not above `x`; without a call of the library, as `f64::floor` is on CPUs of
/// the first 64-bit kind.
#[inline(always)]
fn floor(x: f64) -> i64 {
    let towards_zero = x as i64;
    towards_zero - i64::from(towards_zero as f64 > x)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::super::trajectories::ideal_gas;
    use super::*;

    #[test]
    fn all_points_near_a_place_are_found_once() {
        let mut rng = StdRng::seed_from_u64(6);
        for edges in [vec![8.0, 3.0, 5.0], vec![12.0, 7.0], vec![1.0, 1.0, 30.0]] {
            let simulation_box = SimulationBox::new(&edges);
            let padded = simulation_box.padded_edges();
            for count in [1, 2, 100, 300] {
                let points = ideal_gas(&mut rng, &simulation_box, count);
                let cells = Cells::new(&simulation_box, count, |i| points[i]);
                let places = ideal_gas(&mut rng, &simulation_box, 20);
                for (place, distance) in
                    places.iter().flat_map(|place| [0.05, 0.3, 1.4, 4.0].map(|d| (place, d)))
                {
                    // Outside the box, too.
                    let place: [f64; 3] = std::array::from_fn(|k| {
                        place[k] + if k < edges.len() { padded[k] } else { 0.0 }
                    });
                    let mut found = Vec::new();
                    cells.near(place, distance, |index, d| {
                        for k in 0..3 {
                            let residue = (place[k] + d[k] - points[index as usize][k]) / padded[k];
                            assert!((residue - residue.round()).abs() < 1e-12);
                        }
                        found.push(index as usize);
                    });
                    found.sort_unstable();
                    let near = |&i: &usize| {
                        let squared = |k: usize| {
                            let d = points[i][k] - place[k];
                            (d - padded[k] * (d / padded[k]).round()).powi(2)
                        };
                        (0..3).map(squared).sum::<f64>() < distance * distance
                    };
                    let expected: Vec<usize> = (0..count).filter(near).collect();
                    assert_eq!(found, expected, "{edges:?}, {count} points, {distance}");
                }
            }
        }
    }

    #[test]
    fn points_of_a_tilted_box_are_those_of_its_images() {
        let mut rng = StdRng::seed_from_u64(7);
        // Up to half of the shortest edge.
        for (edges, tilt, distance) in [
            (vec![8.0, 6.0, 5.0], 0.5, 1.9),
            (vec![8.0, 6.0, 7.0], -0.5, 3.0),
            (vec![6.0, 9.0], 0.47, 3.0),
            (vec![12.0, 7.0], -0.3, 3.5),
        ] {
            let simulation_box = SimulationBox::new(&edges);
            let sheared = simulation_box.with_tilt(tilt);
            let [place, points] = [1, 300].map(|count| {
                let mut points = ideal_gas(&mut rng, &simulation_box, count);
                points.iter_mut().for_each(|point| point[0] += sheared.slope() * point[1]);
                points
            });
            let cells = Cells::new(&sheared, points.len(), |i| points[i]);
            let mut found = Vec::new();
            cells.near(place[0], distance, |index, d| {
                found.push(index as usize);
                assert!(d.iter().map(|d| d * d).sum::<f64>() < distance * distance);
            });
            found.sort_unstable();
            let images = || (-2..=2).flat_map(|x| (-1..=1).map(move |y| (x, y)));
            let images = || images().flat_map(|(x, y)| (-1..=1).map(move |z| [x, y, z]));
            let distance2 = |i: usize, image| -> f64 {
                let at = sheared.unwrapped(points[i], image);
                at.iter().zip(place[0]).map(|(a, b)| (a - b).powi(2)).sum()
            };
            let is_near =
                |&i: &usize| images().any(|image| distance2(i, image) < distance * distance);
            let expected: Vec<usize> = (0..points.len()).filter(is_near).collect();
            assert!(found.len() > 10);
            assert_eq!(found, expected);
        }
    }
}
