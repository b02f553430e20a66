//! Which kernel takes the steps of a launch, and how many threads a block has.
use super::thermostat::Kind;
use crate::plan::Precision;

/// Most threads of a block of the kernels that have more registers for each ([`StepKernel`]).
pub const SMALL_BLOCK: u32 = 512;

/// The same under a thermostat of the whole system where sites are tagged (`kernels/md/tagged.cuh`).
pub const SMALL_BLOCK_TAGGED_GLOBAL: u32 = 384;

/// Most threads of a block of the other kernels that take steps: with 96 registers for each little is spilled, and the
/// threads still saturate a multiprocessor.
pub const LARGEST_BLOCK: u32 = 640;

/// The same of `advance_single_lane`, for one lane a particle.
pub const LARGEST_BLOCK_SINGLE_LANE: u32 = 768;

/// From this number of particles on `advance_global_one_tile` is the faster kernel. Tried on an H200.
const FEWEST_OF_ONE_TILE: u32 = 1_500;

/// Whether `advance_single_lane` is the faster kernel for many particles: not in 64 bits. Tried on an H200.
pub fn single_lane_pays(precision: Precision) -> bool {
    precision != Precision::Double
}

/// The kernels that take steps (`kernels/md/advance.cu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKernel {
    Plain,
    /// For small blocks, with more registers.
    Wide,
    SingleLane,
    Langevin,
    /// For small blocks, and four lanes a particle or more.
    LangevinWide,
    /// For small blocks, and fewer lanes; not where sites are tagged.
    LangevinFewLanes,
    /// Thermostats of the whole system.
    Global,
    /// For small blocks; where sites are not tagged, for four lanes a particle or more.
    GlobalWide,
    /// For small blocks, and fewer lanes; not where sites are tagged.
    GlobalFewLanes,
    /// For small blocks with as many tiles as warps. The first one has a tile less, and acts for all; four lanes a particle or more. Not where
    /// sites are tagged.
    GlobalFirstActs,
    /// Where sites are tagged, each warp has one tile or none, and four lanes or more work on a particle.
    GlobalOneTile,
    Andersen,
    /// For small blocks, and four lanes a particle or more; not where sites are tagged.
    AndersenWide,
    AndersenSingleLane,
}

/// How the work on particles is shared out among lanes.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// How many tiles there are: the particles that a warp works on together.
    pub tiles: u32,
    /// Binary logarithm of the number of lanes that work on a particle.
    pub log2: u32,
    /// Whether kernels for one lane a particle may take the steps.
    pub may_be_single: bool,
}

impl Lanes {
    /// Whether three lanes of a particle integrate an axis each (`BY_AXIS` in `kernels/md/advance.cuh`).
    fn integrate_by_axis(self) -> bool {
        self.log2 >= 2
    }
}

