use crate::engine::EngineError;
use crate::engine::precision::Policy;
use crate::system::SimulationBox;

/// Equal domains of the box, one for each rank, `x` fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainGrid {
    simulation_box: SimulationBox,
    count: [u32; 3],
    widening: f64,
}

/// Domains are wider than the reach by this factor, so that rounding cannot put a neighbor two domains away.
const MARGIN: f64 = 1.0 + 1e-5;

/// So much larger may domains with their ghosts be if all are neighbors of each other.
const WORTH_OF_NEIGHBORS: f64 = 1.1;

impl DomainGrid {
    /// The grid of `ranks` domains with the least interface: faces between domains, of which there are none along an
    /// axis with one domain. Of several with the same (2 x 2 and 1 x 4 in a square) it is the one with the fewest
    /// ghosts, unless in another all are neighbors, so that sums over them are exchanged at once, and a domain with its
    /// ghosts is hardly larger. No edge of a domain is shorter than `reach` (cutoff and skin) along an axis with several.
    ///
    /// # Errors
    /// If there is none; the error says which numbers of ranks there are grids for.
    pub fn new(
        simulation_box: &SimulationBox,
        ranks: usize,
        reach: f64,
    ) -> Result<Self, EngineError> {
        Self::widened(simulation_box, ranks, reach, 1.0)
    }

