//! Rebuilding by kernels that write into the neighbours' memory (`kernels/domain/rebuild.cu`): the host launches them,
//! and hears once what has become of it.
use super::argument;
use super::rim::{Rim, RimControl, Starts};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::System;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;

/// Blocks of the kernel that takes particles that come: few do.
const ENTERING_BLOCKS: u32 = 16;

impl<P: DevicePolicy> CudaEngine<P> {
    /// Migration, ghosts and lists at the present step, after its kick and drift, if it still `drifts`.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn rebuild_with_peers(&mut self, drifts: bool) -> Result<(), EngineError> {
        let (step, drifts) = (self.step, u32::from(drifts));
        let with_others = self.with_others_mut();
        with_others.rebuilt_with_peers += 1;
        let number = with_others.rebuilt_with_peers;
        let arguments = [argument(&step), argument(&number), argument(&drifts)];
        self.over_particles("leave_with_peers", &arguments)?;
        self.over(ENTERING_BLOCKS * 256, "enter_with_peers", &[argument(&number)])?;
        let control = &self.with_others().buffers.control;
        let of = |field| control.pointer() + field as u64;
        let [count, extent] =
            [std::mem::offset_of!(RimControl, count), std::mem::offset_of!(RimControl, extent)];
        self.kernels.copy_word("system", std::mem::offset_of!(System, count), of(count))?;
        self.kernels.copy_word("rim", std::mem::offset_of!(Rim, extent), of(extent))?;
        self.on_all_blocks("lend_with_peers", &[argument(&number)])?;
        let report = self.with_others_mut().reports.ask();
        self.on_all_blocks("list_with_peers", &[argument(&number), argument(&report)])?;
        let made = self.take_report()?;
        // The lists are new.
        let domain = &mut self.with_others_mut().domain;
        domain.forget_stale();
        if domain.largest_unless_fault(made.failed)? > 0 {
            return self.rebuild_again();
        }
        self.control.copy ^= 1;
        self.control.site_copy ^= 1;
        self.control.rebuilds += 1;
        self.system.count = made.count;
        let with_others = self.with_others_mut();
        let neighbors = with_others.lent_to.len();
        with_others.lent_to.copy_from_slice(&made.lent_to[..neighbors]);
        with_others.ghosts_from.copy_from_slice(&made.ghosts_from[..neighbors]);
        let rim = &mut with_others.rim;
        (rim.extent, rim.lent) = (made.count, made.lent);
        rim.ghosts = with_others.ghosts_from.iter().sum();
        rim.arrivals = Starts::of(&with_others.ghosts_from);
        (with_others.rim_changed, with_others.unnamed) = (true, true);
        with_others.domain.schedule.rebuilt(step);
        Ok(())
    }

    /// Something had no room on a rank: from the state after the drift, led by the host, with more memory.
    fn rebuild_again(&mut self) -> Result<(), EngineError> {
        tracing::debug!("step {}: rebuilding needs more room", self.step);
        self.write_control()?;
        let count = self.system.count;
        self.set_count(count)?;
        self.with_others_mut().rim.extent = count;
        self.with_others().buffers.destination.clear(count as usize)?;
        self.set_rim()?;
        self.over_particles("renew_sites", &[])?;
        self.migrate()?;
        self.rebuild_with_ghosts()
    }
}
