//! What the engine of a rank knows of its domain and the other ranks.
use super::gpu_times::GpuTimes;
use super::halo::{Halo, HaloBuffers, HaloCapacity, HaloControl};
use super::kernels::{Present, REBUILDING_BLOCK, RankKernels, Region};
use super::report::{Asked, Reports};
use super::transport::{Lengths, Messages, Transport};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::status;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::geometry::StepKernel;
use crate::engine::cuda::launch::{Arguments, Grid, Kernel};
use crate::engine::cuda::piston::PistonKernels;
use crate::engine::cuda::stepper::{Fault, Stepper};
use crate::engine::domain::Domain;
use crate::engine::precision::ExactSum;
use crate::engine::report::Execution;
use crate::engine::thermostats::kicks_at_end;

/// A rebuilding that was launched. If it is behind steps that end elsewhere, it does nothing, and is forgotten.
#[derive(Clone, Copy, Debug)]
pub struct Rebuilding {
    pub asked: Asked,
}

/// A rank's domain is on this GPU: its kernels, and what it knows of the others.
pub struct MultiRank {
    pub kernels: RankKernels,
    /// Where pistons move the box.
    pub piston: Option<PistonKernels>,
    pub domain: Domain,
    pub halo: Halo,
    pub buffers: HaloBuffers,
    pub capacity: HaloCapacity,
    pub messages: Messages,
    pub transport: Box<dyn Transport>,
    /// What kernels that work with peers have found.
    pub reports: Reports,
    /// Kernels write ghosts into the neighbors' memory by themselves.
    pub writes_to_peers: bool,
    /// Times that they have done so, and rebuildings.
    pub sequence: u64,
    pub rebuilt_with_peers: u32,
    /// One that was launched, and is completed when the steps after it have been launched.
    pub under_way: Option<Rebuilding>,
    /// Launches with a thermostat of the whole system.
    pub launches: u32,
    /// Steps under a thermostat whose heat is on the GPU.
    pub heats: usize,
    /// What is there of the present step.
    pub present: Present,
    /// The kernels are those of boxes with a tilt.
    pub takes_tilts: bool,
    /// Only one copy of the particles has ids and species.
    pub unnamed: bool,
    /// The halo is not what the kernels have as a constant.
    pub halo_changed: bool,
    /// Particles that each neighbor has as ghosts, and ghosts from each.
    pub send_to: Vec<u32>,
    pub ghosts_from: Vec<u32>,
    /// Half of the incoming messages that the last exchange has filled.
    pub half: u32,
    /// Nanoseconds in steps, and those of them in which the host waited for other ranks.
    pub stepping: [i64; 2],
    pub times: GpuTimes,
    /// Steps that were taken again with other lists.
    pub repeated: u64,
}

impl MultiRank {
    /// Ghosts on this GPU.
    pub fn ghost_count(&self) -> usize {
        self.halo.ghosts as usize
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

impl Stepper for MultiRank {
    fn ghosts(&self) -> usize {
        self.ghost_count()
    }

    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], Fault>,
    ) -> Result<[ExactSum; COUNT], Fault> {
        let here = here.map_err(|fault| fault.particle);
        let error = |particle| Fault { status: status::KINETIC_RANGE, particle };
        self.domain.combine(here).map_err(error)
    }

    fn fails_at_once(&self) -> bool {
        false
    }
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// The share of its passes with peers in which the first block has waited for ghosts.
    pub fn waiting_in_passes(&self) -> f64 {
        let control = self.state.read_control();
        let cycles = control.map_or([0; 4], |control| control.cycles);
        let [all, waited, ..] = cycles.map(|cycles| cycles as f64);
        waited / all.max(1.0)
    }

    pub fn read_control(&mut self) -> Result<(), EngineError> {
        // The host counts them.
        let rebuilds = self.state.control.rebuilds;
        self.state.control = self.state.read_control()?;
        self.state.control.rebuilds = rebuilds;
        Ok(())
    }

    /// Whether the GPUs agree on what they have found without the host.
    pub fn agrees(&self) -> bool {
        self.stepper.domain.all_are_neighbors()
    }

    pub fn set_halo(&mut self) -> Result<(), EngineError> {
        self.stepper.halo_changed = false;
        self.device.kernels().set("halo", &self.stepper.halo)
    }

    /// Has the kernels know the halo: only those that the host leads need it.
    pub fn set_changed_halo(&mut self) -> Result<(), EngineError> {
        if self.stepper.halo_changed { self.set_halo() } else { Ok(()) }
    }

    pub fn halo_control(&self) -> Result<HaloControl, EngineError> {
        Ok(self.stepper.buffers.control.read::<HaloControl>(1)?[0])
    }

    /// As [`HaloControl::CLEAR`], after what was launched before.
    pub fn clear_halo_control(&self) -> Result<(), EngineError> {
        let control = &self.stepper.buffers.control;
        let steps = std::mem::offset_of!(HaloControl, moved2);
        control.fill(0..steps, 0xFF)?;
        control.fill(steps..size_of::<HaloControl>(), 0)
    }

    /// Whether no rank has met an error, outside of steps.
    pub fn verify_now(&mut self) -> Result<(), EngineError> {
        self.stepper.domain.verify(0.0).fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Exchanges the outgoing messages; while they travel, forces of a step are computed in a `region`.
    pub fn exchange(
        &mut self,
        lengths: &Lengths,
        mut region: Option<Region>,
    ) -> Result<(), EngineError> {
        let (lanes, step) = (self.neighbor_list.lanes(self.state.count()), self.state.step);
        let kick = u32::from(!kicks_at_end(&self.stage));
        let (kernels, stepper) = (self.device.kernels(), &mut self.stepper);
        let of_region = stepper.kernels.forces_of_region;
        let mut compute = || match region.take().filter(|_| lanes > 0) {
            Some(region) => kernels.launch_over(lanes, of_region, (region as u32, kick, step)),
            None => Ok(()),
        };
        let MultiRank { domain, messages, transport, .. } = stepper;
        stepper.half = transport.exchange(domain, messages, lengths, &mut compute)?;
        Ok(())
    }

    /// Registers and bytes of local memory of the kernel that takes the steps.
    pub fn resources_on_rank(&self, kernel: StepKernel) -> (i32, i32) {
        let kernels = self.stepper.kernels;
        if self.stepper.writes_to_peers {
            self.device.kernels().resources(kernels.with_peers(kernel))
        } else {
            self.device.kernels().resources(kernels.forces_of_region)
        }
    }

    /// Launches a cooperative kernel.
    pub fn on_all_blocks<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        let blocks = self.device.multiprocessors();
        self.device.kernels().launch(kernel, Grid::cooperative(blocks, REBUILDING_BLOCK), arguments)
    }

    /// Launches an ordinary kernel over a number of items.
    pub fn over<A: Arguments>(
        &self,
        items: u32,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        if items == 0 {
            return Ok(());
        }
        self.device.launch_over(items as usize, kernel, arguments)
    }
}
