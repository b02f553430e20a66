use rayon::prelude::*;

use crate::observable::accumulator::BlockAverage;
use crate::observable::cosines::nearest_integer;
use crate::observable::particle_order::{LANES, ParticleOrder};
use crate::observable::vectors::{InnerLoop, on_widest_registers};
use crate::observable::{ObservableError, SampleContext, species_pairs};
use crate::plan::StructurePlan;
use crate::system::{SimulationBox, Snapshot};

/// `g_ab(r)`: number of `b` particles at distance `r` from an `a` particle, over that of an ideal gas.
///
/// Per sample and bin: pairs found, divided by pairs expected, `N_a N_b v / V` for `a != b` and
/// `N_a (N_a - 1) / 2 v / V` for `a = b`, with `v` the volume of the spherical shell (the area of the ring in
/// two dimensions). Thus an ideal gas of any size gives 1 exactly on average.
///
/// In a tilted box particles lie by their skewed coordinates. Of a pair the image that is nearest along y is straightened, and then turned
/// back along x: up to half of the edges there is one image at most, at any tilt.
///
/// Cost: all pairs when the largest distance is over a third of the edge, else cells of at least the
/// largest distance. Counts are integers, so that the order of threads does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDistribution {
    simulation_box: SimulationBox,
    /// Particles of every species.
    counts: Vec<usize>,
    bins: usize,
    bin_width: f64,
    /// By pair, bin; of classes of diameter all particles come after the pairs.
    pub(super) averages: Vec<Vec<BlockAverage>>,
}

impl PairDistribution {
    const OF_PAIRS: &str = "V / (N_a N_b) <sum_i^a sum_j^b delta(r - |r_j - r_i|)> / (surface of the sphere \
                               or circle); N_a (N_a - 1) instead of N_a N_b for a = b";
    const OF_ALL: &str = "V / (N (N - 1)) <sum_i sum_(j != i) delta(r - |r_j - r_i|)> / (surface of the sphere or circle)";