    /// The same in a box that takes any tilt. Domains are parts of the skewed box, and move with a flow: slabs along the tilted
    /// period, which are narrower across than along x.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_tilted_box(
        simulation_box: &SimulationBox,
        ranks: usize,
        reach: f64,
    ) -> Result<Self, EngineError> {
        Self::widened(simulation_box, ranks, reach, simulation_box.widening_of_cells())
    }

    /// That of a box that takes tilts or not.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_tilts(
        takes_tilts: bool,
        simulation_box: &SimulationBox,
        ranks: usize,
        reach: f64,
    ) -> Result<Self, EngineError> {
        let grid = if takes_tilts { Self::of_tilted_box } else { Self::new };
        grid(simulation_box, ranks, reach)
    }

    fn widened(
        simulation_box: &SimulationBox,
        ranks: usize,
        reach: f64,
        widening: f64,
    ) -> Result<Self, EngineError> {
        let reaches = [widening * reach, reach, reach];
        let most = most_domains(simulation_box, reaches);
        let fits = |count: &[u32; 3]| (0..3).all(|axis| count[axis] <= most[axis]);
        let interface = |count: &[u32; 3]| -> f64 {
            let edges = simulation_box.padded_edges();
            (0..simulation_box.dimension())
                .filter(|&axis| count[axis] > 1)
                .map(|axis| f64::from(count[axis]) * simulation_box.volume() / edges[axis])
                .sum()
        };
        // Of a domain and all within reach of it.
        let volume = |count: &[u32; 3]| -> f64 {
            let along = |axis: usize| match (simulation_box.edges()[axis], count[axis]) {
                (edge, 1) => edge,
                (edge, count) => (edge / f64::from(count) + 2.0 * reaches[axis]).min(edge),
            };
            (0..simulation_box.dimension()).map(along).product()
        };
        let room: u32 = most.iter().product();
        let number = u32::try_from(ranks).ok().filter(|&number| number <= room);
        let fitting_grids = || number.into_iter().flat_map(factorizations).filter(fits);
        let least = fitting_grids().map(|count| interface(&count)).fold(f64::INFINITY, f64::min);
        let weight = |count: &[u32; 3]| {
            let all_are_neighbors = count.iter().all(|&count| count <= 3);
            volume(count) * if all_are_neighbors { 1.0 } else { WORTH_OF_NEIGHBORS }
        };
        let best = fitting_grids()
            .filter(|count| interface(count) <= least * (1.0 + 1e-9))
            .min_by(|a, b| weight(a).total_cmp(&weight(b)));
        match best {
            Some(count) => Ok(DomainGrid { simulation_box: *simulation_box, count, widening }),
            None => Err(too_small(simulation_box, ranks, reaches)),
        }
    }

    /// The same domains, as fractions of the edges, in another box; `None` if edges of a domain are shorter than `reach` there.
    pub fn in_box(&self, simulation_box: &SimulationBox, reach: f64) -> Option<Self> {
        let reaches = [self.widening * reach, reach, reach];
        let most = most_domains(simulation_box, reaches);
        let fits = self.count.iter().zip(most).all(|(&count, most)| count <= most);
        fits.then(|| DomainGrid { simulation_box: *simulation_box, ..self.clone() })
    }

    /// Domains along each axis.
    pub fn count(&self) -> [u32; 3] {
        self.count
    }

    /// Domains in all.
    pub fn total(&self) -> usize {
        self.count.iter().product::<u32>() as usize
    }

    /// How much further ghosts may be away along x than along the other axes, where the box takes tilts.
    pub fn widening(&self) -> f64 {
        self.widening
    }

    /// Where a rank's domain lies in the grid.
    pub fn place(&self, rank: usize) -> [u32; 3] {
        let [nx, ny, _] = self.count;
        let rank = rank as u32;
        [rank % nx, rank / nx % ny, rank / (nx * ny)]
    }

    fn rank_at(&self, [x, y, z]: [u32; 3]) -> usize {
        let [nx, ny, _] = self.count;
        ((z * ny + y) * nx + x) as usize
    }

    /// Bounds of a domain along an axis, as fractions of the edge.
    pub fn bounds(&self, rank: usize, axis: usize) -> [f64; 2] {
        let (place, count) = (f64::from(self.place(rank)[axis]), f64::from(self.count[axis]));
        [place / count, (place + 1.0) / count]
    }

    /// The rank that a particle belongs to.
    #[inline(always)]
    pub fn owner<P: Policy>(&self, policy: &P, site: [P::Site; 3]) -> usize {
        let mut place = [0; 3];
        for axis in 0..3 {
            if self.count[axis] > 1 {
                place[axis] = policy.slab(site[axis], axis, self.count[axis]);
            }
        }
        self.rank_at(place)
    }

    /// The rank whose domain lies at an offset of at most one along each axis from that of `rank`.
    pub fn beside(&self, rank: usize, offset: [i32; 3]) -> usize {
        let place = self.place(rank);
        self.rank_at(std::array::from_fn(|axis| {
            let count = self.count[axis];
            (place[axis] + count).wrapping_add_signed(offset[axis]) % count
        }))
    }

    /// The other ranks whose domains touch that of `rank`, each once, in increasing order.
    pub fn neighbors(&self, rank: usize) -> Vec<usize> {
        let mut neighbors = Vec::new();
        for dz in [-1, 0, 1] {
            for dy in [-1, 0, 1] {
                for dx in [-1, 0, 1] {
                    neighbors.push(self.beside(rank, [dx, dy, dz]));
                }
            }
        }
        neighbors.sort_unstable();
        neighbors.dedup();
        neighbors.retain(|&neighbor| neighbor != rank);
        neighbors
    }

    /// Domains to cross along an axis on the shorter way round.
    fn steps(&self, from: u32, to: u32, axis: usize) -> i32 {
        let count = self.count[axis] as i32;
        let steps = (to as i32 - from as i32).rem_euclid(count);
        if 2 * steps > count { steps - count } else { steps }
    }

    /// Neighbors to pass on the way from a rank to another, the last included.
    pub fn hops(&self, from: usize, to: usize) -> u32 {
        let (from, to) = (self.place(from), self.place(to));
        (0..3).map(|axis| self.steps(from[axis], to[axis], axis).unsigned_abs()).max().unwrap_or(0)
    }

    /// The first of them.
    pub fn towards(&self, from: usize, to: usize) -> usize {
        let (from, to) = (self.place(from), self.place(to));
        self.rank_at(std::array::from_fn(|axis| {
            let step = self.steps(from[axis], to[axis], axis).signum();
            (from[axis] + self.count[axis]).wrapping_add_signed(step) % self.count[axis]
        }))
    }

    /// Squared distance of a position in the box from a rank's domain, to its nearest image, or less. Positions are skewed as
    /// the box is, whose tilted period goes by `slope` along x where it goes by one along y.
    pub fn distance2(&self, rank: usize, position: [f64; 3], slope: f64) -> f64 {
        let edges = self.simulation_box.padded_edges();
        let mut gaps = [0.0; 3];
        for axis in 0..self.simulation_box.dimension() {
            if self.count[axis] > 1 {
                let [lower, upper] = self.bounds(rank, axis).map(|bound| bound * edges[axis]);
                let x = position[axis];
                let below = if x < lower { lower - x } else { lower - x + edges[axis] };
                let above = if x >= upper { x - upper } else { x - upper + edges[axis] };
                gaps[axis] = if (lower..upper).contains(&x) { 0.0 } else { below.min(above) };
            }
        }
        let [x, y, z] = gaps;
        across(x, y, slope.abs()) + z * z
    }
}

