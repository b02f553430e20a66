use rand::seq::SliceRandom;

use crate::arithmetic::random::{CounterRng, Purpose};
use crate::plan::Lattice;
use crate::system::SimulationBox;

/// Unit cell: edges in units of the shortest, and sites as fractions of them.
fn unit_cell(lattice: Lattice) -> ([f64; 3], &'static [[f64; 3]]) {
    match lattice {
        Lattice::Fcc => (
            [1.0; 3],
            &[[0.25, 0.25, 0.25], [0.75, 0.75, 0.25], [0.75, 0.25, 0.75], [0.25, 0.75, 0.75]],
        ),
        Lattice::SimpleCubic => ([1.0; 3], &[[0.5, 0.5, 0.5]]),
        Lattice::Square => ([1.0, 1.0, 0.0], &[[0.5, 0.5, 0.0]]),
        Lattice::Hexagonal => ([1.0, 3.0f64.sqrt(), 0.0], &[[0.25, 0.25, 0.0], [0.75, 0.75, 0.0]]),
    }
}

/// `count` positions on a lattice stretched to fill the box, in random order: consecutive ids, and
/// so the species, are spread over the box. The lattice is the smallest with enough sites; sites that
/// are not needed stay empty, at random.
pub fn lattice_positions(
    lattice: Lattice,
    simulation_box: &SimulationBox,
    count: usize,
    seed: u64,
) -> Vec<[f64; 3]> {
    let dimension = simulation_box.dimension();
    let edges = simulation_box.padded_edges();
    let (shape, basis) = unit_cell(lattice);
    let cells = cells_along(&edges, &shape, dimension, count, basis.len());
    let mut sites = Vec::with_capacity(cells.iter().product::<usize>() * basis.len());
    for z in 0..cells[2] {
        for y in 0..cells[1] {
            for x in 0..cells[0] {
                for site in basis {
                    let at = [x, y, z];
                    let mut position = [0.0; 3];
                    for axis in 0..dimension {
                        position[axis] =
                            (at[axis] as f64 + site[axis]) / cells[axis] as f64 * edges[axis];
                    }
                    sites.push(position);
                }
            }
        }
    }
    let mut rng = CounterRng::new(seed, Purpose::SpeciesPlacement, 0);
    sites.shuffle(&mut rng);
    sites.truncate(count);
    sites
}

/// Numbers of unit cells along the axes with at least `count` sites, as few as nearly undistorted
/// cells allow.
fn cells_along(
    edges: &[f64; 3],
    shape: &[f64; 3],
    dimension: usize,
    count: usize,
    basis: usize,
) -> [usize; 3] {
    // Cells of unit size that hold `count` sites would have this volume each.
    let volume: f64 = (0..dimension).map(|axis| edges[axis] / shape[axis]).product();
    let cell = (volume * basis as f64 / count as f64).powf(1.0 / dimension as f64);
    let mut cells = [1; 3];
    for axis in 0..dimension {
        cells[axis] = (edges[axis] / (shape[axis] * cell) + 1e-9).floor().max(1.0) as usize;
    }
    while cells.iter().product::<usize>() * basis < count {
        // Refine the axis along which cells are longest.
        let axis = (0..dimension)
            .max_by(|&a, &b| {
                let length = |axis: usize| edges[axis] / (shape[axis] * cells[axis] as f64);
                length(a).total_cmp(&length(b)).then(b.cmp(&a))
            })
            .expect("a box has axes");
        cells[axis] += 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest_distance(positions: &[[f64; 3]], simulation_box: &SimulationBox) -> f64 {
        let edges = simulation_box.padded_edges();
        let mut nearest = f64::INFINITY;
        for (i, a) in positions.iter().enumerate() {
            for b in &positions[..i] {
                let r2: f64 = (0..3)
                    .map(|k| {
                        let d = a[k] - b[k];
                        (d - edges[k] * (d / edges[k]).round()).powi(2)
                    })
                    .sum();
                nearest = nearest.min(r2);
            }
        }
        nearest.sqrt()
    }

    #[test]
    fn a_full_fcc_lattice_has_its_nearest_neighbor_distance() {
        let simulation_box = SimulationBox::cubic(3, 500, 1.2);
        let positions = lattice_positions(Lattice::Fcc, &simulation_box, 500, 1);
        let expected = (4.0f64 / 1.2).cbrt() / 2.0f64.sqrt();
        assert!((nearest_distance(&positions, &simulation_box) - expected).abs() < 1e-12);
    }

    #[test]
    fn any_count_fits_into_any_box_without_overlap() {
        for (lattice, edges, count) in [
            (Lattice::Fcc, vec![10.0, 10.0, 10.0], 1000),
            (Lattice::Fcc, vec![8.0, 12.0, 20.0], 1777),
            (Lattice::SimpleCubic, vec![9.0, 9.0, 9.0], 600),
            (Lattice::Square, vec![20.0, 30.0], 700),
            (Lattice::Hexagonal, vec![30.0, 30.0], 1000),
        ] {
            let simulation_box = SimulationBox::new(&edges);
            let positions = lattice_positions(lattice, &simulation_box, count, 5);
            assert_eq!(positions.len(), count);
            let mean = (simulation_box.volume() / count as f64)
                .powf(1.0 / simulation_box.dimension() as f64);
            let nearest = nearest_distance(&positions, &simulation_box);
            assert!(nearest > 0.75 * mean, "{lattice:?}: {nearest} against {mean}");
        }
    }
}
