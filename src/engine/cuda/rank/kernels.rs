//! The kernels of a rank (`kernels/domain`), and the constants that they share with the host.
use super::halo::{self, Starts};
use crate::engine::cuda::advance::LaunchFlow;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::declare::{
    Pointer, SharedHeader, device_constants, device_struct, shared_header,
};
use crate::engine::cuda::geometry::{LARGEST_BLOCK_SINGLE_LANE, StepKernel};
use crate::engine::cuda::launch::{Kernel, kernels};
use crate::engine::cuda::thermostat::Thermostat;

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

device_struct! {
    /// The flow from a drift on, and what rounding leaves of the momentum along x in this one (`Residue`).
    pub struct FlowOfStep {
        pub flow: LaunchFlow,
        pub sign: i64,
        pub share: i64,
        pub rest: u64,
    }
}

device_struct! {
    /// Lists that are made in a step.
    pub struct NewLists {
        /// Step in which the ones before were made, and the present one, unless that is where the steps before have ended.
        pub made: u64,
        pub step: u64,
        pub where_steps_end: u32,
        pub unused: u32,
        /// What friction leaves of a velocity in a step.
        pub damping: f64,
    }
}

device_struct! {
    /// Steps of one launch with peers.
    pub struct PeerLaunch {
        pub of_step: FlowOfStep,
        pub first_step: u64,
        /// Times that all ranks have sent sites since the start.
        pub sequence: u64,
        pub steps: u32,
        /// What is there of the first step.
        pub present: u32,
        /// Ends with the first kick and the drift of the next step.
        pub drifts: u32,
        /// Lists are new: only one copy of the particles has ids and species.
        pub names: u32,
        /// Launches with a thermostat of the whole system, this one included.
        pub number: u32,
        /// Number of its report.
        pub report: u32,
        /// From the drift after this number of steps all ranks check whether the lists are good for it, and end with the
        /// first for which they are not.
        pub looks_after: u32,
        /// Whether a rebuilding is launched after, for this end.
        pub rebuilds: u32,
    }
}

shared_header!(DOMAIN = "shared/domain.cuh": region::Declaration, present::Declaration, FlowOfStep, NewLists);
shared_header!(PEER_LAUNCH = "shared/peer_launch.cuh": PeerLaunch);
/// Of the program of a rank.
pub const SHARED: [SharedHeader; 5] = [halo::HALO, halo::SHARED, DOMAIN, halo::REPORT, PEER_LAUNCH];

/// Tiles that a force kernel works on.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Region {
    Interior = region::INTERIOR,
    Boundary = region::BOUNDARY,
    Everywhere = region::EVERYWHERE,
}

/// What is there of a step: forces and velocities; or only sites after its drift, with those of the ghosts or of the own
/// particles alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    Forces,
    AllSites,
    OwnSites,
    /// Those of the own particles; lists have just been made around others, and what the thermostat gave in the drift is on the GPU.
    OwnSitesWithLists,
}

impl Present {
    /// As kernels know it.
    pub fn of_launch(self) -> u32 {
        match self {
            Present::Forces => present::FORCES,
            Present::AllSites => present::ALL_SITES,
            Present::OwnSites | Present::OwnSitesWithLists => present::OWN_SITES,
        }
    }

    /// Whether lists have just been made for the step.
    pub fn has_new_lists(self) -> bool {
        matches!(self, Present::AllSites | Present::OwnSitesWithLists)
    }
}

kernels! {
    pub struct RankKernels {
        advance_with_peers(PeerLaunch, Thermostat);
        advance_with_peers_wide(PeerLaunch, Thermostat);
        advance_with_peers_single_lane(PeerLaunch, Thermostat);
        advance_with_peers_langevin(PeerLaunch, Thermostat);
        advance_with_peers_global(PeerLaunch, Thermostat);
        kick_and_drift(u64, FlowOfStep);
        kick();
        drift(u64, FlowOfStep);
        half_drift(FlowOfStep);
        end_drift(u64, FlowOfStep);
        set_tilt(f64);
        sum_losses(Pointer<SplitSum>, f64);
        scale_and_kick(f64, u64, Pointer<SplitSum>);
        forces_of_region(u32, u32, u64);
        friction_and_noise(Thermostat, u64, Pointer<SplitSum>);
        find_maximum_displacement();
        save_particles();
        restore_particles();
        renew_sites();
        expect_all(f32);
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
        leave_with_peers(NewLists, u32, u32, FlowOfStep);
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
            StepKernel::Langevin | StepKernel::LangevinWide | StepKernel::LangevinFewLanes => {
                self.advance_with_peers_langevin
            }
            StepKernel::Global
            | StepKernel::GlobalWide
            | StepKernel::GlobalFewLanes
            | StepKernel::GlobalFirstActs
            | StepKernel::GlobalOneTile => self.advance_with_peers_global,
            // Collisions come between launches.
            StepKernel::Plain
            | StepKernel::Andersen
            | StepKernel::AndersenWide
            | StepKernel::AndersenSingleLane => self.advance_with_peers,
        }
    }
}