    /// Of pairs of species, or of all particles.
    pub fn formula(of_all: bool) -> &'static str {
        if of_all { Self::OF_ALL } else { Self::OF_PAIRS }
    }

    /// # Errors
    /// Unless `0 < bin_width <= maximum_distance <= half the shortest edge`.
    pub fn new(plan: &StructurePlan, context: &SampleContext) -> Result<Self, ObservableError> {
        let maximum = plan.maximum_distance;
        let half = 0.5 * context.simulation_box.shortest_edge();
        if !(maximum > 0.0 && maximum <= half * (1.0 + 1e-12)) {
            let expected = "a positive number up to half the shortest edge";
            return Err(ObservableError::value("structure.maximum_distance", maximum, expected));
        }
        if !(plan.bin_width > 0.0 && plan.bin_width <= maximum) {
            let expected = "a positive number up to maximum_distance";
            return Err(ObservableError::value("structure.bin_width", plan.bin_width, expected));
        }
        let bins = (maximum / plan.bin_width * (1.0 + 1e-12)).floor();
        if bins > 1e6 {
            let expected = "wide enough for at most a million bins";
            return Err(ObservableError::value("structure.bin_width", plan.bin_width, expected));
        }
        let pairs = species_pairs(context.species.len()).len();
        let of_all = usize::from(plan.diameter_classes.is_some());
        Ok(PairDistribution {
            simulation_box: context.simulation_box,
            counts: context.species.iter().map(|species| species.count).collect(),
            bins: bins as usize,
            bin_width: plan.bin_width,
            averages: vec![vec![BlockAverage::new(1); bins as usize]; pairs + of_all],
        })
    }

    /// Centres of the bins.
    pub fn distances(&self) -> Vec<f64> {
        (0..self.bins).map(|bin| (bin as f64 + 0.5) * self.bin_width).collect()
    }

    /// `simulation_box`: that of the sample, with its tilt.
    pub(super) fn sample(
        &mut self,
        snapshot: &Snapshot,
        order: &ParticleOrder,
        simulation_box: &SimulationBox,
    ) {
        let distance = self.bins as f64 * self.bin_width;
        let histogram = self.histogram(&CellSorted::new(snapshot, order, simulation_box, distance));
        let bins = self.bins;
        self.add(|pair, bin| histogram[pair * (bins + 1) + bin]);
    }

    /// Adds a sample that has this number of pairs `found(pair of species, bin)`.
    pub(super) fn add(&mut self, found: impl Fn(usize, usize) -> u64) {
        let pairs = species_pairs(self.counts.len());
        for (pair, &(a, b)) in pairs.iter().enumerate() {
            self.add_to(pair, self.pairs_of(a, b), |bin| found(pair, bin));
        }
        if self.averages.len() > pairs.len() {
            let particles = self.counts.iter().sum::<usize>() as f64;
            let of_all = |bin| (0..pairs.len()).map(|pair| found(pair, bin)).sum();
            self.add_to(pairs.len(), particles * (particles - 1.0) / 2.0, of_all);
        }
    }

    /// Adds a sample to averages of this many pairs.
    fn add_to(&mut self, average: usize, pairs: f64, found: impl Fn(usize) -> u64) {
        let number_density = pairs / self.simulation_box.volume();
        for bin in 0..self.bins {
            let expected = number_density * self.shell_volume(bin);
            if expected > 0.0 {
                self.averages[average][bin].push(&[found(bin) as f64 / expected]);
            }
        }
    }

    /// Number and width of the bins.
    pub(super) fn bins(&self) -> (usize, f64) {
        (self.bins, self.bin_width)
    }

    fn pairs_of(&self, a: usize, b: usize) -> f64 {
        let (a_count, b_count) = (self.counts[a] as f64, self.counts[b] as f64);
        if a == b { a_count * (a_count - 1.0) / 2.0 } else { a_count * b_count }
    }

    fn shell_volume(&self, bin: usize) -> f64 {
        let [inner, outer] = [bin, bin + 1].map(|bin| bin as f64 * self.bin_width);
        self.simulation_box.shell_volume(inner, outer)
    }

    /// Number of pairs by pair of species and bin; after the bins of each, those farther apart (of
    /// which only particles in neighboring cells are counted).
    fn histogram(&self, particles: &CellSorted) -> Vec<u64> {
        let size = species_pairs(self.counts.len()).len() * (self.bins + 1);
        let add = |mut sum: Vec<u64>, other: Vec<u64>| {
            sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
            sum
        };
        (0..particles.len())
            .into_par_iter()
            .with_min_len(32)
            .fold(
                || vec![0; size],
                |mut histogram, particle| {
                    on_widest_registers(CountNeighbors {
                        distribution: self,
                        particles,
                        particle,
                        histogram: &mut histogram,
                    });
                    histogram
                },
            )
            .reduce(|| vec![0; size], add)
    }

    /// Adds all pairs of one particle with those after it in the sorted order.
    #[inline(always)]
    fn count_neighbors(&self, particles: &CellSorted, particle: usize, histogram: &mut [u64]) {
        let edges = self.simulation_box.padded_edges();
        let inverse_edges = edges.map(f64::recip);
        let nearest = |d: f64, k: usize| d - edges[k] * nearest_integer(d * inverse_edges[k]);
        let beyond = self.bins as f64;
        let inverse_width = self.bin_width.recip();
        let own: [f64; 3] = std::array::from_fn(|k| particles.position[k][particle]);
        let own_cell = particles.cell[particle] as usize;
        let species = self.counts.len();
        let own_species = particles.species_at(particle);
        for &cell in &particles.neighbors[own_cell] {
            for other_species in 0..species {
                let [start, end] = particles.range(cell as usize, other_species);
                let start = if cell as usize == own_cell { start.max(particle + 1) } else { start };
                let (a, b) = (own_species.min(other_species), own_species.max(other_species));
                let pair = a * species - a * (a + 1) / 2 + b;
                let first_bin = pair * (self.bins + 1);
                let histogram = &mut histogram[first_bin..=first_bin + self.bins];
                let mut first = start;
                while first < end {
                    let count = (end - first).min(LANES);
                    let [x, y, z] = [0, 1, 2].map(|k| &particles.position[k][first..first + count]);
                    let (mut along_y, mut distance) = ([0.0; LANES], [0.0; LANES]);
                    for (d, other) in along_y.iter_mut().zip(y) {
                        *d = nearest(other - own[1], 1);
                    }
                    for ((sum, other), along_y) in distance.iter_mut().zip(x).zip(along_y) {
                        let d = nearest(other - own[0] + particles.slope * along_y, 0);
                        *sum = d * d + along_y * along_y;
                    }
                    for (sum, other) in distance.iter_mut().zip(z) {
                        let d = nearest(other - own[2], 2);
                        *sum += d * d;
                    }
                    // No branch on the distance: about every second pair is farther.
                    let bins: [u32; LANES] = std::array::from_fn(|i| {
                        (distance[i].sqrt() * inverse_width).min(beyond) as u32
                    });
                    for &bin in &bins[..count] {
                        histogram[bin as usize] += 1;
                    }
                    first += count;
                }
            }
        }
    }
}

struct CountNeighbors<'a> {
    distribution: &'a PairDistribution,
    particles: &'a CellSorted,
    particle: usize,
    histogram: &'a mut [u64],
}

impl InnerLoop for CountNeighbors<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.distribution.count_neighbors(self.particles, self.particle, self.histogram);
    }
}