/// Least square of the length of `(d_x + s d_y, d_y)` for skewed differences of at least these gaps, of either sign.
fn across(x: f64, y: f64, s: f64) -> f64 {
    let stretch = 1.0 + s * s;
    if s * y >= x {
        y * y
    } else if s * x >= stretch * y {
        x * x / stretch
    } else {
        let along = x - s * y;
        along * along + y * y
    }
}

/// That the box has no room for a grid of these domains.
fn too_small(simulation_box: &SimulationBox, ranks: usize, reaches: [f64; 3]) -> EngineError {
    let most = most_domains(simulation_box, reaches);
    let [along_x, reach, _] = reaches;
    EngineError::Ranks {
        ranks,
        edges: simulation_box.edges().to_vec(),
        reach,
        along_x: (along_x > reach).then_some(along_x),
        most: most.iter().product(),
        fitting: fitting(most, u32::try_from(ranks.saturating_mul(2)).unwrap_or(u32::MAX)),
    }
}

/// Most domains along each axis.
fn most_domains(simulation_box: &SimulationBox, reaches: [f64; 3]) -> [u32; 3] {
    let mut most = [1; 3];
    for ((most, edge), reach) in most.iter_mut().zip(simulation_box.edges()).zip(reaches) {
        *most = (edge / (reach * MARGIN)).floor().clamp(1.0, 1024.0) as u32;
    }
    most
}

/// All ways to write a number as a product of three.
fn factorizations(number: u32) -> impl Iterator<Item = [u32; 3]> {
    let divisors = |number: u32| (1..=number).filter(move |&d| number.is_multiple_of(d));
    divisors(number).flat_map(move |x| divisors(number / x).map(move |y| [x, y, number / x / y]))
}

