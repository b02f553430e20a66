//! Wave vectors that fit the periodic box, in shells of nearly equal length.
//!
//! `q = 2 pi (n_x / L_x, n_y / L_y, n_z / L_z)` with integer `n`. In an orthorhombic box all sign changes
//! of `n` have the same length; they are kept together as an *orbit*, named by its non-negative member,
//! and one of each `q`, `-q` counts: `2^(k-1)` vectors for `k` non-zero components. Sums over an orbit
//! need products of cosines only. Those of density modes in a tilted box are vectors by themselves ([`tilted`]).
mod tilted;

use std::f64::consts::TAU;

use super::{ObservableError, SampleContext};
use crate::plan::CorrelationPlan;
use crate::system::SimulationBox;

/// Relative half-width of a shell around the length that exists nearest to the wanted one.
pub const RELATIVE_HALF_WIDTH: f64 = 0.005;

/// Columns of the reciprocal lattice that may be visited for one shell.
const MOST_COLUMNS: f64 = 1e8;

/// Wave vectors of nearly equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct WaveVectorShell {
    /// Mean length of the vectors.
    pub wavenumber: f64,
    /// Non-negative members `n` of the orbits, without duplicates; of the box without its tilt.
    pub orbits: Vec<[u32; 3]>,
    /// In place of orbits, `n` of vectors that fit the box with its tilt.
    pub single: Vec<[i32; 3]>,
}

/// Number of vectors of an orbit, one of each `q`, `-q`.
pub fn orbit_size(orbit: [u32; 3]) -> u64 {
    1 << orbit.iter().filter(|&&n| n > 0).count().saturating_sub(1)
}

impl WaveVectorShell {
    /// Number of vectors, one of each `q`, `-q`.
    pub fn count(&self) -> u64 {
        let of_orbits: u64 = self.orbits.iter().map(|&orbit| orbit_size(orbit)).sum();
        of_orbits + self.single.len() as u64
    }

    /// All vectors as integers `n`; the first non-zero component is positive.
    pub fn lattice_vectors(&self) -> Vec<[i32; 3]> {
        let of_orbits = self.orbits.iter().flat_map(|&orbit| signed_members(orbit));
        of_orbits.chain(self.single.iter().copied()).collect()
    }

    /// All vectors `q`, in the order of [`lattice_vectors`](Self::lattice_vectors).
    pub fn vectors(&self, simulation_box: &SimulationBox) -> Vec<[f64; 3]> {
        let straight = simulation_box.with_tilt(0.0);
        let of = if self.single.is_empty() { &straight } else { simulation_box };
        self.lattice_vectors().into_iter().map(|n| tilted::vector(n, of)).collect()
    }
}

/// Members of an orbit whose first non-zero component is positive.
pub fn signed_members(orbit: [u32; 3]) -> Vec<[i32; 3]> {
    let first = orbit.iter().position(|&n| n > 0).unwrap_or(0);
    let mut members = vec![orbit.map(|n| n as i32)];
    for axis in first + 1..3 {
        if orbit[axis] > 0 {
            let flipped: Vec<_> = members
                .iter()
                .map(|&member| {
                    let mut member: [i32; 3] = member;
                    member[axis] = -member[axis];
                    member
                })
                .collect();
            members.extend(flipped);
        }
    }
    members
}

/// Shells of a plan's wave numbers.
///
/// # Errors
/// If it has none, and as [`shells`].
pub fn shells_of(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    if plan.wavenumbers.is_empty() {
        let expected = "at least one for functions of the wave number";
        return Err(ObservableError::value("correlation.wavenumbers", "[]", expected));
    }
    shells(&context.simulation_box, &plan.wavenumbers, plan.vectors_per_shell)
}

/// Shells of a plan's wave numbers for density modes, whose wave vectors have to fit the box as it is: those of the tilted box where
/// it has a tilt, and in a flow those across it.
///
/// # Errors
/// As [`shells_of`].
pub fn shells_of_modes(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    match plan.wavenumbers.is_empty() {
        true => shells_of(plan, context),
        false => shells_for_modes(plan, &context.simulation_box, context.in_flow),
    }
}

/// The same of this box.
///
/// # Errors
/// As [`shells`].
pub fn shells_for_modes(
    plan: &CorrelationPlan,
    simulation_box: &SimulationBox,
    in_flow: bool,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    let (wanted, most) = (&plan.wavenumbers, plan.vectors_per_shell);
    if in_flow {
        let largest = wanted.iter().copied().fold(0.0, f64::max);
        return shells(&box_across(simulation_box, largest), wanted, most);
    }
    match simulation_box.is_tilted() {
        true => tilted::shells(simulation_box, wanted, most),
        false => shells(simulation_box, wanted, most),
    }
}

