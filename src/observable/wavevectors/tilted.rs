//! Wave vectors that fit a tilted box: `q = 2 pi (n_x / L_x, (n_y - u n_x) / L_y, n_z / L_z)` with integer `n`, the reciprocal lattice
//! of its periods.
use std::f64::consts::TAU;

use super::{MOST_COLUMNS, RELATIVE_HALF_WIDTH, WaveVectorShell, spread};
use crate::observable::ObservableError;
use crate::system::SimulationBox;

/// As [`shells`](super::shells), of the box with its tilt. Lengths change with the signs of `n`: shells have no orbits, but vectors, one
/// of each `q`, `-q`.
///
/// # Errors
/// As [`shells`](super::shells).
pub fn shells(
    simulation_box: &SimulationBox,
    wanted: &[f64],
    maximum_count: usize,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    let lattice = TiltedLattice::new(simulation_box);
    let mut centres = Vec::new();
    for &wavenumber in wanted {
        if !(wavenumber.is_finite() && wavenumber > 0.0) {
            return Err(ObservableError::value("wavenumbers", wavenumber, "positive numbers"));
        }
        lattice.check_work(wavenumber)?;
        centres.push(lattice.nearest_length(wavenumber));
    }
    centres.sort_by(f64::total_cmp);
    centres.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * *a);
    Ok(centres.into_iter().map(|centre| lattice.shell(centre, maximum_count)).collect())
}

/// `q = 2 pi (n_x / L_x, (n_y - u n_x) / L_y, n_z / L_z)`.
pub fn vector(n: [i32; 3], simulation_box: &SimulationBox) -> [f64; 3] {
    let [x, y, z] = simulation_box.padded_edges().map(|edge| TAU / edge);
    let [n_x, n_y, n_z] = n.map(f64::from);
    [n_x * x, (n_y - simulation_box.tilt() * n_x) * y, n_z * z]
}

struct TiltedLattice {
    simulation_box: SimulationBox,
    /// `2 pi / L` of every axis.
    spacing: [f64; 3],
}

impl TiltedLattice {
    fn new(simulation_box: &SimulationBox) -> Self {
        TiltedLattice {
            simulation_box: *simulation_box,
            spacing: simulation_box.padded_edges().map(|edge| TAU / edge),
        }
    }

    /// Largest indices along x and z up to a length, and one more.
    fn columns(&self, radius: f64) -> [f64; 2] {
        let along = |axis: usize| (radius / self.spacing[axis]).floor() + 1.0;
        [along(0), if self.simulation_box.dimension() == 2 { 0.0 } else { along(2) }]
    }

    fn check_work(&self, wavenumber: f64) -> Result<(), ObservableError> {
        let [x, z] = self.columns(wavenumber);
        let longest = wavenumber / self.spacing[1];
        if (x + 1.0) * (2.0 * z + 1.0) > MOST_COLUMNS || longest + x > MOST_COLUMNS {
            let edges = self.simulation_box.edges().to_vec();
            return Err(ObservableError::TooManyWaveVectors { wavenumber, edges });
        }
        Ok(())
    }

    fn length(&self, n: [i32; 3]) -> f64 {
        vector(n, &self.simulation_box).iter().map(|q| q * q).sum::<f64>().sqrt()
    }

    /// Calls `visit(n_x, n_z)` for all columns up to a length that hold one of each `q`, `-q`.
    fn visit(&self, radius: f64, mut visit: impl FnMut(i32, i32)) {
        let [x, z] = self.columns(radius).map(|largest| largest as i32);
        for n_x in 0..=x {
            for n_z in -z..=z {
                visit(n_x, n_z);
            }
        }
    }

    /// `n_y` at which a column meets a sphere: the lower and the upper place, where it does.
    fn cuts(&self, n_x: i32, n_z: i32, radius: f64) -> Option<[f64; 2]> {
        let across = [f64::from(n_x) * self.spacing[0], f64::from(n_z) * self.spacing[2]];
        let rest = radius * radius - across[0] * across[0] - across[1] * across[1];
        let reach = (rest >= 0.0).then(|| rest.sqrt() / self.spacing[1])?;
        let middle = self.simulation_box.tilt() * f64::from(n_x);
        Some([middle - reach, middle + reach])
    }

    /// Length of a non-zero lattice vector that is nearest to `wanted`.
    fn nearest_length(&self, wanted: f64) -> f64 {
        let mut nearest = f64::INFINITY;
        self.visit(wanted, |n_x, n_z| {
            let middle = self.simulation_box.tilt() * f64::from(n_x);
            let cuts = self.cuts(n_x, n_z, wanted).unwrap_or([middle; 2]);
            for n_y in cuts.into_iter().flat_map(|cut| [cut.floor(), cut.ceil()]) {
                let length = self.length([n_x, n_y as i32, n_z]);
                if length > 0.0 && (length - wanted).abs() < (nearest - wanted).abs() {
                    nearest = length;
                }
            }
        });
        nearest
    }

