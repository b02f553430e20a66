//! Swap Monte Carlo on a GPU (`kernels/md/swaps.cuh`): a block takes the trials of a system.
use super::buffers::Control;
use super::constants::DevicePolicy;
use super::declare::{device_constants, device_struct, shared_header};
use super::engine::CudaEngine;
use super::launch::{Grid, kernels};
use super::single_rank::SingleRank;
use crate::engine::EngineError;
use crate::engine::swaps::{SwapTrials, energy};

device_struct! {
    /// The trials of a system after a step.
    pub struct Swaps {
        pub key: u64,
        pub step: u64,
        pub temperature: f64,
        /// Squared distance beyond which no particles interact.
        pub farthest2: f64,
        /// Of species that are exchanged (`SpeciesPairs`).
        pub pairs: u64,
        pub count: u32,
        pub unused: u32,
    }
}

device_constants! {
    /// Of a block: each warp has a trial.
    pub mod threads: u32 {
        SWAP_THREADS = 768;
    }
}

shared_header!(pub SHARED = "shared/swaps.cuh": threads::Declaration, Swaps);

kernels! {
    /// Of one system.
    pub struct SwapKernels {
        swap_particles(Swaps);
    }
}

/// Widens the reach beyond what rounding of distances may take.
const MARGIN: f64 = 1.0 + 1e-5;

/// Blocks for a system of this many particles: of the trials that are under way few touch each other.
fn blocks_for(particles: usize, multiprocessors: u32) -> u32 {
    const PARTICLES_OF_BLOCK: usize = 4096;
    /// The kernel has words for as many.
    const MOST: u32 = 42;
    ((particles / PARTICLES_OF_BLOCK) as u32).clamp(1, multiprocessors.min(MOST))
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Trials as the kernel takes them.
    pub(super) fn swaps(&self, trials: &SwapTrials) -> Swaps {
        let farthest = self.plan.potential.largest_cutoff() * MARGIN;
        Swaps {
            key: trials.key,
            step: trials.step,
            temperature: trials.temperature,
            farthest2: farthest * farthest,
            pairs: trials.pairs.bits(),
            count: trials.count,
            unused: 0,
        }
    }

    /// Takes the trials. Lists and forces are those of before.
    pub(super) fn swap(
        &mut self,
        kernels: &SwapKernels,
        trials: &SwapTrials,
    ) -> Result<(), EngineError> {
        let blocks = blocks_for(self.state.count(), self.device.multiprocessors());
        self.state.write_control()?;
        let grid = Grid::cooperative(blocks, threads::SWAP_THREADS);
        self.device.kernels().launch(kernels.swap_particles, grid, (self.swaps(trials),))?;
        let control = self.state.read_control()?;
        self.take_swaps(&control);
        Ok(())
    }

    /// Takes over what trials have left.
    pub(super) fn take_swaps(&mut self, control: &Control) {
        self.thermostat.swap_trials += control.swap_trials;
        self.thermostat.swaps += control.swaps;
        self.thermostat.heat += energy(control.swap_change);
    }
}