/// A box whose wave vectors up to a length are those with `q_x = 0`, which fit this one at any tilt: all others are longer.
pub fn box_across(simulation_box: &SimulationBox, largest: f64) -> SimulationBox {
    let mut edges = simulation_box.edges().to_vec();
    edges[0] = (0.1 * TAU / largest).min(0.1 * simulation_box.shortest_edge());
    SimulationBox::new(&edges)
}

/// One shell for each wanted wave number, ascending; wanted numbers with the same nearest shell give
/// it once.
///
/// A shell holds the vectors within 0.5 % of the existing length nearest to the wanted one (less in
/// boxes so large that this would be very many). Of more than `maximum_count` vectors, orbits are taken
/// whose directions are far from each other; at least one orbit (up to 4 vectors) is taken.
///
/// # Errors
/// For a wave number that is not positive, or far too large for the box.
pub fn shells(
    simulation_box: &SimulationBox,
    wanted: &[f64],
    maximum_count: usize,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    let lattice = ReciprocalLattice::new(simulation_box);
    let mut centres = Vec::new();
    for &wavenumber in wanted {
        if !(wavenumber.is_finite() && wavenumber > 0.0) {
            return Err(ObservableError::value("wavenumbers", wavenumber, "positive numbers"));
        }
        lattice.check_work(wavenumber, simulation_box)?;
        centres.push(lattice.nearest_length(wavenumber));
    }
    centres.sort_by(f64::total_cmp);
    centres.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * *a);
    Ok(centres.into_iter().map(|centre| lattice.shell(centre, maximum_count)).collect())
}

struct ReciprocalLattice {
    dimension: usize,
    /// `2 pi / L` of every axis; in two dimensions the third is never used.
    spacing: [f64; 3],
    /// Axes in the order outer loop, inner loop, solved for: the densest is solved for.
    axes: [usize; 3],
}

impl ReciprocalLattice {
    fn new(simulation_box: &SimulationBox) -> Self {
        let spacing = simulation_box.padded_edges().map(|edge| TAU / edge);
        let dimension = simulation_box.dimension();
        let mut axes = [0, 1, 2];
        axes[..dimension].sort_by(|&a, &b| spacing[b].total_cmp(&spacing[a]));
        if dimension == 2 {
            axes = [2, axes[0], axes[1]];
        }
        ReciprocalLattice { dimension, spacing, axes }
    }

    /// Largest index of an axis whose plane cuts the sphere of this radius.
    fn largest_index(&self, axis: usize, radius: f64) -> u32 {
        if axis >= self.dimension { 0 } else { (radius / self.spacing[axis]).floor() as u32 }
    }

    fn check_work(
        &self,
        wavenumber: f64,
        simulation_box: &SimulationBox,
    ) -> Result<(), ObservableError> {
        let columns: f64 = self.axes[..2]
            .iter()
            .filter(|&&axis| axis < self.dimension)
            .map(|&axis| wavenumber / self.spacing[axis] + 2.0)
            .product();
        // Indices of the solved axis have to fit, too.
        let longest = wavenumber / self.spacing[self.axes[2]];
        if columns > MOST_COLUMNS || longest > MOST_COLUMNS {
            let edges = simulation_box.edges().to_vec();
            return Err(ObservableError::TooManyWaveVectors { wavenumber, edges });
        }
        Ok(())
    }

    fn length(&self, n: [u32; 3]) -> f64 {
        (0..self.dimension).map(|k| (f64::from(n[k]) * self.spacing[k]).powi(2)).sum::<f64>().sqrt()
    }

    /// Calls `visit(n_outer, n_inner, squared length of both)` for every column that cuts the sphere.
    fn columns(&self, radius: f64, extra: u32, mut visit: impl FnMut(u32, u32, f64)) {
        let [outer, inner, _] = self.axes;
        let extra_of = |axis| if axis < self.dimension { extra } else { 0 };
        for i in 0..=self.largest_index(outer, radius) + extra_of(outer) {
            let outer2 = (f64::from(i) * self.spacing[outer]).powi(2);
            let rest = (radius * radius - outer2).max(0.0).sqrt();
            for j in 0..=self.largest_index(inner, rest) + extra_of(inner) {
                visit(i, j, outer2 + (f64::from(j) * self.spacing[inner]).powi(2));
            }
        }
    }

    fn assemble(&self, outer: u32, inner: u32, solved: u32) -> [u32; 3] {
        let mut n = [0; 3];
        n[self.axes[0]] = outer;
        n[self.axes[1]] = inner;
        n[self.axes[2]] = solved;
        n
    }