    /// One of each `q`, `-q` with `| |q| - centre | <= half_width`, nearest to the centre first.
    fn vectors(&self, centre: f64, half_width: f64) -> Vec<[i32; 3]> {
        let mut vectors = Vec::new();
        self.visit(centre + half_width, |n_x, n_z| {
            let Some([first, last]) = self.cuts(n_x, n_z, centre + half_width) else { return };
            let inner = self.cuts(n_x, n_z, (centre - half_width).max(0.0));
            let ranges = match inner {
                Some([low, high]) => [(first.ceil(), low.floor()), (high.ceil(), last.floor())],
                None => [(first.ceil(), last.floor()), (1.0, 0.0)],
            };
            for (from, to) in ranges {
                for n_y in from as i32..=to as i32 {
                    let n = [n_x, n_y, n_z];
                    let is_twin = n.into_iter().find(|&n| n != 0).is_none_or(|n| n < 0);
                    if !is_twin && vectors.last() != Some(&n) {
                        vectors.push(n);
                    }
                }
            }
        });
        vectors.sort_by(|&a, &b| {
            let distance = |n| (self.length(n) - centre).abs();
            distance(a).total_cmp(&distance(b)).then(a.cmp(&b))
        });
        vectors
    }

    fn shell(&self, centre: f64, maximum_count: usize) -> WaveVectorShell {
        let dimension = self.simulation_box.dimension();
        let density = self.spacing[..dimension].iter().product::<f64>().recip();
        let half_surface = match dimension {
            2 => 0.5 * TAU * centre,
            _ => TAU * centre * centre,
        };
        let enough = 64 + 64 * maximum_count;
        let many = enough as f64 / (2.0 * half_surface * density);
        // The slack keeps vectors of equal length together in spite of rounding.
        let half_width = (RELATIVE_HALF_WIDTH * centre).min(many).max(1e-9 * centre);
        let all = self.vectors(centre, half_width);
        let direction = |&n: &[i32; 3]| {
            let length = self.length(n);
            vector(n, &self.simulation_box).map(|q| q / length)
        };
        let directions: Vec<[f64; 3]> = all.iter().map(direction).collect();
        let taken = spread(&vec![1; all.len()], &directions, maximum_count as u64);
        let single: Vec<[i32; 3]> = taken.into_iter().map(|index| all[index]).collect();
        let sum: f64 = single.iter().map(|&n| self.length(n)).sum();
        WaveVectorShell { wavenumber: sum / single.len() as f64, orbits: Vec::new(), single }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The box of edges `sqrt(2) a`, `a / sqrt(2)` and `a` with a tilt of one half is the cube of edge `a`, turned.
    #[test]
    fn a_turned_cube_has_the_shells_of_the_cube() {
        let a = 7.3_f64;
        let half = std::f64::consts::FRAC_1_SQRT_2;
        for dimension in [2, 3] {
            let straight = SimulationBox::new(&[a; 3][..dimension]);
            let edges = [a / half, a * half, a];
            for tilt in [0.5, -0.5] {
                let tilted = SimulationBox::new(&edges[..dimension]).with_tilt(tilt);
                let wanted = [0.1, 1.3, 2.2, 4.0, 7.25];
                let expected = super::super::shells(&straight, &wanted, 1_000_000).unwrap();
                let found = shells(&tilted, &wanted, 1_000_000).unwrap();
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.count(), expected.count(), "{}", expected.wavenumber);
                    assert!((found.wavenumber / expected.wavenumber - 1.0).abs() < 1e-12);
                    // Turned, they are the same, up to sign.
                    let turned = |[x, y, z]: [f64; 3]| match tilt > 0.0 {
                        true => [half * (x - y), half * (x + y), z],
                        false => [half * (x + y), half * (y - x), z],
                    };
                    let of_cube = expected.vectors(&straight);
                    for q in found.vectors(&tilted).into_iter().map(turned) {
                        let is_same = |other: &[f64; 3]| {
                            [1.0, -1.0]
                                .iter()
                                .any(|sign| (0..3).all(|k| (q[k] - sign * other[k]).abs() < 1e-9))
                        };
                        assert_eq!(of_cube.iter().filter(|other| is_same(other)).count(), 1);
                    }
                }
            }
        }
    }

    #[test]
    fn vectors_are_those_of_a_search_of_all_and_fit_the_periods() {
        let tilted = SimulationBox::new(&[7.0, 9.5, 8.0]).with_tilt(0.31);
        for wanted in [0.2, 1.0, 2.7, 5.5] {
            let length = |n: [i32; 3]| -> f64 {
                vector(n, &tilted).iter().map(|q| q * q).sum::<f64>().sqrt()
            };
            let range = || -15..=15;
            let all = range().flat_map(|x| range().map(move |y| (x, y)));
            let all = all.flat_map(|(x, y)| range().map(move |z| [x, y, z]));
            let all: Vec<[i32; 3]> = all.filter(|n| *n > [0; 3]).collect();
            let lengths = all.iter().map(|&n| length(n));
            let centre =
                lengths.min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs())).unwrap();
            let inside = |n: &&[i32; 3]| (length(**n) / centre - 1.0).abs() < 0.005 + 1e-12;
            let mut expected: Vec<[i32; 3]> = all.iter().filter(inside).copied().collect();
            let shell = shells(&tilted, &[wanted], 1_000_000).unwrap().remove(0);
            let mut found = shell.lattice_vectors();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{wanted}");
            for (n, q) in shell.lattice_vectors().iter().zip(shell.vectors(&tilted)) {
                for (period, n) in tilted.periods().iter().zip(n) {
                    let turns: f64 = (0..3).map(|k| q[k] * period[k] / TAU).sum();
                    assert!((turns - f64::from(*n)).abs() < 1e-12);
                }
            }
            assert!(shells(&tilted, &[wanted], 20).unwrap()[0].count() <= 20);
        }
        assert!(shells(&tilted, &[1e9], 20).is_err() && shells(&tilted, &[-1.0], 20).is_err());
    }
}
