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
use self::transport::{Messages, Transport};
use super::buffers::{Control, status};
use super::constants::DevicePolicy;
use super::declare::SharedHeader;
use super::engine::CudaEngine;
use crate::engine::EngineError;
use crate::engine::domain::{Domain, Part, RankEngine};
use crate::engine::report::Execution;
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

/// What a rank's engine knows of the others.
pub struct GpuDomain {
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

impl<P: DevicePolicy> CudaEngine<P> {
    /// Ghosts on this GPU.
    pub(super) fn ghost_count(&self) -> usize {
        self.domain.as_ref().map_or(0, |multi_rank| multi_rank.halo.ghosts as usize)
    }

    /// The share of its passes with peers in which the first block has waited for ghosts.
    pub(super) fn waiting_in_passes(&self) -> f64 {
        let control = self.buffers.control.read::<Control>(1);
        let cycles = control.map_or([0; 4], |control| control[0].cycles);
        let [all, waited, ..] = cycles.map(|cycles| cycles as f64);
        waited / all.max(1.0)
    }

    fn multi_rank(&self) -> &GpuDomain {
        self.domain.as_ref().expect("a rank among others")
    }

    fn multi_rank_mut(&mut self) -> &mut GpuDomain {
        self.domain.as_mut().expect("a rank among others")
    }

    fn write_control(&mut self) -> Result<(), EngineError> {
        self.control.barrier = [0; 2];
        self.control.status = status::DONE;
        self.control.list_need = 0;
        self.buffers.control.write(&[self.control])
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
        self.multi_rank().domain.all_are_neighbors()
    }

    /// Makes the barrier ready for the next cooperative launch; kernels that work with peers leave it so.
    fn clear_barrier(&self) -> Result<(), EngineError> {
        self.buffers.control.clear(size_of_val(&self.control.barrier))
    }

    fn set_halo(&mut self) -> Result<(), EngineError> {
        self.multi_rank_mut().halo_changed = false;
        self.kernels.set("halo", &self.multi_rank().halo)
    }

    /// Has the kernels know the halo: only those that the host leads need it.
    fn set_changed_halo(&mut self) -> Result<(), EngineError> {
        if self.multi_rank().halo_changed { self.set_halo() } else { Ok(()) }
    }

    fn halo_control(&self) -> Result<HaloControl, EngineError> {
        Ok(self.multi_rank().buffers.control.read::<HaloControl>(1)?[0])
    }

    /// As [`HaloControl::CLEAR`], after what was launched before.
    fn clear_halo_control(&self) -> Result<(), EngineError> {
        let control = &self.multi_rank().buffers.control;
        let steps = std::mem::offset_of!(HaloControl, moved2);
        control.fill(0..steps, 0xFF)?;
        control.fill(steps..size_of::<HaloControl>(), 0)
    }

    /// Whether no rank has met an error, outside of steps.
    pub(super) fn verify_now(&mut self) -> Result<(), EngineError> {
        match &mut self.domain {
            Some(multi_rank) => {
                multi_rank.domain.verify(0.0).fault.map_or(Ok(()), |(_, error)| Err(error))
            }
            None => Ok(()),
        }
    }

    /// Exchanges the outgoing messages.
    fn exchange(
        &mut self,
        lengths: &transport::Lengths,
        meanwhile: impl FnOnce(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut multi_rank = self.domain.take().expect("a rank among others");
        let mut meanwhile = Some(meanwhile);
        let exchanged = {
            let GpuDomain { domain, messages, transport, .. } = &mut *multi_rank;
            let mut work = || meanwhile.take().map_or(Ok(()), |work| work(self));
            transport.exchange(domain, messages, lengths, &mut work)
        };
        if let Ok(half) = &exchanged {
            multi_rank.half = *half;
        }
        self.domain = Some(multi_rank);
        exchanged.map(drop)
    }
}

impl GpuDomain {
    /// The parts of the GPU's time are those of a stage.
    pub fn begin_times(&mut self) {
        self.times = GpuTimes::default();
    }

    /// Adds how the ranks work together, of whose passes this share was waiting.
    pub fn add_to(&self, report: &mut Execution, waiting: f64) {
        report.transport = Some(self.transport.name());
        report.steps_with_peers = Some(self.sequence);
        report.steps_repeated = Some(self.repeated);
        report.ghosts = Some(self.halo.ghosts);
        report.gpu_seconds = Some(self.times.report(waiting));
    }
}

impl<P: DevicePolicy> RankEngine for CudaEngine<P> {
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
        let multi_rank = self.multi_rank();
        // Where kernels work with peers, the host does not see what they wait for.
        match multi_rank.times.all_and_communication(self.waiting_in_passes()) {
            [0, _] => multi_rank.stepping,
            times => times,
        }
    }
}