/// A kernel that takes steps, and its blocks.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub kernel: StepKernel,
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Geometry {
    /// Tiles are spread evenly over the blocks.
    pub fn new(kind: Kind, lanes: Lanes, blocks: u32) -> Self {
        let tiles_of_block = lanes.tiles.div_ceil(blocks).max(1);
        let warps = |largest: u32| {
            let most = largest / 32;
            let rounds = tiles_of_block.div_ceil(most);
            tiles_of_block.div_ceil(rounds).min(most)
        };
        let alone = lanes.may_be_single && tiles_of_block > SMALL_BLOCK / 32;
        let threads = match kind {
            Kind::None | Kind::Andersen if alone => {
                32 * warps(LARGEST_BLOCK_SINGLE_LANE).next_multiple_of(4)
            }
            Kind::None | Kind::Andersen | Kind::Langevin => {
                32 * warps(LARGEST_BLOCK).next_multiple_of(4)
            }
            Kind::NoseHoover | Kind::Bussi => {
                // With a warp to spare for the thermostat, where there is room. Blocks that would no longer be small by it lose registers, and
                // with two lanes a particle these are worth more (docs/performance.md, "The factor of the whole system").
                let tiles = warps(LARGEST_BLOCK);
                let spares = 32 * tiles != SMALL_BLOCK || lanes.log2 != 1;
                (32 * (tiles + u32::from(spares))).next_multiple_of(4 * 32).min(LARGEST_BLOCK)
            }
        };
        let of_size = |by_axis: StepKernel, few_lanes: StepKernel, large: StepKernel| match (
            threads <= SMALL_BLOCK,
            lanes.integrate_by_axis(),
        ) {
            (true, true) => by_axis,
            (true, false) => few_lanes,
            (false, _) => large,
        };
        use StepKernel::*;
        let kernel = match kind {
            Kind::None if alone => SingleLane,
            Kind::None => of_size(Wide, Wide, Plain),
            Kind::Langevin => of_size(LangevinWide, LangevinFewLanes, Langevin),
            Kind::NoseHoover | Kind::Bussi => of_size(GlobalWide, GlobalFewLanes, Global),
            Kind::Andersen if alone => AndersenSingleLane,
            Kind::Andersen => of_size(AndersenWide, Andersen, Andersen),
        };
        Geometry { kernel, blocks, threads }
    }

    /// Of a system that is alone, where sites are not tagged.
    pub fn of_one_system(kind: Kind, lanes: Lanes, blocks: u32) -> Self {
        let geometry = Self::new(kind, lanes, blocks);
        let is_full = 32 * lanes.tiles.div_ceil(blocks) == SMALL_BLOCK;
        // One warp for all blocks, in place of one more in each, for which there are no registers (docs/performance.md, "The factor of the whole
        // system"). The first block has the fewest tiles.
        let first_has_room = is_full && !lanes.tiles.is_multiple_of(blocks);
        match kind.spares_warp() && lanes.integrate_by_axis() && first_has_room {
            true => Geometry { kernel: StepKernel::GlobalFirstActs, threads: SMALL_BLOCK, blocks },
            false => geometry,
        }
    }

    /// Where the sites of all particles are tagged (`kernels/md/tagged.cuh`), and each block takes them as they come.
    pub fn with_tagged_sites(kind: Kind, lanes: Lanes, blocks: u32, particles: u32) -> Self {
        let staging = (particles / 4).next_multiple_of(32);
        let threads = Self::new(Kind::None, lanes, blocks).threads.max(staging);
        let threads = match kind.spares_warp() {
            true => threads.min(SMALL_BLOCK_TAGGED_GLOBAL - 32) + 32,
            false => threads.min(SMALL_BLOCK),
        };
        // A block without particles would be seen by nobody, and fall behind.
        let blocks = blocks.min(lanes.tiles);
        let kernel = match kind {
            Kind::None => StepKernel::Wide,
            Kind::Langevin if lanes.integrate_by_axis() => StepKernel::LangevinWide,
            Kind::Langevin => StepKernel::Langevin,
            Kind::NoseHoover | Kind::Bussi => {
                let has_one_tile = lanes.tiles.div_ceil(blocks) < threads / 32;
                match has_one_tile && lanes.integrate_by_axis() && particles >= FEWEST_OF_ONE_TILE {
                    true => StepKernel::GlobalOneTile,
                    false => StepKernel::GlobalWide,
                }
            }
            Kind::Andersen => StepKernel::Andersen,
        };
        Geometry { kernel, blocks, threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On the multiprocessors of an H200.
    fn geometry(kind: Kind, particles: u32, log2: u32, may_be_single: bool) -> Geometry {
        let lanes = Lanes { tiles: u32::div_ceil(particles << log2, 32), log2, may_be_single };
        Geometry::new(kind, lanes, 132)
    }

    #[test]
    fn blocks_hold_their_tiles_in_as_few_rounds_as_the_kernel_allows() {
        for (particles, log2, may_be_single, kernel, threads) in [
            (1_000, 4, false, StepKernel::Wide, 128),
            (50_000, 0, true, StepKernel::Wide, 384),
            (80_000, 0, true, StepKernel::SingleLane, 640),
            (1_000_000, 0, true, StepKernel::SingleLane, 768),
            (1_000_000, 0, false, StepKernel::Plain, 640),
        ] {
            let found = geometry(Kind::None, particles, log2, may_be_single);
            assert_eq!((found.kernel, found.threads), (kernel, threads), "{particles}");
            let most = if may_be_single { LARGEST_BLOCK_SINGLE_LANE } else { LARGEST_BLOCK };
            let tiles_of_block = u32::div_ceil(particles << log2, 32).div_ceil(132);
            assert_eq!(tiles_of_block.div_ceil(threads / 32), tiles_of_block.div_ceil(most / 32));
        }
    }

    #[test]
    fn a_kernel_for_small_blocks_knows_its_lanes_under_a_thermostat() {
        for (kind, particles, log2, kernel, threads) in [
            (Kind::Langevin, 16_384, 2, StepKernel::LangevinWide, 512),
            (Kind::Langevin, 32_000, 1, StepKernel::LangevinFewLanes, 512),
            (Kind::Langevin, 1_000_000, 0, StepKernel::Langevin, 640),
            (Kind::Andersen, 16_384, 2, StepKernel::AndersenWide, 512),
            (Kind::Andersen, 32_000, 1, StepKernel::Andersen, 512),
            (Kind::Andersen, 1_000_000, 0, StepKernel::AndersenSingleLane, 768),
            // With a warp more.
            (Kind::Bussi, 5_000, 3, StepKernel::GlobalWide, 384),
            (Kind::Bussi, 12_000, 2, StepKernel::GlobalWide, 512),
            (Kind::Bussi, 16_384, 2, StepKernel::Global, 640),
            // With a warp more it would have fewer registers.
            (Kind::NoseHoover, 32_000, 1, StepKernel::GlobalFewLanes, 512),
            (Kind::NoseHoover, 50_000, 0, StepKernel::GlobalFewLanes, 512),
            (Kind::NoseHoover, 66_000, 0, StepKernel::Global, 640),
            (Kind::Bussi, 1_000_000, 0, StepKernel::Global, 640),
        ] {
            let found = geometry(kind, particles, log2, true);
            assert_eq!((found.kernel, found.threads), (kernel, threads), "{kind:?} {particles}");
        }
    }

    #[test]
    fn the_first_of_full_blocks_acts_for_all_where_it_has_room() {
        let geometry = |kind, particles: u32, log2: u32| {
            let lanes =
                Lanes { tiles: (particles << log2).div_ceil(32), log2, may_be_single: true };
            let found = Geometry::of_one_system(kind, lanes, 132);
            (found.kernel, found.threads)
        };
        assert_eq!(geometry(Kind::Bussi, 8_000, 3), (StepKernel::GlobalFirstActs, 512));
        assert_eq!(geometry(Kind::NoseHoover, 16_384, 2), (StepKernel::GlobalFirstActs, 512));
        // No block has; blocks are not full; two lanes a particle; each block is on its own.
        assert_eq!(geometry(Kind::Bussi, 16_896, 2), (StepKernel::Global, 640));
        assert_eq!(geometry(Kind::Bussi, 5_000, 3), (StepKernel::GlobalWide, 384));
        assert_eq!(geometry(Kind::Bussi, 32_000, 1), (StepKernel::GlobalFewLanes, 512));
        assert_eq!(geometry(Kind::Langevin, 16_384, 2), (StepKernel::LangevinWide, 512));
    }

    #[test]
    fn blocks_with_tagged_sites_have_a_particle_each_and_threads_to_take_all_sites() {
        let geometry = |kind, particles: u32, log2: u32| {
            let lanes =
                Lanes { tiles: (particles << log2).div_ceil(32), log2, may_be_single: true };
            let found = Geometry::with_tagged_sites(kind, lanes, 132, particles);
            (found.kernel, found.blocks, found.threads)
        };
        assert_eq!(geometry(Kind::None, 108, 5), (StepKernel::Wide, 108, 128));
        assert_eq!(geometry(Kind::None, 1_000, 4), (StepKernel::Wide, 132, 256));
        assert_eq!(geometry(Kind::Bussi, 1_000, 4), (StepKernel::GlobalWide, 132, 288));
        assert_eq!(geometry(Kind::Bussi, 4_000, 3), (StepKernel::GlobalOneTile, 132, 384));
        // Two tiles a warp; two lanes a particle.
        assert_eq!(geometry(Kind::Bussi, 4_000, 4), (StepKernel::GlobalWide, 132, 384));
        assert_eq!(geometry(Kind::Bussi, 4_000, 1), (StepKernel::GlobalWide, 132, 384));
        assert_eq!(geometry(Kind::Andersen, 4_000, 3), (StepKernel::Andersen, 132, 512));
        assert_eq!(geometry(Kind::Langevin, 4_000, 1), (StepKernel::Langevin, 132, 512));
    }
}