    /// Length of a non-zero lattice vector that is nearest to `wanted`.
    fn nearest_length(&self, wanted: f64) -> f64 {
        let solved = self.axes[2];
        let mut nearest = f64::INFINITY;
        self.columns(wanted, 1, |i, j, squared| {
            let rest = (wanted * wanted - squared).max(0.0).sqrt() / self.spacing[solved];
            for k in [rest.floor() as u32, rest.floor() as u32 + 1] {
                let length = self.length(self.assemble(i, j, k));
                if length > 0.0 && (length - wanted).abs() < (nearest - wanted).abs() {
                    nearest = length;
                }
            }
        });
        nearest
    }

    /// All orbits with `| |q| - centre | <= half_width`, nearest to the centre first.
    fn orbits(&self, centre: f64, half_width: f64) -> Vec<[u32; 3]> {
        let spacing = self.spacing[self.axes[2]];
        let (low, high) = ((centre - half_width).max(0.0), centre + half_width);
        let mut orbits = Vec::new();
        self.columns(high, 0, |i, j, squared| {
            if squared > high * high {
                return;
            }
            let first = ((low * low - squared).max(0.0).sqrt() / spacing).ceil() as u32;
            let last = ((high * high - squared).sqrt() / spacing).floor() as u32;
            for k in first..=last {
                let orbit = self.assemble(i, j, k);
                if orbit != [0; 3] {
                    orbits.push(orbit);
                }
            }
        });
        orbits.sort_by(|&a, &b| {
            let distance = |n| (self.length(n) - centre).abs();
            distance(a).total_cmp(&distance(b)).then(a.cmp(&b))
        });
        orbits
    }

    fn shell(&self, centre: f64, maximum_count: usize) -> WaveVectorShell {
        let enough = 64 + 16 * maximum_count;
        let density = (0..self.dimension).map(|k| self.spacing[k]).product::<f64>().recip();
        let surface = match self.dimension {
            2 => TAU * centre / 4.0,
            _ => 2.0 * TAU * centre * centre / 8.0,
        };
        let many = enough as f64 / (2.0 * surface * density);
        // The slack keeps vectors of equal length together in spite of rounding.
        let half_width = (RELATIVE_HALF_WIDTH * centre).min(many).max(1e-9 * centre);
        let orbits = self.spread(self.orbits(centre, half_width), maximum_count as u64);
        let count: u64 = orbits.iter().map(|&orbit| orbit_size(orbit)).sum();
        let sum: f64 = orbits.iter().map(|&n| orbit_size(n) as f64 * self.length(n)).sum();
        WaveVectorShell { wavenumber: sum / count as f64, orbits, single: Vec::new() }
    }

    /// At most `maximum_count` vectors in orbits whose directions are far from each other.
    fn spread(&self, orbits: Vec<[u32; 3]>, maximum_count: u64) -> Vec<[u32; 3]> {
        let direction = |&n: &[u32; 3]| -> [f64; 3] {
            let length = self.length(n);
            std::array::from_fn(|k| {
                if k < self.dimension { f64::from(n[k]) * self.spacing[k] / length } else { 0.0 }
            })
        };
        let directions: Vec<_> = orbits.iter().map(direction).collect();
        let sizes: Vec<u64> = orbits.iter().map(|&orbit| orbit_size(orbit)).collect();
        let taken = spread(&sizes, &directions, maximum_count);
        taken.into_iter().map(|index| orbits[index]).collect()
    }
}

