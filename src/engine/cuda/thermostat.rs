//! Thermostats as the kernels get them, and the kernels that take steps under them.
use super::declare::{device_constants, device_struct, shared_header};
use crate::engine::StageContext;
use crate::plan::{self, Precision};
use crate::system::Species;

/// Up to this many threads a block the kernel with more registers runs: `advance_wide` in
/// `kernels/md/advance.cu`.
pub const SMALL_BLOCK: u32 = 512;

/// The same of `advance_global_wide` where sites are tagged (`kernels/md/tagged.cuh`).
pub const SMALL_BLOCK_TAGGED_GLOBAL: u32 = 384;

/// Most threads of a block of the other kernels that take steps: with 96 registers for each nothing is spilled, and the
/// threads still saturate a multiprocessor.
pub const LARGEST_BLOCK: u32 = 640;

/// The same of `advance_single_lane`, for one lane a particle.
pub const LARGEST_BLOCK_SINGLE_LANE: u32 = 768;

/// Whether `advance_single_lane` is the faster kernel for many particles: not in 64 bits. Tried on an H200.
pub fn single_lane_pays(precision: Precision) -> bool {
    precision != Precision::Double
}

device_constants! {
    /// What acts on the velocities.
    mod kind: u32 {
        NONE = 0, as THERMOSTAT_NONE;
        LANGEVIN = 1, as THERMOSTAT_LANGEVIN;
        NOSE_HOOVER = 2, as THERMOSTAT_NOSE_HOOVER;
        BUSSI = 3, as THERMOSTAT_BUSSI;
        ANDERSEN = 4, as THERMOSTAT_ANDERSEN;
    }
}

/// Which kernel takes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Nothing acts on the velocities.
    None = kind::NONE,
    Langevin = kind::LANGEVIN,
    NoseHoover = kind::NOSE_HOOVER,
    Bussi = kind::BUSSI,
    Andersen = kind::ANDERSEN,
}

impl Kind {
    /// Whether tagged sites leave it a warp of each block (`SPARES_WARP` in `kernels/md/passes.cuh`).
    pub fn spares_warp(self) -> bool {
        matches!(self, Kind::NoseHoover | Kind::Bussi)
    }
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
    /// For small blocks.
    GlobalWide,
    Andersen,
    AndersenSingleLane,
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
    /// For a number of tiles (particles of a warp), spread evenly over the GPU. `alone`: one lane a particle, and it pays.
    pub fn new(kind: Kind, tiles: u32, blocks: u32, alone: bool) -> Self {
        let tiles_of_block = tiles.div_ceil(blocks).max(1);
        let warps = |largest: u32| {
            let most = largest / 32;
            let rounds = tiles_of_block.div_ceil(most);
            tiles_of_block.div_ceil(rounds).min(most)
        };
        let threads = |largest: u32| 32 * warps(largest).next_multiple_of(4).min(largest / 32);
        let of_size = |threads: u32, small: StepKernel, large: StepKernel| {
            (if threads <= SMALL_BLOCK { small } else { large }, threads)
        };
        let alone = alone && tiles_of_block > SMALL_BLOCK / 32;
        let (kernel, threads) = match kind {
            Kind::None if alone => (StepKernel::SingleLane, threads(LARGEST_BLOCK_SINGLE_LANE)),
            Kind::None if threads(LARGEST_BLOCK) <= SMALL_BLOCK => {
                (StepKernel::Wide, threads(LARGEST_BLOCK))
            }
            Kind::None => (StepKernel::Plain, threads(LARGEST_BLOCK)),
            Kind::Langevin => {
                of_size(threads(LARGEST_BLOCK), StepKernel::LangevinWide, StepKernel::Langevin)
            }
            Kind::NoseHoover | Kind::Bussi => {
                // With a warp to spare for the thermostat, where there is room.
                let threads = 32 * (warps(LARGEST_BLOCK) + 1).next_multiple_of(4);
                of_size(threads.min(LARGEST_BLOCK), StepKernel::GlobalWide, StepKernel::Global)
            }
            Kind::Andersen if alone => {
                (StepKernel::AndersenSingleLane, threads(LARGEST_BLOCK_SINGLE_LANE))
            }
            Kind::Andersen => (StepKernel::Andersen, threads(LARGEST_BLOCK)),
        };
        Geometry { kernel, blocks, threads }
    }
}

