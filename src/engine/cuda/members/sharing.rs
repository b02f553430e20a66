//! How many systems share the multiprocessors of a GPU.

/// How systems share a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Blocks of a system.
    pub blocks: u32,
    /// Most threads of a block, and blocks that a multiprocessor has room for.
    pub threads: u32,
    pub blocks_of_multiprocessor: u32,
    /// Copies of the sites that a block has in shared memory (`kernels/md/staged.cuh`).
    pub staged_copies: u32,
    /// Whether lists are searched for among all particles (`kernels/md/by_bytes.cuh`).
    pub all_candidates: bool,
    /// Of shared memory for these.
    pub shared_bytes: usize,
    /// Of an entry of the lists, and log2 of an entry over its place in memory.
    pub entry_bytes: usize,
    pub entry_log2: u32,
}

/// Warps of a multiprocessor: each thread has 64 registers.
const WARPS_OF_MULTIPROCESSOR: u32 = 32;
/// Most blocks of a multiprocessor.
const MOST_BLOCKS: u32 = 8;
/// Up to this many particles no cells are needed to find neighbors.
const MOST_CANDIDATES: usize = 1600;
/// Bytes of shared memory that a block has beside the sites.
const SHARED_BYTES: usize = 16 << 10;

impl Sharing {
    /// `shared_bytes`: shared memory of a multiprocessor, `site_bytes`: of a particle's site;
    /// `finds_by_bytes`: the box is cubic, and lists of particles of a species reach equally far (`kernels/md/by_bytes.cuh`).
    pub fn new(
        systems: usize,
        particles: usize,
        multiprocessors: u32,
        shared_bytes: usize,
        site_bytes: usize,
        finds_by_bytes: bool,
    ) -> Self {
        let tiles = particles.div_ceil(32).max(1) as u32;
        let all_candidates = finds_by_bytes && particles <= MOST_CANDIDATES;
        let systems = systems.max(1) as u32;
        let of_size = |warps: u32| {
            let blocks = (WARPS_OF_MULTIPROCESSOR / warps).min(MOST_BLOCKS);
            let room = (shared_bytes / blocks as usize).saturating_sub(SHARED_BYTES);
            // For bytes that places of each of eight classes take.
            let of_places = if all_candidates { 64 * (particles / 8 + 20) } else { 0 };
            let copies = (room.saturating_sub(of_places) / (particles * site_bytes)).min(2);
            let all_candidates = all_candidates && copies > 0;
            Sharing {
                blocks: 1,
                threads: 32 * warps,
                blocks_of_multiprocessor: blocks,
                staged_copies: copies as u32,
                all_candidates,
                shared_bytes: copies * particles * site_bytes
                    + if all_candidates { of_places } else { 0 },
                entry_bytes: if particles <= 1 << 16 { 2 } else { 4 },
                entry_log2: match copies {
                    1.. if particles * site_bytes <= 1 << 16 => site_bytes.ilog2(),
                    _ => 0,
                },
            }
        };
        // Share of its warps that a multiprocessor has under way: there may be a few too many in the last round.
        let use_of = |warps: u32| {
            let blocks = of_size(warps).blocks_of_multiprocessor;
            let rounds = tiles.div_ceil(warps);
            let used = f64::from(blocks * tiles) / f64::from(WARPS_OF_MULTIPROCESSOR * rounds);
            used * (1.0 - 0.01 * f64::from(blocks))
        };
        let sizes = 4..=WARPS_OF_MULTIPROCESSOR;
        let best = sizes.max_by(|&a, &b| use_of(a).total_cmp(&use_of(b))).expect("there are some");
        let many = of_size(best);
        if systems >= multiprocessors * many.blocks_of_multiprocessor {
            return many;
        }
        // Fewer: each has more threads, or several blocks.
        let blocks_of_multiprocessor = systems.div_ceil(multiprocessors);
        let few = of_size(WARPS_OF_MULTIPROCESSOR / blocks_of_multiprocessor);
        let blocks = (multiprocessors / systems).max(1);
        match blocks {
            1 => few,
            _ => {
                let unstaged = Sharing { staged_copies: 0, all_candidates: false, ..few };
                Sharing { blocks, shared_bytes: 0, entry_log2: 0, ..unstaged }
            }
        }
    }

    /// Threads of a block for a system of this many tiles (particles of a warp).
    pub fn threads_for(&self, tiles: u32) -> u32 {
        32 * warps(tiles.div_ceil(self.blocks).max(1), self.threads / 32)
    }
}

/// Warps that take tiles in as few rounds as `most` do.
fn warps(tiles: u32, most: u32) -> u32 {
    tiles.div_ceil(tiles.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MULTIPROCESSORS: u32 = 132;

    /// Sites of 16 bytes in a cubic box.
    fn sharing(systems: usize, particles: usize, shared_kib: usize) -> Sharing {
        Sharing::new(systems, particles, MULTIPROCESSORS, shared_kib << 10, 16, true)
    }

    #[test]
    fn many_systems_fill_all_multiprocessors() {
        for particles in [32, 100, 250, 500, 1000, 1100, 2000, 4000, 10_000, 50_000] {
            for shared_kib in [228, 164, 100] {
                let of = sharing(3000, particles, shared_kib);
                assert_eq!(of.blocks, 1, "{particles}");
                let warps = of.blocks_of_multiprocessor * of.threads / 32;
                assert!((20..=32).contains(&warps) || particles < 128, "{particles}: {of:?}");
                let shared =
                    of.blocks_of_multiprocessor as usize * (of.shared_bytes + SHARED_BYTES);
                assert!(of.shared_bytes == 0 || shared <= shared_kib << 10, "{particles}: {of:?}");
                assert!(of.threads_for(particles.div_ceil(32) as u32) <= of.threads);
            }
        }
        assert_eq!((sharing(528, 1000, 228).threads, sharing(2112, 250, 228).threads), (1024, 256));
        assert_eq!(sharing(1000, 10_000, 228).staged_copies, 1);
        assert_eq!(sharing(1000, 50_000, 228).staged_copies, 0);
    }

    #[test]
    fn few_systems_have_several_blocks_that_all_run_at_once() {
        for (systems, particles) in
            [(2, 1000), (8, 1000), (66, 4000), (100, 250), (131, 64), (132, 1000)]
        {
            let of = sharing(systems, particles, 228);
            assert!(of.blocks * systems as u32 <= MULTIPROCESSORS * of.blocks_of_multiprocessor);
            assert!(of.blocks == MULTIPROCESSORS / systems as u32, "{systems}: {of:?}");
            assert!(
                of.blocks == 1
                    || (of.staged_copies == 0 && !of.all_candidates && of.entry_log2 == 0)
            );
        }
        let two_of_one = sharing(200, 250, 228);
        assert_eq!(
            (two_of_one.blocks, two_of_one.blocks_of_multiprocessor, two_of_one.threads),
            (1, 2, 512)
        );
    }

    #[test]
    fn entries_hold_every_place() {
        for particles in [64, 4096, 4097, 65_536, 65_537] {
            let of = sharing(3000, particles, 228);
            let largest = (particles - 1) << of.entry_log2;
            assert!(largest < 1 << (8 * of.entry_bytes), "{particles}: {of:?}");
        }
    }
}