/// Indices of groups of vectors, `maximum_count` vectors at most, by the sizes and directions of the groups: starting from the first,
/// always the one whose direction is farthest from all taken ones. At least one group is taken.
fn spread(sizes: &[u64], directions: &[[f64; 3]], maximum_count: u64) -> Vec<usize> {
    if sizes.iter().sum::<u64>() <= maximum_count || sizes.len() < 2 {
        return (0..sizes.len()).collect();
    }
    // Largest cosine of the angle to a taken group.
    let mut closeness = vec![f64::NEG_INFINITY; sizes.len()];
    let mut taken = Vec::new();
    let mut room = maximum_count;
    let first = sizes.iter().position(|&size| size <= room).unwrap_or(0);
    let mut next = Some(first);
    while let Some(index) = next {
        taken.push(index);
        room = room.saturating_sub(sizes[index]);
        closeness[index] = f64::INFINITY;
        for (closeness, other) in closeness.iter_mut().zip(directions) {
            let cosine: f64 = (0..3).map(|k| other[k] * directions[index][k]).sum();
            *closeness = closeness.max(cosine);
        }
        next = (0..sizes.len())
            .filter(|&i| closeness[i] < f64::INFINITY && sizes[i] <= room)
            .min_by(|&a, &b| closeness[a].total_cmp(&closeness[b]));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_shell(edges: &[f64], wavenumber: f64, maximum: usize) -> WaveVectorShell {
        shells(&SimulationBox::new(edges), &[wavenumber], maximum).unwrap().remove(0)
    }

    fn length(n: [i32; 3], edges: &[f64]) -> f64 {
        let square = |k: usize| (TAU * f64::from(n[k]) / edges[k]).powi(2);
        (0..edges.len()).map(square).sum::<f64>().sqrt()
    }

    #[test]
    fn small_shells_of_a_cube_are_complete() {
        // n^2 = 1, 2, 3, 9: 3, 6, 4 and 3 + 12 vectors up to sign.
        for (squared, count) in [(1.0f64, 3), (2.0, 6), (3.0, 4), (9.0, 15)] {
            let shell = one_shell(&[TAU; 3], squared.sqrt(), 100);
            assert_eq!(shell.count(), count, "n^2 = {squared}");
            assert!((shell.wavenumber - squared.sqrt()).abs() < 1e-14);
        }
        // n^2 = 7 is no sum of three squares; sqrt(7) is nearer to sqrt(6) + ... sqrt(8) - ...
        let shell = one_shell(&[TAU; 3], 7f64.sqrt(), 100);
        assert!((shell.wavenumber - 8f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn squares_in_two_dimensions_stay_in_the_plane() {
        // 25 = 0 + 25 = 9 + 16: (5,0), (0,5), (3,4), (3,-4), (4,3), (4,-3).
        let shell = one_shell(&[TAU; 2], 5.0, 100);
        assert_eq!(shell.count(), 6);
        assert!(shell.orbits.iter().all(|n| n[2] == 0));
    }

    #[test]
    fn vectors_are_those_of_a_brute_force_search() {
        for edges in [vec![7.0, 9.5, 8.0], vec![20.0, 31.0], vec![12.0, 12.0, 12.0]] {
            let box_ = SimulationBox::new(&edges);
            for wanted in [0.1, 1.0, 2.7, 6.3] {
                let depth = if edges.len() == 2 { 0 } else { 40 };
                let mut all = Vec::new();
                for x in -40..=40 {
                    for y in -40..=40 {
                        for z in -depth..=depth {
                            if [x, y, z] > [0; 3] {
                                all.push([x, y, z]);
                            }
                        }
                    }
                }
                let distance = |n: &[i32; 3]| (length(*n, &edges) - wanted).abs();
                let nearest = all.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
                let centre = length(*nearest.unwrap(), &edges);
                let inside = |n: &[i32; 3]| {
                    (length(*n, &edges) - centre).abs() < 0.005 * centre * (1.0 + 1e-12)
                };
                let mut expected: Vec<_> = all.iter().copied().filter(inside).collect();
                let shell = shells(&box_, &[wanted], 1_000_000).unwrap().remove(0);
                let mut found = shell.lattice_vectors();
                expected.sort();
                found.sort();
                assert_eq!(found, expected, "edges {edges:?}, q = {wanted}");
                assert_eq!(shell.count() as usize, found.len());
            }
        }
    }

    #[test]
    fn limited_shells_keep_directions_apart() {
        let shell = one_shell(&[14.938; 3], 7.25, 30);
        assert!((27..=30).contains(&shell.count()), "{} vectors", shell.count());
        assert!((shell.wavenumber - 7.25).abs() < 0.006 * 7.25);
        let units: Vec<[f64; 3]> = shell
            .orbits
            .iter()
            .map(|n| {
                let norm = n.iter().map(|&c| f64::from(c * c)).sum::<f64>().sqrt();
                n.map(|c| f64::from(c) / norm)
            })
            .collect();
        for (i, a) in units.iter().enumerate() {
            for b in &units[..i] {
                let cosine: f64 = (0..3).map(|k| a[k] * b[k]).sum();
                assert!(cosine < 20f64.to_radians().cos(), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn shells_of_a_big_box_are_found_without_visiting_its_whole_sphere() {
        // The sphere holds 1e11 lattice vectors; visiting or keeping them all would not end here.
        let shell = one_shell(&[1000.0; 3], 20.0, 40);
        assert!((shell.wavenumber - 20.0).abs() < 1e-3);
        assert!((37..=40).contains(&shell.count()), "{} vectors", shell.count());
    }

    #[test]
    fn wanted_numbers_with_one_nearest_shell_give_it_once() {
        let box_ = SimulationBox::new(&[TAU; 3]);
        let found = shells(&box_, &[1.02, 0.5, 1.0, 2.0], 10).unwrap();
        let numbers: Vec<_> = found.iter().map(|shell| shell.wavenumber).collect();
        assert_eq!(numbers, [1.0, 2.0]);
    }

    #[test]
    fn impossible_wave_numbers_are_errors() {
        let box_ = SimulationBox::new(&[10.0; 3]);
        for bad in [0.0, -1.0, f64::NAN, 1e6] {
            assert!(shells(&box_, &[bad], 10).is_err(), "{bad}");
        }
    }
}