/// Positions sorted by cell, then by species; skewed in a tilted box.
struct CellSorted {
    /// Of the box ([`SimulationBox::slope`]).
    slope: f64,
    position: [Vec<f64>; 3],
    cell: Vec<u32>,
    /// First particle of every (cell, species), and the end.
    starts: Vec<usize>,
    species: usize,
    /// For every cell, itself and those neighbors that come later: each pair of cells once.
    neighbors: Vec<Vec<u32>>,
}

impl CellSorted {
    fn new(
        snapshot: &Snapshot,
        order: &ParticleOrder,
        simulation_box: &SimulationBox,
        distance: f64,
    ) -> Self {
        let edges = simulation_box.padded_edges();
        let slope = simulation_box.slope();
        // Cells are slabs along the tilted period, narrower across than along x.
        let reach = [distance * (1.0 + slope * slope).sqrt(), distance, distance];
        let place = |id: u32| {
            let [x, y, z] = snapshot.position[id as usize];
            [x - slope * y, y, z]
        };
        let count = order.len();
        // With fewer than three cells, an axis is not divided. No more cells than particles.
        let most = (count as f64).powf(1.0 / simulation_box.dimension() as f64);
        let cells: [usize; 3] = std::array::from_fn(|k| {
            let cells = if k < simulation_box.dimension() {
                (edges[k] / reach[k]).min(most).floor() as usize
            } else {
                1
            };
            if cells < 3 { 1 } else { cells }
        });
        let species = order.species_count();
        let cell_of = |id: u32| {
            let r = place(id);
            let [x, y, z] = std::array::from_fn(|k| {
                let index = (r[k] / edges[k] * cells[k] as f64).floor().max(0.0) as usize;
                index.min(cells[k] - 1)
            });
            (x * cells[1] + y) * cells[2] + z
        };
        let mut keys = Vec::with_capacity(count);
        let mut starts = vec![0; cells.iter().product::<usize>() * species + 1];
        for index in 0..species {
            for &id in &order.ids()[order.places(index)] {
                let key = cell_of(id) * species + index;
                keys.push(key);
                starts[key + 1] += 1;
            }
        }
        for key in 1..starts.len() {
            starts[key] += starts[key - 1];
        }
        let mut next = starts.clone();
        let mut position: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; count]);
        let mut cell = vec![0; count];
        for (&key, &id) in keys.iter().zip(order.ids()) {
            let at = next[key];
            next[key] += 1;
            for (component, r) in position.iter_mut().zip(place(id)) {
                component[at] = r;
            }
            cell[at] = (key / species) as u32;
        }
        CellSorted { slope, position, cell, starts, species, neighbors: later_neighbors(cells) }
    }

    fn len(&self) -> usize {
        self.cell.len()
    }

    fn range(&self, cell: usize, species: usize) -> [usize; 2] {
        let key = cell * self.species + species;
        [self.starts[key], self.starts[key + 1]]
    }

    fn species_at(&self, particle: usize) -> usize {
        let first = self.cell[particle] as usize * self.species;
        let starts = &self.starts[first + 1..=first + self.species];
        starts.partition_point(|&end| end <= particle)
    }
}

