use super::gather::{DIAMETER, STRIDE, Sites};
use super::instruction_set::InstructionSet;
use crate::arithmetic::Real;
use crate::engine::cells::CellGrid;
use crate::engine::precision::Policy;
use crate::potential::Mixing;

/// Lanes that the pair loop works on at once: every segment of a list is a multiple of this long.
pub const LANES: usize = 16;

/// Full Verlet lists of the particles of a chunk, split into one segment per species of neighbor.
///
/// Segments are filled up with the particle itself, whose distance of zero the pair loop leaves out.
#[derive(Default)]
pub struct NeighborList {
    entries: Vec<u32>,
    /// Start of each segment, `species_count` per particle, and the end.
    starts: Vec<u32>,
}

impl NeighborList {
    #[inline(always)]
    pub fn segment(&self, particle: usize, species: usize, species_count: usize) -> &[u32] {
        let at = particle * species_count + species;
        &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Whether all places in it are below a limit.
    pub fn is_below(&self, limit: u32) -> bool {
        self.entries.iter().fold(0, |most, &place| most.max(place)) < limit
    }

    pub fn entries(&self) -> usize {
        self.entries.len()
    }
}

/// All particles sorted by cell, species and id: the candidates of the lists.
pub struct SortedParticles<P: Policy> {
    /// Place in memory of each sorted particle.
    pub place: Vec<u32>,
    sites: [Vec<P::Site>; STRIDE],
    /// Start of each species in each cell, and the end.
    starts: Vec<u32>,
    species_count: usize,
}

impl<P: Policy> SortedParticles<P> {
    pub fn new(
        policy: &P,
        grid: &CellGrid,
        sites: &Sites<P>,
        species: impl Iterator<Item = u8>,
        ids: impl Iterator<Item = u32>,
        species_count: usize,
    ) -> Self {
        let count = sites.len();
        let bin: Vec<u32> = (0..count)
            .zip(species)
            .map(|(i, species)| {
                let cell = grid.cell_of(policy, std::array::from_fn(|axis| sites[i][axis]));
                cell * species_count as u32 + u32::from(species)
            })
            .collect();
        // Counting sort over cells and species, then by id inside each.
        let mut starts = vec![0u32; grid.len() * species_count + 1];
        for &bin in &bin {
            starts[bin as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut by_id = vec![(0u32, 0u32); count];
        for (place, id) in ids.enumerate() {
            let slot = &mut next[bin[place] as usize];
            by_id[*slot as usize] = (id, place as u32);
            *slot += 1;
        }
        for range in starts.windows(2) {
            by_id[range[0] as usize..range[1] as usize].sort_unstable();
        }
        let place: Vec<u32> = by_id.into_iter().map(|(_, place)| place).collect();
        let sorted_sites = std::array::from_fn(|axis| {
            place.iter().map(|&place| sites[place as usize][axis]).collect()
        });
        SortedParticles { place, sites: sorted_sites, starts, species_count }
    }

    fn range(&self, cell: u32, species: usize) -> std::ops::Range<usize> {
        let at = cell as usize * self.species_count + species;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }
}

/// Particles near one cell, gathered species by species: shared by all particles of the cell.
struct Candidates<P: Policy> {
    cell: Option<u32>,
    place: Vec<Vec<u32>>,
    sites: Vec<[Vec<P::Site>; STRIDE]>,
    near: Vec<u8>,
}

impl<P: Policy> Candidates<P> {
    fn new(species_count: usize) -> Self {
        Candidates {
            cell: None,
            place: vec![Vec::new(); species_count],
            sites: (0..species_count).map(|_| Default::default()).collect(),
            near: Vec::new(),
        }
    }

    fn gather(&mut self, cell: u32, grid: &CellGrid, sorted: &SortedParticles<P>) {
        if self.cell == Some(cell) {
            return;
        }
        self.cell = Some(cell);
        for species in 0..sorted.species_count {
            self.place[species].clear();
            for axis in 0..STRIDE {
                self.sites[species][axis].clear();
            }
            for &other in grid.around(cell) {
                let range = sorted.range(other, species);
                self.place[species].extend_from_slice(&sorted.place[range.clone()]);
                for axis in 0..STRIDE {
                    self.sites[species][axis].extend_from_slice(&sorted.sites[axis][range.clone()]);
                }
            }
        }
    }
}

/// Which particles a list is built for.
pub struct ListOf<'a, P: Policy> {
    /// Place in memory of the first particle.
    pub first: usize,
    pub species: &'a [u8],
    /// Sites of all particles, in the order of memory.
    pub sites: &'a Sites<P>,
}

/// How far lists reach: the cutoff and the skin.
pub struct Reach<R> {
    /// Squared, of each pair of species; with diameters, the greatest.
    pub squares: Vec<Vec<R>>,
    /// With diameters: the cutoff in units of that of a pair.
    pub of_diameters: Option<(Mixing<R>, R)>,
    pub skin: R,
}

impl<R: Real> Reach<R> {
    /// Takes those out that only a wider pair would have within reach.
    #[inline(always)]
    fn narrow(&self, near: &mut [u8], r2: impl Fn(usize) -> R, own: R, other: impl Fn(usize) -> R) {
        let Some((mixing, cutoff)) = self.of_diameters else { return };
        for (k, near) in near.iter_mut().enumerate().filter(|(_, near)| **near != 0) {
            let reach = mixing.of_pair(own, other(k)).fused(cutoff, self.skin);
            *near = u8::from(r2(k) < reach * reach);
        }
    }
}

/// Builds the lists of a chunk: all pairs within reach.
#[inline(always)]
pub fn build<P: Policy, const SET: usize, const TILTED: bool>(
    list: &mut NeighborList,
    of: &ListOf<P>,
    policy: &P,
    grid: &CellGrid,
    sorted: &SortedParticles<P>,
    reach: &Reach<P::Real>,
) {
    let species_count = sorted.species_count;
    let mut candidates = Candidates::<P>::new(species_count);
    list.entries.clear();
    list.starts.clear();
    list.starts.push(0);
    for (local, &species) in of.species.iter().enumerate() {
        let i = of.first + local;
        let site: [P::Site; 3] = std::array::from_fn(|axis| of.sites[i][axis]);
        candidates.gather(grid.cell_of(policy, site), grid, sorted);
        for other in 0..species_count {
            let reach2 = reach.squares[species as usize][other];
            let count = candidates.place[other].len();
            let place = &candidates.place[other][..count];
            let [x, y, z, diameters] = &candidates.sites[other];
            let (x, y, z) = (&x[..count], &y[..count], &z[..count]);
            candidates.near.clear();
            candidates.near.resize(count.next_multiple_of(LANES), 0);
            let near = &mut candidates.near[..count];
            let distance2 = |k: usize| {
                let mut displacement = [
                    policy.displacement(site[0], x[k], 0),
                    policy.displacement(site[1], y[k], 1),
                    policy.displacement(site[2], z[k], 2),
                ];
                if TILTED {
                    displacement = policy.straightened(displacement);
                }
                let [dx, dy, dz] =
                    std::array::from_fn(|axis| policy.length(displacement[axis], axis));
                dx.fused(dx, dy.fused(dy, dz * dz))
            };
            for k in 0..count {
                near[k] = u8::from((distance2(k) < reach2) & (place[k] != i as u32));
            }
            let diameter = |site: P::Site| P::Real::from_bits(P::site_to_bits(site));
            let other = |k: usize| diameter(diameters[k]);
            reach.narrow(near, distance2, diameter(of.sites[i][DIAMETER]), other);
            let start = list.entries.len();
            list.entries.resize(start + count + LANES, i as u32);
            let entries = &mut list.entries[start..];
            let found = if SET == InstructionSet::Avx512 as usize {
                // SAFETY: only the loops compiled for AVX-512 say so; there are a flag for every place,
                // rounded up to lanes, and room for all places and one vector more.
                unsafe { compact_avx512(place, &candidates.near, entries) }
            } else {
                compact(place, &candidates.near, entries)
            };
            let end = start + found;
            let padded = start + (end - start).next_multiple_of(LANES);
            list.entries[end..padded].fill(i as u32);
            list.entries.truncate(padded);
            list.starts.push(padded as u32);
        }
    }
}

/// Writes the places whose flag is set to the front of `entries`; returns their number.
///
/// Few are set: eight flags are looked at together, and only set ones cost more.
fn compact(place: &[u32], near: &[u8], entries: &mut [u32]) -> usize {
    let mut found = 0;
    for (group, flags) in near.as_chunks::<8>().0.iter().enumerate() {
        let mut flags = u64::from_le_bytes(*flags);
        while flags != 0 {
            entries[found] = place[8 * group + flags.trailing_zeros() as usize / 8];
            found += 1;
            flags &= flags - 1;
        }
    }
    found
}

/// The same, sixteen at a time.
///
/// # Safety
/// The processor has AVX-512 F, BW and VL; flags are a multiple of sixteen, none set beyond the places;
/// `entries` has room for all places and sixteen more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn compact_avx512(place: &[u32], near: &[u8], entries: &mut [u32]) -> usize {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_test_epi8_mask, _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi32,
        _mm512_storeu_si512,
    };
    debug_assert!(entries.len() >= place.len() + LANES && near.len().is_multiple_of(LANES));
    let mut found = 0;
    for first in (0..near.len()).step_by(LANES) {
        // SAFETY: sixteen flags from `first` on are there; only places with a set flag are read; at most
        // `first` entries were found before, so that a vector fits after them.
        unsafe {
            let flags = _mm_loadu_si128(near.as_ptr().add(first).cast());
            let mask = _mm_test_epi8_mask(flags, flags);
            let places = _mm512_maskz_loadu_epi32(mask, place.as_ptr().add(first).cast());
            let packed = _mm512_maskz_compress_epi32(mask, places);
            _mm512_storeu_si512(entries.as_mut_ptr().add(found).cast(), packed);
            found += mask.count_ones() as usize;
        }
    }
    found
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn compact_avx512(place: &[u32], near: &[u8], entries: &mut [u32]) -> usize {
    compact(place, near, entries)
}
