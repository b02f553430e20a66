//! The particles of one domain among others on a GPU; see [`crate::engine::domain`].
//!
//! Steps are taken with lists whose end all ranks agree on ([`steps`]). Where kernels reach the neighbors' memory
//! ([`peer`]), they rebuild lists ([`rebuild_with_peers`]) and take the steps between ([`steps_with_peers`]) by themselves.
//! Else, and where something has no room, the host leads: it has particles migrate and ghosts chosen ([`rebuild`]), every
//! step's ghosts sent ([`steps_of_host`]), and messages travel by a [`transport`].
mod begin;
mod connect;
mod findings;
mod gpu_times;
mod halo;
mod kernels;
mod part;
mod peer;
mod rebuild;
mod rebuild_with_peers;
mod report;
mod steps;
mod steps_of_host;
mod steps_with_peers;
mod transport;

pub use self::begin::program;

use self::gpu_times::GpuTimes;
use self::halo::{Halo, HaloBuffers, HaloCapacity, HaloControl};
pub use self::kernels::RankKernels;

use self::kernels::present;
use self::rebuild_with_peers::Rebuilding;
use self::report::Reports;
use self::steps_of_host::Region;
use self::transport::{Messages, Transport};
use super::buffers::Control;
use super::constants::DevicePolicy;
use super::declare::SharedHeader;
use super::engine::CudaEngine;
use super::thermostat::{Geometry, Kind};
use crate::engine::domain::{Domain, Part, RankEngine};
use crate::engine::report::{EngineReport, Execution};
use crate::engine::thermostats::scale_velocities;
use crate::engine::{EngineError, StageContext, Thermodynamics};
use crate::integrator::ThermostatState;

/// What the kernels of ranks share with the host.
pub const SHARED: &[SharedHeader] =
    &[halo::HALO, halo::SHARED, kernels::SHARED, halo::REPORT, steps_with_peers::SHARED];

/// What is there of a step: forces and velocities; or only sites after its drift, with those of the ghosts or of the own
/// particles alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Present {
    Forces = present::FORCES,
    AllSites = present::ALL_SITES,
    OwnSites = present::OWN_SITES,
}

/// A rank's domain is on this GPU: its kernels, and what it knows of the others.
pub struct MultiRank {
    kernels: RankKernels,
    pub domain: Domain,
    halo: Halo,
    buffers: HaloBuffers,
    capacity: HaloCapacity,
    messages: Messages,
    transport: Box<dyn Transport>,
    /// What kernels that work with peers have found.
    reports: Reports,
    /// Kernels write ghosts into the neighbors' memory by themselves.
    writes_to_peers: bool,
    /// Times that they have done so, and rebuildings.
    sequence: u64,
    rebuilt_with_peers: u32,
    /// One that was launched, and is completed when the steps after it have been launched.
    under_way: Option<Rebuilding>,
    /// Launches with a thermostat of the whole system.
    launches: u32,
    /// What is there of the present step.
    present: Present,
    /// Only one copy of the particles has ids and species.
    unnamed: bool,
    /// The halo is not what the kernels have as a constant.
    halo_changed: bool,
    /// Particles that each neighbor has as ghosts, and ghosts from each.
    send_to: Vec<u32>,
    ghosts_from: Vec<u32>,
    /// Half of the incoming messages that the last exchange has filled.
    half: u32,
    /// Nanoseconds in steps, and those of them in which the host waited for other ranks.
    stepping: [i64; 2],
    times: GpuTimes,
    /// Steps that were taken again with other lists.
    repeated: u64,
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// The share of its passes with peers in which the first block has waited for ghosts.
    fn waiting_in_passes(&self) -> f64 {
        let control = self.buffers.control.read::<Control>(1);
        let cycles = control.map_or([0; 4], |control| control[0].cycles);
        let [all, waited, ..] = cycles.map(|cycles| cycles as f64);
        waited / all.max(1.0)
    }

    fn read_control(&mut self) -> Result<(), EngineError> {
        // The host counts them.
        let rebuilds = self.control.rebuilds;
        self.control = self.buffers.control.read::<Control>(1)?[0];
        self.control.rebuilds = rebuilds;
        Ok(())
    }

    /// Whether the GPUs agree on what they have found without the host.
    fn agrees(&self) -> bool {
        self.stepper.domain.all_are_neighbors()
    }

