//! The kernels of a rank (`kernels/domain`), and the constants that they share with the host.
use super::MultiRank;
use super::halo::Starts;
use super::steps_with_peers::PeerLaunch;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::{Pointer, device_constants, shared_header};
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::launch::{Arguments, Grid, Kernel, kernels};
use crate::engine::cuda::thermostat::{LARGEST_BLOCK_SINGLE_LANE, StepKernel, Thermostat};

/// Threads of a block of the cooperative kernels that sort and build lists.
pub const REBUILDING_BLOCK: u32 = LARGEST_BLOCK_SINGLE_LANE;

device_constants! {
    /// Tiles that a pass works on: those of the interior hold no particle that is sent, and their lists no ghosts.
    pub mod region: u32 {
        INTERIOR = 0;
        BOUNDARY = 1;
        EVERYWHERE = 2;
    }
}

device_constants! {
    /// What is there of a step: its forces; or only sites, with those of the ghosts or of the own particles alone.
    pub mod present: u32 {
        FORCES = 0;
        ALL_SITES = 1;
        OWN_SITES = 2;
    }
}

shared_header!(pub SHARED = "shared/domain.cuh": region::Declaration, present::Declaration);

kernels! {
    pub struct RankKernels {
        advance_with_peers(PeerLaunch, Thermostat);
        advance_with_peers_wide(PeerLaunch, Thermostat);
        advance_with_peers_single_lane(PeerLaunch, Thermostat);
        advance_with_peers_langevin(PeerLaunch, Thermostat);
        advance_with_peers_global(PeerLaunch, Thermostat);
        kick_and_drift(u64);
        forces_of_region(u32, u32, u64);
        langevin_half_step(Thermostat, u64, u64, Pointer<SplitSum>);
        find_maximum_displacement();
        save_particles();
        restore_particles();
        renew_sites();
        find_destinations();
        pack_migrants();
        take_migrants(Starts, u32);
        count_sent();
        choose_sent();
        pack_ghosts();
        sort_own();
        build_with_ghosts(u32, u32);
        pack_places();
        take_places(u32);
        pack_sites();
        take_sites(u32);
        leave_with_peers(u64, u32, u32);
        enter_with_peers(u32);
        list_with_peers(u32, u32);
    }
}

impl RankKernels {
    /// What a rank has in place of a kernel that takes steps.
    pub fn with_peers(&self, kernel: StepKernel) -> Kernel<(PeerLaunch, Thermostat)> {
        match kernel {
            StepKernel::SingleLane => self.advance_with_peers_single_lane,
            StepKernel::Wide => self.advance_with_peers_wide,
            StepKernel::Langevin => self.advance_with_peers_langevin,
            StepKernel::Global => self.advance_with_peers_global,
            // Collisions come between launches.
            StepKernel::Plain | StepKernel::Andersen | StepKernel::AndersenSingleLane => {
                self.advance_with_peers
            }
        }
    }
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Registers and bytes of local memory of the kernel that takes the steps.
    pub(super) fn resources_on_rank(&self, kernel: StepKernel) -> (i32, i32) {
        let kernels = self.stepper.kernels;
        if self.stepper.writes_to_peers {
            self.kernels.resources(kernels.with_peers(kernel))
        } else {
            self.kernels.resources(kernels.forces_of_region)
        }
    }

    /// Launches a cooperative kernel.
    pub(super) fn on_all_blocks<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        let blocks = self.session.gpu.multiprocessors;
        self.kernels.launch(kernel, Grid::cooperative(blocks, REBUILDING_BLOCK), arguments)
    }

    /// Launches an ordinary kernel over a number of items.
    pub(super) fn over<A: Arguments>(
        &self,
        items: u32,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        if items == 0 { Ok(()) } else { self.over_threads(items as usize, kernel, arguments) }
    }
}