/// Of each cell, those of its up to 27 neighbors (itself included) that do not come before it.
fn later_neighbors(cells: [usize; 3]) -> Vec<Vec<u32>> {
    let shifts = |k: usize| if cells[k] == 1 { 0..1 } else { 0..3 };
    let mut neighbors = Vec::new();
    for x in 0..cells[0] {
        for y in 0..cells[1] {
            for z in 0..cells[2] {
                let cell = (x * cells[1] + y) * cells[2] + z;
                let mut of_cell = Vec::new();
                for a in shifts(0) {
                    for b in shifts(1) {
                        for c in shifts(2) {
                            let [x, y, z] =
                                [(x, a, 0), (y, b, 1), (z, c, 2)].map(|(x, shift, k)| {
                                    if cells[k] == 1 {
                                        0
                                    } else {
                                        (x + cells[k] + shift - 1) % cells[k]
                                    }
                                });
                            let other = (x * cells[1] + y) * cells[2] + z;
                            if other >= cell {
                                of_cell.push(other as u32);
                            }
                        }
                    }
                }
                neighbors.push(of_cell);
            }
        }
    }
    neighbors
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::observable::trajectories::{context, ideal_gas, snapshot};

    fn plan(maximum_distance: f64, bin_width: f64) -> StructurePlan {
        StructurePlan {
            every: 1,
            maximum_distance,
            bin_width,
            maximum_wavenumber: 5.0,
            vectors_per_shell: 10,
            diameter_classes: None,
        }
    }

    /// Distances of all pairs by the definition.
    fn brute_force(
        snapshot: &Snapshot,
        context: &SampleContext,
        largest: f64,
        width: f64,
    ) -> Vec<u64> {
        let bins = (largest / width).round() as usize;
        let species = context.species.len();
        let mut histogram = vec![0; species_pairs(species).len() * bins];
        for i in 0..snapshot.position.len() {
            for j in 0..i {
                let r2: f64 = (0..3)
                    .map(|k| {
                        let edge = context.simulation_box.padded_edges()[k];
                        let d = snapshot.position[i][k] - snapshot.position[j][k];
                        (d - edge * (d / edge).round()).powi(2)
                    })
                    .sum();
                let (a, b) = (context.species_of[i] as usize, context.species_of[j] as usize);
                let pair = species_pairs(species)
                    .iter()
                    .position(|&pair| pair == (a.min(b), a.max(b)))
                    .unwrap();
                if r2.sqrt() < largest {
                    histogram[pair * bins + (r2.sqrt() / width) as usize] += 1;
                }
            }
        }
        histogram
    }

    #[test]
    fn every_pair_is_counted_once_with_and_without_cells() {
        for (edges, largest) in [
            (vec![8.0, 11.0, 9.0], 4.0),
            (vec![8.0, 11.0, 9.0], 2.0),
            (vec![12.0, 5.0, 6.0], 1.5),
            (vec![20.0, 14.0], 7.0),
            (vec![20.0, 14.0], 2.5),
        ] {
            let mut context = context(&edges, &[200, 90, 10], 10);
            // Species in any order of ids.
            context.species_of.sort_by_key(|&species| (species + 2) % 3);
            let mut rng = StdRng::seed_from_u64(8);
            let positions = ideal_gas(&mut rng, &context.simulation_box, 300);
            let state = snapshot(&context.simulation_box, 0, &positions, &positions);
            let order = ParticleOrder::new(&context).unwrap();
            let distribution = PairDistribution::new(&plan(largest, 0.5), &context).unwrap();
            let sorted = CellSorted::new(&state, &order, &context.simulation_box, largest);
            let histogram = distribution.histogram(&sorted);
            let inside: Vec<u64> = histogram
                .chunks(distribution.bins + 1)
                .flat_map(|of_pair| of_pair[..distribution.bins].to_vec())
                .collect();
            let expected = brute_force(&state, &context, largest, 0.5);
            assert_eq!(inside, expected, "edges {edges:?}, up to {largest}");
        }
    }

    /// Of all images of all pairs, in boxes of any tilt.
    #[test]
    fn every_image_within_half_an_edge_is_counted_once_in_tilted_boxes() {
        for (edges, tilt, largest) in [
            ([8.0, 8.0, 8.0], 0.5, 4.0),
            ([8.0, 11.0, 9.0], -0.47, 4.0),
            ([16.0, 8.0, 9.0], 0.31, 2.5),
            ([12.0, 12.0, 12.0], -0.5, 1.5),
        ] {
            let context = context(&edges, &[300], 10);
            let tilted = context.simulation_box.with_tilt(tilt);
            let mut rng = StdRng::seed_from_u64(9);
            let mut places = ideal_gas(&mut rng, &context.simulation_box, 300);
            places.iter_mut().for_each(|place| place[0] += tilted.slope() * place[1]);
            let state = snapshot(&context.simulation_box, 0, &places, &places);
            let state = Snapshot { position: places.clone(), ..state };
            let order = ParticleOrder::new(&context).unwrap();
            let distribution = PairDistribution::new(&plan(largest, 0.5), &context).unwrap();
            let found = distribution.histogram(&CellSorted::new(&state, &order, &tilted, largest));
            let mut expected = vec![0; distribution.bins];
            let images = [-2, -1, 0, 1, 2];
            for (i, j) in (0..300).flat_map(|i| (0..i).map(move |j| (i, j))) {
                for image in images.iter().flat_map(|x| images.map(|y| [*x, y, 0])) {
                    let other = tilted.unwrapped(places[j], image);
                    let [x, y, z]: [f64; 3] = std::array::from_fn(|k| other[k] - places[i][k]);
                    let z = z - edges[2] * (z / edges[2]).round();
                    let bin = ((x * x + y * y + z * z).sqrt() / 0.5) as usize;
                    expected.iter_mut().skip(bin).take(1).for_each(|count| *count += 1);
                }
            }
            assert_eq!(found[..distribution.bins], expected, "{edges:?}, {tilt}");
        }
    }

    #[test]
    fn unsuitable_distances_are_errors() {
        let context = context(&[10.0; 3], &[5], 10);
        for (distance, width) in [(5.1, 0.1), (0.0, 0.1), (4.0, 0.0), (4.0, 5.0), (4.0, f64::NAN)] {
            assert!(PairDistribution::new(&plan(distance, width), &context).is_err());
        }
    }
}