device_struct! {
    /// What acts on the velocities of this launch.
    pub struct Thermostat {
        kind: u32,
        chain_length: u32,
        seed: u64,
        stage_first_step: u64,
        stage_steps: u64,
        /// Ramp of the thermostat's temperature over the stage.
        from: f64,
        to: f64,
        timestep: f64,
        degrees_of_freedom: u64,
        /// Langevin: exp(-friction dt); Nose-Hoover: period; Bussi: relaxation time, 0 where the kinetic energy stays as it is.
        parameter: f64,
        /// Andersen: steps between collisions, the mass of all particles, whether velocities are scaled to the temperature
        /// exactly, and whether all masses are equal.
        interval: u64,
        total_mass: f64,
        exact: u32,
        equal_masses: u32,
    }
}

device_constants! {
    /// Sums that each block leaves of a launch's steps: of as many the memory is used again.
    mod turns: u32 {
        TURNS_OF_SUMS = 4;
    }
}
/// For each block: heat and kinetic energy.
pub const SUMS_OF_BLOCK: usize = 2 * turns::TURNS_OF_SUMS as usize;

shared_header!(pub SHARED = "shared/thermostat.cuh": kind::Declaration, turns::Declaration, Thermostat);

impl Thermostat {
    pub fn new(
        stage: &StageContext,
        seed: u64,
        timestep: f64,
        degrees_of_freedom: u64,
        species: &[Species],
    ) -> (Kind, Self) {
        let temperature = stage.thermostat.map(|thermostat| thermostat.temperature);
        let (kind, chain_length, parameter) = match stage.thermostat.map(|t| t.kind) {
            None => (Kind::None, 0, 0.0),
            Some(plan::Thermostat::Andersen { .. }) => (Kind::Andersen, 0, 0.0),
            Some(of @ (plan::Thermostat::Langevin { .. } | plan::Thermostat::Brownian { .. })) => {
                (Kind::Langevin, 0, of.damping(timestep).expect("it acts on each particle"))
            }
            Some(plan::Thermostat::NoseHoover { period, chain_length }) => {
                (Kind::NoseHoover, chain_length as u32, period)
            }
            Some(plan::Thermostat::Bussi { time }) => (Kind::Bussi, 0, time),
            Some(plan::Thermostat::Isokinetic) => (Kind::Bussi, 0, 0.0),
        };
        let exact = match stage.thermostat.map(|t| t.kind) {
            Some(plan::Thermostat::Andersen { exact, .. }) => exact,
            _ => false,
        };
        let thermostat = Thermostat {
            kind: kind as u32,
            chain_length,
            seed,
            stage_first_step: stage.first_step,
            stage_steps: stage.steps,
            from: temperature.map_or(0.0, |ramp| ramp.from),
            to: temperature.map_or(0.0, |ramp| ramp.to),
            timestep,
            degrees_of_freedom,
            parameter,
            interval: stage.collision_interval(timestep).unwrap_or(1),
            total_mass: species.iter().map(|s| s.mass * s.count as f64).sum(),
            exact: exact.into(),
            equal_masses: species.windows(2).all(|pair| pair[0].mass == pair[1].mass).into(),
        };
        (kind, thermostat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_their_tiles_in_as_few_rounds_as_the_kernel_allows() {
        for (particles, lanes, alone, kernel, threads) in [
            (1_000, 16, false, StepKernel::Wide, 128),
            (50_000, 1, true, StepKernel::Wide, 384),
            (80_000, 1, true, StepKernel::SingleLane, 640),
            (1_000_000, 1, true, StepKernel::SingleLane, 768),
            (1_000_000, 1, false, StepKernel::Plain, 640),
        ] {
            let tiles = u32::div_ceil(particles * lanes, 32);
            let found = Geometry::new(Kind::None, tiles, 132, alone);
            assert_eq!((found.kernel, found.threads), (kernel, threads), "{particles}");
            let most = if alone { LARGEST_BLOCK_SINGLE_LANE } else { LARGEST_BLOCK };
            let tiles_of_block = tiles.div_ceil(132);
            assert_eq!(tiles_of_block.div_ceil(threads / 32), tiles_of_block.div_ceil(most / 32));
        }
        let langevin = Geometry::new(Kind::Langevin, 31_250, 132, true);
        assert_eq!((langevin.kernel, langevin.threads), (StepKernel::Langevin, 640));
        let andersen = Geometry::new(Kind::Andersen, 31_250, 132, true);
        assert_eq!((andersen.kernel, andersen.threads), (StepKernel::AndersenSingleLane, 768));
    }
}