/// The numbers of domains of all grids up to a limit, in increasing order.
fn fitting(most: [u32; 3], limit: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::new();
    for x in 1..=most[0].min(limit) {
        for y in 1..=most[1].min(limit / x) {
            numbers.extend((1..=most[2].min(limit / (x * y))).map(|z| x * y * z));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_least() {
        let cube = SimulationBox::new(&[20.0; 3]);
        let count = |simulation_box: &SimulationBox, ranks| {
            let mut count = DomainGrid::new(simulation_box, ranks, 2.8).unwrap().count();
            count.sort_unstable();
            count
        };
        // As much as 2 x 2 x 2, but with fewer ghosts at edges and corners: many fewer in a small box.
        assert_eq!(count(&cube, 8), [1, 2, 4]);
        let large = SimulationBox::new(&[60.0; 3]);
        assert_eq!(count(&large, 8), [2, 2, 2]);
        assert_eq!(count(&large, 4), [1, 2, 2]);
        assert_eq!(count(&cube, 6), [1, 2, 3]);
        assert_eq!(count(&cube, 7), [1, 1, 7]);
        assert_eq!(count(&SimulationBox::new(&[200.0; 3]), 64), [4, 4, 4]);
        let long = SimulationBox::new(&[60.0, 6.0, 6.0]);
        assert_eq!(DomainGrid::new(&long, 8, 2.8).unwrap().count(), [8, 1, 1]);
        let flat = SimulationBox::new(&[30.0, 30.0]);
        assert_eq!(count(&flat, 4), [1, 2, 2]);
        assert_eq!(DomainGrid::new(&flat, 16, 2.8).unwrap().count(), [4, 4, 1]);
    }

    #[test]
    fn an_error_says_how_many_ranks_fit() {
        let simulation_box = SimulationBox::new(&[9.0, 9.0, 6.0]);
        let error = DomainGrid::new(&simulation_box, 5, 2.8).unwrap_err();
        let EngineError::Ranks { most, fitting, .. } = &error else { panic!("{error}") };
        assert_eq!((*most, &fitting[..]), (18, &[1, 2, 3, 4, 6, 8, 9][..]));
        assert!(error.to_string().contains("18"), "{error}");
        // Of 2^32 + 1 the lower bits would fit.
        let error = DomainGrid::new(&simulation_box, (1 << 32) + 1, 2.8).unwrap_err();
        assert!(error.to_string().contains("4294967297 ranks"), "{error}");
    }

    #[test]
    fn neighbors_are_mutual_and_lead_everywhere() {
        let simulation_box = SimulationBox::new(&[30.0, 20.0, 10.0]);
        for ranks in [2, 5, 12, 24] {
            let grid = DomainGrid::new(&simulation_box, ranks, 3.0).unwrap();
            assert_eq!(grid.total(), ranks);
            for rank in 0..ranks {
                for neighbor in grid.neighbors(rank) {
                    assert!(grid.neighbors(neighbor).contains(&rank));
                }
                for target in 0..ranks {
                    let (mut at, hops) = (rank, grid.hops(rank, target));
                    for left in (0..hops).rev() {
                        let next = grid.towards(at, target);
                        assert!(grid.neighbors(at).contains(&next));
                        assert_eq!(grid.hops(next, target), left);
                        at = next;
                    }
                    assert_eq!(at, target);
                }
            }
        }
    }

    #[test]
    fn distances_from_a_domain_are_those_of_the_nearest_image() {
        let simulation_box = SimulationBox::new(&[12.0, 12.0, 12.0]);
        let grid = DomainGrid::new(&simulation_box, 3, 3.0).unwrap();
        let axis = grid.count().iter().position(|&count| count == 3).unwrap();
        for (x, expected) in [(0.0, 0.0), (3.9, 0.0), (5.0, 1.0), (7.5, 3.5), (11.0, 1.0)] {
            let mut position = [1.0; 3];
            position[axis] = x;
            let distance = grid.distance2(0, position, 0.0).sqrt();
            assert!((distance - expected).abs() < 1e-12, "{x}: {distance}");
        }
    }

    /// The least of many differences beyond the gaps is found, and no other is shorter.
    #[test]
    fn distances_across_a_skewed_corner_are_the_least() {
        for (x, y) in [(1.0, 0.0), (0.0, 0.7), (1.0, 0.1), (1.0, 0.4), (0.3, 1.0), (0.2, 0.2)] {
            for s in [0.0, 0.1, 0.5, 1.3] {
                let mut least = f64::INFINITY;
                for i in 0..=400 {
                    let beyond = |gap: f64, k: u32| gap + 0.005 * f64::from(k);
                    for k in 0..=400 {
                        let (dx, dy) = (beyond(x, i), beyond(y, k));
                        for dx in [dx, -dx] {
                            least = least.min((dx + s * dy).powi(2) + dy * dy);
                        }
                    }
                }
                let found = across(x, y, s);
                assert!(
                    found <= least + 1e-12 && found > least - 0.01,
                    "{x} {y} {s}: {found} {least}"
                );
            }
        }
    }

    #[test]
    fn domains_of_a_tilted_box_are_wider_along_x() {
        let simulation_box = SimulationBox::new(&[9.0, 9.0, 9.0]);
        assert!(DomainGrid::new(&simulation_box, 27, 2.8).is_ok());
        // The reach along x is 3.13: two domains fit.
        let error = DomainGrid::of_tilted_box(&simulation_box, 27, 2.8).unwrap_err();
        let EngineError::Ranks { most, .. } = &error else { panic!("{error}") };
        assert_eq!(*most, 18);
        assert!(error.to_string().contains("3.130"), "{error}");
    }
}