    /// Makes the barrier ready for the next cooperative launch; kernels that work with peers leave it so.
    fn clear_barrier(&self) -> Result<(), EngineError> {
        self.buffers.control.clear(size_of_val(&self.control.barrier))
    }

    fn set_halo(&mut self) -> Result<(), EngineError> {
        self.stepper.halo_changed = false;
        self.kernels.set("halo", &self.stepper.halo)
    }

    /// Has the kernels know the halo: only those that the host leads need it.
    fn set_changed_halo(&mut self) -> Result<(), EngineError> {
        if self.stepper.halo_changed { self.set_halo() } else { Ok(()) }
    }

    fn halo_control(&self) -> Result<HaloControl, EngineError> {
        Ok(self.stepper.buffers.control.read::<HaloControl>(1)?[0])
    }

    /// As [`HaloControl::CLEAR`], after what was launched before.
    fn clear_halo_control(&self) -> Result<(), EngineError> {
        let control = &self.stepper.buffers.control;
        let steps = std::mem::offset_of!(HaloControl, moved2);
        control.fill(0..steps, 0xFF)?;
        control.fill(steps..size_of::<HaloControl>(), 0)
    }

    /// Whether no rank has met an error, outside of steps.
    fn verify_now(&mut self) -> Result<(), EngineError> {
        self.stepper.domain.verify(0.0).fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Exchanges the outgoing messages; while they travel, forces of a step are computed in a `region`.
    fn exchange(
        &mut self,
        lengths: &transport::Lengths,
        mut region: Option<Region>,
    ) -> Result<(), EngineError> {
        let (lanes, step) = (self.own_count() << self.shape.lanes_log2, self.step);
        let (kernels, stepper) = (&self.kernels, &mut self.stepper);
        let of_region = stepper.kernels.forces_of_region;
        let mut compute = || match region.take().filter(|_| lanes > 0) {
            Some(region) => kernels.launch_over(lanes, of_region, (region as u32, 1, step)),
            None => Ok(()),
        };
        let MultiRank { domain, messages, transport, .. } = stepper;
        stepper.half = transport.exchange(domain, messages, lengths, &mut compute)?;
        Ok(())
    }
}

impl MultiRank {
    /// Ghosts on this GPU.
    pub(super) fn ghost_count(&self) -> usize {
        self.halo.ghosts as usize
    }

    /// Adds how the ranks work together, of whose passes this share was waiting.
    fn add_to(&self, report: &mut Execution, waiting: f64) {
        report.transport = Some(self.transport.name());
        report.steps_with_peers = Some(self.sequence);
        report.steps_repeated = Some(self.repeated);
        report.ghosts = Some(self.halo.ghosts);
        report.gpu_seconds = Some(self.times.report(waiting));
    }
}

impl<P: DevicePolicy> RankEngine for CudaEngine<P, MultiRank> {
    fn step(&self) -> u64 {
        self.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.enter_stage(stage);
        // The parts of the GPU's time are those of a stage.
        self.stepper.times = GpuTimes::default();
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.advance_multi_rank(steps)
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        let measured = self.measure();
        self.or_end_all(measured)
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        let drawn = self.draw_first_velocities(temperature, exactly);
        self.or_end_all(drawn)?;
        self.verify_changes()
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        let scaled = scale_velocities(self, factor);
        self.or_end_all(scaled)?;
        self.verify_changes()
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        let reversed = self.reverse_all();
        self.or_end_all(reversed)
    }

    fn part(&self) -> Result<Part, EngineError> {
        self.or_end_all(self.read_part())
    }

    fn part_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.or_end_all(self.read_part_forces())
    }

    fn thermostat(&self) -> &ThermostatState {
        &self.thermostat
    }

    fn nanoseconds(&self) -> [i64; 2] {
        let multi_rank = &self.stepper;
        // Where kernels work with peers, the host does not see what they wait for.
        match multi_rank.times.all_and_communication(self.waiting_in_passes()) {
            [0, _] => multi_rank.stepping,
            times => times,
        }
    }

    fn report(&self) -> EngineReport {
        let Geometry { kernel, .. } = self.geometry(Kind::None);
        let mut report = self.common_report(self.resources_on_rank(kernel));
        self.stepper.add_to(&mut report.execution, self.waiting_in_passes());
        report
    }
}
