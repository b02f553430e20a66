//! The kernels that take steps of a whole system (`kernels/md/advance.cu`), and what a launch is given.
use super::declare::{device_struct, shared_header};
use super::geometry::StepKernel;
use super::launch::{Kernel, kernels};
use super::thermostat::Thermostat;

device_struct! {
    /// After which steps of a launch something is done within it, and its number the first time.
    pub struct SampleTimes {
        /// ~0: never.
        first: u32,
        every: u32,
        number: u32,
        unused: u32,
    }
}

device_struct! {
    /// How the tilt of the box grows in the steps of a launch: as `TiltGrowth` in src/plan/shear.rs.
    pub struct LaunchFlow {
        /// Whether it does.
        pub flows: u32,
        pub unused: u32,
        pub quarter: f64,
        pub amplitude: f64,
        pub period: u64,
        /// Steps of the oscillation that are over where the launch begins.
        pub phase: u64,
    }
}

device_struct! {
    /// Steps of one launch.
    pub struct Launch {
        /// Steps since the start of the run at which the launch begins.
        pub first_step: u64,
        /// Steps of the launch that were complete at its last interruption, and all of them.
        pub from: u32,
        pub steps: u32,
        /// Build the lists first.
        pub rebuild: u32,
        /// Sites were those of a checkpoint's lists: take the present ones after building.
        pub restore: u32,
        /// Of the sites of its first step: those of the steps that follow are one more each (`kernels/md/tagged.cuh`).
        pub tag: u32,
        /// Particles share what rounding leaves of the momentum in each drift of a flow.
        pub shares_residue: u32,
        pub flow: LaunchFlow,
        pub samples: SampleTimes,
        pub stress: SampleTimes,
    }
}

shared_header!(pub SHARED = "shared/launch.cuh": SampleTimes, LaunchFlow, Launch);

kernels! {
    /// The kernels that take steps of a whole system.
    pub struct AdvanceKernels {
        advance(Launch, Thermostat);
        advance_wide(Launch, Thermostat);
        advance_single_lane(Launch, Thermostat);
        advance_langevin(Launch, Thermostat);
        advance_langevin_wide(Launch, Thermostat);
        advance_langevin_few_lanes(Launch, Thermostat);
        advance_global(Launch, Thermostat);
        advance_global_wide(Launch, Thermostat);
        advance_global_few_lanes(Launch, Thermostat);
        advance_global_first_acts(Launch, Thermostat);
        advance_global_one_tile(Launch, Thermostat);
        advance_andersen(Launch, Thermostat);
        advance_andersen_wide(Launch, Thermostat);
        advance_andersen_single_lane(Launch, Thermostat);
    }
}

impl AdvanceKernels {
    pub fn all(&self) -> [Kernel<(Launch, Thermostat)>; 14] {
        [
            self.advance,
            self.advance_wide,
            self.advance_single_lane,
            self.advance_langevin,
            self.advance_langevin_wide,
            self.advance_langevin_few_lanes,
            self.advance_global,
            self.advance_global_wide,
            self.advance_global_few_lanes,
            self.advance_global_first_acts,
            self.advance_global_one_tile,
            self.advance_andersen,
            self.advance_andersen_wide,
            self.advance_andersen_single_lane,
        ]
    }

    pub fn get(&self, kernel: StepKernel) -> Kernel<(Launch, Thermostat)> {
        match kernel {
            StepKernel::Plain => self.advance,
            StepKernel::Wide => self.advance_wide,
            StepKernel::SingleLane => self.advance_single_lane,
            StepKernel::Langevin => self.advance_langevin,
            StepKernel::LangevinWide => self.advance_langevin_wide,
            StepKernel::LangevinFewLanes => self.advance_langevin_few_lanes,
            StepKernel::Global => self.advance_global,
            StepKernel::GlobalWide => self.advance_global_wide,
            StepKernel::GlobalFewLanes => self.advance_global_few_lanes,
            StepKernel::GlobalFirstActs => self.advance_global_first_acts,
            StepKernel::GlobalOneTile => self.advance_global_one_tile,
            StepKernel::Andersen => self.advance_andersen,
            StepKernel::AndersenWide => self.advance_andersen_wide,
            StepKernel::AndersenSingleLane => self.advance_andersen_single_lane,
        }
    }
}

impl SampleTimes {
    pub const NONE: SampleTimes = SampleTimes { first: u32::MAX, every: 1, number: 0, unused: 0 };

    /// `first` lies in the launch.
    pub fn new(first: u64, every: u64, number: u32) -> Self {
        // A launch has fewer than 2^32 steps.
        let every = every.min(u64::from(u32::MAX)) as u32;
        SampleTimes { first: first as u32, every, number, unused: 0 }
    }
}

/// When a launch takes samples of the particles, and sums up the stress.
#[derive(Clone, Copy, Debug)]
pub struct LaunchSamples {
    pub particles: SampleTimes,
    pub stress: SampleTimes,
}

impl LaunchSamples {
    pub const NONE: LaunchSamples =
        LaunchSamples { particles: SampleTimes::NONE, stress: SampleTimes::NONE };
}
